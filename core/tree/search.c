/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search. Bounds rule out little until k good answers are known, so a search has phases:
 *
 *   rank   computes the reach of each node (walk.h) from the summaries
 *   open   takes the node with the highest reach. Counts its columns, which gives the reach of each
 *          of its groups. Opens its best groups until another node has a higher reach, and so on,
 *          until no reach is above the floor of the k-th best. A node whose columns do not help is
 *          compared in order at once
 *   newest instead of open, for the order INDEX_ORDER_NEWEST: takes the node with the newest
 *          message, and opens its groups, the newest ones first if that is known. A group or node
 *          whose newest message is older than the k-th best cannot have an answer, so the search
 *          ends at the first such node
 *   sweep  visits all nodes one after another, if messages were inserted or removed since the
 *          search began, or if the search cannot or should not rank the nodes
 *
 * The sweep keeps the answer right while the tree changes. Nodes at places below `left` are still
 * to be visited, and tree_cursors_replaced updates `left` when nodes come and go.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/tree/walk.h"

enum {
    DIRECT_LANES = 16, /* for a query with `contains`: if fewer groups of a node than this are left,
                        * their messages are compared without counting columns */
    /*
     * Searches skip bounds after bounds have cost them about as much as FUTILE_MOST / FUTILE_UNIT
     * times comparing all messages. Every RETRY-th search tries bounds again. The more it loses by
     * that, the longer the next one waits, but not longer than RETRY << RETRY_SHIFT_MOST searches.
     */
    FUTILE_UNIT = 16,
    FUTILE_MOST = 4 * FUTILE_UNIT,
    RETRY = 16,
    RETRY_SHIFT_MOST = 5
};

/* --- cursors ---------------------------------------------------------------------------------- */

/* Returns the size in bytes of a cursor with its arrays, for `room` nodes and `kept_room` kept
 * nodes. */
static size_t cursor_bytes(uint32_t room, uint32_t kept_room)
{
    const struct tree_cursor *cursor = NULL;

    return sizeof(*cursor) + WALK_LINE_BYTES - 1 + kept_room * sizeof(*cursor->kept) +
           room * (sizeof(*cursor->reach) + sizeof(*cursor->kept_at));
}

void tree_cursor_restart(void *engine, void *cursor)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;

    c->keeps = tree->node_count <= c->room;
    c->phase = c->keeps ? PHASE_RANK : PHASE_SWEEP;
    c->left = tree->node_count;
    c->twins_left = tree->twin_room;
    c->rest_count = 0;
    c->spent = 0;
    c->gives_up = false;
    c->sifted = 0;
    c->survived = 0;
    c->sift_floor = 0;
    c->changes = tree->changes;
}

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor)
{
    struct tree *tree = engine;
    uint32_t room = (tree->node_count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE;
    uint32_t kept_room = tree->node_count < KEPT_NODES ? tree->node_count + 1 : KEPT_NODES;
    struct tree_cursor *cursor = alloc_array(alloc, 1, cursor_bytes(room, kept_room));

    if (cursor == NULL) {
        return -ERR_NOMEM;
    }
    cursor->alloc = alloc;
    cursor->room = room;
    cursor->kept_room = kept_room;
    size_t past = (uintptr_t)cursor->storage % WALK_LINE_BYTES;
    cursor->kept = (void *)(cursor->storage + (WALK_LINE_BYTES - past) % WALK_LINE_BYTES);
    cursor->reach = (uint16_t *)(cursor->kept + kept_room);
    cursor->kept_at = (uint8_t *)(cursor->reach + room);
    cursor->rests = NULL;
    cursor->rest_room = 0;
    cursor->next = tree->cursors;
    cursor->link = &tree->cursors;
    if (cursor->next != NULL) {
        cursor->next->link = &cursor->next;
    }
    tree->cursors = cursor;
    tree_cursor_restart(engine, cursor);
    *out_cursor = cursor;
    return 0;
}

void tree_cursor_free(void *engine, void *cursor)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;

    if (c == NULL) {
        return;
    }
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
    alloc_release(tree->alloc, c->rests);
    alloc_release(c->alloc, c);
}

