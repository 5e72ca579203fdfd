/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching. Bounds are useless until k good answers are known, so a walk has three phases:
 *
 *   seek   the columns of all nodes: how much the best group of each could share with the query.
 *          Where that is more than ever before, the best groups are opened at once, so that the k
 *          best soon rule out whole nodes
 *   best   the few most promising nodes: after these the k best are nearly final
 *   sweep  all nodes from the last to the first; one whose best group cannot reach the k best is
 *          passed without a look
 *
 * The sweep alone is what makes the answer right: nodes at places below `left` are still to be
 * visited, and the tree tells cursors when nodes come and go (tree_cursors_replaced). What seek
 * and best have learnt is used only while no message has changed nodes since.
 */
#include "core/tree.h"

#include <string.h>

#include "core/block.h"
#include "core/err.h"
#include "core/sliced.h"

enum {
    BEST_NODES = 4,    /* visited first */
    NODES_SEEKING = 2, /* fewer are swept at once */
    AHEAD = 4,         /* blocks asked for before their turn */
    KEPT_PLANES = 8,   /* kept of a node: numbers below 256 */
    FEW_LANES = 8,     /* so few groups are opened when met, without waiting for better answers */
    SOME_LANES = 128,  /* of so many groups it is found out which may hold something */
    DIRECT_LANES = 16, /* so few groups are opened without counting first */
    RETRY_NODES = 8,   /* of nodes that are swept as bounds do not pay, every n-th tries again */
    REACH_DONE = 0,    /* visited, or known to hold nothing */
    REACH_UNKNOWN = 0xffff
};

enum phase { PHASE_SEEK, PHASE_BEST, PHASE_SWEEP };

struct tree_cursor {
    const struct alloc *alloc;
    struct tree_cursor *next; /* in tree->cursors */
    struct tree_cursor **link;
    enum phase phase;
    uint32_t left;      /* nodes at places below are still to be visited by the sweep */
    uint32_t seek_left; /* the same of the seek */
    uint32_t best_left; /* nodes that may still be visited as the best */
    uint32_t most;      /* the most bits that a group of a node seen shares with the query */
    uint64_t moves;     /* tree->moves when the walk began; `reach` holds while it has not grown */
    bool reach_known;
    uint32_t retry;      /* nodes since bounds were last tried */
    uint64_t considered; /* groups whose bound was computed in visits, */
    uint64_t opened;     /* and those of them that were opened */
    uint64_t changes; /* tree->changes when the walk began; `planes` hold while it has not grown */
    uint32_t reach_room;
    uint16_t *reach;   /* by place: 1 + the most bits that a group shares with the query */
    uint64_t planes[]; /* by place: what was counted, so that it need not be counted again */
};

/* What one step knows of its query, computed when first needed. */
struct walk {
    struct tree *tree;
    struct tree_cursor *cursor;
    struct index_probe *probe;
    size_t position_count; /* of the filter's set bits */
    size_t wanted_count;   /* of those of `contains` */
    bool ready;
    uint16_t floor; /* index_probe_floor, which divides: asked again after offers only */
    uint16_t positions[PROFILE_BITS_MAX];
    uint16_t wanted[PROFILE_BITS_MAX];
};

/* ---- cursors ---- */

static size_t cursor_bytes(uint32_t reach_room)
{
    return sizeof(struct tree_cursor) +
           (size_t)reach_room *
               (KEPT_PLANES * BITS_LANE_WORDS * sizeof(uint64_t) + sizeof(uint16_t));
}

/* Where the planes of the node at a place begin. */
static size_t kept_at(uint32_t place)
{
    return (size_t)place * KEPT_PLANES * BITS_LANE_WORDS;
}

void tree_cursor_restart(void *engine, void *cursor)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;

    c->reach_known = tree->node_count >= NODES_SEEKING && tree->node_count <= c->reach_room;
    c->phase = c->reach_known ? PHASE_SEEK : PHASE_SWEEP;
    c->left = tree->node_count;
    c->seek_left = tree->node_count;
    c->best_left = BEST_NODES;
    c->most = 0;
    c->moves = tree->moves;
    c->changes = tree->changes;
    c->retry = 0;
    c->considered = 0;
    c->opened = 0;
}

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor)
{
    struct tree *tree = engine;
    struct tree_cursor *cursor = alloc_array(alloc, 1, cursor_bytes(tree->node_count));

    if (cursor == NULL) {
        return -ERR_NOMEM;
    }
    memset(cursor, 0, sizeof *cursor);
    cursor->alloc = alloc;
    cursor->reach_room = tree->node_count;
    cursor->reach = (uint16_t *)(cursor->planes + kept_at(tree->node_count));
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
    alloc_release(c->alloc, c, 1, cursor_bytes(c->reach_room));
}

