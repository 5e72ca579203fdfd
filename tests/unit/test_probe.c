/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/engine.h"

#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

/* A probe whose k best (k = 1) has this rank, or none yet. */
struct fixture {
    struct nearest nearest;
    struct nearest_candidate worst;
    struct index_query query;
    struct index_probe probe;
};

static void begin(struct fixture *fixture, const struct similarity *rank, uint32_t max_ppm)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->worst.rank = rank != NULL ? *rank : similarity_of(0, 0);
    fixture->nearest = (struct nearest){
        .heap = &fixture->worst,
        .count = rank != NULL,
        .k = 1,
    };
    fixture->query.max_distance_ppm = max_ppm;
    fixture->query.metric = INDEX_METRIC_BITS;
    fixture->probe.query = &fixture->query;
    fixture->probe.nearest = &fixture->nearest;
}

/* The promise of the floor: what it rules out cannot pass. And it is worth asking for. */
static void check_floor(struct fixture *fixture, uint32_t query_bits, uint32_t bits)
{
    uint64_t floor = index_probe_floor(&fixture->probe);
    uint32_t sum = query_bits + bits;

    assert_true(floor <= 1u << 15);
    fixture->probe.cardinality = query_bits;
    for (uint32_t overlap = 0; overlap <= query_bits && overlap <= bits; overlap++) {
        bool passes = index_probe_may_pass(&fixture->probe, bits, overlap);
        bool ruled_out = ((uint64_t)overlap << INDEX_FLOOR_SHIFT) < sum * floor;

        assert_false(passes && ruled_out);
        /* A bit less than needed is ruled out already. */
        if (passes && overlap > 0 && !index_probe_may_pass(&fixture->probe, bits, overlap - 1)) {
            assert_true(((uint64_t)(overlap - 1) << INDEX_FLOOR_SHIFT) < sum * (floor + 1));
        }
    }
}

TEST(test_floor_rules_out_only_what_cannot_pass)
{
    static const uint32_t limits[] = {0, 1, 250000, 333333, 500000, 999999, 1000000, UINT32_MAX};
    struct rng rng;

    rng_init(&rng);
    for (uint32_t round = 0; round < 4000; round++) {
        uint32_t m = round % 2 == 0 ? 64 : 4096;
        uint32_t all = 1 + rng_below(&rng, m);
        struct similarity rank = similarity_of(rng_below(&rng, all + 1), all);
        struct fixture fixture;

        begin(&fixture, round % 5 == 0 ? NULL : &rank, limits[rng_below(&rng, 8)]);
        check_floor(&fixture, rng_below(&rng, m + 1), rng_below(&rng, m + 1));
        check_floor(&fixture, m, m);
    }
}

/* Equal rank may pass, as a newer message comes first; anything less may not. */
TEST(test_equal_rank_may_pass)
{
    struct similarity third = similarity_of(1, 3);
    struct fixture fixture;

    begin(&fixture, &third, DISTANCE_ONE_PPM);
    fixture.probe.cardinality = 20;
    assert_true(index_probe_may_pass(&fixture.probe, 20, 10)); /* 10 of 30 */
    assert_false(index_probe_may_pass(&fixture.probe, 20, 9));
    assert_false(index_probe_may_pass(&fixture.probe, 21, 10));
    assert_true(index_probe_may_pass(&fixture.probe, 19, 10));
    begin(&fixture, NULL, 500000);
    fixture.probe.cardinality = 20;
    assert_true(index_probe_may_pass(&fixture.probe, 10, 10)); /* exactly at the limit */
    assert_false(index_probe_may_pass(&fixture.probe, 11, 10));
}

TEST(test_empty_filters)
{
    struct similarity one = similarity_of(5, 5);
    struct fixture fixture;

    begin(&fixture, &one, 0);
    assert_true(index_probe_may_pass(&fixture.probe, 0, 0)); /* distance 0 */
    assert_false(index_probe_may_pass(&fixture.probe, 1, 0));
    check_floor(&fixture, 0, 0);
}

/* What is not stored is not answered: the caller's answer stays. */
TEST(test_memo_of_what_was_not_tested)
{
    struct fail_alloc alloc;
    struct index_memo memo;
    bool answer = true;

    fail_alloc_init(&alloc);
    assert_int_equal(index_memo_init(&memo, &alloc.alloc, 8), 0);
    assert_false(index_memo_get(&memo, 3, &answer));
    assert_true(answer);
    index_memo_put(&memo, 3, false);
    assert_true(index_memo_get(&memo, 3, &answer));
    assert_false(answer);
    index_memo_put(&memo, 4, true);
    assert_true(index_memo_get(&memo, 4, &answer));
    assert_true(answer);
    index_memo_deinit(&memo);
}
