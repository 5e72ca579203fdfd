/* SPDX-License-Identifier: Apache-2.0 */
/* How many messages the reports of one network hide in an hour. */
#include "daemon/host/host.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

#include "core/base/err.h"

enum { HOUR = HIDE_RATE_WINDOW_MS };

/* In no hour are there more than that many of one network, whenever they come. */
TEST(no_hour_has_more)
{
    enum { NETWORKS = 3, PER_HOUR = 6, STEPS = 4000 };
    struct hide_rate rate = {0};
    static int64_t times[NETWORKS][STEPS];
    uint32_t counts[NETWORKS] = {0};
    int64_t now_ms = 5;
    struct rng rng;

    rng_init(&rng);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t by = rng_below(&rng, NETWORKS);
        uint32_t recent = 0;
        now_ms += rng_below(&rng, HOUR / 20);
        for (uint32_t i = 0; i < counts[by]; i++) {
            recent += now_ms - times[by][i] < HOUR;
        }
        assert_int_equal(hide_rate_allows(&rate, by, PER_HOUR, now_ms), recent < PER_HOUR);
        if (recent < PER_HOUR) {
            assert_int_equal(hide_rate_note(&rate, alloc_system(), by, now_ms), 0);
            times[by][counts[by]++] = now_ms;
        }
    }
    assert_true(counts[0] > PER_HOUR);
    hide_rate_deinit(&rate, alloc_system());
}

/* When there is no place for one more, nothing is hidden, and nobody's are forgotten too soon. */
TEST(a_full_table_hides_nothing)
{
    struct hide_rate rate = {0};

    for (uint64_t by = 0; by < HIDE_RATE_KEPT; by++) {
        assert_true(hide_rate_allows(&rate, by, 1, (int64_t)by));
        assert_int_equal(hide_rate_note(&rate, alloc_system(), by, (int64_t)by), 0);
    }
    assert_false(hide_rate_allows(&rate, HIDE_RATE_KEPT, 1, HOUR - 1));
    assert_true(hide_rate_allows(&rate, HIDE_RATE_KEPT, 1, HOUR)); /* the oldest is an hour old */
    assert_int_equal(hide_rate_note(&rate, alloc_system(), HIDE_RATE_KEPT, HOUR), 0);
    assert_false(hide_rate_allows(&rate, HIDE_RATE_KEPT + 1, 1, HOUR));
    hide_rate_deinit(&rate, alloc_system());
}

/* One line an hour, and every report that was withheld is counted. */
TEST(the_log_is_told_once_an_hour)
{
    struct hide_rate rate = {0};

    assert_true(hide_rate_withhold(&rate, 0));
    for (int i = 0; i < 100; i++) {
        assert_false(hide_rate_withhold(&rate, HOUR - 1));
    }
    assert_true(hide_rate_withhold(&rate, HOUR));
    assert_int_equal(rate.withheld, 102);
}

TEST(memory_that_runs_out)
{
    struct fail_alloc alloc;
    struct hide_rate rate = {0};

    fail_alloc_init(&alloc);
    fail_alloc_arm(&alloc, 1);
    assert_int_equal(hide_rate_note(&rate, &alloc.alloc, 1, 0), -ERR_NOMEM);
    assert_true(hide_rate_allows(&rate, 1, 1, 0));
    assert_int_equal(hide_rate_note(&rate, &alloc.alloc, 1, 0), 0);
    assert_false(hide_rate_allows(&rate, 1, 1, 0));
    hide_rate_deinit(&rate, &alloc.alloc);
    assert_int_equal(alloc.live_blocks, 0);
}
