/* SPDX-License-Identifier: Apache-2.0 */
/* Columns added up by every table, and what is asked of the sums, against plain counting. */
#include "core/bits/sliced.h"

#include "tests/unit/kernels.h"

enum { WORDS_MAX = 64, COLUMNS_MAX = 4096, PLANE_WORDS = BITS_PLANES_MAX * BITS_LANE_WORDS };

static uint64_t columns_room[COLUMNS_MAX * BITS_LANE_WORDS + 1];
static uint16_t positions[COLUMNS_MAX];

static bool is_in(const uint64_t *mask, uint32_t lane)
{
    return (mask[lane / 64] >> lane % 64 & 1) != 0;
}

static void plain_counts(const uint64_t *columns, size_t count, uint32_t *out)
{
    memset(out, 0, BITS_LANES * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            out[lane] += sliced_test(columns, positions[i], lane);
        }
    }
}

/* ---- one set of numbers, asked everything ---- */

/* The largest number of a word's lanes in a mask; 0 where there are none. */
static uint32_t plain_largest(const uint32_t *numbers, const uint64_t *mask, size_t word)
{
    uint32_t largest = 0;

    for (uint32_t lane = (uint32_t)word * 64; lane < (word + 1) * 64; lane++) {
        largest = is_in(mask, lane) && numbers[lane] > largest ? numbers[lane] : largest;
    }
    return largest;
}

static void check_largest(const struct bits_kernels *kernels, const struct sliced *sliced,
                          const uint32_t *numbers, const uint64_t *mask)
{
    uint64_t kept[BITS_LANE_WORDS];
    uint64_t largest[BITS_LANE_WORDS];
    uint32_t best = UINT32_MAX;
    uint32_t lane = UINT32_MAX;

    memcpy(kept, mask, sizeof kept);
    kernels->keep_largest(sliced->planes, sliced->plane_count, sliced->lane_words, kept, largest);
    for (size_t w = 0; w < sliced->lane_words; w++) {
        assert_true(largest[w] == plain_largest(numbers, mask, w));
    }
    for (uint32_t i = 0; i < sliced->lane_words * 64; i++) {
        assert_int_equal(is_in(kept, i), is_in(mask, i) && numbers[i] == largest[i / 64]);
        if (is_in(mask, i) && (best == UINT32_MAX || numbers[i] > numbers[best])) {
            best = i;
        }
    }
    if (best != UINT32_MAX) {
        assert_int_equal(sliced_largest(kernels, sliced, mask, &lane), numbers[best]);
        assert_int_equal(lane, best);
    }
}

/* Lanes are in it one by one in about so many of a hundred cases; some words have none or all, and
 * those beyond the lane words in use none, as kernels ask for. */
static void fill_mask(struct rng *rng, uint32_t percent, size_t lane_words, uint64_t *mask)
{
    rng_filter(rng, BITS_LANES, percent, mask);
    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        mask[w] = w >= lane_words || rng_chance(rng, 20) ? 0
                  : rng_chance(rng, 20)                  ? UINT64_MAX
                                                         : mask[w];
    }
}

static void check_numbers(const struct bits_kernels *kernels, struct rng *rng,
                          const struct sliced *sliced, const uint32_t *numbers)
{
    static const uint32_t percents[] = {70, 2};
    uint64_t mask[BITS_LANE_WORDS];

    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        fill_mask(rng, percents[i], sliced->lane_words, mask);
        check_largest(kernels, sliced, numbers, mask);
    }
    memset(mask, 0, sizeof mask);
    check_largest(kernels, sliced, numbers, mask);
    sliced_first((uint32_t)sliced->lane_words * 64, mask);
    check_largest(kernels, sliced, numbers, mask);
}

/* ---- thresholds of two parts ---- */

