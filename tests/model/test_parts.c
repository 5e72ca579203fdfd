/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One search over several trees, as over the epochs of a host: each has a few messages of each of
 * many places, whose bits are its own. What is found is what as many lists give, while messages
 * come and go, and what is read is little, as the k best are shared and all trees are looked at
 * before any is searched to its end.
 */
#include "core/tree/inner.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_query.h"
#include "tests/model/some_metric.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum {
    TREES = 12,
    WORDS = 8,
    PLACES = 500,
    PLACE_BITS = 90,
    SEEN_PERCENT = 60,
    EACH = 2 * PLACES, /* messages of a tree */
    NUMBERS_MAX = 1 << 16,
    K = 10
};

struct world {
    struct rng rng;
    struct index *trees[TREES];
    struct index *lists[TREES];
    struct tree *inner[TREES]; /* what is in the trees */
    uint32_t next_id;
    uint8_t homes[NUMBERS_MAX]; /* by number, the tree that a message was put into */
    int64_t now_ms;
};

static struct world world;

static const struct profile profile = {
    .bits = 512, .section_count = 1, .sections = {{.bits = 512, .hashes = 4}}};

/* ---- data ---- */

/* Each bit of a place in another tree is another one, as with another key. */
static uint32_t bit_of(uint32_t tree, uint32_t place, uint32_t i)
{
    uint64_t x = ((uint64_t)tree * PLACES + place) * PLACE_BITS + i;

    x = (x + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ x >> 31) % profile.bits);
}

/* What is seen at a place at a time is the same in all trees: a bit each of `seen`. */
static void draw_seen(bool *seen)
{
    for (uint32_t i = 0; i < PLACE_BITS; i++) {
        seen[i] = rng_chance(&world.rng, SEEN_PERCENT);
    }
}

static void make_filter(uint32_t tree, uint32_t place, const bool *seen, uint64_t *out)
{
    memset(out, 0, WORDS * sizeof *out);
    for (uint32_t i = 0; i < PLACE_BITS; i++) {
        if (seen[i]) {
            bloom_set(out, bit_of(tree, place, i));
        }
    }
}

static void insert(uint32_t tree, uint32_t place)
{
    struct index_item item = {.deposited_ms = rng_below(&world.rng, 100),
                              .expires_ms = INT64_MAX,
                              .reach_ppm = DISTANCE_ONE_PPM};
    uint32_t number = world.next_id++;
    uint32_t id = number * 2654435761u; /* spread, never repeated */
    uint64_t filter[WORDS];
    bool seen[PLACE_BITS];

    assert_true(number < NUMBERS_MAX);
    world.homes[number] = (uint8_t)tree;
    memcpy(item.id, &id, sizeof id);
    draw_seen(seen);
    make_filter(tree, place, seen, filter);
    assert_int_equal(index_insert(world.trees[tree], &item, filter), 0);
    assert_int_equal(index_insert(world.lists[tree], &item, filter), 0);
}

static void insert_some(uint32_t tree, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        insert(tree, rng_below(&world.rng, PLACES));
    }
}

/* ---- indexes ---- */

static void begin_world(const struct bits_kernels *kernels, uint32_t fanout, bool small)
{
    rng_init(&world.rng);
    world.next_id = 1;
    for (uint32_t t = 0; t < TREES; t++) {
        struct index_options options = {
            .alloc = alloc_system(),
            .profile = &profile,
            .kernels = kernels,
            .hash_seed = rng_next(&world.rng),
        };

        assert_int_equal(index_new(small_tree_engine(fanout), &options, &world.trees[t]), 0);
        world.inner[t] = tree_of_index(world.trees[t]);
        world.inner[t]->small_most = small ? TREE_SMALL_MOST : 0;
        assert_int_equal(index_new(&list_engine, &options, &world.lists[t]), 0);
    }
}

static void load(uint32_t tree, uint32_t count)
{
    insert_some(tree, count);
    assert_int_equal(index_arrange(world.trees[tree], NULL), 0);
}

static void end_world(void)
{
    for (uint32_t t = 0; t < TREES; t++) {
        const char *wrong = check_index(world.trees[t]);

        if (wrong != NULL) {
            fail_msg("%s", wrong);
        }
        index_free(world.trees[t]);
        index_free(world.lists[t]);
    }
}

/* ---- searches ---- */

struct asked {
    struct index_query query;
    struct index_part parts[TREES];
    uint64_t filters[TREES][WORDS];
};

