/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: the host's clock, by which messages are dated and expire. Pure: the readings of the
 * system's clocks are arguments.
 *
 * Access points often start without knowing the time and are put right later, or wrong. The host's
 * clock never runs backwards, not even over a restart (the store saves it): it advances with the
 * monotonic clock, and takes over the system's wall clock whenever that is ahead.
 *
 * What follows from jumps:
 *   - Wall clock behind (no battery, or put back): the host's clock goes on where it was. The time
 *     spent switched off is not counted, so messages live longer by that, until the wall clock is
 *     ahead again.
 *   - Wall clock jumps forward, rightly: messages whose time is over expire at once, as they
 *     should.
 *   - Wall clock jumps forward, wrongly (say, to 2036): the same, and that cannot be undone. The
 *     host's clock stays ahead, and advances at its normal rate, until real time has caught up or
 *     the store is begun anew. clock_trusted is false meanwhile; lifetimes are still right, since
 *     they are measured by this same clock.
 */
#ifndef DAEMON_CLOCK_H
#define DAEMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_state {
    int64_t base_ms;      /* the host's clock ... */
    int64_t monotonic_ms; /* ... when the monotonic clock showed this */
};

/*
 * Times are Unix milliseconds, monotonic_ms those since any fixed moment of this run of the
 * system. saved_ms is the latest of the host's clock that is known (persist_info), 0: none.
 */
void clock_init(struct clock_state *state, int64_t saved_ms, int64_t wall_ms, int64_t monotonic_ms);

/* The host's clock; never less than it gave before. */
int64_t clock_now(struct clock_state *state, int64_t wall_ms, int64_t monotonic_ms);

/*
 * Whether clients may rely on the time: the system's wall clock is not more than a minute behind
 * the host's clock, and shows 2024 or later, which is when this was written.
 */
bool clock_trusted(struct clock_state *state, int64_t wall_ms, int64_t monotonic_ms);

#endif
