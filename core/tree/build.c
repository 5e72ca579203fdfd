/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/tree/inner.h"

enum {
    /*
     * A rebuild of a big tree gives each new node 7/8 of the groups that a node can have, rounded
     * up; the last node gets the rest.
     */
    FILL_NUMERATOR = 7,
    FILL_DENOMINATOR = 8,
    HOLES = 64 /* a rebuild may leave about 1/HOLES of the slots of a new node unused, so that fewer
                  groups lie in two blocks */
};

/* Grows tree->nodes, tree->by_number and the summaries for one more node. 0 or -ERR_NOMEM. */
static int grow_directory(struct tree *tree)
{
    uint32_t room = tree->node_room == 0 ? 4 : 2 * tree->node_room;

    if (tree->node_count == TREE_NODES_MAX) {
        return -ERR_NOMEM;
    }
    int rc = tree_grow_summaries(tree, tree->node_count + 1);
    if (rc != 0 || tree->node_count < tree->node_room) {
        return rc;
    }
    struct tree_node **nodes = alloc_zeroed(tree->alloc, room, sizeof(struct tree_node *));
    struct tree_node **by_number = alloc_zeroed(tree->alloc, room, sizeof(struct tree_node *));
    if (nodes == NULL || by_number == NULL) {
        alloc_release(tree->alloc, nodes);
        alloc_release(tree->alloc, by_number);
        return -ERR_NOMEM;
    }
    if (tree->node_room > 0) {
        memcpy(nodes, tree->nodes, tree->node_count * sizeof(*nodes));
        memcpy(by_number, tree->by_number, tree->node_room * sizeof(*by_number));
    }
    alloc_release(tree->alloc, tree->nodes);
    alloc_release(tree->alloc, tree->by_number);
    tree->nodes = nodes;
    tree->by_number = by_number;
    tree->node_room = room;
    return 0;
}

/* Gives a node the lowest free number. The caller has grown the directory, so a number is free. */
static void enter_number(struct tree *tree, struct tree_node *node)
{
    uint32_t number = 0;

    while (tree->by_number[number] != NULL) {
        number++;
    }
    tree->by_number[number] = node;
    node->number = number;
}

static void number_places(struct tree *tree, uint32_t first)
{
    for (uint32_t n = first; n < tree->node_count; n++) {
        tree->nodes[n]->place = n;
    }
}

struct tree_node *tree_add_node(struct tree *tree, uint32_t place, uint32_t slots)
{
    struct tree_node *node = grow_directory(tree) == 0 ? tree_node_new(tree) : NULL;

    if (node == NULL || tree_reserve(tree, node, slots) != 0) {
        tree_node_free(tree, node);
        return NULL;
    }
    enter_number(tree, node);
    memmove(tree->nodes + place + 1, tree->nodes + place,
            (tree->node_count - place) * sizeof(*tree->nodes));
    tree->nodes[place] = node;
    tree->node_count++;
    number_places(tree, place);
    return node;
}

void tree_leave_node(struct tree *tree, struct tree_node *node)
{
    uint32_t place = node->place;

    tree_forget_summary(tree, node);
    tree->by_number[node->number] = NULL;
    tree->node_count--;
    memmove(tree->nodes + place, tree->nodes + place + 1,
            (tree->node_count - place) * sizeof(*tree->nodes));
    tree->nodes[tree->node_count] = NULL;
    number_places(tree, place);
    tree_node_free(tree, node);
}

/* --- new nodes -------------------------------------------------------------------------------- */

/* Leaves slots of a new node unused so that the next group, which has `size` messages, lies in one
 * block. Does nothing if that would leave more than `*holes` slots unused. */
static void leave_hole(struct tree_node *node, uint32_t size, uint32_t *holes)
{
    uint32_t in_block = node->slot_count % BITS_BLOCK;
    uint32_t hole = in_block + size > BITS_BLOCK ? BITS_BLOCK - in_block : 0;

    if (hole <= *holes) {
        node->slot_count += hole;
        *holes -= hole;
    }
}

/*
 * A rebuild under way. No message was removed before, so all old slots are in use except the end of
 * the last group, and all old nodes but the last have the same number of slots in use. So each
 * message has a number: place of its node * slots of a node + slot. build_permute moves the
 * messages into the new order; then new nodes take over the messages in the order of these numbers.
 * An old node is freed as soon as new nodes hold all its messages.
 */