void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count)
{
    tree->moves++;
    for (struct tree_cursor *c = tree->cursors; c != NULL; c = c->next) {
        if (c->left >= place + old_count && c->left > place) {
            c->left = c->left - old_count + new_count;
        } else if (c->left > place) {
            c->left = place + new_count;
        }
    }
}

/* ---- groups ---- */

/* Offers what may pass of a group, whose overlaps have been compared. */
static void offer_group(const struct walk *walk, const struct tree_node *node, uint32_t group,
                        const uint32_t *overlaps, const int16_t *excess)
{
    const struct tree *tree = walk->tree;
    const struct tree_page *page = tree_page_of(node, group);
    const uint64_t *block = tree_block(tree, node, group);
    struct index_probe *probe = walk->probe;
    uint32_t contains[TREE_GROUP] = {0};
    bool contains_known = probe->contains == NULL;

    for (uint32_t lane = 0; lane < node->used[group]; lane++) {
        uint32_t at = tree_at(group, lane);
        struct index_item item;

        if (excess[lane] < 0 ||
            !index_probe_may_pass(probe, page->cardinality[at], overlaps[lane])) {
            continue;
        }
        if (!contains_known) {
            tree->kernels->overlaps(probe->contains, block, tree->words, contains);
            probe->bytes += TREE_GROUP * tree->words * sizeof *block;
            contains_known = true;
        }
        tree_read_item((struct tree_spot){(struct tree_node *)node, group, lane}, &item);
        index_probe_offer(probe, &item, block + lane, TREE_GROUP, page->cardinality[at],
                          overlaps[lane], contains[lane]);
    }
}

static void open_group(struct walk *walk, const struct tree_node *node, uint32_t group)
{
    const struct tree *tree = walk->tree;
    struct index_probe *probe = walk->probe;
    uint32_t overlaps[TREE_GROUP];
    int16_t excess[TREE_GROUP];

    tree->kernels->overlaps(probe->filter, tree_block(tree, node, group), tree->words, overlaps);
    probe->comparisons += node->used[group];
    probe->bytes += TREE_GROUP * (tree->words * sizeof(uint64_t) + sizeof(uint16_t));
    walk->cursor->opened++;
    if (block_excess(overlaps, &tree_page_of(node, group)->cardinality[tree_at(group, 0)],
                     probe->cardinality, walk->floor, excess) >= 0) {
        offer_group(walk, node, group, overlaps, excess);
        walk->floor = index_probe_floor(probe);
    }
}

/* All groups of a page, in order: what the list does. */
static void sweep_page(struct walk *walk, const struct tree_node *node, uint32_t group,
                       uint32_t end)
{
    const struct tree *tree = walk->tree;
    struct bits_scan scan = {
        .query = walk->probe->filter,
        .words = tree->words,
        .base = walk->probe->cardinality,
    };

    while (group < end) {
        uint32_t overlaps[TREE_GROUP];
        int16_t excess[TREE_GROUP];
        uint32_t lanes = 0;

        scan.floor = walk->floor;
        group += (uint32_t)tree->kernels->scan(
            &scan, tree_block(tree, node, group),
            &tree_page_of(node, group)->cardinality[tree_at(group, 0)], end - group, overlaps,
            &lanes);
        if (group == end) {
            return;
        }
        for (uint32_t lane = 0; lane < TREE_GROUP; lane++) {
            excess[lane] = (lanes >> lane & 1) != 0 ? 0 : -1;
        }
        offer_group(walk, node, group, overlaps, excess);
        walk->floor = index_probe_floor(walk->probe);
        group++;
    }
}

static void sweep_node(struct walk *walk, const struct tree_node *node)
{
    for (uint32_t first = 0; first < node->group_count; first += TREE_PAGE_GROUPS) {
        uint32_t left = node->group_count - first;

        sweep_page(walk, node, first, first + (left < TREE_PAGE_GROUPS ? left : TREE_PAGE_GROUPS));
    }
    walk->probe->comparisons += node->message_count;
    walk->probe->bytes += (uint64_t)node->group_count * TREE_GROUP *
                          (walk->tree->words * sizeof(uint64_t) + sizeof(uint16_t));
}

/* ---- nodes ---- */

static void make_ready(struct walk *walk)
{
    const struct index_probe *probe = walk->probe;

    if (!walk->ready) {
        walk->position_count = sliced_positions(probe->filter, walk->tree->words, walk->positions);
        if (probe->contains != NULL) {
            walk->wanted_count = sliced_positions(probe->contains, walk->tree->words, walk->wanted);
        }
        walk->ready = true;
    }
}

