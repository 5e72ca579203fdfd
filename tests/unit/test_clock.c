/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/clock.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

#define Y2024 INT64_C(1704067200000)
#define DAY   INT64_C(86400000)
#define HOUR  INT64_C(3600000)
#define NOON  (Y2024 + 900 * DAY) /* an ordinary moment */
#define END   (INT64_MAX / 4)     /* as far as wall clocks are followed */

/* One reading of the system's clocks, and what the host's clock then says. */
struct reading {
    struct clock_reading system;
    int64_t expected_ms;
    bool trusted;
    bool waiting;
};

struct history {
    const char *rule;
    int64_t saved_ms;
    struct reading readings[6]; /* the first one starts the clock; an all-zero one ends them */
};

enum { SYNCHRONISED = true, ALONE = false, TRUSTED = true, NOT_TRUSTED = false, WAITING = true };

/* An hour's patience. */
static const struct history histories[] = {
    {"follows a wall clock that is right",
     0,
     {{{NOON, 10, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON + 500, 510, SYNCHRONISED}, NOON + 500, TRUSTED, 0}}},
    {"trusts a wall clock that nobody keeps right after the patience",
     0,
     {{{NOON, 10, ALONE}, NOON, NOT_TRUSTED, 0},
      {{NOON + HOUR - 1, HOUR + 9, ALONE}, NOON + HOUR - 1, NOT_TRUSTED, 0},
      {{NOON + HOUR, HOUR + 10, ALONE}, NOON + HOUR, TRUSTED, 0},
      {{NOON + 2 * HOUR, HOUR + 11, ALONE}, NOON + 2 * HOUR, NOT_TRUSTED, 0}, /* a step */
      {{NOON + 3 * HOUR, 2 * HOUR + 11, ALONE}, NOON + 3 * HOUR, TRUSTED, 0}}},
    {"slewing is no step",
     0,
     {{{NOON, 0, ALONE}, NOON, NOT_TRUSTED, 0},
      {{NOON + HOUR / 2 + 60000, HOUR / 2, ALONE}, NOON + HOUR / 2 + 60000, NOT_TRUSTED, 0},
      {{NOON + HOUR, HOUR, ALONE}, NOON + HOUR + 60000, TRUSTED, 0}}},
    {"is not held back by an older saved time",
     NOON - DAY,
     {{{NOON, 10, ALONE}, NOON, NOT_TRUSTED, 0},
      {{NOON + 1, 11, SYNCHRONISED}, NOON + 1, TRUSTED, 0}}},
    {"goes on from the saved time when the wall clock is behind",
     NOON,
     {{{Y2024, 5, ALONE}, NOON, NOT_TRUSTED, 0},
      {{Y2024 + 100, 105, SYNCHRONISED}, NOON + 100, NOT_TRUSTED, 0}}},
    {"boots in 1970, and learns the time",
     NOON,
     {{{0, 5, ALONE}, NOON, NOT_TRUSTED, 0},
      {{60000, 60005, ALONE}, NOON + 60000, NOT_TRUSTED, 0},
      {{NOON + 5 * HOUR, 70005, SYNCHRONISED}, NOON + 5 * HOUR, TRUSTED, 0}}},
    {"adopts a wall clock up to a day ahead at once",
     NOON,
     {{{NOON - DAY, 5, ALONE}, NOON, NOT_TRUSTED, 0},
      {{NOON + DAY + 1, 6, ALONE}, NOON + DAY + 1, NOT_TRUSTED, 0}}},
    {"waits with more than a day, for the system's word",
     NOON,
     {{{NOON, 5, ALONE}, NOON, NOT_TRUSTED, 0},
      {{NOON + DAY + 2, 6, ALONE}, NOON + 1, NOT_TRUSTED, WAITING},
      {{NOON + DAY + 12, 16, ALONE}, NOON + 11, NOT_TRUSTED, WAITING},
      {{NOON + DAY + 13, 17, SYNCHRONISED}, NOON + DAY + 13, TRUSTED, 0}}},
    {"or as long as the patience says",
     NOON,
     {{{NOON + 3 * DAY, 5, ALONE}, NOON, NOT_TRUSTED, WAITING},
      {{NOON + 3 * DAY + HOUR - 1, HOUR + 4, ALONE}, NOON + HOUR - 1, NOT_TRUSTED, WAITING},
      {{NOON + 3 * DAY + HOUR, HOUR + 5, ALONE}, NOON + 3 * DAY + HOUR, TRUSTED, 0}}},
    {"a second step begins the wait anew",
     NOON,
     {{{NOON + 3 * DAY, 0, ALONE}, NOON, NOT_TRUSTED, WAITING},
      {{NOON + 9 * DAY, HOUR / 2, ALONE}, NOON + HOUR / 2, NOT_TRUSTED, WAITING},
      {{NOON + 9 * DAY + HOUR / 2, HOUR, ALONE}, NOON + HOUR, NOT_TRUSTED, WAITING},
      {{NOON + 9 * DAY + HOUR, HOUR * 3 / 2, ALONE}, NOON + 9 * DAY + HOUR, TRUSTED, 0}}},
    {"a jump that is taken back leaves nothing",
     0,
     {{{NOON, 0, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON + 3650 * DAY, 1, ALONE}, NOON + 1, NOT_TRUSTED, WAITING},
      {{NOON + 2, 2, ALONE}, NOON + 2, NOT_TRUSTED, 0},
      {{NOON + 3, 3, SYNCHRONISED}, NOON + 3, TRUSTED, 0}}},
    {"keeps a wrong jump that was confirmed",
     0,
     {{{NOON, 0, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON + 3650 * DAY, 1, SYNCHRONISED}, NOON + 3650 * DAY, TRUSTED, 0},
      {{NOON + 2, 2, SYNCHRONISED}, NOON + 3650 * DAY + 1, NOT_TRUSTED, 0},
      {{NOON + 1002, 1002, SYNCHRONISED}, NOON + 3650 * DAY + 1001, NOT_TRUSTED, 0}}},
    {"does not follow a wall clock that is put back",
     0,
     {{{NOON, 0, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON - HOUR, 1000, SYNCHRONISED}, NOON + 1000, NOT_TRUSTED, 0}}},
    {"trusts a wall clock up to a minute behind",
     NOON,
     {{{NOON - 60000, 5, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON - 60001, 5, SYNCHRONISED}, NOON, NOT_TRUSTED, 0}}},
    {"does not trust a wall clock from before 2024",
     0,
     {{{1000, 5, SYNCHRONISED}, 1000, NOT_TRUSTED, 0},
      {{2000, 1005, SYNCHRONISED}, 2000, NOT_TRUSTED, 0},
      {{Y2024 - 1, 1005, SYNCHRONISED}, Y2024 - 1, NOT_TRUSTED, 0},
      {{Y2024, 1006, SYNCHRONISED}, Y2024, TRUSTED, 0}}},
    {"stands still while the monotonic clock goes back",
     0,
     {{{NOON, 1000, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON, 500, SYNCHRONISED}, NOON, TRUSTED, 0},
      {{NOON, 1001, SYNCHRONISED}, NOON + 1, TRUSTED, 0}}},
    {"stops at the end of time",
     INT64_MAX - 5,
     {{{NOON, 0, SYNCHRONISED}, INT64_MAX - 5, NOT_TRUSTED, 0},
      {{NOON, 100, SYNCHRONISED}, INT64_MAX, NOT_TRUSTED, 0},
      {{INT64_MAX, 200, SYNCHRONISED}, INT64_MAX, NOT_TRUSTED, 0}}},
    {"lives with a wall clock at the end of time",
     NOON,
     {{{INT64_MAX, 3, ALONE}, NOON, NOT_TRUSTED, WAITING},
      {{INT64_MAX, 4, SYNCHRONISED}, END, TRUSTED, 0}}},
    {"lives with a wall clock before 1970",
     0,
     {{{-DAY, 3, SYNCHRONISED}, 0, NOT_TRUSTED, 0},
      {{-DAY, 8, SYNCHRONISED}, 5, NOT_TRUSTED, 0},
      {{INT64_MIN, 9, SYNCHRONISED}, 6, NOT_TRUSTED, 0}}},
    {"goes on from the saved time with a wall clock before 1970",
     NOON,
     {{{-DAY, 3, SYNCHRONISED}, NOON, NOT_TRUSTED, 0},
      {{-DAY + 5, 8, SYNCHRONISED}, NOON + 5, NOT_TRUSTED, 0},
      {{NOON + 6, 9, SYNCHRONISED}, NOON + 6, TRUSTED, 0}}},
    {"waits when a wall clock before 1970 learns the time",
     0,
     {{{-DAY, 3, ALONE}, 0, NOT_TRUSTED, 0},
      {{NOON, 8, ALONE}, 5, NOT_TRUSTED, WAITING},
      {{NOON + HOUR, HOUR + 8, ALONE}, NOON + HOUR, TRUSTED, 0}}},
};