void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count)
{
    tree->changes++;
    for (struct tree_cursor *c = tree->cursors; c != NULL; c = c->next) {
        if (c->left >= place + old_count && c->left > place) {
            c->left = c->left - old_count + new_count;
        } else if (c->left > place) {
            c->left = place + new_count;
        }
    }
}

/* --- rank, count ------------------------------------------------------------------------------ */

static bool is_by_time(const struct walk *walk)
{
    return walk->probe->query->order == INDEX_ORDER_NEWEST;
}

/* Counts the columns of a node. Returns the highest reach of its groups, REACH_DONE or REACH_PLAIN:
 * see tree_cursor.reach. */
static uint16_t count_node(struct walk *walk, const struct tree_node *node, struct kept_node *kept)
{
    bool must_contain = walk->probe->contains != NULL;
    uint64_t mask[BITS_LANE_WORDS];

    if (must_contain && !walk_keep_containing(walk, node, mask)) {
        return REACH_DONE;
    }
    if (must_contain && (sliced_count(mask) < DIRECT_LANES || !walk_can_bound(walk))) {
        walk_open_masked(walk, node, mask);
        return REACH_DONE;
    }
    if (walk_is_plain(walk, node)) {
        return REACH_PLAIN;
    }
    return walk_bound(walk, node, must_contain ? mask : NULL, kept);
}

/*
 * Searches of one kind teach those of another kind nothing: whether bounds pay depends on the
 * sections that a query asks for, and on whether it wants the k nearest messages or all within a
 * distance.
 */
static struct tree_learned *learned_of(const struct walk *walk)
{
    const struct index_probe *probe = walk->probe;
    uint32_t kind = 0;

    for (uint32_t s = 0; probe->query->metric == INDEX_METRIC_PHI && s < probe->phi.count; s++) {
        kind ^= 1u << probe->phi.sections[s].number % TREE_KIND_BITS;
    }
    return &walk->tree->learned[probe->query->found != NULL][kind];
}

/*
 * Returns whether this search should skip bounds, because bounds saved little in recent searches of
 * its kind. Now and then a search tries bounds again.
 */
static bool gives_up(const struct walk *walk)
{
    struct tree_learned *learned = learned_of(walk);
    unsigned futile = atomic_load_explicit(&learned->futile, memory_order_relaxed);

    if (futile < FUTILE_MOST || walk->probe->contains != NULL) {
        return false;
    }
    unsigned asked = atomic_fetch_add_explicit(&learned->retry, 1, memory_order_relaxed) + 1;
    return asked % ((unsigned)RETRY << (futile - FUTILE_MOST)) != 0;
}

/*
 * Records what bounds cost this search beyond comparing all messages in order, or saved it. Both
 * count at most as much as that comparison, so that a few searches that differ from the others
 * decide little.
 */
static void search_learn(const struct walk *walk)
{
    struct tree_learned *learned = learned_of(walk);
    uint64_t all = walk->tree->count / BITS_BLOCK + 1;
    uint64_t units = walk->cursor->spent * FUTILE_UNIT / all;
    unsigned spent = units < 2 * FUTILE_UNIT ? (unsigned)units : 2 * FUTILE_UNIT;
    unsigned futile = atomic_load_explicit(&learned->futile, memory_order_relaxed) + spent;

    futile = futile > FUTILE_UNIT ? futile - FUTILE_UNIT : 0;
    if (futile > FUTILE_MOST + RETRY_SHIFT_MOST) {
        futile = FUTILE_MOST + RETRY_SHIFT_MOST;
    }
    atomic_store_explicit(&learned->futile, futile, memory_order_relaxed);
}

static void rank_nodes(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    if (!is_by_time(walk) && gives_up(walk)) {
        cursor->gives_up = true;
        cursor->keeps = false;
        cursor->phase = PHASE_SWEEP;
        return;
    }
    walk_rank(walk, cursor->reach);
    memset(cursor->kept_at, 0, cursor->room * sizeof(*cursor->kept_at));
    for (uint32_t k = 0; k < cursor->kept_room; k++) {
        cursor->kept[k].in_use = false;
    }
    cursor->phase = is_by_time(walk) ? PHASE_NEWEST : PHASE_OPEN;
}

