/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree.h"

#include <string.h>

#include "core/bloom.h"
#include "core/err.h"
#include "core/sliced.h"

size_t tree_node_bytes(const struct tree *tree)
{
    return sizeof(struct tree_node) +
           ((size_t)tree->bits * BITS_LANE_WORDS + tree->words + TREE_LINE_WORDS - 1) *
               sizeof(uint64_t);
}

size_t tree_page_bytes(const struct tree *tree)
{
    return sizeof(struct tree_page) +
           (TREE_PAGE_MESSAGES * tree->words + TREE_LINE_WORDS - 1) * sizeof(uint64_t);
}

/* The first word of a cache line in storage that has TREE_LINE_WORDS - 1 words to spare. */
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
    }
    return node;
}

void tree_node_free(const struct tree *tree, struct tree_node *node)
{
    if (node == NULL) {
        return;
    }
    for (uint32_t p = 0; p < node->page_count; p++) {
        alloc_release(tree->alloc, node->pages[p], 1, tree_page_bytes(tree));
    }
    alloc_release(tree->alloc, node, 1, tree_node_bytes(tree));
}

/* Pages are all zero, as the kernels read lanes that have no message. */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t groups)
{
    while (node->page_count * TREE_PAGE_GROUPS < groups) {
        struct tree_page *page = alloc_zeroed(tree->alloc, 1, tree_page_bytes(tree));

        if (page == NULL) {
            return -ERR_NOMEM;
        }
        page->filters = at_line(page->storage);
        node->pages[node->page_count++] = page;
        tree->page_count++;
    }
    return 0;
}

void tree_trim(struct tree *tree, struct tree_node *node)
{
    while (node->page_count > 0 && (node->page_count - 1) * TREE_PAGE_GROUPS >= node->group_count) {
        node->page_count--;
        alloc_release(tree->alloc, node->pages[node->page_count], 1, tree_page_bytes(tree));
        node->pages[node->page_count] = NULL;
        tree->page_count--;
    }
}

void tree_read_item(struct tree_spot spot, struct index_item *out)
{
    const struct tree_page *page = tree_page_of(spot.node, spot.group);
    uint32_t at = tree_at(spot.group, spot.lane);

    memcpy(out->id, page->ids[at], MESSAGE_ID_BYTES);
    out->deposited_ms = page->deposited_ms[at];
    out->expires_ms = page->expires_ms[at];
    out->reach_ppm = page->reach_ppm[at];
    out->bytes = page->bytes[at];
}

static void write_item(struct tree_spot spot, const struct index_item *item, uint16_t cardinality)
{
    struct tree_page *page = tree_page_of(spot.node, spot.group);
    uint32_t at = tree_at(spot.group, spot.lane);

    memcpy(page->ids[at], item->id, MESSAGE_ID_BYTES);
    page->deposited_ms[at] = item->deposited_ms;
    page->expires_ms[at] = item->expires_ms;
    page->reach_ppm[at] = item->reach_ppm;
    page->bytes[at] = item->bytes;
    page->cardinality[at] = cardinality;
}

void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out)
{
    const uint64_t *from = tree_block(tree, spot.node, spot.group) + spot.lane;

    for (size_t w = 0; w < tree->words; w++) {
        out[w] = from[w * TREE_GROUP];
    }
}

static void write_filter(const struct tree *tree, struct tree_spot spot, const uint64_t *filter)
{
    uint64_t *to = tree_block(tree, spot.node, spot.group) + spot.lane;

    for (size_t w = 0; w < tree->words; w++) {
        to[w * TREE_GROUP] = filter[w];
    }
}

uint16_t tree_cardinality(struct tree_spot spot)
{
    return tree_page_of(spot.node, spot.group)->cardinality[tree_at(spot.group, spot.lane)];
}

void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out)
{
    const uint64_t *block = tree_block(tree, node, group);

    for (size_t w = 0; w < tree->words; w++) {
        uint64_t any = 0;

        for (size_t lane = 0; lane < TREE_GROUP; lane++) {
            any |= block[w * TREE_GROUP + lane];
        }
        out[w] = any;
    }
}

