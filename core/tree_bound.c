/* SPDX-License-Identifier: Apache-2.0 */
/* Searching, the middle level: which groups of a node the columns rule out. */
#include "core/tree_walk.h"

#include <string.h>

enum {
    FEW_COLUMNS = 1000, /* what looking at a node takes besides columns, in these */
    MASK_PERCENT = 90,  /* if more of a node's groups pass the bound of their neighbours, */
    SWEEP_PERCENT = 50  /* ... or their own, all of the node is compared in order */
};

static void make_ready(struct walk *walk)
{
    const struct index_probe *probe = walk->probe;

    if (!walk->ready) {
        walk->position_count = sliced_positions(probe->filter, walk->tree->words, walk->positions);
        if (probe->contains != NULL) {
            walk->wanted_count = sliced_positions(probe->contains, walk->tree->words, walk->wanted);
        }
        walk->ready = true;
    }
}

/*
 * Whether counting columns costs more than it can save: in a node of few groups; with a query that
 * only complete filters can rank; where the unions are so full that unrelated ones share more bits
 * with the query than a similarity of 2/3 asks for (0.4 of both cardinalities' sum).
 */
bool walk_is_plain(const struct walk *walk, const struct tree_node *node)
{
    const struct index_probe *probe = walk->probe;
    uint64_t shared = node->column_bits * probe->cardinality / node->group_count;
    uint64_t sum = probe->cardinality + node->cardinality_sum / node->message_count;

    if (probe->contains != NULL) {
        return false;
    }
    return node->group_count * walk->tree->kernels->block_columns <
               probe->cardinality + FEW_COLUMNS ||
           shared * 5 > sum * 2 * walk->tree->bits || index_probe_is_unbounded(probe);
}

bool walk_keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask)
{
    size_t lane_words = tree_lane_words(node);
    uint64_t any = 1;

    make_ready(walk);
    sliced_first(node->group_count, mask);
    for (size_t i = 0; any != 0 && i < walk->wanted_count; i++) {
        const uint64_t *column = node->columns + (size_t)walk->wanted[i] * BITS_LANE_WORDS;

        any = 0;
        for (size_t w = 0; w < lane_words; w++) {
            mask[w] &= column[w];
            any |= mask[w];
        }
        walk->probe->bytes += lane_words * sizeof *column;
    }
    return any != 0;
}

/* Columns are far apart in memory: those of the next node are asked for while one's are added up.
 */
void walk_fetch(const struct walk *walk, const struct tree_node *node)
{
#if defined(__GNUC__)
    for (size_t i = 0; i < walk->position_count; i++) {
        __builtin_prefetch(node->columns + (size_t)walk->positions[i] * BITS_LANE_WORDS);
    }
#else
    (void)walk;
    (void)node;
#endif
}

size_t walk_planes(const struct walk *walk)
{
    return bits_planes(walk->probe->cardinality);
}

void walk_count(struct walk *walk, const struct tree_node *node, uint64_t *planes)
{
    size_t lane_words = tree_lane_words(node);

    make_ready(walk);
    walk->tree->kernels->count_columns(node->columns, walk->positions, walk->position_count,
                                       lane_words, planes);
    walk->probe->comparisons += node->group_count;
    walk->probe->bytes += walk->position_count * lane_words * sizeof(uint64_t);
}

/* With the 64 groups of a word the smallest message counts. A word without any has no lanes. */
static uint32_t word_low(const struct tree_node *node, size_t word)
{
    return node->word_low[word] <= PROFILE_BITS_MAX ? node->word_low[word] : PROFILE_BITS_MAX;
}

/*
 * With c >= low an overlap o passes a floor only if o 2^16 >= (a + low) floor: see
 * index_probe_floor. So o is at least that product / 2^16, rounded up.
 */
bool walk_keep_passing(const struct walk *walk, const struct tree_node *node,
                       const uint64_t *planes, uint32_t floor, uint64_t *mask)
{
    uint64_t least[BITS_LANE_WORDS];

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        uint32_t product = (walk->probe->cardinality + word_low(node, w)) * floor;

        least[w] = (product + (UINT32_C(1) << INDEX_FLOOR_SHIFT) - 1) >> INDEX_FLOOR_SHIFT;
    }
    return walk->tree->kernels->keep_least(planes, walk_planes(walk), tree_lane_words(node), least,
                                           mask);
}

/* 1 + the highest floor that an overlap passes, with c >= low. */
static uint32_t reach_of(const struct walk *walk, uint64_t overlap, uint32_t low)
{
    uint32_t sum = walk->probe->cardinality + low;
    uint32_t most =
        overlap < walk->probe->cardinality ? (uint32_t)overlap : walk->probe->cardinality;

    return sum == 0 ? REACH_MOST : 1 + (most << INDEX_FLOOR_SHIFT) / sum;
}

