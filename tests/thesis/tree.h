/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_tree: the BloomFilterTree of J. Greif's master's thesis (LMU München, 2016), to be
 * measured beside the tree of core. Not exact, and not meant to be: what it gets wrong is what is
 * to be shown.
 *
 * A B+-tree of degree t = 3 over whole numbers as keys: at most 6 keys a node, fan-out 7; filters
 * in the leaves, leaves linked both ways; each node has the union of all filters below it.
 *
 * Insertion "as sets" gives a filter a key near that of the stored filter which it is most similar
 * to among those that it is a subset of, and inserts it a second time by those that it is a
 * superset of. Search follows one path of union filters. thesis_search says how.
 *
 * Where the thesis's program differs from its text, this follows the program where figures depend
 * on it (how far a search goes, what it counts), and the text elsewhere: unions are right up to the
 * root, and the superset key comes from supersets (the program tests for subsets in both cases).
 * docs/thesis.md lists the differences. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THESIS_DEGREE = 3,
    THESIS_KEYS = 2 * THESIS_DEGREE, /* at most, in a node */
    THESIS_FANOUT = THESIS_KEYS + 1
};

struct thesis_entry {
    const uint64_t *filter; /* borrowed */
    uint32_t number;        /* the caller's */
};

/*
 * The search and the tests read this struct; only thesis_tree.c changes it. Each array has one
 * element more than a node may have, for the moment before the node is split.
 */
struct thesis_node {
    struct thesis_node *parent; /* NULL at the root */
    struct thesis_node *prev;   /* leaves only */
    struct thesis_node *next;
    uint32_t count; /* of keys; an inner node has one child more */
    bool is_leaf;
    int64_t keys[THESIS_KEYS + 1]; /* ascending; keys[i] is the least below children[i + 1], or
                                      was when it came there */
    union {
        struct thesis_node *children[THESIS_FANOUT + 1];
        struct thesis_entry entries[THESIS_KEYS + 1];
    };
    uint64_t united[]; /* the union filter */
};

struct thesis_tree {
    size_t words; /* of a filter */
    struct thesis_node *root;
    struct thesis_node *first; /* the leftmost leaf */
    size_t filters;            /* in the leaves, those inserted twice counted twice */
    size_t nodes;              /* each with one union filter */
    uint64_t tests;            /* for subset or superset, by insertions so far */
};

/* Returns an empty tree for filters of `words` 64-bit words. Without memory the program ends, here
 * and below. */
struct thesis_tree *thesis_tree_new(size_t words);
void thesis_tree_free(struct thesis_tree *tree); /* NULL is fine */

/*
 * Inserts a filter under a key that must be free (thesis_tree_has). The filter is borrowed and must
 * outlive the tree. O(log n).
 */
void thesis_tree_insert(struct thesis_tree *tree, int64_t key, uint32_t number,
                        const uint64_t *filter);
bool thesis_tree_has(const struct thesis_tree *tree, int64_t key);

/*
 * Keys for a filter "as sets": the free one nearest to that of the most similar stored filter which
 * it is a subset of (or a superset of), the lesser one of two; where there is none such, the free
 * one below all. Both are 0 for an empty tree. Tests every stored filter both ways: O(n).
 */
void thesis_tree_set_keys(struct thesis_tree *tree, const uint64_t *filter, int64_t *out_subset_key,
                          int64_t *out_superset_key);

/*
 * Inserts a filter as the thesis does: under its subset key, and once more under its superset key
 * if the two keys differ. O(n).
 */
void thesis_tree_insert_as_sets(struct thesis_tree *tree, uint32_t number, const uint64_t *filter);

/* Returns the bytes of the tree, without the filters that the tree borrows. */
size_t thesis_tree_bytes(const struct thesis_tree *tree);

/*
 * Returns NULL, or a sentence that says which rule of the structure is broken (static storage).
 * O(n).
 */
const char *thesis_tree_check(const struct thesis_tree *tree);

/* ---- search: thesis_search.c ---- */

struct thesis_hit {
    double distance; /* Jaccard, 1 - |A and B| / |A or B| */
    uint32_t number;
};

struct thesis_result {
    uint32_t count;     /* of hits */
    uint64_t counted;   /* comparisons as the thesis's program counts them */
    uint64_t distances; /* to stored filters, that were computed */
    uint64_t unions;    /* union filters that were looked at */
};

/*
 * Returns the distance 1 - |a and b| / |a or b|, as the thesis's program computes it. Two empty
 * filters have the distance 0.
 */
double thesis_distance(const uint64_t *a, const uint64_t *b, size_t words);

/*
 * The program's simQuery (k = 1) and simQueryVec (k > 1). `hits` has room for k >= 1 and gets the
 * best filters that were met, nearest first, of equal ones the one met first.
 *
 * The root's union neither a subset nor a superset of the query: all filters are looked at. Else,
 * level by level, of the children whose union is a subset or a superset of the query the one at the
 * smallest distance is followed (the first of several; with k > 1 the last child is never looked
 * at). At a leaf its filters are looked at, with k > 1 also those of the leaves beside it. Where no
 * child qualifies, the filters from the node's first one to the last key of the node's PARENT are
 * looked at.
 *
 * Counted as there: 2 for the root; of each child 2 tests and 1 for each that holds; 1 a level; k
 * for each filter looked at, except that with k = 1 a search without a path counts only to the last
 * key of the node itself; a search of all counts 2 N, with k > 1 and N log2 N for the sorting.
 */
void thesis_search(const struct thesis_tree *tree, const uint64_t *query, uint32_t k,
                   struct thesis_hit *hits, struct thesis_result *out);

/*
 * The search as the thesis's text describes it, for k = 1: where no child qualifies, only the
 * filters below the last node of the path are looked at. `out->counted` lacks these filters,
 * because the thesis has no figures of such a search.
 */
void thesis_search_below(const struct thesis_tree *tree, const uint64_t *query,
                         struct thesis_hit *hit, struct thesis_result *out);

/*
 * The unsorted list with the same distance function: compares n filters one after another and finds
 * the k nearest. The count is that of the thesis: 2 n, and if k > 1 also n log2 n for the sorting.
 */
void thesis_list_search(const uint64_t *filters, size_t n, size_t words, const uint64_t *query,
                        uint32_t k, struct thesis_hit *hits, struct thesis_result *out);
