/* SPDX-License-Identifier: Apache-2.0 */
/* slot: the storage of a node. Allocates the storage; reads, writes and clears the messages in its
 * slots. node.c updates the groups, their unions and the map of ids. */
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

/* --- storage ---------------------------------------------------------------------------------- */

/* The size in bytes of each of the arrays section_least, section_filled and section_most of a node.
 */
static size_t ranges_bytes(const struct tree *tree)
{
    return tree->section_count == 1 ? 0 : (size_t)tree->section_count * TREE_GROUPS;
}

size_t tree_node_bytes(const struct tree *tree)
{
    return sizeof(struct tree_node) +
           ((size_t)tree->bits * BITS_LANE_WORDS + tree->words + TREE_LINE_WORDS - 1) *
               sizeof(uint64_t) +
           3 * ranges_bytes(tree);
}

/*
 * Returns how many words of storage `room` slots take: filters, items, entries, cardinalities with
 * the set bits by section, and spare words, because the filters begin at a cache line. `room` is a
 * multiple of BITS_BLOCK, because filters are stored in whole blocks.
 */
static size_t slots_words(const struct tree *tree, size_t room)
{
    /* The size of an item need not be a multiple of a word: i386 aligns 64-bit numbers to 32 bits.
     */
    size_t rest_bytes = room * (sizeof(struct index_item) + sizeof(uint32_t) +
                                tree->section_count * sizeof(uint16_t));

    return room == 0 ? 0
                     : room * tree->words + (rest_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) +
                           TREE_LINE_WORDS - 1;
}

size_t tree_slots_bytes(const struct tree *tree, size_t room)
{
    return slots_words(tree, room) * sizeof(uint64_t);
}

/* Returns the first word of `storage` that is at the start of a cache line. `storage` begins at a
 * multiple of 8 bytes, and has TREE_LINE_WORDS - 1 spare words for this. */
static uint64_t *at_line(uint64_t *storage)
{
    size_t past = (uintptr_t)storage / sizeof(uint64_t) % TREE_LINE_WORDS;

    return storage + (TREE_LINE_WORDS - past) % TREE_LINE_WORDS;
}

struct tree_node *tree_node_new(const struct tree *tree)
{
    struct tree_node *node = alloc_zeroed(tree->alloc, 1, tree_node_bytes(tree));

    if (node != NULL) {
        node->columns = at_line(node->storage);
        node->whole = node->columns + (size_t)tree->bits * BITS_LANE_WORDS;
        node->newest_ms = INT64_MIN;
        node->block_counts = BITS_BLOCK * tree->section_count;
        memset(node->least, UINT8_MAX, sizeof(node->least));
        node->section_least = node->least;
        node->section_filled = node->least;
        node->section_most = node->most;
        if (tree->section_count > 1) {
            node->section_least = (uint8_t *)(node->whole + tree->words);
            node->section_filled = node->section_least + ranges_bytes(tree);
            node->section_most = node->section_filled + ranges_bytes(tree);
            memset(node->section_least, UINT8_MAX, 2 * ranges_bytes(tree));
        }
    }
    return node;
}

void tree_node_free(const struct tree *tree, struct tree_node *node)
{
    if (node == NULL) {
        return;
    }
    alloc_release(tree->alloc, node->slot_storage);
    alloc_release(tree->alloc, node);
}

/* Sets the pointers of a node's arrays to new storage. */
static void use_storage(const struct tree *tree, struct tree_node *node, uint64_t *storage,
                        uint32_t room)
{
    node->slot_storage = storage;
    node->slot_room = room;
    node->filters = at_line(storage);
    node->items = (struct index_item *)(node->filters + room * tree->words);
    node->entries = (uint32_t *)(node->items + room);
    node->cardinalities = (uint16_t *)(node->entries + room);
}

/* Fills a new array, of which each slot has `bytes` bytes: copies the first `kept` slots of the old
 * one, and clears the others up to `room`. */
static void carry_over(void *array, const void *old, size_t kept, size_t room, size_t bytes)
{
    if (kept > 0) {
        memcpy(array, old, kept * bytes);
    }
    memset((uint8_t *)array + kept * bytes, 0, (room - kept) * bytes);
}

/* Moves a node's messages to new storage with `room` slots, which must be enough. 0 or
 * -ERR_NOMEM. */
static int resize_slots(struct tree *tree, struct tree_node *node, uint32_t room)
{
    uint64_t *storage = alloc_array(tree->alloc, slots_words(tree, room), sizeof(uint64_t));
    struct tree_node old = {
        .slot_storage = node->slot_storage,
        .slot_room = node->slot_room,
        .filters = node->filters,
        .items = node->items,
        .entries = node->entries,
        .cardinalities = node->cardinalities,
    };
    size_t kept = old.slot_room < room ? old.slot_room : room;

    if (storage == NULL) {
        return -ERR_NOMEM;
    }
    use_storage(tree, node, storage, room);
    carry_over(node->filters, old.filters, kept, room, tree->words * sizeof(*node->filters));
    carry_over(node->items, old.items, kept, room, sizeof(*node->items));
    carry_over(node->entries, old.entries, kept, room, sizeof(*node->entries));
    carry_over(node->cardinalities, old.cardinalities, kept, room,
               tree->section_count * sizeof(*node->cardinalities));
    for (size_t slot = kept; slot < room; slot++) {
        node->items[slot].expires_ms = INT64_MIN; /* a free slot must never be an answer */
    }
    alloc_release(tree->alloc, old.slot_storage);
    return 0;
}