/* The least overlap with which a message of that cardinality passes: (a + c) floor, rounded up. */
static uint32_t overlap_needed(const struct walk *walk, uint32_t cardinality)
{
    uint32_t product = (walk->probe->cardinality + cardinality) * walk->floor;

    return (product + (UINT32_C(1) << INDEX_FLOOR_SHIFT) - 1) >> INDEX_FLOOR_SHIFT;
}

static uint32_t least_overlap(const struct walk *walk, const struct tree_node *node)
{
    return overlap_needed(walk, node->low);
}

/* The lanes stay in the mask that can pass: small groups by the node's least cardinality, the
 * others by the pivot, which none of theirs is below. */
static bool keep_passing(const struct walk *walk, const struct tree_node *node,
                         const struct sliced *sliced, uint64_t *mask)
{
    uint64_t small[BITS_LANE_WORDS];
    uint64_t any = 0;

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        small[w] = mask[w] & node->small[w];
        mask[w] &= ~node->small[w];
        any |= small[w];
    }
    bool passing = sliced_keep_least(sliced, overlap_needed(walk, node->pivot), mask);
    if (any == 0 || !sliced_keep_least(sliced, least_overlap(walk, node), small)) {
        return passing;
    }
    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        mask[w] |= small[w];
    }
    return true;
}

/*
 * Whether counting columns costs more than it can save: in a node of few groups; with a query that
 * only complete filters can rank; where the unions are so full that unrelated ones share more bits
 * with the query than a similarity of 2/3 asks for (0.4 of both cardinalities' sum).
 */
static bool is_plain(const struct walk *walk, const struct tree_node *node)
{
    const struct index_probe *probe = walk->probe;
    uint64_t shared = node->column_bits * probe->cardinality / node->group_count;
    uint64_t sum = probe->cardinality + node->cardinality_sum / node->message_count;

    return node->group_count * walk->tree->kernels->block_columns < probe->cardinality + 32 ||
           shared * 5 > sum * 2 * walk->tree->bits || index_probe_is_unbounded(probe);
}

/* Groups of a node that may hold messages with all bits of the `contains` filter. */
static bool keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask)
{
    size_t lane_words = tree_lane_words(node);
    uint64_t any = 1;

    for (size_t i = 0; any != 0 && i < walk->wanted_count; i++) {
        const uint64_t *column = node->columns + (size_t)walk->wanted[i] * BITS_LANE_WORDS;

        any = 0;
        for (size_t w = 0; w < lane_words; w++) {
            mask[w] &= column[w];
            any |= mask[w];
        }
        walk->probe->bytes += lane_words * sizeof *column;
    }
    return any != 0;
}

static uint32_t count_lanes(const uint64_t *mask, uint32_t enough)
{
    uint32_t count = 0;

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        for (uint64_t left = mask[w]; left != 0 && count < enough; left &= left - 1) {
            count++;
        }
    }
    return count;
}

/* Columns are far apart in memory: the next node's are asked for while this one's are added up. */
static void fetch_ahead(const struct walk *walk, const struct tree_node *node)
{
#if defined(__GNUC__)
    if (node->place > 0) {
        const uint64_t *columns = walk->tree->nodes[node->place - 1]->columns;

        for (size_t i = 0; i < walk->position_count; i++) {
            __builtin_prefetch(columns + (size_t)walk->positions[i] * BITS_LANE_WORDS);
        }
    }
#else
    (void)walk;
    (void)node;
#endif
}

static void count_node(struct walk *walk, const struct tree_node *node, struct sliced *out)
{
    out->plane_count = bits_planes(walk->position_count);
    out->lane_words = tree_lane_words(node);
    walk->tree->kernels->count_columns(node->columns, walk->positions, walk->position_count,
                                       out->lane_words, out->planes);
    walk->probe->comparisons += node->group_count;
    walk->probe->bytes += walk->position_count * out->lane_words * sizeof(uint64_t);
}

/* Keeps what was counted of a node, for a visit later. */
static void keep_node(const struct walk *walk, const struct tree_node *node,
                      const struct sliced *sliced)
{
    if (sliced->plane_count <= KEPT_PLANES) {
        memcpy(walk->cursor->planes + kept_at(node->place), sliced->planes,
               sliced->plane_count * BITS_LANE_WORDS * sizeof(uint64_t));
    }
}