struct build {
    uint32_t slots; /* of each old node but the last */
    uint32_t built; /* number of new nodes; new nodes come first in tree->nodes, old nodes behind
                     * them */
    size_t gone;    /* messages of old nodes that were freed */
    size_t taken;   /* messages that are in new nodes */
    size_t groups;  /* groups that are in new nodes */
};

static struct tree_spot build_spot(const struct tree *tree, const struct build *build,
                                   size_t number)
{
    size_t left = number - build->gone;

    return (struct tree_spot){tree->nodes[build->built + left / build->slots],
                              (uint32_t)(left % build->slots)};
}

/* Moves messages along one cycle of the new order. Fills slot number `first` with the message
 * that the order puts there. Then fills the slot that this message left, and so on until the
 * cycle ends. Marks each filled slot in `done`. */
static void permute_cycle(struct tree *tree, const struct tree_order *order,
                          const struct build *build, size_t first, uint64_t *done)
{
    struct tree_spot to = build_spot(tree, build, first);
    struct index_item item = *tree_item(to);
    uint16_t cardinality = tree_cardinality(to);
    uint32_t entry = to.node->entries[to.slot];
    uint64_t filter[PROFILE_WORDS_MAX];
    size_t number = first;

    tree_read_filter(tree, to, filter);
    while (true) {
        struct tree_spot from = tree_spot_at(tree, order->positions[number]);
        size_t next = (size_t)from.node->place * build->slots + from.slot;

        done[number / 64] |= UINT64_C(1) << number % 64;
        if (next == first) {
            break;
        }
        tree_copy_message(tree, from, to);
        to = from;
        number = next;
    }
    tree_write_message(tree, to, &item, filter, cardinality);
    to.node->entries[to.slot] = entry;
}

/* Moves all messages to the slots that the new order gives them. The map of ids still has the old
 * positions. Returns 0, or -ERR_NOMEM with nothing changed. */
static int build_permute(struct tree *tree, const struct tree_order *order,
                         const struct build *build)
{
    size_t words = (order->count + 63) / 64;
    uint64_t *done = alloc_zeroed(tree->alloc, words, sizeof(*done));

    if (done == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < order->count; i++) {
        if ((done[i / 64] >> i % 64 & 1) == 0) {
            permute_cycle(tree, order, build, i, done);
        }
    }
    alloc_release(tree->alloc, done);
    return 0;
}

/* Moves the next groups of the order, at most `groups_a_node`, into a new node. Frees the old nodes
 * that are empty after that. 0 or -ERR_NOMEM. */
static int build_node(struct tree *tree, const struct tree_order *order, uint32_t groups_a_node,
                      struct build *build)
{
    size_t end = build->groups;
    uint32_t messages = 0;

    while (end < order->group_count && end - build->groups < groups_a_node) {
        messages += order->sizes[end++];
    }
    uint32_t slots = messages + messages / HOLES;
    struct tree_node *node =
        tree_add_node(tree, build->built, slots < TREE_SLOTS ? slots : TREE_SLOTS);
    if (node == NULL) {
        return -ERR_NOMEM;
    }
    build->built++;
    for (uint32_t holes = node->slot_room - messages; build->groups < end; build->groups++) {
        uint32_t size = order->sizes[build->groups];
        uint32_t positions[TREE_GROUP];

        for (uint32_t i = 0; i < size; i++) {
            positions[i] = tree_position(build_spot(tree, build, build->taken + i));
        }
        leave_hole(node, size, &holes);
        tree_take_over(tree, node, positions, order->positions + build->taken, size);
        build->taken += size;
    }
    node->is_arranged = true;
    tree_summarise(tree, node);
    while (build->built < tree->node_count &&
           build->gone + tree->nodes[build->built]->entry_count <= build->taken) {
        build->gone += tree->nodes[build->built]->entry_count;
        tree_leave_node(tree, tree->nodes[build->built]);
    }
    return 0;
}

/* --- orders ----------------------------------------------------------------------------------- */

static int order_init(struct tree *tree, struct tree_order *order, size_t count)
{
    *order = (struct tree_order){.count = count};
    order->positions = alloc_array(tree->alloc, count, sizeof(*order->positions));
    return order->positions == NULL ? -ERR_NOMEM : 0;
}

static void order_deinit(struct tree *tree, struct tree_order *order)
{
    alloc_release(tree->alloc, order->positions);
    alloc_release(tree->alloc, order->sizes);
}

