/* SPDX-License-Identifier: Apache-2.0 */
/* What tables do to a number for each lane, against 64-bit integers. */
#include "core/bits/sliced.h"

#include "tests/unit/kernels.h"

enum { BASE_MAX = 255, GUARD = 0xbeef, FLOOR_MAX = 1 << (BITS_FLOOR_SHIFT - 1) };

static void check_spread(const struct bits_kernels *kernels, struct rng *rng)
{
    for (size_t planes_used = 0; planes_used <= BITS_SPREAD_PLANES; planes_used++) {
        for (size_t lane_words = 1; lane_words <= BITS_LANE_WORDS; lane_words++) {
            uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
            uint8_t out[BITS_LANES + 1];

            rng_filter(rng, (uint32_t)(BITS_PLANES_MAX * BITS_LANES), 50, planes);
            out[lane_words * 64] = 0xa5; /* nothing is written beyond */
            kernels->spread(planes, planes_used, lane_words, out);
            for (uint32_t lane = 0; lane < lane_words * 64; lane++) {
                assert_int_equal(out[lane], sliced_number(planes, planes_used, lane));
            }
            assert_int_equal(out[lane_words * 64], 0xa5);
        }
    }
}

/* A number of 8 bits, often one of the ends. */
static uint8_t some_byte(struct rng *rng)
{
    switch (rng_below(rng, 6)) {
    case 0:
        return 0;
    case 1:
        return UINT8_MAX;
    default:
        return (uint8_t)rng_below(rng, 256);
    }
}

static uint32_t some_floor(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return 0;
    case 1:
        return FLOOR_MAX;
    default:
        return rng_below(rng, FLOOR_MAX);
    }
}

static uint16_t plain_bound(const struct bits_bound *bound, uint64_t shared, size_t lane)
{
    uint64_t overlap = shared < bound->most[lane] ? shared : bound->most[lane];
    uint64_t cardinality = overlap > bound->least[lane] ? overlap : bound->least[lane];
    uint64_t floor = (overlap << BITS_FLOOR_SHIFT) / (bound->base + cardinality);

    return (uint16_t)(floor >= bound->floor ? 1 + floor : 0);
}

/* Every base, and counts of lanes of every kind. */
static void check_bounds(const struct bits_kernels *kernels, struct rng *rng)
{
    for (uint32_t base = 1; base <= BASE_MAX; base++) {
        uint8_t shared[BITS_LANES];
        uint8_t least[BITS_LANES];
        uint8_t most[BITS_LANES];
        uint16_t out[BITS_LANES + 1];
        size_t count = base == 1 ? BITS_LANES : 1 + rng_below(rng, BITS_LANES);
        size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE;
        const struct bits_bound bound = {
            .least = least, .most = most, .base = base, .floor = some_floor(rng)};

        for (size_t i = 0; i < BITS_LANES; i++) {
            shared[i] = (uint8_t)(rng_chance(rng, 10) ? base : rng_below(rng, base + 1));
            least[i] = some_byte(rng);
            most[i] = some_byte(rng);
        }
        out[end] = GUARD;
        kernels->bound_lanes(&bound, shared, count, out);
        for (size_t i = 0; i < end; i++) {
            assert_int_equal(out[i], i < count ? plain_bound(&bound, shared[i], i) : 0);
        }
        assert_int_equal(out[end], GUARD);
    }
}

/* Every number of shared bits with every cardinality, for quotients are not computed in integers.
 */
static void check_all_bounds(const struct bits_kernels *kernels, struct rng *rng)
{
    uint8_t shared[BITS_LANES];
    uint8_t least[BITS_LANES];
    uint8_t most[BITS_LANES];
    uint16_t out[BITS_LANES];
    size_t wrong = 0;

    (void)rng;
    memset(most, UINT8_MAX, sizeof most);
    for (size_t i = 0; i < BITS_LANES; i++) {
        least[i] = (uint8_t)i;
    }
    for (uint32_t base = 1; base <= BASE_MAX; base++) {
        const struct bits_bound bound = {.least = least, .most = most, .base = base};

        for (uint32_t overlap = 0; overlap <= base; overlap++) {
            memset(shared, (int)overlap, sizeof shared);
            kernels->bound_lanes(&bound, shared, UINT8_MAX + 1, out);
            for (size_t i = 0; i <= UINT8_MAX; i++) {
                wrong += out[i] != plain_bound(&bound, overlap, i);
            }
        }
    }
    assert_int_equal(wrong, 0);
}

/* The sums of one lane in bits, not rounded. */
struct plain_sums {
    double shared;
    double spread;
    uint32_t overlaps;
    bool is_unknown;
};

