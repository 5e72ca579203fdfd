/* SPDX-License-Identifier: Apache-2.0 */
/* inner: what board.c, submit.c and watch.c share. */
#pragma once

#include "client/link/link.h"
#include "client/web/board/ask.h"
#include "client/web/board/refused.h"

enum {
    BOARD_LISTS_AT_A_TIME = 4,
    BOARD_SMALL_AT_A_TIME = 256, /* questions that are no lists */
    BOARD_HOSTS_MAX = 64
};

struct board {
    struct board_options options;
    struct pool *pool; /* owned: for writes */
    struct asks asks;  /* for reads */
    struct refused refused;
    struct link *link; /* owned; NULL: none */
    bool is_greeted;   /* the link is */
    bool is_stopped;
    struct hearsay *known;            /* owned: the last connection, when it is lost */
    struct hearsay_error why;         /* why there is no connection */
    bool has_said_away;               /* the log says that there is none */
    int64_t greeted_ms;               /* when the last connection was greeted */
    int64_t retry_ms;                 /* the longest wait before the next attempt; 0: none */
    uv_timer_t retry;                 /* to connect again */
    uv_timer_t tick;                  /* every second while something may get old */
    bool is_ticking;                  /* the tick runs */
    uv_timer_t send;                  /* when the connection takes more again */
    uint64_t epochs[BOARD_HOSTS_MAX]; /* numbers of the current ones */
    struct board_watch *watches;      /* owned */
    size_t watch_filters;             /* of all watches at hearsayd */
    void (*news)(void *context, const uint8_t *id); /* of board_on_news */
    void *news_context;
};

/* There is something that may get old: a question, its answer or a watch. Once nothing is left, the
 * ticks end by themselves. uv_is_active does not say whether they run: libuv 1.50 takes all timers
 * that are due from its list before it calls the first of them, and to start one of these again
 * would put it off. */
static inline void board_begin_ticks(struct board *board)
{
    if (!board->is_ticking) {
        board->is_ticking = true;
        (void)uv_timer_again(&board->tick);
    }
}

/* Sends a question to hearsayd in the name of ask->payer. Returns HEARSAY_OK with the ticket of the
 * answer, or an error of query_fill or hearsay_submit. There must be a connection. */
int submit_ask(struct board *board, struct ask *ask, uint64_t *out_ticket,
               struct hearsay_error *error);

/* How many messages a list asks for: one more than a page shows, or as many as may be. */
uint32_t submit_list_k(const struct board *board, const struct ask *ask);

/* Takes a reply that concerns watches. False: the reply is of something else. */
bool watch_reply(struct board *board, const struct hearsay_reply *reply);

/* Ends watches: all; those of places; those of an hour that is over. */
void watch_end_all(struct board *board);
void watch_end_places(struct board *board);
void watch_tick(struct board *board);
