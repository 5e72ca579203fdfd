/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticks: at most one request of a sender in an iteration of the event loop, which is a tick here.
 * Whoever has many connections has many requests there at once; those beyond the first wait for the
 * next ticks, one each, so that requests of others are answered in between. Streams that many
 * phones open at once, as after a power cut, wait as well: TICKS_STREAMS of them begin in a tick,
 * while the board has room, so that pages that somebody waits for do not wait behind thousands.
 */
#pragma once

#include <uv.h>

#include "client/web/http_peer.h"

enum {
    TICKS_SENDERS_MAX = 64, /* whose request of this tick is noted; others need not wait */
    TICKS_STREAMS = 8       /* that begin in a tick */
};

/* A request that waits for a later tick. */
struct tick_wait {
    struct tick_wait *prev, *next;
    struct http_exchange *exchange;
    const struct http_request *request;
    struct fair_key sender;
};

struct ticks {
    void (*request)(void *context, struct http_exchange *exchange,
                    const struct http_request *request);
    void (*gone)(void *context, struct http_exchange *exchange);
    bool (*has_room)(const void *context); /* whether one more stream may begin */
    void *context;                         /* of all three */
    struct tick_wait *pages;
    struct tick_wait *streams;
    struct fair_key seen[TICKS_SENDERS_MAX]; /* whose request was given in this tick */
    size_t seen_count;
    size_t stream_count;  /* of those that were begun in this tick */
    uv_prepare_t prepare; /* begins a tick; runs while anything was given or waits */
    uv_idle_t idle;       /* lets the loop go on while anything waits that may go */
};

/* Gives requests to `request`, and tells `gone` about those that it has not answered. Both are as
 * in struct http_options; they, `context` and the loop are borrowed. Cannot fail. */
void ticks_init(struct ticks *ticks, uv_loop_t *loop);

/* No request is given any more. The loop must run until it has closed the handles. */
void ticks_stop(struct ticks *ticks);

/* As the members of struct http_options, whose context is the struct ticks. */
void ticks_request(void *context, struct http_exchange *exchange,
                   const struct http_request *request);
void ticks_gone(void *context, struct http_exchange *exchange);
