/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standing queries by phi of one place that have few and many bits: they share groups, and a lane's
 * own threshold keeps messages out of the groups of large queries that share a word with small
 * ones. The seed is fixed, because the test counts.
 */
#include "core/standing/inner.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

enum { WORDS = 8, BITS = 512, QUERIES = 448, MESSAGES = 512, SMALL = 8, LARGE = 128 };

static const struct profile profile = {
    .bits = BITS,
    .section_count = 1,
    .sections = {{.bits = BITS, .hashes = 2}},
};

static struct world {
    struct rng rng;
    struct standing *standing;
    struct standing_query *queries[QUERIES];
    uint32_t count;
} world;

static void begin(void)
{
    const struct standing_options options = {
        .alloc = alloc_system(), .profile = &profile, .kernels = bits_select(BITS_BEST)};

    world.rng.state = 1;
    world.count = 0;
    assert_int_equal(standing_new(&options, &world.standing), 0);
}

static void end(void)
{
    assert_null(check_standing(world.standing));
    for (uint32_t i = 0; i < world.count; i++) {
        standing_query_free(world.standing, world.queries[i]);
    }
    standing_free(world.standing);
}

/* A filter of `count` bits. */
static void make_filter(uint32_t count, uint64_t *out)
{
    memset(out, 0, WORDS * sizeof *out);
    while (bloom_cardinality(out, WORDS) < count) {
        bloom_set(out, rng_below(&world.rng, BITS));
    }
}

static void ask(const uint64_t *filter)
{
    const struct standing_part part = {.filter = filter};
    const struct standing_terms terms = {
        .parts = &part, .part_count = 1, .max_distance_ppm = 600000, .metric = INDEX_METRIC_PHI};

    assert_int_equal(standing_query_new(world.standing, &terms, &world.queries[world.count]), 0);
    assert_int_equal(standing_insert(world.standing, world.queries[world.count++]), 0);
}

/* A query that has two thirds of the bits of another one joins its group. */
static void test_one_group(void **state)
{
    uint64_t filter[WORDS];

    (void)state;
    begin();
    make_filter(60, filter);
    ask(filter);
    for (uint32_t left = 20, bit = 0; left > 0; bit++) {
        if (bloom_test(filter, bit)) {
            filter[bit / 64] &= ~(UINT64_C(1) << bit % 64);
            left--;
        }
    }
    ask(filter);
    assert_int_equal(world.standing->nodes[0]->group_count, 1);
    end();
}

/* Queries of all sizes that have nothing in common. A large message shares enough bits by chance
 * for the smallest of them, with nearly all of the large ones. */
static void test_own_thresholds(void **state)
{
    uint64_t filter[WORDS];

    (void)state;
    begin();
    while (world.count < QUERIES) {
        make_filter(SMALL + rng_below(&world.rng, LARGE - SMALL), filter);
        ask(filter);
    }
    assert_null(check_standing(world.standing));
    assert_int_equal(world.standing->node_count, 1);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const struct standing_deposit deposit = {.filter = filter, .reach_ppm = DISTANCE_ONE_PPM};
        const struct standing_hit *hits = NULL;
        struct standing_hit hit;
        size_t count = 0;
        size_t expected = 0;

        make_filter(SMALL + rng_below(&world.rng, LARGE - SMALL), filter);
        for (uint32_t q = 0; q < world.count; q++) {
            expected += standing_fits(world.standing, world.queries[q], &deposit, &hit);
        }
        assert_int_equal(standing_match(world.standing, &deposit, 1, &hits, &count), 1);
        assert_int_equal(count, expected);
    }
    printf("%.2f queries compared with a message\n", (double)world.standing->compared / MESSAGES);
    assert_true(world.standing->compared < 40 * MESSAGES);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_group),
        cmocka_unit_test(test_own_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
