/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thesis's tree: trees small enough to be drawn, its structure after random insertions, and
 * the figures that the thesis published and that follow from its structure alone.
 */
#include "tests/thesis/tree.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { FILTERS_MAX = 3000, WORDS_MAX = 8, RANDOM_INSERTIONS = 2000 };

static uint64_t filters[FILTERS_MAX][WORDS_MAX];

/* All filters of one word each, given by value. */
static struct thesis_tree *tree_of_words(const uint64_t *values, uint32_t count)
{
    struct thesis_tree *tree = thesis_tree_new(1);

    for (uint32_t i = 0; i < count; i++) {
        filters[i][0] = values[i];
        thesis_tree_insert_as_sets(tree, i, filters[i]);
        assert_null(thesis_tree_check(tree));
    }
    return tree;
}

TEST(an_empty_tree_answers_nothing)
{
    struct thesis_tree *tree = thesis_tree_new(4);
    struct thesis_result result;
    struct thesis_hit hit;

    assert_null(thesis_tree_check(tree));
    assert_false(thesis_tree_has(tree, 0));
    thesis_search(tree, filters[0], 1, &hit, &result);
    assert_int_equal(result.count, 0);
    assert_int_equal(result.counted, 0);
    thesis_tree_free(tree);
    thesis_tree_free(NULL);
}

/* Keys 1 to 7: the seventh makes two leaves of 3 and 4 below a root. */
TEST(the_seventh_key_splits_a_leaf)
{
    struct thesis_tree *tree = thesis_tree_new(1);

    for (int64_t key = 1; key <= 6; key++) {
        filters[key][0] = UINT64_C(1) << key;
        thesis_tree_insert(tree, key, (uint32_t)key, filters[key]);
        assert_true(tree->root->is_leaf);
    }
    filters[7][0] = UINT64_C(1) << 7;
    thesis_tree_insert(tree, 7, 7, filters[7]);
    assert_null(thesis_tree_check(tree));
    assert_false(tree->root->is_leaf);
    assert_int_equal(tree->root->count, 1);
    assert_int_equal(tree->root->keys[0], 4);
    assert_int_equal(tree->root->united[0], 0xfe);
    assert_int_equal(tree->root->children[0]->count, 3);
    assert_int_equal(tree->root->children[0]->united[0], 0x0e);
    assert_int_equal(tree->root->children[1]->count, 4);
    assert_int_equal(tree->root->children[1]->united[0], 0xf0);
    assert_ptr_equal(tree->first->next, tree->root->children[1]);
    assert_ptr_equal(tree->root->children[1]->prev, tree->first);
    assert_int_equal(tree->nodes, 3);
    thesis_tree_free(tree);
}

/* The seventh key of an inner node goes up and is in neither half: 3 keys and 4 children each. */
TEST(the_eighth_child_splits_an_inner_node)
{
    struct thesis_tree *tree = thesis_tree_new(1);
    int64_t key = 0;

    filters[0][0] = 1;
    while (tree->root == NULL || tree->root->is_leaf || tree->root->children[0]->is_leaf) {
        thesis_tree_insert(tree, key, 0, filters[0]);
        key++;
    }
    assert_null(thesis_tree_check(tree));
    assert_int_equal(tree->root->count, 1);
    assert_int_equal(tree->root->children[0]->count, 3);
    assert_int_equal(tree->root->children[1]->count, 3);
    assert_int_equal(tree->root->keys[0], 12); /* leaves of 3, keys from 0 on */
    thesis_tree_free(tree);
}

/* The key beside the most similar superset; a second one beside the most similar subset. */
TEST(keys_as_sets_lie_beside_the_most_similar)
{
    static const uint64_t values[] = {0xff, 0xff00, 0x0f};
    struct thesis_tree *tree = tree_of_words(values, 3);
    const uint64_t within = 0x3f; /* of 0xff, and around 0x0f */
    const uint64_t alone = UINT64_C(1) << 63;
    int64_t subset_key = 0;
    int64_t superset_key = 0;

    /* 0xff got 0, 0xff00 the one below all. 0x0f is a subset of 0xff: -1 is taken, so 1; and a
     * superset of nothing: below all, a second time. */
    assert_int_equal(tree->filters, 4);
    assert_true(thesis_tree_has(tree, 0));
    assert_true(thesis_tree_has(tree, -1));
    assert_true(thesis_tree_has(tree, 1));
    assert_true(thesis_tree_has(tree, -2));
    thesis_tree_set_keys(tree, &within, &subset_key, &superset_key);
    assert_int_equal(subset_key, 2);    /* beside 0, where -1, 1 and -2 are taken */
    assert_int_equal(superset_key, -3); /* beside -2, the first of the two equal ones */
    thesis_tree_set_keys(tree, &alone, &subset_key, &superset_key);
    assert_int_equal(subset_key, -3);
    assert_int_equal(superset_key, -3);
    thesis_tree_free(tree);
}

