/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very many standing queries: how many nodes a query looks at for a group does not grow with their
 * number, queries that are alike get into one group all the same, and messages find all queries
 * that they fit. The seed is fixed, because the test counts.
 */
#include "core/standing/inner.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

enum {
    WORDS = 8,
    QUERIES = 30000,
    LOOKS = 8, /* nodes that an insert may look at on average */
    LABELS = 20,
    MESSAGES = 20
};

static const struct profile profile = {
    .bits = 512,
    .section_count = 2,
    .sections = {{.bits = 400, .hashes = 2}, {.first_bit = 400, .bits = 112, .hashes = 2}},
};

static struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct standing *standing;
    struct standing_query *queries[QUERIES];
    uint32_t count;
} world;

/* What is seen at a place: most of its labels. */
static void make_filter(uint32_t place, uint64_t *out)
{
    struct rng labels = {.state = place};

    memset(out, 0, WORDS * sizeof *out);
    for (uint32_t i = 0; i < LABELS; i++) {
        uint32_t bit = rng_below(&labels, 400);

        if (rng_chance(&world.rng, 90)) {
            bloom_set(out, bit);
        }
    }
}

static void ask(uint32_t place, enum index_metric metric, uint32_t distance_ppm)
{
    uint64_t filter[WORDS];
    struct standing_part part = {.filter = filter};
    struct standing_terms terms = {
        .parts = &part, .part_count = 1, .max_distance_ppm = distance_ppm, .metric = metric};

    make_filter(place, filter);
    assert_int_equal(standing_query_new(world.standing, &terms, &world.queries[world.count]), 0);
    assert_int_equal(standing_insert(world.standing, world.queries[world.count++]), 0);
}

static uint32_t group_count(void)
{
    uint32_t sum = 0;

    for (uint32_t n = 0; n < world.standing->node_count; n++) {
        sum += world.standing->nodes[n]->group_count;
    }
    return sum;
}

static void check_message(uint32_t place)
{
    uint64_t filter[WORDS];
    struct standing_deposit deposit = {.filter = filter, .reach_ppm = DISTANCE_ONE_PPM};
    const struct standing_hit *hits = NULL;
    size_t count = 0;
    size_t expected = 0;

    make_filter(place, filter);
    for (uint32_t i = 0; i < world.count; i++) {
        struct standing_hit hit;

        expected += standing_fits(world.standing, world.queries[i], &deposit, &hit);
    }
    assert_int_equal(standing_match(world.standing, &deposit, 1, &hits, &count), 1);
    assert_int_equal(count, expected);
}

/* The nodes that the last tenth of the queries looked at, each on average. */
static double ask_many(uint32_t places, enum index_metric metric, uint32_t distance_ppm)
{
    uint64_t before = 0;

    for (uint32_t i = 0; i < QUERIES; i++) {
        if (i == QUERIES - QUERIES / 10) {
            before = world.standing->looked;
        }
        ask(i % places, metric, distance_ppm);
    }
    return (double)(world.standing->looked - before) / (QUERIES / 10);
}

/* Looks at all queries again, as the daemon does in its slices. Returns the nodes looked at, for
 * each query. */
static double arrange_all(void)
{
    uint64_t before = world.standing->looked;

    while (standing_arrange(world.standing, 128)) {
    }
    return (double)(world.standing->looked - before) / world.count;
}

static void run_many(uint32_t places, enum index_metric metric, uint32_t distance_ppm)
{
    struct standing_options options = {
        .alloc = &world.alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
    };

    world.rng.state = 1;
    world.count = 0;
    fail_alloc_init(&world.alloc);
    assert_int_equal(standing_new(&options, &world.standing), 0);
    double inserting = ask_many(places, metric, distance_ppm);
    assert_null(check_standing(world.standing));
    uint32_t groups = group_count();
    double arranging = arrange_all();
    printf("%d queries, %u places, %s: %.1f nodes an insert, %.1f to arrange one, %u groups, then "
           "%u\n",
           QUERIES, places, metric == INDEX_METRIC_PHI ? "phi" : "bits", inserting, arranging,
           groups, group_count());
    assert_true(inserting < LOOKS);
    assert_true(arranging < STANDING_LOOKS * LOOKS);
    assert_true(group_count() < places + 2 * places / 5);
    assert_null(check_standing(world.standing));
    for (uint32_t i = 0; i < MESSAGES; i++) {
        check_message(rng_below(&world.rng, places));
    }
    for (uint32_t i = 0; i < world.count; i++) {
        standing_query_free(world.standing, world.queries[i]);
    }
    standing_free(world.standing);
    assert_int_equal(world.alloc.live_bytes, 0);
}

/* Each query is alone. */
TEST(test_all_unlike)
{
    run_many(QUERIES, INDEX_METRIC_BITS, 650000);
    run_many(QUERIES, INDEX_METRIC_PHI, 700000);
}

/* Two queries are alike, and the second one comes after all others have come. */
TEST(test_pairs)
{
    run_many(QUERIES / 2, INDEX_METRIC_BITS, 650000);
    run_many(QUERIES / 2, INDEX_METRIC_PHI, 750000); /* nearer ones also join strangers */
}
