/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching. Bounds are useless until k good answers are known, so a walk has three phases:
 *
 *   rank   what each node promises, by its summary
 *   open   the node that promises the most: its columns are counted, which tells what its groups
 *          promise; then its best groups are opened, until another node promises more; and so on,
 *          until no node promises as much as one of the k best. Where columns are no help, the
 *          node is compared in order at once
 *   sweep  all nodes, if messages have come or gone since the walk began
 *
 * The sweep is what keeps the answer right while the tree changes: nodes at places below `left` are
 * still to be visited, and the tree tells cursors when nodes come and go (tree_cursors_replaced).
 */
#include "core/tree_walk.h"

#include <string.h>

#include "core/err.h"

enum {
    DIRECT_LANES = 16, /* so few groups are opened without counting first */
    FUTILE_MOST = 16, /* searches in a row that bounds were no help to, until bounds are given up */
    RETRY = 16        /* ... but for every 16th search */
};

/* ---- cursors ---- */

static size_t cursor_bytes(uint32_t room)
{
    return sizeof(struct tree_cursor) +
           (size_t)room * (sizeof(struct kept_node) + sizeof(uint32_t));
}

void tree_cursor_restart(void *engine, void *cursor)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;

    c->keeps = tree->node_count <= c->room;
    c->phase = c->keeps ? PHASE_RANK : PHASE_SWEEP;
    c->left = tree->node_count;
    c->opened = 0;
    c->swept = 0;
    c->gives_up = false;
    c->changes = tree->changes;
}

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor)
{
    struct tree *tree = engine;
    struct tree_cursor *cursor = alloc_array(alloc, 1, cursor_bytes(tree->node_count));

    if (cursor == NULL) {
        return -ERR_NOMEM;
    }
    cursor->alloc = alloc;
    cursor->room = tree->node_count;
    cursor->reach = (uint32_t *)(cursor->nodes + cursor->room);
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
    struct tree_cursor *c = cursor;

    (void)engine;
    if (c == NULL) {
        return;
    }
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
    alloc_release(c->alloc, c, 1, cursor_bytes(c->room));
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

/* ---- rank, count ---- */

static bool is_too_old(const struct walk *walk, const struct tree_node *node)
{
    return node->newest_ms < walk->probe->query->since_ms;
}

/* What is left to be done of a node: see tree_cursor.reach. */
static uint32_t count_node(struct walk *walk, const struct tree_node *node, struct kept_node *kept)
{
    if (is_too_old(walk, node)) {
        return REACH_DONE;
    }
    if (walk_is_plain(walk, node) || walk_planes(walk) > KEPT_PLANES) {
        return REACH_PLAIN;
    }
    if (!walk_keep_containing(walk, node, kept->lanes)) {
        return REACH_DONE;
    }
    if (walk->probe->contains != NULL && sliced_count(kept->lanes) < DIRECT_LANES) {
        walk_open_masked(walk, node, NULL, kept->lanes);
        return REACH_DONE;
    }
    walk_count(walk, node, kept->planes);
    return walk_reach(walk, node, kept->planes, kept->lanes);
}

/* Whether bounds were of no use of late, and are not to be tried by this search. */
static bool gives_up(const struct walk *walk)
{
    struct tree *tree = walk->tree;

    if (tree->futile < FUTILE_MOST || walk->probe->contains != NULL) {
        return false;
    }
    return ++tree->retry % RETRY != 0;
}

/* Notes whether bounds were of use: not if most nodes were compared in order all the same. */
static void learn(const struct walk *walk)
{
    struct tree *tree = walk->tree;

    if (walk->cursor->swept * 2 <= tree->node_count) {
        tree->futile = 0;
    } else if (tree->futile < FUTILE_MOST) {
        tree->futile++;
    }
}

static void rank_nodes(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    if (gives_up(walk)) {
        cursor->gives_up = true;
        cursor->keeps = false;
        cursor->phase = PHASE_SWEEP;
        return;
    }
    walk_rank(walk, cursor->reach);
    for (uint32_t n = 0; n < walk->tree->node_count; n++) {
        cursor->nodes[n].counted = false;
    }
    cursor->phase = PHASE_OPEN;
}

/* ---- open ---- */

/* The node that promises the most, and the next one; node_count where none promises enough. */
static uint32_t best_node(const struct walk *walk, uint32_t *out_next)
{
    const uint32_t *reach = walk->cursor->reach;
    uint32_t most = walk->floor; /* 1 + what reaches it is more */
    uint32_t next_most = walk->floor;
    uint32_t best = walk->tree->node_count;

    *out_next = best;
    for (uint32_t n = 0; n < walk->tree->node_count; n++) {
        if (reach[n] <= next_most) {
            continue;
        }
        if (reach[n] > most) {
            next_most = most;
            *out_next = best;
            most = reach[n];
            best = n;
        } else {
            next_most = reach[n];
            *out_next = n;
        }
    }
    return best;
}

/*
 * The groups to be opened next of a node, taken out of those to be opened. As long as fewer than k
 * messages are known these are the ones like the best one; then the better half of what could do,
 * or less if these are many; once the k best are nearly final, all that could do.
 */
static void take_part(struct walk *walk, const struct tree_node *node, uint32_t highest,
                      struct kept_node *kept, uint64_t *out_part)
{
    bool settled = walk->floor > 0 && walk->cursor->opened >= WALK_SETTLED;
    uint32_t floor = settled           ? walk->floor
                     : walk->floor > 0 ? highest - (highest - walk->floor) / 2
                                       : highest;

    do {
        memcpy(out_part, kept->lanes, sizeof kept->lanes);
        (void)walk_keep_passing(walk, node, kept->planes, floor, out_part);
        if (settled || floor == highest || sliced_count(out_part) <= WALK_SETTLED) {
            break;
        }
        floor = highest - (highest - floor) / 2;
    } while (true);
    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        kept->lanes[w] = settled ? 0 : kept->lanes[w] & ~out_part[w];
    }
}