/* --- open ------------------------------------------------------------------------------------- */

/* Returns the place of the last node with the reach `most`, which one has. */
static uint32_t last_node(const struct walk *walk, uint16_t most)
{
    const struct tree_cursor *cursor = walk->cursor;
    uint32_t place = cursor->room;

    do {
        place -= BITS_STRIDE;
    } while (walk->tree->kernels->largest(cursor->reach + place, BITS_STRIDE) < most);
    place += BITS_STRIDE;
    do {
        place--;
    } while (cursor->reach[place] < most);
    return place;
}

/*
 * Returns the place of the first node with the highest reach; cursor->room if no reach is above the
 * floor. Returns the last one if the nodes are not arranged, or if their messages may tie: new
 * messages come into the last node, and a rebuild keeps the order of equal ones. So the search
 * finds the newest of those that tie first.
 */
static uint32_t best_node(const struct walk *walk)
{
    const struct tree_cursor *cursor = walk->cursor;
    const struct bits_kernels *kernels = walk->tree->kernels;
    uint16_t most = kernels->largest(cursor->reach, cursor->room);

    if (most <= walk->floor) { /* 1 + what reaches the floor is more */
        return cursor->room;
    }
    uint32_t first = (uint32_t)kernels->find_least(cursor->reach, cursor->room, most);
    return walk->tree->nodes[first]->is_arranged && !walk_may_tie(walk, most)
               ? first
               : last_node(walk, most);
}

static void give_up(struct tree_cursor *cursor, struct kept_node *kept)
{
    cursor->kept_at[kept->place] = 0;
    kept->in_use = false;
}

/* Finds an entry of cursor->kept for one more node. Prefers a free entry, then an entry whose
 * node has a reach at or below the floor. Else takes the entry of a node without opened groups:
 * the node with the lowest reach. That node has to be counted again later. NULL if every kept
 * node has opened groups. */
static struct kept_node *free_kept(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    struct kept_node *worst = NULL;

    for (uint32_t k = 0; k < cursor->kept_room; k++) {
        struct kept_node *kept = &cursor->kept[k];

        if (!kept->in_use) {
            return kept;
        }
        if (cursor->reach[kept->place] <= walk->floor) {
            cursor->reach[kept->place] = REACH_DONE;
            give_up(cursor, kept);
            return kept;
        }
        if (!kept->opened &&
            (worst == NULL || cursor->reach[kept->place] < cursor->reach[worst->place])) {
            worst = kept;
        }
    }
    if (worst != NULL) {
        give_up(cursor, worst);
    }
    return worst;
}

/*
 * Returns the limit for part_least at a first look, and while the floor is 0. Starts with `highest`
 * and lowers the limit until the groups that reach it are at least half as many as the results that
 * this part is expected to find (probe->expected). The limit stays above the floor and does not
 * fall far below half of `highest`.
 */
static uint16_t first_least(const struct walk *walk, const struct kept_node *kept, size_t lanes,
                            uint16_t highest)
{
    enum { STEPS = 16 };
    uint32_t wanted = walk->probe->expected / 2;
    uint16_t enough = (uint16_t)(walk->floor + 1);
    uint16_t lowest = enough > highest / 2 ? enough : highest / 2;
    uint16_t least = highest;

    while (least > lowest && walk->tree->kernels->count_least(kept->reach, lanes, least) < wanted) {
        least = (uint16_t)(least - highest / STEPS - 1);
    }
    return least > enough ? least : enough;
}

/*
 * Chooses a limit: the groups of a node with at least this reach (walk.h) are opened next. At a
 * first look, and while the floor is 0, begins with the limit of first_least; later with the middle
 * between the floor and `highest`. Raises the limit towards `highest` while more than WALK_SETTLED
 * groups would be opened. When the k best are nearly final, or the search has a function `found`
 * (index.h), returns the limit just above the floor.
 */
