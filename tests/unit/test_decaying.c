/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/decaying.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { WORDS_MAX = 64, HISTORY = 300 };

/*
 * Against plain history: the filter is the OR of what was added in the last `rounds` rounds, at all
 * times, for few rounds and for the most there may be.
 */
TEST(test_union_of_the_last_rounds)
{
    static const uint32_t all_rounds[] = {1, 2, 7, DECAYING_ROUNDS_MAX};
    static const uint32_t sizes[] = {1, 64, 131, 512};
    static uint64_t history[HISTORY][WORDS_MAX];
    struct rng rng;

    rng_init(&rng);
    for (size_t i = 0; i < 16; i++) {
        const uint32_t rounds = all_rounds[i / 4];
        const uint32_t m = sizes[i % 4];
        struct decaying decaying;

        memset(history, 0, sizeof history);
        assert_int_equal(decaying_init(&decaying, alloc_system(), m, rounds), 0);
        for (uint32_t now = 0; now < HISTORY; now++) {
            uint64_t expected[WORDS_MAX] = {0};
            uint64_t filter[WORDS_MAX];

            decaying_advance(&decaying);
            if (rng_chance(&rng, 60)) {
                rng_filter(&rng, m, 3, history[now]);
                decaying_add(&decaying, history[now]);
            }
            for (uint32_t past = now + 1 > rounds ? now + 1 - rounds : 0; past <= now; past++) {
                bloom_union(expected, expected, history[past], bloom_words(m));
            }
            decaying_filter(&decaying, filter);
            assert_memory_equal(filter, expected, bloom_words(m) * sizeof *filter);
        }
        decaying_deinit(&decaying);
    }
}

TEST(test_no_memory)
{
    struct fail_alloc fail;
    struct decaying decaying;

    fail_alloc_init(&fail);
    fail_alloc_arm(&fail, 1);
    assert_int_equal(decaying_init(&decaying, &fail.alloc, 512, 3), -ERR_NOMEM);
    decaying_deinit(&decaying);
    assert_int_equal(fail.live_blocks, 0);
}
