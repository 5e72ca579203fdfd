/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree.h"

#include <string.h>

#include "core/err.h"

/* Of a node's groups, how many a rebuild fills: the rest is room for what comes. */
enum { FILL_NUMERATOR = 7, FILL_DENOMINATOR = 8 };

int tree_grow_directory(struct tree *tree, uint32_t more)
{
    uint32_t needed = tree->node_count + more;
    uint32_t room = tree->node_room == 0 ? 4 : tree->node_room;

    if (needed > TREE_SLOTS_MAX) {
        return -ERR_NOMEM;
    }
    while (room < needed) {
        room *= 2;
    }
    if (room == tree->node_room) {
        return 0;
    }
    struct tree_node **nodes = alloc_zeroed(tree->alloc, room, sizeof(struct tree_node *));
    struct tree_node **slots = alloc_zeroed(tree->alloc, room, sizeof(struct tree_node *));
    if (nodes == NULL || slots == NULL) {
        alloc_release(tree->alloc, nodes, room, sizeof(struct tree_node *));
        alloc_release(tree->alloc, slots, room, sizeof(struct tree_node *));
        return -ERR_NOMEM;
    }
    if (tree->node_room > 0) {
        memcpy(nodes, tree->nodes, tree->node_count * sizeof *nodes);
        memcpy(slots, tree->slots, tree->node_room * sizeof *slots);
    }
    alloc_release(tree->alloc, tree->nodes, tree->node_room, sizeof(struct tree_node *));
    alloc_release(tree->alloc, tree->slots, tree->node_room, sizeof(struct tree_node *));
    tree->nodes = nodes;
    tree->slots = slots;
    tree->node_room = room;
    return 0;
}

/* Gives a node a slot; there is one free, as there are as many as places. */
static void enter_slot(struct tree *tree, struct tree_node *node)
{
    uint32_t slot = 0;

    while (tree->slots[slot] != NULL) {
        slot++;
    }
    tree->slots[slot] = node;
    node->slot = slot;
}

static void number_places(struct tree *tree, uint32_t first)
{
    for (uint32_t n = first; n < tree->node_count; n++) {
        tree->nodes[n]->place = n;
    }
}

void tree_enter_node(struct tree *tree, struct tree_node *node, uint32_t place)
{
    enter_slot(tree, node);
    memmove(tree->nodes + place + 1, tree->nodes + place,
            (tree->node_count - place) * sizeof *tree->nodes);
    tree->nodes[place] = node;
    tree->node_count++;
    number_places(tree, place);
}

void tree_leave_node(struct tree *tree, struct tree_node *node)
{
    uint32_t place = node->place;

    tree->slots[node->slot] = NULL;
    tree->node_count--;
    memmove(tree->nodes + place, tree->nodes + place + 1,
            (tree->node_count - place) * sizeof *tree->nodes);
    tree->nodes[tree->node_count] = NULL;
    number_places(tree, place);
    tree->page_count -= node->page_count;
    tree->group_count -= node->group_count;
    tree_node_free(tree, node);
}

/* Nodes that are to take the place of others. */
struct build {
    struct tree_node **nodes;
    uint32_t count;
    uint32_t groups_a_node;
    uint32_t pages_before; /* tree->page_count */
};

static void build_deinit(struct tree *tree, struct build *build)
{
    for (uint32_t n = 0; build->nodes != NULL && n < build->count; n++) {
        tree_node_free(tree, build->nodes[n]);
    }
    alloc_release(tree->alloc, build->nodes, build->count, sizeof *build->nodes);
    tree->page_count = build->pages_before;
}

/* All memory that `groups` groups take. 0 or -ERR_NOMEM with nothing held. */
static int build_init(struct tree *tree, struct build *build, uint32_t groups,
                      uint32_t groups_a_node)
{
    build->pages_before = tree->page_count;
    build->groups_a_node = groups_a_node;
    build->count = (groups + groups_a_node - 1) / groups_a_node;
    build->nodes = alloc_zeroed(tree->alloc, build->count, sizeof *build->nodes);
    int error = build->nodes == NULL ? -ERR_NOMEM : tree_grow_directory(tree, build->count);

    for (uint32_t n = 0; error == 0 && n < build->count; n++) {
        uint32_t left = groups - n * groups_a_node;

        build->nodes[n] = tree_node_new(tree);
        error = build->nodes[n] == NULL ? -ERR_NOMEM
                                        : tree_reserve(tree, build->nodes[n],
                                                       left < groups_a_node ? left : groups_a_node);
    }
    if (error != 0) {
        build_deinit(tree, build);
    }
    return error;
}

