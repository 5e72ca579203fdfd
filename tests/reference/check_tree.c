/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"
#include "tests/reference/check.h"

/* What summaries should say, computed anew. */
struct tally {
    uint32_t messages;
    uint32_t empty;
    uint64_t cardinality_sum;
    uint64_t column_bits;
    int64_t newest_ms;
    uint64_t whole[PROFILE_WORDS_MAX];
};

/* Checks the twins of a slot: newest first, and equal to the slot in what entries have in common.
 */
static const char *check_entry(const struct tree *tree, struct tree_spot spot)
{
    uint32_t number = spot.node->entries[spot.slot];
    const struct tree_entry *entry = &tree->entries[number];
    uint32_t newer = 0;

    if (number >= tree->entry_room || entry->newest == 0 ||
        entry->position != tree_position(spot)) {
        return "tree: a slot's entry is not its own";
    }
    for (uint32_t twin = entry->newest; twin != 0; twin = tree_twin(tree, twin)->older) {
        const struct tree_twin *it = tree_twin(tree, twin);
        uint32_t found = 0;

        if (it->entry != number || it->newer != newer ||
            it->item.reach_ppm != tree_item(spot)->reach_ppm) {
            return "tree: a twin is in another entry than it says";
        }
        if (newer != 0 && tree_twin(tree, newer)->item.deposited_ms < it->item.deposited_ms) {
            return "tree: twins are not in the order of their deposits";
        }
        if (!idmap_find(&tree->ids, it->item.id, tree_id_at, tree, &found) ||
            found != TREE_TWIN + twin) {
            return "tree: an id does not lead to its twin";
        }
        newer = twin;
    }
    return newer == entry->oldest ? NULL : "tree: an entry does not know its oldest twin";
}

static const char *check_message(const struct tree *tree, struct tree_spot spot, bool in_use)
{
    const struct index_item *item = tree_item(spot);
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t found = 0;

    tree_read_filter(tree, spot, filter);
    if (tree->kernels->cardinality(filter, tree->words) != tree_cardinality(spot)) {
        return "tree: a stored cardinality is wrong";
    }
    if (!in_use) {
        return tree_cardinality(spot) == 0 && item->expires_ms == INT64_MIN &&
                       spot.node->entries[spot.slot] == 0
                   ? NULL
                   : "tree: a free slot is not zero";
    }
    if (spot.node->entries[spot.slot] != 0) {
        const char *reason = check_entry(tree, spot);

        if (reason != NULL || tree_is_gone(tree, spot)) {
            return reason;
        }
    }
    if (!idmap_find(&tree->ids, item->id, tree_id_at, tree, &found) ||
        found != tree_position(spot)) {
        return "tree: an id does not lead to its message";
    }
    return NULL;
}

/* Checks that a group's lane in the columns of its node is the union of the group's messages. */
static const char *check_columns(const struct tree *tree, const struct tree_node *node,
                                 uint32_t group, struct tally *tally)
{
    uint64_t whole[PROFILE_WORDS_MAX];

    tree_group_union(tree, node, group, whole);
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        bool set = (whole[bit / 64] >> bit % 64 & 1) != 0;

        if (sliced_test(node->columns, bit, group) != set) {
            return "tree: a column is not the union of its groups";
        }
        tally->column_bits += set;
    }
    for (size_t w = 0; w < tree->words; w++) {
        tally->whole[w] |= whole[w];
    }
    return NULL;
}

static const char *check_free_lanes(const struct tree *tree, const struct tree_node *node)
{
    uint64_t used[BITS_LANE_WORDS];

    sliced_first(node->group_count, used);
    for (size_t i = 0; i < (size_t)tree->bits * BITS_LANE_WORDS; i++) {
        if ((node->columns[i] & ~used[i % BITS_LANE_WORDS]) != 0) {
            return "tree: a lane without a group is not zero";
        }
    }
    return NULL;
}