/* Opens what is best of a node. What is left to be done of it. */
static uint32_t open_node(struct walk *walk, const struct tree_node *node, uint32_t highest,
                          struct kept_node *kept)
{
    uint32_t swept = walk->cursor->swept;
    uint64_t part[BITS_LANE_WORDS];

    take_part(walk, node, highest, kept, part);
    walk_open_masked(walk, node, kept->planes, part);
    return walk->cursor->swept != swept ? REACH_DONE
                                        : walk_reach(walk, node, kept->planes, kept->lanes);
}

static void open_next(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    uint32_t next = 0;
    uint32_t best = best_node(walk, &next);

    if (best == walk->tree->node_count) {
        cursor->left = 0;
        learn(walk);
        return;
    }
    const struct tree_node *node = walk->tree->nodes[best];
    struct kept_node *kept = &cursor->nodes[best];
    if (cursor->reach[best] == REACH_PLAIN) {
        walk_sweep(walk, node);
        cursor->reach[best] = REACH_DONE;
        return;
    }
    if (kept->counted) {
        cursor->reach[best] = open_node(walk, node, cursor->reach[best] - 1, kept);
        return;
    }
    if (next < walk->tree->node_count && !cursor->nodes[next].counted) {
        walk_fetch(walk, walk->tree->nodes[next]);
    }
    cursor->reach[best] = count_node(walk, node, kept);
    kept->counted = true;
}

/* ---- sweep ---- */

static void visit_node(struct walk *walk, const struct tree_node *node)
{
    uint64_t mask[BITS_LANE_WORDS];
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];

    if (is_too_old(walk, node)) {
        return;
    }
    if (walk_is_plain(walk, node) || (walk->cursor->gives_up && walk->probe->contains == NULL)) {
        walk_sweep(walk, node);
        return;
    }
    if (!walk_keep_containing(walk, node, mask)) {
        return;
    }
    walk_count(walk, node, planes);
    if (walk_keep_passing(walk, node, planes, walk->floor, mask)) {
        walk_open_masked(walk, node, planes, mask);
    }
}

static void sweep_next(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    cursor->left--;
    visit_node(walk, walk->tree->nodes[cursor->left]);
}

/* Once messages have come or gone, what was learnt of the nodes holds no more. */
static void forget_if_changed(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    if (cursor->keeps && cursor->changes != walk->tree->changes) {
        cursor->keeps = false;
        cursor->phase = PHASE_SWEEP;
        walk->probe->check_repeats = true;
    }
}

int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget)
{
    struct walk walk;
    struct tree_cursor *c = cursor;
    uint64_t before = probe->comparisons;

    walk.tree = engine;
    walk.cursor = cursor;
    walk.probe = probe;
    walk.ready = false;
    walk.floor = index_probe_floor(probe);
    walk.position_count = 0;
    walk.wanted_count = 0;
    walk.pending_count = 0;
    if (probe->query->best_path) {
        walk_path(&walk);
        c->left = 0;
    }
    forget_if_changed(&walk);
    while (c->left > 0 && (probe->comparisons - before < budget || probe->comparisons == before)) {
        if (c->phase == PHASE_RANK) {
            rank_nodes(&walk);
        } else if (c->phase == PHASE_OPEN) {
            open_next(&walk);
        } else {
            sweep_next(&walk);
        }
    }
    walk_flush(&walk);
    return c->left > 0 ? INDEX_MORE : 0;
}
