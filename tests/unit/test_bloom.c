/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/bloom.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { M_MAX = 4100, WORDS_MAX = 65, BYTES_MAX = 513 };

TEST(test_sizes)
{
    for (uint32_t m = 1; m <= M_MAX; m++) {
        assert_int_equal(bloom_words(m), (m + 63) / 64);
        assert_int_equal(bloom_bytes(m), (m + 7) / 8);
    }
    assert_int_equal(bloom_words(UINT32_MAX), 1u << 26);
    assert_int_equal(bloom_bytes(UINT32_MAX), 1u << 29);
}

/* Positions wrap at 64 bits before they are taken modulo the number of bits. */
TEST(test_positions)
{
    struct hash128 hash = {.low64 = UINT64_C(0xfffffffffffffffe), .high64 = 5};

    assert_int_equal(bloom_position(hash, 0, 1000), 3); /* -2 + 5 */
    assert_int_equal(bloom_position(hash, 1, 1000), ((5 << 19) - 2) % 1000);
    assert_int_equal(bloom_position(hash, 2, 1000), ((UINT64_C(5) << 38) - 2) % 1000);
    for (uint32_t m = 1; m <= M_MAX; m++) {
        assert_true(bloom_position(hash, m, m) < m);
    }
    assert_int_equal(bloom_position(hash, 31, 1), 0);
    /* what leaves the upper end comes in at the lower one; i = 64 turns once around */
    hash = (struct hash128){.low64 = 10, .high64 = UINT64_C(1) << 63};
    assert_int_equal(bloom_position(hash, 1, 1 << 20), 10 + (1 << 18));
    assert_int_equal(bloom_position(hash, 64, 64), bloom_position(hash, 0, 64));
}

/* For every m: each bit alone, at its place in the stored form, and back. */
TEST(test_every_bit_of_every_size)
{
    for (uint32_t m = 1; m <= M_MAX; m += m < 600 ? 1 : 61) {
        for (uint32_t p = 0; p < m; p += m < 200 ? 1 : 7) {
            uint64_t filter[WORDS_MAX] = {0};
            uint64_t back[WORDS_MAX];
            uint8_t bytes[BYTES_MAX];

            bloom_set(filter, p);
            bloom_store(filter, m, bytes);
            for (size_t i = 0; i < bloom_bytes(m); i++) {
                assert_int_equal(bytes[i], i == p / 8 ? 1u << (p % 8) : 0);
            }
            assert_int_equal(bloom_load(back, m, bytes, bloom_bytes(m)), 0);
            assert_memory_equal(filter, back, bloom_words(m) * sizeof *filter);
            assert_true(bloom_test(back, p));
            assert_int_equal(bloom_cardinality(back, bloom_words(m)), 1);
        }
    }
}

/* A bit beyond m, or another length, is refused, and nothing is written. */
TEST(test_load_refuses)
{
    for (uint32_t m = 1; m <= M_MAX; m++) {
        uint64_t filter[WORDS_MAX];
        uint8_t bytes[BYTES_MAX + 1] = {0};
        size_t length = bloom_bytes(m);

        filter[0] = 4711;
        assert_int_equal(bloom_load(filter, m, bytes, length + 1), BLOOM_MALFORMED);
        assert_int_equal(bloom_load(filter, m, bytes, length - 1), BLOOM_MALFORMED);
        assert_int_equal(bloom_load(filter, m, bytes, 0), BLOOM_MALFORMED);
        for (uint32_t beyond = m; beyond < length * 8; beyond++) {
            bytes[length - 1] = (uint8_t)(1u << (beyond % 8));
            assert_int_equal(bloom_load(filter, m, bytes, length), BLOOM_MALFORMED);
        }
        assert_true(filter[0] == 4711);
        memset(bytes, 0xff, length);
        bytes[length - 1] = (uint8_t)(0xffu >> (length * 8 - m));
        assert_int_equal(bloom_load(filter, m, bytes, length), 0);
        assert_int_equal(bloom_cardinality(filter, bloom_words(m)), m);
    }
}

/* Counts, combinations and inclusion against a look at each bit, for every m. */
static void check_pair(struct rng *rng, uint32_t m, uint32_t percent_a, uint32_t percent_b)
{
    uint64_t a[WORDS_MAX];
    uint64_t b[WORDS_MAX];
    uint64_t both[WORDS_MAX];
    uint64_t either[WORDS_MAX];
    size_t words = bloom_words(m);
    uint32_t count_a = 0, count_both = 0, count_either = 0, in_range = 0, in_range_a = 0;
    uint32_t first = rng_below(rng, m + 1);
    uint32_t count = rng_below(rng, m - first + 1);

    rng_filter(rng, m, percent_a, a);
    rng_filter(rng, m, percent_b, b);
    bloom_intersection(both, a, b, words);
    bloom_union(either, a, b, words);
    for (uint32_t p = 0; p < m; p++) {
        bool has_a = bloom_test(a, p);
        bool has_b = bloom_test(b, p);

        count_a += has_a;
        count_both += has_a && has_b;
        count_either += has_a || has_b;
        in_range += (has_a || has_b) && p >= first && p - first < count;
        in_range_a += has_a && p >= first && p - first < count;
        assert_int_equal(bloom_test(both, p), has_a && has_b);
        assert_int_equal(bloom_test(either, p), has_a || has_b);
    }
    assert_int_equal(bloom_cardinality(a, words), count_a);
    assert_int_equal(bloom_intersection_count(a, b, words), count_both);
    assert_int_equal(bloom_union_count(a, b, words), count_either);
    assert_int_equal(bloom_union_count_range(a, b, first, count), in_range);
    assert_int_equal(bloom_union_count_range(a, a, first, count), in_range_a);
    assert_int_equal(bloom_union_count_range(a, a, 0, m), count_a);
    assert_int_equal(bloom_is_subset(a, b, words), count_both == count_a);
    assert_true(bloom_is_subset(both, a, words));
    assert_true(bloom_is_subset(a, either, words));
    bloom_union(a, a, b, words); /* in place */
    assert_memory_equal(a, either, words * sizeof *a);
}

TEST(test_pairs)
{
    struct rng rng;

    rng_init(&rng);
    for (uint32_t m = 1; m <= M_MAX; m++) {
        check_pair(&rng, m, 30, 60);
        if (m % 16 == 1 || m % 64 == 0) {
            check_pair(&rng, m, 0, 100);
            check_pair(&rng, m, 100, 0);
            check_pair(&rng, m, 0, 0);
            check_pair(&rng, m, 100, 100);
        }
    }
}

TEST(test_ranges_at_word_edges)
{
    static const uint32_t edges[] = {0, 1, 63, 64, 65, 127, 128, 129, 192};
    const size_t count = sizeof edges / sizeof edges[0];
    uint64_t full[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count; j++) {
            uint32_t bits = edges[j] - edges[i];

            assert_int_equal(bloom_union_count_range(full, full, edges[i], bits), bits);
        }
    }
}