static void check_history(const struct history *history)
{
    struct clock_state clock;

    clock_init(&clock, history->saved_ms, INT64_MAX, &history->readings[0].system);
    for (size_t i = 0; i < 6; i++) {
        const struct reading *reading = &history->readings[i];
        if (i > 0 && reading->expected_ms == 0) {
            break;
        }
        int64_t now = clock_now(&clock, &reading->system, HOUR);

        if (now != reading->expected_ms) {
            fail_msg("%s: reading %zu gives %lld", history->rule, i, (long long)now);
        }
        if (clock.waiting != reading->waiting) {
            fail_msg("%s: reading %zu, waiting", history->rule, i);
        }
        if (clock_trusted(&clock, &reading->system, HOUR) != reading->trusted) {
            fail_msg("%s: reading %zu, trusted", history->rule, i);
        }
    }
}

TEST(test_histories)
{
    for (size_t i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
        check_history(&histories[i]);
    }
}

/* Without patience every clock is believed at once. */
TEST(test_no_patience)
{
    const struct clock_reading first = {NOON, 5, ALONE};
    const struct clock_reading later = {NOON + 3650 * DAY, 6, ALONE};
    struct clock_state clock;

    clock_init(&clock, NOON - 100 * DAY, INT64_MAX, &first);
    assert_true(clock_now(&clock, &first, 0) == NOON);
    assert_true(clock_trusted(&clock, &first, 0));
    assert_true(clock_would_jump(&clock, &later));
    assert_true(clock_now(&clock, &later, 0) == NOON + 3650 * DAY);
}