/* Every filter is tested both ways, whatever it is. */
TEST(an_insertion_as_sets_tests_all_filters)
{
    static const uint64_t values[] = {1, 2, 4, 8, 16};
    struct thesis_tree *tree = tree_of_words(values, 5);

    assert_int_equal(tree->filters, 5);
    assert_int_equal(tree->tests, 2 * (0 + 1 + 2 + 3 + 4));
    thesis_tree_free(tree);
}

/*
 *            [4]                     keys 1 to 7, one bit each; k = 1, query {bit 5}:
 *     [1 2 3]   [4 5 6 7]            only the right leaf's union holds it
 */
TEST(a_search_follows_the_union_that_holds_the_query)
{
    struct thesis_tree *tree = thesis_tree_new(1);
    struct thesis_result result;
    struct thesis_hit hits[3];
    uint64_t query = UINT64_C(1) << 5;

    for (int64_t key = 1; key <= 7; key++) {
        filters[key][0] = UINT64_C(1) << key;
        thesis_tree_insert(tree, key, (uint32_t)key, filters[key]);
    }
    thesis_search(tree, &query, 1, hits, &result);
    assert_int_equal(result.count, 1);
    assert_int_equal(hits[0].number, 5);
    assert_true(hits[0].distance == 0);
    assert_int_equal(result.distances, 4);
    assert_int_equal(result.counted, 2 + (2 + 2 + 1) + 1 + 4);

    /* {2, 5}: no leaf holds both; as the root has no parent, all below its last key are met, and
     * nearest to the query are 2 (met) and 5 (not met). */
    query = UINT64_C(1) << 2 | UINT64_C(1) << 5;
    thesis_search(tree, &query, 1, hits, &result);
    assert_int_equal(result.count, 1);
    assert_int_equal(hits[0].number, 2);
    assert_true(hits[0].distance == 0.5);
    assert_int_equal(result.distances, 3);
    assert_int_equal(result.counted, 2 + (2 + 2) + 1 + 3);

    /* k = 3: the last child is never looked at, so {5} finds no path either. */
    query = UINT64_C(1) << 5;
    thesis_search(tree, &query, 3, hits, &result);
    assert_int_equal(result.count, 3);
    assert_true(hits[0].distance == 1);
    assert_int_equal(result.distances, 3);
    assert_int_equal(result.counted, 2 + 2 + 1 + 1 + 3 * 3);

    /* k = 3 with a path: the leaf and the one beside it. */
    query = UINT64_C(1) << 2;
    thesis_search(tree, &query, 3, hits, &result);
    assert_int_equal(hits[0].number, 2);
    assert_int_equal(result.distances, 7);
    assert_int_equal(result.counted, 2 + (2 + 1) + 1 + 3 * 7);

    /* A bit that nobody has: the root is no superset; everything is looked at. */
    query = UINT64_C(1) << 40;
    thesis_search(tree, &query, 1, hits, &result);
    assert_int_equal(result.distances, 7);
    assert_int_equal(result.counted, 2 * 7);
    thesis_tree_free(tree);
}

/* Of unions that qualify the most similar is followed, also where it is contained in the query. */
TEST(the_most_similar_union_is_followed)
{
    static const uint64_t values[] = {0x1, 0x2, 0x4, 0xff0, 0xf0f0, 0xfff0, 0x7ff0};
    struct thesis_tree *tree = thesis_tree_new(1);
    const uint64_t query = 0xf; /* around the left leaf's union 0x7; root: 0xfff7, no superset */
    const uint64_t other = 0x5; /* within 0x7 and within the root's */
    struct thesis_result result;
    struct thesis_hit hit;

    for (uint32_t i = 0; i < 7; i++) {
        filters[i][0] = values[i];
        thesis_tree_insert(tree, i, i, filters[i]);
    }
    thesis_search(tree, &query, 1, &hit, &result);
    assert_int_equal(result.distances, 7);
    thesis_search(tree, &other, 1, &hit, &result);
    assert_int_equal(result.distances, 3);
    assert_int_equal(hit.number, 0);
    thesis_tree_free(tree);
}