static const char *check_ranges(const struct tree *tree, struct tree_node *node,
                                const struct tree_group *group, struct tally *tally)
{
    uint32_t low = UINT16_MAX;
    uint32_t high = 0;
    int64_t newest_ms = INT64_MIN;
    size_t lane = (size_t)(group - node->groups);

    for (uint32_t slot = group->first; slot < (uint32_t)group->first + group->used; slot++) {
        uint32_t cardinality = *tree_counts(node, slot);
        int64_t deposited_ms = tree_newest_ms(tree, (struct tree_spot){node, slot});

        low = cardinality < low ? cardinality : low;
        high = cardinality > high ? cardinality : high;
        newest_ms = deposited_ms > newest_ms ? deposited_ms : newest_ms;
        tally->cardinality_sum += cardinality;
        tally->messages++;
    }
    if (group->low != low || group->high != high) {
        return "tree: a group's range of cardinalities is wrong";
    }
    if (node->least[lane] != tree_bound_byte(low) || node->most[lane] != tree_bound_byte(high)) {
        return "tree: the range of cardinalities of a lane is wrong";
    }
    if (group->newest_ms != newest_ms) {
        return "tree: a group's newest deposit is wrong";
    }
    tally->newest_ms = newest_ms > tally->newest_ms ? newest_ms : tally->newest_ms;
    tally->empty += group->used == 0;
    return NULL;
}

static const char *check_sections(const struct tree *tree, struct tree_node *node, uint32_t group)
{
    const struct tree_group *it = &node->groups[group];

    for (uint32_t s = 0; s < tree->section_count; s++) {
        uint32_t least = UINT8_MAX;
        uint32_t filled = UINT8_MAX;
        uint32_t most = 0;

        for (uint32_t slot = it->first; slot < (uint32_t)it->first + it->used; slot++) {
            uint64_t filter[PROFILE_WORDS_MAX];
            uint16_t counts[PROFILE_SECTIONS_MAX];
            uint32_t set = 0;

            tree_read_filter(tree, (struct tree_spot){node, slot}, filter);
            for (uint32_t bit = 0; bit < tree->sections[s].bits; bit++) {
                set += bloom_test(filter, tree->sections[s].first_bit + bit);
            }
            tree_read_counts(tree, (struct tree_spot){node, slot}, counts);
            if (counts[s] != set) {
                return "tree: stored set bits in a section are wrong";
            }
            least = set < least ? set : least;
            filled = set > 0 && set < filled ? set : filled;
            most = set > most ? set : most;
        }
        if (node->section_least[s * TREE_GROUPS + group] != least ||
            (tree->section_count > 1 && node->section_filled[s * TREE_GROUPS + group] != filled) ||
            node->section_most[s * TREE_GROUPS + group] != tree_bound_byte(most)) {
            return "tree: a group's range of set bits in a section is wrong";
        }
    }
    return NULL;
}

/*
 * Checks a group's slots. The slots begin at slot `before` of the node or later. The messages are
 * in the first slots, and the other slots are free.
 */
static const char *check_slots(const struct tree *tree, struct tree_node *node, uint32_t group,
                               uint32_t before)
{
    const struct tree_group *it = &node->groups[group];
    const char *reason = NULL;
    uint32_t end = (uint32_t)it->first + it->room;

    if (it->room == 0 || it->room > TREE_GROUP || it->used > it->room || it->first < before ||
        end > node->slot_count) {
        return "tree: a group's slots are not its own";
    }
    for (uint32_t slot = before; reason == NULL && slot < end; slot++) {
        reason = check_message(tree, (struct tree_spot){node, slot},
                               slot >= it->first && slot < (uint32_t)it->first + it->used);
    }
    return reason;
}

static bool is_noted(const uint64_t *mask, uint32_t group)
{
    return (mask[group / 64] >> group % 64 & 1) != 0;
}

static const char *check_group(const struct tree *tree, struct tree_node *node, uint32_t group,
                               struct tally *tally)
{
    const struct tree_group *it = &node->groups[group];
    bool is_there = group < node->group_count;

    if (is_noted(node->room, group) != (is_there && it->used < it->room)) {
        return "tree: a group's room is not what is noted";
    }
    if (!is_there) {
        return NULL;
    }
    uint32_t before = group == 0 ? 0 : (uint32_t)it[-1].first + it[-1].room;
    const char *reason = check_slots(tree, node, group, before);
    if (reason == NULL) {
        reason = check_columns(tree, node, group, tally);
    }
    if (reason == NULL) {
        reason = check_ranges(tree, node, it, tally);
    }
    return reason != NULL ? reason : check_sections(tree, node, group);
}

