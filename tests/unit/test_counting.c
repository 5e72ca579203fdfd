/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

static const uint32_t widths[] = {2, 4, 8, 16, 32};
enum { WIDTHS = sizeof widths / sizeof widths[0], M = 131, WORDS = 3 };

static void add_bit(struct counting *counting, uint32_t p)
{
    uint64_t filter[WORDS] = {0};

    bloom_set(filter, p);
    counting_add(counting, filter);
}

static void remove_bit(struct counting *counting, uint32_t p)
{
    uint64_t filter[WORDS] = {0};

    bloom_set(filter, p);
    counting_remove(counting, filter);
}

/* Neighbours do not touch each other, at any width and at the last position. */
TEST(test_counters_are_apart)
{
    for (size_t w = 0; w < WIDTHS; w++) {
        struct counting counting;

        assert_int_equal(counting_init(&counting, alloc_system(), M, widths[w]), 0);
        for (uint32_t p = 0; p < M; p++) {
            for (uint32_t times = 0; times < p % 4; times++) {
                add_bit(&counting, p);
            }
        }
        for (uint32_t p = 0; p < M; p++) {
            assert_int_equal(bloom_test(counting_filter(&counting), p), p % 4 != 0);
        }
        for (uint32_t removed = 1; removed <= 4; removed++) { /* once more than was added */
            for (uint32_t p = 0; p < M; p++) {
                remove_bit(&counting, p);
            }
            for (uint32_t p = 0; p < M; p++) {
                bool stopped = p % 4 == (UINT64_C(1) << widths[w]) - 1;

                assert_int_equal(bloom_test(counting_filter(&counting), p),
                                 stopped || p % 4 > removed);
            }
        }
        counting_deinit(&counting);
    }
}

/* A counter stops at its largest value; from then on its bit stays, whatever is removed. */
TEST(test_saturation)
{
    const uint32_t p = 77;
    struct counting counting;

    assert_int_equal(counting_init(&counting, alloc_system(), M, 4), 0);
    for (int i = 0; i < 14; i++) {
        add_bit(&counting, p);
    }
    for (int i = 0; i < 14; i++) { /* 14 is not stopped: all the way back */
        remove_bit(&counting, p);
    }
    assert_false(bloom_test(counting_filter(&counting), p));
    remove_bit(&counting, p); /* nor below 0 */
    assert_false(bloom_test(counting_filter(&counting), p));
    for (int i = 0; i < 20; i++) {
        add_bit(&counting, p);
    }
    for (int i = 0; i < 20; i++) {
        remove_bit(&counting, p);
    }
    assert_true(bloom_test(counting_filter(&counting), p));
    counting_deinit(&counting);
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
