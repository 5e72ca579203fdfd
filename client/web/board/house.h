/* SPDX-License-Identifier: Apache-2.0 */
/*
 * house: the connection through which all phones read. Connects in the background, and again after
 * 1 to 60 s, less up to half by chance. Each question is sent once for all who wait for its answer,
 * which is given again for a while. A few questions are under way at a time; behind them senders
 * take turns (queue.h), so that one phone that asks for ever new lists delays nobody by more than
 * one of its lists. How often a sender may ask is not decided here.
 */
#ifndef CLIENT_WEB_BOARD_HOUSE_H
#define CLIENT_WEB_BOARD_HOUSE_H

#include "client/web/board.h"
#include "client/web/board/ask.h"

enum {
    HOUSE_LISTS_AT_A_TIME = 4,
    HOUSE_SMALL_AT_A_TIME = 256 /* questions that are no lists */
};

struct house;

/* -ERR_NOMEM. */
int house_new(const struct board_options *options, struct house **out_house);
void house_stop(struct house *house); /* all who wait get BOARD_AWAY */
void house_free(struct house *house); /* after the loop has nothing under way; NULL is fine */

/* The connection that was greeted last, perhaps lost since; NULL: none yet. */
const struct hearsay *house_server(const struct house *house);
bool house_is_connected(const struct house *house);
const struct hearsay_error *house_why(const struct house *house); /* why it is not */
uint64_t house_version(const struct house *house);

/* Asks a question: as board_list, board_get and board_place. `key` is borrowed for the call. */
void house_ask(struct house *house, const struct ask *key, board_done *done, void *context);
/* A message was left, whose context is the view; or it was withdrawn or reported (NULL). What may
 * have changed is asked anew; lists of other places are left to their watches. */
void house_drop(struct house *house, const struct view *left, const uint8_t *id);
void house_forget(struct house *house, const void *context);

/* As board_watch. A watch is freed by house_unwatch or when it has ended. */
struct board_watch *house_watch(struct house *house, const struct view *view, uint64_t after_seq,
                                const struct board_watch_events *events, void *context);
void house_unwatch(struct board_watch *watch);

#endif
