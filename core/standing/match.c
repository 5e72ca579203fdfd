/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing_match: matches messages in batches, one node after another, so that the columns of a
 * node can stay in a near cache for the whole batch.
 */

#include "core/base/fetch.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/standing/inner.h"

enum { OPENING_MAX = 32, CACHE_LINE_WORDS = 8 };

/* Prefetches `words` words of memory that will be read soon. */
static void match_fetch(const void *what, size_t words)
{
    for (size_t w = 0; w < words; w += CACHE_LINE_WORDS) {
        fetch_line((const uint64_t *)what + w);
    }
}

/* --- one part --------------------------------------------------------------------------------- */

/* A message and a part: what was counted of them. */
struct pair {
    const struct standing_slot *slot;
    const struct standing_deposit *deposit;
    const struct standing_spread *spread; /* of the message; for a part by phi */
    uint32_t overlap;
    uint32_t union_count;
};

/*
 * The rank of a message by phi. Returns false if the message is beyond the distance of the part, or
 * the part is beyond the reach of the message, by phi with the message as the one that asks.
 */
static bool is_near_by_phi(const struct standing *standing, const struct pair *pair,
                           struct similarity *out_rank)
{
    const struct profile *profile = &standing->profile;
    struct phi_sized part = pair->slot->sized;
    struct phi_sized message = {pair->spread->counts, pair->spread->spreads};
    struct similarity reached;

    return phi_counted(profile, part, message, pair->overlap, pair->slot->least, out_rank) &&
           (pair->deposit->reach_ppm >= DISTANCE_ONE_PPM ||
            phi_counted(profile, message, part, pair->overlap, phi_least(pair->deposit->reach_ppm),
                        &reached));
}

/* The same by bits. */
static bool is_near_by_bits(const struct pair *pair, struct similarity *out_rank)
{
    struct similarity bits = similarity_of(pair->overlap, pair->union_count);

    *out_rank = bits;
    return distance_within(bits, pair->slot->max_distance_ppm) &&
           distance_within(bits, pair->deposit->reach_ppm);
}

/* Returns whether a message fits a part. If so, fills in the hit, but for its deposit. */
static bool pair_fits(const struct standing *standing, const struct pair *pair,
                      struct standing_hit *out_hit)
{
    const struct standing_slot *slot = pair->slot;
    struct similarity rank;

    if (slot->scope != pair->deposit->scope ||
        !(slot->sized.counts != NULL ? is_near_by_phi(standing, pair, &rank)
                                     : is_near_by_bits(pair, &rank)) ||
        (slot->contains != NULL &&
         !bloom_is_subset(slot->contains, pair->deposit->filter, standing->words))) {
        return false;
    }
    *out_hit = (struct standing_hit){
        .query = slot->query,
        .part = slot->part,
        .rank = rank,
        .intersection = pair->overlap,
        .union_count = pair->union_count,
    };
    return true;
}

