/* SPDX-License-Identifier: Apache-2.0 */
/* node: the groups of a node, and the data that the node stores about each group. */
#include <assert.h>
#include <string.h>

#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/standing/inner.h"

enum { CACHE_LINE = 64, CACHE_LINE_WORDS = CACHE_LINE / 8, DIRECTORY_MIN = 8, SLOTS_MORE = 4 };

/* --- lanes ------------------------------------------------------------------------------------ */

static void mask_set(uint64_t *mask, uint32_t lane, bool set)
{
    uint64_t bit = UINT64_C(1) << lane % 64;

    mask[lane / 64] = set ? mask[lane / 64] | bit : mask[lane / 64] & ~bit;
}

/*
 * Returns the first of the two numbers that make the threshold of a lane (struct bits_reach in
 * bits.h). For a containing group: the number of set bits of the key, because every message that
 * fits has all these bits. For another group: the smallest cardinality of its parts * floor / 2^16.
 * The second number is computed from the cardinality of the message when messages are matched.
 */
static uint16_t need_of(const struct standing_group *group)
{
    return group->class == STANDING_CONTAINING
               ? group->key_bits
               : (uint16_t)((uint32_t)group->low * group->floor >> BITS_FLOOR_SHIFT);
}

static void set_need(struct standing_node *node, uint32_t lane, uint16_t need)
{
    size_t planes = bits_planes(need);

    node->needs[lane] = need;
    node->plane_count = planes > node->plane_count ? planes : node->plane_count;
    for (size_t p = 0; p < node->plane_count; p++) {
        mask_set(node->planes + p * BITS_LANE_WORDS, lane, (need >> p & 1) != 0);
    }
}

/* The smallest and the largest numbers of the needs of a word's groups; nothing for a word that has
 * a group by bits, or of containing groups. */
static void need_range(const struct standing *standing, const struct standing_node *node,
                       uint32_t word, struct standing_need *least, struct standing_need *most)
{
    memset(least, node->lanes[word] != 0 ? 0xff : 0, sizeof(*least));
    memset(most, 0, sizeof(*most));
    for (uint64_t left = node->lanes[word]; left != 0; left &= left - 1) {
        const struct standing_need *need = &node->groups[word * 64 + sliced_lowest(left)]->need;

        standing_need_lower(standing, least, need);
        most->root = need->root > most->root ? need->root : most->root;
        for (uint32_t s = 0; s < standing->profile.section_count; s++) {
            most->slopes[s] = need->slopes[s] > most->slopes[s] ? need->slopes[s] : most->slopes[s];
        }
    }
    if (node->classes[word] == STANDING_CONTAINING || least->asked == 0) {
        memset(least, 0, sizeof(*least));
        memset(most, 0, sizeof(*most));
    }
}

/* Sets the thresholds of the lanes of a word: what a group needs more of the typical message than
 * the group of the word that needs fewest. Without a need by phi: what need_of says. */
static void set_lane_needs(const struct standing *standing, struct standing_node *node,
                           uint32_t word)
{
    uint32_t asked = node->by_phi.asked[word];
    uint64_t needs[64];
    uint64_t least = UINT64_MAX;

    for (uint64_t left = node->lanes[word]; left != 0 && asked != 0; left &= left - 1) {
        uint32_t at = sliced_lowest(left);

        needs[at] = standing_need_over(standing, &node->groups[word * 64 + at]->need, asked,
                                       &node->typical);
        least = needs[at] < least ? needs[at] : least;
    }
    standing_keep_typical(standing, node, word, asked != 0 ? least : 0);
    least = (uint64_t)node->by_phi.typical_needs[word] << STANDING_SHORT;
    for (uint64_t left = node->lanes[word]; left != 0; left &= left - 1) {
        uint32_t at = sliced_lowest(left);
        uint32_t lane = word * 64 + at;

        set_need(node, lane,
                 asked != 0 ? (uint16_t)((needs[at] - least) >> BITS_FLOOR_SHIFT)
                            : need_of(node->groups[lane]));
    }
}

