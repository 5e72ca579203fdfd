/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place: chooses the group of a part, and moves parts to better groups. A group should rule out
 * most messages that are unrelated to it, so its filters are similar, or few. The choice changes
 * only how fast messages are matched. (struct standing_place is something else: the group and the
 * slot that a part has.)
 */
#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/standing/inner.h"

enum {
    CLASS_SHIFT = 11, /* groups by bits that are not containing share a word of lanes only if their
                         floors differ by less than 2^11 */
    PHI_CLASS = 32,   /* the first class of groups by phi, after all classes by bits */
    PHI_STEPS = 16,   /* the bounds of groups by phi that share a word differ by less than 1/16 */
    ASKED_CLASSES = 7,
    SCALE = 16, /* of numbers of bits, for rules_out */
    SHARE_SHIFT = 8,
    LOOK_ALL = 24, /* in an index of more nodes, a part does not look at all of them, but at the
                    * hints and, if these lead to no group, at the last LOOK_LAST nodes */
    LOOK_LAST = 4,
    HEADROOM = 64, /* bits that a group keeps free for parts similar to it */
    /* A part is similar to a group if it shares at least 1/2 of its bits with it; by phi 1/3,
     * because the same distance lets less similar filters in. */
    BITS_RELATED = 2,
    PHI_RELATED = 3,
    SPARSE = 4 /* when a part of a removed query leaves a group and at most this many parts
                  are left, they move to other groups if possible */
};

/* A part that looks for a group. */
struct seeker {
    const struct standing_slot *slot;
    const uint64_t *filter; /* the part's */
    const uint64_t *key;    /* the part's filter; for a containing group its `contains` filter */
    uint32_t key_bits;
    uint16_t cardinality;
    uint16_t floor;
    uint16_t class;
    bool loose;
    const struct standing_need *need; /* by phi; NULL: by bits */
    /*
     * By phi: what is known of a message that has as many bits as the part in each section.
     * `needed` and the others are in 1/SCALE, the shares and the mean besides in 2^-SHARE_SHIFT.
     */
    struct standing_spread spread;
    uint32_t needed;                       /* bits that it must share with the part */
    uint32_t shares[PROFILE_SECTIONS_MAX]; /* that it shares with a filter, for each of its bits */
    uint32_t share_most;                   /* the largest of them */
    uint64_t mean;                         /* that it shares with the part by chance */
    uint32_t shared_least;               /* groups whose keys share fewer bits are not looked at */
    const struct standing_group *except; /* not this one */
    bool has_signatures;                 /* the next field is filled in */
    uint64_t signatures[STANDING_HINTS];
    bool in_place; /* true: the part may join only groups that have memory for
                      another part */
    size_t position_count;
    uint16_t positions[PROFILE_BITS_MAX];
};

/*
 * The most similar group found so far. The Jaccard similarity of its key and the part's key is
 * shared / all.
 */
struct choice {
    struct standing_group *group;
    uint32_t shared;
    uint32_t all;
};

/*
 * Four times the square of the standard deviations that the rule asks for: 3.5 by bits, and 3 by
 * phi, where groups are narrower and fewer are opened. Measurements are in docs/notes/watch.md.
 */
enum { BITS_MARGIN_4 = 49, PHI_MARGIN_4 = 36 };

/* Whether a number is far enough above the expected one. Both are in 1/SCALE. */
static bool is_beyond(uint64_t needed, uint64_t expected, uint32_t margin_4)
{
    return needed > expected &&
           4 * (needed - expected) * (needed - expected) >= margin_4 * SCALE * expected;
}

/*
 * Returns whether a union of `bits` set bits rules out most messages. An unrelated message with c
 * set bits (`cardinality`) shares E = c bits / m bits with the union on average, where m is the
 * number of bits of a filter; the standard deviation is about the square root of E. The threshold
 * must be at least 3.5 standard deviations above E.
 */
static bool rules_out(const struct standing *standing, uint32_t bits, uint32_t cardinality,
                      uint16_t floor)
{
    uint64_t expected = (uint64_t)SCALE * cardinality * bits / standing->profile.bits;
    uint64_t needed = (uint64_t)SCALE * 2 * cardinality * floor >> BITS_FLOOR_SHIFT;

    return is_beyond(needed, expected, BITS_MARGIN_4);
}

