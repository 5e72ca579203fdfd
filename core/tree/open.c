/* SPDX-License-Identifier: Apache-2.0 */
/* open: the lowest level of a search. Opens groups, that is, compares their messages with the
 * query. */
#include "core/index/sample.h"
#include "core/tree/walk.h"

enum {
    AHEAD = 8,       /* list_groups prefetches so many groups ahead */
    PLACES_MAX = 64, /* blocks listed at a time, and those of one group more */
    /* A search sifts blocks until it has done so with SIFT_LEAST of them, and then as long as at
     * most SIFT_PERCENT of the blocks have to be read whole all the same. */
    SIFT_LEAST = 128,
    SIFT_PERCENT = 40,
    /* Listing a block and sifting it takes so long; comparing one after the other, 100.
     * The second number is of large trees, which no cache holds. */
    LISTED_PERCENT = 150,
    LISTED_LARGE_PERCENT = 300,
    LARGE_BYTES = 16 * 1024 * 1024 /* of filters */
};

/* A message's filter, in a slot of a node, and how many bits it shares with the query. */
struct offered {
    const struct tree_node *node;
    uint32_t slot;
    uint32_t overlap;
};

/* Offers one of the messages of a slot. Returns whether an older one may be an answer, too. */
static bool offer_one(struct walk *walk, const struct offered *offered,
                      const struct index_item *item, uint32_t place)
{
    const struct tree_node *node = offered->node;
    uint32_t slot = offered->slot;
    struct index_counts counts = {tree_counts(node, slot), BITS_BLOCK};

    return index_probe_offer_counted(
        walk->probe, item, place, tree_block(walk->tree, node, slot) + slot % BITS_BLOCK,
        BITS_BLOCK, counts, offered->overlap, walk->probe->contains_cardinality);
}

/*
 * Offers the founder of an entry (NULL: it is gone, or was offered) and its twins from `twin` on,
 * the newest first, until no older one can be an answer. If the step has done its work before, the
 * other twins are left to a later step, and the founder is offered, because it has no number that
 * would stay the same until then. Without memory for that the step goes on.
 */
static void offer_twins(struct walk *walk, const struct offered *offered,
                        const struct index_item *founder, uint32_t twin)
{
    const struct tree *tree = walk->tree;
    uint32_t founder_place = offered->node->number * TREE_SLOTS + offered->slot;
    bool more = true;

    while (more && (twin != 0 || founder != NULL)) {
        const struct tree_twin *it = twin != 0 ? tree_twin(tree, twin) : NULL;

        if (it != NULL && walk_is_spent(walk) && walk_leave_rest(walk, twin, offered->overlap)) {
            it = NULL;
            twin = 0;
            if (founder == NULL) {
                break;
            }
        }
        walk->probe->comparisons++; /* it takes about as much time */
        if (it == NULL || (founder != NULL && founder->deposited_ms > it->item.deposited_ms)) {
            more = offer_one(walk, offered, founder, founder_place);
            founder = NULL;
        } else {
            more = offer_one(walk, offered, &it->item, tree->node_room * TREE_SLOTS + twin);
            twin = it->older;
        }
    }
}

/* Offers the messages of a slot with twins. */
static void offer_entry(struct walk *walk, const struct offered *offered,
                        const struct tree_entry *entry)
{
    offer_twins(walk, offered, entry->founder_gone ? NULL : &offered->node->items[offered->slot],
                entry->newest);
}

void walk_resume(struct walk *walk)
{
    struct walk_rest rest = walk->cursor->rests[--walk->cursor->rest_count];

    if (rest.twin == 0) {
        return;
    }
    uint32_t entry = tree_twin(walk->tree, rest.twin)->entry;
    struct tree_spot spot = tree_spot_at(walk->tree, walk->tree->entries[entry].position);
    struct offered offered = {spot.node, spot.slot, rest.overlap};
    offer_twins(walk, &offered, NULL, rest.twin);
    walk_note_floor(walk);
}

