/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/filter/bloom.h"
#include "tests/thesis/tree.h"

double thesis_distance(const uint64_t *a, const uint64_t *b, size_t words)
{
    const uint32_t both = bloom_intersection_count(a, b, words);
    const uint32_t any = bloom_union_count(a, b, words);

    return any == 0 ? 0 : 1 - (double)both / (double)any;
}

/* One search under way. */
struct walk {
    const uint64_t *query;
    size_t words;
    uint32_t k;
    struct thesis_hit *hits; /* sorted */
    struct thesis_result *out;
    bool stays_below; /* where a path ends, only the filters below the last node are looked at */
};

static void look_at(struct walk *walk, const uint64_t *filter, uint32_t number)
{
    const double distance = thesis_distance(walk->query, filter, walk->words);
    struct thesis_result *out = walk->out;
    uint32_t at = out->count;

    out->distances++;
    if (at == walk->k && distance >= walk->hits[at - 1].distance) {
        return;
    }
    if (at < walk->k) {
        out->count++;
    } else {
        at--;
    }
    for (; at > 0 && walk->hits[at - 1].distance > distance; at--) {
        walk->hits[at] = walk->hits[at - 1];
    }
    walk->hits[at] = (struct thesis_hit){.distance = distance, .number = number};
}

static void look_at_leaf(struct walk *walk, const struct thesis_node *leaf)
{
    for (uint32_t i = 0; leaf != NULL && i < leaf->count; i++) {
        look_at(walk, leaf->entries[i].filter, leaf->entries[i].number);
    }
}

static uint64_t list_count(size_t n, uint32_t k)
{
    const double sorting = k > 1 && n > 0 ? (double)n * log2((double)n) : 0;

    return 2 * (uint64_t)n + (uint64_t)sorting;
}

static bool is_beyond(const struct thesis_node *leaf, int64_t end)
{
    return leaf == NULL || leaf->keys[0] >= end;
}

/*
 * Compares all filters from a leaf on whose keys are below `end`. Counts only the filters whose
 * keys are below `counted_end`.
 */
static void look_along(struct walk *walk, const struct thesis_node *leaf, int64_t end,
                       int64_t counted_end)
{
    for (; !is_beyond(leaf, end); leaf = leaf->next) {
        for (uint32_t i = 0; i < leaf->count && leaf->keys[i] < end; i++) {
            look_at(walk, leaf->entries[i].filter, leaf->entries[i].number);
            if (leaf->keys[i] < counted_end) {
                walk->out->counted += walk->k;
            }
        }
    }
}

static void look_below(struct walk *walk, const struct thesis_node *node)
{
    if (node->is_leaf) {
        look_at_leaf(walk, node);
        return;
    }
    for (uint32_t i = 0; i <= node->count; i++) {
        look_below(walk, node->children[i]);
    }
}

/* No child qualified: from the node's first filter to the last key of its parent. */
static void look_without_path(struct walk *walk, const struct thesis_node *node)
{
    const struct thesis_node *owner = node->parent != NULL ? node->parent : node;
    const int64_t end = owner->keys[owner->count - 1];
    const int64_t own_end = node->keys[node->count - 1];
    const struct thesis_node *leaf = node;

    while (!leaf->is_leaf) {
        leaf = leaf->children[0];
    }
    walk->out->counted += walk->k > 1 ? 1 : 0;
    look_along(walk, leaf, end, walk->k > 1 ? end : own_end);
}

/*
 * Returns the child to follow, or NULL if no child's union is a subset or a superset of the query.
 */
static const struct thesis_node *choose(struct walk *walk, const struct thesis_node *node)
{
    const uint32_t looked_at = walk->k > 1 ? node->count : node->count + 1;
    const struct thesis_node *path = NULL;
    double least = 1;

    for (uint32_t i = 0; i < looked_at; i++) {
        const struct thesis_node *child = node->children[i];
        const bool contains = bloom_is_subset(walk->query, child->united, walk->words);
        const bool contained = bloom_is_subset(child->united, walk->query, walk->words);

        walk->out->unions++;
        walk->out->counted += 2 + (uint64_t)contains + (uint64_t)contained;
        if (!contains && !contained) {
            continue;
        }
        const double distance = thesis_distance(walk->query, child->united, walk->words);
        if (path == NULL || distance < least) {
            path = child;
            least = distance;
        }
    }
    walk->out->counted++;
    return path;
}

static void reach_leaf(struct walk *walk, const struct thesis_node *leaf)
{
    const uint64_t before = walk->out->distances;

    look_at_leaf(walk, leaf);
    if (walk->k > 1) {
        look_at_leaf(walk, leaf->prev);
        look_at_leaf(walk, leaf->next);
    }
    walk->out->counted += walk->k * (walk->out->distances - before);
}

static void search(const struct thesis_tree *tree, struct walk *walk)
{
    const struct thesis_node *node = tree->root;
    const uint64_t *query = walk->query;
    struct thesis_result *out = walk->out;

    *out = (struct thesis_result){0};
    if (node == NULL) {
        return;
    }
    out->unions = 1;
    if (!bloom_is_subset(query, node->united, tree->words) &&
        !bloom_is_subset(node->united, query, tree->words)) {
        for (const struct thesis_node *leaf = tree->first; leaf != NULL; leaf = leaf->next) {
            look_at_leaf(walk, leaf);
        }
        out->counted = list_count(tree->filters, walk->k);
        return;
    }
    out->counted = 2;
    while (!node->is_leaf) {
        const struct thesis_node *path = choose(walk, node);

        if (path == NULL) {
            if (walk->stays_below) {
                look_below(walk, node);
            } else {
                look_without_path(walk, node);
            }
            return;
        }
        node = path;
    }
    reach_leaf(walk, node);
}

void thesis_search(const struct thesis_tree *tree, const uint64_t *query, uint32_t k,
                   struct thesis_hit *hits, struct thesis_result *out)
{
    struct walk walk = {.query = query, .words = tree->words, .k = k, .hits = hits, .out = out};

    search(tree, &walk);
}

void thesis_search_below(const struct thesis_tree *tree, const uint64_t *query,
                         struct thesis_hit *hit, struct thesis_result *out)
{
    struct walk walk = {
        .query = query, .words = tree->words, .k = 1, .hits = hit, .out = out, .stays_below = true};

    search(tree, &walk);
}

void thesis_list_search(const uint64_t *filters, size_t n, size_t words, const uint64_t *query,
                        uint32_t k, struct thesis_hit *hits, struct thesis_result *out)
{
    struct walk walk = {.query = query, .words = words, .k = k, .hits = hits, .out = out};

    *out = (struct thesis_result){0};
    for (size_t i = 0; i < n; i++) {
        look_at(&walk, filters + i * words, (uint32_t)i);
    }
    out->counted = list_count(n, k);
}
