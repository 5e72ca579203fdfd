/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insert and remove. Each is bounded work: a quick insert goes behind the last message; another one
 * looks at the columns of the few nodes that summaries name, or of all; and at most one node is
 * repacked, split or merged.
 */
#include "core/tree/tree.h"

#include "core/base/err.h"
#include "core/bits/sliced.h"

enum {
    JOIN_PARTS = 2,       /* a message joins a group if at most half of its bits are new there */
    SLACK_NUMERATOR = 13, /* new groups may be opened while slots <= 13/12 of the messages, */
    SLACK_DENOMINATOR = 12,
    SLACK_SLOTS = 256,   /* and some */
    FEW = TREE_GROUP / 2 /* a group of no more is joined to another where it fits */
};

const uint8_t *tree_id_at(const void *tree, uint32_t position)
{
    return tree_item(tree_spot_at(tree, position))->id;
}

/* ---- insert ---- */

/* Where a message would do best. */
struct choice {
    struct tree_node *like; /* the node of the group that shares the most bits; NULL: no node */
    uint32_t like_shared;
    struct tree_node *room; /* the group that shares the most among those with room, or NULL */
    uint32_t room_group;
    uint32_t room_shared;
};

static void choose_in_node(const struct tree *tree, struct tree_node *node,
                           const uint16_t *positions, size_t count, struct choice *choice)
{
    struct sliced sliced;
    uint64_t mask[BITS_LANE_WORDS];
    uint32_t lane = 0;
    uint64_t room = 0;

    sliced.plane_count = bits_planes(count);
    sliced.lane_words = tree_lane_words(node);

    tree->kernels->count_columns(node->columns, positions, count, sliced.lane_words, sliced.planes);
    sliced_first(node->group_count, mask);
    uint32_t shared = sliced_largest(tree->kernels, &sliced, mask, &lane);
    if (choice->like == NULL || shared > choice->like_shared) {
        choice->like = node;
        choice->like_shared = shared;
    }
    for (size_t w = 0; w < sliced.lane_words; w++) {
        room |= node->room[w];
    }
    if (room == 0) {
        return;
    }
    shared = sliced_largest(tree->kernels, &sliced, node->room, &lane);
    if (choice->room == NULL || shared > choice->room_shared) {
        choice->room = node;
        choice->room_group = lane;
        choice->room_shared = shared;
    }
}

/* All nodes are looked at; with summaries the few that these name, and those without. */
static struct choice choose(const struct tree *tree, const uint16_t *positions, size_t count)
{
    struct tree_promising promising[TREE_PROMISING];
    struct choice choice = {.like = NULL};
    uint32_t found = tree_promising_nodes(tree, positions, count, promising);

    for (uint32_t i = 0; i < found; i++) {
        choose_in_node(tree, promising[i].node, positions, count, &choice);
    }
    for (uint32_t n = 0; n < tree->node_count; n++) {
        if (found == 0 || tree->nodes[n]->span_count == 0) {
            choose_in_node(tree, tree->nodes[n], positions, count, &choice);
        }
    }
    return choice;
}

/*
 * Unarranged: the last group, the next one, or the first of a new node. An arranged node stays as
 * it is, unless it is all there is: few messages should not take two nodes.
 */
static struct choice choose_last(const struct tree *tree)
{
    struct choice choice = {.like = NULL};
    struct tree_node *last = tree->node_count > 0 ? tree->nodes[tree->node_count - 1] : NULL;

    if (last != NULL && (!last->is_arranged || tree->node_count == 1)) {
        choice.like = tree_has_space(tree, last) ? last : NULL;
        if (last->groups[last->group_count - 1].used < last->groups[last->group_count - 1].room) {
            choice.room = last;
            choice.room_group = last->group_count - 1;
            choice.room_shared = UINT32_MAX;
        }
    }
    return choice;
}

/* Whether a message is well in the group with room: most of its bits are there already, and the
 * union stays as sparse as a bulk build would have it. */
static bool fits(const struct tree *tree, const struct choice *choice, size_t cardinality)
{
    size_t added = cardinality - choice->room_shared;
    uint64_t whole[PROFILE_WORDS_MAX];

    if (added * JOIN_PARTS > cardinality) {
        return false;
    }
    tree_group_union(tree, choice->room, choice->room_group, whole);
    return (tree->kernels->cardinality(whole, tree->words) + added) * 100 <=
           (size_t)tree->bits * TREE_UNION_PERCENT;
}

static bool should_join(const struct tree *tree, const struct choice *choice, size_t cardinality)
{
    if (choice->room == NULL) {
        return false;
    }
    if (tree->loading || tree->quick_inserts || fits(tree, choice, cardinality)) {
        return true;
    }
    return (uint64_t)tree->slot_count * SLACK_DENOMINATOR >
           (uint64_t)tree->count * SLACK_NUMERATOR + SLACK_SLOTS * SLACK_DENOMINATOR;
}

/*
 * Slots that a new node gets at once. Storage that grows by an eighth at a time is copied nine
 * times before a node is full. So the node behind a full one of messages as they came gets all
 * its slots: that node is likely to be filled, too. The first node starts small, as an index may
 * stay small.
 */
static uint32_t first_slots(const struct tree *tree)
{
    bool follows = (tree->loading || tree->quick_inserts) && tree->node_count > 0 &&
                   !tree->nodes[tree->node_count - 1]->is_arranged;

    return follows ? tree->fanout * TREE_GROUP : TREE_GROUP;
}