/* Keeps the better of two hits that one query has for one message. */
static void keep_better(struct standing_hit *held, const struct standing_hit *other)
{
    int order = similarity_compare(other->rank, held->rank);

    if (order > 0 || (order == 0 && other->part < held->part)) {
        *held = *other;
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool add_hit(struct standing *standing, const struct standing_group *group, uint32_t slot,
                    const struct standing_probe *probe, uint32_t overlap)
{
    uint32_t number = (uint32_t)(probe - standing->probes);
    struct pair pair = {
        .slot = &group->slots[slot],
        .deposit = probe->deposit,
        .spread = &standing->spreads[number],
        .overlap = overlap,
        .union_count = probe->cardinality + group->cardinalities[slot] - overlap,
    };
    struct standing_hit hit;

    if (!pair_fits(standing, &pair, &hit)) {
        return true;
    }
    if (standing->found_count == standing->hit_room) {
        return false;
    }
    hit.deposit = number;
    standing->found[standing->found_count++] = hit;
    return true;
}

/*
 * How many bits a message must share with a part of a group, so that the part may fit: the smallest
 * number of its parts. The threshold of the group's lane is at most this number, because it is that
 * of all groups of the word.
 */
static uint32_t group_need(struct standing *standing, const struct standing_group *group,
                           const struct standing_probe *probe)
{
    if (group->need.asked != 0) {
        return standing_need_for(standing, &group->need,
                                 &standing->spreads[probe - standing->probes]);
    }
    return (probe->cardinality + group->low) * group->floor >> BITS_FLOOR_SHIFT;
}

static uint32_t shared_bits(const struct standing *standing, const uint64_t *filter,
                            const struct standing_probe *probe)
{
    uint64_t both[PROFILE_WORDS_MAX];

    bloom_intersection(both, filter, probe->deposit->filter, standing->words);
    return standing->options.kernels->cardinality(both, standing->words);
}

/*
 * Fills in the arguments of `scan` for a group. By bits, the floor of the group depends on the set
 * bits of each part. By phi, all parts need `need` bits, so the sizes count as 0. Returns the
 * sizes.
 */
static const uint16_t *begin_scan(const struct standing *standing,
                                  const struct standing_group *group,
                                  const struct standing_probe *probe, uint32_t need,
                                  struct bits_scan *out)
{
    static const uint16_t zeros[STANDING_GROUP];
    bool by_phi = group->need.asked != 0;

    *out = (struct bits_scan){
        .query = probe->deposit->filter,
        .words = standing->words,
        .base = by_phi ? 2 * need : probe->cardinality,
        .floor = by_phi ? 1 << (BITS_FLOOR_SHIFT - 1) : group->floor,
    };
    return by_phi ? zeros : group->cardinalities;
}

/*
 * Compares a message with all parts of a group of two parts or more, and adds the hits. Returns
 * false if `found` has no room for another hit.
 */
static bool compare_parts(struct standing *standing, const struct standing_group *group,
                          const struct standing_probe *probe, uint32_t need)
{
    struct bits_scan scan;
    const uint16_t *sizes = begin_scan(standing, group, probe, need, &scan);
    size_t blocks = (group->count + BITS_BLOCK - 1) / BITS_BLOCK;
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    for (size_t b = 0; b < blocks; b++) {
        b += standing->options.kernels->scan(&scan,
                                             group->filters + b * BITS_BLOCK * standing->words,
                                             sizes + b * BITS_BLOCK, blocks - b, overlaps, &lanes);
        for (; b < blocks && lanes != 0; lanes &= lanes - 1) {
            uint32_t lane = sliced_lowest(lanes);
            uint32_t slot = (uint32_t)b * BITS_BLOCK + lane;

            if (slot < group->count && !add_hit(standing, group, slot, probe, overlaps[lane])) {
                return false;
            }
        }
    }
    return true;
}

/*
 * Opens a group for a message. First the message is compared with the key, which rules out most
 * groups with the group's own need: that of the word of lanes is lower. The key of a containing
 * group says nothing about the filters of its parts. Returns false if `found` has no room for
 * another hit.
 */
static bool open_group(struct standing *standing, const struct standing_group *group,
                       const struct standing_probe *probe)
{
    bool contains = group->class == STANDING_CONTAINING;
    uint32_t need = contains ? 0 : group_need(standing, group, probe);
    size_t found_before = standing->found_count;
    bool fits = true;

    if (group->count == 1) { /* its key is the filter of its part */
        const uint64_t *filter =
            contains ? standing_part_filter(group->slots->query, group->slots->part) : group->key;
        uint32_t shared = shared_bits(standing, filter, probe);

        standing->compared++;
        fits = shared < need || add_hit(standing, group, 0, probe, shared);
    } else if (contains || shared_bits(standing, group->key, probe) >= need) {
        standing->compared += group->count;
        fits = compare_parts(standing, group, probe, need);
    }
    /*
     * standing->in_vain counts the groups that were opened without a hit; standing_learn changes
     * likeness_percent by this number. Loose groups and containing groups do not depend on
     * likeness_percent, so in_vain does not count these groups.
     */
    standing->in_vain += standing->found_count == found_before && !group->loose && !contains;
    return fits;
}

/*
 * A queue of pairs: a group, and a message that will be compared with the group. The groups of the
 * queue are prefetched before the comparisons.
 */
struct opening {
    const struct standing_group *groups[OPENING_MAX];
    const struct standing_probe *probes[OPENING_MAX];
    uint32_t count;
};

static bool open_all(struct standing *standing, struct opening *opening)
{
    bool fits = true;

    for (uint32_t i = 0; fits && i < opening->count; i++) {
        fits = open_group(standing, opening->groups[i], opening->probes[i]);
    }
    opening->count = 0;
    return fits;
}

static bool open_soon(struct standing *standing, struct opening *opening,
                      const struct standing_group *group, const struct standing_probe *probe)
{
    size_t first = offsetof(struct standing_group, slots);

    match_fetch((const char *)group + first,
                (sizeof(*group) - first) / sizeof(uint64_t) + standing->words);
    opening->groups[opening->count] = group;
    opening->probes[opening->count++] = probe;
    return opening->count < OPENING_MAX || open_all(standing, opening);
}

/*
 * Queues a message with each of the groups whose lanes are set in `mask`; compares the pairs of the
 * queue when it is full. Returns false if `found` has no room for another hit.
 */
static bool open_lanes(struct standing *standing, const struct standing_node *node,
                       const uint64_t *mask, const struct standing_probe *probe,
                       struct opening *opening)
{
    for (uint32_t w = 0; w < node->lane_words; w++) {
        for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
            if (!open_soon(standing, opening, node->groups[w * 64 + sliced_lowest(left)], probe)) {
                return false;
            }
        }
    }
    return true;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void make_probes(struct standing *standing, const struct standing_deposit *deposits,
                        uint32_t count)
{
    uint16_t *positions = standing->positions;

    for (uint32_t d = 0; d < count; d++) {
        size_t set =
            standing->options.kernels->positions(deposits[d].filter, standing->words, positions);
        size_t columns = set;

        for (; columns % STANDING_TURN != 0; columns++) {
            positions[columns] = (uint16_t)(standing->words * 64);
        }
        standing->probes[d] = (struct standing_probe){
            .deposit = &deposits[d],
            .positions = positions,
            .column_count = columns,
            .cardinality = (uint32_t)set,
            .planes = bits_planes(set / 2),
        };
        positions += columns;
        if (standing->phi_count > 0) {
            standing_spread_of(standing, deposits[d].filter, &standing->spreads[d]);
        }
    }
}

/* The needs by phi of a node's words of lanes, for each message of a batch; the planes that the
 * largest of a message's needs takes; and whether lanes need their own thresholds besides. */
struct batch_needs {
    uint64_t words[STANDING_BATCH][BITS_LANE_WORDS];
    size_t planes[STANDING_BATCH];
    bool typical[STANDING_BATCH];
};

/* Computes the needs of a node for all messages of a batch. They are computed before the first of
 * them is read, because reading them as vectors right after they were stored would have to wait. */
static void compute_needs(struct standing *standing, const struct standing_node *node,
                          uint32_t count, struct batch_needs *out)
{
    for (uint32_t d = 0; d < count; d++) {
        uint64_t any;

        out->typical[d] =
            standing_needs_for(standing, node, &standing->spreads[d], out->words[d], &any);
        out->planes[d] = bits_planes((size_t)(any >> BITS_FLOOR_SHIFT));
    }
}

/* How many planes the thresholds of a node take. */
static size_t threshold_planes(const struct standing_node *node, const struct standing_probe *probe,
                               size_t by_phi)
{
    size_t planes = probe->planes; /* base * floor / 2^16 is at most half of the base */

    planes = planes > by_phi ? planes : by_phi;
    return 1 + (planes > node->plane_count ? planes : node->plane_count);
}

/*
 * Queues the messages of the batch with the groups of a node: a message with a group only if the
 * message reaches the threshold of the group. Returns false if `found` has no room for another hit.
 */
static bool match_node(struct standing *standing, const struct standing_node *node, uint32_t count,
                       struct opening *opening)
{
    static const uint64_t zeros[BITS_LANE_WORDS];
    struct bits_reach reach = {
        .columns = node->columns,
        .lane_words = node->lane_words,
        .lanes = node->lanes,
        .own = node->planes,
        .own_planes = node->plane_count,
        .floors = node->floors,
    };
    struct batch_needs needs;
    uint64_t mask[BITS_LANE_WORDS];

    if (node->has_phi) {
        compute_needs(standing, node, count, &needs);
    }
    for (uint32_t d = 0; d < count; d++) {
        const struct standing_probe *probe = &standing->probes[d];

        reach.positions = probe->positions;
        reach.count = probe->column_count;
        reach.base = probe->cardinality;
        reach.more = node->has_phi ? needs.words[d] : zeros;
        /* Without those of the lanes thresholds are lower, also of groups by bits. */
        reach.own_planes = node->has_phi && !needs.typical[d] ? 0 : node->plane_count;
        reach.planes = threshold_planes(node, probe, node->has_phi ? needs.planes[d] : 0);
        if (standing->options.kernels->lanes_reaching(&reach, mask) &&
            !open_lanes(standing, node, mask, probe, opening)) {
            return false;
        }
    }
    return true;
}

static bool match_collect(struct standing *standing, uint32_t count)
{
    struct opening opening = {.count = 0};

    standing->found_count = 0;
    for (uint32_t n = 0; n < standing->node_count; n++) {
        if (!match_node(standing, standing->nodes[n], count, &opening)) {
            return false;
        }
    }
    return open_all(standing, &opening);
}

/* Keeps one hit for each pair of query and message, if the message fits several parts of the query.
 * The hits must be sorted by message. Returns the number of hits that are left. */
static size_t unite_parts(struct standing *standing, size_t count)
{
    struct standing_hit *hits = standing->hits;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct standing_query *query = hits[i].query;
        uint64_t serial = standing->serial + hits[i].deposit;

        if (query->part_count > 1 && query->seen == serial) {
            keep_better(&hits[query->seen_at], &hits[i]);
            continue;
        }
        query->seen = serial;
        query->seen_at = kept;
        hits[kept++] = hits[i];
    }
    return kept;
}

/* Sorts the hits by message, with a counting sort. */
static void sort_hits(struct standing *standing, uint32_t count)
{
    size_t starts[STANDING_BATCH + 1] = {0};

    for (size_t i = 0; i < standing->found_count; i++) {
        starts[standing->found[i].deposit + 1]++;
    }
    for (uint32_t d = 0; d < count; d++) {
        starts[d + 1] += starts[d];
    }
    for (size_t i = 0; i < standing->found_count; i++) {
        standing->hits[starts[standing->found[i].deposit]++] = standing->found[i];
    }
}

uint32_t standing_match(struct standing *standing, const struct standing_deposit *deposits,
                        uint32_t count, const struct standing_hit **out_hits, size_t *out_hit_count)
{
    count = count < standing->batch ? count : standing->batch;
    make_probes(standing, deposits, count);
    while (!match_collect(standing, count)) { /* the hits of one message always fit: see hit_room */
        count = (count + 1) / 2;
        standing->batch = count;
    }
    if (standing->found_count < standing->hit_room / 4 && standing->batch < STANDING_BATCH) {
        standing->batch =
            2 * standing->batch < STANDING_BATCH ? 2 * standing->batch : STANDING_BATCH;
    }
    sort_hits(standing, count);
    *out_hits = standing->hits;
    *out_hit_count = standing->found_count;
    if (standing->found_count > 0) {
        *out_hit_count = unite_parts(standing, standing->found_count);
    }
    standing->serial += count;
    standing_learn(standing, count);
    return count;
}

bool standing_fits(const struct standing *standing, struct standing_query *query,
                   const struct standing_deposit *deposit, struct standing_hit *out_hit)
{
    struct standing_spread spread;
    bool fits = false;

    if (query->metric == INDEX_METRIC_PHI) {
        standing_spread_of(standing, deposit->filter, &spread);
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        const uint64_t *filter = standing_part_filter(query, p);
        struct pair pair = {
            .slot = &query->slots[p],
            .deposit = deposit,
            .spread = &spread,
            .overlap = bloom_intersection_count(filter, deposit->filter, standing->words),
            .union_count = bloom_union_count(filter, deposit->filter, standing->words),
        };
        struct standing_hit hit;

        if (!pair_fits(standing, &pair, &hit)) {
            continue;
        }
        hit.deposit = 0;
        if (fits) {
            keep_better(out_hit, &hit);
        } else {
            *out_hit = hit;
            fits = true;
        }
    }
    return fits;
}