/* What was kept, if it still holds: no group may have changed its lane since. */
static bool recall_node(const struct walk *walk, const struct tree_node *node, struct sliced *out)
{
    const struct tree_cursor *cursor = walk->cursor;
    size_t plane_count = bits_planes(walk->position_count);

    if (!cursor->reach_known || cursor->changes != walk->tree->changes ||
        cursor->reach[node->place] == REACH_UNKNOWN || plane_count > KEPT_PLANES) {
        return false;
    }
    out->plane_count = plane_count;
    out->lane_words = tree_lane_words(node);
    memcpy(out->planes, cursor->planes + kept_at(node->place),
           plane_count * BITS_LANE_WORDS * sizeof(uint64_t));
    return true;
}

static bool may_hold(const struct walk *walk, const struct tree_node *node, uint32_t group,
                     uint32_t shared)
{
    return index_probe_may_hold(walk->probe, node->group_low[group], node->group_high[group],
                                shared, node->group_newest_ms[group]);
}

static void open_counted(struct walk *walk, const struct tree_node *node, uint32_t group,
                         uint32_t shared)
{
    walk->probe->bytes += 2 * sizeof(uint16_t) + sizeof(int64_t);
    if (may_hold(walk, node, group, shared)) {
        open_group(walk, node, group);
    }
}

/* Blocks lie anywhere: they are asked for a little before their turn. */
static void fetch_block(const struct tree *tree, const struct tree_node *node, uint32_t group)
{
#if defined(__GNUC__)
    const uint64_t *block = tree_block(tree, node, group);

    for (size_t w = 0; w < tree->words; w++) {
        __builtin_prefetch(block + w * TREE_GROUP);
    }
#else
    (void)tree;
    (void)node;
    (void)group;
#endif
}

/* Every group of the mask in turn. Without counts (NULL) its own bits are all that is known. */
static void open_masked(struct walk *walk, const struct tree_node *node,
                        const struct sliced *sliced, const uint64_t *mask)
{
    uint16_t groups[TREE_GROUPS];
    uint16_t shared[TREE_GROUPS];
    uint32_t count = 0;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
            uint32_t group = w * 64 + sliced_lowest(left);
            uint32_t number =
                sliced != NULL ? sliced_number(sliced, group) : walk->probe->cardinality;

            if (may_hold(walk, node, group, number)) {
                groups[count] = (uint16_t)group;
                shared[count++] = (uint16_t)number;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            fetch_block(walk->tree, node, groups[i + AHEAD]);
        }
        open_counted(walk, node, groups[i], shared[i]);
    }
}

/* Only the groups stay in the mask that may hold something. How many. */
static uint32_t keep_holding(const struct walk *walk, const struct tree_node *node,
                             const struct sliced *sliced, uint64_t *mask)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
            uint32_t group = w * 64 + sliced_lowest(left);

            if (may_hold(walk, node, group, sliced_number(sliced, group))) {
                count++;
            } else {
                mask[w] &= ~(left & (0 - left));
            }
        }
    }
    return count;
}

/* Up to `most` groups, those that share the most first; they leave the mask. Whether any is left.
 */
static bool open_first(struct walk *walk, const struct tree_node *node, const struct sliced *sliced,
                       uint64_t *mask, uint32_t most)
{
    bool left = keep_passing(walk, node, sliced, mask);

    for (; left && most > 0; most--) {
        uint16_t floor = walk->floor;
        uint32_t group = 0;
        uint32_t shared = sliced_largest(sliced, mask, &group);

        open_counted(walk, node, group, shared);
        mask[group / 64] &= ~(UINT64_C(1) << group % 64);
        left = count_lanes(mask, 1) > 0;
        if (left && walk->floor != floor) {
            left = keep_passing(walk, node, sliced, mask);
        }
    }
    return left;
}

/* The groups that share the most first, then those that still may hold something. */
static void open_best_first(struct walk *walk, const struct tree_node *node,
                            const struct sliced *sliced, uint64_t *mask)
{
    if (open_first(walk, node, sliced, mask, walk->probe->nearest->k / TREE_GROUP + 2)) {
        open_masked(walk, node, sliced, mask);
    }
}

/* Whether bounds have been of little use so far, and are not to be tried again at this node. */
static bool has_given_up(struct tree_cursor *cursor)
{
    if (cursor->considered < TREE_GROUPS || cursor->opened * 2 < cursor->considered) {
        return false;
    }
    return ++cursor->retry % RETRY_NODES != 0;
}