/* The first group by phi of a node says what a typical message is. */
static void set_typical(const struct standing *standing, struct standing_node *node,
                        const struct standing_group *group)
{
    memcpy(node->typical.counts, group->key_counts, sizeof(node->typical.counts));
    phi_size(&standing->profile, node->typical.counts, node->typical.spreads);
    memset(node->typical.roots, 0, sizeof(node->typical.roots));
}

/* Computes the needs by phi of a word of lanes, and of its lanes. */
static void repair_need(const struct standing *standing, struct standing_node *node, uint32_t word)
{
    struct standing_needs *by_phi = &node->by_phi;
    struct standing_need least;
    struct standing_need most;

    need_range(standing, node, word, &least, &most);
    if (!node->has_phi && least.asked != 0) {
        set_typical(standing, node, node->groups[word * 64 + sliced_lowest(node->lanes[word])]);
    }
    standing_keep_needs(standing, by_phi, word, &least, &most);
    set_lane_needs(standing, node, word);
    standing_keep_all(standing, node);
    node->has_phi = false;
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        node->has_phi = node->has_phi || by_phi->asked[w] != 0;
    }
}

/*
 * Computes what a node stores about one word of 64 lanes: the smallest floor of the groups in these
 * lanes (0 for containing groups), their need by phi, and STANDING_NO_CLASS if no lane is in use.
 * Also sets node->lane_words, the number of words up to the last one that has a lane in use:
 * kernels read no further words.
 */
static void repair_word(const struct standing *standing, struct standing_node *node, uint32_t word)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t left = node->lanes[word]; left != 0; left &= left - 1) {
        const struct standing_group *group = node->groups[word * 64 + sliced_lowest(left)];

        least = group->floor < least ? group->floor : least;
    }
    if (node->lanes[word] == 0) {
        node->classes[word] = STANDING_NO_CLASS;
        least = 0;
    }
    node->floors[word] = node->classes[word] == STANDING_CONTAINING ? 0 : least;
    if (standing->phi_count > 0 || node->has_phi) {
        repair_need(standing, node, word);
    }
    node->lane_words = BITS_LANE_WORDS;
    while (node->lane_words > 0 && node->lanes[node->lane_words - 1] == 0) {
        node->lane_words--;
    }
}

/*
 * Updates what a node stores about a group, except for the columns: the threshold, the set bits of
 * the key, whether the group has a free slot, and the floor of its word of lanes.
 */
