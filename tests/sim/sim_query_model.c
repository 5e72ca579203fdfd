/* SPDX-License-Identifier: Apache-2.0 */
/* sim_query_model: who is near: see "Distances and order" in docs/protocol.md. */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/filter/bloom.h"
#include "tests/sim/sim_check.h"
#include "tests/sim/sim_model.h"

/* --- distances -------------------------------------------------------------------------------- */

/* A similarity as a fraction. */
struct fraction {
    uint64_t shared, all;
};

static struct fraction fraction_of(uint64_t shared, uint64_t all)
{
    return all == 0 ? (struct fraction){1, 1} : (struct fraction){shared, all};
}

static uint32_t ppm(uint64_t part, uint64_t whole)
{
    return (uint32_t)((part * 1000000 + whole - 1) / whole);
}

uint32_t m_distance_ppm(uint32_t both, uint32_t either)
{
    const struct fraction near = fraction_of(both, either);

    return ppm(near.all - near.shared, near.all);
}

static bool is_within(uint64_t both, uint64_t either, uint64_t most_ppm)
{
    return (either - both) * 1000000 <= most_ppm * either;
}

/* --- one message ------------------------------------------------------------------------------ */

static bool is_excluded(const struct m_query *query, const uint8_t *id)
{
    const uint64_t bits = (uint64_t)query->exclude_bytes * 8;

    if (bits == 0) {
        return false;
    }
    const XXH128_hash_t hash = XXH3_128bits_withSeed(id, MESSAGE_ID_BYTES, query->exclude_seed);
    for (uint64_t i = 0; i < query->exclude_hashes; i++) {
        const uint64_t by = 19 * i % 64;
        const uint64_t turned =
            by == 0 ? hash.high64 : hash.high64 << by | hash.high64 >> (64 - by);
        const uint64_t at = (hash.low64 + turned) % bits;
        if ((query->exclude[at / 8] >> at % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

/* Below 0: a is nearer. */
static int compare_nearness(const struct m_result *a, const struct m_result *b)
{
    const struct fraction left = fraction_of(a->both, a->either);
    const struct fraction right = fraction_of(b->both, b->either);
    const uint64_t l = left.shared * right.all;
    const uint64_t r = right.shared * left.all;

    return l > r ? -1 : l < r ? 1 : 0;
}

bool m_is_peer(const struct model *model, uint32_t host, uint32_t other)
{
    const struct config_host *asked = model->hosts[host].config;
    const struct config_host *peer = model->hosts[other].config;

    return other != host && asked->hood[0] != '\0' && strcmp(asked->hood, peer->hood) == 0 &&
           profile_equal(&asked->profile, &peer->profile);
}

bool m_fits(const struct model *model, const struct m_query *query, uint32_t number,
            struct m_result *out)
{
    const struct m_message *message = &model->messages[number];
    const uint32_t bytes = model->hosts[query->host].filter_bytes;
    const bool is_here = message->host == query->host;
    bool found = false;

    if ((!is_here && !(query->is_hood && m_is_peer(model, query->host, message->host))) ||
        message->deposited_ms < query->since_ms || message->deposited_ms >= query->until_ms ||
        is_excluded(query, message->id)) {
        return false;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        const struct m_part *part = &query->parts[p];
        const struct m_result one = {.message = number,
                                     .both = m_bits(part->filter, message->filter, bytes, false),
                                     .either = m_bits(part->filter, message->filter, bytes, true),
                                     .part = p};
        if (part->epoch != message->epoch || (part->epoch != 0 && !is_here) ||
            !is_within(one.both, one.either, query->max_distance_ppm) ||
            !is_within(one.both, one.either, message->reach_ppm) ||
            (part->has_contains && m_bits(part->contains, message->filter, bytes, false) !=
                                       m_bits(part->contains, part->contains, bytes, false))) {
            continue;
        }
        if (!found || compare_nearness(&one, out) < 0) {
            *out = one;
        }
        found = true;
    }
    return found;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool goes_before(const struct model *model, const struct m_result *a,
                        const struct m_result *b, bool by_time)
{
    const struct m_message *left = &model->messages[a->message];
    const struct m_message *right = &model->messages[b->message];
    const int nearer = by_time ? 0 : compare_nearness(a, b);

    if (nearer != 0) {
        return nearer < 0;
    }
    if (left->deposited_ms != right->deposited_ms) {
        return left->deposited_ms > right->deposited_ms;
    }
    return memcmp(left->id, right->id, MESSAGE_ID_BYTES) < 0;
}

static void sort(const struct model *model, struct m_result *results, uint32_t count, bool by_time)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct m_result one = results[i];
        uint32_t at = i;
        for (; at > 0 && goes_before(model, &one, &results[at - 1], by_time); at--) {
            results[at] = results[at - 1];
        }
        results[at] = one;
    }
}

/* The first k, passing over those whose sender has its share already. */
static uint32_t choose(const struct model *model, const struct m_query *query,
                       const struct m_result *all, uint32_t count, struct m_result *out,
                       bool *out_capped)
{
    const uint64_t share_ppm = model->config->limits.sender_share_ppm;
    uint64_t share = query->k * share_ppm / 1000000;
    uint32_t taken[M_SENDERS] = {0};
    uint32_t chosen = 0;

    share = share == 0 ? 1 : share_ppm == 1000000 ? query->k : share;
    *out_capped = false;
    for (uint32_t i = 0; i < count && chosen < query->k; i++) {
        const uint32_t sender = model->messages[all[i].message].sender;
        if (sender != 0 && taken[sender] == share) {
            *out_capped = true;
            continue;
        }
        taken[sender]++;
        out[chosen++] = all[i];
    }
    return chosen;
}

uint32_t m_find(const struct model *model, const struct m_query *query, struct m_result *out,
                bool *out_capped)
{
    struct m_result *all = calloc(model->message_count + 1, sizeof(*all));
    uint32_t count = 0;

    SIM_CHECK(all != NULL && query->k <= M_RESULTS);
    for (uint32_t i = 0; i < model->message_count; i++) {
        if (m_visible(model, &model->messages[i]) && m_fits(model, query, i, &all[count])) {
            count++;
        }
    }
    sort(model, all, count, query->order == HEARSAY_ORDER_NEWEST);
    count = choose(model, query, all, count, out, out_capped);
    free(all);
    if (query->order == HEARSAY_ORDER_TIME) {
        sort(model, out, count, true);
    }
    return count;
}
