/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

/* --- groups opened ---------------------------------------------------------------------------- */

uint32_t tree_next_end(const struct tree_node *node)
{
    return (node->slot_count + BITS_BLOCK - 1) / BITS_BLOCK * BITS_BLOCK + TREE_GROUP;
}

bool tree_has_space(const struct tree *tree, const struct tree_node *node)
{
    return node->empty_count > 0 ||
           (node->group_count < tree->fanout && tree_next_end(node) <= TREE_SLOTS);
}

/* Records in node->room whether a group has a free slot. */
static void note_group(struct tree_node *node, uint32_t group)
{
    const struct tree_group *it = &node->groups[group];
    uint64_t bit = UINT64_C(1) << group % 64;

    if (group < node->group_count && it->used < it->room) {
        node->room[group / 64] |= bit;
    } else {
        node->room[group / 64] &= ~bit;
    }
}

/* The next group, from slot `first` on. */
static uint32_t add_group(struct tree_node *node, uint32_t first, uint32_t room)
{
    uint32_t group = node->group_count++;

    node->groups[group] = (struct tree_group){
        .newest_ms = INT64_MIN,
        .low = UINT16_MAX,
        .first = (uint16_t)first,
        .room = (uint8_t)room,
    };
    node->empty_count++;
    node->slot_count = first + room;
    note_group(node, group);
    return group;
}

static uint32_t append_group(struct tree_node *node, uint32_t room)
{
    return add_group(node, node->slot_count, room);
}

uint32_t tree_open_group(struct tree_node *node)
{
    for (uint32_t g = 0; node->empty_count > 0 && g < node->group_count; g++) {
        if (node->groups[g].used == 0) {
            return g;
        }
    }
    return add_group(node, tree_next_end(node) - TREE_GROUP, TREE_GROUP);
}

uint32_t tree_group_at(const struct tree_node *node, uint32_t slot)
{
    uint32_t low = 0;
    uint32_t high = node->group_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (node->groups[middle].first <= slot) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* --- summaries -------------------------------------------------------------------------------- */

void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out)
{
    const struct tree_group *it = &node->groups[group];

    memset(out, 0, tree->words * sizeof(*out));
    for (uint32_t slot = it->first; slot < (uint32_t)it->first + it->used; slot++) {
        const uint64_t *filter = tree_block(tree, node, slot) + slot % BITS_BLOCK;

        for (size_t w = 0; w < tree->words; w++) {
            out[w] |= filter[w * BITS_BLOCK];
        }
    }
}

/* Adds the bits of a filter to the union of a group and to the union of the node. */
static void widen_union(const struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter)
{
    uint64_t *columns = &node->columns[group / 64];
    uint64_t lane = UINT64_C(1) << group % 64;
    uint32_t added = 0;

    for (size_t w = 0; w < tree->words; w++) {
        node->whole[w] |= filter[w];
        for (uint64_t left = filter[w]; left != 0; left &= left - 1) {
            uint64_t *lanes = &columns[(w * 64 + sliced_lowest(left)) * BITS_LANE_WORDS];

            added += (*lanes & lane) == 0;
            *lanes |= lane;
        }
    }
    node->column_bits += added;
}

/* Clears the bits `gone` in the union of a group. Clears a bit in the union of the node, too, if no
 * group has the bit any more. */
static void narrow_union(const struct tree *tree, struct tree_node *node, uint32_t group,
                         const uint64_t *gone)
{
    for (size_t w = 0; w < tree->words; w++) {
        for (uint64_t left = gone[w]; left != 0; left &= left - 1) {
            uint32_t bit = (uint32_t)w * 64 + sliced_lowest(left);
            const uint64_t *column = node->columns + (size_t)bit * BITS_LANE_WORDS;
            uint64_t any = 0;

            node->column_bits -= sliced_test(node->columns, bit, group);
            sliced_clear(node->columns, bit, group);
            for (size_t i = 0; i < BITS_LANE_WORDS; i++) {
                any |= column[i];
            }
            if (any == 0) {
                node->whole[w] &= ~(UINT64_C(1) << bit % 64);
            }
        }
    }
}

/* Writes the smallest and the largest cardinality of a group to node->least and node->most. Upper
 * bounds are computed from these two arrays. */
static void note_range(struct tree_node *node, const struct tree_group *group)
{
    node->least[group - node->groups] = tree_bound_byte(group->low);
    node->most[group - node->groups] = tree_bound_byte(group->high);
}

/* Does the same for each section, if there are several, with the message in a slot. */
static void widen_sections(const struct tree *tree, struct tree_node *node, size_t group,
                           uint32_t slot)
{
    uint16_t counts[PROFILE_SECTIONS_MAX];

    tree_read_counts(tree, (struct tree_spot){node, slot}, counts);
    for (uint32_t s = 0; tree->section_count > 1 && s < tree->section_count; s++) {
        uint8_t set = tree_bound_byte(counts[s]);
        uint8_t *least = &node->section_least[s * TREE_GROUPS + group];
        uint8_t *filled = &node->section_filled[s * TREE_GROUPS + group];
        uint8_t *most = &node->section_most[s * TREE_GROUPS + group];

        *least = set < *least ? set : *least;
        *filled = set > 0 && set < *filled ? set : *filled;
        *most = set > *most ? set : *most;
    }
}