static void visit_node(struct walk *walk, const struct tree_node *node)
{
    uint64_t mask[BITS_LANE_WORDS];
    struct sliced sliced;

    if (node->newest_ms < walk->probe->query->since_ms) {
        return;
    }
    if (walk->probe->contains == NULL && (is_plain(walk, node) || has_given_up(walk->cursor))) {
        sweep_node(walk, node);
        return;
    }
    make_ready(walk);
    sliced_first(node->group_count, mask);
    if (walk->probe->contains != NULL) {
        if (!keep_containing(walk, node, mask)) {
            return;
        }
        if (count_lanes(mask, DIRECT_LANES) < DIRECT_LANES) {
            open_masked(walk, node, NULL, mask);
            return;
        }
    }
    if (!recall_node(walk, node, &sliced)) {
        count_node(walk, node, &sliced);
    }
    walk->cursor->considered += node->group_count;
    if (keep_passing(walk, node, &sliced, mask)) {
        open_best_first(walk, node, &sliced, mask);
    }
}

/* ---- the phases ---- */

/* What a node promises: see tree_cursor.reach. */
static uint16_t seek_node(struct walk *walk, const struct tree_node *node)
{
    uint64_t mask[BITS_LANE_WORDS];
    struct sliced sliced;
    uint32_t group = 0;

    if (node->newest_ms < walk->probe->query->since_ms) {
        return REACH_DONE;
    }
    if (walk->probe->contains == NULL && is_plain(walk, node)) {
        return REACH_UNKNOWN;
    }
    make_ready(walk);
    sliced_first(node->group_count, mask);
    if (walk->probe->contains != NULL) {
        if (!keep_containing(walk, node, mask)) {
            return REACH_DONE;
        }
        if (count_lanes(mask, DIRECT_LANES) < DIRECT_LANES) {
            return REACH_UNKNOWN;
        }
    }
    fetch_ahead(walk, node);
    count_node(walk, node, &sliced);
    uint32_t shared = sliced_largest(&sliced, mask, &group);
    if (shared > walk->cursor->most) {
        walk->cursor->most = shared;
        walk->probe->check_repeats = true; /* the node may be visited later */
        if (!open_first(walk, node, &sliced, mask, walk->probe->nearest->k / TREE_GROUP + 3)) {
            return REACH_DONE;
        }
    } else if (!keep_passing(walk, node, &sliced, mask)) {
        return REACH_DONE;
    } else if (count_lanes(mask, SOME_LANES + 1) <= SOME_LANES &&
               keep_holding(walk, node, &sliced, mask) <= FEW_LANES) {
        open_masked(walk, node, &sliced, mask);
        return REACH_DONE;
    }
    keep_node(walk, node, &sliced);
    return (uint16_t)(1 + shared);
}

static void seek(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    cursor->seek_left--;
    cursor->reach[cursor->seek_left] = seek_node(walk, walk->tree->nodes[cursor->seek_left]);
    if (cursor->seek_left == 0) {
        cursor->phase = PHASE_BEST;
    }
}

static void visit_best(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    uint16_t most = REACH_DONE;
    uint32_t best = 0;

    for (uint32_t n = 0; n < walk->tree->node_count; n++) {
        if (cursor->reach[n] != REACH_UNKNOWN && cursor->reach[n] > most) {
            most = cursor->reach[n];
            best = n;
        }
    }
    if (cursor->best_left == 0 || most == REACH_DONE) {
        cursor->phase = PHASE_SWEEP;
        return;
    }
    cursor->best_left--;
    visit_node(walk, walk->tree->nodes[best]);
    cursor->reach[best] = REACH_DONE;
}

static void sweep(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;
    const struct tree_node *node = walk->tree->nodes[--cursor->left];
    uint16_t reach = cursor->reach_known ? cursor->reach[cursor->left] : REACH_UNKNOWN;

    if (reach == REACH_DONE ||
        (reach != REACH_UNKNOWN && (uint32_t)reach - 1 < least_overlap(walk, node))) {
        return;
    }
    visit_node(walk, node);
}

/* Once messages have changed nodes, what was learnt of the nodes holds no more. */
static void forget_if_changed(struct walk *walk)
{
    struct tree_cursor *cursor = walk->cursor;

    if (cursor->reach_known && cursor->moves != walk->tree->moves) {
        cursor->reach_known = false;
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
    forget_if_changed(&walk);
    while (c->left > 0 && (probe->comparisons - before < budget || probe->comparisons == before)) {
        if (c->phase == PHASE_SEEK) {
            seek(&walk);
        } else if (c->phase == PHASE_BEST) {
            visit_best(&walk);
        } else {
            sweep(&walk);
        }
    }
    return c->left > 0 ? INDEX_MORE : 0;
}