/*
 * Random filters have neither subsets nor supersets among one another: each comes to the left of
 * all, every leaf but the first has 4, and so the tree of 100 is the one that the thesis measured:
 * 132 filters with the unions (mem.csv), and 48 and 280 comparisons (complexity.csv).
 */
TEST(the_published_structure_comes_out)
{
    struct rng rng = {.state = 2016}; /* fixed: in one of a hundred a leaf's union has the query */
    struct thesis_tree *tree = thesis_tree_new(4);
    struct thesis_result result;
    struct thesis_hit hits[3];

    for (uint32_t i = 0; i < 101; i++) {
        rng_filter(&rng, 256, 54, filters[i]);
    }
    for (uint32_t i = 0; i < 100; i++) {
        thesis_tree_insert_as_sets(tree, i, filters[i]);
    }
    assert_null(thesis_tree_check(tree));
    assert_int_equal(tree->filters, 100);
    assert_int_equal(tree->nodes, 32);
    thesis_search(tree, filters[100], 1, hits, &result);
    assert_int_equal(result.distances, 84);
    assert_int_equal(result.counted, 48);
    assert_int_equal(result.unions, 1 + 6 + 5); /* the root's, its children's, the first one's */
    thesis_search(tree, filters[100], 3, hits, &result);
    assert_int_equal(result.distances, 84);
    assert_int_equal(result.counted, 280);
    thesis_tree_free(tree);
}

/*
 * Of 1,000 nearest neighbours in trees of 100 random filters, how many each search gets wrong. The
 * program's search looks at 84 filters of 100, so about a sixth is wrong; the text's search stays
 * below the first child of the root and looks at 20, so about four fifths are.
 */
static void check_wrong_neighbours(struct rng *rng, uint32_t bits)
{
    enum { TREES = 100, STORED = 100, QUERIES = 10, ASKED = TREES * QUERIES };
    uint32_t wrong = 0;
    uint32_t wrong_below = 0;

    for (uint32_t t = 0; t < TREES; t++) {
        struct thesis_tree *tree = thesis_tree_new(bits / 64);

        for (uint32_t i = 0; i < STORED; i++) {
            rng_filter(rng, bits, 54, filters[i]);
            thesis_tree_insert_as_sets(tree, i, filters[i]);
        }
        for (uint32_t q = 0; q < QUERIES; q++) {
            uint64_t query[WORDS_MAX];
            struct thesis_hit hit = {.distance = 1};
            struct thesis_hit hit_below = {.distance = 1};
            struct thesis_result result;
            double nearest = 1;

            rng_filter(rng, bits, 54, query);
            for (uint32_t i = 0; i < STORED; i++) {
                const double distance = thesis_distance(query, filters[i], bits / 64);

                nearest = distance < nearest ? distance : nearest;
            }
            thesis_search(tree, query, 1, &hit, &result);
            wrong += hit.distance != nearest ? 1 : 0;
            thesis_search_below(tree, query, &hit_below, &result);
            wrong_below += hit_below.distance != nearest ? 1 : 0;
        }
        thesis_tree_free(tree);
    }
    print_message("%u bits: wrong by the program's search %.1f %%, by the text's %.1f %%\n",
                  (unsigned)bits, 100.0 * wrong / ASKED, 100.0 * wrong_below / ASKED);
    assert_in_range(wrong, 80, 240);
    assert_in_range(wrong_below, 720, 880);
}

TEST(the_text_searches_a_fifth_of_the_filters)
{
    struct rng rng;

    rng_init(&rng);
    check_wrong_neighbours(&rng, 256);
    check_wrong_neighbours(&rng, 512);
}

