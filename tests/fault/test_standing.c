/* SPDX-License-Identifier: Apache-2.0 */
/* Standing queries without memory: what fails changes nothing, and works later. */
#include "core/standing/standing.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/reference/check.h"

enum { QUERIES = 900, BITS = 64, PARTS = 2 };

struct fixture {
    struct fail_alloc fail;
    struct profile profile;
    struct standing_options options;
    struct standing *standing;
    struct standing_query *queries[QUERIES];
};

static void begin(struct fixture *fixture)
{
    fail_alloc_init(&fixture->fail);
    fixture->profile = (struct profile){
        .bits = BITS, .section_count = 1, .sections = {{.bits = BITS, .hashes = 2}}};
    fixture->options = (struct standing_options){
        .alloc = &fixture->fail.alloc,
        .profile = &fixture->profile,
        .kernels = bits_select(BITS_AVX512),
    };
}

static void begin_index(struct fixture *fixture)
{
    size_t n = 0;
    int rc = -1;

    begin(fixture);
    while (rc != 0) {
        fail_alloc_arm(&fixture->fail, ++n);
        rc = standing_new(&fixture->options, &fixture->standing);
        if (rc != 0) {
            assert_int_equal(rc, -ERR_NOMEM);
            assert_int_equal(fixture->fail.live_bytes, 0);
        }
    }
    assert_true(n > 3);
    fail_alloc_arm(&fixture->fail, 0);
}

static void check_structure(const struct fixture *fixture)
{
    const char *wrong = check_standing(fixture->standing);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}

/* Filters with little in common, so that groups and nodes are many. */
static uint64_t filter_number(uint32_t number)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (number + 1) & UINT64_C(0x4242424242424242);
}

static int make_query(struct fixture *fixture, uint32_t number)
{
    const uint64_t one = filter_number(2 * number);
    const uint64_t two = filter_number(2 * number + 1);
    const struct standing_part parts[PARTS] = {{.filter = &one}, {.filter = &two}};
    const struct standing_terms terms = {
        .parts = parts,
        .part_count = PARTS,
        .max_distance_ppm = 100000 + number % 8 * 100000,
        .metric = number % 2 == 0 ? INDEX_METRIC_BITS : INDEX_METRIC_PHI,
    };

    return standing_query_new(fixture->standing, &terms, &fixture->queries[number]);
}

/* Each request of making one and putting it in fails in turn. How often something failed. */
static uint32_t add_query(struct fixture *fixture, uint32_t number)
{
    uint32_t failures = 0;
    int rc = -1;

    for (size_t n = 1; rc != 0; n++) {
        fail_alloc_arm(&fixture->fail, n);
        rc = make_query(fixture, number);
        failures += rc != 0;
    }
    rc = -1;
    for (size_t n = 1; rc != 0; n++) {
        fail_alloc_arm(&fixture->fail, n);
        rc = standing_insert(fixture->standing, fixture->queries[number]);
        if (rc != 0) {
            assert_int_equal(rc, -ERR_NOMEM);
            assert_int_equal(standing_count(fixture->standing), PARTS * number);
            failures++;
        }
    }
    fail_alloc_arm(&fixture->fail, 0);
    return failures;
}

/* The query is found by its own filters, without any memory. */
static void check_found(struct fixture *fixture, uint32_t number)
{
    const uint64_t filter = filter_number(2 * number + 1);
    const struct standing_deposit deposit = {.filter = &filter, .reach_ppm = DISTANCE_ONE_PPM};
    const struct standing_hit *hits = NULL;
    size_t count = 0;
    bool found = false;

    fixture->fail.fail_from_then = true;
    fail_alloc_arm(&fixture->fail, 1);
    assert_int_equal(standing_match(fixture->standing, &deposit, 1, &hits, &count), 1);
    for (size_t i = 0; i < count; i++) {
        found = found || hits[i].query == fixture->queries[number];
    }
    assert_true(found);
    fixture->fail.fail_from_then = false;
    fail_alloc_arm(&fixture->fail, 0);
}

/* Without memory parts stay where they are; and nothing of it is lost. */
static void arrange_all(struct fixture *fixture)
{
    const size_t count = standing_count(fixture->standing);
    bool more = true;

    fixture->fail.fail_from_then = true;
    for (size_t n = 1; more; n++) {
        fail_alloc_arm(&fixture->fail, n);
        more = standing_arrange(fixture->standing, 30);
        check_structure(fixture);
    }
    assert_int_equal(standing_count(fixture->standing), count);
    fixture->fail.fail_from_then = false;
    fail_alloc_arm(&fixture->fail, 0);
}

TEST(test_all)
{
    static struct fixture fixture;
    uint32_t failures = 0;

    begin_index(&fixture);
    for (uint32_t i = 0; i < QUERIES; i++) {
        failures += add_query(&fixture, i);
        if (i % 50 == 0) {
            check_structure(&fixture);
            check_found(&fixture, i / 2);
        }
    }
    assert_true(failures > 4 * QUERIES);
    check_structure(&fixture);
    arrange_all(&fixture);
    for (uint32_t i = 0; i < QUERIES; i += 7) {
        check_found(&fixture, i);
    }
    /* Taking out needs no memory. */
    fixture.fail.fail_from_then = true;
    fail_alloc_arm(&fixture.fail, 1);
    for (uint32_t i = 0; i < QUERIES; i++) {
        standing_query_free(fixture.standing, fixture.queries[(i * 7) % QUERIES]);
        if (i % 50 == 0) {
            check_structure(&fixture);
        }
    }
    assert_int_equal(standing_count(fixture.standing), 0);
    standing_free(fixture.standing);
    assert_int_equal(fixture.fail.live_bytes, 0);
    assert_int_equal(fixture.fail.live_blocks, 0);
}
