/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: checks for one message whether it meets the conditions of a query. Engines call these
 * functions for messages that a search visits.
 */
#include <string.h>

#include "core/base/expiry.h"
#include "core/filter/bloom.h"
#include "core/index/engine.h"
#include "core/summary/bound.h"

static struct similarity bit_similarity(const struct index_probe *probe, uint32_t cardinality,
                                        uint32_t overlap)
{
    return similarity_of(overlap, probe->cardinality + cardinality - overlap);
}

/* Computes floor(s / (1 + s) * 2^INDEX_FLOOR_SHIFT) for s = shared / all. */
static uint16_t floor_of(uint32_t shared, uint32_t all)
{
    return (uint16_t)(((uint64_t)shared << INDEX_FLOOR_SHIFT) / ((uint64_t)shared + all));
}

static bool is_phi(const struct index_probe *probe)
{
    return probe->query->metric == INDEX_METRIC_PHI;
}

/* The floor of a similarity: of phi, or by the formula of floor_of. */
static uint16_t metric_floor(const struct index_probe *probe, struct similarity s)
{
    return is_phi(probe) ? (uint16_t)phi_floor(s) : floor_of(s.shared, s.all);
}

struct similarity index_rank(enum index_order order, struct similarity similarity)
{
    static const struct similarity same = {1, 1};

    return order == INDEX_ORDER_NEWEST ? same : similarity;
}

static struct similarity rank_of(const struct index_probe *probe, struct similarity similarity)
{
    return index_rank(probe->query->order, similarity);
}

/* The k-th best candidate, if it says how similar a message must be to come before it. */
static const struct nearest_candidate *worst_similar(const struct index_probe *probe)
{
    return probe->query->order == INDEX_ORDER_SIMILARITY ? nearest_worst(probe->nearest) : NULL;
}

uint16_t index_probe_floor(const struct index_probe *probe)
{
    const struct nearest_candidate *worst = worst_similar(probe);
    uint32_t max_ppm = probe->query->max_distance_ppm;
    uint16_t floor = 0;

    if (max_ppm < DISTANCE_ONE_PPM) {
        struct similarity least = {DISTANCE_ONE_PPM - max_ppm, DISTANCE_ONE_PPM};

        floor = metric_floor(probe, least);
    }
    if (worst != NULL) {
        uint16_t by_worst = metric_floor(probe, worst->rank);

        floor = by_worst > floor ? by_worst : floor;
    }
    if (probe->query->floor.all > 0) {
        uint16_t by_query = metric_floor(probe, probe->query->floor);

        floor = by_query > floor ? by_query : floor;
    }
    return floor;
}

struct bits_scan index_probe_scan(const struct index_probe *probe, size_t stride)
{
    struct bits_scan scan = {
        .query = probe->filter,
        .words = bloom_words(probe->part_bits),
        .base = probe->cardinality,
        .phi = is_phi(probe) ? &probe->phi_test : NULL,
        .stride = stride,
    };

    while (scan.before + 1 < scan.words && scan.query[scan.before] == 0) {
        scan.before++;
    }
    while (scan.before + scan.after + 1 < scan.words &&
           scan.query[scan.words - scan.after - 1] == 0) {
        scan.after++;
    }
    return scan;
}

/*
 * The numbers of struct bits_phi. Let A be the number of asked sections, and let a message have a
 * phi with the floor f > 0. Then, with X and V as in core/profile/phi.h,
 *
 *   X^2 >= f / 2^15 V(a) V(c) (1 - 2^-16),
 *
 * because the root of the formula is at least 2^17 and rounded down, by less than 1. Each floor in
 * X takes away less than 1, so that X + A is more than 256 times the exact number of X, and V(c) is
 * not below its exact number. The kernel rounds the other way: `chance` is rounded down and `loss`
 * up, x up and v down. So
 *
 *   x >= 2^(15 - shift) X / 256      v <= 2^(15 - shift) V(c) / 256
 *
 * and x^2 >= v f V(a) / 2^(shift + 8) (1 - 2^-16). As V(a) is at least 1, `scale` takes more away.
 *
 * The least overlap of the kernel: without rounding, X is at most V(c), and X is at most i.
 * docs/notes/tree.md, "The bound of phi", shows the first, which holds for full sections, too. So
 * from X^2 >= f / 2^15 V(a) V(c) (1 - 2^-16) follows i >= f V(a) / 2^23 (1 - 2^-16).
 *
 * i - a c / b is at most b / 4, and so is c - c^2 / b. So 2^15 X / 256 is at most 2^13 m for m bits
 * in all, besides the slack, and the shift makes it at most 2^14.
 */
