/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/clock.h"

static const int64_t behind_tolerated_ms = 60 * 1000;
static const int64_t step_tolerated_ms = 60 * 1000; /* between readings: slewing is slower */
static const int64_t jump_ms = INT64_C(24) * 3600 * 1000;
static const int64_t year_2024_ms = INT64_C(1704067200000);

/* Bounds a wall clock so that sums stay within 64 bits. A time before 1970 counts as 1970. */
static int64_t clock_bounded(int64_t wall_ms)
{
    if (wall_ms < 0) {
        return 0;
    }
    return wall_ms > INT64_MAX / 4 ? INT64_MAX / 4 : wall_ms;
}

static int64_t clock_sum(int64_t a, int64_t b) /* b >= 0 */
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/*
 * Milliseconds that the monotonic clock has advanced since the last reading. If the monotonic clock
 * runs backwards, the result is 0 until it has caught up.
 */
static int64_t passed_since(const struct clock_state *state, const struct clock_reading *reading)
{
    return reading->monotonic_ms > state->monotonic_ms ? reading->monotonic_ms - state->monotonic_ms
                                                       : 0;
}

void clock_init(struct clock_state *state, int64_t saved_ms, int64_t shift_from_ms,
                const struct clock_reading *reading)
{
    int64_t wall_ms = clock_bounded(reading->wall_ms);
    /* All messages of earlier runs came at saved_ms or before. */
    int64_t run_from_ms = clock_sum(saved_ms > 0 ? saved_ms : 0, 1);

    *state = (struct clock_state){.base_ms = saved_ms > 0 ? saved_ms : wall_ms,
                                  .monotonic_ms = reading->monotonic_ms,
                                  .wall_ms = wall_ms,
                                  .steady_since_ms = reading->monotonic_ms,
                                  .shift_from_ms =
                                      shift_from_ms < run_from_ms ? shift_from_ms : run_from_ms,
                                  .holds = shift_from_ms < run_from_ms};
}

static bool is_confirmed(const struct clock_state *state, const struct clock_reading *reading,
                         int64_t patience_ms)
{
    return reading->synchronised || state->monotonic_ms - state->steady_since_ms >= patience_ms;
}

/*
 * Advances the host's clock by the monotonic clock alone. Also notes whether the wall clock made a
 * step: it advanced by more or less than the monotonic clock, with a tolerance of
 * step_tolerated_ms.
 */
static void clock_advance(struct clock_state *state, const struct clock_reading *reading)
{
    int64_t wall_ms = clock_bounded(reading->wall_ms);
    int64_t passed_ms = passed_since(state, reading);
    int64_t expected_ms = clock_sum(state->wall_ms, passed_ms);

    state->base_ms = clock_sum(state->base_ms, passed_ms);
    state->monotonic_ms += passed_ms;
    if (wall_ms > clock_sum(expected_ms, step_tolerated_ms) ||
        expected_ms > clock_sum(wall_ms, step_tolerated_ms)) {
        state->steady_since_ms = state->monotonic_ms;
    }
    state->wall_ms = wall_ms;
}

bool clock_would_jump(const struct clock_state *state, const struct clock_reading *reading)
{
    int64_t base_ms = clock_sum(state->base_ms, passed_since(state, reading));

    return clock_bounded(reading->wall_ms) > clock_sum(base_ms, jump_ms);
}

int64_t clock_now(struct clock_state *state, const struct clock_reading *reading,
                  int64_t patience_ms)
{
    bool jumps = clock_would_jump(state, reading);

    clock_advance(state, reading);
    state->waiting = jumps && !is_confirmed(state, reading, patience_ms);
    if (!state->waiting && state->wall_ms > state->base_ms && clock_due_ms(state) == 0) {
        state->base_ms = state->wall_ms;
    }
    return state->base_ms;
}

int64_t clock_due_ms(const struct clock_state *state)
{
    bool is_due = state->holds && !state->waiting &&
                  state->wall_ms > clock_sum(state->base_ms, step_tolerated_ms);

    return is_due ? state->wall_ms - state->base_ms : 0;
}

void clock_step(struct clock_state *state, int64_t by_ms)
{
    state->base_ms = clock_sum(state->base_ms, by_ms);
}

bool clock_trusted(struct clock_state *state, const struct clock_reading *reading,
                   int64_t patience_ms)
{
    int64_t now_ms = clock_now(state, reading, patience_ms);

    return state->wall_ms >= year_2024_ms && !state->waiting && clock_due_ms(state) == 0 &&
           now_ms <= clock_sum(state->wall_ms, behind_tolerated_ms) &&
           is_confirmed(state, reading, patience_ms);
}