/* Whatever the clocks do, ours does not go back, is never behind the monotonic one, and is never
 * more than a day ahead of it at once without the system's word. */
TEST(test_random_clocks)
{
    enum { ROUNDS = 300, READINGS = 200 };
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < ROUNDS; round++) {
        struct clock_reading system = {NOON, 1000, ALONE};
        struct clock_state clock;

        clock_init(&clock, rng_below(&rng, 2) == 0 ? NOON : NOON - 40 * DAY, INT64_MAX, &system);
        int64_t last_ms = clock.base_ms;
        for (int i = 0; i < READINGS; i++) {
            const int64_t passed_ms = rng_below(&rng, 100 * 1000);

            system.monotonic_ms += passed_ms;
            system.wall_ms += passed_ms;
            system.synchronised = rng_below(&rng, 20) == 0;
            if (rng_below(&rng, 10) == 0) {
                system.wall_ms += (int64_t)rng_below(&rng, 2000000000) - 1000000000;
            }
            const bool jumps = clock_would_jump(&clock, &system);
            const int64_t now_ms = clock_now(&clock, &system, INT64_MAX);

            assert_true(now_ms >= last_ms + passed_ms);
            assert_true(now_ms <= last_ms + passed_ms + DAY || system.synchronised);
            assert_true(clock.waiting == (jumps && !system.synchronised));
            assert_true(!system.synchronised || now_ms >= system.wall_ms);
            last_ms = now_ms;
        }
    }
}
