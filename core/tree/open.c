/* SPDX-License-Identifier: Apache-2.0 */
/* open: the lowest level of a search. Opens groups, that is, compares their messages with the
 * query. */
#include "core/index/sample.h"
#include "core/tree/walk.h"

enum { AHEAD = 6 /* blocks asked for before their turn */ };

/* The number of bytes that comparing one block of filters reads. */
static uint64_t block_bytes(const struct tree *tree)
{
    return BITS_BLOCK * (tree->words * sizeof(uint64_t) + sizeof(uint16_t));
}

/* Offers messages of the block that begins at `slot` to the k best. Bit i of `lanes` says whether
 * the message in lane i may be offered. */
static void offer_lanes(struct walk *walk, const struct tree_node *node, uint32_t slot,
                        const uint32_t *overlaps, uint32_t lanes)
{
    const uint64_t *block = tree_block(walk->tree, node, slot);
    struct index_probe *probe = walk->probe;

    for (; lanes != 0; lanes &= lanes - 1) {
        uint32_t lane = sliced_lowest(lanes);
        uint16_t cardinality = node->cardinalities[slot + lane];

        if (index_probe_may_pass(probe, cardinality, overlaps[lane])) {
            index_probe_offer(probe, &node->items[slot + lane],
                              node->number * TREE_SLOTS + slot + lane, block + lane, BITS_BLOCK,
                              cardinality, overlaps[lane], probe->contains_cardinality);
        }
    }
    walk->floor = index_probe_floor(probe);
}

/* Returns a mask of the block's lanes that are slots first .. end - 1. The block begins at
 * `slot`. */
static uint32_t lanes_within(uint32_t slot, uint32_t first, uint32_t end)
{
    uint32_t lanes = (1u << BITS_BLOCK) - 1;

    if (slot < first) {
        lanes &= lanes << (first - slot);
    }
    return end - slot < BITS_BLOCK ? lanes & ((1u << (end - slot)) - 1) : lanes;
}

/*
 * Returns a mask of the messages of one block that are in slots first .. end - 1 and whose filters
 * have all bits of the query's `contains` filter. Without such a filter, only the slots matter.
 */
static uint32_t lanes_asked(struct walk *walk, const struct tree_node *node, uint32_t slot,
                            uint32_t first, uint32_t end)
{
    const struct tree *tree = walk->tree;
    uint32_t lanes = lanes_within(slot, first, end);

    if (walk->probe->contains == NULL) {
        return lanes;
    }
    return lanes & tree->kernels->supersets(walk->probe->contains, tree_block(tree, node, slot),
                                            tree->words);
}

/*
 * Compares the query with the messages in slots first .. end - 1. Offers the messages that pass the
 * floor of the search to the k best.
 */
static void scan_slots(struct walk *walk, const struct tree_node *node, uint32_t first,
                       uint32_t end)
{
    const struct tree *tree = walk->tree;
    uint32_t slot = first / BITS_BLOCK * BITS_BLOCK;
    struct bits_scan scan = {
        .query = walk->probe->filter,
        .words = tree->words,
        .base = walk->probe->cardinality,
    };

    walk->probe->bytes += (end - slot + BITS_BLOCK - 1) / BITS_BLOCK * block_bytes(tree);
    while (slot < end) {
        size_t block_count = (end - slot + BITS_BLOCK - 1) / BITS_BLOCK;
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;

        scan.floor = walk->floor;
        size_t passed =
            tree->kernels->scan(&scan, tree_block(tree, node, slot), &node->cardinalities[slot],
                                block_count, overlaps, &lanes);
        if (passed == block_count) {
            return;
        }
        slot += (uint32_t)passed * BITS_BLOCK;
        offer_lanes(walk, node, slot, overlaps, lanes & lanes_asked(walk, node, slot, first, end));
        slot += BITS_BLOCK;
    }
}

/* The end of the slots in use of a group. */
static uint32_t group_end(const struct tree_node *node, uint32_t group)
{
    return (uint32_t)node->groups[group].first + node->groups[group].used;
}

/* Prefetches the blocks of queued groups that will be opened soon: they may not be in the cache. */
static void fetch_slots(const struct walk *walk, const struct pending *pending)
{
#if defined(__GNUC__)
    size_t words = walk->tree->words;
    uint32_t first = pending->node->groups[pending->group].first;
    uint32_t last = group_end(pending->node, pending->group) - 1;
    const uint64_t *block = tree_block(walk->tree, pending->node, first);

    for (size_t left = last / BITS_BLOCK - first / BITS_BLOCK + 1; left > 0; left--) {
        for (size_t w = 0; w < words; w++) {
            __builtin_prefetch(block + w * BITS_BLOCK);
        }
        block += BITS_BLOCK * words;
    }
    __builtin_prefetch(&pending->node->cardinalities[first]);
#else
    (void)walk;
    (void)pending;
#endif
}

/*
 * Returns whether a queued group may still have one of the k best messages. Reach and floor are
 * defined in walk.h. With the metric of bits, the answer is yes without a further test if the reach
 * is at least floor + 2. Otherwise index_probe_may_hold decides, for two reasons: with a reach of
 * floor + 1, the best message of the group may be no better than the k-th best; and the floor does
 * not bound the rank by the estimated metric.
 */
static bool may_hold(const struct walk *walk, const struct pending *pending)
{
    const struct index_probe *probe = walk->probe;
    const struct tree_group *group = &pending->node->groups[pending->group];

    if (pending->reach <= walk->floor || group->newest_ms < probe->query->since_ms) {
        return false;
    }
    return (pending->reach > walk->floor + 1 && probe->query->metric == INDEX_METRIC_BITS) ||
           index_probe_may_hold(probe, group->low, group->high, pending->shared, group->newest_ms);
}

