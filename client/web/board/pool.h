/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: what phones write. Each phone writes through a connection of its own, which says its
 * address (on_behalf), so that hearsayd's limits are those of the phone. Connections are opened on
 * demand and closed when they are idle. A sender has one connection at a time, with one request;
 * the others wait in a queue, in which senders take turns (queue.h).
 * A sender that hearsayd has refused because of its rate takes no place there (refused.h).
 */
#pragma once

#include "client/web/board.h"

enum {
    POOL_IDLE_MS = 5 * 1000, /* then an idle connection is closed */
    POOL_WAIT_MS = 2 * 1000, /* the longest wait for a connection; then BOARD_BUSY */
    POOL_QUEUE_MAX = 64,     /* requests that wait; above it, who has most gives way */
};

struct pool;

/* hearsayd has left, withdrawn or noted the report of a message; called before the reader is told.
 * `left` is the context of a message that was left, else NULL. */
typedef void pool_written(void *context, const struct view *left, const uint8_t *id);

/* -ERR_NOMEM. */
int pool_new(const struct board_options *options, pool_written *written, void *context,
             struct pool **out_pool);
void pool_stop(struct pool *pool); /* all who wait get BOARD_AWAY */
void pool_tidy(struct pool *pool); /* as board_tidy */
void pool_free(struct pool *pool); /* after the loop has nothing under way; NULL is fine */

/* As board_write, while hearsayd is there. */
void pool_write(struct pool *pool, const struct board_write *write, board_done *done,
                void *context);
void pool_forget(struct pool *pool, const void *context);

/* --- write.c ---------------------------------------------------------------------------------- */

/* Converts what a phone writes to a request to hearsayd, and the answer or refusal of hearsayd to
 * an outcome for the page. */

/* Sends the request. The status of hearsay_submit_*. */
int write_submit(const struct board_write *write, struct hearsay *server, uint64_t *out_ticket,
                 struct hearsay_error *out_error);

/* What a refusal means: as answer_outcome, with the reasons of withdrawals and of closed hosts. */
enum board_outcome write_outcome(enum board_write_kind kind, const struct hearsay_error *error);