static void check_stored_once_or_twice(const struct thesis_tree *tree, uint32_t count)
{
    static uint8_t seen[FILTERS_MAX];

    memset(seen, 0, sizeof seen);
    for (const struct thesis_node *leaf = tree->first; leaf != NULL; leaf = leaf->next) {
        for (uint32_t i = 0; i < leaf->count; i++) {
            const struct thesis_entry *entry = &leaf->entries[i];

            assert_ptr_equal(entry->filter, filters[entry->number]);
            seen[entry->number]++;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(seen[i], 1, 2);
    }
}

/* Sparse small filters, so that subsets and supersets are many. */
TEST(the_structure_holds_after_random_insertions_as_sets)
{
    struct rng rng;
    struct thesis_tree *tree = thesis_tree_new(1);

    rng_init(&rng);
    for (uint32_t i = 0; i < RANDOM_INSERTIONS; i++) {
        rng_filter(&rng, 64, rng_chance(&rng, 50) ? 3 : 60, filters[i]);
        thesis_tree_insert_as_sets(tree, i, filters[i]);
        if (i % 50 == 0 || i < 100) {
            assert_null(thesis_tree_check(tree));
        }
    }
    assert_null(thesis_tree_check(tree));
    assert_true(tree->filters > RANDOM_INSERTIONS + 100); /* some came twice */
    check_stored_once_or_twice(tree, RANDOM_INSERTIONS);
    thesis_tree_free(tree);
}

TEST(the_structure_holds_for_random_keys)
{
    struct rng rng;
    struct thesis_tree *tree = thesis_tree_new(2);
    uint32_t stored = 0;

    rng_init(&rng);
    for (uint32_t i = 0; i < RANDOM_INSERTIONS; i++) {
        const int64_t key = (int64_t)rng_below(&rng, 4 * RANDOM_INSERTIONS) - RANDOM_INSERTIONS;

        rng_filter(&rng, 128, 20, filters[stored]);
        if (thesis_tree_has(tree, key)) {
            continue;
        }
        thesis_tree_insert(tree, key, stored, filters[stored]);
        assert_true(thesis_tree_has(tree, key));
        stored++;
        if (stored % 50 == 0) {
            assert_null(thesis_tree_check(tree));
        }
    }
    assert_null(thesis_tree_check(tree));
    assert_int_equal(tree->filters, stored);
    check_stored_once_or_twice(tree, stored);
    thesis_tree_free(tree);
}

/* The checker is what other tests rely on: it must find what is wrong. */
TEST(the_checker_finds_damage)
{
    static const uint64_t values[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
    struct thesis_tree *tree = tree_of_words(values, 12);
    struct thesis_node *leaf = tree->first;

    leaf->united[0] ^= UINT64_C(1) << 50;
    assert_non_null(thesis_tree_check(tree));
    leaf->united[0] ^= UINT64_C(1) << 50;
    leaf->next->prev = NULL;
    assert_non_null(thesis_tree_check(tree));
    leaf->next->prev = leaf;
    leaf->keys[0] += 100;
    assert_non_null(thesis_tree_check(tree));
    leaf->keys[0] -= 100;
    tree->filters++;
    assert_non_null(thesis_tree_check(tree));
    tree->filters--;
    assert_null(thesis_tree_check(tree));
    thesis_tree_free(tree);
}

/* The list with the same distance: the k best in order, of equal ones the first. */
TEST(the_list_is_exact)
{
    struct rng rng;
    struct thesis_result result;
    struct thesis_hit hits[3];
    uint64_t query[WORDS_MAX];

    rng_init(&rng);
    for (uint32_t i = 0; i < 200; i++) {
        rng_filter(&rng, 512, 10 + i % 60, filters[i]);
    }
    rng_filter(&rng, 512, 40, query);
    thesis_list_search(filters[0], 200, WORDS_MAX, query, 3, hits, &result);
    assert_int_equal(result.count, 3);
    assert_int_equal(result.distances, 200);
    assert_int_equal(result.counted, 2 * 200 + 1528); /* 200 log2 200 = 1528.8 */
    for (uint32_t i = 0; i < 200; i++) {
        const double distance = thesis_distance(query, filters[i], WORDS_MAX);
        const bool held = i == hits[0].number || i == hits[1].number || i == hits[2].number;

        assert_true(held ? distance <= hits[2].distance : distance >= hits[2].distance);
    }
    assert_true(hits[0].distance <= hits[1].distance && hits[1].distance <= hits[2].distance);
}
