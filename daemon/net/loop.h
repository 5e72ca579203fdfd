/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: libuv's event loop, and what the daemon keeps about one turn of it: which sessions wait for
 * the turn, whether the next turn comes without waiting, and how much CPU time is left for new
 * connections. It knows nothing of sessions but their entries in its lists. See server_turn.c for
 * what happens in a turn.
 *
 * For the loop's thread only. No function here calls back before it returns.
 */
#ifndef DAEMON_NET_LOOP_H
#define DAEMON_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/limits/account.h"

/* A session's place in the lists; embedded in the session. All zero: in no list. */
struct loop_entry {
    struct loop_entry *ready_prev, *ready_next; /* loop->ready or loop->busy */
    struct loop_entry *dirty_prev, *dirty_next; /* loop->dirty */
    struct loop_entry *gone_prev, *gone_next;   /* loop->gone */
    bool is_ready;                              /* in loop->ready or loop->busy */
    bool is_busy;                               /* with is_ready: in loop->busy */
    bool is_dirty;
    bool is_gone;
};

/* Fields are written by loop.c only. */
struct loop {
    uv_loop_t uv;
    uv_idle_t idle;          /* active while the next turn must come without waiting */
    uv_timer_t arrival;      /* active until new connections have CPU time again */
    bool is_closing;         /* the handles are closing or closed */
    struct account arrivals; /* CPU time that new connections took lately */
    uint64_t spent_ns;       /* CPU time that requests took since the last turn */

    struct loop_entry *ready; /* requests wait for the next turn */
    struct loop_entry *busy;  /* the same, of sessions that are over their share of the CPU time */
    struct loop_entry *dirty; /* output waits to be sent */
    struct loop_entry *gone;  /* dropped, and still to be cleaned up: sessions_reap */
};

/* Makes the libuv loop and the handles. 0 or a libuv error; after an error nothing is open. */
int loop_init(struct loop *loop);

/* Begins to close the handles. The caller then runs the loop and calls uv_loop_close. */
void loop_close_handles(struct loop *loop);

/* The loop's monotonic time, which libuv reads once a turn. */
int64_t loop_now_ms(const struct loop *loop);

/* Lets the next turn come without waiting. */
void loop_wake(struct loop *loop);

/* --- lists of sessions ------------------------------------------------------------------------ */

/* Adds an entry to the end of a list and wakes the loop. Does nothing if the entry is there. */
void loop_add_ready(struct loop *loop, struct loop_entry *entry, bool is_busy);
void loop_add_gone(struct loop *loop, struct loop_entry *entry);

/* The same for output; the loop is not woken, since output is sent before the loop waits. */
void loop_add_dirty(struct loop *loop, struct loop_entry *entry);

/* Removes the first entry of a list and returns it. NULL: the list is empty. */
struct loop_entry *loop_take_dirty(struct loop *loop);
struct loop_entry *loop_take_gone(struct loop *loop);

/* Removes an entry from `ready` or `busy`, where it must be. */
void loop_remove_ready(struct loop *loop, struct loop_entry *entry);

/* Removes an entry from `ready`, `busy` and `dirty`, as far as it is there. */
void loop_remove(struct loop *loop, struct loop_entry *entry);

/* --- CPU time --------------------------------------------------------------------------------- */

/* Counts CPU time that a request took in this turn. */
void loop_spend(struct loop *loop, uint64_t spent_ns);

/*
 * All new connections together get a quarter of the CPU time, so that clients which connect again
 * and again do not take it from those that are connected. Returns whether some of that quarter is
 * left at now_ns (any monotonic clock, the same for both functions). If none is left, the loop
 * wakes when there is.
 */
bool loop_takes_arrivals(struct loop *loop, uint64_t now_ns);

/* Counts spent_ns of CPU time, which ended at now_ns, as used by new connections. */
void loop_spend_on_arrivals(struct loop *loop, uint64_t now_ns, uint64_t spent_ns);

/* Whether new connections wait for the timer `arrival`. */
bool loop_awaits_arrivals(const struct loop *loop);

/* Ends a turn. The next one comes without waiting if is_due, or if sessions are in a list. */
void loop_end_turn(struct loop *loop, bool is_due);

#endif
