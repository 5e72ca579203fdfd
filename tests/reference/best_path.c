/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best path: the heuristic of the 2016 thesis (simQuery) on the BloomFilterTree. At each level
 * the search follows only the child whose union filter is nearest to the query. At the lowest level
 * it compares this group and its two neighbours. The search is fast, but often wrong, because it
 * reads no other groups.
 */
#include <string.h>

#include "core/filter/bloom.h"
#include "core/tree/walk.h"
#include "tests/reference/engines.h"

/* Returns the node whose union is nearest to the query by Jaccard distance. */
static const struct tree_node *nearest_node(const struct walk *walk)
{
    const struct tree *tree = walk->tree;
    const struct index_probe *probe = walk->probe;
    const struct tree_node *nearest = NULL;
    struct similarity best = {0, 1};

    for (uint32_t n = 0; n < tree->node_count; n++) {
        const struct tree_node *node = tree->nodes[n];
        uint32_t shared = bloom_intersection_count(node->whole, probe->filter, tree->words);
        uint32_t all =
            probe->cardinality + tree->kernels->cardinality(node->whole, tree->words) - shared;
        struct similarity similarity = similarity_of(shared, all);

        if (nearest == NULL || similarity_compare(similarity, best) > 0) {
            nearest = node;
            best = similarity;
        }
    }
    walk->probe->comparisons += tree->node_count;
    walk->probe->bytes += tree->node_count * tree->words * sizeof(uint64_t);
    return nearest;
}

/* Counts, for each group of a node, the bits that are set both in the group's union and in the
 * query. Writes the numbers as walk_planes planes. */
static void count_groups(struct walk *walk, const struct tree_node *node, uint64_t *planes)
{
    size_t lane_words = tree_lane_words(node);

    walk_make_ready(walk);
    walk->tree->kernels->count_columns(node->columns, walk->positions, walk->position_count,
                                       lane_words, planes);
    walk->probe->comparisons += node->group_count;
    walk->probe->bytes += walk->position_count * lane_words * sizeof(uint64_t);
}

static void follow_path(struct walk *walk)
{
    const struct tree_node *node = nearest_node(walk);
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
    uint64_t mask[BITS_LANE_WORDS];
    struct sliced sliced = {.plane_count = walk_planes(walk)};
    uint32_t leaf = 0;

    walk->probe->incomplete = true;
    if (node == NULL || !walk_keep_containing(walk, node, mask)) {
        return;
    }
    count_groups(walk, node, planes);
    sliced.lane_words = tree_lane_words(node);
    memcpy(sliced.planes, planes, sliced.plane_count * BITS_LANE_WORDS * sizeof *planes);
    (void)sliced_largest(walk->tree->kernels, &sliced, mask, &leaf);
    uint16_t groups[] = {(uint16_t)(leaf - 1), (uint16_t)leaf, (uint16_t)(leaf + 1)};
    size_t first = leaf > 0 ? 0 : 1;
    walk_open(walk, node, groups + first, (leaf + 1 < node->group_count ? 3 : 2) - first, NULL);
}

/* The whole search is one step. */
static int best_path_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget)
{
    struct walk walk;

    (void)budget;
    walk_begin(&walk, engine, cursor, probe, UINT64_MAX);
    follow_path(&walk);
    return 0;
}

const struct index_engine *best_path_engine(void)
{
    static struct index_engine engine;

    engine = tree_engine;
    engine.name = "best-path";
    engine.cursor_step = best_path_step;
    return &engine;
}
