/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index without memory: whatever fails changes nothing, loses nothing, and works later.
 */
#include "core/index.h"

#include <string.h>

#include "core/bloom.h"
#include "core/err.h"
#include "core/index_engine.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

enum { WORDS = 1, MESSAGES = 1600 }; /* several chunks and tables of every engine */

struct fixture {
    struct fail_alloc fail;
    struct profile profile;
    struct estimate *estimate;
    struct index_options options;
};

static void begin(struct fixture *fixture)
{
    fail_alloc_init(&fixture->fail);
    fixture->profile = (struct profile){
        .version = 1, .bits = 64, .section_count = 1, .sections = {{.bits = 64, .hashes = 2}}};
    assert_int_equal(estimate_new(alloc_system(), &fixture->profile, &fixture->estimate), 0);
    fixture->options = (struct index_options){
        .alloc = &fixture->fail.alloc,
        .profile = &fixture->profile,
        .estimate = fixture->estimate,
        .kernels = bits_select(BITS_AVX512),
        .hash_seed = 4711,
    };
}

static void end(struct fixture *fixture)
{
    estimate_free(fixture->estimate);
    assert_int_equal(fixture->fail.live_bytes, 0);
    assert_int_equal(fixture->fail.live_blocks, 0);
}

static struct index_item item_number(uint32_t number)
{
    struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM};

    item.id[0] = (uint8_t)(number & 0xff);
    item.id[7] = (uint8_t)(number >> 8);
    item.deposited_ms = number;
    return item;
}

static uint64_t filter_number(uint32_t number)
{
    return (UINT64_C(0x123456789abcdef1) * (number + 1)) & UINT64_C(0x8888ffff22224444);
}

static void check_holds(const struct index *index, uint32_t count)
{
    const char *wrong = index_check(index);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    assert_int_equal(index_count(index), count);
    for (uint32_t i = 0; i < count; i++) {
        struct index_item item = item_number(i);
        struct index_item found;
        uint64_t filter = 0;

        assert_int_equal(index_find(index, item.id, &found, &filter), 0);
        assert_true(found.deposited_ms == i);
        assert_true(filter == filter_number(i));
    }
}

static void test_new(void **state)
{
    (void)state;
    for (const struct index_engine *const *e = index_engines(); *e != NULL; e++) {
        struct fixture fixture;
        struct index *index = NULL;
        size_t n = 0;
        int result = -1;

        begin(&fixture);
        while (result != 0) {
            fail_alloc_arm(&fixture.fail, ++n);
            result = index_new(*e, &fixture.options, &index);
            if (result != 0) {
                assert_int_equal(result, -ERR_NOMEM);
                assert_null(index);
                assert_int_equal(fixture.fail.live_bytes, 0);
            }
        }
        assert_true(n > 1);
        index_free(index);
        end(&fixture);
    }
}

/* Each insert is tried with its first, second, ... request failing, until it works. */
static void test_insert(void **state)
{
    (void)state;
    for (const struct index_engine *const *e = index_engines(); *e != NULL; e++) {
        struct fixture fixture;
        struct index *index = NULL;
        uint32_t failures = 0;

        begin(&fixture);
        assert_int_equal(index_new(*e, &fixture.options, &index), 0);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            struct index_item item = item_number(i);
            uint64_t filter = filter_number(i);

            for (size_t n = 1;; n++) {
                fail_alloc_arm(&fixture.fail, n);
                int result = index_insert(index, &item, &filter);
                fail_alloc_arm(&fixture.fail, 0);
                if (result == 0) {
                    break;
                }
                assert_int_equal(result, -ERR_NOMEM);
                check_holds(index, i);
                failures++;
            }
        }
        assert_true(failures >= 10);
        check_holds(index, MESSAGES);
        index_free(index);
        end(&fixture);
    }
}

/* Removal needs no memory: it works when every request fails. */
static void test_remove(void **state)
{
    (void)state;
    for (const struct index_engine *const *e = index_engines(); *e != NULL; e++) {
        struct fixture fixture;
        struct index *index = NULL;

        begin(&fixture);
        assert_int_equal(index_new(*e, &fixture.options, &index), 0);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            struct index_item item = item_number(i);
            uint64_t filter = filter_number(i);

            assert_int_equal(index_insert(index, &item, &filter), 0);
        }
        fixture.fail.fail_from_then = true;
        fail_alloc_arm(&fixture.fail, 1);
        for (uint32_t i = MESSAGES; i > 0; i--) {
            struct index_item item = item_number(i - 1);

            assert_int_equal(index_remove(index, item.id, NULL), 0);
            assert_int_equal(index_remove(index, item.id, NULL), INDEX_NOT_FOUND);
            if (i % 100 == 0) {
                check_holds(index, i - 1);
            }
        }
        assert_int_equal(index_count(index), 0);
        index_free(index);
        end(&fixture);
    }
}

/* A search that could not begin leaves nothing behind in the indexes; one that has, needs no more.
 */
static void test_search(void **state)
{
    (void)state;
    for (const struct index_engine *const *e = index_engines(); *e != NULL; e++) {
        struct fixture fixture;
        struct index *index = NULL;
        struct index_search *search = NULL;
        uint64_t wanted = filter_number(5);
        uint64_t contained = wanted & (wanted - 1);
        size_t n = 0;
        int result = -1;

        begin(&fixture);
        assert_int_equal(index_new(*e, &fixture.options, &index), 0);
        for (uint32_t i = 0; i < 100; i++) {
            struct index_item item = item_number(i);
            uint64_t filter = filter_number(i);

            assert_int_equal(index_insert(index, &item, &filter), 0);
        }
        struct index_part parts[2] = {{index, &wanted, NULL}, {index, &wanted, &contained}};
        struct index_query query = {
            .parts = parts,
            .part_count = 2,
            .k = 3,
            .max_distance_ppm = DISTANCE_ONE_PPM,
            .since_ms = INT64_MIN,
            .until_ms = INT64_MAX,
        };
        while (result != 0) {
            fail_alloc_arm(&fixture.fail, ++n);
            result = index_search_new(&fixture.fail.alloc, &query, &search);
            if (result != 0) {
                struct index_item item = item_number(200);

                assert_int_equal(result, -ERR_NOMEM);
                assert_null(search);
                assert_int_equal(fixture.fail.live_bytes, index_bytes(index));
                fail_alloc_arm(&fixture.fail, 0);
                assert_int_equal(index_insert(index, &item, &wanted), 0);
                assert_int_equal(index_remove(index, item.id, NULL), 0);
            }
        }
        assert_true(n > 5);
        fixture.fail.fail_from_then = true;
        fail_alloc_arm(&fixture.fail, 1);
        while (index_search_step(search, 1, 0) == INDEX_MORE) {
        }
        uint32_t count = 0;
        const struct nearest_candidate *found = index_search_results(search, &count);
        assert_int_equal(count, 3);
        assert_true(found[0].item.deposited_ms == 5 && found[0].part == 0);
        assert_true(found[1].item.deposited_ms != 5); /* both parts find it; it is there once */
        assert_int_equal(fixture.fail.requests, 0);
        index_search_free(search);
        index_free(index);
        end(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_insert),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