/*
 * The same by phi, where 3 standard deviations are enough. The union is that of the part's filter
 * and the key of a group, or the part's filter alone if `key` is NULL. It counts `spare` bits more
 * than it has, so that other parts can join later. `need` is what the group needs with the part in
 * it. The message is assumed to have as many bits in each section as the part.
 */
static bool rules_out_by_phi(const struct standing *standing, struct seeker *seeker,
                             const uint64_t *key, uint32_t spare, const struct standing_need *need)
{
    const struct profile *profile = &standing->profile;
    uint64_t expected = (uint64_t)SCALE * seeker->cardinality * spare / profile->bits;
    uint64_t needed = (uint64_t)SCALE * standing_need_for(standing, need, &seeker->spread);

    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t set = seeker->spread.counts[s];

        if (set > 0) {
            uint32_t all = key == NULL ? set
                                       : bloom_union_count_range(seeker->filter, key,
                                                                 section->first_bit, section->bits);

            expected += (uint64_t)SCALE * set * all / section->bits;
        }
    }
    return is_beyond(needed, expected, PHI_MARGIN_4);
}

/*
 * A quick test before rules_out_by_phi, without looking at the filters: false if the union surely
 * has too many bits. The shared bits count as if all were in the section where the part is fullest.
 */
static bool may_rule_out(const struct standing *standing, const struct seeker *seeker,
                         const struct standing_group *group, uint32_t shared)
{
    uint64_t expected = seeker->mean;

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        expected += (uint64_t)seeker->shares[s] * group->key_counts[s];
    }
    expected -= (uint64_t)shared * seeker->share_most;
    expected >>= SHARE_SHIFT;
    return is_beyond(seeker->needed, expected, PHI_MARGIN_4);
}

/*
 * About how many bits a part by phi must share with a group that is as large as the part, so that
 * their union rules out most messages. So most groups need not be looked at.
 */
static uint32_t least_shared(const struct standing *standing, const struct seeker *seeker)
{
    uint64_t spare = (uint64_t)SCALE * seeker->cardinality * HEADROOM / standing->profile.bits;
    uint32_t step = 1 + seeker->cardinality / 16;
    uint32_t shared = 0;

    for (; shared < seeker->cardinality; shared += step) {
        uint64_t expected =
            (2 * seeker->mean - (uint64_t)shared * seeker->share_most) >> SHARE_SHIFT;

        expected += PHI_RELATED * shared >= seeker->cardinality ? 0 : spare;
        if (is_beyond(seeker->needed, expected, PHI_MARGIN_4)) {
            break;
        }
    }
    return shared > step ? shared - step : 0;
}

/* Computes what may_rule_out needs, and the spread, of a part by phi. */
static void seek_by_phi(const struct standing *standing, struct seeker *seeker)
{
    const struct profile *profile = &standing->profile;

    standing_spread_of(standing, seeker->filter, &seeker->spread);
    seeker->needed = SCALE * standing_need_for(standing, seeker->need, &seeker->spread);
    seeker->share_most = 0;
    seeker->mean = 0;
    for (uint32_t s = 0; s < profile->section_count; s++) {
        uint32_t set = seeker->spread.counts[s];
        uint32_t share = ((SCALE << SHARE_SHIFT) * set) / profile->sections[s].bits;

        seeker->shares[s] = share;
        seeker->mean += (uint64_t)share * set;
        seeker->share_most = share > seeker->share_most ? share : seeker->share_most;
    }
    seeker->shared_least = least_shared(standing, seeker);
}

/*
 * The class of a part by phi: by the sections it asks for and its bound, because what a message
 * needs more than a typical one is the same for a word of lanes. Parts of the same sections have
 * one class; if a profile has more than three sections, others may have it, too.
 */
static uint16_t phi_class(const struct standing_slot *slot)
{
    uint32_t asked = standing_slot_need(slot)->asked % ASKED_CLASSES;
    uint32_t bound = (uint32_t)((uint64_t)slot->least * PHI_STEPS >> PHI_SHIFT);

    return (uint16_t)(PHI_CLASS + asked * (PHI_STEPS + 1) + bound);
}

/* Whether a part alone rules out most messages. */
static bool is_close(const struct standing *standing, struct seeker *seeker)
{
    return seeker->need != NULL
               ? rules_out_by_phi(standing, seeker, NULL, 0, seeker->need)
               : rules_out(standing, seeker->cardinality, seeker->cardinality, seeker->floor);
}

