/* SPDX-License-Identifier: Apache-2.0 */
/* bound: the middle level of a search. Rules out groups of a node by counting the columns of the
 * query's bits. */
#include <string.h>

#include "core/tree/walk.h"

enum {
    FEW_COLUMNS = 1000, /* visiting a node is taken to cost, in addition to counting its columns, as
                           much time as counting this many columns */
    /*
     * When the k best are nearly final, the search compares a whole node, slot by slot, if the
     * number of groups that may have an answer is more than this percentage of the node's blocks.
     * Comparing a group reads a whole block, even if the group is small.
     */
    SWEEP_PERCENT = 50,
    SWEEP_SIFTED_PERCENT = 75, /* the same while blocks are sifted */
    STEP = 64,                 /* groups that are tested against the same k-th best */
    NEWEST_FIRST = 16          /* groups that are opened one by one, if they may all tie */
};

/*
 * Returns whether counting columns is expected to cost more time than it saves. This is so for a
 * node of few groups; for a query without bits or with more than 255; and for unions so full that
 * unrelated unions share more than 0.4 of the sum of both cardinalities with the query (similarity
 * 2/3). Returns false for every query with `contains`.
 */
bool walk_is_plain(const struct walk *walk, const struct tree_node *node)
{
    const struct index_probe *probe = walk->probe;
    uint64_t shared = node->column_bits * probe->cardinality / node->group_count;
    uint64_t sum = probe->cardinality + node->cardinality_sum / node->entry_count;

    if (probe->contains != NULL) {
        return false;
    }
    return !walk_can_bound(walk) ||
           node->group_count * walk->tree->kernels->block_columns <
               probe->cardinality + FEW_COLUMNS ||
           shared * 5 > sum * 2 * walk->tree->bits;
}

bool walk_keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask)
{
    size_t lane_words = tree_lane_words(node);
    uint64_t any = 1;

    walk_make_ready(walk);
    sliced_first(node->group_count, mask);
    for (size_t i = 0; any != 0 && i < walk->wanted_count; i++) {
        const uint64_t *column = node->columns + (size_t)walk->wanted[i] * BITS_LANE_WORDS;

        any = 0;
        for (size_t w = 0; w < lane_words; w++) {
            mask[w] &= column[w];
            any |= mask[w];
        }
        walk->probe->bytes += lane_words * sizeof(*column);
    }
    return any != 0;
}

/*
 * Prefetches the columns of a node before they are counted. The columns of a query's bits are apart
 * in memory, so many of them would be cache misses otherwise.
 */
void walk_fetch(const struct walk *walk, const struct tree_node *node)
{
    for (size_t i = 0; i < walk->position_count; i++) {
        fetch_line(node->columns + (size_t)walk->positions[i] * BITS_LANE_WORDS);
    }
    for (uint32_t s = 0; s < walk->probe->phi.count; s++) { /* 0 sections by other metrics */
        uint32_t section = walk->probe->phi.sections[s].number;
        const uint8_t *least = walk_least(walk, node, section);
        const uint8_t *most = node->section_most + (size_t)section * TREE_GROUPS;

        for (uint32_t g = 0; g < node->group_count; g += WALK_LINE_BYTES) {
            fetch_line(least + g);
            fetch_line(most + g);
        }
    }
}

/* Returns how many lanes the kernels read: the number of groups of the node, rounded up to a
 * multiple of BITS_STRIDE. The lanes behind the groups have the reach REACH_DONE. */
static size_t lane_count(const struct tree_node *node)
{
    return ((size_t)node->group_count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE;
}

/* Marks the groups that are not in the mask as done (REACH_DONE). */
static void keep_masked(const struct walk *walk, const struct tree_node *node, const uint64_t *mask,
                        uint16_t *reach)
{
    uint8_t kept[TREE_GROUPS]; /* 1 or 0 */

    walk->tree->kernels->spread(mask, 1, tree_lane_words(node), kept);
    for (size_t i = 0; i < lane_count(node); i++) {
        reach[i] &= (uint16_t)-kept[i];
    }
}

/*
 * Counts, for each lane of some columns, the bits that the query shares in one section. The
 * positions of the section's bits begin with number `at`, and there are `set` of them.
 */
static void count_section(const struct walk *walk, const uint64_t *columns, size_t lane_words,
                          size_t at, size_t set, uint8_t *out)
{
    const struct bits_kernels *kernels = walk->tree->kernels;
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];

    kernels->count_columns(columns, walk->positions + at, set, lane_words, planes);
    kernels->spread(planes, bits_planes(set), lane_words, out);
}

