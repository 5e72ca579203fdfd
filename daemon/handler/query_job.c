/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/query.h"
#include "daemon/system/container.h"
#include "proto/codec/codec.h"

static size_t filter_words_total(const struct query_job *job)
{
    return 2 * (size_t)job->query.part_count * job->base.host->filter_words;
}

/* Frees what a job owns. */
static void deinit_query(struct job *base)
{
    struct query_job *job = CONTAINER_OF(base, struct query_job, base);
    const struct alloc *alloc = base->service->alloc;

    index_search_free(job->search);
    for (uint32_t p = 0; job->epochs != NULL && p < job->query.part_count; p++) {
        if (job->epochs[p] != NULL) {
            epoch_leave(job->epochs[p]);
        }
    }
    alloc_release(alloc, job->epochs);
    alloc_release(alloc, job->exclude);
    alloc_release(alloc, job->exclude_bits);
    alloc_release(alloc, job->entries);
    alloc_release(alloc, job->filters);
    alloc_release(alloc, job->parts);
}

/* Upper bound of the bytes of the answer. */
static size_t answer_bytes_max(const struct query_job *job)
{
    size_t frame_bytes = job->base.service->config.limits.frame_bytes;
    size_t bare = CODEC_ENVELOPE_BYTES_MAX + job->query.k * codec_result_bytes_max(0, 0);

    return job->with_payload || bare > frame_bytes ? frame_bytes : bare;
}

void query_charge(struct query_job *job)
{
    size_t bytes = sizeof(*job) + filter_words_total(job) * sizeof(uint64_t) +
                   job->query.k * sizeof(struct nearest_candidate) + job->exclude_bytes +
                   job->query.exclude_count * sizeof(*job->exclude);

    if (job->base.is_charged) {
        return;
    }
    if (job->with_payload) {
        bytes += 2 * (size_t)job->base.service->config.limits.frame_bytes +
                 job->query.k * sizeof(struct persist_entry);
    }
    job_charge(&job->base, bytes, answer_bytes_max(job));
}

/* How many of k results may come from one sender; 0: all of them. */
static uint32_t share_of(const struct config_limits *limits, uint32_t k)
{
    uint64_t share = (uint64_t)k * limits->sender_share_ppm / DISTANCE_ONE_PPM;

    return limits->sender_share_ppm == DISTANCE_ONE_PPM ? 0 : share > 0 ? (uint32_t)share : 1;
}

struct query_job *query_new(const struct ask *ask)
{
    const struct msg_query *query = &ask->request->query;
    const struct alloc *alloc = ask->service->alloc;
    struct query_job *job = job_new(ask, sizeof(*job), 0);

    if (job == NULL) {
        return NULL;
    }
    job->base.deinit = deinit_query;
    job->order = query->order;
    job->with_payload = query->with_payload;
    job->query = (struct index_query){
        .part_count = (uint32_t)query->part_count,
        .k = query->k,
        .sender_share = share_of(&ask->service->config.limits, query->k),
        .max_distance_ppm = query->max_distance_ppm,
        .since_ms = query->since_ms,
        .until_ms = query->until_ms,
        .metric =
            query->metric == MSG_METRIC_ESTIMATED ? INDEX_METRIC_ESTIMATED : INDEX_METRIC_BITS,
    };
    job->parts = alloc_zeroed(alloc, query->part_count, sizeof(*job->parts));
    job->epochs = alloc_zeroed(alloc, query->part_count, sizeof(*job->epochs));
    job->filters = alloc_zeroed(alloc, filter_words_total(job), sizeof(*job->filters));
    job->query.parts = job->parts;
    if (job->parts == NULL || job->epochs == NULL || job->filters == NULL) {
        job_fail_memory(&job->base);
        return NULL;
    }
    return job;
}
