/* SPDX-License-Identifier: Apache-2.0 */
/* house_inner: what house.c and house_watch.c share. */
#ifndef CLIENT_WEB_BOARD_HOUSE_INNER_H
#define CLIENT_WEB_BOARD_HOUSE_INNER_H

#include "client/link/link.h"
#include "client/web/board/house.h"

enum { HOUSE_HOSTS_MAX = 64 };

struct house {
    struct board_options options;
    struct asks asks;
    struct link *link; /* owned; NULL: none */
    bool is_greeted;   /* the link is */
    bool is_stopped;
    struct hearsay *known;            /* owned: the last connection, when it is lost */
    struct hearsay_error why;         /* why there is no connection */
    int64_t greeted_ms;               /* when the last connection was greeted */
    int64_t retry_ms;                 /* the longest wait before the next attempt; 0: none */
    uv_timer_t retry;                 /* to connect again */
    uv_timer_t tick;                  /* every second */
    uv_timer_t send;                  /* when the connection takes more again */
    uint64_t epochs[HOUSE_HOSTS_MAX]; /* numbers of the current ones */
    struct board_watch *watches;      /* owned */
    size_t watch_filters;             /* of all watches at hearsayd */
    uint64_t version;
};

/* Takes a reply that concerns watches. False: the reply is of something else. */
bool house_watch_reply(struct house *house, const struct hearsay_reply *reply);

/* Ends watches: all; those of places; those of an hour that is over. */
void house_watch_end_all(struct house *house);
void house_watch_end_places(struct house *house);
void house_watch_tick(struct house *house);

#endif