static void tell_node(const struct standing *standing, struct standing_group *group)
{
    struct standing_node *node = group->node;

    if (node != NULL) {
        set_need(node, group->lane, need_of(group));
        node->key_bits[group->lane] = group->key_bits;
        mask_set(node->room, group->lane, group->count < STANDING_GROUP);
        repair_word(standing, node, group->lane / 64);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

static size_t storage_words(const struct standing *standing)
{
    return ((size_t)standing->words * 64 + 1) * BITS_LANE_WORDS + CACHE_LINE_WORDS - 1;
}

static size_t node_bytes(const struct standing *standing)
{
    return sizeof(struct standing_node) + storage_words(standing) * sizeof(uint64_t);
}

static bool reserve_directory(struct standing *standing)
{
    uint32_t room = standing->node_room == 0 ? DIRECTORY_MIN : 2 * standing->node_room;

    if (standing->node_count < standing->node_room) {
        return true;
    }
    struct standing_node **nodes =
        alloc_resize(standing->options.alloc, standing->nodes, room, sizeof(*nodes));
    if (nodes == NULL) {
        return false;
    }
    standing->bytes += (room - standing->node_room) * sizeof(struct standing_node *);
    standing->nodes = nodes;
    standing->node_room = room;
    return true;
}

struct standing_node *standing_node_new(struct standing *standing)
{
    if (!reserve_directory(standing)) {
        return NULL;
    }
    struct standing_node *node = alloc_zeroed(standing->options.alloc, 1, node_bytes(standing));
    if (node == NULL) {
        return NULL;
    }
    size_t off = (uintptr_t)node->storage / sizeof(uint64_t) % CACHE_LINE_WORDS;
    node->columns = node->storage + (CACHE_LINE_WORDS - off) % CACHE_LINE_WORDS;
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        node->classes[w] = STANDING_NO_CLASS;
    }
    node->number = standing->node_count;
    standing->nodes[standing->node_count++] = node;
    standing->bytes += node_bytes(standing);
    return node;
}

static void node_free(struct standing *standing, struct standing_node *node)
{
    struct standing_node *last = standing->nodes[--standing->node_count];

    standing->nodes[node->number] = last;
    last->number = node->number;
    standing->bytes -= node_bytes(standing);
    alloc_release(standing->options.alloc, node);
}

bool standing_free_lane(const struct standing_node *node, uint16_t class, uint32_t *out_lane)
{
    uint32_t empty = BITS_LANE_WORDS;

    for (uint32_t w = BITS_LANE_WORDS; w-- > 0;) {
        if (node->classes[w] == class && node->lanes[w] != UINT64_MAX) {
            *out_lane = w * 64 + sliced_lowest(~node->lanes[w]);
            return true;
        }
        empty = node->classes[w] == STANDING_NO_CLASS ? w : empty;
    }
    *out_lane = empty * 64;
    return empty < BITS_LANE_WORDS;
}

/* --- groups in nodes -------------------------------------------------------------------------- */

static size_t group_bytes(const struct standing *standing)
{
    return sizeof(struct standing_group) + standing->words * sizeof(uint64_t);
}

static size_t block_words(const struct standing *standing)
{
    return standing->words * BITS_BLOCK;
}

static uint64_t *filter_place(const struct standing *standing, const struct standing_group *group,
                              uint32_t slot)
{
    return group->filters + slot / BITS_BLOCK * block_words(standing) + slot % BITS_BLOCK;
}

/* Writes the filter of a part (NULL: no bits) to its place in a block, if the group has blocks. */
static void write_filter(const struct standing *standing, struct standing_group *group,
                         uint32_t slot, const uint64_t *filter)
{
    if (group->blocks == 0) {
        return;
    }
    uint64_t *place = filter_place(standing, group, slot);

    for (size_t w = 0; w < standing->words; w++) {
        place[w * BITS_BLOCK] = filter != NULL ? filter[w] : 0;
    }
}

static const uint64_t *slot_filter(const struct standing_slot *slot)
{
    return standing_part_filter(slot->query, slot->part);
}

/* Gives a group `room` slots, which are more than it has. Returns false without memory. */
static bool grow_slots(struct standing *standing, struct standing_group *group, uint32_t room)
{
    struct standing_slot *slots =
        alloc_resize(standing->options.alloc, group->slots, room, sizeof(*slots));

    if (slots == NULL) {
        return false;
    }
    standing->bytes += (room - group->room) * sizeof(*slots);
    group->slots = slots;
    group->room = room;
    return true;
}

/* Gives a group one more block. The first one gets the filter of the only part that the group may
 * have. Returns false without memory. */
static bool grow_blocks(struct standing *standing, struct standing_group *group)
{
    size_t words = block_words(standing);
    uint64_t *filters = alloc_resize(standing->options.alloc, group->filters,
                                     (group->blocks + 1) * words, sizeof(*filters));

    if (filters == NULL) {
        return false;
    }
    memset(filters + group->blocks * words, 0, words * sizeof(*filters));
    group->filters = filters;
    group->blocks++;
    standing->bytes += words * sizeof(*filters);
    if (group->blocks == 1 && group->count == 1) {
        write_filter(standing, group, 0, slot_filter(&group->slots[0]));
    }
    return true;
}

struct standing_group *standing_group_new(struct standing *standing, uint16_t class, bool loose)
{
    struct standing_group *group = alloc_zeroed(standing->options.alloc, 1, group_bytes(standing));

    if (group == NULL) {
        return NULL;
    }
    if (!grow_slots(standing, group, 1)) {
        alloc_release(standing->options.alloc, group);
        return NULL;
    }
    group->class = class;
    group->loose = loose;
    standing->bytes += group_bytes(standing);
    return group;
}

void standing_group_free(struct standing *standing, struct standing_group *group)
{
    const struct alloc *alloc = standing->options.alloc;

    standing->bytes -= group_bytes(standing) + group->room * sizeof(*group->slots) +
                       group->blocks * block_words(standing) * sizeof(*group->filters);
    alloc_release(alloc, group->slots);
    alloc_release(alloc, group->filters);
    alloc_release(alloc, group);
}

bool standing_group_grow(struct standing *standing, struct standing_group *group)
{
    if (group->count < group->room) {
        return true;
    }
    uint32_t room = group->room < SLOTS_MORE ? SLOTS_MORE : 2 * group->room;

    return (room <= group->blocks * BITS_BLOCK || grow_blocks(standing, group)) &&
           grow_slots(standing, group, room);
}

/* For each bit of `bits` (word `word` of a filter), sets or clears the group's lane in the column
 * of this bit. */
static void mark_columns(struct standing_group *group, size_t word, uint64_t bits, bool set)
{
    for (uint64_t left = bits; left != 0; left &= left - 1) {
        uint32_t position = (uint32_t)word * 64 + sliced_lowest(left);

        if (set) {
            sliced_set(group->node->columns, position, group->lane);
        } else {
            sliced_clear(group->node->columns, position, group->lane);
        }
    }
}

static void set_key(const struct standing *standing, struct standing_group *group,
                    const uint64_t *key)
{
    for (size_t w = 0; w < standing->words; w++) {
        if (group->node != NULL && group->key[w] != key[w]) {
            mark_columns(group, w, group->key[w] & ~key[w], false);
            mark_columns(group, w, key[w] & ~group->key[w], true);
        }
        group->key[w] = key[w];
    }
    group->key_bits = (uint16_t)bloom_cardinality(key, standing->words);
}

void standing_enter(struct standing *standing, struct standing_node *node, uint32_t lane,
                    struct standing_group *group)
{
    group->node = node;
    group->lane = lane;
    node->groups[lane] = group;
    node->group_count++;
    node->classes[lane / 64] = group->class;
    mask_set(node->lanes, lane, true);
    mask_set(node->loose, lane, group->loose);
    for (size_t w = 0; w < standing->words; w++) {
        mark_columns(group, w, group->key[w], true);
    }
    tell_node(standing, group);
}

/* Takes a group out of its node and returns the node, which may be empty then. */
static struct standing_node *node_detach(struct standing *standing, struct standing_group *group)
{
    struct standing_node *node = group->node;
    uint32_t lane = group->lane;

    for (size_t w = 0; w < standing->words; w++) {
        mark_columns(group, w, group->key[w], false);
    }
    set_need(node, lane, 0);
    node->key_bits[lane] = 0;
    mask_set(node->lanes, lane, false);
    mask_set(node->room, lane, false);
    mask_set(node->loose, lane, false);
    node->groups[lane] = NULL;
    node->group_count--;
    repair_word(standing, node, lane / 64);
    group->node = NULL;
    return node;
}

/* Returns some group of a node that has this class; for STANDING_NO_CLASS some group of any class.
 * Returns NULL if the node has no such group. */
static struct standing_group *some_group(const struct standing_node *node, uint16_t class)
{
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        if (node->lanes[w] != 0 && (class == STANDING_NO_CLASS || node->classes[w] == class)) {
            return node->groups[w * 64 + sliced_lowest(node->lanes[w])];
        }
    }
    return NULL;
}