/* Somewhere at a place, of all trees. */
static void ask(uint32_t k, struct asked *asked)
{
    uint32_t place = rng_below(&world.rng, PLACES);
    bool seen[PLACE_BITS];

    draw_seen(seen);
    memset(asked, 0, sizeof *asked);
    asked->query = plain_index_query(asked->parts, TREES, k);
    asked->query.metric = some_metric(&world.rng);
    asked->query.order = some_order(&world.rng);
    for (uint32_t t = 0; t < TREES; t++) {
        make_filter(t, place, seen, asked->filters[t]);
        asked->parts[t].filter = asked->filters[t];
    }
}

static struct index_search *begin_search(struct asked *asked, struct index *const *indexes)
{
    struct index_search *search = NULL;

    for (uint32_t t = 0; t < TREES; t++) {
        asked->parts[t].index = indexes[t];
    }
    assert_int_equal(index_search_new(alloc_system(), &asked->query, &search), 0);
    return search;
}

/* The search of the trees, which has ended, found what the lists find now. Bytes that it read. */
static uint64_t check_same(struct asked *asked, struct index_search *search)
{
    struct index_search *reference = begin_search(asked, world.lists);
    uint64_t bytes = search_bytes(search);
    uint32_t count = 0;
    uint32_t expected_count = 0;

    assert_int_equal(index_search_step(reference, UINT64_MAX, world.now_ms), 0);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    const struct nearest_candidate *found = index_search_results(search, &count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
        assert_int_equal(found[i].part, expected[i].part);
        assert_int_equal(found[i].rank.shared, expected[i].rank.shared);
        assert_int_equal(found[i].rank.all, expected[i].rank.all);
        assert_int_equal(found[i].similarity.shared, expected[i].similarity.shared);
        assert_int_equal(found[i].similarity.all, expected[i].similarity.all);
    }
    assert_true(index_search_is_exact(search));
    index_search_free(reference);
    index_search_free(search);
    return bytes;
}

/* Some queries, each at once. Bytes read. */
static uint64_t ask_some(uint32_t rounds, uint32_t k)
{
    uint64_t bytes = 0;

    for (uint32_t r = 0; r < rounds; r++) {
        struct asked asked;

        ask(k, &asked);
        struct index_search *search = begin_search(&asked, world.trees);
        assert_int_equal(index_search_step(search, UINT64_MAX, world.now_ms), 0);
        bytes += check_same(&asked, search);
    }
    return bytes;
}

static uint64_t stored_bytes(void)
{
    uint64_t bytes = 0;

    for (uint32_t t = 0; t < TREES; t++) {
        bytes += index_count(world.trees[t]) * WORDS * sizeof(uint64_t);
    }
    return bytes;
}

/* A message comes, goes, or a tree is arranged anew. */
static void change(uint32_t *removed)
{
    uint32_t number = 1 + rng_below(&world.rng, world.next_id - 1);
    uint32_t tree = world.homes[number];
    uint32_t id = number * 2654435761u;
    uint8_t bytes[MESSAGE_ID_BYTES] = {0};

    memcpy(bytes, &id, sizeof id);
    if (rng_chance(&world.rng, 40)) {
        insert_some(tree, 1);
    } else if (rng_chance(&world.rng, 98)) {
        int gone = index_remove(world.trees[tree], bytes, NULL);

        assert_int_equal(index_remove(world.lists[tree], bytes, NULL), gone);
        *removed += gone == 0;
    } else {
        assert_int_equal(renew_index(world.trees[tree]), 0);
        world.inner[tree] = tree_of_index(world.trees[tree]);
    }
}

/* In many steps, between which anything changes. */
static void ask_while_changing(uint32_t rounds)
{
    uint32_t removed = 0;

    for (uint32_t r = 0; r < rounds; r++) {
        struct asked asked;
        int result = INDEX_MORE;

        ask(1 + rng_below(&world.rng, 30), &asked);
        struct index_search *search = begin_search(&asked, world.trees);
        while (result == INDEX_MORE) {
            for (uint32_t i = rng_below(&world.rng, 4); i > 0; i--) {
                change(&removed);
            }
            result = index_search_step(search, rng_below(&world.rng, 3000), world.now_ms);
        }
        assert_int_equal(result, 0);
        (void)check_same(&asked, search);
        for (uint32_t i = 0; i < 10; i++) {
            change(&removed);
        }
    }
    assert_true(removed > 0);
}

