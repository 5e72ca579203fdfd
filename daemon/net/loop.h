/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: libuv's event loop, and the daemon's state of one turn of the loop. The state says which
 * sessions wait for the turn, whether the next turn comes without waiting, and how much CPU time is
 * left for new connections. The loop knows only the sessions' entries in its lists. server_turn.c
 * says what happens in a turn.
 *
 * For the loop's thread only. No function of this header runs a callback before it returns.
 */
#pragma once

#include <stdbool.h>

#include <uv.h>

#include "daemon/limits/account.h"

/* The links of a session in the loop's lists. Embedded in the session. All zero: the session is in
 * no list. */
struct loop_entry {
    struct loop_entry *ready_prev, *ready_next; /* loop->ready or loop->busy */
    struct loop_entry *dirty_prev, *dirty_next; /* loop->dirty */
    struct loop_entry *gone_prev, *gone_next;   /* loop->gone */
    bool is_ready;                              /* in loop->ready or loop->busy */
    bool is_busy;                               /* with is_ready: in loop->busy */
    bool is_dirty;
    bool is_gone;
};

/* Only loop.c and libuv write the fields. */
struct loop {
    uv_loop_t uv;
    uv_idle_t idle;          /* active while the next turn must come without waiting */
    uv_timer_t arrival;      /* active until new connections have CPU time again */
    uv_poll_t room;          /* of loop_reserve; closed at once */
    bool is_closing;         /* the handles are closing or closed */
    struct account arrivals; /* CPU time that new connections took lately */
    uint64_t activity;       /* grows with whatever connections or the daemon itself do */
    uint64_t spent_ns;       /* CPU time that requests took since the end of the last turn */

    struct loop_entry *ready; /* sessions whose requests wait for a turn */
    struct loop_entry *busy;  /* sessions that wait, and are over their share of CPU time */
    struct loop_entry *dirty; /* sessions whose output waits to be sent */
    struct loop_entry *gone;  /* closed sessions that sessions_reap has to clean up */
};

/* Makes the libuv loop and its handles. Returns 0, or a libuv error; after an error nothing is
 * open. */
int loop_init(struct loop *loop);

/*
 * Makes room for this many open files in libuv's table. libuv ends the process if the table must
 * grow when memory is out. Does nothing if the system refuses it.
 */
void loop_reserve(struct loop *loop, uint64_t files);

/* Begins to close the loop's own handles. After this the caller runs the loop and calls
 * uv_loop_close. */
void loop_close_handles(struct loop *loop);

/* The monotonic time of the loop: the time when libuv last read the clock. */
int64_t loop_now_ms(const struct loop *loop);

/* Lets the next turn come without waiting. */
void loop_wake(struct loop *loop);

/* --- lists of sessions ------------------------------------------------------------------------ */

/* loop_add_ready adds an entry to the end of `ready`, or of `busy` if `is_busy`. loop_add_gone adds
 * an entry to the end of `gone`. Both wake the loop. An entry that is in one of the lists of the
 * function already stays where it is. */
void loop_add_ready(struct loop *loop, struct loop_entry *entry, bool is_busy);
void loop_add_gone(struct loop *loop, struct loop_entry *entry);

/* Adds an entry to the end of the list `dirty`. Does not wake the loop, because output is sent
 * before the loop waits. An entry that is in the list already stays where it is. */
void loop_add_dirty(struct loop *loop, struct loop_entry *entry);

/* Removes the first entry of a list and returns the entry. NULL: the list is empty. */
struct loop_entry *loop_take_dirty(struct loop *loop);
struct loop_entry *loop_take_gone(struct loop *loop);

/* Removes an entry from `ready` or `busy`. The entry must be in one of these two lists. */
void loop_remove_ready(struct loop *loop, struct loop_entry *entry);

/* Removes an entry from `ready`, `busy` and `dirty`. The entry may be in none of these lists. */
void loop_remove(struct loop *loop, struct loop_entry *entry);

/* --- CPU time --------------------------------------------------------------------------------- */

/* Counts CPU time that requests took in this turn. */
void loop_spend(struct loop *loop, uint64_t spent_ns);

/*
 * Whether new connections may use CPU time at `now_ns`. In the long run all new connections
 * together get at most about a quarter of the CPU time, so that clients which connect again and
 * again leave time for connected clients. If the quarter is used up, a timer wakes the loop when
 * some of it is free again. `now_ns` is of any monotonic clock; loop_spend_on_arrivals takes the
 * same clock.
 */
bool loop_takes_arrivals(struct loop *loop, uint64_t now_ns);

/* Counts `spent_ns` of CPU time as used by new connections. The time ended at `now_ns`. */
void loop_spend_on_arrivals(struct loop *loop, uint64_t now_ns, uint64_t spent_ns);

/* Whether the timer `arrival` runs: new connections wait until they have CPU time again. */
bool loop_awaits_arrivals(const struct loop *loop);

/* Ends a turn. The next turn comes without waiting if `is_due`, or if a session is in `ready`,
 * `busy` or `gone`. */
void loop_end_turn(struct loop *loop, bool is_due);
