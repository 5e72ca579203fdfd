/* SPDX-License-Identifier: Apache-2.0 */
/* house_inner: what house.c and house_watch.c share. */
#ifndef CLIENT_WEB_BOARD_HOUSE_INNER_H
#define CLIENT_WEB_BOARD_HOUSE_INNER_H

#include "client/link/link.h"
#include "client/web/board/house.h"
#include "core/base/bucket.h"

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
    uv_timer_t send;                  /* when queries may go out again */
    struct bucket queries;            /* that went out */
    struct bucket rest;               /* queries that went out for lists that are not shared */
    struct bucket look;               /* queries that went out for open pages only */
    struct bucket first;              /* queries for lists that were not there yet */
    uint64_t epochs[HOUSE_HOSTS_MAX]; /* numbers of the current ones */
    struct board_watch *watches;      /* owned */
    size_t watch_filters;             /* of all watches at hearsayd */
    uint64_t version;
    void (*news)(void *context); /* of house_on_news */
    void *news_context;
};

/* Lets hearsayd tell of changes to the view of a list, unless a watch does so already. False: no
 * more watches are allowed. Cached lists that are not shared have half of those that pages leave.
 */
bool house_watch_list(struct house *house, const struct ask *ask);

/* Whether hearsayd has answered that it tells of changes to a view. */
bool house_watch_has_begun(const struct house *house, const struct view *view);

/* Takes a reply that concerns watches. False: the reply is of something else. */
bool house_watch_reply(struct house *house, const struct hearsay_reply *reply);

/* Ends watches: all; those of places; those of an hour that is over; those of views that nobody
 * asks for any more. */
void house_watch_end_all(struct house *house);
void house_watch_end_places(struct house *house);
void house_watch_tick(struct house *house);

#endif