/* Offers messages of the block that begins at `slot` to the k best. Bit i of `lanes` says whether
 * the message in lane i may be offered. */
static void offer_lanes(struct walk *walk, const struct tree_node *node, uint32_t slot,
                        const uint32_t *overlaps, uint32_t lanes)
{
    struct index_probe *probe = walk->probe;

    for (; lanes != 0; lanes &= lanes - 1) {
        uint32_t lane = sliced_lowest(lanes);
        uint16_t cardinality = *tree_counts(node, slot + lane);

        if (index_probe_may_pass(probe, cardinality, overlaps[lane])) {
            struct offered offered = {node, slot + lane, overlaps[lane]};
            uint32_t entry = node->entries[slot + lane];

            if (entry != 0) {
                offer_entry(walk, &offered, &walk->tree->entries[entry]);
            } else {
                (void)offer_one(walk, &offered, &node->items[slot + lane],
                                node->number * TREE_SLOTS + slot + lane);
            }
        }
    }
    walk_note_floor(walk);
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
 * Compares the query with the messages in slots first .. end - 1 of a node, and offers those that
 * pass the floor of the search to the k best. `first` is the first slot of a block. The query has
 * no `contains` filter.
 */
static void scan_slots(struct walk *walk, const struct tree_node *node, uint32_t first,
                       uint32_t end)
{
    const struct tree *tree = walk->tree;
    uint32_t slot = first;
    struct bits_scan scan = walk->scan;

    walk->probe->bytes +=
        (end - slot + BITS_BLOCK - 1) / BITS_BLOCK * bits_bytes(&scan, bits_words(&scan));
    while (slot < end) {
        size_t block_count = (end - slot + BITS_BLOCK - 1) / BITS_BLOCK;
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;

        scan.floor = walk->floor;
        size_t passed = tree->kernels->scan(&scan, tree_block(tree, node, slot),
                                            tree_counts(node, slot), block_count, overlaps, &lanes);
        if (passed == block_count) {
            return;
        }
        slot += (uint32_t)passed * BITS_BLOCK;
        offer_lanes(walk, node, slot, overlaps, lanes & lanes_within(slot, first, end));
        slot += BITS_BLOCK;
    }
}

/* --- groups, the most promising messages of many first ---------------------------------------- */

/* Blocks of messages of a node, with their overlaps. */
struct batch {
    struct sample sample;
    struct bits_scan scan;
    const struct tree_node *node;
    size_t count;
    uint32_t slots[SAMPLE_BLOCKS];
};

static void offer_marked(struct walk *walk, struct batch *batch, uint16_t floor)
{
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    sample_mark(&batch->sample, floor);
    for (size_t block = sample_next(&batch->sample, 0, overlaps, &lanes); block < SAMPLE_BLOCKS;
         block = sample_next(&batch->sample, block + 1, overlaps, &lanes)) {
        offer_lanes(walk, batch->node, batch->slots[block], overlaps, lanes);
    }
}

static void offer_batch(struct walk *walk, struct batch *batch)
{
    sample_end(&batch->sample, batch->count);
    offer_marked(walk, batch, sample_floor(&batch->sample, walk->floor, walk->probe->nearest->k));
    offer_marked(walk, batch, walk->floor);
}

/* Adds the messages in some lanes of the block that begins at `slot` to a batch. */
static void add_to_batch(struct walk *walk, struct batch *batch, uint32_t slot, uint32_t lanes)
{
    const struct tree *tree = walk->tree;
    const struct tree_node *node = batch->node;
    const uint64_t *block = tree_block(tree, node, slot);
    const struct bits_scan *scan = &batch->scan;
    uint32_t overlaps[BITS_BLOCK];

    if (walk->probe->contains != NULL) {
        lanes &= tree->kernels->supersets(walk->probe->contains, block, tree->words);
    }
    tree->kernels->overlaps(scan->query + scan->before, block + scan->before * BITS_BLOCK,
                            bits_words(scan), overlaps);
    sample_put(&batch->sample, batch->count, overlaps, tree_counts(node, slot), lanes);
    batch->slots[batch->count++] = slot;
    walk->probe->bytes += bits_bytes(scan, bits_words(scan));
}

/* Offers the messages in slots first .. end - 1 through a sample. `first` is the first slot of a
 * block, and there are at most SAMPLE_MESSAGES slots. */
static void sample_slots(struct walk *walk, const struct tree_node *node, uint32_t first,
                         uint32_t end)
{
    struct batch batch;

    batch.node = node;
    batch.scan = walk->scan;
    sample_begin(&batch.sample, walk->tree->kernels, &batch.scan);
    batch.count = 0;
    for (uint32_t slot = first; slot < end; slot += BITS_BLOCK) {
        add_to_batch(walk, &batch, slot, lanes_within(slot, first, end));
    }
    offer_batch(walk, &batch);
}

/* The caller guarantees that the query has no `contains` filter: see walk_is_plain and
 * should_sweep. */
void walk_sweep(struct walk *walk, const struct tree_node *node)
{
    uint32_t first = 0;

    while (first < node->slot_count) {
        uint32_t left = node->slot_count - first;
        uint32_t count = left < SAMPLE_MESSAGES ? left : SAMPLE_MESSAGES;

        if (walk->probe->query->found == NULL && sample_pays(walk->probe->nearest, count)) {
            sample_slots(walk, node, first, first + count);
        } else {
            count = left;
            scan_slots(walk, node, first, first + count);
        }
        first += count;
    }
    walk->probe->comparisons += node->entry_count;
    walk->cursor->spent += node->slot_count / BITS_BLOCK;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The blocks of some groups of a node. A block with messages of several of these groups is listed
 * once. */
struct places {
    struct bits_list list;
    uint32_t messages;
    bool sifts; /* their `rest` is noted */
    struct bits_place places[PLACES_MAX + 2];
};

/*
 * Returns whether a group may still have one of the k best messages. Reach and floor are defined in
 * walk.h. With the metric of bits, the answer is yes without a further test if the reach is at
 * least floor + 2. With a reach of floor + 1, the best message of the group may be no better than
 * the k-th best; and in a search for the newest messages the floor does not bound the time, which
 * decides there. Then index_probe_may_hold decides. With phi, index_probe_may_reach and
 * walk_is_tied do.
 */
static inline bool may_hold(const struct walk *walk, const struct tree_node *node, uint16_t number,
                            uint16_t reach, uint16_t shared)
{
    const struct index_probe *probe = walk->probe;
    const struct tree_group *group = &node->groups[number];

    if (reach <= walk->floor || group->newest_ms < probe->query->since_ms) {
        return false;
    }
    if (probe->query->metric == INDEX_METRIC_PHI) {
        return walk_may_reach(walk, reach, group->newest_ms) &&
               (!walk_may_tie(walk, reach) || group->newest_ms >= walk->worst_ms ||
                !walk_is_tied(walk, node, number, shared));
    }
    return (reach > walk->floor + 1 && probe->query->order == INDEX_ORDER_SIMILARITY) ||
           index_probe_may_hold(probe, group->low, group->high, shared, group->newest_ms);
}

size_t walk_leave_out(const struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                      uint16_t *groups, size_t count)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        uint16_t group = groups[i];

        if (may_hold(walk, node, group, kept->reach[group], kept->shared[group])) {
            groups[left++] = group;
        } else {
            kept->reach[group] = REACH_DONE;
        }
    }
    return left;
}

