/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/thesis_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/index/engine.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum { BYTES_A_BIT = 4 }; /* the thesis's program keeps each bit in an int */

static const struct index_engine *engine_of(enum thesis_column who)
{
    return who == CORE_LIST ? &list_engine : &tree_engine;
}

static double us_a_filter(const struct thesis_trial *trial, int64_t since_ns)
{
    return (double)(stats_cpu_ns() - since_ns) / 1000 / (double)trial->n;
}

static int build_thesis_tree(struct thesis_trial *trial)
{
    const struct thesis_data *data = trial->data;

    trial->tree = thesis_tree_new(data->words);
    if (trial->tree == NULL) {
        return bench_fail("memory is short");
    }
    const int64_t begin = stats_cpu_ns();
    for (size_t i = 0; i < trial->n; i++) {
        if (thesis_tree_insert_as_sets(trial->tree, (uint32_t)i, data->stored + i * data->words) !=
            0) {
            return bench_fail("memory is short");
        }
    }
    trial->build_us[THESIS_TREE] = us_a_filter(trial, begin);
    return 0;
}

static int insert_all(struct thesis_trial *trial, struct index *index)
{
    const struct thesis_data *data = trial->data;

    for (size_t i = 0; i < trial->n; i++) {
        struct index_item item = {
            .deposited_ms = (int64_t)i,
            .expires_ms = INT64_MAX,
            .reach_ppm = DISTANCE_ONE_PPM,
        };
        const uint64_t number = i;

        memcpy(item.id, &number, sizeof(number));
        if (index_insert(index, &item, data->stored + i * data->words) != 0) {
            return bench_fail("memory is short");
        }
    }
    return 0;
}

/*
 * Builds the index twice: one filter after another, to measure the cost, and in bulk, to be
 * queried.
 */
static int build_core(struct thesis_trial *trial, enum thesis_column who)
{
    struct index *single = NULL;
    struct index **bulk = &trial->indexes[who - CORE_LIST];

    if (bench_index_new(engine_of(who), &trial->profile, trial->kernels, &single) != 0) {
        return -1;
    }
    int64_t begin = stats_cpu_ns();
    const int rc = insert_all(trial, single);
    trial->build_us[who] = us_a_filter(trial, begin);
    index_free(single);
    if (rc != 0) {
        return rc;
    }
    if (bench_index_new(engine_of(who), &trial->profile, trial->kernels, bulk) != 0) {
        return -1;
    }
    begin = stats_cpu_ns();
    if (insert_all(trial, *bulk) != 0) {
        return -1;
    }
    if (index_arrange(*bulk, NULL) != 0) {
        return bench_fail("memory is short");
    }
    trial->bulk_us[who] = us_a_filter(trial, begin);
    return 0;
}

int thesis_trial_init(struct thesis_trial *trial, const struct thesis_data *data, size_t n,
                      const struct bits_kernels *kernels)
{
    char text[PROFILE_TEXT_MAX];

    memset(trial, 0, sizeof(*trial));
    trial->data = data;
    trial->n = n;
    trial->kernels = kernels;
    for (size_t i = 0; i < THESIS_MEASURED; i++) {
        trial->build_us[i] = NAN;
        trial->bulk_us[i] = NAN;
    }
    snprintf(text, sizeof(text), "v1:%u/%u", data->bits, data->hashes);
    if (bench_profile(text, &trial->profile) != 0) {
        return -1;
    }
    if (build_thesis_tree(trial) != 0 || build_core(trial, CORE_LIST) != 0) {
        return -1;
    }
    return build_core(trial, CORE_TREE);
}

void thesis_trial_deinit(struct thesis_trial *trial)
{
    thesis_tree_free(trial->tree);
    for (size_t i = 0; i < CORE_ENGINES; i++) {
        index_free(trial->indexes[i]);
    }
    memset(trial, 0, sizeof(*trial));
}

/* ---- asking ---- */

static void ask_thesis(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                       uint32_t k, struct thesis_answer *out)
{
    const struct thesis_data *data = trial->data;
    struct thesis_hit hits[THESIS_K_MAX];
    struct thesis_result result;

    if (who == THESIS_LIST) {
        thesis_list_search(data->stored, trial->n, data->words, query, k, hits, &result);
    } else {
        thesis_search(trial->tree, query, k, hits, &result);
    }
    out->count = result.count;
    out->counted = (double)result.counted;
    out->overlaps = (double)(result.distances + result.unions);
    for (uint32_t i = 0; i < result.count; i++) {
        out->distances[i] = hits[i].distance;
    }
}

static int ask_core(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                    uint32_t k, struct thesis_answer *out)
{
    const struct index_part part = {.index = trial->indexes[who - CORE_LIST], .filter = query};
    const struct index_query asked = filters_query(&part, 1, k);
    struct index_search *search = NULL;

    if (index_search_new(alloc_system(), &asked, &search) != 0) {
        return bench_fail("memory is short");
    }
    (void)index_search_step(search, UINT64_MAX, 0); /* no more than one step is left to be done */
    const struct nearest_candidate *found = index_search_results(search, &out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        out->distances[i] = found[i].union_count == 0
                                ? 0
                                : 1 - (double)found[i].intersection / (double)found[i].union_count;
    }
    out->counted = NAN;
    out->overlaps = (double)index_search_comparisons(search);
    index_search_free(search);
    return 0;
}

int thesis_trial_ask(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                     uint32_t k, struct thesis_answer *out)
{
    if (who >= CORE_LIST) {
        return ask_core(trial, who, query, k, out);
    }
    ask_thesis(trial, who, query, k, out);
    return 0;
}

/* ---- memory ---- */

double thesis_trial_bytes(const struct thesis_trial *trial, enum thesis_column who)
{
    const double filters = (double)(trial->n * trial->data->words * sizeof(uint64_t));

    switch (who) {
    case THESIS_LIST:
        return filters;
    case THESIS_TREE:
        return filters + (double)thesis_tree_bytes(trial->tree);
    default:
        return (double)index_bytes(trial->indexes[who - CORE_LIST]);
    }
}

double thesis_trial_bytes_counted(const struct thesis_trial *trial, enum thesis_column who)
{
    const double filter = (double)trial->data->bits * BYTES_A_BIT;

    switch (who) {
    case THESIS_LIST:
        return (double)trial->n * filter;
    case THESIS_TREE:
        return (double)(trial->tree->filters + trial->tree->nodes) * filter;
    default:
        return NAN;
    }
}