static void plain_add(const struct bits_section *section, size_t lane, struct plain_sums *sums)
{
    uint32_t overlap = section->overlaps[lane];
    uint32_t above = overlap > section->least[lane] ? overlap : section->least[lane];
    uint32_t set = above < section->most[lane] ? above : section->most[lane];
    uint32_t both = overlap < set ? overlap : set;

    sums->overlaps += overlap;
    sums->shared += both - (double)set * section->set / section->bits;
    sums->spread += set - (double)set * set / section->bits;
    sums->is_unknown = sums->is_unknown || section->most[lane] == UINT8_MAX ||
                       2u * section->most[lane] > section->bits;
}

/* The bound that follows from sums. */
static uint32_t plain_reach(const struct plain_sums *sums, double shared, double spread,
                            uint32_t base)
{
    enum { MOST = 1 << 15 };
    double square = shared * shared * MOST;
    double product = base / 256.0 * spread;

    if (sums->is_unknown) {
        return MOST;
    }
    if (sums->overlaps == 0 || shared <= 0) {
        return 0;
    }
    return square < product * MOST ? (uint32_t)(square / product) : MOST;
}

/* A bound holds for the sums, and for sums that are a little worse it would be no lower. */
static void check_bound(uint16_t bound, const struct plain_sums *sums, uint32_t sections,
                        uint32_t base, uint32_t floor)
{
    enum { MOST = 1 << 15 };
    double slack = sections / 256.0;
    double spread = sums->spread * 0.97 - sections / 32.0;
    uint32_t least = plain_reach(sums, sums->shared + slack, sums->spread, base);
    uint32_t most = plain_reach(sums, sums->shared + slack + (1 + sections) / 64.0,
                                spread > 0 ? spread < 1020 ? spread : 1020 : 0, base);

    most = most + 2 < MOST ? most + 2 : MOST;
    assert_true(bound > 0 ? bound - 1u >= least && bound - 1u <= most && bound - 1u >= floor
                          : least < floor);
}

/* A section with bits of the query, and what lanes have in it. */
static struct bits_section some_section(struct rng *rng, uint8_t *least, uint8_t *most,
                                        uint8_t *overlaps)
{
    struct bits_section section = {least, most, overlaps, 0, 0};
    struct bits_section *out = &section;
    static const uint32_t bits[] = {2, 3, 64, 113, 192, 320, 512, 4096};

    out->bits = bits[rng_below(rng, 8)];
    out->set = 1 + rng_below(rng, out->bits / 2 < 15 ? out->bits / 2 : 15);
    for (size_t i = 0; i < BITS_LANES; i++) {
        uint32_t half = out->bits / 2 < 100 ? out->bits / 2 : 100;

        overlaps[i] = (uint8_t)rng_below(rng, out->set + 1);
        most[i] = rng_chance(rng, 10) ? some_byte(rng) : (uint8_t)rng_below(rng, half + 1);
        most[i] = most[i] < overlaps[i] ? overlaps[i] : most[i];
        least[i] = (uint8_t)rng_below(rng, most[i] + 1u);
    }
    return section;
}

/* Sections of all sizes, one to sixteen of them. */
static void check_sums(const struct bits_kernels *kernels, struct rng *rng)
{
    for (uint32_t round = 0; round < 300; round++) {
        static uint8_t rows[3][16][BITS_LANES];
        struct bits_section all_sections[16];
        struct plain_sums plain[BITS_LANES] = {0};
        uint16_t out[BITS_LANES + 1];
        size_t count = round == 0 ? BITS_LANES : 1 + rng_below(rng, BITS_LANES);
        size_t end = (count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE;
        uint32_t sections = 1 + rng_below(rng, 16);
        uint32_t base = 128 + rng_below(rng, rng_chance(rng, 80) ? 1 << 14 : 1 << 18);
        uint32_t floor = some_floor(rng);

        for (uint32_t s = 0; s < sections; s++) {
            all_sections[s] = some_section(rng, rows[0][s], rows[1][s], rows[2][s]);
            for (size_t i = 0; i < count; i++) {
                plain_add(&all_sections[s], i, &plain[i]);
            }
        }
        out[end] = GUARD;
        kernels->bound_phi(all_sections, sections, base, floor, count, out);
        for (size_t i = 0; i < count; i++) {
            check_bound(out[i], &plain[i], sections, base, floor);
        }
        for (size_t i = count; i < end; i++) {
            assert_int_equal(out[i], 0);
        }
        assert_int_equal(out[end], GUARD);
    }
}

/* Between two floors, in their order, what is had is between two needs. */
static uint16_t plain_promise(const int16_t *needs, uint32_t base, uint32_t shared)
{
    enum { STEP = 1 << 13 };
    int64_t have = (int64_t)shared * 8;
    int64_t needed[BITS_NEEDS];
    uint32_t at = 0;

    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        needed[j] = (int64_t)base * (BITS_NEEDS_FIRST + j) + needs[j * BITS_LANES];
    }
    if (have < needed[0]) {
        return 1 + BITS_NEEDS_FIRST * STEP;
    }
    while (at < BITS_NEEDS - 2 && have >= needed[at + 1]) {
        at++;
    }
    have = have < needed[at + 1] ? have : needed[at + 1];
    return (uint16_t)(1 + (BITS_NEEDS_FIRST + at) * STEP +
                      (have - needed[at]) * STEP / (needed[at + 1] - needed[at]));
}