/* Notes whether a group has room and whether it is small. */
static void set_room(struct tree_node *node, uint32_t group)
{
    uint64_t bit = UINT64_C(1) << group % 64;

    if (group < node->group_count && node->group_low[group] < node->pivot) {
        node->small[group / 64] |= bit;
    } else {
        node->small[group / 64] &= ~bit;
    }
    if (group < node->group_count && node->used[group] < TREE_GROUP) {
        node->room[group / 64] |= bit;
    } else {
        node->room[group / 64] &= ~bit;
    }
}

void tree_set_pivot(struct tree_node *node)
{
    enum { SMALL_PART = 8 };
    uint16_t counts[PROFILE_BITS_MAX + 1] = {0};
    uint32_t below = 0;
    uint32_t pivot = 0;

    for (uint32_t g = 0; g < node->group_count; g++) {
        counts[node->group_low[g]]++;
    }
    while (pivot < PROFILE_BITS_MAX && below + counts[pivot] <= node->group_count / SMALL_PART) {
        below += counts[pivot++];
    }
    node->pivot = pivot;
    for (uint32_t g = 0; g < node->group_count; g++) {
        set_room(node, g);
    }
}

/* Sets the bits of a filter in the union of a group, and in that of the node. */
static void widen_union(const struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter)
{
    for (size_t w = 0; w < tree->words; w++) {
        node->whole[w] |= filter[w];
        for (uint64_t left = filter[w]; left != 0; left &= left - 1) {
            uint32_t bit = (uint32_t)w * 64 + sliced_lowest(left);

            node->column_bits += !sliced_test(node->columns, bit, group);
            sliced_set(node->columns, bit, group);
        }
    }
}

/* Clears bits in the union of a group; in that of the node where no group has them any more. */
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

static void widen_ranges(struct tree_node *node, uint32_t group, uint16_t cardinality,
                         int64_t deposited_ms)
{
    bool first = node->used[group] == 0;

    if (first || cardinality < node->group_low[group]) {
        node->group_low[group] = cardinality;
    }
    if (first || cardinality > node->group_high[group]) {
        node->group_high[group] = cardinality;
    }
    if (first || deposited_ms > node->group_newest_ms[group]) {
        node->group_newest_ms[group] = deposited_ms;
    }
    node->low = node->message_count == 0 || cardinality < node->low ? cardinality : node->low;
    node->high = cardinality > node->high ? cardinality : node->high;
    node->newest_ms = deposited_ms > node->newest_ms ? deposited_ms : node->newest_ms;
}

uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, uint16_t cardinality)
{
    if (group == node->group_count) {
        node->used[group] = 0;
        node->group_count++;
        tree->group_count++;
    }
    struct tree_spot spot = {node, group, node->used[group]};

    write_filter(tree, spot, filter);
    write_item(spot, item, cardinality);
    widen_union(tree, node, group, filter);
    widen_ranges(node, group, cardinality, item->deposited_ms);
    node->used[group]++;
    node->message_count++;
    node->cardinality_sum += cardinality;
    set_room(node, group);
    return spot.lane;
}

/* The ranges of a group from its messages, those of the node from its groups. */
static void narrow_group(struct tree_node *node, uint32_t group)
{
    const struct tree_page *page = tree_page_of(node, group);
    uint32_t first = tree_at(group, 0);

    node->group_low[group] = UINT16_MAX;
    node->group_high[group] = 0;
    node->group_newest_ms[group] = INT64_MIN;
    for (uint32_t at = first; at < first + node->used[group]; at++) {
        uint16_t cardinality = page->cardinality[at];

        if (cardinality < node->group_low[group]) {
            node->group_low[group] = cardinality;
        }
        if (cardinality > node->group_high[group]) {
            node->group_high[group] = cardinality;
        }
        if (page->deposited_ms[at] > node->group_newest_ms[group]) {
            node->group_newest_ms[group] = page->deposited_ms[at];
        }
    }
}

static void narrow_node(struct tree_node *node)
{
    uint32_t low = node->group_count == 0 ? 0 : UINT16_MAX;
    uint32_t high = 0;
    int64_t newest_ms = INT64_MIN;

    for (uint32_t g = 0; g < node->group_count; g++) {
        low = node->group_low[g] < low ? node->group_low[g] : low;
        high = node->group_high[g] > high ? node->group_high[g] : high;
        newest_ms = node->group_newest_ms[g] > newest_ms ? node->group_newest_ms[g] : newest_ms;
    }
    node->low = low;
    node->high = high;
    node->newest_ms = newest_ms;
}