void index_probe_ask_phi(struct index_probe *probe)
{
    enum { ONE = 1 << BITS_SIZED_SHIFT, X_SHIFT = 8, ROOT_SHIFT = 15 };
    struct bits_phi *test = &probe->phi_test;
    uint32_t spread = 0;

    phi_ask(&probe->phi, probe->profile, probe->filter);
    spread = probe->phi.spread;
    memset(test, 0, sizeof(*test));
    test->count = probe->profile->section_count;
    test->scale = spread - (spread >> ROOT_SHIFT) - (spread > 0);
    while (probe->part_bits > 2u << test->shift) {
        test->shift++;
    }
    test->slack =
        (int32_t)(probe->phi.count << (BITS_SIZED_SHIFT - X_SHIFT)) + (1 << test->shift) - 1;
    for (uint32_t s = 0; s < probe->phi.count; s++) {
        const struct phi_section *section = &probe->phi.sections[s];
        uint32_t chance = ONE * section->set / section->bits;

        test->sections[section->number] = (struct bits_sized){
            .chance = (uint16_t)(chance < ONE ? chance : ONE - 1),
            .loss = (uint16_t)((ONE + section->bits - 1) / section->bits),
            .whole = ONE,
        };
    }
}

/* Whether a similarity is not below the floor of the query. */
static bool reaches_floor(const struct index_probe *probe, struct similarity similarity)
{
    return probe->query->floor.all == 0 || similarity_compare(similarity, probe->query->floor) >= 0;
}

/* Copies the words of a filter, so that they follow one another. */
static void copy_words(const struct index_probe *probe, const uint64_t *filter, size_t stride,
                       uint64_t *out)
{
    size_t count = bloom_words(probe->part_bits);

    for (size_t w = 0; w < count; w++) {
        out[w] = filter[w * stride];
    }
}

bool index_probe_may_pass(const struct index_probe *probe, uint32_t cardinality, uint32_t overlap)
{
    struct similarity bits = bit_similarity(probe, cardinality, overlap);
    const struct nearest_candidate *worst = nearest_worst(probe->nearest);

    if (is_phi(probe)) {
        return true;
    }
    return distance_within(bits, probe->query->max_distance_ppm) && reaches_floor(probe, bits) &&
           (worst == NULL || similarity_compare(rank_of(probe, bits), worst->rank) >= 0);
}

bool index_probe_may_be_best(const struct index_probe *probe, struct similarity most,
                             int64_t newest_ms)
{
    const struct nearest_candidate *worst = nearest_worst(probe->nearest);

    if (newest_ms < probe->query->since_ms || !reaches_floor(probe, most)) {
        return false;
    }
    int order = worst == NULL ? 1 : similarity_compare(rank_of(probe, most), worst->rank);
    return order > 0 || (order == 0 && newest_ms >= worst->item.deposited_ms);
}

bool index_probe_may_hold(const struct index_probe *probe, uint32_t low, uint32_t high,
                          uint32_t shared, int64_t newest_ms)
{
    struct bound_query query = {
        .set_bits = probe->cardinality,
        .section_count = 1,
        .max_distance_ppm = probe->query->max_distance_ppm,
    };
    struct phi_range range = {.least = low, .most = high, .shared = shared};
    struct similarity most;

    if (newest_ms < probe->query->since_ms || !bound_rank(&query, &range, &most)) {
        return false;
    }
    return index_probe_may_be_best(probe, most, newest_ms);
}

bool index_probe_may_reach(const struct index_probe *probe, uint32_t floor, int64_t newest_ms)
{
    /* The most similar message may have the rank of the k-th best only if that is 0 or 1: the other
     * bounds are coarse. */
    return index_probe_may_be_best(probe, (struct similarity){floor > 0, 1}, newest_ms);
}

static bool may_be_shown(const struct index_probe *probe, const struct index_item *item)
{
    const struct index_query *query = probe->query;

    return !message_expired(item->expires_ms, probe->now_ms) &&
           item->deposited_ms >= query->since_ms &&
           (item->deposited_ms < query->until_ms || query->until_ms == INT64_MAX);
}

/* Returns whether the query's slices contain the message's id. */
static bool is_excluded(struct index_probe *probe, const struct index_item *item, uint32_t place)
{
    const struct index_query *query = probe->query;
    bool excluded = false;

    if (query->exclude_count == 0 || index_memo_get(probe->memo, place, &excluded)) {
        return excluded;
    }
    excluded = scalable_slices_have(query->exclude, query->exclude_count, item->id,
                                    sizeof(item->id), &probe->looks);
    index_memo_put(probe->memo, place, excluded);
    return excluded;
}

/* Returns whether the query is within the reach of a message, by phi with the message as the one
 * that asks. */