/* Adds the blocks of a group, two at most, to a list. Has few branches, because processors cannot
 * foresee in how many blocks a group lies. */
static inline void list_group(struct places *places, const struct tree_group *group, uint16_t reach)
{
    uint32_t lanes = ((1u << group->used) - 1) << group->first % BITS_BLOCK;
    uint16_t block = group->first / BITS_BLOCK;
    struct bits_place *next = &places->places[places->list.count];
    bool listed = places->list.count > 0 && next[-1].block == block;

    next -= listed;
    next[0].block = block;
    next[0].reach = listed && next->reach > reach ? next->reach : reach;
    next[0].lanes = (uint8_t)(listed ? next->lanes | lanes : lanes);
    next[1].block = (uint16_t)(block + 1);
    next[1].reach = reach;
    next[1].lanes = (uint8_t)(lanes >> BITS_BLOCK);
    places->list.count = (size_t)(next - places->places) + 1 + (next[1].lanes != 0);
    places->messages += group->used;
}

/*
 * Prepares the blocks of a group to be sifted: those from number `first` on, which were just
 * listed, and the one before if it has messages of the group, too. Notes how many bits the messages
 * of the group share with the query, at most, in the words that `sift` does not read, and
 * prefetches the others.
 */
static inline void note_rests(struct places *places, size_t first, uint16_t block, uint8_t rest,
                              const struct bits_scan *scan, struct bits_part part)
{
    for (size_t p = first; p < places->list.count; p++) {
        places->places[p].rest = rest;
        bits_fetch_part(&places->list, scan, p, part);
    }
    if (first > 0 && places->places[first - 1].block == block &&
        places->places[first - 1].rest < rest) {
        places->places[first - 1].rest = rest;
    }
}

