/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live: Server-Sent Events for open pages. All phones with equal views share one watch at hearsayd,
 * which tells when their list has changed, and get what has changed in it. The id of an event is
 * STORE-MS: 8 hexadecimal digits of the store and the host, and the time of the newest message, by
 * hearsayd's clock. Who comes again with an id of this store gets what came since and is in
 * the list; an id of another store is answered by `event: gone`.
 */
#pragma once

#include "client/web/board.h"

struct live;

enum { LIVE_STORE_BYTES = 9 }; /* 8 digits and NUL */

/* Writes the digits that stand for a store, a host and here labels. `host`: its name; "" is the
 * first. `place`: as in struct view; "" is none. */
void live_write_store(const struct hearsay_welcome *welcome, const char *host, const char *place,
                      char *out_store);

struct live_options {
    uv_loop_t *loop;     /* borrowed */
    struct board *board; /* borrowed */
    unsigned events;     /* streams of all phones */
    unsigned views;      /* views that streams have; an unused one makes room */
    unsigned events_per_address;
};

int live_new(const struct live_options *options, struct live **out_live); /* -ERR_NOMEM */

/* Ends all streams. Before live_free, the loop must run until nothing is left under way. */
void live_stop(struct live *live);
void live_free(struct live *live); /* NULL is fine */

/* The most memory that views take, with their watches: there are more than `views` if streams are
 * of more places. */
uint64_t live_memory_most(unsigned views, unsigned events);

/* Open streams. */
size_t live_stream_count(const struct live *live);

/* Answers a request for /events with a stream, or with 503 where there are too many, or while
 * hearsayd is away for 10 s, after which open streams end, too. A client says by the header
 * Last-Event-ID, or else in the field `last` of the query, which event was its last.
 */
void live_begin(struct live *live, struct http_exchange *exchange,
                const struct http_request *request, const struct view *view);