static void run_all_tables(void (*run)(const struct bits_kernels *))
{
    for (int level = BITS_SCALAR; level <= BITS_AVX512; level++) {
        const struct bits_kernels *kernels = bits_table((enum bits_level)level);

        if (kernels != NULL) {
            printf("%s\n", kernels->name);
            run(kernels);
        }
    }
}

static void run_random(const struct bits_kernels *kernels)
{
    static const uint32_t fanouts[] = {5, 64, 512};

    for (uint32_t way = 0; way < 6; way++) {
        begin_world(kernels, fanouts[way % 3], way % 2 == 0);
        for (uint32_t t = 0; t < TREES; t++) {
            load(t, rng_below(&world.rng, EACH));
            insert_some(t, rng_chance(&world.rng, 50) ? 0 : rng_below(&world.rng, 100));
        }
        (void)ask_some(10, K);
        (void)ask_some(3, 100);
        ask_while_changing(15);
        end_world();
    }
}

TEST(test_answers_are_those_of_lists)
{
    run_all_tables(run_random);
}

/* Alone, no tree has k messages of any place, and all of it would be read. */
static void run_little(const struct bits_kernels *kernels)
{
    enum { ROUNDS = 20 };

    begin_world(kernels, 512, true);
    for (uint32_t t = 0; t < TREES; t++) {
        load(t, EACH);
    }
    uint64_t bytes = ask_some(ROUNDS, K);
    uint64_t all = stored_bytes() * ROUNDS;
    printf("%.1f %% of the filters' bytes\n", 100 * (double)bytes / (double)all);
    assert_true(bytes * 2 < all);
    end_world();
}

TEST(test_little_is_read_of_many_trees)
{
    run_all_tables(run_little);
}

/* Bytes read when all that is near lies in one tree, and the others have nothing to do with it. */
static uint64_t read_with_near_in(const struct bits_kernels *kernels, uint32_t near)
{
    enum { ROUNDS = 20, NEAR = 20 };
    uint64_t bytes = 0;

    begin_world(kernels, 512, true);
    for (uint32_t t = 0; t < TREES; t++) {
        insert_some(t, EACH);
        for (uint32_t i = 0; t == near && i < NEAR; i++) {
            insert(t, 0);
        }
        assert_int_equal(index_arrange(world.trees[t], NULL), 0);
    }
    for (uint32_t r = 0; r < ROUNDS; r++) {
        struct asked asked;

        ask(K, &asked);
        asked.query.metric = INDEX_METRIC_BITS;
        asked.query.order = INDEX_ORDER_SIMILARITY;
        for (uint32_t t = 0; t < TREES; t++) {
            bool seen[PLACE_BITS];

            draw_seen(seen);
            make_filter(t == near ? t : TREES + t, 0, seen, asked.filters[t]);
        }
        struct index_search *search = begin_search(&asked, world.trees);
        assert_int_equal(index_search_step(search, UINT64_MAX, world.now_ms), 0);
        bytes += check_same(&asked, search);
    }
    end_world();
    return bytes;
}

/* All are looked at before any is searched to its end: which one is the first does not matter. */
static void run_order(const struct bits_kernels *kernels)
{
    uint64_t first = read_with_near_in(kernels, 0);
    uint64_t last = read_with_near_in(kernels, TREES - 1);

    printf("near ones first: %llu bytes, last: %llu\n", (unsigned long long)first,
           (unsigned long long)last);
    assert_true(last < first + first / 2);
}

TEST(test_order_of_trees_matters_little)
{
    run_all_tables(run_order);
}

/* No node is left with few groups, and none is more than needed. */
TEST(test_nodes_of_small_trees_are_alike)
{
    begin_world(bits_select(BITS_AVX512), 64, true);
    for (uint32_t t = 0; t < TREES; t++) {
        uint32_t groups = 0;

        load(t, 1 + rng_below(&world.rng, EACH));
        const struct tree *tree = world.inner[t];
        for (uint32_t n = 0; n < tree->node_count; n++) {
            groups += tree->nodes[n]->group_count;
        }
        assert_int_equal(tree->node_count, (groups + 63) / 64);
        for (uint32_t n = 0; n + 1 < tree->node_count; n++) {
            assert_int_equal(tree->nodes[n]->group_count,
                             (groups + tree->node_count - 1) / tree->node_count);
        }
    }
    end_world();
}