/*
 * Lists the blocks of the groups that may have one of the k best. Stops when the list is full.
 * Returns how many of the `count` groups it has dealt with.
 */
static size_t list_groups(struct walk *walk, const struct tree_node *node, const uint16_t *groups,
                          size_t count, const struct kept_node *kept, struct places *places)
{
    struct bits_scan scan = walk->scan;
    size_t i = 0;

    for (; i < count && places->list.count < PLACES_MAX; i++) {
        const struct tree_group *group = &node->groups[groups[i]];
        fetch_line(&node->groups[groups[i + AHEAD < count ? i + AHEAD : i]]);
        uint16_t reach = kept != NULL ? kept->reach[groups[i]] : REACH_MOST;
        uint16_t shared =
            kept != NULL ? kept->shared[groups[i]] : (uint16_t)walk->probe->cardinality;

        if (group->used > 0 && may_hold(walk, node, groups[i], reach, shared)) {
            size_t first = places->list.count;

            list_group(places, group, reach);
            if (places->sifts) {
                note_rests(places, first, group->first / BITS_BLOCK, kept->rests[groups[i]], &scan,
                           walk->parts.small);
            }
            walk->probe->opened++;
        }
    }
    walk->probe->bytes += i * sizeof(*node->groups);
    return i;
}

static void fetch_listed(const struct bits_scan *scan, const struct places *places)
{
    for (size_t p = 0; p < BITS_AHEAD && p < places->list.count; p++) {
        bits_fetch(&places->list, scan, p);
    }
}

/* Compares the query with the listed messages while fewer than k messages are known: offers the
 * most similar messages first. */
static void sample_listed(struct walk *walk, const struct tree_node *node,
                          const struct places *places)
{
    struct batch batch;

    batch.node = node;
    batch.scan = walk->scan;
    sample_begin(&batch.sample, walk->tree->kernels, &batch.scan);
    batch.count = 0;
    fetch_listed(&batch.scan, places);
    for (size_t i = 0; i < places->list.count; i++) {
        const struct bits_place *place = &places->places[i];

        if (i + BITS_AHEAD < places->list.count) {
            bits_fetch(&places->list, &batch.scan, i + BITS_AHEAD);
        }
        if (batch.count == SAMPLE_BLOCKS) {
            offer_batch(walk, &batch);
            batch.count = 0;
        }
        add_to_batch(walk, &batch, (uint32_t)place->block * BITS_BLOCK, place->lanes);
    }
    offer_batch(walk, &batch);
}

