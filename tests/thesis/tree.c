/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/thesis/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"

static size_t node_bytes(const struct thesis_tree *tree)
{
    return sizeof(struct thesis_node) + tree->words * sizeof(uint64_t);
}

struct thesis_tree *thesis_tree_new(size_t words)
{
    struct thesis_tree *tree = calloc(1, sizeof(*tree));

    if (tree == NULL) {
        abort();
    }
    tree->words = words;
    return tree;
}

static void free_nodes(struct thesis_node *node)
{
    if (node == NULL) {
        return;
    }
    for (uint32_t i = 0; !node->is_leaf && i <= node->count; i++) {
        free_nodes(node->children[i]);
    }
    free(node);
}

void thesis_tree_free(struct thesis_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    free_nodes(tree->root);
    free(tree);
}

size_t thesis_tree_bytes(const struct thesis_tree *tree)
{
    return sizeof(*tree) + tree->nodes * node_bytes(tree);
}

/* ---- nodes ---- */

static struct thesis_node *new_node(struct thesis_tree *tree, bool is_leaf)
{
    struct thesis_node *node = calloc(1, node_bytes(tree));

    if (node == NULL) {
        abort(); /* a measurement without memory is none */
    }
    tree->nodes++;
    node->is_leaf = is_leaf;
    return node;
}

static uint32_t keys_up_to(const struct thesis_node *node, int64_t key)
{
    uint32_t i = 0;

    while (i < node->count && node->keys[i] <= key) {
        i++;
    }
    return i;
}

static struct thesis_node *leaf_for(const struct thesis_tree *tree, int64_t key)
{
    struct thesis_node *node = tree->root;

    while (node != NULL && !node->is_leaf) {
        node = node->children[keys_up_to(node, key)];
    }
    return node;
}

bool thesis_tree_has(const struct thesis_tree *tree, int64_t key)
{
    const struct thesis_node *leaf = leaf_for(tree, key);
    const uint32_t i = leaf == NULL ? 0 : keys_up_to(leaf, key);

    return i > 0 && leaf->keys[i - 1] == key;
}

static void unite(const struct thesis_tree *tree, const struct thesis_node *node, uint64_t *out)
{
    const uint32_t parts = node->is_leaf ? node->count : node->count + 1;

    memset(out, 0, tree->words * sizeof(*out));
    for (uint32_t i = 0; i < parts; i++) {
        bloom_union(out, out, node->is_leaf ? node->entries[i].filter : node->children[i]->united,
                    tree->words);
    }
}

/* ---- insertion ---- */

static void put_entry(struct thesis_node *leaf, int64_t key, const struct thesis_entry *entry)
{
    const uint32_t at = keys_up_to(leaf, key);
    const uint32_t after = leaf->count - at;

    memmove(leaf->keys + at + 1, leaf->keys + at, after * sizeof(*leaf->keys));
    memmove(leaf->entries + at + 1, leaf->entries + at, after * sizeof(*leaf->entries));
    leaf->keys[at] = key;
    leaf->entries[at] = *entry;
    leaf->count++;
}

/* The child comes to the right of `key`. */
static void put_child(struct thesis_node *node, int64_t key, struct thesis_node *child)
{
    const uint32_t at = keys_up_to(node, key);
    const uint32_t after = node->count - at;

    memmove(node->keys + at + 1, node->keys + at, after * sizeof(*node->keys));
    memmove(node->children + at + 2, node->children + at + 1, after * sizeof(struct thesis_node *));
    node->keys[at] = key;
    node->children[at + 1] = child;
    child->parent = node;
    node->count++;
}

/*
 * Splits a leaf with 7 filters; the right leaf gets 4 filters. Returns the right leaf; *out_key
 * goes to the parent.
 */