/* What its groups say of a node against what it says itself. */
static const char *check_tally(const struct tree *tree, const struct tree_node *node,
                               const struct tally *tally)
{
    if (node->entry_count != tally->messages || node->cardinality_sum != tally->cardinality_sum ||
        node->column_bits != tally->column_bits || node->empty_count != tally->empty) {
        return "tree: a node's counts are wrong";
    }
    if (node->newest_ms != tally->newest_ms) {
        return "tree: a node's newest deposit is wrong";
    }
    if (memcmp(node->whole, tally->whole, tree->words * sizeof *node->whole) != 0) {
        return "tree: a node's union is wrong";
    }
    return NULL;
}

/* ---- summaries ---- */

/* Units of a summary that a node's spans take. */
static uint32_t unit_count(const struct tree_node *node)
{
    return (node->span_count + TREE_UNIT - 1) / TREE_UNIT;
}

static bool owns_lanes(const struct tree *tree, const struct tree_node *node)
{
    uint32_t first = node->span_lane / TREE_UNIT;
    uint32_t end = first + unit_count(node);

    if (node->span_summary >= tree->summary_count || node->span_lane % TREE_UNIT != 0 ||
        end > TREE_UNITS || node->span_count > TREE_SPANS) {
        return false;
    }
    while (first < end && tree->summaries[node->span_summary]->owners[first] == node) {
        first++;
    }
    return first == end;
}

/* The lane of the span that a group is in. */
static uint32_t lane_of(const struct tree_node *node, uint32_t group)
{
    uint32_t span = node->span_count - 1;

    while (node->span_first[span] > group) {
        span--;
    }
    return node->span_lane + span;
}

/*
 * Returns whether a lane's needs are at most those of one of its messages. For a message with c set
 * bits, x of which are outside the lane's core, the need at the floor e / 8 is c e - 8 x (see
 * tree_summary).
 */
static bool needs_hold(const struct tree *tree, const struct tree_summary *summary, uint32_t lane,
                       struct tree_spot spot)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    int32_t cardinality = tree_cardinality(spot);
    int32_t outside = 0;
    bool hold = true;

    tree_read_filter(tree, spot, filter);
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        outside +=
            (filter[bit / 64] >> bit % 64 & 1) != 0 && !sliced_test(summary->columns, bit, lane);
    }
    for (int32_t j = 0; j < BITS_NEEDS; j++) {
        hold = hold && summary->needs[j * BITS_LANES + (int32_t)lane] <=
                           cardinality * (BITS_NEEDS_FIRST + j) - 8 * outside;
    }
    return hold;
}

/* Returns whether a lane's ranges hold for one of its messages: its set bits in each section, and
 * those outside of the core. */
static bool ranges_hold(const struct tree *tree, const struct tree_summary *summary, uint32_t lane,
                        struct tree_spot spot)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    bool hold = true;

    tree_read_filter(tree, spot, filter);
    for (uint32_t s = 0; s < tree->section_count; s++) {
        uint32_t set = 0;
        uint32_t outside = 0;

        for (uint32_t i = 0; i < tree->sections[s].bits; i++) {
            uint32_t bit = tree->sections[s].first_bit + i;

            set += bloom_test(filter, bit);
            outside += bloom_test(filter, bit) && !sliced_test(summary->columns, bit, lane);
        }
        hold =
            hold && tree_range_row(summary, s, TREE_LEAST)[lane] <= tree_bound_byte(set) &&
            (set == 0 || tree_range_row(summary, s, TREE_FILLED)[lane] <= tree_bound_byte(set)) &&
            tree_range_row(summary, s, TREE_MOST)[lane] >= tree_bound_byte(set) &&
            tree_range_row(summary, s, TREE_OUTSIDE)[lane] >= tree_bound_byte(outside);
    }
    return hold;
}

static const char *check_summary(const struct tree *tree, struct tree_node *node)
{
    if (node->span_count == 0) {
        return NULL;
    }
    if (!owns_lanes(tree, node)) {
        return "tree: a node's spans have lanes that are not its own";
    }
    const struct tree_summary *summary = tree->summaries[node->span_summary];
    for (uint32_t group = 0; group < node->group_count; group++) {
        const struct tree_group *it = &node->groups[group];

        for (uint32_t slot = it->first; slot < (uint32_t)it->first + it->used; slot++) {
            if (!needs_hold(tree, summary, lane_of(node, group), (struct tree_spot){node, slot})) {
                return "tree: a message needs less than its summary says";
            }
            if (!ranges_hold(tree, summary, lane_of(node, group), (struct tree_spot){node, slot})) {
                return "tree: a message is beyond the ranges of its summary";
            }
        }
    }
    return NULL;
}