/*
 * The floor of a search rises, so sifting may pay later although it did not before. So a search
 * tries again as soon as its floor is a quarter higher.
 */
bool walk_sifts(const struct walk *walk)
{
    const struct tree_cursor *cursor = walk->cursor;

    return cursor->sifted < SIFT_LEAST ||
           (uint64_t)cursor->survived * 100 <= (uint64_t)cursor->sifted * SIFT_PERCENT ||
           walk->floor > cursor->sift_floor + cursor->sift_floor / 4;
}

/* Notes how many blocks one list had at first, and when it had been sifted. */
static void note_sifted(struct walk *walk, size_t sifted, size_t survived)
{
    struct tree_cursor *cursor = walk->cursor;

    if (walk->floor > cursor->sift_floor + cursor->sift_floor / 4) {
        cursor->sift_floor = walk->floor;
        cursor->sifted = 0;
        cursor->survived = 0;
    }
    cursor->sifted += (uint32_t)sifted;
    cursor->survived += (uint32_t)survived;
}

/* Reads the first words (walk_parts) of the listed blocks, and takes the messages out of the list
 * that cannot pass the floor. Returns how many words of each filter were read. */
static size_t sift_listed(struct walk *walk, struct places *places)
{
    struct bits_scan scan = walk->scan;
    struct bits_list *list = &places->list;
    struct bits_part part = walk->parts.small;
    size_t count = list->count;

    scan.floor = walk->floor;
    list->count = walk->tree->kernels->sift(&scan, list, part, places->places, count);
    walk->probe->bytes += count * bits_bytes(&scan, part.end - part.first);
    note_sifted(walk, count, list->count);
    return part.end - part.first;
}

/* The first `read` words of each listed block were read before. */
static void scan_listed(struct walk *walk, const struct tree_node *node,
                        const struct places *places, size_t read)
{
    const struct bits_kernels *kernels = walk->tree->kernels;
    struct bits_scan scan = walk->scan;
    size_t next = 0;

    fetch_listed(&scan, places);
    while (next < places->list.count) {
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;

        scan.floor = walk->floor;
        next = kernels->scan_listed(&scan, &places->list, next, overlaps, &lanes);
        if (next < places->list.count) {
            offer_lanes(walk, node, (uint32_t)places->places[next].block * BITS_BLOCK, overlaps,
                        lanes);
            next++;
        }
    }
    walk->probe->bytes += places->list.count * (bits_bytes(&scan, bits_words(&scan)) -
                                                (places->sifts ? bits_bytes(&scan, read) : 0));
}

static size_t listed_percent(const struct tree *tree)
{
    return tree->count * tree->words * sizeof(uint64_t) > LARGE_BYTES ? LISTED_LARGE_PERCENT
                                                                      : LISTED_PERCENT;
}

void walk_open(struct walk *walk, const struct tree_node *node, const uint16_t *groups,
               size_t count, const struct kept_node *kept)
{
    struct places places;

    places.list = (struct bits_list){.blocks = node->filters,
                                     .cardinalities = node->cardinalities,
                                     .contains = walk->probe->contains,
                                     .places = places.places};
    while (count > 0) {
        places.list.count = 0;
        places.messages = 0;
        places.sifts = walk->floor > 0 && kept != NULL && kept->has_rests && walk_sifts(walk);
        if (places.sifts) {
            walk_make_ready(walk); /* an earlier step may have counted the node */
        }
        size_t done = list_groups(walk, node, groups, count, kept, &places);
        walk->cursor->spent += places.list.count * listed_percent(walk->tree) / 100;
        size_t read = places.sifts ? sift_listed(walk, &places) : 0;
        if (walk->probe->query->found == NULL && !nearest_is_full(walk->probe->nearest) &&
            places.messages > walk->probe->nearest->k) {
            sample_listed(walk, node, &places);
        } else {
            scan_listed(walk, node, &places, read);
        }
        walk->probe->comparisons += places.messages;
        groups += done;
        count -= done;
    }
}
