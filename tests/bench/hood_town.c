/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/hood_town.h"

#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"

const uint64_t *town_filter(const struct town *town, uint32_t message)
{
    return town->data.stored.words + message * town->data.words;
}

const uint64_t *town_query(const struct town *town, size_t query)
{
    return town->data.queries.words + query * town->data.words;
}

/* Puts the messages of each host one after another, in the order in which they came. */
static int sort_messages(struct town *town)
{
    const struct hood_data *data = &town->data;

    town->first = calloc(data->peer_count + 2, sizeof(*town->first));
    town->order = calloc(data->stored.count + 1, sizeof(*town->order));
    town->groups = calloc(data->peer_count, sizeof(*town->groups));
    if (town->first == NULL || town->order == NULL || town->groups == NULL) {
        return bench_fail("memory is short");
    }
    for (size_t i = 0; i < data->stored.count; i++) {
        town->first[data->peers[i] + 2]++;
    }
    for (uint32_t p = 0; p < data->peer_count; p++) {
        town->first[p + 1] += town->first[p];
    }
    for (size_t i = 0; i < data->stored.count; i++) {
        town->order[town->first[data->peers[i] + 1]++] = (uint32_t)i;
    }
    return 0;
}

int town_begin(struct town *town)
{
    town->kernels = bench_kernels();
    return town->kernels != NULL && sort_messages(town) == 0 ? 0 : -1;
}

static void free_groups(struct town *town)
{
    for (uint32_t p = 0; town->groups != NULL && p < town->data.peer_count; p++) {
        groups_deinit(&town->groups[p]);
    }
}

void town_end(struct town *town)
{
    free_groups(town);
    free(town->groups);
    free(town->first);
    free(town->order);
    hood_data_deinit(&town->data);
}

int town_cluster(struct town *town, uint32_t limit, double *out_us)
{
    const struct hood_data *data = &town->data;

    free_groups(town);
    for (uint32_t p = 0; p < data->peer_count; p++) {
        if (groups_init(&town->groups[p], alloc_system(), &data->profile, limit) != 0) {
            return bench_fail("memory is short");
        }
    }
    const int64_t begin_ns = stats_cpu_ns();
    for (size_t i = 0; i < data->stored.count; i++) {
        groups_add(&town->groups[data->peers[i]], town_filter(town, (uint32_t)i), (int64_t)i);
    }
    *out_us = (double)(stats_cpu_ns() - begin_ns) / 1000 / (double)data->stored.count;
    return 0;
}

struct hood *town_hood(const struct town *town, uint32_t count)
{
    const struct hood_options options = {
        .alloc = alloc_system(), .profile = &town->data.profile, .kernels = town->kernels};
    struct hood *hood = NULL;

    if (hood_new(&options, count, &hood) != 0) {
        (void)bench_fail("memory is short");
        return NULL;
    }
    for (uint32_t p = 0; p < count; p++) {
        const struct groups *groups = &town->groups[p % town->data.peer_count];
        const struct hood_word word = {.seq = 1,
                                       .newest_ms = INT64_MIN,
                                       .is_full = true,
                                       .groups = groups->list,
                                       .group_count = groups->count};
        if (hood_learn(hood, p, &word, 0) != 0) {
            (void)bench_fail("memory is short");
            hood_free(hood);
            return NULL;
        }
    }
    return hood;
}

int town_set_peer(const struct town *town, struct hood *hood, uint32_t home, bool is_peer)
{
    const struct groups *groups = &town->groups[home];
    const struct hood_word word = {.seq = 1,
                                   .newest_ms = INT64_MIN,
                                   .is_full = true,
                                   .groups = groups->list,
                                   .group_count = groups->count};

    if (!is_peer) {
        hood_drop(hood, home);
        return 0;
    }
    return hood_learn(hood, home, &word, 0) == 0 ? 0 : bench_fail("memory is short");
}

int town_compare(const void *left, const void *right)
{
    const struct town_result *a = left;
    const struct town_result *b = right;
    const int order = similarity_compare(b->rank, a->rank);

    return order != 0 ? order : (a->message < b->message) - (a->message > b->message);
}

static struct similarity rank_filter(const struct town *town, const struct phi_query *phi,
                                     const uint64_t *query, const uint64_t *filter)
{
    const uint32_t shared = bloom_intersection_count(query, filter, town->data.words);

    return town->metric == INDEX_METRIC_PHI
               ? phi_similarity(phi, filter, shared)
               : similarity_of(shared, bloom_union_count(query, filter, town->data.words));
}

uint32_t town_nearest(const struct town *town, const uint64_t *query, uint32_t first, uint32_t end,
                      struct similarity floor, struct town_result out[TOWN_K + 1])
{
    struct phi_query phi;
    uint32_t count = 0;

    phi_ask(&phi, &town->data.profile, query);
    for (uint32_t i = first; i < end; i++) {
        const uint64_t *filter = town_filter(town, town->order[i]);
        const struct town_result found = {.rank = rank_filter(town, &phi, query, filter),
                                          .message = town->order[i]};
        uint32_t at = count;

        if (!distance_within(found.rank, TOWN_DISTANCE_PPM) ||
            similarity_compare(found.rank, floor) < 0) {
            continue;
        }
        for (; at > 0 && town_compare(&found, &out[at - 1]) < 0; at--) {
            out[at] = out[at - 1];
        }
        out[at] = found;
        count += count < TOWN_K ? 1 : 0;
    }
    return count;
}
