/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: the host's clock, by which messages are dated and expire. Pure: the readings of the
 * system's clocks are arguments.
 *
 * Access points often start without knowing the time and are put right later, or wrong. The host's
 * clock never runs backwards, not even over a restart (the store saves it): it advances with the
 * monotonic clock, and takes over the system's wall clock where that is ahead, by up to a day at
 * once, by more after confirmation: when the system says that its clock is synchronised, or when
 * the wall clock has run without a step for as long as the operator's patience says.
 *
 * What follows from jumps:
 *   - Wall clock before 1970: counts as 1970. The host's clock is never negative.
 *   - Wall clock behind (no battery, or put back): the host's clock goes on where it was. The time
 *     spent switched off is not counted, so messages live longer by that, until the wall clock is
 *     ahead again.
 *   - Wall clock up to a day ahead (switched off over night): messages whose time is over expire at
 *     once, as they should.
 *   - More than a day ahead (switched off for long, or the wall clock is wrong): the host's clock
 *     goes on where it was, and nothing expires that would not have anyway, until the jump is
 *     confirmed or taken back.
 *   - A wrong jump that was confirmed cannot be undone. The host's clock stays ahead, and advances
 *     at its normal rate, until real time has caught up or the store is begun anew. clock_trusted
 *     is false meanwhile; lifetimes are still right, since they are measured by this same clock.
 */
#ifndef DAEMON_HOST_CLOCK_H
#define DAEMON_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The system's clocks: Unix milliseconds, milliseconds since any fixed moment of this run of the
 * system, and whether the system knows the first one to be right. */
struct clock_reading {
    int64_t wall_ms;
    int64_t monotonic_ms;
    bool synchronised;
};

struct clock_state {
    int64_t base_ms;         /* the host's clock ... */
    int64_t monotonic_ms;    /* ... when the monotonic clock showed this ... */
    int64_t wall_ms;         /* ... and the wall clock this */
    int64_t steady_since_ms; /* monotonic: since when the wall clock has run without a step */
    bool waiting;            /* a jump forward is to be confirmed */
};

/*
 * Starts the host's clock. saved_ms is the latest time that the store has saved (persist_info). It
 * is 0 if the store has saved none. The store has no messages then, and the host's clock takes over
 * the wall clock, however far ahead. A wall clock before 1970 counts as 1970.
 */
void clock_init(struct clock_state *state, int64_t saved_ms, const struct clock_reading *reading);

/*
 * The host's clock; never less than it gave before. A jump is confirmed by reading->synchronised,
 * or after patience_ms without a step; 0: at once.
 */
int64_t clock_now(struct clock_state *state, const struct clock_reading *reading,
                  int64_t patience_ms);

/*
 * Whether the wall clock is so far ahead that reading->synchronised matters to clock_now, which may
 * be costly to find out.
 */
bool clock_would_jump(const struct clock_state *state, const struct clock_reading *reading);

/*
 * Whether clients may rely on the time: the wall clock shows 2024, when this was written, or later,
 * is within a minute of the host's clock, and is confirmed, as above.
 */
bool clock_trusted(struct clock_state *state, const struct clock_reading *reading,
                   int64_t patience_ms);

#endif