/* Puts the messages into full groups, in the order that they have. 0 or -ERR_NOMEM. */
static int order_plainly(struct tree *tree, struct tree_order *order)
{
    order->sizes = alloc_array(tree->alloc, order->count, sizeof(*order->sizes));
    if (order->sizes == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t left = order->count; left > 0;) {
        size_t size = left < TREE_GROUP ? left : TREE_GROUP;

        order->sizes[order->group_count++] = (uint8_t)size;
        left -= size;
    }
    return 0;
}

/* Lists the positions of all messages. Asserts that no message was removed: only the last slots of
 * the tree may be free. */
static void list_positions(const struct tree *tree, uint32_t *out)
{
    size_t count = 0;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        struct tree_node *node = tree->nodes[n];

        for (uint32_t slot = 0; slot < node->entry_count; slot++) {
            assert(slot % TREE_GROUP < node->groups[slot / TREE_GROUP].used);
            out[count++] = tree_position((struct tree_spot){node, slot});
        }
    }
}

/* Groups of a new node in a big tree. */
static uint32_t filled_groups(const struct tree *tree)
{
    return (tree->fanout * FILL_NUMERATOR + FILL_DENOMINATOR - 1) / FILL_DENOMINATOR;
}

/*
 * Returns how many groups a new node gets, given the number of all groups. A small tree gets as few
 * nodes as possible, all with about the same number of groups, so that no node has far fewer groups
 * than the others.
 */
static uint32_t built_groups(const struct tree *tree, size_t groups)
{
    if (groups < tree->fanout) {
        return (uint32_t)groups;
    }
    if (!tree_is_small(tree)) {
        return filled_groups(tree);
    }
    size_t nodes = (groups + tree->fanout - 1) / tree->fanout;
    return (uint32_t)((groups + nodes - 1) / nodes);
}

/*
 * Returns how many messages are arranged at a time (a window). In a big tree: as many as a new node
 * has in full groups. In a small tree: about TREE_SLOTS, and all windows have about the same size,
 * so that the last window is not much shorter than the others.
 */
static size_t window_of(const struct tree *tree, size_t count)
{
    size_t windows = (count + TREE_SLOTS / 2) / TREE_SLOTS;

    if (!tree_is_small(tree)) {
        return (size_t)filled_groups(tree) * TREE_GROUP;
    }
    return windows == 0 ? count : (count + windows - 1) / windows;
}

/*
 * Orders all messages by centre (cluster.c), forms groups in one window after another, and orders
 * the groups. 0, -ERR_NOMEM or INDEX_STOPPED.
 */
static int arrange_all(struct tree *tree, struct tree_order *order)
{
    size_t window = window_of(tree, order->count);
    struct tree_arranger arranger;
    size_t count = order->count;
    int rc = tree_arranger_init(&arranger, tree, order, count < window ? count : window);

    if (rc == 0) {
        rc = tree_cluster(&arranger);
    }
    if (rc == 0) {
        rc = tree_arranger_open_windows(&arranger);
    }
    for (size_t first = 0; rc == 0 && first < count; first += window) {
        if (index_stop_is_wanted(tree->stop)) {
            rc = INDEX_STOPPED;
            break;
        }
        tree_arrange_window(&arranger, order->positions + first,
                            count - first < window ? count - first : window);
    }
    if (rc == 0) {
        tree_mark_loose(tree, order);
        tree_part_loose(&arranger);
    }
    tree_arranger_deinit(&arranger);
    return rc;
}

/* Moves all messages into new nodes, in the new order. 0 or -ERR_NOMEM. */
static int build_nodes(struct tree *tree, const struct tree_order *order)
{
    struct build build = {.slots = tree->fanout * TREE_GROUP};
    uint32_t groups_a_node = built_groups(tree, order->group_count);
    int rc = build_permute(tree, order, &build);

    while (rc == 0 && build.groups < order->group_count) {
        rc = build_node(tree, order, groups_a_node, &build);
    }
    return rc;
}

int tree_rebuild(struct tree *tree)
{
    struct tree_order order;

    tree->recent.node = NULL;
    if (tree->count == 0) {
        return 0;
    }
    int rc = order_init(tree, &order, tree->count);
    if (rc == 0) {
        list_positions(tree, order.positions);
        if (tree_is_sparse(tree)) {
            rc = arrange_all(tree, &order);
        } else {
            rc = order_plainly(tree, &order);
        }
    }
    if (rc == 0) {
        rc = build_nodes(tree, &order);
    }
    order_deinit(tree, &order);
    return rc;
}