/* Lowers the numbers that are above a limit, for each lane. The inner loop has a fixed length, so
 * that compilers vectorise it. */
static void limit_lanes(uint8_t *restrict out, const uint8_t *restrict numbers, uint8_t most,
                        size_t lane_words)
{
    for (size_t w = 0; w < lane_words; w++) {
        for (size_t i = w * 64; i < w * 64 + 64; i++) {
            out[i] = numbers[i] < most ? numbers[i] : most;
        }
    }
}

/* Writes the reach of each group by the numbers of set bits: for the metric of bits. */
static void bound_bits(struct walk *walk, const struct tree_node *node, struct kept_node *kept)
{
    struct bits_bound bound = {
        .least = node->least,
        .most = node->most,
        .base = walk->probe->cardinality,
        .floor = walk->floor,
    };

    walk_make_ready(walk);
    count_section(walk, node->columns, tree_lane_words(node), 0, walk->position_count,
                  kept->shared);
    walk->tree->kernels->bound_lanes(&bound, kept->shared, node->group_count, kept->reach);
    walk->probe->bytes += node->group_count * (sizeof(*node->least) + sizeof(*node->most));
}

/* Writes, for each lane, the most bits that a message can share with the query in all sections. */
static void note_shared(const struct bits_section *sections, uint32_t count, size_t lanes,
                        uint8_t *out)
{
    for (uint32_t s = 0; s < count; s++) {
        const uint8_t *overlaps = sections[s].overlaps;
        const uint8_t *most = sections[s].most;

        for (size_t lane = 0; lane < lanes; lane++) {
            uint8_t shared = overlaps[lane] < most[lane] ? overlaps[lane] : most[lane];

            out[lane] = (uint8_t)(s > 0 ? out[lane] + shared : shared);
        }
    }
}

/* Writes the reach of each group by phi: docs/notes/tree.md has the proof. */
static void bound_phi(struct walk *walk, const struct tree_node *node, struct kept_node *kept)
{
    struct index_probe *probe = walk->probe;
    size_t lane_words = tree_lane_words(node);
    struct bits_section sections[PROFILE_SECTIONS_MAX];
    uint8_t overlaps[PROFILE_SECTIONS_MAX * TREE_GROUPS];
    size_t at = 0;

    walk_make_ready(walk);
    for (uint32_t s = 0; s < probe->phi.count; s++) {
        const struct phi_section *asked = &probe->phi.sections[s];
        uint8_t *out = overlaps + (size_t)s * TREE_GROUPS;

        sections[s] = (struct bits_section){
            .least = walk_least(walk, node, asked->number),
            .most = node->section_most + (size_t)asked->number * TREE_GROUPS,
            .overlaps = out,
            .bits = asked->bits,
            .set = asked->set,
        };
        count_section(walk, node->columns, lane_words, at, asked->set, out);
        at += asked->set;
    }
    walk->tree->kernels->bound_phi(sections, probe->phi.count, probe->phi.spread, walk->floor,
                                   node->group_count, kept->reach);
    note_shared(sections, probe->phi.count, lane_words * 64, kept->shared);
    kept->has_rests = walk->parts.small.end > 0 && walk_sifts(walk);
    if (kept->has_rests) {
        limit_lanes(kept->rests, sections[walk->parts.main].overlaps, walk->parts.rest, lane_words);
    }
    probe->bytes += (size_t)probe->phi.count * node->group_count *
                    (sizeof(*node->section_least) + sizeof(*node->section_most));
}