static uint16_t part_least(const struct walk *walk, const struct kept_node *kept, size_t lanes,
                           uint16_t highest)
{
    uint16_t enough = (uint16_t)(walk->floor + 1);
    uint16_t least = (uint16_t)(highest - (highest - enough) / 2);

    if (walk->probe->query->found != NULL) {
        return enough; /* the floor does not rise */
    }
    if (walk->floor == 0 || walk->probe->first_look) {
        least = first_least(walk, kept, lanes, highest);
    } else if (walk->probe->opened >= WALK_SETTLED) {
        return enough;
    }
    while (least < highest &&
           walk->tree->kernels->count_least(kept->reach, lanes, least) > WALK_SETTLED) {
        least = (uint16_t)(highest - (highest - least) / 2);
    }
    return least;
}

/*
 * Counts the columns of the node with the highest reach, and keeps the reach of its groups for
 * later steps. If no entry of cursor->kept can be used for the node (free_kept), compares at once
 * all groups of the node whose reach is above the floor.
 */
static void count_best(struct walk *walk, uint32_t place)
{
    struct tree_cursor *cursor = walk->cursor;
    const struct tree_node *node = walk->tree->nodes[place];
    struct kept_node *kept = free_kept(walk);

    cursor->reach[place] = REACH_DONE;
    uint32_t next = best_node(walk);
    if (next < cursor->room && cursor->kept_at[next] == 0) {
        walk_fetch(walk, walk->tree->nodes[next]);
    }
    if (kept == NULL) {
        struct kept_node once;
        uint16_t reach = count_node(walk, node, &once);

        if (reach == REACH_PLAIN) {
            cursor->reach[place] = reach;
        } else if (reach > walk->floor) {
            (void)walk_open_best(walk, node, &once, (uint16_t)(walk->floor + 1));
        }
        return;
    }
    cursor->reach[place] = count_node(walk, node, kept);
    if (next < cursor->room && cursor->reach[next] > cursor->reach[place]) {
        walk->next = next;
    }
    if (cursor->reach[place] > walk->floor && cursor->reach[place] != REACH_PLAIN) {
        kept->in_use = true;
        kept->opened = false;
        kept->place = place;
        cursor->kept_at[place] = (uint8_t)(1 + (kept - cursor->kept));
    }
}

static void open_next(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    bool known = walk->next < cursor->room && cursor->reach[walk->next] > walk->floor;
    uint32_t best = known ? walk->next : best_node(walk);

    walk->next = cursor->room;
    if (best == cursor->room) {
        cursor->left = 0;
        search_learn(walk);
        return;
    }
    const struct tree_node *node = walk->tree->nodes[best];
    if (!walk_may_reach(walk, REACH_MOST, node->newest_ms)) {
        cursor->reach[best] = REACH_DONE;
    } else if (cursor->reach[best] == REACH_PLAIN && walk->probe->first_look) {
        walk->looked = true;
    } else if (cursor->reach[best] == REACH_PLAIN) {
        walk_sweep(walk, node);
        cursor->reach[best] = REACH_DONE;
    } else if (cursor->kept_at[best] == 0) {
        count_best(walk, best);
    } else {
        struct kept_node *kept = &cursor->kept[cursor->kept_at[best] - 1];
        uint16_t least = part_least(walk, kept, node->group_count, cursor->reach[best]);

        kept->opened = true;
        walk->looked = walk->probe->first_look;
        cursor->reach[best] = walk_open_best(walk, node, kept, least);
    }
}

/* --- newest ----------------------------------------------------------------------------------- */

/*
 * Opens the groups of a node that can have one of the newest messages, from the last group to the
 * first. In a node that was filled one message after the other, the last groups have the newest
 * messages, and then the others need not be opened.
 */
