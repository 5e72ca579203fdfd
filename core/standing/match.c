/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing_match: matches messages in batches, one node after another, so that the columns of a
 * node can stay in a near cache for the whole batch.
 */
#include <string.h>

#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/filter/distance.h"
#include "core/standing/inner.h"

enum { OPENING_MAX = 32, CACHE_LINE_WORDS = 8 };

/* Prefetches `words` words of memory that will be read soon. */
static void match_fetch(const void *what, size_t words)
{
#if defined(__GNUC__)
    for (size_t w = 0; w < words; w += CACHE_LINE_WORDS) {
        __builtin_prefetch((const uint64_t *)what + w);
    }
#else
    (void)what;
    (void)words;
#endif
}

/* --- one part --------------------------------------------------------------------------------- */

static bool slot_fits(const struct standing *standing, const struct standing_slot *slot,
                      const struct standing_deposit *deposit, uint32_t overlap,
                      uint32_t union_count)
{
    struct similarity bits = similarity_of(overlap, union_count);

    return slot->scope == deposit->scope && distance_within(bits, slot->max_distance_ppm) &&
           distance_within(bits, deposit->reach_ppm) &&
           (slot->contains == NULL ||
            bloom_is_subset(slot->contains, deposit->filter, standing->words));
}

/* Computes the similarity of a hit. If several parts of a query fit a message, the part with the
 * highest similarity gets the hit. */
static struct similarity rank_of(const struct standing_hit *hit)
{
    return similarity_of(hit->intersection, hit->union_count);
}

/* Keeps the better of two hits that one query has for one message. */
static void keep_better(struct standing_hit *held, const struct standing_hit *other)
{
    int order = similarity_compare(rank_of(other), rank_of(held));

    if (order > 0 || (order == 0 && other->part < held->part)) {
        *held = *other;
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool add_hit(struct standing *standing, const struct standing_group *group, uint32_t slot,
                    const struct standing_probe *probe, uint32_t overlap)
{
    uint32_t all = probe->cardinality + group->cardinalities[slot] - overlap;

    if (!slot_fits(standing, &group->slots[slot], probe->deposit, overlap, all)) {
        return true;
    }
    if (standing->found_count == standing->hit_room) {
        return false;
    }
    standing->found[standing->found_count++] = (struct standing_hit){
        .query = group->slots[slot].query,
        .deposit = (uint32_t)(probe - standing->probes),
        .part = group->slots[slot].part,
        .intersection = overlap,
        .union_count = all,
    };
    return true;
}

/*
 * Compares a message with all parts of a group and adds the hits. Returns false if `found` has no
 * room for another hit.
 */
static bool open_group(struct standing *standing, const struct standing_group *group,
                       const struct standing_probe *probe)
{
    struct bits_scan scan = {
        .query = probe->deposit->filter,
        .words = standing->words,
        .base = probe->cardinality,
        .floor = group->floor,
    };
    size_t blocks = (group->count + BITS_BLOCK - 1) / BITS_BLOCK;
    size_t found_before = standing->found_count;
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    standing->compared += group->count;
    for (size_t b = 0; b < blocks; b++) {
        b += standing->options.kernels->scan(
            &scan, group->filters + b * BITS_BLOCK * standing->words,
            group->cardinalities + b * BITS_BLOCK, blocks - b, overlaps, &lanes);
        for (; b < blocks && lanes != 0; lanes &= lanes - 1) {
            uint32_t lane = sliced_lowest(lanes);
            uint32_t slot = (uint32_t)b * BITS_BLOCK + lane;

            if (slot < group->count && !add_hit(standing, group, slot, probe, overlaps[lane])) {
                return false;
            }
        }
    }
    /*
     * standing->in_vain counts the groups that were opened without a hit; standing_learn changes
     * likeness_percent by this number. Loose groups and containing groups do not depend on
     * likeness_percent, so in_vain does not count these groups.
     */
    standing->in_vain += standing->found_count == found_before && !group->loose &&
                         group->class != STANDING_CONTAINING;
    return true;
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

    for (uint32_t i = 0; i < opening->count; i++) {
        match_fetch(opening->groups[i]->filters, standing->words * BITS_BLOCK);
    }
    for (uint32_t i = 0; fits && i < opening->count; i++) {
        fits = open_group(standing, opening->groups[i], opening->probes[i]);
    }
    opening->count = 0;
    return fits;
}

static bool open_soon(struct standing *standing, struct opening *opening,
                      const struct standing_group *group, const struct standing_probe *probe)
{
    match_fetch(group, 1);
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
    }
}

/*
 * Queues the messages of the batch with the groups of a node: a message with a group only if the
 * message reaches the threshold of the group. Returns false if `found` has no room for another hit.
 */
static bool match_node(struct standing *standing, const struct standing_node *node, uint32_t count,
                       struct opening *opening)
{
    struct bits_reach reach = {
        .columns = node->columns,
        .lane_words = node->lane_words,
        .lanes = node->lanes,
        .own = node->planes,
        .own_planes = node->plane_count,
        .floors = node->floors,
    };
    uint64_t mask[BITS_LANE_WORDS];

    for (uint32_t d = 0; d < count; d++) {
        const struct standing_probe *probe = &standing->probes[d];

        reach.positions = probe->positions;
        reach.count = probe->column_count;
        reach.base = probe->cardinality;
        /* base * floor / 2^16 is at most half of the base */
        reach.planes = 1 + (node->plane_count > probe->planes ? node->plane_count : probe->planes);
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
    bool fits = false;

    for (uint32_t p = 0; p < query->part_count; p++) {
        const uint64_t *filter = standing_part_filter(query, p);
        uint32_t overlap = bloom_intersection_count(filter, deposit->filter, standing->words);
        struct standing_hit hit = {
            .query = query,
            .part = p,
            .intersection = overlap,
            .union_count = bloom_union_count(filter, deposit->filter, standing->words),
        };

        if (!slot_fits(standing, &query->slots[p], deposit, overlap, hit.union_count)) {
            continue;
        }
        if (fits) {
            keep_better(out_hit, &hit);
        } else {
            *out_hit = hit;
            fits = true;
        }
    }
    return fits;
}