/*
 * The fewest bits that a part may share with the key of a group that it joins, by the rules of
 * may_join. The union has at least the bits of the part.
 */
static uint32_t fewest_shared(const struct standing *standing, const struct seeker *seeker)
{
    bool contains = seeker->class == STANDING_CONTAINING;
    uint32_t percent = contains ? 75 : standing->likeness_percent;
    uint32_t shared = (percent * seeker->key_bits + 99) / 100;

    if (seeker->loose) {
        return 0;
    }
    return contains || shared > seeker->shared_least ? shared : seeker->shared_least;
}

static void seek_begin(const struct standing *standing, const struct standing_slot *slot,
                       struct seeker *out)
{
    const uint64_t *filter = standing_part_filter(slot->query, slot->part);
    uint32_t cardinality = bloom_cardinality(filter, standing->words);
    uint16_t floor = standing_floor(slot);
    uint32_t wanted =
        slot->contains != NULL ? bloom_cardinality(slot->contains, standing->words) : 0;

    out->slot = slot;
    out->filter = filter;
    out->except = NULL;
    out->in_place = false;
    out->cardinality = (uint16_t)cardinality;
    out->floor = floor;
    out->need = standing_slot_need(slot);
    out->shared_least = 0;
    if (out->need != NULL) {
        seek_by_phi(standing, out);
    }
    bool close = is_close(standing, out);
    /* By phi, a part that wants most of what it asks for needs only a bit or two of it, so the bits
     * that it wants rule out more. */
    bool wants_most = out->need != NULL && 2 * wanted >= cardinality;
    if ((!close || wants_most) && wanted > 0) {
        out->class = STANDING_CONTAINING;
        out->key = slot->contains;
        out->loose = false;
    } else {
        out->class = out->need != NULL ? phi_class(slot) : (uint16_t)(1 + (floor >> CLASS_SHIFT));
        out->key = filter;
        out->loose = !close;
    }
    out->key_bits = out->class == STANDING_CONTAINING ? wanted : cardinality;
    out->position_count = sliced_positions(out->key, standing->words, out->positions);
    out->shared_least = fewest_shared(standing, out);
    out->has_signatures = standing->node_count > LOOK_ALL / 2;
    if (out->has_signatures) {
        standing_signatures(standing, out->positions, out->position_count,
                            2u * out->class + out->loose, out->signatures);
    }
}

/* Puts a part into the group that was found for it, which has memory for it. */
static void settle_in(struct standing *standing, const struct seeker *seeker,
                      struct standing_group *group, const struct standing_slot *slot)
{
    standing_put(standing, group, slot);
    if (seeker->has_signatures) {
        standing_hint(standing, seeker->signatures, group);
    }
}

/*
 * Returns whether a part may join a group that place_candidates has chosen. The part may not join
 * the group `except`. With `in_place` set, the part may join only a group that has memory for it. A
 * loose part may join every other chosen group. A containing part may join if the bits that both
 * keys have are at least three quarters of each key. Any other part may join if the two keys are
 * similar (standing->likeness_percent) and the union of both keys still rules out most messages;
 * the union counts as HEADROOM bits larger if the part shares less than half (by phi a third) of
 * its bits with the group's key.
 */
static bool may_join(const struct standing *standing, const struct standing_group *group,
                     struct seeker *seeker, uint32_t shared)
{
    if (group == seeker->except || (seeker->in_place && group->count == group->room)) {
        return false;
    }
    if (seeker->loose) {
        return true;
    }
    if (seeker->class == STANDING_CONTAINING) { /* most of what either wants stays wanted */
        return 4 * shared >= 3 * (uint32_t)group->key_bits && 4 * shared >= 3 * seeker->key_bits;
    }
    if (shared < seeker->shared_least) {
        return false;
    }
    uint32_t like = seeker->need != NULL ? PHI_RELATED : BITS_RELATED;
    bool related = like * shared >= seeker->key_bits;
    uint32_t all = group->key_bits + seeker->key_bits - shared;
    uint32_t spare = related ? 0 : HEADROOM;