/* What a message with so many bits in all and outside needs, or anything that ascends. */
static void some_needs(struct rng *rng, int16_t *needs)
{
    uint32_t cardinality = rng_below(rng, rng_chance(rng, 80) ? 200 : 4097);
    uint32_t outside = rng_below(rng, cardinality + 1);

    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        int32_t need = (int32_t)(cardinality * (BITS_NEEDS_FIRST + j)) - (int32_t)outside * 8;

        needs[j * BITS_LANES] = (int16_t)need;
    }
    if (rng_chance(rng, 20)) {
        needs[(BITS_NEEDS - 1) * BITS_LANES] = 1 << 14;
    }
    if (rng_chance(rng, 10)) {
        needs[0] = INT16_MIN;
    }
}

static void check_promises(const struct bits_kernels *kernels, struct rng *rng)
{
    static int16_t needs[BITS_NEEDS * BITS_LANES];
    uint8_t shared[BITS_LANES];
    uint16_t out[BITS_LANES + 1];

    for (uint32_t base = 1; base <= BASE_MAX; base++) {
        for (size_t i = 0; i < BITS_LANES; i++) {
            shared[i] = (uint8_t)rng_below(rng, base + 1);
            some_needs(rng, &needs[i]);
        }
        out[BITS_LANES] = GUARD;
        kernels->promise(needs, base, shared, out);
        for (size_t i = 0; i < BITS_LANES; i++) {
            assert_int_equal(out[i], plain_promise(&needs[i], base, shared[i]));
        }
        assert_int_equal(out[BITS_LANES], GUARD);
    }
}

static void check_one_least(const struct bits_kernels *kernels, const uint16_t *numbers,
                            size_t count, uint16_t least)
{
    uint16_t places[BITS_LANES];
    uint16_t largest = 0;
    size_t first = count;
    size_t found = 0;
    size_t listed = kernels->list_least(numbers, count, least, places);

    for (size_t i = 0; i < count; i++) {
        largest = numbers[i] > largest ? numbers[i] : largest;
        if (numbers[i] >= least) {
            assert_true(found < listed);
            assert_int_equal(places[found], i);
            first = found == 0 ? i : first;
            found++;
        }
    }
    assert_int_equal(listed, found);
    assert_int_equal(kernels->count_least(numbers, count, least), found);
    assert_int_equal(kernels->find_least(numbers, count, least), first);
    assert_int_equal(kernels->largest(numbers, count), largest);
}

static void check_numbers(const struct bits_kernels *kernels, struct rng *rng)
{
    for (size_t count = 0; count <= BITS_LANES; count += BITS_STRIDE) {
        for (uint32_t round = 0; round < 32; round++) {
            uint16_t numbers[BITS_LANES];
            uint32_t below = 1u << rng_below(rng, 17);
            uint32_t zeros = rng_below(rng, 101);

            for (size_t i = 0; i < BITS_LANES; i++) {
                numbers[i] = (uint16_t)(rng_chance(rng, zeros) ? 0 : rng_below(rng, below));
            }
            check_one_least(kernels, numbers, count, 0);
            check_one_least(kernels, numbers, count, 1);
            check_one_least(kernels, numbers, count, numbers[rng_below(rng, BITS_LANES)]);
            check_one_least(kernels, numbers, count, (uint16_t)rng_below(rng, 1 << 16));
            check_one_least(kernels, numbers, count, UINT16_MAX);
        }
    }
}

KERNELS_TEST(test_spread, check_spread)
KERNELS_TEST(test_bounds, check_bounds)
KERNELS_TEST(test_all_bounds, check_all_bounds)
KERNELS_TEST(test_sums, check_sums)
KERNELS_TEST(test_promises, check_promises)
KERNELS_TEST(test_numbers, check_numbers)
