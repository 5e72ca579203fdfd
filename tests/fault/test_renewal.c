/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A renewal in which the n-th allocation fails, for each n until none does, with messages that come
 * and go and a search under way in each phase: the index has what was put into it, holds as much
 * memory as it says, answers as a list does, and the next renewal succeeds.
 */
#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/plain_query.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { MESSAGES = 700, BITS = 64, FANOUT = 8, K = 12, NOTES = 2100 };

struct fixture {
    struct fail_alloc alloc; /* of the tree */
    struct index *list;
    struct index *tree;
    uint32_t next_id;
    struct index_search *search;
    uint64_t wanted;
};

static const struct profile profile = {
    .bits = BITS, .section_count = 1, .sections = {{.bits = BITS, .hashes = 2}}};

static uint64_t filter_number(uint32_t number)
{
    uint64_t filter = 0;

    for (uint32_t i = 0; i < 9; i++) {
        bloom_set(&filter, (number % 23 * 11 + i * (number % 23 + 3) + (i == 8) * number) % BITS);
    }
    return filter;
}

/* The list gets it only if the tree has it: with its memory failing it may not. */
static void insert_next(struct fixture *fixture)
{
    uint32_t id = fixture->next_id++;
    uint64_t filter = filter_number(id);
    struct index_item item = {
        .deposited_ms = id / 3, .expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM};

    memcpy(item.id, &id, sizeof id);
    int result = index_insert(fixture->tree, &item, &filter);
    assert_true(result == 0 || result == -ERR_NOMEM);
    if (result == 0) {
        assert_int_equal(index_insert(fixture->list, &item, &filter), 0);
    }
}

static void remove_number(struct fixture *fixture, uint32_t id)
{
    uint8_t bytes[MESSAGE_ID_BYTES] = {0};

    memcpy(bytes, &id, sizeof id);
    assert_int_equal(index_remove(fixture->tree, bytes, NULL),
                     index_remove(fixture->list, bytes, NULL));
}

static void change(struct fixture *fixture)
{
    insert_next(fixture);
    remove_number(fixture, fixture->next_id * 7 % MESSAGES);
}

static struct fixture *begin(void)
{
    static struct fixture fixture;
    struct index_options options = {
        .alloc = alloc_system(),
        .profile = &profile,
        .kernels = bits_select(BITS_SCALAR),
        .hash_seed = 99,
    };

    memset(&fixture, 0, sizeof fixture);
    fail_alloc_init(&fixture.alloc);
    assert_int_equal(index_new(&list_engine, &options, &fixture.list), 0);
    options.alloc = &fixture.alloc.alloc;
    assert_int_equal(index_new(small_tree_engine(FANOUT), &options, &fixture.tree), 0);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        insert_next(&fixture);
    }
    return &fixture;
}

static void end(struct fixture *fixture)
{
    index_free(fixture->tree);
    index_free(fixture->list);
    assert_int_equal(fixture->alloc.live_blocks, 0);
}

static struct index_search *search_begin(const struct fixture *fixture, struct index *index)
{
    struct index_part part = {.index = index, .filter = &fixture->wanted};
    struct index_query query = plain_index_query(&part, 1, K);
    struct index_search *search = NULL;

    assert_int_equal(index_search_new(alloc_system(), &query, &search), 0);
    return search;
}

static void check_search(const struct fixture *fixture, struct index_search *search)
{
    struct index_search *reference = search_begin(fixture, fixture->list);
    uint32_t count = 0;
    uint32_t expected_count = 0;

    while (index_search_step(search, 50, 0) == INDEX_MORE) {
    }
    assert_int_equal(index_search_step(reference, UINT64_MAX, 0), 0);
    const struct nearest_candidate *found = index_search_results(search, &count);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
    }
    index_search_free(search);
    index_search_free(reference);
}

/* All phases, with changes in each; where it fails it ends. `many` notes take several blocks. */
static int renew(struct fixture *fixture, bool many)
{
    struct renewal *renewal = NULL;
    int result = renewal_begin(fixture->tree, &renewal);

    if (result != 0) {
        return result;
    }
    do {
        result = renewal_copy(renewal);
        change(fixture);
        if (result == RENEWAL_FULL) {
            result = renewal_take(renewal, NULL);
            result = result == 0 ? RENEWAL_MORE : result;
        }
    } while (result == RENEWAL_MORE);
    if (result == 0) {
        for (uint32_t i = 0; i < (many ? NOTES / 2 : 5); i++) {
            change(fixture);
        }
        result = renewal_arrange(renewal, NULL);
    }
    if (result == 0) {
        do {
            change(fixture);
            result = renewal_follow(renewal, 4);
        } while (result == RENEWAL_MORE);
    }
    renewal_detach(renewal);
    renewal_free(renewal);
    return result;
}

static void run(bool many)
{
    bool failed = true;
    uint32_t n = 0;

    while (failed) {
        struct fixture *fixture = begin();

        fixture->wanted = filter_number(n);
        struct index_search *under_way = search_begin(fixture, fixture->tree);
        assert_int_equal(index_search_step(under_way, 1, 0), INDEX_MORE);
        fail_alloc_arm(&fixture->alloc, ++n);
        int result = renew(fixture, many);
        failed = fixture->alloc.requests >= n; /* maybe of a message's own memory */
        fail_alloc_arm(&fixture->alloc, 0);
        assert_true(result == 0 || (failed && result == -ERR_NOMEM));
        assert_null(check_index(fixture->tree));
        assert_int_equal(index_count(fixture->tree), index_count(fixture->list));
        assert_int_equal(fixture->alloc.live_bytes, index_bytes(fixture->tree));
        check_search(fixture, under_way);
        assert_int_equal(renew(fixture, many), 0);
        assert_null(check_index(fixture->tree));
        assert_int_equal(index_count(fixture->tree), index_count(fixture->list));
        check_search(fixture, search_begin(fixture, fixture->tree));
        end(fixture);
    }
    printf("%u allocations failed\n", n - 1);
    assert_true(n > 100);
}

TEST(test_each_allocation_fails)
{
    run(false);
}

TEST(test_each_allocation_fails_with_many_notes)
{
    run(true);
}

/* The memory of searches' own cursors, which an exchange needs anew. */
TEST(test_cursor_fails)
{
    for (size_t n = 1; n <= 3; n++) {
        struct fixture *fixture = begin();
        struct fail_alloc of_searches;
        struct index_search *searches[2] = {NULL, NULL};
        struct index_part part = {.index = fixture->tree, .filter = &fixture->wanted};
        const struct index_query query = plain_index_query(&part, 1, K);

        fixture->wanted = filter_number(3);
        fail_alloc_init(&of_searches);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(index_search_new(&of_searches.alloc, &query, &searches[i]), 0);
            assert_int_equal(index_search_step(searches[i], 1, 0), INDEX_MORE);
        }
        fail_alloc_arm(&of_searches, n);
        assert_int_equal(renew(fixture, false), n < 3 ? -ERR_NOMEM : 0);
        fail_alloc_arm(&of_searches, 0);
        for (int i = 0; i < 2; i++) {
            check_search(fixture, searches[i]);
        }
        assert_int_equal(of_searches.live_blocks, 0);
        end(fixture);
    }
}
