/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: the host's clock. The times of messages, deposit and expiry, are measured by the host's
 * clock. The functions read no clock: the caller passes the readings of the system's clocks.
 *
 * An access point often starts without the right time, and sets its clock later, sometimes wrongly.
 * While hearsayd runs, the host's clock never runs backwards. At the start the host's clock is at
 * least the time that the store has saved last. The host's clock advances with the monotonic clock.
 * If the system's wall clock is ahead by up to a day, the host's clock is set to the wall clock at
 * once. If the wall clock is further ahead, the host's clock is set after confirmation: the system
 * reports that its clock is synchronised, or the wall clock has run without a step for
 * `patience_ms`.
 *
 * The wall clock shows a time before 1970: it counts as 1970. The host's clock is never negative.
 *
 * The wall clock is behind (no battery, or set back): the host's clock advances from its own time.
 * The time spent switched off is not counted, so messages live longer by that time.
 *
 * The wall clock is up to a day ahead (switched off over night): the host's clock is set at once,
 * and messages whose lifetime is over expire at once.
 *
 * The wall clock is more than a day ahead (switched off for long, or wrong): the host's clock
 * advances from its own time until the jump is confirmed or taken back. Until then no message
 * expires earlier than without the jump.
 *
 * The wall clock is set while hearsayd runs: only the monotonic clock knows how much time has
 * passed since the start. So the times of the messages of this run move with the host's clock, and
 * these messages keep their age and the rest of their lifetime. Messages of earlier runs do not
 * move, because time may have passed without power. They move only if the clock was not trusted
 * (clock_trusted) when they came: then nobody knows when that was. `shift_from_ms` parts the two
 * kinds. While there are messages that move (`holds`), clock_now does not follow a step of more
 * than a minute. clock_due_ms returns the step; the caller moves the messages in the store and in
 * memory, and then calls clock_step. The times of messages do not move for a step of up to a
 * minute, as drift and time synchronisation make them: a message then ages by that much.
 *
 * A wrong jump was confirmed: it cannot be undone. The host's clock stays ahead and advances at its
 * normal rate, until the real time has caught up or a new store is made. While the wall clock is
 * more than a minute behind the host's clock, clock_trusted returns false. The lifetime of a
 * message that is deposited after the jump is right, as the same clock measures its begin and end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A reading of the system's clocks: the wall clock in Unix milliseconds, the monotonic clock in
 * milliseconds since a fixed moment, and whether the system reports that its wall clock is
 * synchronised.
 */
struct clock_reading {
    int64_t wall_ms;
    int64_t monotonic_ms;
    bool synchronised;
};

struct clock_state {
    int64_t base_ms;      /* the host's clock at the last reading */
    int64_t monotonic_ms; /* the monotonic clock at the last reading */
    int64_t wall_ms;      /* the wall clock at the last reading */
    /* monotonic time since which the wall clock has made no step */
    int64_t steady_since_ms;
    bool waiting; /* a jump of the wall clock waits for confirmation */
    /* messages that were deposited at this time or later move when the host's clock is set */
    int64_t shift_from_ms;
    bool holds; /* set by the caller: there are such messages */
};

/*
 * Starts the host's clock. `saved_ms` is the latest time that the store has saved (persist_info),
 * or 0 in a new store. In a new store the host's clock is set to the wall clock, however far ahead
 * that is: there are no messages that could expire. A wall clock before 1970 counts as 1970.
 * `shift_from_ms` is the time from which on the messages of earlier runs came while the clock was
 * not trusted; INT64_MAX: there are none.
 */
void clock_init(struct clock_state *state, int64_t saved_ms, int64_t shift_from_ms,
                const struct clock_reading *reading);

/*
 * Returns the time of the host's clock, which is never less than the time returned before. A jump
 * of the wall clock is confirmed by reading->synchronised, or after `patience_ms` without a step.
 * With `patience_ms` 0 each jump is confirmed at once.
 */
int64_t clock_now(struct clock_state *state, const struct clock_reading *reading,
                  int64_t patience_ms);

/*
 * Returns by how much the host's clock is to be set forward, as of the last reading: more than a
 * minute, or 0 if no step is due. The caller first moves the times of messages by this step, then
 * calls clock_step, which sets the clock forward.
 */
int64_t clock_due_ms(const struct clock_state *state);
void clock_step(struct clock_state *state, int64_t by_ms);

/*
 * Whether the wall clock is more than a day ahead of the host's clock. Only then clock_now reads
 * reading->synchronised, which may be costly to find out.
 */
bool clock_would_jump(const struct clock_state *state, const struct clock_reading *reading);

/*
 * Returns whether clients may trust the host's clock. All of this must be true:
 * - The wall clock shows the year 2024 or later.
 * - The wall clock is at most a minute behind the host's clock.
 * - No step is due (clock_due_ms), and no jump waits for confirmation.
 * - The system reports that the wall clock is synchronised, or the wall clock has run without a
 * step for `patience_ms`.
 */
bool clock_trusted(struct clock_state *state, const struct clock_reading *reading,
                   int64_t patience_ms);