static struct thesis_node *split_leaf(struct thesis_tree *tree, struct thesis_node *leaf,
                                      int64_t *out_key)
{
    struct thesis_node *right = new_node(tree, true);

    right->count = leaf->count - THESIS_DEGREE;
    memcpy(right->keys, leaf->keys + THESIS_DEGREE, right->count * sizeof(*right->keys));
    memcpy(right->entries, leaf->entries + THESIS_DEGREE, right->count * sizeof(*right->entries));
    leaf->count = THESIS_DEGREE;
    right->next = leaf->next;
    right->prev = leaf;
    if (right->next != NULL) {
        right->next->prev = right;
    }
    leaf->next = right;
    *out_key = right->keys[0];
    return right;
}

/*
 * Splits a node with 7 keys and 8 children. Each side gets 3 keys and 4 children; the key between
 * the sides goes to the parent.
 */
static struct thesis_node *split_inner(struct thesis_tree *tree, struct thesis_node *node,
                                       int64_t *out_key)
{
    struct thesis_node *right = new_node(tree, false);
    const uint32_t first = THESIS_DEGREE + 1;

    right->count = node->count - first;
    memcpy(right->keys, node->keys + first, right->count * sizeof(*right->keys));
    for (uint32_t i = 0; i <= right->count; i++) {
        right->children[i] = node->children[first + i];
        right->children[i]->parent = right;
    }
    *out_key = node->keys[THESIS_DEGREE];
    node->count = THESIS_DEGREE;
    return right;
}

/* Splits a node that has too many keys. Returns the next node that may have too many keys. */
static struct thesis_node *settle(struct thesis_tree *tree, struct thesis_node *node)
{
    int64_t key = 0;

    if (node->count <= THESIS_KEYS) {
        return NULL;
    }
    struct thesis_node *right =
        node->is_leaf ? split_leaf(tree, node, &key) : split_inner(tree, node, &key);
    unite(tree, node, node->united);
    unite(tree, right, right->united);
    if (node->parent == NULL) {
        struct thesis_node *root = new_node(tree, false);

        root->children[0] = node;
        node->parent = root;
        bloom_union(root->united, node->united, right->united, tree->words);
        tree->root = root;
    }
    put_child(node->parent, key, right);
    return node->parent;
}

void thesis_tree_insert(struct thesis_tree *tree, int64_t key, uint32_t number,
                        const uint64_t *filter)
{
    const struct thesis_entry entry = {.filter = filter, .number = number};
    struct thesis_node *leaf = leaf_for(tree, key);

    assert(!thesis_tree_has(tree, key));
    if (leaf == NULL) {
        leaf = tree->root = tree->first = new_node(tree, true);
    }
    for (struct thesis_node *node = leaf; node != NULL; node = node->parent) {
        bloom_union(node->united, node->united, filter, tree->words);
    }
    put_entry(leaf, key, &entry);
    tree->filters++;
    for (struct thesis_node *node = leaf; node != NULL;) {
        node = settle(tree, node);
    }
}

/* ---- as sets ---- */

/* The most similar filter so far among the subsets, or among the supersets, of a filter. */
struct closest {
    bool there;
    double distance;
    int64_t key;
};

static void offer(struct closest *closest, double distance, int64_t key)
{
    if (!closest->there || distance < closest->distance) {
        closest->there = true;
        closest->distance = distance;
        closest->key = key;
    }
}

/*
 * Returns the free key nearest to a key that is in use; if two are equally near, the smaller one.
 * O(length of the run of keys).
 */
static int64_t free_key_near(const struct thesis_tree *tree, int64_t key)
{
    for (int64_t away = 1;; away++) {
        if (!thesis_tree_has(tree, key - away)) {
            return key - away;
        }
        if (!thesis_tree_has(tree, key + away)) {
            return key + away;
        }
    }
}