/* The same the other way round: o 2^16 / (a + low), rounded down. */
uint32_t walk_reach(const struct walk *walk, const struct tree_node *node, const uint64_t *planes,
                    const uint64_t *mask)
{
    uint64_t left[BITS_LANE_WORDS];
    uint64_t largest[BITS_LANE_WORDS];
    uint32_t reach = REACH_DONE;

    memcpy(left, mask, sizeof left);
    walk->tree->kernels->keep_largest(planes, walk_planes(walk), tree_lane_words(node), left,
                                      largest);
    for (size_t w = 0; w < tree_lane_words(node); w++) {
        uint32_t of_word =
            left[w] != 0 ? reach_of(walk, largest[w], word_low(node, w)) : REACH_DONE;

        reach = of_word > reach ? of_word : reach;
    }
    return reach;
}

/* The nodes of one summary: a word has the lanes of two of them. */
static void rank_summary(struct walk *walk, uint32_t number, uint32_t *out_reach)
{
    enum { NODES_A_WORD = 64 / TREE_SPANS };
    const struct tree *tree = walk->tree;
    const struct tree_summary *summary = tree->summaries[number];
    struct sliced sliced = {.plane_count = walk_planes(walk), .lane_words = BITS_LANE_WORDS};

    tree->kernels->count_columns(summary->columns, walk->positions, walk->position_count,
                                 BITS_LANE_WORDS, sliced.planes);
    sliced_add(&sliced, summary->residue, bits_planes(tree->bits));
    walk->probe->comparisons += BITS_LANES;
    walk->probe->bytes += walk->position_count * BITS_LANE_WORDS * sizeof(uint64_t);
    for (uint32_t part = 0; part < NODES_A_WORD; part++) {
        uint64_t mask[BITS_LANE_WORDS];
        uint64_t largest[BITS_LANE_WORDS];

        for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
            mask[w] = ((UINT64_C(1) << TREE_SPANS) - 1) << part * TREE_SPANS;
        }
        tree->kernels->keep_largest(sliced.planes, sliced.plane_count, BITS_LANE_WORDS, mask,
                                    largest);
        for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
            uint32_t at = w * NODES_A_WORD + part;
            uint32_t numbered = number * TREE_SUMMARISED + at;
            const struct tree_node *node =
                numbered < tree->node_room ? tree->by_number[numbered] : NULL;

            if (node != NULL && node->span_count > 0) {
                out_reach[node->place] = reach_of(walk, largest[w], summary->low[at]);
            }
        }
    }
}

void walk_rank(struct walk *walk, uint32_t *out_reach)
{
    const struct tree *tree = walk->tree;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        out_reach[n] = REACH_MOST;
    }
    if (tree->summary_count == 0 || walk->probe->contains != NULL ||
        index_probe_is_unbounded(walk->probe)) {
        return;
    }
    make_ready(walk);
    for (uint32_t i = 0; i < tree->summary_count; i++) {
        rank_summary(walk, i, out_reach);
    }
}

/* Once the k best are nearly final, and if so many groups pass, comparing all of the node in order
 * is less work. */
static bool should_sweep(const struct walk *walk, const struct tree_node *node, uint32_t passing,
                         uint32_t percent)
{
    return walk->cursor->opened >= WALK_SETTLED && walk->floor > 0 &&
           walk->probe->contains == NULL && passing * 100 > node->group_count * percent;
}

/* The groups of a mask that may hold something, and what they share with the query. How many. */
static uint32_t list_holding(const struct walk *walk, const struct tree_node *node,
                             const uint64_t *planes, const uint64_t *mask, uint16_t *out_groups,
                             uint16_t *out_shared)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
            uint32_t group = w * 64 + sliced_lowest(left);
            uint32_t shared = planes != NULL ? sliced_number(planes, walk_planes(walk), group)
                                             : walk->probe->cardinality;

            if (walk_may_hold(walk, node, group, shared)) {
                out_groups[count] = (uint16_t)group;
                out_shared[count++] = (uint16_t)shared;
            }
        }
    }
    return count;
}

void walk_open_masked(struct walk *walk, const struct tree_node *node, const uint64_t *planes,
                      const uint64_t *mask)
{
    uint16_t groups[TREE_GROUPS];
    uint16_t shared[TREE_GROUPS];
    uint32_t count = 0;
    bool sweeps = should_sweep(walk, node, sliced_count(mask), MASK_PERCENT);

    if (!sweeps) {
        count = list_holding(walk, node, planes, mask, groups, shared);
        sweeps = should_sweep(walk, node, count, SWEEP_PERCENT);
    }
    if (sweeps) {
        walk->probe->check_repeats = true; /* some groups may have been opened before */
        walk->cursor->swept++;
        walk_sweep(walk, node);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        walk_open(walk, node, groups[i], shared[i]);
    }
    walk_flush(walk);
}