uint16_t walk_bound(struct walk *walk, const struct tree_node *node, const uint64_t *mask,
                    struct kept_node *kept)
{
    kept->has_rests = false;
    if (walk->probe->query->metric == INDEX_METRIC_PHI) {
        bound_phi(walk, node, kept);
    } else {
        bound_bits(walk, node, kept);
    }
    walk->cursor->spent +=
        (walk->position_count + FEW_COLUMNS) / walk->tree->kernels->block_columns;
    walk->probe->comparisons += node->group_count;
    walk->probe->bytes += walk->position_count * tree_lane_words(node) * sizeof(uint64_t);
    if (mask != NULL) {
        keep_masked(walk, node, mask, kept->reach);
    }
    return walk->tree->kernels->largest(kept->reach, lane_count(node));
}

/* Computes the reach of the spans of one summary. */
static void rank_spans(struct walk *walk, const struct tree_summary *summary, uint16_t *out_spans)
{
    const struct bits_kernels *kernels = walk->tree->kernels;
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
    uint8_t shared[BITS_LANES];

    kernels->count_columns(summary->columns, walk->positions, walk->position_count, BITS_LANE_WORDS,
                           planes);
    kernels->spread(planes, walk_planes(walk), BITS_LANE_WORDS, shared);
    kernels->promise(summary->needs, walk->probe->cardinality, shared, out_spans);
    walk->probe->comparisons += BITS_LANES;
    walk->probe->bytes +=
        walk->position_count * BITS_LANE_WORDS * sizeof(uint64_t) + sizeof(summary->needs);
}

/*
 * The same by phi. A message shares at most as many bits with the query as the core does and as the
 * message has outside of the core, by section; then the bound is that of a group.
 */
static void rank_spans_by_phi(struct walk *walk, const struct tree_summary *summary,
                              uint16_t *out_spans)
{
    struct index_probe *probe = walk->probe;
    struct bits_section sections[PROFILE_SECTIONS_MAX];
    uint8_t overlaps[PROFILE_SECTIONS_MAX][BITS_LANES];
    size_t at = 0;

    for (uint32_t s = 0; s < probe->phi.count; s++) {
        const struct phi_section *asked = &probe->phi.sections[s];
        const uint8_t *outside = tree_range_row(summary, asked->number, TREE_OUTSIDE);

        sections[s] = (struct bits_section){
            .least = tree_range_row(summary, asked->number,
                                    walk_is_filled(walk) ? TREE_FILLED : TREE_LEAST),
            .most = tree_range_row(summary, asked->number, TREE_MOST),
            .overlaps = overlaps[s],
            .bits = asked->bits,
            .set = asked->set,
        };
        count_section(walk, summary->columns, BITS_LANE_WORDS, at, asked->set, overlaps[s]);
        for (size_t lane = 0; lane < BITS_LANES; lane++) {
            uint32_t shared = (uint32_t)overlaps[s][lane] + outside[lane];

            overlaps[s][lane] = (uint8_t)(shared < asked->set ? shared : asked->set);
        }
        at += asked->set;
    }
    walk->tree->kernels->bound_phi(sections, probe->phi.count, probe->phi.spread, walk->floor,
                                   BITS_LANES, out_spans);
    probe->comparisons += BITS_LANES;
    probe->bytes += walk->position_count * BITS_LANE_WORDS * sizeof(uint64_t) +
                    (size_t)probe->phi.count * TREE_RANGES * BITS_LANES;
}

void walk_rank(struct walk *walk, uint16_t *out_reach)
{
    const struct tree *tree = walk->tree;
    bool by_phi = walk->probe->query->metric == INDEX_METRIC_PHI;
    uint16_t spans[BITS_LANES];

    for (uint32_t n = 0; n < walk->cursor->room; n++) {
        out_reach[n] = n < tree->node_count ? REACH_MOST : REACH_DONE;
    }
    if (!walk_can_bound(walk)) {
        return;
    }
    walk_make_ready(walk);
    for (uint32_t i = 0; i < tree->summary_count; i++) {
        const struct tree_node *before = NULL;

        if (tree->summaries[i]->used == 0) {
            continue;
        }
        if (by_phi) {
            rank_spans_by_phi(walk, tree->summaries[i], spans);
        } else {
            rank_spans(walk, tree->summaries[i], spans);
        }
        for (uint32_t unit = 0; unit < TREE_UNITS; unit++) {
            const struct tree_node *node = tree->summaries[i]->owners[unit];

            if (node != NULL && node != before) {
                out_reach[node->place] =
                    tree->kernels->largest(&spans[(size_t)node->span_lane], node->span_count);
                before = node;
            }
        }
    }
}