static void widen_ranges(struct tree_node *node, struct tree_group *group, uint16_t cardinality,
                         int64_t deposited_ms)
{
    group->low = cardinality < group->low ? cardinality : group->low;
    group->high = cardinality > group->high ? cardinality : group->high;
    group->newest_ms = deposited_ms > group->newest_ms ? deposited_ms : group->newest_ms;
    note_range(node, group);
    node->newest_ms = deposited_ms > node->newest_ms ? deposited_ms : node->newest_ms;
}

/* Writes a message to the next free slot of a group. Does not change the union of the group.
 * Returns the slot. */
static uint32_t put_message(struct tree_node *node, uint32_t group, const struct tree *tree,
                            const struct index_item *item, const uint64_t *filter,
                            uint16_t cardinality)
{
    struct tree_group *it = &node->groups[group];
    struct tree_spot spot = {node, (uint32_t)it->first + it->used};

    tree_write_message(tree, spot, item, filter, cardinality);
    widen_ranges(node, it, cardinality, item->deposited_ms);
    widen_sections(tree, node, group, spot.slot);
    node->empty_count -= it->used == 0;
    it->used++;
    node->entry_count++;
    node->cardinality_sum += cardinality;
    return spot.slot;
}

uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, const uint64_t *fresh,
                  uint16_t cardinality)
{
    uint32_t slot = put_message(node, group, tree, item, filter, cardinality);

    widen_union(tree, node, group, fresh);
    note_group(node, group);
    if (node->span_count > 0) {
        tree_widen_summary(tree, node, group, filter, cardinality);
    }
    return slot;
}

void tree_widen_time(struct tree_spot spot, int64_t deposited_ms)
{
    struct tree_group *group = &spot.node->groups[tree_group_at(spot.node, spot.slot)];

    group->newest_ms = deposited_ms > group->newest_ms ? deposited_ms : group->newest_ms;
    spot.node->newest_ms =
        deposited_ms > spot.node->newest_ms ? deposited_ms : spot.node->newest_ms;
}

/*
 * Called after a slot's message was copied to another slot. Tells its entry and the map of ids, in
 * which the message has the position `name`.
 */
static void rename_message(struct tree *tree, struct tree_spot from, uint32_t name,
                           struct tree_spot to)
{
    uint32_t entry = from.node->entries[from.slot];

    to.node->entries[to.slot] = entry;
    if (entry != 0) {
        tree->entries[entry].position = tree_position(to);
        tree_widen_time(to, tree_newest_ms(tree, to));
    }
    if (!tree_is_gone(tree, to)) {
        idmap_move(&tree->ids, tree_item(to)->id, name, tree_position(to));
    }
}

void tree_take_over(struct tree *tree, struct tree_node *node, const uint32_t *positions,
                    const uint32_t *names, uint32_t count)
{
    uint32_t group = append_group(node, count);
    uint64_t whole[PROFILE_WORDS_MAX] = {0};
    uint64_t filter[PROFILE_WORDS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        struct tree_spot from = tree_spot_at(tree, positions[i]);
        struct tree_spot to = {node, 0};

        tree_read_filter(tree, from, filter);
        to.slot = put_message(node, group, tree, tree_item(from), filter, tree_cardinality(from));
        rename_message(tree, from, names[i], to);
        bloom_union(whole, whole, filter, tree->words);
    }
    widen_union(tree, node, group, whole);
    note_group(node, group);
}

/* Computes the ranges of a group anew from its messages. */
static void narrow_group(const struct tree *tree, struct tree_node *node, struct tree_group *group)
{
    size_t number = (size_t)(group - node->groups);

    group->low = UINT16_MAX;
    group->high = 0;
    group->newest_ms = INT64_MIN;
    note_range(node, group);
    for (uint32_t s = 0; tree->section_count > 1 && s < tree->section_count; s++) {
        node->section_least[s * TREE_GROUPS + number] = UINT8_MAX;
        node->section_filled[s * TREE_GROUPS + number] = UINT8_MAX;
        node->section_most[s * TREE_GROUPS + number] = 0;
    }
    for (uint32_t slot = group->first; slot < (uint32_t)group->first + group->used; slot++) {
        widen_sections(tree, node, number, slot);
        widen_ranges(node, group, *tree_counts(node, slot),
                     tree_newest_ms(tree, (struct tree_spot){node, slot}));
    }
}