/*
 * Takes a group out of its node. Keeps the first nodes full: a group of the last node moves to the
 * free lane, if the last node has a group that may have this lane. Frees a node without groups.
 */
void standing_leave(struct standing *standing, struct standing_group *group)
{
    uint32_t lane = group->lane;
    struct standing_node *node = node_detach(standing, group);
    struct standing_node *last = standing->nodes[standing->node_count - 1];

    if (node != last) {
        struct standing_group *moved = some_group(last, node->classes[lane / 64]);
        if (moved != NULL) {
            (void)node_detach(standing, moved);
            standing_enter(standing, node, lane, moved);
        }
    }
    if (last->group_count == 0) {
        node_free(standing, last);
        last = NULL;
    }
    if (node != last && last != NULL && node->group_count == 0) {
        node_free(standing, node);
    }
}

/* --- parts in groups -------------------------------------------------------------------------- */

const uint64_t *standing_part_filter(const struct standing_query *query, uint32_t part)
{
    return query->filters + 2 * (size_t)part * query->words;
}

uint16_t standing_floor(const struct standing_slot *slot)
{
    if (slot->max_distance_ppm >= DISTANCE_ONE_PPM || slot->query->needs != NULL) {
        return 0;
    }
    uint64_t shared = DISTANCE_ONE_PPM - slot->max_distance_ppm;

    return (uint16_t)((shared << BITS_FLOOR_SHIFT) / (shared + DISTANCE_ONE_PPM));
}