void walk_open_masked(struct walk *walk, const struct tree_node *node, const uint64_t *mask)
{
    uint16_t groups[TREE_GROUPS];

    walk_open(walk, node, groups, sliced_positions(mask, BITS_LANE_WORDS, groups), NULL);
}

/*
 * Returns whether to compare the whole node, slot by slot, instead of only the `passing` groups.
 * This is so if many groups are left, and the k best are nearly final or the search has a function
 * `found` (index.h).
 */
static bool should_sweep(const struct walk *walk, const struct tree_node *node, size_t passing)
{
    bool is_settled = walk->probe->opened >= WALK_SETTLED || walk->probe->query->found != NULL;

    size_t percent = walk_sifts(walk) ? SWEEP_SIFTED_PERCENT : SWEEP_PERCENT;

    return is_settled && walk->floor > 0 && walk->probe->contains == NULL &&
           passing * BITS_BLOCK * 100 > node->slot_count * percent;
}

/* Returns which of some groups has the newest message: an index in `groups`. */
static size_t newest_of(const struct tree_node *node, const uint16_t *groups, size_t count)
{
    size_t newest = 0;

    for (size_t i = 1; i < count; i++) {
        if (node->groups[groups[i]].newest_ms > node->groups[groups[newest]].newest_ms) {
            newest = i;
        }
    }
    return newest;
}

/*
 * Of some groups whose messages may all be equal to the query, as on a board, opens those with the
 * newest messages, one by one: they usually have the k best, and then no other group can have any.
 * Sets the reach of the groups that are done to REACH_DONE. Returns how many are left in `groups`.
 */
static size_t open_newest(struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                          uint16_t *groups, size_t count)
{
    for (size_t i = 0; i < NEWEST_FIRST && count > 0; i++) {
        size_t newest = newest_of(node, groups, count);
        uint16_t group = groups[newest];

        if (!walk_may_reach(walk, REACH_MOST, node->groups[group].newest_ms)) {
            while (count > 0) { /* the other groups are older still */
                kept->reach[groups[--count]] = REACH_DONE;
            }
            return 0;
        }
        walk_open(walk, node, &group, 1, kept);
        kept->reach[group] = REACH_DONE;
        memmove(groups + newest, groups + newest + 1, (--count - newest) * sizeof(*groups));
    }
    return count;
}

/* Opens groups of a node, from the last to the first in the cases in which search.c, best_node,
 * takes the last node. */
static void open_listed(struct walk *walk, const struct tree_node *node,
                        const struct kept_node *kept, const uint16_t *groups, size_t count)
{
    bool may_tie = count > 0 && walk_may_tie(walk, kept->reach[groups[0]]);
    size_t step = node->is_arranged && !may_tie ? TREE_GROUPS : STEP;

    while (count > 0) {
        size_t first = count > step ? count - step : 0;

        walk_open(walk, node, groups + first, count - first, kept);
        count = first;
    }
}

uint16_t walk_open_best(struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                        uint16_t least)
{
    const struct bits_kernels *kernels = walk->tree->kernels;
    uint16_t groups[TREE_GROUPS];
    size_t lanes = lane_count(node);
    size_t count = kernels->list_least(kept->reach, lanes, least, groups);

    if (should_sweep(walk, node, count) &&
        !should_sweep(
            walk, node,
            kernels->count_least(kept->reach, lanes, (uint16_t)(1 + walk_tied_most(walk))))) {
        count = walk_leave_out(walk, node, kept, groups, count);
    }
    if (should_sweep(walk, node, count)) {
        walk->probe->check_repeats = true; /* some groups may have been opened before */
        walk_sweep(walk, node);
        return REACH_DONE;
    }
    if (least >= REACH_MOST && walk->probe->query->found == NULL) {
        count = open_newest(walk, node, kept, groups, count);
    }
    open_listed(walk, node, kept, groups, count);
    for (size_t i = 0; i < count; i++) {
        kept->reach[groups[i]] = REACH_DONE;
    }
    return kernels->largest(kept->reach, lanes);
}