    if (100 * shared < standing->likeness_percent * all) {
        return false;
    }
    if (seeker->need != NULL) {
        struct standing_need need = group->need;

        if (!may_rule_out(standing, seeker, group, shared)) {
            return false;
        }
        standing_need_lower(standing, &need, seeker->need);
        return need.asked == seeker->need->asked &&
               rules_out_by_phi(standing, seeker, group->key, spare, &need);
    }
    uint16_t low = group->low < seeker->cardinality ? group->low : seeker->cardinality;
    uint16_t floor = group->floor < seeker->floor ? group->floor : seeker->floor;

    return rules_out(standing, all + spare, low, floor);
}

/*
 * Writes a mask of the node's groups that have the part's class and a free slot, and that are loose
 * if and only if the part is loose. Returns whether there is such a group.
 */
static bool place_candidates(const struct standing_node *node, const struct seeker *seeker,
                             uint64_t *out_mask)
{
    bool any = false;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        uint64_t loose = seeker->loose ? node->loose[w] : ~node->loose[w];

        out_mask[w] = node->classes[w] == seeker->class ? node->room[w] & loose : 0;
        any = any || out_mask[w] != 0;
    }
    return any;
}

/*
 * Counts, for each lane in use, the bits that the part's key shares with the key of the lane's
 * group.
 */
static void count_shared(const struct standing *standing, const struct standing_node *node,
                         const struct seeker *seeker, uint16_t *out)
{
    const struct bits_kernels *kernels = standing->options.kernels;
    size_t plane_count = bits_planes(seeker->position_count);
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
    uint8_t numbers[BITS_LANES];

    kernels->count_columns(node->columns, seeker->positions, seeker->position_count,
                           node->lane_words, planes);
    if (plane_count > BITS_SPREAD_PLANES) {
        for (uint32_t lane = 0; lane < node->lane_words * 64; lane++) {
            out[lane] = (uint16_t)sliced_number(planes, plane_count, lane);
        }
        return;
    }
    kernels->spread(planes, plane_count, node->lane_words, numbers);
    for (uint32_t lane = 0; lane < node->lane_words * 64; lane++) {
        out[lane] = numbers[lane];
    }
}

/* Chooses a group instead of the one chosen before if it is more similar, and the part may join. */
static void consider_node(const struct standing *standing, struct seeker *seeker,
                          struct standing_group *group, uint32_t shared, struct choice *choice)
{
    uint32_t all = group->key_bits + seeker->key_bits - shared;

    if ((choice->group == NULL || shared * choice->all > choice->shared * all) &&
        may_join(standing, group, seeker, shared)) {
        *choice = (struct choice){group, shared, all};
    }
}

static void look_in_node(struct standing *standing, const struct standing_node *node,
                         struct seeker *seeker, struct choice *choice)
{
    uint16_t shared[BITS_LANES];
    uint16_t lanes[BITS_LANES];
    uint64_t mask[BITS_LANE_WORDS];

    if (!place_candidates(node, seeker, mask)) {
        return;
    }
    standing->looked++;
    count_shared(standing, node, seeker, shared);
    size_t count = standing->options.kernels->list_least(shared, node->lane_words * 64,
                                                         (uint16_t)seeker->shared_least, lanes);
    for (size_t i = 0; i < count; i++) {
        uint32_t lane = lanes[i];

        if ((mask[lane / 64] >> lane % 64 & 1) != 0) {
            consider_node(standing, seeker, node->groups[lane], shared[lane], choice);
        }
    }
}

static void look_at_hints(const struct standing *standing, struct seeker *seeker,
                          struct choice *choice)
{
    for (uint32_t h = 0; h < STANDING_HINTS; h++) {
        struct standing_group *group = standing_hinted(standing, seeker->signatures[h]);

        if (group != NULL && group != choice->group && group->class == seeker->class &&
            group->loose == seeker->loose && group->count < STANDING_GROUP) {
            consider_node(standing, seeker, group,
                          bloom_intersection_count(group->key, seeker->key, standing->words),
                          choice);
        }
    }
}

/* Returns, of the groups that the part may join, the group that is most similar to the part; in an
 * index of many groups, another similar one. Returns NULL if no such group is found. */
static struct standing_group *place_seek(struct standing *standing, struct seeker *seeker)
{
    struct choice choice = {NULL, 0, 0};
    uint32_t first = 0;

    if (standing->node_count > LOOK_ALL) {
        look_at_hints(standing, seeker, &choice);
        first = choice.group != NULL ? standing->node_count : standing->node_count - LOOK_LAST;
    }
    for (uint32_t n = first; n < standing->node_count; n++) {
        look_in_node(standing, standing->nodes[n], seeker, &choice);
    }
    return choice.group;
}

