/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index without memory: whatever fails changes nothing, loses nothing, and works later.
 */
#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/plain_query.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum {
    MESSAGES = 1600, /* several chunks and tables of every engine */
    GROWING = 800    /* of which each costs many checks */
};

struct fixture {
    struct fail_alloc fail;
    struct profile profile;
    struct index_options options;
};

static void begin(struct fixture *fixture)
{
    fail_alloc_init(&fixture->fail);
    fixture->profile =
        (struct profile){.bits = 64, .section_count = 1, .sections = {{.bits = 64, .hashes = 2}}};
    fixture->options = (struct index_options){
        .alloc = &fixture->fail.alloc,
        .profile = &fixture->profile,
        .kernels = bits_select(BITS_AVX512),
        .hash_seed = 4711,
    };
}

static void end(struct fixture *fixture)
{
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
    const char *wrong = check_index(index);

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

TEST(test_new)
{
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
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
TEST(test_insert)
{
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
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
TEST(test_remove)
{
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
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
TEST(test_search)
{
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
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
        struct index_query query = plain_index_query(parts, 2, 3);
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

/* ---- the tree, with nodes so small that there are many of them, and summaries ---- */

/* A tree, and a list that always has memory, to compare with. */
struct pair {
    struct fixture fixture;
    struct bits_kernels kernels;
    struct index *index;
    struct index *list;
    struct tree *tree;
};

static void begin_pair(struct pair *pair, uint32_t fanout)
{
    struct index_options options;

    begin(&pair->fixture);
    pair->kernels = *pair->fixture.options.kernels;
    pair->kernels.block_columns = 10000; /* so that bounds are used in small nodes, too */
    pair->fixture.options.kernels = &pair->kernels;
    assert_int_equal(index_new(small_tree_engine(fanout), &pair->fixture.options, &pair->index), 0);
    pair->tree = tree_of_index(pair->index);
    options = pair->fixture.options;
    options.alloc = alloc_system();
    assert_int_equal(index_new(&list_engine, &options, &pair->list), 0);
}

static void end_pair(struct pair *pair)
{
    assert_int_equal(pair->fixture.fail.live_bytes, index_bytes(pair->index));
    index_free(pair->index);
    index_free(pair->list);
    end(&pair->fixture);
}

/* Does not take from the memory that fails. */
static struct index_search *search_begin(struct index *index, const uint64_t *wanted)
{
    struct index_part part = {index, wanted, NULL};
    struct index_search *search = NULL;
    struct index_query query = plain_index_query(&part, 1, 10);

    assert_int_equal(index_search_new(alloc_system(), &query, &search), 0);
    return search;
}

/* Ends a search of the tree, which finds what the list finds. */
static void check_search(const struct pair *pair, struct index_search *search,
                         const uint64_t *wanted)
{
    struct index_search *reference = search_begin(pair->list, wanted);
    uint32_t count = 0;
    uint32_t expected_count = 0;

    assert_int_equal(index_search_step(reference, UINT64_MAX, 0), 0);
    assert_int_equal(index_search_step(search, UINT64_MAX, 0), 0);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    const struct nearest_candidate *found = index_search_results(search, &count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
        assert_int_equal(found[i].intersection, expected[i].intersection);
    }
    index_search_free(reference);
    index_search_free(search);
}

static void check_searches(const struct pair *pair, uint32_t round)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t wanted = filter_number(round * 37 + i * 211) ^ (i % 4);

        check_search(pair, search_begin(pair->index, &wanted), &wanted);
    }
}

static void insert_both(struct pair *pair, uint32_t number)
{
    struct index_item item = item_number(number);
    uint64_t filter = filter_number(number);

    assert_int_equal(index_insert(pair->index, &item, &filter), 0);
    assert_int_equal(index_insert(pair->list, &item, &filter), 0);
}

/* Arranges a new tree, with the n-th request for memory failing. Returns what index_arrange did. */
static int arrange_failing(struct pair *pair, uint32_t fanout, size_t n)
{
    begin_pair(pair, fanout);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        insert_both(pair, i);
    }
    fail_alloc_arm(&pair->fixture.fail, n);
    int result = index_arrange(pair->index, NULL);
    fail_alloc_arm(&pair->fixture.fail, 0);
    assert_true(result == 0 || result == -ERR_NOMEM);
    return result;
}

/* An index whose arranging failed frees all its memory. At last all messages are there. */
TEST(test_load_end)
{
    static const uint32_t fanouts[] = {2, 5, 16, 512};

    for (size_t f = 0; f < sizeof fanouts / sizeof fanouts[0]; f++) {
        struct pair pair;
        size_t n = 1;

        while (arrange_failing(&pair, fanouts[f], n) != 0) {
            index_free(pair.index);
            index_free(pair.list);
            end(&pair.fixture);
            n++;
        }
        assert_true(n > 10);
        assert_true(pair.tree->nodes[0]->is_arranged);
        assert_true(fanouts[f] > 5 || pair.tree->summary_count > 0);
        for (uint32_t i = MESSAGES; i < MESSAGES + 50; i++) { /* it goes on */
            insert_both(&pair, i);
        }
        assert_null(check_index(pair.index));
        check_holds(pair.index, MESSAGES + 50);
        check_searches(&pair, 1);
        end_pair(&pair);
    }
}

/* Inserts one message; the first, second, ... request for memory fails until none is left to fail.
 * Returns how many did. */
static uint32_t insert_failing(struct pair *pair, uint32_t number)
{
    struct index_item item = item_number(number);
    uint64_t filter = filter_number(number);
    uint32_t failures = 0;

    for (size_t n = 1;; n++) {
        uint32_t summaries = pair->tree->summary_count;

        fail_alloc_arm(&pair->fixture.fail, n);
        int result = index_insert(pair->index, &item, &filter);
        fail_alloc_arm(&pair->fixture.fail, 0);
        assert_int_equal(pair->fixture.fail.live_bytes, index_bytes(pair->index));
        if (result == 0) {
            break;
        }
        assert_int_equal(result, -ERR_NOMEM);
        assert_true(summaries <= pair->tree->summary_count);
        check_holds(pair->index, number);
        check_searches(pair, number);
        failures++;
    }
    assert_int_equal(index_insert(pair->list, &item, &filter), 0);
    return failures;
}

/* Nodes are added, and directories and summaries grow, each when it is tried again. A search is
 * under way all the time. */
TEST(test_insert_that_grows)
{
    static const uint32_t fanouts[] = {2, 5, 16};

    for (size_t f = 0; f < sizeof fanouts / sizeof fanouts[0]; f++) {
        struct pair pair;
        uint64_t wanted = filter_number(7);
        uint32_t failures = 0;
        uint32_t grown = 0; /* times that there were more summaries */
        uint32_t resumed = 0;

        begin_pair(&pair, fanouts[f]);
        for (uint32_t i = 0; i < GROWING; i++) {
            struct index_search *under_way = search_begin(pair.index, &wanted);
            uint32_t summaries = pair.tree->summary_count;

            bool ended = index_search_step(under_way, 1, 0) == 0;
            failures += insert_failing(&pair, i);
            if (ended) { /* a tree of few messages is done in one step */
                index_search_free(under_way);
            } else {
                check_search(&pair, under_way, &wanted);
                resumed++;
            }
            grown += pair.tree->summary_count > summaries;
        }
        check_holds(pair.index, GROWING);
        check_searches(&pair, 1);
        assert_true(failures >= 20 && resumed >= 100);
        assert_true(grown >= (fanouts[f] == 2 ? 2u : fanouts[f] == 5 ? 1u : 0u));
        end_pair(&pair);
    }
}

/* Nodes that would be merged stay as they are; all is removed that should be. */
TEST(test_remove_without_merging)
{
    static const uint32_t fanouts[] = {5, 16};

    for (size_t f = 0; f < sizeof fanouts / sizeof fanouts[0]; f++) {
        struct pair pair;

        begin_pair(&pair, fanouts[f]);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            insert_both(&pair, i);
        }
        pair.fixture.fail.fail_from_then = true;
        fail_alloc_arm(&pair.fixture.fail, 1);
        for (uint32_t i = MESSAGES; i > 0; i--) {
            struct index_item item = item_number(i - 1);

            assert_int_equal(index_remove(pair.index, item.id, NULL), 0);
            assert_int_equal(index_remove(pair.list, item.id, NULL), 0);
            if (i % 50 == 0) {
                check_holds(pair.index, i - 1);
                check_searches(&pair, i);
            }
        }
        assert_true(pair.fixture.fail.requests > 0); /* some merge was tried */
        assert_int_equal(pair.tree->node_count, 0);
        end_pair(&pair);
    }
}
