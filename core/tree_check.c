/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree.h"

#include <string.h>

#include "core/sliced.h"

/* What summaries should say, computed anew. */
struct tally {
    uint32_t messages;
    uint64_t cardinality_sum;
    uint64_t column_bits;
    uint32_t low;
    uint32_t high;
    int64_t newest_ms;
    uint64_t whole[PROFILE_WORDS_MAX];
};

static const char *check_message(const struct tree *tree, struct tree_spot spot)
{
    const struct tree_page *page = tree_page_of(spot.node, spot.group);
    uint32_t at = tree_at(spot.group, spot.lane);
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t found = 0;

    tree_read_filter(tree, spot, filter);
    if (tree->kernels->cardinality(filter, tree->words) != page->cardinality[at]) {
        return "tree: a stored cardinality is wrong";
    }
    if (spot.group >= spot.node->group_count || spot.lane >= spot.node->used[spot.group]) {
        return page->cardinality[at] == 0 ? NULL : "tree: a free lane is not zero";
    }
    if (!idmap_find(&tree->ids, page->ids[at], tree_id_at, tree, &found) ||
        found != tree_position(spot)) {
        return "tree: an id does not lead to its message";
    }
    return NULL;
}

/* The union of a group, by its messages, is what its lane of the columns says. */
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

static const char *check_ranges(const struct tree_node *node, uint32_t group, struct tally *tally)
{
    const struct tree_page *page = tree_page_of(node, group);
    uint32_t first = tree_at(group, 0);
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
    int64_t newest_ms = INT64_MIN;

    if (node->used[group] == 0 || node->used[group] > TREE_GROUP) {
        return "tree: a group is empty or overfull";
    }
    for (uint32_t at = first; at < first + node->used[group]; at++) {
        uint32_t cardinality = page->cardinality[at];

        low = cardinality < low ? cardinality : low;
        high = cardinality > high ? cardinality : high;
        newest_ms = page->deposited_ms[at] > newest_ms ? page->deposited_ms[at] : newest_ms;
        tally->cardinality_sum += cardinality;
        tally->messages++;
    }
    if (node->group_low[group] != low || node->group_high[group] != high) {
        return "tree: a group's range of cardinalities is wrong";
    }
    if (node->group_newest_ms[group] != newest_ms) {
        return "tree: a group's newest deposit is wrong";
    }
    tally->low = low < tally->low ? low : tally->low;
    tally->high = high > tally->high ? high : tally->high;
    tally->newest_ms = newest_ms > tally->newest_ms ? newest_ms : tally->newest_ms;
    return NULL;
}

static const char *check_group(const struct tree *tree, struct tree_node *node, uint32_t group,
                               struct tally *tally)
{
    const char *reason = NULL;
    bool has_room = group < node->group_count && node->used[group] < TREE_GROUP;

    if (group < node->group_count) {
        reason = check_columns(tree, node, group, tally);
    }
    if (reason == NULL && group < node->group_count) {
        reason = check_ranges(node, group, tally);
    }
    bool is_small = group < node->group_count && node->group_low[group] < node->pivot;
    if (reason == NULL && (node->small[group / 64] >> group % 64 & 1) != is_small) {
        reason = "tree: a small group is not noted";
    }
    if (reason == NULL && (node->room[group / 64] >> group % 64 & 1) != has_room) {
        reason = "tree: a group's room is not what is noted";
    }
    for (uint32_t lane = 0;
         reason == NULL && group < node->page_count * TREE_PAGE_GROUPS && lane < TREE_GROUP;
         lane++) {
        reason = check_message(tree, (struct tree_spot){node, group, lane});
    }
    return reason;
}

static const char *check_node(const struct tree *tree, struct tree_node *node)
{
    struct tally tally = {.low = UINT32_MAX, .newest_ms = INT64_MIN};
    const char *reason = NULL;

    if (node->group_count == 0 || node->group_count > tree->fanout) {
        return "tree: a node is empty or overfull";
    }
    if (node->page_count != (node->group_count + TREE_PAGE_GROUPS - 1) / TREE_PAGE_GROUPS) {
        return "tree: a node's number of pages is wrong";
    }
    reason = check_free_lanes(tree, node);
    for (uint32_t group = 0; reason == NULL && group < TREE_GROUPS; group++) {
        reason = check_group(tree, node, group, &tally);
    }
    if (reason != NULL) {
        return reason;
    }
    if (node->message_count != tally.messages || node->cardinality_sum != tally.cardinality_sum ||
        node->column_bits != tally.column_bits) {
        return "tree: a node's counts are wrong";
    }
    if (node->low != tally.low || node->high != tally.high || node->newest_ms != tally.newest_ms) {
        return "tree: a node's ranges are wrong";
    }
    if (memcmp(node->whole, tally.whole, tree->words * sizeof *node->whole) != 0) {
        return "tree: a node's union is wrong";
    }
    return NULL;
}

static const char *check_directory(const struct tree *tree)
{
    size_t messages = 0;
    size_t groups = 0;
    uint32_t pages = 0;
    uint32_t slots = 0;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        const struct tree_node *node = tree->nodes[n];

        if (node->place != n || node->slot >= tree->node_room || tree->slots[node->slot] != node) {
            return "tree: a node is not where it says";
        }
        messages += node->message_count;
        groups += node->group_count;
        pages += node->page_count;
    }
    for (uint32_t s = 0; s < tree->node_room; s++) {
        slots += tree->slots[s] != NULL;
    }
    if (messages != tree->count || groups != tree->group_count || pages != tree->page_count ||
        slots != tree->node_count) {
        return "tree: its counts are wrong";
    }
    return idmap_count(&tree->ids) == tree->count
               ? NULL
               : "tree: the numbers of ids and of messages differ";
}

const char *tree_check(const void *engine)
{
    const struct tree *tree = engine;
    const char *reason = idmap_check(&tree->ids);

    if (reason == NULL) {
        reason = check_directory(tree);
    }
    for (uint32_t n = 0; reason == NULL && n < tree->node_count; n++) {
        reason = check_node(tree, tree->nodes[n]);
    }
    return reason;
}
