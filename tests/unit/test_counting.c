/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

enum { M = 131, WORDS = 3 };

/* Neighbours do not touch each other, at the last position neither. */
TEST(test_counters_are_apart)
{
    struct summary summary;

    assert_int_equal(summary_init(&summary, alloc_system(), M), 0);
    for (uint32_t p = 0; p < M; p++) {
        uint64_t filter[WORDS] = {0};

        bloom_set(filter, p);
        for (uint32_t times = 0; times < p % 4; times++) {
            summary_add(&summary, filter);
        }
    }
    for (uint32_t removed = 0; removed <= 3; removed++) {
        for (uint32_t p = 0; p < M; p++) {
            uint64_t filter[WORDS] = {0};

            assert_int_equal(bloom_test(summary_union(&summary), p), p % 4 > removed);
            bloom_set(filter, p);
            if (p % 4 > removed) {
                summary_remove(&summary, filter);
            }
        }
    }
    summary_deinit(&summary);
}

/* Empty, one, the extremes, and back to empty. */
TEST(test_summary_range)
{
    const uint64_t none[WORDS] = {0};
    const uint64_t all[WORDS] = {UINT64_MAX, UINT64_MAX, 7};
    const uint64_t five[WORDS] = {31, 0, 0};
    struct summary summary;
    uint32_t low = 9;
    uint32_t high = 9;

    assert_int_equal(summary_init(&summary, alloc_system(), M), 0);
    summary_range(&summary, &low, &high);
    assert_true(low == 0 && high == 0 && summary.count == 0);
    summary_add(&summary, five);
    summary_range(&summary, &low, &high);
    assert_true(low == 5 && high == 5 && summary.count == 1);
    summary_add(&summary, none);
    summary_add(&summary, all);
    summary_range(&summary, &low, &high);
    assert_true(low == 0 && high == M && summary.count == 3);
    assert_memory_equal(summary_union(&summary), all, sizeof all);
    summary_remove(&summary, all);
    summary_remove(&summary, none);
    summary_range(&summary, &low, &high);
    assert_true(low == 5 && high == 5);
    assert_memory_equal(summary_union(&summary), five, sizeof five);
    summary_remove(&summary, five);
    summary_range(&summary, &low, &high);
    assert_true(low == 0 && high == 0 && summary.count == 0);
    assert_memory_equal(summary_union(&summary), none, sizeof none);
    summary_deinit(&summary);
}

/* Whichever allocation fails: -ERR_NOMEM, and nothing is left behind. */
TEST(test_no_memory)
{
    for (size_t n = 1;; n++) {
        struct fail_alloc fail;
        struct summary summary;

        fail_alloc_init(&fail);
        fail_alloc_arm(&fail, n);
        int rc = summary_init(&summary, &fail.alloc, M);
        if (rc == 0) {
            assert_true(n > 3);
            summary_deinit(&summary);
            break;
        }
        assert_int_equal(rc, -ERR_NOMEM);
        assert_int_equal(fail.live_blocks, 0);
        summary_deinit(&summary); /* harmless */
    }
}