static void open_newest(struct walk *walk, const struct tree_node *node)
{
    enum { STEP = 32 }; /* groups that are tested against the same k-th best */
    struct kept_node bounds;
    const struct kept_node *known = NULL;
    uint64_t mask[BITS_LANE_WORDS];
    uint16_t groups[TREE_GROUPS];

    if (!walk_keep_containing(walk, node, mask)) {
        return;
    }
    size_t count = sliced_positions(mask, BITS_LANE_WORDS, groups);
    if (walk->floor > 0 && walk_can_bound(walk)) {
        (void)walk_bound(walk, node, mask, &bounds);
        known = &bounds;
    }
    while (count > 0) {
        size_t first = count > STEP ? count - STEP : 0;

        walk_open(walk, node, groups + first, count - first, known);
        count = first;
    }
}

/* Returns the place of the node that has the newest message of those that are left; cursor->room if
 * no node is left, or none with a message that is new enough. */
static uint32_t newest_node(const struct walk *walk)
{
    const struct tree_cursor *cursor = walk->cursor;
    int64_t newest_ms = INT64_MIN;
    uint32_t newest = cursor->room;

    for (uint32_t n = 0; n < walk->tree->node_count; n++) {
        int64_t node_ms = walk->tree->nodes[n]->newest_ms;

        if (cursor->reach[n] > walk->floor && (newest == cursor->room || node_ms > newest_ms)) {
            newest_ms = node_ms;
            newest = n;
        }
    }
    return walk_may_reach(walk, REACH_MOST, newest_ms) ? newest : cursor->room;
}

static void newest_next(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    uint32_t place = newest_node(walk);

    if (place == cursor->room) {
        cursor->left = 0;
        return;
    }
    open_newest(walk, walk->tree->nodes[place]);
    cursor->reach[place] = REACH_DONE;
    walk->looked = walk->probe->first_look;
}

/* --- sweep ------------------------------------------------------------------------------------ */

static void visit_node(struct walk *walk, const struct tree_node *node)
{
    struct kept_node once;

    if (!walk_may_reach(walk, REACH_MOST, node->newest_ms)) {
        return;
    }
    if (is_by_time(walk)) {
        open_newest(walk, node);
        return;
    }
    if (walk->cursor->gives_up && walk->probe->contains == NULL) {
        walk_sweep(walk, node);
        return;
    }
    uint16_t reach = count_node(walk, node, &once);
    if (reach == REACH_PLAIN) {
        walk_sweep(walk, node);
    } else if (reach > walk->floor) {
        (void)walk_open_best(walk, node, &once, (uint16_t)(walk->floor + 1));
    }
}

static void sweep_next(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    cursor->left--;
    visit_node(walk, walk->tree->nodes[cursor->left]);
}

/*
 * Switches the search to the sweep if messages were inserted or removed: the reach of nodes and
 * groups is not valid any more. The sweep visits the entries of the rests again, unless only rests
 * were left.
 */
static void forget_if_changed(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    if (cursor->keeps && cursor->left > 0 && cursor->changes != walk->tree->changes) {
        cursor->keeps = false;
        cursor->phase = PHASE_SWEEP;
        cursor->rest_count = 0;
        walk->probe->check_repeats = true;
    }
}

static bool is_left(const struct tree_cursor *cursor)
{
    return cursor->left > 0 || cursor->rest_count > 0;
}

int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget)
{
    struct walk walk;
    struct tree_cursor *c = cursor;

    walk_begin(&walk, engine, cursor, probe, budget);
    forget_if_changed(&walk);
    while (is_left(c) && !walk.looked && !walk_is_spent(&walk)) {
        if (c->rest_count > 0) {
            walk_resume(&walk);
        } else if (c->phase == PHASE_RANK) {
            rank_nodes(&walk);
        } else if (c->phase == PHASE_OPEN) {
            open_next(&walk);
        } else if (c->phase == PHASE_NEWEST) {
            newest_next(&walk);
        } else if (probe->first_look) {
            walk.looked = true;
        } else {
            sweep_next(&walk);
        }
    }
    if (walk.looked) {
        probe->first_look = false;
        probe->promise = c->keeps ? walk.tree->kernels->largest(c->reach, c->room) : REACH_PLAIN;
    }
    return is_left(c) ? INDEX_MORE : 0;
}
