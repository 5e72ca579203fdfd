/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns: streams that many phones open at once, as after a power cut, take turns: the first
 * TURNS_BURST go at once, then TURNS_PER_SECOND. So pages that somebody waits for do not wait
 * behind thousands of streams.
 */
#ifndef CLIENT_WEB_ROUTE_TURNS_H
#define CLIENT_WEB_ROUTE_TURNS_H

#include <stdbool.h>

#include <uv.h>

#include "core/base/bucket.h"

enum { TURNS_BURST = 100, TURNS_PER_SECOND = 1000 };

/* Who waits for a turn. Zeroed: nobody. */
struct turn {
    struct turn *prev;
    struct turn *next;
    void (*go)(void *context); /* NULL: does not wait */
    void *context;
};

/* Zeroed: nobody waits. */
struct turns {
    struct turn *first;
    struct bucket bucket;
    uv_timer_t timer; /* runs while somebody waits */
    bool has_timer;
    bool is_stopped;
};

/* Calls `go`, now or later. `turn` stays where it is until then, or until turns_leave. */
void turns_wait(struct turns *turns, uv_loop_t *loop, struct turn *turn, void (*go)(void *context),
                void *context);

/* `go` is not called any more. */
void turns_leave(struct turns *turns, struct turn *turn);

/* Nobody's turn comes any more, of those that wait and of those that come. The loop must run until
 * it has closed the timer. */
void turns_stop(struct turns *turns);

#endif
