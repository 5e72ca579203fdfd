/* SPDX-License-Identifier: Apache-2.0 */
/* In which order the groups formed stand, and so which ones share a node. */
#include "core/tree.h"

#include <string.h>

/* Moves the loose groups behind all others. Returns how many the others are, and their messages. */
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
                   size * sizeof *order->positions);
        } else {
            order->sizes[tight++] = (uint8_t)size;
            memmove(order->positions + *out_messages, order->positions + message,
                    size * sizeof *order->positions);
            *out_messages += size;
        }
        message += size;
    }
    memcpy(order->sizes + tight, sizes, loose * sizeof *sizes);
    memcpy(order->positions + *out_messages, arranger->moved,
           (message - *out_messages) * sizeof *order->positions);
    return tight;
}

static uint32_t least_cardinality(const struct tree *tree, const uint32_t *positions, size_t count)
{
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < count; i++) {
        uint32_t cardinality = tree_cardinality(tree_spot_at(tree, positions[i]));

        least = cardinality < least ? cardinality : least;
    }
    return least;
}

/* Sorts some groups by their smallest messages. Returns how many messages they have. A counting
 * sort, stable. */
static size_t sort_by_cardinality(struct tree_arranger *arranger, uint32_t *positions,
                                  uint8_t *sizes, size_t group_count)
{
    const struct tree *tree = arranger->tree;
    uint32_t *before = arranger->histogram; /* messages of groups with smaller ones */
    size_t messages = 0;
    uint32_t keys[TREE_GROUPS];

    memset(before, 0, ((size_t)tree->bits + 2) * sizeof *before);
    for (size_t g = 0; g < group_count; g++) {
        keys[g] = least_cardinality(tree, positions + messages, sizes[g]);
        before[keys[g] + 1]++;
        arranger->formed[g] = (struct tree_formed){(uint32_t)messages, sizes[g]};
        messages += sizes[g];
    }
    for (uint32_t key = 0; key < tree->bits + 1; key++) {
        before[key + 1] += before[key];
    }
    memcpy(arranger->moved, positions, messages * sizeof *positions);
    for (size_t g = 0; g < group_count; g++) {
        arranger->scores[before[keys[g]]++] = (uint32_t)g;
    }
    for (size_t i = 0, out = 0; i < group_count; i++) {
        const struct tree_formed *formed = &arranger->formed[arranger->scores[i]];

        memcpy(positions + out, arranger->moved + formed->first, formed->size * sizeof *positions);
        sizes[i] = (uint8_t)formed->size;
        out += formed->size;
    }
    return messages;
}

void tree_part_loose(struct tree_arranger *arranger, size_t groups_a_node)
{
    struct tree_order *order = arranger->order;
    size_t message = 0;

    for (size_t g = part_loose(arranger, &message); g < order->group_count;) {
        size_t end = (g / groups_a_node + 1) * groups_a_node;

        end = end < order->group_count ? end : order->group_count;
        message +=
            sort_by_cardinality(arranger, order->positions + message, order->sizes + g, end - g);
        g = end;
    }
}