static const char *check_units(const struct tree *tree)
{
    for (uint32_t i = 0; i < tree->summary_count; i++) {
        const struct tree_summary *summary = tree->summaries[i];
        uint32_t used = 0;

        for (uint32_t unit = 0; unit < TREE_UNITS; unit++) {
            const struct tree_node *owner = summary->owners[unit];

            used += owner != NULL;
            if (owner != NULL && (owner->span_count == 0 || owner->span_summary != i)) {
                return "tree: a unit of a summary is of no node";
            }
        }
        if (used != summary->used) {
            return "tree: a summary does not know how many units are used";
        }
    }
    return NULL;
}

/* ---- nodes ---- */

static const char *check_node(const struct tree *tree, struct tree_node *node)
{
    struct tally tally = {.newest_ms = INT64_MIN};

    const char *reason = NULL;

    if (node->group_count == 0 || node->group_count > tree->fanout ||
        node->slot_count > TREE_SLOTS) {
        return "tree: a node is empty or overfull";
    }
    if (node->groups[node->group_count - 1].used == 0) {
        return "tree: a node's last group is empty";
    }
    if (node->slot_room < node->slot_count || node->slot_room % BITS_BLOCK != 0) {
        return "tree: a node's slots are more than it has room for";
    }
    reason = check_free_lanes(tree, node);
    for (uint32_t group = 0; reason == NULL && group < TREE_GROUPS; group++) {
        reason = check_group(tree, node, group, &tally);
    }
    for (uint32_t slot = node->slot_count; reason == NULL && slot < node->slot_room; slot++) {
        reason = check_message(tree, (struct tree_spot){node, slot}, false);
    }
    if (reason == NULL) {
        reason = check_tally(tree, node, &tally);
    }
    return reason != NULL ? reason : check_summary(tree, node);
}

/* Every entry has a slot that names it, and twins; check_message has checked those of each slot. */
static const char *check_entries(const struct tree *tree)
{
    size_t twins = 0;
    size_t gone = 0;
    size_t in_use = 0;

    for (uint32_t twin = 1; twin <= tree->twin_room; twin++) {
        in_use += tree_twin(tree, twin)->entry != 0;
    }
    for (uint32_t number = 0; number < tree->entry_room; number++) {
        const struct tree_entry *entry = &tree->entries[number];

        if (entry->newest == 0) {
            continue;
        }
        struct tree_spot spot = tree_spot_at(tree, entry->position);
        if (number == 0 || spot.node == NULL || spot.node->entries[spot.slot] != number) {
            return "tree: an entry has no slot";
        }
        for (uint32_t twin = entry->newest; twin != 0; twin = tree_twin(tree, twin)->older) {
            twins++;
        }
        gone += entry->founder_gone;
    }
    if (twins != tree->twin_count || twins != in_use) {
        return "tree: a twin is in no entry";
    }
    return tree->count + twins - gone == tree->message_count
               ? NULL
               : "tree: the numbers of ids and of messages differ";
}

static const char *check_directory(const struct tree *tree)
{
    size_t messages = 0;
    uint32_t numbers = 0;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        const struct tree_node *node = tree->nodes[n];

        if (node->place != n || node->number >= tree->node_room ||
            tree->by_number[node->number] != node) {
            return "tree: a node is not where it says";
        }
        messages += node->entry_count;
    }
    for (uint32_t s = 0; s < tree->node_room; s++) {
        numbers += tree->by_number[s] != NULL;
    }
    if (messages != tree->count || numbers != tree->node_count) {
        return "tree: its counts are wrong";
    }
    return idmap_count(&tree->ids) == tree->message_count
               ? NULL
               : "tree: the numbers of ids and of messages differ";
}

const char *check_tree(const void *engine)
{
    const struct tree *tree = engine;
    const char *reason = check_idmap(&tree->ids);

    if (reason == NULL) {
        reason = check_directory(tree);
    }
    for (uint32_t n = 0; reason == NULL && n < tree->node_count; n++) {
        reason = check_node(tree, tree->nodes[n]);
    }
    if (reason == NULL) {
        reason = check_entries(tree);
    }
    return reason != NULL ? reason : check_units(tree);
}
