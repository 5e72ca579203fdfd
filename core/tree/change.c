/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: inserts and removes messages.
 *
 * An insert puts the message into the last group of the tree, or into a group that has no messages.
 * So a deposit does not wait until messages are arranged; a later rebuild (build.c) arranges them.
 * A removal may join one small group to another group, and may merge two nodes. So each change does
 * a bounded amount of work on the nodes.
 */
#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/tree/inner.h"

/* A removal may join a group of at most this many messages to another group. */
enum { FEW = TREE_GROUP / 2 };

const uint8_t *tree_id_at(const void *tree, uint32_t position)
{
    return tree_item_at(tree, position)->id;
}

/* --- insert ----------------------------------------------------------------------------------- */

/* Returns the last node if new messages may go there, else NULL. An arranged node takes no new
 * messages, except when it is the only node: a small tree should not need two nodes. */
static struct tree_node *open_node(const struct tree *tree)
{
    struct tree_node *last = tree->node_count > 0 ? tree->nodes[tree->node_count - 1] : NULL;

    return last != NULL && (!last->is_arranged || tree->node_count == 1) ? last : NULL;
}

/*
 * Returns how many slots are allocated for a new node. Storage that grows by and by is copied many
 * times before a node is full. So a node behind a full unarranged node gets all slots at once: the
 * new node is likely to fill up, too. Any other node starts small.
 */
static uint32_t first_slots(const struct tree *tree)
{
    bool follows = tree->node_count > 0 && !tree->nodes[tree->node_count - 1]->is_arranged;

    return follows ? tree->fanout * TREE_GROUP : TREE_GROUP;
}

/*
 * Finds a group with a free slot for a new message: the last group of the tree, or else a group
 * without messages. 0 or -ERR_NOMEM.
 */
static int find_group(struct tree *tree, struct tree_node **out_node, uint32_t *out_group)
{
    struct tree_node *node = open_node(tree);

    if (node != NULL) {
        const struct tree_group *last = &node->groups[node->group_count - 1];

        if (last->used < last->room) {
            *out_node = node;
            *out_group = node->group_count - 1;
            return 0;
        }
    }
    if (node == NULL || !tree_has_space(tree, node)) {
        node = tree_add_node(tree, tree->node_count, first_slots(tree));
        if (node == NULL) {
            return -ERR_NOMEM;
        }
        tree_cursors_replaced(tree, node->place, 0, 1);
    }
    if (tree_reserve(tree, node, tree_next_end(node)) != 0) {
        return -ERR_NOMEM;
    }
    *out_node = node;
    *out_group = tree_open_group(node);
    return 0;
}

/*
 * Finds the bits of a filter that the union of the group may lack, and notes the filter as part of
 * the union. Consecutive inserts go into the same group, whose union has more and more of the bits:
 * of eight random filters with 75 of 512 bits, 0.6 of the columns are written.
 */
static void find_fresh(struct tree *tree, const struct tree_node *node, uint32_t group,
                       const uint64_t *filter, uint64_t *out_fresh)
{
    struct tree_recent *recent = &tree->recent;
    bool is_same =
        recent->node == node && recent->group == group && recent->changes == tree->changes;

    for (size_t w = 0; w < tree->words; w++) {
        uint64_t known = is_same ? recent->known[w] : 0;

        out_fresh[w] = filter[w] & ~known;
        recent->known[w] = known | filter[w];
    }
    recent->node = node;
    recent->group = group;
}

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter)
{
    struct tree *tree = engine;
    struct tree_spot spot = {NULL, 0};
    uint64_t fresh[PROFILE_WORDS_MAX];
    uint32_t group = 0;
    uint32_t position = 0;

    if (idmap_find(&tree->ids, item->id, tree_id_at, tree, &position)) {
        return INDEX_EXISTS;
    }
    uint64_t hash = tree_hash(tree, item, filter);
    int rc = idmap_reserve(&tree->ids);
    if (rc == 0) {
        rc = tree_reserve_hints(tree);
    }
    if (rc == 0 && tree_join(tree, item, filter, hash)) {
        return 0;
    }
    if (rc == 0) {
        rc = find_group(tree, &spot.node, &group);
    }
    if (rc != 0) {
        return rc;
    }
    spot.node->is_arranged = false;
    find_fresh(tree, spot.node, group, filter, fresh);
    spot.slot = tree_put(tree, spot.node, group, item, filter, fresh,
                         (uint16_t)tree->kernels->cardinality(filter, tree->words));
    idmap_insert(&tree->ids, item->id, tree_position(spot));
    tree->count++;
    tree->message_count++;
    tree_hint(tree, spot, hash);
    tree->recent.changes = ++tree->changes;
    return 0;
}