void thesis_tree_set_keys(struct thesis_tree *tree, const uint64_t *filter, int64_t *out_subset_key,
                          int64_t *out_superset_key)
{
    struct closest above = {0}; /* which the filter is a subset of */
    struct closest below = {0};
    const size_t words = tree->words;
    const int64_t least = tree->first == NULL ? 0 : tree->first->keys[0] - 1;

    for (const struct thesis_node *leaf = tree->first; leaf != NULL; leaf = leaf->next) {
        for (uint32_t i = 0; i < leaf->count; i++) {
            const uint64_t *stored = leaf->entries[i].filter;

            if (bloom_is_subset(filter, stored, words)) {
                offer(&above, thesis_distance(filter, stored, words), leaf->keys[i]);
            }
            if (bloom_is_subset(stored, filter, words)) {
                offer(&below, thesis_distance(filter, stored, words), leaf->keys[i]);
            }
        }
    }
    tree->tests += 2 * (uint64_t)tree->filters;
    *out_subset_key = above.there ? free_key_near(tree, above.key) : least;
    *out_superset_key = below.there ? free_key_near(tree, below.key) : least;
}

void thesis_tree_insert_as_sets(struct thesis_tree *tree, uint32_t number, const uint64_t *filter)
{
    int64_t subset_key = 0;
    int64_t superset_key = 0;

    thesis_tree_set_keys(tree, filter, &subset_key, &superset_key);
    thesis_tree_insert(tree, subset_key, number, filter);
    if (superset_key != subset_key) {
        thesis_tree_insert(tree, superset_key, number, filter);
    }
}

/* ---- the checker ---- */

struct check {
    const struct thesis_tree *tree;
    uint64_t *united;               /* room for one */
    const struct thesis_node *leaf; /* the last one met */
    size_t filters;
    size_t nodes;
    int leaf_depth; /* -1: none was met */
};

static const char *check_leaf(struct check *check, const struct thesis_node *leaf, int depth)
{
    const struct thesis_node *expected =
        check->leaf == NULL ? check->tree->first : check->leaf->next;

    if (check->leaf_depth != -1 && check->leaf_depth != depth) {
        return "leaves lie at different depths";
    }
    if (leaf != expected || leaf->prev != check->leaf) {
        return "leaves are not linked in order";
    }
    check->leaf_depth = depth;
    check->leaf = leaf;
    check->filters += leaf->count;
    return NULL;
}

/* All keys below are in low .. high - 1. */
static const char *check_node(struct check *check, const struct thesis_node *node, int64_t low,
                              int64_t high, int depth)
{
    const uint32_t least = node->parent != NULL ? THESIS_DEGREE : 1;
    const char *wrong = NULL;

    check->nodes++;
    if (node->count < least || node->count > THESIS_KEYS) {
        return "a node has too few keys or too many";
    }
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->keys[i] < low || node->keys[i] >= high ||
            (i > 0 && node->keys[i] <= node->keys[i - 1])) {
            return "a key is out of order";
        }
    }
    unite(check->tree, node, check->united);
    if (memcmp(check->united, node->united, check->tree->words * sizeof(uint64_t)) != 0) {
        return "a union filter is not the union of what is below";
    }
    if (node->is_leaf) {
        return check_leaf(check, node, depth);
    }
    for (uint32_t i = 0; wrong == NULL && i <= node->count; i++) {
        wrong = node->children[i]->parent != node
                    ? "a child does not know its parent"
                    : check_node(check, node->children[i], i == 0 ? low : node->keys[i - 1],
                                 i == node->count ? high : node->keys[i], depth + 1);
    }
    return wrong;
}

const char *thesis_tree_check(const struct thesis_tree *tree)
{
    struct check check = {.tree = tree, .leaf_depth = -1};
    const char *wrong = NULL;

    if (tree->root == NULL) {
        return tree->filters == 0 && tree->nodes == 0 ? NULL : "an empty tree has filters";
    }
    check.united = calloc(tree->words, sizeof(*check.united));
    if (check.united == NULL) {
        return "memory is short";
    }
    wrong = tree->root->parent != NULL ? "the root has a parent"
                                       : check_node(&check, tree->root, INT64_MIN, INT64_MAX, 0);
    free(check.united);
    if (wrong == NULL && (check.filters != tree->filters || check.nodes != tree->nodes)) {
        wrong = "filters or nodes are not counted right";
    }
    if (wrong == NULL && check.leaf->next != NULL) {
        wrong = "leaves are linked beyond the last";
    }
    return wrong;
}