static void check_reaching(const struct bits_kernels *kernels, struct rng *rng,
                           const uint64_t *columns, size_t count, const uint32_t *counts,
                           size_t lane_words)
{
    uint64_t lanes[BITS_LANE_WORDS];
    uint64_t kept[BITS_LANE_WORDS];
    uint64_t floors[BITS_LANE_WORDS];
    uint64_t more[BITS_LANE_WORDS];
    uint32_t needs[BITS_LANES];
    struct sliced own = {.plane_count = bits_planes(count) + rng_below(rng, 2)};
    bool any = false;

    own.plane_count = own.plane_count > BITS_PLANES_MAX ? BITS_PLANES_MAX : own.plane_count;
    memset(own.planes, 0, sizeof own.planes);
    fill_mask(rng, 70, lane_words, lanes);
    for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
        /* near what the lane has, so that both answers are frequent */
        needs[lane] = counts[lane] / 2 + rng_below(rng, 3);
        needs[lane] = rng_chance(rng, 20) ? 0 : needs[lane];
        needs[lane] &= (UINT32_C(1) << own.plane_count) - 1;
        for (uint32_t p = 0; p < own.plane_count; p++) {
            if ((needs[lane] >> p & 1) != 0) {
                sliced_set(own.planes, p, lane);
            }
        }
        floors[lane / 64] = rng_chance(rng, 10) ? 0 : rng_below(rng, 32769);
        more[lane / 64] = rng_chance(rng, 50) ? 0 : rng_below(rng, 1 + (counts[lane] << 16));
    }
    const uint32_t base = rng_below(rng, 4097);
    const struct bits_reach reach = {
        .columns = columns,
        .positions = positions,
        .count = count,
        .lane_words = lane_words,
        .lanes = lanes,
        .own = own.planes,
        .own_planes = own.plane_count,
        .floors = floors,
        .more = more,
        .base = base,
        .planes = BITS_PLANES_MAX + 1,
    };
    const bool result = kernels->lanes_reaching(&reach, kept);
    for (uint32_t lane = 0; lane < lane_words * 64; lane++) {
        const uint64_t common = (base * floors[lane / 64] + more[lane / 64]) >> BITS_FLOOR_SHIFT;
        const bool expected = is_in(lanes, lane) && counts[lane] >= needs[lane] + common;

        assert_int_equal(is_in(kept, lane), expected);
        any = any || expected;
    }
    assert_int_equal(result, any);
}

/* ---- columns added up ---- */

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

static void check_columns(const struct bits_kernels *kernels, struct rng *rng, size_t count,
                          uint32_t percent)
{
    static uint32_t counts[BITS_LANES];
    uint64_t *columns = columns_room + count / 64 % 2; /* no alignment beyond the types' */
    struct sliced sliced;

    fill(rng, percent, columns);
    for (size_t i = 0; i < count; i++) {
        positions[i] = (uint16_t)rng_below(rng, COLUMNS_MAX);
    }
    memset(&sliced, 0xa5, sizeof sliced); /* planes in use are written whole */
    sliced.plane_count = bits_planes(count);
    sliced.lane_words = 1 + rng_below(rng, BITS_LANE_WORDS);
    kernels->count_columns(columns, positions, count, sliced.lane_words, sliced.planes);
    plain_counts(columns, count, counts);
    for (uint32_t lane = 0; lane < sliced.lane_words * 64; lane++) {
        assert_int_equal(sliced_number(sliced.planes, sliced.plane_count, lane), counts[lane]);
    }
    check_numbers(kernels, rng, &sliced, counts);
    check_reaching(kernels, rng, columns, count, counts, sliced.lane_words);
}

static void check_all_columns(const struct bits_kernels *kernels, struct rng *rng)
{
    static const uint32_t percents[] = {0, 25, 75, 100};

    for (size_t count = 0; count <= COLUMNS_MAX; count += count < 64 ? 1 : 64) {
        check_columns(kernels, rng, count, percents[count % 5 % 4]);
    }
    check_columns(kernels, rng, COLUMNS_MAX, 100);
}

/* ---- planes of all kinds ---- */

/* Planes for random numbers of so many bits: of all sizes, or of few so that many are equal. */
static void fill_planes(struct rng *rng, bool ties, struct sliced *sliced, uint32_t *numbers)
{
    uint32_t few[3];

    memset(sliced->planes, 0, sizeof sliced->planes);
    for (size_t i = 0; i < 3; i++) {
        few[i] = rng_below(rng, UINT32_C(1) << sliced->plane_count);
    }
    for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
        numbers[lane] =
            ties ? few[rng_below(rng, 3)] : rng_below(rng, UINT32_C(1) << sliced->plane_count);
        for (uint32_t p = 0; p < sliced->plane_count; p++) {
            if ((numbers[lane] >> p & 1) != 0) {
                sliced_set(sliced->planes, p, lane);
            }
        }
    }
}

static void check_all_planes(const struct bits_kernels *kernels, struct rng *rng)
{
    static uint32_t numbers[BITS_LANES];
    struct sliced sliced;

    for (sliced.plane_count = 0; sliced.plane_count <= BITS_PLANES_MAX; sliced.plane_count++) {
        for (sliced.lane_words = 1; sliced.lane_words <= BITS_LANE_WORDS; sliced.lane_words++) {
            fill_planes(rng, false, &sliced, numbers);
            check_numbers(kernels, rng, &sliced, numbers);
            fill_planes(rng, true, &sliced, numbers);
            check_numbers(kernels, rng, &sliced, numbers);
        }
    }
}

KERNELS_TEST(test_columns, check_all_columns)
KERNELS_TEST(test_planes, check_all_planes)