static void narrow_node(struct tree_node *node)
{
    node->newest_ms = INT64_MIN;
    for (uint32_t g = 0; g < node->group_count; g++) {
        int64_t newest_ms = node->groups[g].newest_ms;

        node->newest_ms = newest_ms > node->newest_ms ? newest_ms : node->newest_ms;
    }
}

void tree_narrow_time(const struct tree *tree, struct tree_spot spot)
{
    struct tree_group *group = &spot.node->groups[tree_group_at(spot.node, spot.slot)];

    group->newest_ms = INT64_MIN;
    for (uint32_t slot = group->first; slot < (uint32_t)group->first + group->used; slot++) {
        int64_t newest_ms = tree_newest_ms(tree, (struct tree_spot){spot.node, slot});

        group->newest_ms = newest_ms > group->newest_ms ? newest_ms : group->newest_ms;
    }
    narrow_node(spot.node);
}

/* --- messages taken and moved ----------------------------------------------------------------- */

/* Empties a group after its messages were copied to another group. */
static void clear_group(struct tree *tree, struct tree_node *node, uint32_t group)
{
    struct tree_group *it = &node->groups[group];
    uint64_t bits[PROFILE_WORDS_MAX];

    tree_group_union(tree, node, group, bits);
    for (; it->used > 0; it->used--) {
        struct tree_spot spot = {node, (uint32_t)it->first + it->used - 1};

        node->entry_count--;
        node->cardinality_sum -= tree_cardinality(spot);
        tree_clear_message(tree, spot);
    }
    narrow_union(tree, node, group, bits);
    narrow_group(tree, node, it);
    node->empty_count++;
    note_group(node, group);
}

/* Removes the last groups of a node while they are empty. */
static void drop_empty_end(struct tree *tree, struct tree_node *node)
{
    while (node->group_count > 0 && node->groups[node->group_count - 1].used == 0) {
        uint32_t last = --node->group_count;

        node->empty_count--;
        node->slot_count =
            last == 0 ? 0 : (uint32_t)node->groups[last - 1].first + node->groups[last - 1].room;
        note_group(node, last);
    }
    tree_trim(tree, node);
}

/* Copies all messages of a group into another group, which may be in another node. Updates the
 * positions of these messages in the map of ids. */
static void copy_group(struct tree *tree, struct tree_node *from, uint32_t group,
                       struct tree_node *to, uint32_t target)
{
    const struct tree_group *it = &from->groups[group];
    uint64_t filter[PROFILE_WORDS_MAX];

    for (uint32_t slot = it->first; slot < (uint32_t)it->first + it->used; slot++) {
        struct tree_spot source = {from, slot};
        struct tree_spot spot = {to, 0};

        tree_read_filter(tree, source, filter);
        spot.slot =
            tree_put(tree, to, target, tree_item(source), filter, filter, tree_cardinality(source));
        rename_message(tree, source, tree_position(source), spot);
    }
}

/*
 * Moves the messages of the last group into the empty group `group` if they fit, so that the node
 * has fewer groups. Then removes empty groups at the end of the node and computes the node's newest
 * deposit time again.
 */
static void close_gap(struct tree *tree, struct tree_node *node, uint32_t group)
{
    uint32_t last = node->group_count - 1;

    if (group < last && node->groups[last].used <= node->groups[group].room) {
        copy_group(tree, node, last, node, group);
        clear_group(tree, node, last);
    }
    drop_empty_end(tree, node);
    narrow_node(node);
}

void tree_take(struct tree *tree, struct tree_spot spot)
{
    struct tree_node *node = spot.node;
    uint32_t group = tree_group_at(node, spot.slot);
    struct tree_group *it = &node->groups[group];
    struct tree_spot last = {node, (uint32_t)it->first + it->used - 1};
    uint64_t gone[PROFILE_WORDS_MAX];
    uint64_t left[PROFILE_WORDS_MAX];

    node->entry_count--;
    node->cardinality_sum -= tree_cardinality(spot);
    tree_read_filter(tree, spot, gone);
    if (spot.slot != last.slot) {
        tree_copy_message(tree, last, spot);
        rename_message(tree, last, tree_position(last), spot);
    }
    tree_clear_message(tree, last);
    it->used--;
    tree_group_union(tree, node, group, left);
    for (size_t w = 0; w < tree->words; w++) {
        gone[w] &= ~left[w];
    }
    narrow_union(tree, node, group, gone);
    narrow_group(tree, node, it);
    note_group(node, group);
    if (it->used == 0) {
        node->empty_count++;
        close_gap(tree, node, group);
    } else {
        narrow_node(node);
    }
}

void tree_move_last_group(struct tree *tree, struct tree_node *from, struct tree_node *to)
{
    uint32_t last = from->group_count - 1;
    uint32_t target = append_group(to, from->groups[last].used);

    copy_group(tree, from, last, to, target);
    clear_group(tree, from, last);
    drop_empty_end(tree, from);
}

void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to)
{
    copy_group(tree, node, from, node, to);
    clear_group(tree, node, from);
    close_gap(tree, node, from);
}