/* Fills the new nodes, in slots already, with the messages at the positions, in that order. */
static void build_fill(struct tree *tree, struct build *build, const uint32_t *positions,
                       size_t count)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    struct index_item item;

    for (size_t i = 0; i < count; i++) {
        struct tree_spot from = tree_spot_at(tree, positions[i]);
        size_t group = i / TREE_GROUP;
        struct tree_spot to = {build->nodes[group / build->groups_a_node],
                               (uint32_t)(group % build->groups_a_node), 0};

        tree_read_filter(tree, from, filter);
        tree_read_item(from, &item);
        to.lane = tree_put(tree, to.node, to.group, &item, filter, tree_cardinality(from));
        idmap_move(&tree->ids, item.id, positions[i], tree_position(to));
    }
}

/* Puts the new nodes where `old_count` nodes are, from `place` on, which are freed. */
static void build_install(struct tree *tree, struct build *build, uint32_t place,
                          uint32_t old_count, const uint32_t *positions, size_t count)
{
    for (uint32_t n = 0; n < build->count; n++) {
        tree_enter_node(tree, build->nodes[n], place + old_count + n);
    }
    build_fill(tree, build, positions, count);
    for (uint32_t n = 0; n < build->count; n++) {
        tree_set_pivot(build->nodes[n]);
    }
    for (uint32_t n = 0; n < old_count; n++) {
        tree_leave_node(tree, tree->nodes[place]);
    }
    tree_cursors_replaced(tree, place, old_count, build->count);
    alloc_release(tree->alloc, build->nodes, build->count, sizeof *build->nodes);
}

static size_t list_positions(const struct tree_node *node, uint32_t *out)
{
    size_t count = 0;

    for (uint32_t g = 0; g < node->group_count; g++) {
        for (uint32_t lane = 0; lane < node->used[g]; lane++) {
            out[count++] = tree_position((struct tree_spot){(struct tree_node *)node, g, lane});
        }
    }
    return count;
}

/* Replaces a node by one or two in which the messages stand in the order of `positions`. */
static int replace_node(struct tree *tree, const struct tree_node *node, const uint32_t *positions)
{
    uint32_t groups = (node->message_count + TREE_GROUP - 1) / TREE_GROUP;
    bool split = groups > tree->fanout - (tree->fanout + 7) / 8;
    struct build build;
    int error = build_init(tree, &build, groups, split ? (groups + 1) / 2 : groups);

    if (error == 0) {
        build_install(tree, &build, node->place, 1, positions, node->message_count);
    }
    return error;
}

int tree_repack(struct tree *tree, struct tree_node *node)
{
    size_t count = node->message_count;
    uint32_t *positions = alloc_array(tree->alloc, count, sizeof *positions);
    struct tree_arranger arranger;

    if (positions == NULL) {
        return -ERR_NOMEM;
    }
    int error = tree_arranger_init(&arranger, tree, count, count);
    if (error == 0) {
        (void)list_positions(node, positions);
        if (tree_is_sparse(tree)) {
            tree_arrange_node(&arranger, positions, count);
        }
        error = replace_node(tree, node, positions);
    }
    tree_arranger_deinit(&arranger);
    alloc_release(tree->alloc, positions, count, sizeof *positions);
    return error;
}

/* Messages of one node at a time, so that each is in the best company that its node has. */
static int arrange_all(struct tree *tree, uint32_t *positions, size_t count, size_t window)
{
    struct tree_arranger arranger;
    int error = tree_arranger_init(&arranger, tree, count, count < window ? count : window);

    if (error == 0 && tree_is_sparse(tree)) {
        error = tree_cluster(&arranger, positions, count);
        for (size_t first = 0; error == 0 && first < count; first += window) {
            tree_arrange_window(&arranger, positions + first,
                                count - first < window ? count - first : window);
        }
    }
    tree_arranger_deinit(&arranger);
    return error;
}

int tree_rebuild(struct tree *tree)
{
    size_t count = tree->count;
    uint32_t groups_a_node =
        (tree->fanout * FILL_NUMERATOR + FILL_DENOMINATOR - 1) / FILL_DENOMINATOR;
    struct build build;
    size_t listed = 0;

    if (count == 0) {
        return 0;
    }
    uint32_t *positions = alloc_array(tree->alloc, count, sizeof *positions);
    if (positions == NULL) {
        return -ERR_NOMEM;
    }
    for (uint32_t n = 0; n < tree->node_count; n++) {
        listed += list_positions(tree->nodes[n], positions + listed);
    }
    int error = arrange_all(tree, positions, count, (size_t)groups_a_node * TREE_GROUP);
    if (error == 0) {
        uint32_t groups = (uint32_t)((count + TREE_GROUP - 1) / TREE_GROUP);

        error = build_init(tree, &build, groups, groups < tree->fanout ? groups : groups_a_node);
    }
    if (error == 0) {
        build_install(tree, &build, 0, tree->node_count, positions, count);
    }
    alloc_release(tree->alloc, positions, count, sizeof *positions);
    return error;
}