static void check_positions(const struct bits_kernels *kernels, struct rng *rng)
{
    uint16_t expected[WORDS_MAX * 64];
    uint16_t out[WORDS_MAX * 64 + 1];

    for (size_t words = 0; words <= WORDS_MAX; words++) {
        for (uint32_t percent = 0; percent <= 100; percent += 20) {
            uint64_t filter[WORDS_MAX];

            rng_filter(rng, (uint32_t)words * 64, percent, filter);
            const size_t count = sliced_positions(filter, words, expected);
            out[words * 64] = 0xbeef; /* nothing is written beyond */
            assert_int_equal(kernels->positions(filter, words, out), count);
            assert_memory_equal(out, expected, count * sizeof *out);
            assert_int_equal(out[words * 64], 0xbeef);
        }
    }
}

KERNELS_TEST(test_table_positions, check_positions)

/* ---- what needs no kernel ---- */

/* Sums up to the largest that planes hold, of numbers of different widths. */
TEST(test_add)
{
    static uint32_t numbers[BITS_LANES];
    static uint32_t added[BITS_LANES];
    struct sliced sum;
    struct sliced other;
    struct rng rng;

    rng_init(&rng);
    for (size_t one = 0; one < BITS_PLANES_MAX; one++) {
        for (size_t two = 0; two < BITS_PLANES_MAX; two++) {
            sum.plane_count = one;
            other.plane_count = two;
            sum.lane_words = other.lane_words = BITS_LANE_WORDS;
            fill_planes(&rng, false, &sum, numbers);
            fill_planes(&rng, false, &other, added);
            /* planes that are not in use hold anything */
            memset(sum.planes + one * BITS_LANE_WORDS, 0xa5,
                   (PLANE_WORDS - one * BITS_LANE_WORDS) * sizeof *sum.planes);
            memset(other.planes + two * BITS_LANE_WORDS, 0xa5,
                   (PLANE_WORDS - two * BITS_LANE_WORDS) * sizeof *other.planes);
            sliced_add(&sum, other.planes, two);
            assert_true(sum.plane_count <= BITS_PLANES_MAX);
            for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
                assert_int_equal(sliced_number(sum.planes, sum.plane_count, lane),
                                 numbers[lane] + added[lane]);
            }
        }
    }
}

/* A number that takes all planes, and one that leaves it there. */
TEST(test_add_to_all_planes)
{
    uint64_t planes[PLANE_WORDS];
    struct sliced sum = {.plane_count = BITS_PLANES_MAX, .lane_words = BITS_LANE_WORDS};

    memset(planes, 0, sizeof planes);
    sliced_set(sum.planes, BITS_PLANES_MAX - 1, 511); /* 4096 */
    for (uint32_t p = 0; p < BITS_PLANES_MAX - 1; p++) {
        sliced_set(planes, p, 511); /* 4095 */
        sliced_set(planes, p, 0);
    }
    sliced_add(&sum, planes, BITS_PLANES_MAX);
    assert_int_equal(sum.plane_count, BITS_PLANES_MAX);
    assert_int_equal(sliced_number(sum.planes, sum.plane_count, 511), 8191);
    assert_int_equal(sliced_number(sum.planes, sum.plane_count, 0), 4095);
    assert_int_equal(sliced_number(sum.planes, sum.plane_count, 1), 0);
}

TEST(test_count)
{
    struct rng rng;

    rng_init(&rng);
    for (uint32_t percent = 0; percent <= 100; percent++) {
        uint64_t mask[BITS_LANE_WORDS];
        uint32_t expected = 0;

        rng_filter(&rng, BITS_LANES, percent, mask);
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            expected += is_in(mask, lane);
        }
        assert_int_equal(sliced_count(mask), expected);
    }
}

TEST(test_set_and_clear)
{
    uint64_t columns[2 * BITS_LANE_WORDS] = {0};

    for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
        sliced_set(columns, 1, lane);
        assert_true(sliced_test(columns, 1, lane));
        assert_false(sliced_test(columns, 0, lane));
        assert_int_equal(sliced_count(columns + BITS_LANE_WORDS), 1);
        sliced_clear(columns, 0, lane);
        assert_true(sliced_test(columns, 1, lane));
        sliced_clear(columns, 1, lane);
        assert_int_equal(sliced_count(columns + BITS_LANE_WORDS), 0);
    }
}

TEST(test_positions)
{
    const uint64_t filter[3] = {UINT64_C(1) << 63 | 1, 0, 6};
    uint16_t out[192];

    assert_int_equal(sliced_positions(filter, 3, out), 4);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 63);
    assert_int_equal(out[2], 129);
    assert_int_equal(out[3], 130);
}

TEST(test_first)
{
    for (uint32_t count = 0; count <= BITS_LANES; count++) {
        uint64_t mask[BITS_LANE_WORDS];

        sliced_first(count, mask);
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            assert_int_equal(mask[lane / 64] >> lane % 64 & 1, lane < count);
        }
    }
}
