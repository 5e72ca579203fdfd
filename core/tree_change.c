/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insert and remove. Each is bounded work: the columns of all nodes are looked at (as a query
 * does), and at most one node is repacked, split or merged.
 */
#include "core/tree.h"

#include "core/err.h"
#include "core/sliced.h"

enum {
    JOIN_PARTS = 4,       /* a message joins a group if at most 1/4 of its bits are new there */
    SLACK_NUMERATOR = 13, /* new groups may be opened while lanes <= 13/12 of the messages, */
    SLACK_DENOMINATOR = 12,
    SLACK_LANES = 256,   /* and some */
    FEW = TREE_GROUP / 2 /* a group of no more is joined to another where it fits */
};

const uint8_t *tree_id_at(const void *tree, uint32_t position)
{
    struct tree_spot spot = tree_spot_at(tree, position);

    return tree_page_of(spot.node, spot.group)->ids[tree_at(spot.group, spot.lane)];
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
    struct sliced sliced = {.plane_count = bits_planes(count), .lane_words = tree_lane_words(node)};
    uint64_t mask[BITS_LANE_WORDS];
    uint32_t lane = 0;
    uint64_t room = 0;

    tree->kernels->count_columns(node->columns, positions, count, sliced.lane_words, sliced.planes);
    sliced_first(node->group_count, mask);
    uint32_t shared = sliced_largest(&sliced, mask, &lane);
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
    shared = sliced_largest(&sliced, node->room, &lane);
    if (choice->room == NULL || shared > choice->room_shared) {
        choice->room = node;
        choice->room_group = lane;
        choice->room_shared = shared;
    }
}

static struct choice choose(const struct tree *tree, const uint16_t *positions, size_t count)
{
    struct choice choice = {.like = NULL};

    for (uint32_t n = 0; n < tree->node_count; n++) {
        choose_in_node(tree, tree->nodes[n], positions, count, &choice);
    }
    return choice;
}

/* While loading: the last group, the next one, or the first of a new node. */
static struct choice choose_last(const struct tree *tree)
{
    struct choice choice = {.like = NULL};

    if (tree->node_count > 0) {
        struct tree_node *last = tree->nodes[tree->node_count - 1];

        choice.like = last->group_count < tree->fanout ? last : NULL;
        if (last->used[last->group_count - 1] < TREE_GROUP) {
            choice.room = last;
            choice.room_group = last->group_count - 1;
            choice.room_shared = UINT32_MAX;
        }
    }
    return choice;
}

static bool should_join(const struct tree *tree, const struct choice *choice, size_t cardinality)
{
    if (choice->room == NULL) {
        return false;
    }
    if (tree->loading || (cardinality - choice->room_shared) * JOIN_PARTS <= cardinality) {
        return true;
    }
    return (uint64_t)tree->group_count * TREE_GROUP * SLACK_DENOMINATOR >
           (uint64_t)tree->count * SLACK_NUMERATOR + SLACK_LANES * SLACK_DENOMINATOR;
}

static int add_node(struct tree *tree, struct tree_node **out_node)
{
    int error = tree_grow_directory(tree, 1);
    struct tree_node *node = error == 0 ? tree_node_new(tree) : NULL;

    if (node == NULL) {
        return -ERR_NOMEM;
    }
    if (tree_reserve(tree, node, 1) != 0) {
        tree_node_free(tree, node);
        return -ERR_NOMEM;
    }
    tree_enter_node(tree, node, tree->node_count);
    tree_cursors_replaced(tree, node->place, 0, 1);
    *out_node = node;
    return 0;
}

/* A spot for a message, in a group that it opens if need be. 0 or -ERR_NOMEM. */
static int find_place(struct tree *tree, const uint64_t *filter, struct tree_spot *out)
{
    uint16_t positions[PROFILE_BITS_MAX];
    size_t count = sliced_positions(filter, tree->words, positions);
    struct choice choice = tree->loading ? choose_last(tree) : choose(tree, positions, count);

    if (!should_join(tree, &choice, count) && choice.like != NULL &&
        choice.like->group_count == tree->fanout) {
        uint32_t place = choice.like->place;
        int error = tree_repack(tree, choice.like);

        if (error != 0) {
            return error;
        }
        choice = choose(tree, positions, count);
        if (choice.like->group_count == tree->fanout) { /* one repack is enough for one insert */
            choice.like = tree->nodes[place];
        }
    }
    if (should_join(tree, &choice, count)) {
        *out = (struct tree_spot){choice.room, choice.room_group, 0};
        return 0;
    }
    if (choice.like == NULL) {
        int error = add_node(tree, &choice.like);

        if (error != 0) {
            return error;
        }
    }
    *out = (struct tree_spot){choice.like, choice.like->group_count, 0};
    return tree_reserve(tree, choice.like, choice.like->group_count + 1);
}

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter)
{
    struct tree *tree = engine;
    struct tree_spot spot;
    uint32_t position = 0;

    if (idmap_find(&tree->ids, item->id, tree_id_at, tree, &position)) {
        return INDEX_EXISTS;
    }
    int error = idmap_reserve(&tree->ids);
    if (error == 0) {
        error = find_place(tree, filter, &spot);
    }
    if (error != 0) {
        return error;
    }
    spot.lane = tree_put(tree, spot.node, spot.group, item, filter,
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
    (void)sliced_largest(&sliced, mask, &other);
    if (node->used[other] + node->used[group] <= TREE_GROUP) {
        tree_join_groups(tree, node, group, other);
    }
}

/* Moves all of the next node's groups into this one, if there is memory. */
static void merge_next(struct tree *tree, struct tree_node *node)
{
    struct tree_node *next = tree->nodes[node->place + 1];
    uint32_t place = node->place;

    if (tree_reserve(tree, node, node->group_count + next->group_count) != 0) {
        tree_trim(tree, node);
        return;
    }
    while (next->group_count > 0) {
        tree_move_group(tree, next, next->group_count - 1, node);
    }
    tree_leave_node(tree, next);
    tree_cursors_replaced(tree, place, 2, 1);
}

/* A node without messages goes; one with few groups is merged with a neighbour that has room. */
static void repair_node(struct tree *tree, struct tree_node *node)
{
    uint32_t place = node->place;
    uint32_t most = tree->fanout * 3 / 4;

    if (node->message_count == 0) {
        tree_leave_node(tree, node);
        tree_cursors_replaced(tree, place, 1, 0);
        return;
    }
    if (node->group_count > tree->fanout / 4) {
        return;
    }
    if (place + 1 < tree->node_count &&
        node->group_count + tree->nodes[place + 1]->group_count <= most) {
        merge_next(tree, node);
    } else if (place > 0 && node->group_count + tree->nodes[place - 1]->group_count <= most) {
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
    tree_read_item(spot, &item);
    idmap_remove(&tree->ids, item.id, position);
    tree_take(tree, spot);
    tree->count--;
    tree->changes++;
    /* If the group has gone, another one may have its number now: that is joined as well. */
    if (spot.group < spot.node->group_count && spot.node->used[spot.group] <= FEW) {
        join_small_group(tree, spot.node, spot.group);
    }
    repair_node(tree, spot.node);
    if (out_item != NULL) {
        *out_item = item;
    }
    return 0;
}