/* Copies a message to a spot whose lane is free, as far as rows and items go. */
static void copy_message(const struct tree *tree, struct tree_spot from, struct tree_spot to)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    struct index_item item;

    tree_read_filter(tree, from, filter);
    tree_read_item(from, &item);
    write_filter(tree, to, filter);
    write_item(to, &item, tree_cardinality(from));
}

static void clear_message(const struct tree *tree, struct tree_spot spot)
{
    static const struct index_item nothing;
    static const uint64_t zero[PROFILE_WORDS_MAX];

    write_filter(tree, spot, zero);
    write_item(spot, &nothing, 0);
}

static void rename_message(struct tree *tree, struct tree_spot from, struct tree_spot to)
{
    const uint8_t *id = tree_page_of(to.node, to.group)->ids[tree_at(to.group, to.lane)];

    idmap_move(&tree->ids, id, tree_position(from), tree_position(to));
}

/* Empties a group whose messages have gone elsewhere. */
static void clear_group(struct tree *tree, struct tree_node *node, uint32_t group)
{
    uint64_t bits[PROFILE_WORDS_MAX];

    tree_group_union(tree, node, group, bits);
    for (uint32_t lane = 0; lane < node->used[group]; lane++) {
        struct tree_spot spot = {node, group, lane};

        node->message_count--;
        node->cardinality_sum -= tree_cardinality(spot);
        clear_message(tree, spot);
    }
    node->used[group] = 0;
    narrow_union(tree, node, group, bits);
}

/* Gives up the group with the highest number, which is empty. */
static void drop_last_group(struct tree *tree, struct tree_node *node)
{
    node->group_count--;
    tree->group_count--;
    set_room(node, node->group_count);
    tree_trim(tree, node);
}

/* Copies all messages of a group into another, maybe of another node, and says so to the ids. */
static void copy_group(struct tree *tree, struct tree_node *from, uint32_t group,
                       struct tree_node *to, uint32_t target)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    struct index_item item;

    for (uint32_t lane = 0; lane < from->used[group]; lane++) {
        struct tree_spot source = {from, group, lane};
        struct tree_spot spot = {to, target, 0};

        tree_read_filter(tree, source, filter);
        tree_read_item(source, &item);
        spot.lane = tree_put(tree, to, target, &item, filter, tree_cardinality(source));
        rename_message(tree, source, spot);
    }
}

/* Fills the place of an empty group with the last one. */
static void close_gap(struct tree *tree, struct tree_node *node, uint32_t group)
{
    uint32_t last = node->group_count - 1;

    if (group != last) {
        copy_group(tree, node, last, node, group);
        clear_group(tree, node, last);
    }
    drop_last_group(tree, node);
    narrow_node(node);
}

void tree_take(struct tree *tree, struct tree_spot spot)
{
    struct tree_node *node = spot.node;
    struct tree_spot last = {node, spot.group, (uint32_t)node->used[spot.group] - 1};
    uint64_t gone[PROFILE_WORDS_MAX];
    uint64_t left[PROFILE_WORDS_MAX];

    node->message_count--;
    node->cardinality_sum -= tree_cardinality(spot);
    tree_read_filter(tree, spot, gone);
    if (spot.lane != last.lane) {
        copy_message(tree, last, spot);
        rename_message(tree, last, spot);
    }
    clear_message(tree, last);
    node->used[spot.group]--;
    tree_group_union(tree, node, spot.group, left);
    for (size_t w = 0; w < tree->words; w++) {
        gone[w] &= ~left[w];
    }
    narrow_union(tree, node, spot.group, gone);
    if (node->used[spot.group] == 0) {
        close_gap(tree, node, spot.group);
        return;
    }
    narrow_group(node, spot.group);
    set_room(node, spot.group);
    narrow_node(node);
}

void tree_move_group(struct tree *tree, struct tree_node *from, uint32_t group,
                     struct tree_node *to)
{
    copy_group(tree, from, group, to, to->group_count);
    clear_group(tree, from, group);
    close_gap(tree, from, group);
}

void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to)
{
    copy_group(tree, node, from, node, to);
    clear_group(tree, node, from);
    close_gap(tree, node, from);
}
