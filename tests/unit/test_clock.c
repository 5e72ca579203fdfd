/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/clock.h"

#include "tests/lib/check.h"

#define Y2024 INT64_C(1704067200000)
#define DAY   INT64_C(86400000)
#define NOON  (Y2024 + 900 * DAY) /* an ordinary moment */

/* One reading of the system's clocks, and what the host's clock then says. */
struct reading {
    int64_t wall_ms;
    int64_t monotonic_ms;
    int64_t expected_ms;
    bool trusted;
};

struct history {
    const char *rule;
    int64_t saved_ms;
    struct reading readings[5]; /* the first one starts the clock; an all-zero one ends them */
};

static const struct history histories[] = {
    {"follows a wall clock that is right",
     0,
     {{NOON, 10, NOON, true}, {NOON + 500, 510, NOON + 500, true}}},
    {"is not held back by an older saved time",
     NOON - DAY,
     {{NOON, 10, NOON, true}, {NOON + 1, 11, NOON + 1, true}}},
    {"goes on from the saved time when the wall clock is behind",
     NOON,
     {{Y2024, 5, NOON, false}, {Y2024 + 100, 105, NOON + 100, false}}},
    {"adopts the wall clock once that is ahead",
     NOON,
     {{NOON - DAY, 5, NOON, false}, {NOON + DAY, 6, NOON + DAY, true}}},
    {"does not follow a wall clock that is put back",
     0,
     {{NOON, 0, NOON, true}, {NOON - 3600000, 1000, NOON + 1000, false}}},
    {"trusts a wall clock up to a minute behind",
     NOON,
     {{NOON - 60000, 5, NOON, true}, {NOON - 60001, 5, NOON, false}}},
    {"does not trust a wall clock from before 2024",
     0,
     {{1000, 5, 1000, false},
      {2000, 1005, 2000, false},
      {Y2024 - 1, 1005, Y2024 - 1, false},
      {Y2024, 1006, Y2024, true}}},
    {"keeps a jump forward when it is taken back",
     0,
     {{NOON, 0, NOON, true},
      {NOON + 3650 * DAY, 1, NOON + 3650 * DAY, true},
      {NOON + 2, 2, NOON + 3650 * DAY + 1, false},
      {NOON + 1002, 1002, NOON + 3650 * DAY + 1001, false}}},
    {"stands still while the monotonic clock goes back",
     0,
     {{NOON, 1000, NOON, true}, {NOON, 500, NOON, true}, {NOON, 1001, NOON + 1, true}}},
    {"stops at the end of time",
     INT64_MAX - 5,
     {{NOON, 0, INT64_MAX - 5, false},
      {NOON, 100, INT64_MAX, false},
      {NOON, 200, INT64_MAX, false}}},
    {"lives with a wall clock before 1970",
     0,
     {{-DAY, 3, 0, false}, {-DAY, 8, 5, false}, {INT64_MIN, 9, 6, false}}},
};

static void test_histories(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
        const struct history *history = &histories[i];
        struct clock_state clock;

        clock_init(&clock, history->saved_ms, history->readings[0].wall_ms,
                   history->readings[0].monotonic_ms);
        for (size_t j = 0; j < 5 && (j == 0 || history->readings[j].wall_ms != 0); j++) {
            const struct reading *reading = &history->readings[j];
            int64_t now = clock_now(&clock, reading->wall_ms, reading->monotonic_ms);

            if (now != reading->expected_ms) {
                fail_msg("%s: reading %zu gives %lld", history->rule, j, (long long)now);
            }
            if (clock_trusted(&clock, reading->wall_ms, reading->monotonic_ms) !=
                reading->trusted) {
                fail_msg("%s: reading %zu, trusted", history->rule, j);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
