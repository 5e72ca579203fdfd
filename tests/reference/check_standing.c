/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/standing/inner.h"
#include "tests/reference/check.h"

static bool has(const uint64_t *mask, uint32_t lane)
{
    return (mask[lane / 64] >> lane % 64 & 1) != 0;
}

static const char *check_slot(const struct standing *standing, const struct standing_group *group,
                              uint32_t i)
{
    const struct standing_slot *slot = &group->slots[i];
    const uint64_t *filter = standing_part_filter(slot->query, slot->part);
    const size_t at = i / BITS_BLOCK * standing->words * BITS_BLOCK + i % BITS_BLOCK;
    const uint64_t *block = group->blocks > 0 ? group->filters + at : NULL;
    const struct standing_place *place = &slot->query->places[slot->part];

    if (place->group != group || place->slot != i) {
        return "a query does not know where one of its parts is";
    }
    for (size_t w = 0; w < standing->words && group->blocks > 0; w++) {
        if (block[w * BITS_BLOCK] != filter[w]) {
            return "a filter in a group is not that of its query";
        }
    }
    return group->cardinalities[i] == bloom_cardinality(filter, standing->words)
               ? NULL
               : "a cardinality in a group is wrong";
}

static const char *check_group(const struct standing *standing, const struct standing_group *group)
{
    struct standing_summary summary;

    if (group->count == 0 || group->count > group->room || group->room > STANDING_GROUP ||
        (group->room > 1 && group->room > group->blocks * BITS_BLOCK) ||
        group->blocks > STANDING_BLOCKS) {
        return "a group has no parts, or more than it has room for";
    }
    for (uint32_t i = 0; i < group->count; i++) {
        const char *wrong = check_slot(standing, group, i);

        if (wrong != NULL) {
            return wrong;
        }
    }
    standing_summarise(standing, group, &summary);
    if (memcmp(summary.key, group->key, standing->words * sizeof *group->key) != 0 ||
        group->key_bits != bloom_cardinality(group->key, standing->words)) {
        return "a group's key is not that of its parts";
    }
    if (memcmp(&summary.need, &group->need, sizeof summary.need) != 0) {
        return "a group's need by phi is wrong";
    }
    return summary.floor == group->floor && summary.low == group->low
               ? NULL
               : "a group's floor or least cardinality is wrong";
}

/* Whether a need is at most that of each part of a group. */
static bool is_low(const struct standing *standing, const struct standing_group *group,
                   uint32_t asked, uint32_t root, uint32_t section, uint64_t slope)
{
    bool low = true;

    for (uint32_t i = 0; i < group->count; i++) {
        const struct standing_need *need = standing_slot_need(&group->slots[i]);

        low = low && (need == NULL || group->class == STANDING_CONTAINING
                          ? asked == 0 && root == 0 && slope == 0
                          : (asked & ~need->asked) == 0 && root <= need->root &&
                                slope <= need->slopes[section]);
    }
    return low && section < standing->profile.section_count;
}

/* The need of a word by phi holds for all its groups. */
static bool check_need(const struct standing *standing, const struct standing_node *node,
                       const struct standing_group *group, uint32_t w)
{
    bool low = true;

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        low = low && is_low(standing, group, node->by_phi.asked[w], node->by_phi.roots[w], s,
                            node->by_phi.slopes[s][w]);
    }
    return low && (node->has_phi || node->by_phi.asked[w] == 0);
}

/* The threshold of a group's lane itself. By phi the group needs as many bits of the typical
 * message as this and the need of the word say, or less than one bit more. */
static uint32_t lane_need(const struct standing *standing, const struct standing_node *node,
                          const struct standing_group *group, uint32_t w)
{
    struct standing_spread typical = node->typical;

    if (group->class == STANDING_CONTAINING) {
        return group->key_bits;
    }
    if (node->by_phi.asked[w] == 0) {
        return (uint32_t)group->low * group->floor >> BITS_FLOOR_SHIFT;
    }
    return (uint32_t)((standing_need_over(standing, &group->need, node->by_phi.asked[w], &typical) -
                       ((uint64_t)node->by_phi.typical_needs[w] << STANDING_SHORT)) >>
                      BITS_FLOOR_SHIFT);
}

/* What the node keeps of a lane. */
static const char *check_lane(const struct standing *standing, const struct standing_node *node,
                              uint32_t lane)
{
    const struct standing_group *group = node->groups[lane];
    const uint32_t w = lane / 64;
    uint32_t need = 0;

    for (uint32_t p = 0; p < standing->words * 64; p++) {
        if (sliced_test(node->columns, p, lane) != (group != NULL && bloom_test(group->key, p))) {
            return "a column is not what the group's key says";
        }
    }
    if (group != NULL) {
        need = lane_need(standing, node, group, w);
        if (group->node != node || group->lane != lane || node->classes[w] != group->class) {
            return "a group is not where it thinks it is";
        }
        if (node->floors[w] > (group->class == STANDING_CONTAINING ? 0 : group->floor)) {
            return "a word's floor is above a group's";
        }
        if (!check_need(standing, node, group, w)) {
            return "a word's need by phi is above a group's";
        }
    }
    if (has(node->lanes, lane) != (group != NULL) ||
        has(node->room, lane) != (group != NULL && group->count < STANDING_GROUP) ||
        has(node->loose, lane) != (group != NULL && group->loose)) {
        return "a node's masks are wrong";
    }
    if (group != NULL && lane >= node->lane_words * 64) {
        return "a group stands beyond the lanes in use";
    }
    if (node->key_bits[lane] != (group != NULL ? group->key_bits : 0)) {
        return "a node does not know how many bits a key has";
    }
    return node->needs[lane] == need && sliced_number(node->planes, node->plane_count, lane) == need
               ? NULL
               : "a lane's threshold is wrong";
}

static const char *check_node(const struct standing *standing, const struct standing_node *node,
                              size_t *parts)
{
    if (node->group_count == 0) {
        return "a node is empty";
    }
    for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
        const struct standing_group *group = node->groups[lane];
        const char *wrong = check_lane(standing, node, lane);

        if (wrong == NULL && group != NULL) {
            wrong = check_group(standing, group);
            *parts += group->count;
        }
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

const char *check_standing(const struct standing *standing)
{
    size_t parts = 0;

    for (uint32_t n = 0; n < standing->node_count; n++) {
        const char *wrong = standing->nodes[n]->number != n
                                ? "a node does not know its place"
                                : check_node(standing, standing->nodes[n], &parts);

        if (wrong != NULL) {
            return wrong;
        }
    }
    if (parts != standing->part_count) {
        return "parts are not counted right";
    }
    return standing->hit_room >= parts ? NULL : "there is no room for all hits of a message";
}
