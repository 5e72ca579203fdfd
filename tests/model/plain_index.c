/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/model/index_world.h"

struct plain_count {
    uint32_t a, b, both, either;
};

static struct plain_count count_bits(const uint64_t *a, const uint64_t *b, uint32_t first,
                                     uint32_t bits)
{
    struct plain_count counts = {0, 0, 0, 0};

    for (uint32_t p = first; p < first + bits; p++) {
        bool in_a = bloom_test(a, p);
        bool in_b = bloom_test(b, p);

        counts.a += in_a;
        counts.b += in_b;
        counts.both += in_a && in_b;
        counts.either += in_a || in_b;
    }
    return counts;
}

/* The largest number whose square is at most `square`, by bisection. */
static uint64_t plain_root(uint64_t square)
{
    uint64_t low = 0;
    uint64_t high = UINT64_C(1) << 30;

    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;

        if (middle * middle <= square) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* phi over the sections in which `asking` has bits. */
static struct similarity plain_phi(const uint64_t *asking, const uint64_t *other)
{
    const uint32_t one = 1 << 24;
    int64_t x = 0, v_a = 0, v_b = 0;

    for (uint32_t s = 0; s < world.profile.section_count; s++) {
        const struct profile_section *section = &world.profile.sections[s];
        struct plain_count counts = count_bits(asking, other, section->first_bit, section->bits);
        const int64_t a = counts.a, b = counts.b, bits = section->bits;

        if (a > 0) {
            x += 256 * (int64_t)counts.both - 256 * a * b / bits;
            v_a += 256 * a - 256 * a * a / bits;
            v_b += 256 * b - 256 * b * b / bits;
        }
    }
    if (x <= 0 || v_a == 0 || v_b == 0) {
        return (struct similarity){0, one};
    }
    uint64_t phi = ((uint64_t)x << 34) / plain_root((uint64_t)(v_a * v_b) << 20);
    return (struct similarity){phi < one ? (uint32_t)phi : one, one};
}

/* Whether (all - shared) / all <= ppm / 1,000,000. */
static bool plain_within(uint32_t shared, uint32_t all, uint32_t ppm)
{
    return all == 0 || (uint64_t)(all - shared) * 1000000 <= (uint64_t)ppm * all;
}

/* Whether the message is an answer of the part at all; if so, as a candidate. */
static bool plain_match(const struct asked *asked, uint32_t p, const struct message *message,
                        struct nearest_candidate *out)
{
    const struct index_query *query = &asked->query;
    const struct index_item *item = &message->item;
    struct plain_count counts =
        count_bits(asked->filters[p], message->filter, 0, world.profile.bits);
    struct similarity bits = {counts.both, counts.either};
    struct similarity reached = bits;

    if (query->metric == INDEX_METRIC_PHI) {
        bits = plain_phi(asked->filters[p], message->filter);
        reached = plain_phi(message->filter, asked->filters[p]);
    }
    for (uint32_t bit = 0; asked->parts[p].contains != NULL && bit < world.profile.bits; bit++) {
        if (bloom_test(asked->contains[p], bit) && !bloom_test(message->filter, bit)) {
            return false;
        }
    }
    if (scalable_slices_have(query->exclude, query->exclude_count, item->id, MESSAGE_ID_BYTES,
                             NULL)) {
        return false;
    }
    if (item->expires_ms <= world.now_ms || item->deposited_ms < query->since_ms ||
        (query->until_ms != INT64_MAX && item->deposited_ms >= query->until_ms) ||
        !plain_within(bits.shared, bits.all, query->max_distance_ppm) ||
        !plain_within(reached.shared, reached.all, item->reach_ppm)) {
        return false;
    }
    if (bits.all == 0) {
        bits = (struct similarity){1, 1};
    }
    memset(out, 0, sizeof *out);
    out->similarity = bits;
    if (query->floor.all > 0 && (uint64_t)out->similarity.shared * query->floor.all <
                                    (uint64_t)query->floor.shared * out->similarity.all) {
        return false;
    }
    out->rank = query->order == INDEX_ORDER_NEWEST ? (struct similarity){1, 1} : out->similarity;
    out->item = *item;
    out->intersection = counts.both;
    out->union_count = counts.either;
    out->cardinality = counts.b;
    out->part = p;
    return true;
}

/* Whether a similarity is higher than another, crosswise. */
static int plain_compare(struct similarity a, struct similarity b)
{
    uint64_t a_cross = (uint64_t)a.shared * b.all;
    uint64_t b_cross = (uint64_t)b.shared * a.all;

    return a_cross > b_cross ? -1 : a_cross < b_cross;
}

static int plain_order(const void *left, const void *right)
{
    const struct nearest_candidate *a = left;
    const struct nearest_candidate *b = right;
    int order = plain_compare(a->rank, b->rank);

    if (order != 0) {
        return order;
    }
    if (a->item.deposited_ms != b->item.deposited_ms) {
        return a->item.deposited_ms > b->item.deposited_ms ? -1 : 1;
    }
    order = memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES);
    order = order != 0 ? order : plain_compare(a->similarity, b->similarity);
    return order != 0 ? order : (a->part > b->part) - (a->part < b->part);
}

/* The best that any part from p on, of those that look at p's store, makes of the message. */
static bool plain_best(const struct asked *asked, uint32_t p, const struct message *message,
                       struct nearest_candidate *out)
{
    struct nearest_candidate other;
    bool found = false;

    for (uint32_t q = p; q < asked->query.part_count; q++) {
        if (asked->part_store[q] == asked->part_store[p] &&
            plain_match(asked, q, message, &other) && (!found || plain_order(&other, out) < 0)) {
            *out = other;
            found = true;
        }
    }
    return found;
}

static bool is_first_of_store(const struct asked *asked, uint32_t p)
{
    for (uint32_t earlier = 0; earlier < p; earlier++) {
        if (asked->part_store[earlier] == asked->part_store[p]) {
            return false;
        }
    }
    return true;
}

/*
 * Takes them in order, and passes over those of senders that have their share. How many are taken;
 * *out_capped: whether one of the first k was passed over.
 */
static uint32_t plain_shares(const struct asked *asked, struct nearest_candidate *all,
                             uint32_t count, bool *out_capped)
{
    uint32_t taken_of[SENDERS] = {0};
    uint32_t taken = 0;

    *out_capped = false;
    for (uint32_t i = 0; i < count && taken < asked->query.k; i++) {
        const uint32_t sender = all[i].item.sender;

        if (sender != 0 && asked->query.sender_share > 0 &&
            taken_of[sender] >= asked->query.sender_share) {
            *out_capped = *out_capped || i < asked->query.k;
            continue;
        }
        taken_of[sender]++;
        all[taken++] = all[i];
    }
    return taken;
}

uint32_t plain_search(const struct asked *asked, struct nearest_candidate *out, bool *out_capped)
{
    uint32_t count = 0;

    for (uint32_t p = 0; p < asked->query.part_count; p++) {
        const struct store *store = &world.stores[asked->part_store[p]];

        for (uint32_t i = 0; is_first_of_store(asked, p) && i < store->count; i++) {
            count += plain_best(asked, p, &store->messages[i], &out[count]);
        }
    }
    qsort(out, count, sizeof *out, plain_order);
    return plain_shares(asked, out, count, out_capped);
}