static int add_node(struct tree *tree, struct tree_node **out_node)
{
    int error = tree_grow_directory(tree, 1);
    struct tree_node *node = error == 0 ? tree_node_new(tree) : NULL;

    if (node == NULL) {
        return -ERR_NOMEM;
    }
    if (tree_reserve(tree, node, first_slots(tree)) != 0) {
        tree_node_free(tree, node);
        return -ERR_NOMEM;
    }
    tree_enter_node(tree, node, tree->node_count);
    if (!tree->quick_inserts) {
        node->is_arranged = !tree->loading;
        tree_summarise(tree, node);
    }
    tree_cursors_replaced(tree, node->place, 0, 1);
    *out_node = node;
    return 0;
}

/* Room for a group in the node of the most similar one, which is repacked if need be. 0 or
 * -ERR_NOMEM. */
static int make_space(struct tree *tree, const uint16_t *positions, size_t count,
                      struct choice *choice)
{
    uint32_t place = choice->like->place;
    int error = tree_repack(tree, choice->like);

    if (error != 0) {
        return error;
    }
    *choice = choose(tree, positions, count);
    if (!tree_has_space(tree, choice->like)) { /* one repack is enough for one insert */
        choice->like = tree->nodes[place];
    }
    return 0;
}

/* A group with room for a message, which it opens if need be. 0 or -ERR_NOMEM. */
static int find_group(struct tree *tree, const uint64_t *filter, struct tree_node **out_node,
                      uint32_t *out_group)
{
    uint16_t positions[PROFILE_BITS_MAX];
    bool unarranged = tree->loading || tree->quick_inserts;
    size_t count = unarranged ? 0 : sliced_positions(filter, tree->words, positions);
    struct choice choice = unarranged ? choose_last(tree) : choose(tree, positions, count);
    int error = 0;

    if (!should_join(tree, &choice, count) && choice.like != NULL &&
        !tree_has_space(tree, choice.like)) {
        error = make_space(tree, positions, count, &choice);
    }
    if (error == 0 && should_join(tree, &choice, count)) {
        *out_node = choice.room;
        *out_group = choice.room_group;
        return 0;
    }
    if (error == 0 && choice.like == NULL) {
        error = add_node(tree, &choice.like);
    }
    if (error == 0) {
        error = tree_reserve(tree, choice.like, tree_next_end(choice.like));
    }
    if (error == 0) {
        *out_node = choice.like;
        *out_group = tree_open_group(tree, choice.like);
    }
    return error;
}

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter)
{
    struct tree *tree = engine;
    struct tree_spot spot = {NULL, 0};
    uint32_t group = 0;
    uint32_t position = 0;

    if (idmap_find(&tree->ids, item->id, tree_id_at, tree, &position)) {
        return INDEX_EXISTS;
    }
    int error = idmap_reserve(&tree->ids);
    if (error == 0) {
        error = find_group(tree, filter, &spot.node, &group);
    }
    if (error != 0) {
        return error;
    }
    if (tree->loading || tree->quick_inserts) {
        spot.node->is_arranged = false;
    }
    spot.slot = tree_put(tree, spot.node, group, item, filter,
                         (uint16_t)tree->kernels->cardinality(filter, tree->words));
    idmap_insert(&tree->ids, item->id, tree_position(spot));
    tree->count++;
    tree->changes++;
    return 0;
}

/* ---- remove ---- */

/* Joins a group that has become small to the one of its node that it adds the fewest bits to. */
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

/* Moves all of the next node's groups into this one, if there is memory. */
static void merge_next(struct tree *tree, struct tree_node *node)
{
    struct tree_node *next = tree->nodes[node->place + 1];
    uint32_t place = node->place;

    if (tree_reserve(tree, node, node->slot_count + next->message_count) != 0) {
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

/* Whether the node at a place and the next one are well in one. Not if only one is arranged, unless
 * they are all there is. */
static bool can_merge(const struct tree *tree, uint32_t place)
{
    const struct tree_node *node = tree->nodes[place];
    const struct tree_node *next = tree->nodes[place + 1];

    return (node->is_arranged == next->is_arranged || tree->node_count == 2) &&
           node->group_count + next->group_count <= tree->fanout * 3 / 4 &&
           node->slot_count + next->slot_count <= TREE_SLOTS * 3 / 4;
}

/* A node without messages goes; one with few groups is merged with a neighbour that has room. */
static void repair_node(struct tree *tree, struct tree_node *node)
{
    uint32_t place = node->place;

    if (node->message_count == 0) {
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
    struct index_item item;
    uint32_t position = 0;

    if (!idmap_find(&tree->ids, id, tree_id_at, tree, &position)) {
        return INDEX_NOT_FOUND;
    }
    struct tree_spot spot = tree_spot_at(tree, position);
    uint32_t group = tree_group_at(spot.node, spot.slot);
    item = *tree_item(spot);
    idmap_remove(&tree->ids, item.id, position);
    tree_take(tree, spot);
    tree->count--;
    tree->changes++;
    tree->removed += spot.node->is_arranged;
    /* If it was the group's last message, another group may stand there now: joined as well. */
    if (group < spot.node->group_count && spot.node->groups[group].used > 0 &&
        spot.node->groups[group].used <= FEW) {
        join_small_group(tree, spot.node, group);
    }
    repair_node(tree, spot.node);
    if (out_item != NULL) {
        *out_item = item;
    }
    return 0;
}