const struct standing_need *standing_slot_need(const struct standing_slot *slot)
{
    return slot->query->needs != NULL ? &slot->query->needs[slot->part] : NULL;
}

/* Computes key, floor, smallest cardinality and need by phi of a group from all its parts. */
void standing_summarise(const struct standing *standing, const struct standing_group *group,
                        struct standing_summary *out)
{
    bool contains = group->class == STANDING_CONTAINING;

    memset(out->key, contains ? 0xff : 0, standing->words * sizeof(*out->key));
    out->floor = UINT16_MAX;
    out->low = UINT16_MAX;
    memset(&out->need, standing->phi_count > 0 ? 0xff : 0, sizeof(out->need));
    for (uint32_t i = 0; i < group->count; i++) {
        const struct standing_slot *slot = &group->slots[i];
        uint16_t floor = standing_floor(slot);

        if (contains) {
            bloom_intersection(out->key, out->key, slot->contains, standing->words);
        } else {
            bloom_union(out->key, out->key, slot_filter(slot), standing->words);
        }
        out->floor = floor < out->floor ? floor : out->floor;
        out->low = group->cardinalities[i] < out->low ? group->cardinalities[i] : out->low;
        if (standing->phi_count > 0) {
            standing_need_lower(standing, &out->need, standing_slot_need(slot));
        }
    }
}

/* Computes key, floor and smallest cardinality of a group again, and updates the group's node. */
static void group_refresh(const struct standing *standing, struct standing_group *group)
{
    struct standing_summary summary;

    standing_summarise(standing, group, &summary);
    set_key(standing, group, summary.key);
    group->floor = summary.floor;
    group->low = summary.low;
    group->need = summary.need;
    if (group->need.asked != 0) {
        phi_count(&standing->profile, group->key, group->key_counts);
    }
    tell_node(standing, group);
}

void standing_put(struct standing *standing, struct standing_group *group,
                  const struct standing_slot *slot)
{
    uint32_t at = group->count++;
    const uint64_t *filter = standing_part_filter(slot->query, slot->part);

    assert(at < group->room);
    group->slots[at] = *slot;
    group->cardinalities[at] = (uint16_t)bloom_cardinality(filter, standing->words);
    write_filter(standing, group, at, filter);
    slot->query->places[slot->part] = (struct standing_place){group, at};
    standing->part_count++;
    standing->phi_count += standing_slot_need(slot) != NULL;
    group_refresh(standing, group);
}

void standing_take(struct standing *standing, struct standing_group *group, uint32_t slot)
{
    uint32_t last = --group->count;

    standing->phi_count -= standing_slot_need(&group->slots[slot]) != NULL;
    group->slots[slot].query->places[group->slots[slot].part] = (struct standing_place){NULL, 0};
    if (slot != last) {
        write_filter(standing, group, slot, slot_filter(&group->slots[last]));
        group->slots[slot] = group->slots[last];
        group->cardinalities[slot] = group->cardinalities[last];
        group->slots[slot].query->places[group->slots[slot].part].slot = slot;
    }
    write_filter(standing, group, last, NULL);
    group->cardinalities[last] = 0;
    memset(&group->slots[last], 0, sizeof(group->slots[last]));
    standing->part_count--;
    if (group->count > 0) {
        group_refresh(standing, group);
    }
}
