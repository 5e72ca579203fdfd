/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuild, step 3: puts the groups in an order. Each node then gets a run of consecutive groups of
 * this order. */
#include <string.h>

#include "core/filter/bloom.h"
#include "core/tree/inner.h"

/* Moves the loose groups behind all other groups. Returns the number of the other groups, and the
 * number of their messages in *out_messages. */
static size_t part_loose(struct tree_arranger *arranger, size_t *out_messages)
{
    struct tree_order *order = arranger->order;
    uint8_t *sizes = (uint8_t *)arranger->scores; /* of the loose ones */
    size_t message = 0;
    size_t tight = 0;
    size_t loose = 0;

    *out_messages = 0;
    for (size_t g = 0; g < order->group_count; g++) {
        uint32_t size = order->sizes[g] & (TREE_LOOSE - 1u);

        if ((order->sizes[g] & TREE_LOOSE) != 0) {
            sizes[loose++] = (uint8_t)size;
            memcpy(arranger->moved + message - *out_messages, order->positions + message,
                   size * sizeof(*order->positions));
        } else {
            order->sizes[tight++] = (uint8_t)size;
            memmove(order->positions + *out_messages, order->positions + message,
                    size * sizeof(*order->positions));
            *out_messages += size;
        }
        message += size;
    }
    memcpy(order->sizes + tight, sizes, loose * sizeof(*sizes));
    memcpy(order->positions + *out_messages, arranger->moved,
           (message - *out_messages) * sizeof(*order->positions));
    return tight;
}

/* --- alike groups together -------------------------------------------------------------------- */

/* The groups of one window while order.c puts them in order. The arrays of this struct are memory
 * of the arranger. */
struct gathering {
    struct tree_arranger *arranger;
    size_t count;
    uint32_t *firsts; /* for each group, the index in `positions` of the group's first message */
    uint8_t *sizes;   /* 0: has its place */
    uint16_t *bits;   /* of their common bits, which are in rows */
    uint32_t *positions;
    uint8_t *out_sizes;
    size_t placed;
};

static uint64_t *row_of(const struct gathering *gathering, size_t group)
{
    size_t words = gathering->arranger->tree->words;

    return gathering->arranger->rows + group / BITS_BLOCK * BITS_BLOCK * words + group % BITS_BLOCK;
}

/* Returns whether a group is mixed: some message shares less than a third of its bits with the
 * common bits of the group. */
static bool is_mixed(const struct tree *tree, const uint32_t *positions, uint32_t count,
                     const uint64_t *common)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    bool mixed = false;

    for (uint32_t i = 0; i < count && !mixed; i++) {
        struct tree_spot spot = tree_spot_at(tree, positions[i]);

        tree_read_filter(tree, spot, filter);
        mixed = bloom_intersection_count(filter, common, tree->words) * 3 < tree_cardinality(spot);
    }
    return mixed;
}

/* Loads the groups of a window. Marks each mixed group (is_mixed) with TREE_LOOSE. Returns the
 * number of messages in all groups of the window. */
static size_t take_up(struct gathering *gathering)
{
    const struct tree *tree = gathering->arranger->tree;
    size_t messages = 0;

    memset(row_of(gathering, gathering->count / BITS_BLOCK * BITS_BLOCK), 0,
           gathering->count % BITS_BLOCK != 0 ? BITS_BLOCK * tree->words * sizeof(uint64_t) : 0);
    for (size_t g = 0; g < gathering->count; g++) {
        uint32_t size = gathering->out_sizes[g] & (TREE_LOOSE - 1u);
        uint64_t *row = row_of(gathering, g);
        uint64_t bits[PROFILE_WORDS_MAX];

        tree_common_bits(tree, gathering->positions + messages, size, bits);
        for (size_t w = 0; w < tree->words; w++) {
            row[w * BITS_BLOCK] = bits[w];
        }
        gathering->bits[g] = (uint16_t)tree->kernels->cardinality(bits, tree->words);
        gathering->firsts[g] = (uint32_t)messages;
        gathering->sizes[g] = gathering->out_sizes[g];
        if (is_mixed(tree, gathering->positions + messages, size, bits)) {
            gathering->sizes[g] |= TREE_LOOSE;
        }
        messages += size;
    }
    memcpy(gathering->arranger->moved, gathering->positions,
           messages * sizeof(*gathering->positions));
    return messages;
}

static void place_group(struct gathering *gathering, size_t group)
{
    uint32_t size = gathering->sizes[group] & (TREE_LOOSE - 1u);

    memcpy(gathering->positions, gathering->arranger->moved + gathering->firsts[group],
           size * sizeof(*gathering->positions));
    gathering->positions += size;
    gathering->out_sizes[gathering->placed++] = gathering->sizes[group];
    gathering->sizes[group] = 0;
}

/* Returns whether a group has no place yet and is not loose. */
static bool is_waiting(const struct gathering *gathering, size_t group)
{
    return gathering->sizes[group] != 0 && gathering->sizes[group] < TREE_LOOSE;
}

/*
 * Places all waiting groups (is_waiting) that are similar to the group `leader` (tree_are_alike)
 * directly behind `leader`.
 */
static void place_alike(struct gathering *gathering, size_t leader)
{
    const struct tree *tree = gathering->arranger->tree;
    uint64_t bits[PROFILE_WORDS_MAX];

    for (size_t w = 0; w < tree->words; w++) {
        bits[w] = row_of(gathering, leader)[w * BITS_BLOCK];
    }
    for (size_t first = leader / BITS_BLOCK * BITS_BLOCK; first < gathering->count;
         first += BITS_BLOCK) {
        uint32_t overlaps[BITS_BLOCK];

        tree->kernels->overlaps(bits, row_of(gathering, first), tree->words, overlaps);
        for (size_t g = first; g < first + BITS_BLOCK && g < gathering->count; g++) {
            if (is_waiting(gathering, g) &&
                tree_are_alike(overlaps[g - first], gathering->bits[leader], gathering->bits[g])) {
                place_group(gathering, g);
            }
        }
    }
}

void tree_gather_alike(struct tree_arranger *arranger, uint32_t *positions, size_t first)
{
    struct tree_order *order = arranger->order;

    while (first < order->group_count) {
        size_t left = order->group_count - first;
        struct gathering gathering = {
            .arranger = arranger,
            .count = left < arranger->window_room ? left : arranger->window_room,
            .firsts = arranger->numbers,
            .sizes = (uint8_t *)arranger->formed,
            .bits = arranger->cardinalities,
            .positions = positions,
            .out_sizes = order->sizes + first,
        };

        positions += take_up(&gathering);
        for (size_t g = 0; g < gathering.count; g++) {
            if (is_waiting(&gathering, g)) {
                place_group(&gathering, g);
                place_alike(&gathering, g);
            }
        }
        for (size_t g = 0; g < gathering.count; g++) {
            if (gathering.sizes[g] != 0) {
                place_group(&gathering, g);
            }
        }
        first += gathering.count;
    }
}

void tree_part_loose(struct tree_arranger *arranger)
{
    struct tree_order *order = arranger->order;
    size_t message = 0;
    size_t first = part_loose(arranger, &message);

    tree_gather_alike(arranger, order->positions + message, first);
    for (size_t g = first; g < order->group_count; g++) {
        order->sizes[g] &= TREE_LOOSE - 1u;
    }
}
