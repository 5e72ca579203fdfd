/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/err.h"
#include "core/tree/inner.h"

enum {
    /* A rebuild of a big tree gives a node 7/8 of the groups that a node can have. Inserts never
     * open groups in such a node; 8/8 has not been measured. */
    FILL_NUMERATOR = 7,
    FILL_DENOMINATOR = 8,
    HOLES = 64 /* at most 1/64 of a new node's slots stay free, so that groups lie in one block */
};

int tree_grow_directory(struct tree *tree, uint32_t more)
{
    uint32_t needed = tree->node_count + more;
    uint32_t room = tree->node_room == 0 ? 4 : tree->node_room;

    if (needed > TREE_NODES_MAX) {
        return -ERR_NOMEM;
    }
    while (room < needed) {
        room *= 2;
    }
    int rc = tree_grow_summaries(tree, needed);
    if (rc != 0 || room == tree->node_room) {
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

/* Gives a node a number; there is one free, as there are as many as places. */
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

void tree_enter_node(struct tree *tree, struct tree_node *node, uint32_t place)
{
    enter_number(tree, node);
    memmove(tree->nodes + place + 1, tree->nodes + place,
            (tree->node_count - place) * sizeof(*tree->nodes));
    tree->nodes[place] = node;
    tree->node_count++;
    number_places(tree, place);
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
    tree->slot_count -= node->slot_count;
    tree_node_free(tree, node);
}

/* Nodes that are to take the place of others. */
struct build {
    struct tree_node **nodes;
    uint32_t count;
    uint32_t groups_a_node;
    size_t slots_before; /* tree->slot_count */
};

static void build_deinit(struct tree *tree, struct build *build)
{
    for (uint32_t n = 0; build->nodes != NULL && n < build->count; n++) {
        tree_node_free(tree, build->nodes[n]);
    }
    alloc_release(tree->alloc, build->nodes);
    tree->slot_count = build->slots_before;
}

/* What goes into one node: groups first .. end - 1 of an order, and their messages. */
struct share {
    size_t first;
    size_t end;
    size_t first_message;
    size_t end_message;
};

/* The next share, after a given one. False if there is none. */
static bool next_share(const struct tree_order *order, uint32_t groups_a_node, struct share *share)
{
    share->first = share->end;
    share->first_message = share->end_message;
    while (share->end < order->group_count && share->end - share->first < groups_a_node) {
        share->end_message += order->sizes[share->end++];
    }
    return share->end > share->first;
}

/* Slots for a share, with some that stay free. */
static uint32_t share_slots(const struct share *share)
{
    uint32_t slots = (uint32_t)(share->end_message - share->first_message);

    slots += slots / HOLES;
    return slots < TREE_SLOTS ? slots : TREE_SLOTS;
}

/* Slots of a new node that may stay free. */
static uint32_t holes_of(const struct tree_node *node, const struct share *share)
{
    return node->slot_room - (uint32_t)(share->end_message - share->first_message);
}

/* Lets the next group, of so many messages, lie in one block, as far as slots may stay free. */
static void leave_hole(struct tree *tree, struct tree_node *node, uint32_t size, uint32_t *holes)
{
    uint32_t in_block = node->slot_count % BITS_BLOCK;
    uint32_t hole = in_block + size > BITS_BLOCK ? BITS_BLOCK - in_block : 0;

    if (hole <= *holes) {
        tree_leave_slots(tree, node, hole);
        *holes -= hole;
    }
}

/* All memory that an order takes. 0 or -ERR_NOMEM with nothing held. */
static int build_init(struct tree *tree, struct build *build, const struct tree_order *order,
                      uint32_t groups_a_node)
{
    struct share share = {0};

    build->slots_before = tree->slot_count;
    build->groups_a_node = groups_a_node;
    build->count = (uint32_t)((order->group_count + groups_a_node - 1) / groups_a_node);
    build->nodes = alloc_zeroed(tree->alloc, build->count, sizeof(*build->nodes));
    int rc = build->nodes == NULL ? -ERR_NOMEM : tree_grow_directory(tree, build->count);

    for (uint32_t n = 0; rc == 0 && next_share(order, groups_a_node, &share); n++) {
        uint32_t slots = share_slots(&share);

        build->nodes[n] = tree_node_new(tree);
        rc = build->nodes[n] == NULL ? -ERR_NOMEM : tree_reserve(tree, build->nodes[n], slots);
    }
    if (rc != 0) {
        build_deinit(tree, build);
    }
    return rc;
}

static void fill_node(struct tree *tree, struct tree_node *node, const struct tree_order *order,
                      const struct share *share)
{
    size_t message = share->first_message;
    uint32_t holes = holes_of(node, share);

    for (size_t g = share->first; g < share->end; g++) {
        leave_hole(tree, node, order->sizes[g], &holes);
        tree_take_over(tree, node, order->positions + message, order->positions + message,
                       order->sizes[g]);
        message += order->sizes[g];
    }
    node->is_arranged = true;
    tree_summarise(tree, node);
}

/* Puts the new nodes in the place of all nodes, which are freed. */
static void build_install(struct tree *tree, struct build *build, const struct tree_order *order)
{
    uint32_t old_count = tree->node_count;
    struct share share = {0};

    for (uint32_t n = 0; n < build->count; n++) {
        tree_enter_node(tree, build->nodes[n], old_count + n);
    }
    for (uint32_t n = 0; next_share(order, build->groups_a_node, &share); n++) {
        fill_node(tree, build->nodes[n], order, &share);
    }
    for (uint32_t n = 0; n < old_count; n++) {
        tree_leave_node(tree, tree->nodes[0]);
    }
    tree_cursors_replaced(tree, 0, old_count, build->count);
    alloc_release(tree->alloc, build->nodes);
}

/* --- in place --------------------------------------------------------------------------------- */

/*
 * The nodes of a dense tree: all their slots are in use but for the end of the last group, and all
 * but the last node have the same number of them, so that messages are numbered by place and slot.
 * While new nodes take the messages over, front to back, the old ones follow behind them and go as
 * they are emptied.
 */
struct dense {
    uint32_t slots; /* of each node but the last */
    uint32_t built; /* new nodes, at places below */
    size_t gone;    /* messages of old nodes that have gone */
    size_t taken;   /* messages that are in new nodes */
};

/* Whether the tree is dense, as it is while messages are only inserted. */
static bool is_dense(const struct tree *tree)
{
    for (uint32_t n = 0; n < tree->node_count; n++) {
        const struct tree_node *node = tree->nodes[n];
        const struct tree_group *end = &node->groups[node->group_count - 1];
        uint32_t unused = n + 1 < tree->node_count ? 0 : (uint32_t)end->room - end->used;

        if (node->message_count + unused != node->slot_count ||
            (n + 1 < tree->node_count && node->slot_count != tree->fanout * TREE_GROUP)) {
            return false;
        }
    }
    return true;
}

static struct tree_spot dense_spot(const struct tree *tree, const struct dense *dense,
                                   size_t number)
{
    size_t left = number - dense->gone;

    return (struct tree_spot){tree->nodes[dense->built + left / dense->slots],
                              (uint32_t)(left % dense->slots)};
}

/* Puts what is to be at `first` there, and so on with the place where that was, until it closes. */
static void permute_cycle(struct tree *tree, const struct tree_order *order,
                          const struct dense *dense, size_t first, uint64_t *done)
{
    struct tree_spot to = dense_spot(tree, dense, first);
    struct index_item item = *tree_item(to);
    uint16_t cardinality = tree_cardinality(to);
    uint64_t filter[PROFILE_WORDS_MAX];
    size_t number = first;

    tree_read_filter(tree, to, filter);
    while (true) {
        struct tree_spot from = tree_spot_at(tree, order->positions[number]);
        size_t next = (size_t)from.node->place * dense->slots + from.slot;

        done[number / 64] |= UINT64_C(1) << number % 64;
        if (next == first) {
            break;
        }
        tree_copy_message(tree, from, to);
        to = from;
        number = next;
    }
    tree_write_message(tree, to, &item, filter, cardinality);
}

/* Puts all messages into the slots that the order has them in. The ids still know them by where
 * they were. 0, or -ERR_NOMEM with nothing changed. */
static int build_permute(struct tree *tree, const struct tree_order *order,
                         const struct dense *dense)
{
    size_t words = (order->count + 63) / 64;
    uint64_t *done = alloc_zeroed(tree->alloc, words, sizeof(*done));

    if (done == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < order->count; i++) {
        if ((done[i / 64] >> i % 64 & 1) == 0) {
            permute_cycle(tree, order, dense, i, done);
        }
    }
    alloc_release(tree->alloc, done);
    return 0;
}

/* A new node at its place, with room for so many messages; NULL without memory. */
static struct tree_node *add_built(struct tree *tree, struct dense *dense, uint32_t slots)
{
    struct tree_node *node = tree_grow_directory(tree, 1) == 0 ? tree_node_new(tree) : NULL;

    if (node != NULL && tree_reserve(tree, node, slots) != 0) {
        tree_node_free(tree, node);
        node = NULL;
    }
    if (node != NULL) {
        tree_enter_node(tree, node, dense->built++);
    }
    return node;
}

/* One new node from the first messages that are left. 0, or -ERR_NOMEM with nothing changed. */
static int take_share(struct tree *tree, const struct tree_order *order, const struct share *share,
                      struct dense *dense)
{
    struct tree_node *node = add_built(tree, dense, share_slots(share));

    if (node == NULL) {
        return -ERR_NOMEM;
    }
    uint32_t holes = holes_of(node, share);
    for (size_t g = share->first; g < share->end; g++) {
        uint32_t positions[TREE_GROUP];

        for (size_t i = 0; i < order->sizes[g]; i++) {
            positions[i] = tree_position(dense_spot(tree, dense, dense->taken + i));
        }
        leave_hole(tree, node, order->sizes[g], &holes);
        tree_take_over(tree, node, positions, order->positions + dense->taken, order->sizes[g]);
        dense->taken += order->sizes[g];
    }
    node->is_arranged = true;
    tree_summarise(tree, node);
    while (dense->built < tree->node_count &&
           dense->gone + tree->nodes[dense->built]->message_count <= dense->taken) {
        dense->gone += tree->nodes[dense->built]->message_count;
        tree_leave_node(tree, tree->nodes[dense->built]);
    }
    return 0;
}

/* What is left in old nodes stays there, in the new order. */
static void keep_rest(struct tree *tree, const struct tree_order *order, struct dense *dense)
{
    const uint32_t *names = order->positions + dense->gone;
    uint32_t first = (uint32_t)(dense->taken - dense->gone);

    for (uint32_t n = dense->built; n < tree->node_count; n++) {
        struct tree_node *node = tree->nodes[n];
        uint32_t count = node->message_count;

        tree_refill(tree, node, names, first);
        names += count;
        first = 0;
    }
}

/*
 * A dense tree's messages in a new order, without room for all of them twice: they change places
 * first, and then new nodes take them over one after another. 0; -ERR_NOMEM with all messages
 * there.
 */
static int build_in_place(struct tree *tree, const struct tree_order *order, uint32_t groups_a_node)
{
    struct dense dense = {.slots = tree->fanout * TREE_GROUP};
    uint32_t old_count = tree->node_count;
    struct share share = {0};
    int rc = build_permute(tree, order, &dense);

    if (rc != 0) {
        return rc;
    }
    while (rc == 0 && next_share(order, groups_a_node, &share)) {
        rc = take_share(tree, order, &share, &dense);
    }
    if (rc != 0) {
        keep_rest(tree, order, &dense);
    }
    tree_cursors_replaced(tree, 0, old_count, tree->node_count);
    return rc;
}

/* --- orders ----------------------------------------------------------------------------------- */

static int order_init(struct tree *tree, struct tree_order *order, size_t count)
{
    *order = (struct tree_order){.count = count};
    order->positions = alloc_array(tree->alloc, count, sizeof(*order->positions));
    order->sizes = alloc_array(tree->alloc, count, sizeof(*order->sizes));
    return order->positions == NULL || order->sizes == NULL ? -ERR_NOMEM : 0;
}

static void order_deinit(struct tree *tree, struct tree_order *order)
{
    alloc_release(tree->alloc, order->positions);
    alloc_release(tree->alloc, order->sizes);
}

/* As they stand, in full groups. */
static void order_plainly(struct tree_order *order)
{
    for (size_t left = order->count; left > 0;) {
        size_t size = left < TREE_GROUP ? left : TREE_GROUP;

        order->sizes[order->group_count++] = (uint8_t)size;
        left -= size;
    }
}

static size_t list_positions(const struct tree_node *node, uint32_t *out)
{
    size_t count = 0;

    for (uint32_t g = 0; g < node->group_count; g++) {
        for (uint32_t i = 0; i < node->groups[g].used; i++) {
            out[count++] = tree_position(
                (struct tree_spot){(struct tree_node *)node, (uint32_t)node->groups[g].first + i});
        }
    }
    return count;
}

/* Groups of a new node in a big tree. */
static uint32_t filled_groups(const struct tree *tree)
{
    return (tree->fanout * FILL_NUMERATOR + FILL_DENOMINATOR - 1) / FILL_DENOMINATOR;
}

/* Groups of a new node, once the number of all groups is known. A small tree gets as few nodes as
 * possible, all with about the same number of groups: counting the columns of a node takes the same
 * time however many groups it has, but a node of few groups is compared in order. */
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

/* Messages that are arranged at a time: those of a node of full groups; in a small tree, where
 * groups may be smaller, about as many, but none are left over. */
static size_t window_of(const struct tree *tree, size_t count)
{
    size_t windows = (count + TREE_SLOTS / 2) / TREE_SLOTS;

    if (!tree_is_small(tree)) {
        return (size_t)filled_groups(tree) * TREE_GROUP;
    }
    return windows == 0 ? count : (count + windows - 1) / windows;
}

/* Messages of one window at a time, so that each is in the best company that is there. */
static int arrange_all(struct tree *tree, struct tree_order *order)
{
    size_t window = window_of(tree, order->count);
    struct tree_arranger arranger;
    size_t count = order->count;
    int rc = tree_arranger_init(&arranger, tree, order, count < window ? count : window);

    if (rc == 0) {
        rc = tree_cluster(&arranger);
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

/* In new nodes, while the old ones are there. 0, or -ERR_NOMEM with the tree as it was. */
static int build_beside(struct tree *tree, const struct tree_order *order, uint32_t groups_a_node)
{
    struct build build;
    int rc = build_init(tree, &build, order, groups_a_node);

    if (rc == 0) {
        build_install(tree, &build, order);
    }
    return rc;
}

int tree_rebuild(struct tree *tree)
{
    struct tree_order order;
    size_t listed = 0;

    if (tree->count == 0) {
        return 0;
    }
    int rc = order_init(tree, &order, tree->count);
    if (rc == 0) {
        for (uint32_t n = 0; n < tree->node_count; n++) {
            listed += list_positions(tree->nodes[n], order.positions + listed);
        }
        if (tree_is_sparse(tree)) {
            rc = arrange_all(tree, &order);
        } else {
            order_plainly(&order);
        }
    }
    if (rc == 0) {
        uint32_t groups_a_node = built_groups(tree, order.group_count);

        rc = is_dense(tree) ? build_in_place(tree, &order, groups_a_node)
                            : build_beside(tree, &order, groups_a_node);
    }
    if (rc == 0) {
        tree->removed = 0;
    }
    order_deinit(tree, &order);
    return rc;
}
