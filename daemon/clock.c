/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/clock.h"

static const int64_t behind_tolerated_ms = 60 * 1000;
static const int64_t year_2024_ms = INT64_C(1704067200000);

void clock_init(struct clock_state *state, int64_t saved_ms, int64_t wall_ms, int64_t monotonic_ms)
{
    state->base_ms = saved_ms > wall_ms ? saved_ms : wall_ms;
    state->monotonic_ms = monotonic_ms;
}

int64_t clock_now(struct clock_state *state, int64_t wall_ms, int64_t monotonic_ms)
{
    /* A monotonic clock does not go back; if one does, ours stands still until it is there again.
     */
    if (monotonic_ms > state->monotonic_ms) {
        int64_t passed_ms = monotonic_ms - state->monotonic_ms;

        if (state->base_ms > INT64_MAX - passed_ms) {
            state->base_ms = INT64_MAX;
        } else {
            state->base_ms += passed_ms;
        }
        state->monotonic_ms = monotonic_ms;
    }
    if (wall_ms > state->base_ms) {
        state->base_ms = wall_ms;
    }
    return state->base_ms;
}

bool clock_trusted(struct clock_state *state, int64_t wall_ms, int64_t monotonic_ms)
{
    int64_t now_ms = clock_now(state, wall_ms, monotonic_ms);

    /* now_ms >= wall_ms; wall_ms >= 0 after the first comparison, so nothing overflows. */
    return wall_ms >= year_2024_ms && now_ms - wall_ms <= behind_tolerated_ms;
}