/*
 * A node without slots gets `slots` slots, rounded up to whole blocks. A node with slots grows by
 * at least 1/8, up to TREE_SLOTS.
 */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t slots)
{
    uint32_t room = node->slot_room == 0 ? slots : node->slot_room + node->slot_room / 8 + 64;

    if (slots <= node->slot_room) {
        return 0;
    }
    room = room < slots ? slots : room;
    room = room > TREE_SLOTS ? TREE_SLOTS : room;
    return resize_slots(tree, node, (room + BITS_BLOCK - 1) / BITS_BLOCK * BITS_BLOCK);
}

/* Shrinks a node's storage if it is large and less than half of it is needed: inner.h has the
 * rule. If there is no memory to allocate the smaller storage, the node keeps the larger one. */
void tree_trim(struct tree *tree, struct tree_node *node)
{
    enum { SMALL = 128 };
    uint32_t room = (node->slot_count + BITS_BLOCK - 1) / BITS_BLOCK * BITS_BLOCK;

    if (node->slot_room > SMALL && node->slot_count > 0 && room < node->slot_room / 2) {
        (void)resize_slots(tree, node, room);
    }
}

/* --- messages in slots ------------------------------------------------------------------------ */

void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out)
{
    const uint64_t *from = tree_block(tree, spot.node, spot.slot) + spot.slot % BITS_BLOCK;

    for (size_t w = 0; w < tree->words; w++) {
        out[w] = from[w * BITS_BLOCK];
    }
}

void tree_write_message(const struct tree *tree, struct tree_spot to, const struct index_item *item,
                        const uint64_t *filter, uint16_t cardinality)
{
    uint64_t *row = tree_block(tree, to.node, to.slot) + to.slot % BITS_BLOCK;
    uint16_t *counts = tree_counts(to.node, to.slot);

    for (size_t w = 0; w < tree->words; w++) {
        row[w * BITS_BLOCK] = filter[w];
    }
    *tree_item(to) = *item;
    to.node->entries[to.slot] = 0;
    counts[0] = cardinality;
    for (uint32_t s = 1; s < tree->section_count; s++) {
        counts[s * BITS_BLOCK] = (uint16_t)bloom_union_count_range(
            filter, filter, tree->sections[s].first_bit, tree->sections[s].bits);
    }
}

void tree_read_counts(const struct tree *tree, struct tree_spot spot, uint16_t *out)
{
    const uint16_t *counts = tree_counts(spot.node, spot.slot);

    out[0] = counts[0];
    for (uint32_t s = 1; s < tree->section_count; s++) {
        out[s] = counts[s * BITS_BLOCK];
        out[0] = (uint16_t)(out[0] - out[s]);
    }
}

void tree_clear_message(const struct tree *tree, struct tree_spot spot)
{
    static const struct index_item nothing = {.expires_ms = INT64_MIN};
    static const uint64_t zero[PROFILE_WORDS_MAX];

    tree_write_message(tree, spot, &nothing, zero, 0);
}

void tree_copy_message(const struct tree *tree, struct tree_spot from, struct tree_spot to)
{
    uint64_t filter[PROFILE_WORDS_MAX];

    tree_read_filter(tree, from, filter);
    tree_write_message(tree, to, tree_item(from), filter, tree_cardinality(from));
    to.node->entries[to.slot] = from.node->entries[from.slot];
}

void tree_common_bits(const struct tree *tree, const uint32_t *positions, uint32_t count,
                      uint64_t *out)
{
    enum { PLANES = 4 };
    uint64_t filters[TREE_GROUP][PROFILE_WORDS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        tree_read_filter(tree, tree_spot_at(tree, positions[i]), filters[i]);
    }
    for (size_t w = 0; w < tree->words; w++) {
        uint64_t planes[PLANES] = {0};
        uint64_t reached = UINT64_MAX;

        for (uint32_t i = 0; i < count; i++) {
            uint64_t carry = filters[i][w];

            for (size_t p = 0; p < PLANES; p++) {
                uint64_t before = planes[p];

                planes[p] ^= carry;
                carry &= before;
            }
        }
        for (size_t p = 0; p < PLANES; p++) { /* at least half, from the lowest plane up */
            bool needed = ((count + 1) / 2 >> p & 1) != 0;

            reached = needed ? planes[p] & reached : planes[p] | reached;
        }
        out[w] = reached;
    }
}