/*
 * Makes a new group for a part, in the first node that has a free lane for the part's class, or in
 * a new node. Returns NULL without memory.
 */
static struct standing_group *open_group(struct standing *standing, const struct seeker *seeker)
{
    struct standing_group *group = standing_group_new(standing, seeker->class, seeker->loose);
    uint32_t lane = 0;

    if (group == NULL) {
        return NULL;
    }
    struct standing_node *node = NULL;
    for (uint32_t n = 0; node == NULL && n < standing->node_count; n++) {
        if (standing_free_lane(standing->nodes[n], seeker->class, &lane)) {
            node = standing->nodes[n];
        }
    }
    if (node == NULL) {
        node = standing_node_new(standing);
        if (node == NULL) {
            standing_group_free(standing, group);
            return NULL;
        }
        (void)standing_free_lane(node, seeker->class, &lane); /* a new node has free lanes */
    }
    standing_put(standing, group, seeker->slot);
    standing_enter(standing, node, lane, group);
    if (seeker->has_signatures) {
        standing_hint(standing, seeker->signatures, group);
    }
    return group;
}

static int place_part(struct standing *standing, const struct standing_slot *slot)
{
    struct seeker seeker;

    seek_begin(standing, slot, &seeker);
    if (seeker.has_signatures) {
        standing_reserve_hints(standing);
    }
    struct standing_group *group = place_seek(standing, &seeker);
    if (group == NULL) {
        return open_group(standing, &seeker) != NULL ? 0 : -ERR_NOMEM;
    }
    if (!standing_group_grow(standing, group)) {
        return -ERR_NOMEM;
    }
    settle_in(standing, &seeker, group, slot);
    return 0;
}

static void drop_if_empty(struct standing *standing, struct standing_group *group)
{
    if (group->count == 0) {
        standing_leave(standing, group);
        standing_group_free(standing, group);
    }
}

/* Moves the parts of a small group to other groups that have free slots. A part for which no group
 * is found stays. Allocates no memory. */
static void place_dissolve(struct standing *standing, struct standing_group *group)
{
    for (uint32_t i = group->count; i-- > 0;) {
        struct standing_slot slot = group->slots[i];
        struct seeker seeker;

        seek_begin(standing, &slot, &seeker);
        seeker.except = group;
        seeker.in_place = true;
        struct standing_group *other = place_seek(standing, &seeker);
        if (other != NULL) {
            standing_take(standing, group, i);
            settle_in(standing, &seeker, other, &slot);
        }
    }
}

bool standing_move_part(struct standing *standing, struct standing_group *group, uint32_t slot)
{
    struct standing_slot moved = group->slots[slot];
    struct seeker seeker;

    seek_begin(standing, &moved, &seeker);
    standing_take(standing, group, slot);
    seeker.except = group->count == 0 ? group : NULL; /* its key is still that of the part */
    struct standing_group *other = place_seek(standing, &seeker);
    if (other == NULL && group->count > 0 && open_group(standing, &seeker) != NULL) {
        return false;
    }
    if (other == NULL || (other != group && !standing_group_grow(standing, other))) {
        other = group; /* the group has a free place: the part was there before */
    }
    settle_in(standing, &seeker, other, &moved);
    bool is_gone = group->count == 0;
    drop_if_empty(standing, group);
    return is_gone;
}

static void displace_part(struct standing *standing, const struct standing_place *place)
{
    struct standing_group *group = place->group;

    standing_take(standing, group, place->slot);
    if (group->count > 0 && group->count <= SPARSE) {
        place_dissolve(standing, group);
    }
    drop_if_empty(standing, group);
}

int standing_place_query(struct standing *standing, struct standing_query *query)
{
    for (uint32_t p = 0; p < query->part_count; p++) {
        int rc = place_part(standing, &query->slots[p]);

        if (rc != 0) {
            standing_displace_query(standing, query);
            return rc;
        }
    }
    return 0;
}

void standing_displace_query(struct standing *standing, struct standing_query *query)
{
    for (uint32_t p = 0; p < query->part_count; p++) {
        if (query->places[p].group != NULL) {
            displace_part(standing, &query->places[p]);
        }
    }
}
