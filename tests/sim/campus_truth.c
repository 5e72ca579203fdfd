/* SPDX-License-Identifier: Apache-2.0 */
/* campus_truth: brute force: what a query must have found. It shares no code with core/hood/. */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/sim/campus.h"

void truth_begin(struct c_truth *truth, const struct index_query *query)
{
    truth->query = query;
    truth->count = 0;
}

void truth_deinit(struct c_truth *truth)
{
    free(truth->list);
    *truth = (struct c_truth){0};
}

static struct similarity rank_filters(const struct index_query *query, const uint64_t *a,
                                      const uint64_t *b)
{
    struct phi_query phi;

    if (query->metric == INDEX_METRIC_BITS) {
        return similarity_of(bloom_intersection_count(a, b, WORDS), bloom_union_count(a, b, WORDS));
    }
    phi_ask(&phi, &campus.profile, a);
    return phi_similarity(&phi, b, bloom_intersection_count(a, b, WORDS));
}

bool truth_fit(const struct c_truth *truth, const uint8_t *id, const uint64_t *filter,
               int64_t deposited_ms, struct nearest_candidate *out)
{
    const struct index_query *query = truth->query;
    bool fits = false;

    if (deposited_ms < query->since_ms || deposited_ms >= query->until_ms) {
        return false;
    }
    *out = (struct nearest_candidate){.item = {.deposited_ms = deposited_ms}};
    memcpy(out->item.id, id, sizeof(out->item.id));
    for (uint32_t p = 0; p < query->part_count; p++) {
        const struct index_part *part = &query->parts[p];
        const struct similarity rank = rank_filters(query, part->filter, filter);

        if (!distance_within(rank, query->max_distance_ppm) ||
            (part->contains != NULL && !bloom_is_subset(part->contains, filter, WORDS))) {
            continue;
        }
        if (!fits || similarity_compare(rank, out->rank) > 0) {
            out->rank = rank;
        }
        fits = true;
    }
    return fits;
}

void truth_add(struct c_truth *truth, const uint8_t *id, const uint64_t *filter,
               int64_t deposited_ms, uint32_t source)
{
    struct nearest_candidate found;

    if (!truth_fit(truth, id, filter, deposited_ms, &found)) {
        return;
    }
    for (uint32_t i = 0; i < truth->count; i++) { /* a liar says the same thing twice */
        if (truth->list[i].source == source &&
            memcmp(truth->list[i].item.id, id, MESSAGE_ID_BYTES) == 0) {
            found.source = source;
            if (nearest_compare(&found, &truth->list[i]) < 0) {
                truth->list[i] = found;
            }
            return;
        }
    }
    if (truth->count == truth->room) {
        truth->room = truth->room == 0 ? 256 : truth->room * 2;
        truth->list = realloc(truth->list, truth->room * sizeof(*truth->list));
        SIM_CHECK(truth->list != NULL);
    }
    found.source = source;
    truth->list[truth->count++] = found;
}

void truth_add_host(struct c_truth *truth, uint32_t number, struct similarity floor)
{
    const struct c_host *host = &campus.hosts[number];
    struct nearest_candidate found;

    for (uint32_t i = 0; i < host->count; i++) {
        const struct c_message *message = &host->messages[i];

        if (message->expires_ms > host_now_ms(host) &&
            truth_fit(truth, message->id, message->filter, message->deposited_ms, &found) &&
            similarity_compare(found.rank, floor) >= 0) {
            truth_add(truth, message->id, message->filter, message->deposited_ms, number);
        }
    }
}

static int compare_found(const void *a, const void *b)
{
    return nearest_compare(a, b);
}

void truth_check(struct c_truth *truth, const struct nearest_candidate *results, uint32_t count)
{
    const uint32_t most = truth->query->k;

    if (truth->count > 0) { /* else there may be no list */
        qsort(truth->list, truth->count, sizeof(*truth->list), compare_found);
    }
    SIM_EQUAL(count, truth->count < most ? truth->count : most);
    for (uint32_t i = 0; i < count; i++) {
        const struct nearest_candidate *right = &truth->list[i];

        SIM_EXPECT(similarity_compare(results[i].rank, right->rank) == 0 &&
                       results[i].item.deposited_ms == right->item.deposited_ms &&
                       memcmp(results[i].item.id, right->item.id, MESSAGE_ID_BYTES) == 0,
                   "result %u of host %u is wrong; it should be one of host %u", i,
                   results[i].source, right->source);
    }
}

void truth_check_skipped(const struct c_truth *truth, uint32_t number, uint64_t seq,
                         const struct nearest_candidate *results, uint32_t count,
                         struct similarity floor)
{
    const struct c_host *host = &campus.hosts[number];
    struct nearest_candidate found;

    for (uint32_t i = 0; i < host->count; i++) {
        const struct c_message *message = &host->messages[i];

        if (message->seq > seq || message->expires_ms <= host_now_ms(host) ||
            !truth_fit(truth, message->id, message->filter, message->deposited_ms, &found) ||
            similarity_compare(found.rank, floor) < 0) {
            continue;
        }
        SIM_EXPECT(count == truth->query->k && nearest_compare(&found, &results[count - 1]) >= 0,
                   "host %u was skipped, but has a better message than result %u", number, count);
    }
}