static bool is_reached(const struct index_probe *probe, const struct index_item *item,
                       const uint64_t *filter, size_t stride, uint32_t overlap)
{
    uint64_t words[PROFILE_WORDS_MAX];
    struct phi_query asked;

    if (item->reach_ppm >= DISTANCE_ONE_PPM) {
        return true;
    }
    copy_words(probe, filter, stride, words);
    phi_ask(&asked, probe->profile, words);
    return distance_within(phi_similarity(&asked, probe->filter, overlap), item->reach_ppm);
}

/* Writes the set bits of each section of a message, one behind the other. */
static void copy_counts(const struct index_probe *probe, struct index_counts counts, uint16_t *out)
{
    out[0] = counts.first[0];
    for (uint32_t s = 1; s < probe->profile->section_count; s++) {
        out[s] = counts.first[s * counts.stride];
        out[0] = (uint16_t)(out[0] - out[s]);
    }
}

/* The similarity of a message by phi. Returns false if the message is not within the distance of
 * the query, or clearly less similar than the k-th best; *out_reached says whether the query is
 * within the reach of the message. */
static bool similar_by_phi(const struct index_probe *probe, const struct index_item *item,
                           const uint64_t *filter, size_t stride, struct index_counts counts,
                           uint32_t overlap, struct similarity *out_similarity, bool *out_reached)
{
    const struct nearest_candidate *worst = worst_similar(probe);
    uint32_t least = worst != NULL ? worst->rank.shared : 0;
    uint16_t sections[PROFILE_SECTIONS_MAX];

    copy_counts(probe, counts, sections);
    if (!phi_reaches(&probe->phi, sections, overlap, least, out_similarity) ||
        !distance_within(*out_similarity, probe->query->max_distance_ppm)) {
        return false;
    }
    *out_reached = is_reached(probe, item, filter, stride, overlap);
    return true;
}

/* The same by the metric of bits. */
static bool similar_by_bits(const struct index_probe *probe, const struct index_item *item,
                            uint32_t cardinality, uint32_t overlap,
                            struct similarity *out_similarity, bool *out_reached)
{
    *out_similarity = bit_similarity(probe, cardinality, overlap);
    *out_reached = distance_within(*out_similarity, item->reach_ppm);
    return distance_within(*out_similarity, probe->query->max_distance_ppm);
}

void index_probe_offer(struct index_probe *probe, const struct index_item *item, uint32_t place,
                       const uint64_t *filter, size_t stride, uint32_t cardinality,
                       uint32_t overlap, uint32_t contains_overlap)
{
    uint64_t words[PROFILE_WORDS_MAX];
    uint16_t counts[PROFILE_SECTIONS_MAX];

    copy_words(probe, filter, stride, words);
    phi_count(probe->profile, words, counts);
    counts[0] = (uint16_t)cardinality;
    (void)index_probe_offer_counted(probe, item, place, filter, stride,
                                    (struct index_counts){counts, 1}, overlap, contains_overlap);
}

bool index_probe_offer_counted(struct index_probe *probe, const struct index_item *item,
                               uint32_t place, const uint64_t *filter, size_t stride,
                               struct index_counts counts, uint32_t overlap,
                               uint32_t contains_overlap)
{
    uint32_t cardinality = counts.first[0];
    struct similarity similarity;
    bool reached = false;

    if (!may_be_shown(probe, item)) {
        return item->deposited_ms >= probe->query->since_ms;
    }
    if ((probe->contains != NULL && contains_overlap != probe->contains_cardinality) ||
        !(is_phi(probe)
              ? similar_by_phi(probe, item, filter, stride, counts, overlap, &similarity, &reached)
              : similar_by_bits(probe, item, cardinality, overlap, &similarity, &reached))) {
        return false;
    }
    if (probe->query->found != NULL) {
        probe->query->found(probe->query->found_context, item, place);
        return true;
    }
    if (!reached || !reaches_floor(probe, similarity)) {
        return false;
    }
    struct nearest_candidate candidate = {
        .rank = rank_of(probe, similarity),
        .similarity = similarity,
        .item = *item,
        .intersection = overlap,
        .union_count = probe->cardinality + cardinality - overlap,
        .cardinality = cardinality,
        .part = probe->part,
        .source = probe->source,
    };
    if (!nearest_wants(probe->nearest, &candidate)) {
        return index_probe_may_be_best(probe, similarity, item->deposited_ms);
    }
    /*
     * The test whether the query excludes the message's id comes last, because this test usually
     * costs the most. Only candidates for the k best need it.
     */
    if (is_excluded(probe, item, place)) {
        return true;
    }
    copy_counts(probe, counts, candidate.set_bits);
    if (probe->check_repeats) {
        (void)nearest_offer_once(probe->nearest, &candidate); /* whether taken does not matter */
    } else {
        (void)nearest_offer(probe->nearest, &candidate); /* taken: it comes before the worst */
    }
    return true;
}