/* --- remove ----------------------------------------------------------------------------------- */

/*
 * Moves the messages of a small group to another group of the node: among the groups with a free
 * slot, the group whose union shares the most bits with the small group. Does nothing if that group
 * has too few free slots.
 */
static void join_small_group(struct tree *tree, struct tree_node *node, uint32_t group)
{
    struct sliced sliced = {.lane_words = tree_lane_words(node)};
    uint16_t positions[PROFILE_BITS_MAX];
    uint64_t whole[PROFILE_WORDS_MAX];
    uint64_t mask[BITS_LANE_WORDS];
    uint64_t any = 0;
    uint32_t other = 0;

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        mask[w] = node->room[w] & ~(group / 64 == w ? UINT64_C(1) << group % 64 : 0);
        any |= mask[w];
    }
    if (any == 0) {
        return;
    }
    tree_group_union(tree, node, group, whole);
    size_t count = sliced_positions(whole, tree->words, positions);
    sliced.plane_count = bits_planes(count);
    tree->kernels->count_columns(node->columns, positions, count, sliced.lane_words, sliced.planes);
    (void)sliced_largest(tree->kernels, &sliced, mask, &other);
    if (node->groups[other].used + node->groups[group].used <= node->groups[other].room) {
        tree_join_groups(tree, node, group, other);
    }
}

/* Moves all groups of the next node into this node. Moves nothing if memory is short. */
static void merge_next(struct tree *tree, struct tree_node *node)
{
    struct tree_node *next = tree->nodes[node->place + 1];
    uint32_t place = node->place;

    if (tree_reserve(tree, node, node->slot_count + next->entry_count) != 0) {
        tree_trim(tree, node);
        return;
    }
    node->is_arranged = node->is_arranged && next->is_arranged;
    while (next->group_count > 0) {
        tree_move_last_group(tree, next, node);
    }
    tree_leave_node(tree, next);
    tree_cursors_replaced(tree, place, 2, 1);
}

/* Returns whether the node at `place` and the next node should become one. An arranged node and an
 * unarranged node merge only if the tree has no other node. */
static bool can_merge(const struct tree *tree, uint32_t place)
{
    const struct tree_node *node = tree->nodes[place];
    const struct tree_node *next = tree->nodes[place + 1];

    return (node->is_arranged == next->is_arranged || tree->node_count == 2) &&
           node->group_count + next->group_count <= tree->fanout * 3 / 4 &&
           node->slot_count + next->slot_count <= TREE_SLOTS * 3 / 4;
}

/* Called after a removal. Frees the node if it has no messages. Otherwise, if the node has few
 * groups, merges it with the next node or the node before, if one of them has space. */
static void repair_node(struct tree *tree, struct tree_node *node)
{
    uint32_t place = node->place;

    if (node->entry_count == 0) {
        tree_leave_node(tree, node);
        tree_cursors_replaced(tree, place, 1, 0);
        return;
    }
    if (node->group_count - node->empty_count > tree->fanout / 4) {
        return;
    }
    if (place + 1 < tree->node_count && can_merge(tree, place)) {
        merge_next(tree, node);
    } else if (place > 0 && can_merge(tree, place - 1)) {
        merge_next(tree, tree->nodes[place - 1]);
    }
}

int tree_remove(void *engine, const uint8_t *id, struct index_item *out_item)
{
    struct tree *tree = engine;
    struct tree_spot spot = {NULL, 0};
    uint32_t position = 0;

    if (!idmap_find(&tree->ids, id, tree_id_at, tree, &position)) {
        return INDEX_NOT_FOUND;
    }
    struct index_item item = *tree_item_at(tree, position);
    idmap_remove(&tree->ids, item.id, position);
    tree->message_count--;
    if (out_item != NULL) {
        *out_item = item;
    }
    if (!tree_part(tree, position, &spot)) {
        return 0;
    }
    uint32_t group = tree_group_at(spot.node, spot.slot);
    tree_take(tree, spot);
    tree->count--;
    tree->changes++;
    tree->removed += spot.node->is_arranged;
    /*
     * If the removal left the group empty, the messages of the node's last group may now be in
     * group number `group`. A small group of this number is joined in both cases.
     */
    if (group < spot.node->group_count && spot.node->groups[group].used > 0 &&
        spot.node->groups[group].used <= FEW) {
        join_small_group(tree, spot.node, group);
    }
    repair_node(tree, spot.node);
    return 0;
}
