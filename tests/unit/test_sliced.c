/* SPDX-License-Identifier: Apache-2.0 */
/* Columns added up by every table, and what is asked of the sums, against plain counting. */
#include "core/sliced.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { COLUMNS_MAX = 4096 };

static uint64_t columns_room[COLUMNS_MAX * BITS_LANE_WORDS + 1];
static uint16_t positions[COLUMNS_MAX];

static void plain_counts(const uint64_t *columns, size_t count, uint32_t *out)
{
    memset(out, 0, BITS_LANES * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            out[lane] += sliced_test(columns, positions[i], lane);
        }
    }
}

static void check_threshold(const struct sliced *sliced, const uint32_t *counts, uint32_t least,
                            const uint64_t *mask)
{
    uint64_t kept[BITS_LANE_WORDS];
    bool any = false;

    memcpy(kept, mask, sizeof kept);
    bool result = sliced_keep_least(sliced, least, kept);
    for (uint32_t lane = 0; lane < sliced->lane_words * 64; lane++) {
        bool expected = (mask[lane / 64] >> lane % 64 & 1) != 0 && counts[lane] >= least;

        assert_int_equal(kept[lane / 64] >> lane % 64 & 1, expected);
        any = any || expected;
    }
    assert_int_equal(result, any);
}

static void check_largest(const struct sliced *sliced, const uint32_t *counts, const uint64_t *mask)
{
    uint32_t expected = UINT32_MAX;
    uint32_t lane = UINT32_MAX;

    for (uint32_t i = 0; i < sliced->lane_words * 64; i++) {
        if ((mask[i / 64] >> i % 64 & 1) != 0 &&
            (expected == UINT32_MAX || counts[i] > counts[expected])) {
            expected = i;
        }
    }
    if (expected != UINT32_MAX) {
        assert_int_equal(sliced_largest(sliced, mask, &lane), counts[expected]);
        assert_int_equal(lane, expected);
    }
}

/* Columns with about that many bits set in a hundred. */
static void fill(struct rng *rng, uint32_t percent, uint64_t *columns)
{
    for (size_t i = 0; i < COLUMNS_MAX * BITS_LANE_WORDS; i++) {
        uint64_t some = rng_next(rng);

        columns[i] = percent == 0    ? 0
                     : percent == 25 ? some & rng_next(rng)
                     : percent == 75 ? some | rng_next(rng)
                                     : UINT64_MAX;
    }
}

static void check_table(const struct bits_kernels *kernels, struct rng *rng, size_t count,
                        uint32_t percent)
{
    static uint32_t counts[BITS_LANES];
    uint64_t *columns = columns_room + count / 64 % 2; /* no alignment beyond the types' */
    uint64_t mask[BITS_LANE_WORDS];
    struct sliced sliced;

    fill(rng, percent, columns);
    rng_filter(rng, BITS_LANES, count % 2 == 0 ? 70 : 2, mask); /* few lanes, too */
    for (size_t i = 0; i < count; i++) {
        positions[i] = (uint16_t)rng_below(rng, COLUMNS_MAX);
    }
    sliced.plane_count = bits_planes(count);
    sliced.lane_words = 1 + rng_below(rng, BITS_LANE_WORDS);
    kernels->count_columns(columns, positions, count, sliced.lane_words, sliced.planes);
    plain_counts(columns, count, counts);
    for (uint32_t lane = 0; lane < sliced.lane_words * 64; lane++) {
        assert_int_equal(sliced_number(&sliced, lane), counts[lane]);
    }
    check_threshold(&sliced, counts, 0, mask);
    check_threshold(&sliced, counts, (uint32_t)count, mask);
    check_threshold(&sliced, counts, (uint32_t)count + 1, mask);
    check_threshold(&sliced, counts, 2 * (uint32_t)count + 1, mask);
    check_threshold(&sliced, counts, (uint32_t)count * percent / 100, mask);
    check_largest(&sliced, counts, mask);
}

static void test_tables_agree_with_plain_c(void **state)
{
    static const uint32_t percents[] = {0, 25, 75, 100};
    struct rng rng;

    (void)state;
    rng_init(&rng);
    for (int level = BITS_SCALAR; level <= BITS_AVX512; level++) {
        const struct bits_kernels *kernels = bits_table((enum bits_level)level);

        if (kernels == NULL) {
            printf("kernels of level %d: not here, not tested\n", level);
            continue;
        }
        for (size_t count = 0; count <= COLUMNS_MAX; count += count < 64 ? 1 : 64) {
            check_table(kernels, &rng, count, percents[count % 5 % 4]);
        }
        check_table(kernels, &rng, COLUMNS_MAX, 100);
    }
}

static void test_positions(void **state)
{
    const uint64_t filter[3] = {UINT64_C(1) << 63 | 1, 0, 6};
    uint16_t out[192];

    (void)state;
    assert_int_equal(sliced_positions(filter, 3, out), 4);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 63);
    assert_int_equal(out[2], 129);
    assert_int_equal(out[3], 130);
}

static void test_first(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= BITS_LANES; count++) {
        uint64_t mask[BITS_LANE_WORDS];

        sliced_first(count, mask);
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            assert_int_equal(mask[lane / 64] >> lane % 64 & 1, lane < count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_agree_with_plain_c),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