/* --- groups, the most promising messages of many first ---------------------------------------- */

/* Blocks of messages from any groups, with their overlaps. */
struct batch {
    struct sample sample;
    size_t count;
    const struct tree_node *nodes[SAMPLE_BLOCKS];
    uint32_t slots[SAMPLE_BLOCKS];
};

static void offer_marked(struct walk *walk, struct batch *batch, uint16_t floor)
{
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    sample_mark(&batch->sample, floor);
    for (size_t block = sample_next(&batch->sample, 0, overlaps, &lanes); block < SAMPLE_BLOCKS;
         block = sample_next(&batch->sample, block + 1, overlaps, &lanes)) {
        offer_lanes(walk, batch->nodes[block], batch->slots[block], overlaps, lanes);
    }
}

static void offer_batch(struct walk *walk, struct batch *batch)
{
    if (batch->count == 0) {
        return;
    }
    sample_end(&batch->sample, batch->count);
    offer_marked(walk, batch, sample_floor(&batch->sample, walk->floor, walk->probe->nearest->k));
    offer_marked(walk, batch, walk->floor);
    batch->count = 0;
}

/* Adds the messages in slots first .. end - 1 of a node to a batch; offers the batch when the batch
 * is full. */
static void add_to_batch(struct walk *walk, const struct tree_node *node, uint32_t first,
                         uint32_t end, struct batch *batch)
{
    const struct tree *tree = walk->tree;

    for (uint32_t slot = first / BITS_BLOCK * BITS_BLOCK; slot < end; slot += BITS_BLOCK) {
        uint32_t overlaps[BITS_BLOCK];

        tree->kernels->overlaps(walk->probe->filter, tree_block(tree, node, slot), tree->words,
                                overlaps);
        sample_put(&batch->sample, batch->count, walk->probe->cardinality, overlaps,
                   &node->cardinalities[slot], lanes_asked(walk, node, slot, first, end));
        batch->nodes[batch->count] = node;
        batch->slots[batch->count++] = slot;
        walk->probe->bytes += block_bytes(tree);
        if (batch->count == SAMPLE_BLOCKS) {
            offer_batch(walk, batch);
        }
    }
}

/* The caller guarantees that the query has no `contains` filter: see walk_is_plain and
 * should_sweep. */
void walk_sweep(struct walk *walk, const struct tree_node *node)
{
    uint32_t first = 0;

    while (first < node->slot_count) {
        uint32_t left = node->slot_count - first;
        uint32_t count = left < SAMPLE_MESSAGES ? left : SAMPLE_MESSAGES;

        if (sample_pays(walk->probe->nearest, count)) {
            struct batch batch;

            batch.count = 0;
            add_to_batch(walk, node, first, first + count, &batch);
            offer_batch(walk, &batch);
        } else {
            count = left;
            scan_slots(walk, node, first, first + count);
        }
        first += count;
    }
    walk->probe->comparisons += node->message_count;
}

/* --- queued groups ---------------------------------------------------------------------------- */

static uint32_t pending_first(const struct pending *pending)
{
    return pending->node->groups[pending->group].first;
}

static uint32_t pending_end(const struct pending *pending)
{
    return group_end(pending->node, pending->group + pending->count - 1u);
}

/*
 * Compares the messages of all queued groups while fewer than k messages are known. Collects
 * messages in a batch first, so that the most similar messages of a batch are offered first.
 */
static void compare_first(struct walk *walk)
{
    struct batch batch;

    batch.count = 0;
    for (uint32_t i = 0; i < walk->pending_count; i++) {
        const struct pending *pending = &walk->pending[i];

        if (i + AHEAD < walk->pending_count) {
            fetch_slots(walk, pending + AHEAD);
        }
        add_to_batch(walk, pending->node, pending_first(pending), pending_end(pending), &batch);
    }
    offer_batch(walk, &batch);
}

void walk_flush(struct walk *walk)
{
    uint32_t messages = 0;

    for (uint32_t i = 0; i < walk->pending_count; i++) {
        messages += pending_end(&walk->pending[i]) - pending_first(&walk->pending[i]);
    }
    bool first = !nearest_is_full(walk->probe->nearest) && messages > walk->probe->nearest->k;
    if (first) {
        compare_first(walk);
    }
    for (uint32_t i = 0; i < walk->pending_count; i++) {
        const struct pending *pending = &walk->pending[i];

        if (!first && i + AHEAD < walk->pending_count) {
            fetch_slots(walk, pending + AHEAD);
        }
        if (!first && (pending->count > 1 || may_hold(walk, pending))) {
            scan_slots(walk, pending->node, pending_first(pending), pending_end(pending));
        } else if (!first) {
            continue;
        }
        walk->probe->opened += pending->count;
        walk->probe->comparisons += pending_end(pending) - pending_first(pending);
    }
    walk->pending_count = 0;
}

void walk_open(struct walk *walk, const struct tree_node *node, uint32_t group, uint16_t reach,
               uint16_t shared)
{
    struct pending *last = walk->pending_count > 0 ? &walk->pending[walk->pending_count - 1] : NULL;
    struct pending one = {node, (uint16_t)group, 1, reach, shared};

    walk->probe->bytes += sizeof(node->groups[group]);
    if (node->groups[group].used == 0 || !may_hold(walk, &one)) {
        return;
    }
    if (last != NULL && last->node == node && last->group + last->count == group) {
        last->count++;
        return;
    }
    if (walk->pending_count == PENDING_MAX) {
        walk_flush(walk);
    }
    walk->pending[walk->pending_count++] = one;
    if (walk->pending_count <= AHEAD) {
        fetch_slots(walk, &walk->pending[walk->pending_count - 1]);
    }
}
