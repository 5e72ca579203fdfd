/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/query.h"

#include "proto/codec/codec.h"

static size_t filter_words_total(const struct query_job *job)
{
    return 2 * (size_t)job->query.part_count * job->host->filter_words;
}

void query_free(struct query_job *job)
{
    const struct alloc *alloc = job->service->alloc;

    index_search_free(job->search);
    for (uint32_t p = 0; job->epochs != NULL && p < job->query.part_count; p++) {
        if (job->epochs[p] != NULL) {
            epoch_leave(job->epochs[p]);
        }
    }
    alloc_release(alloc, job->epochs, job->query.part_count, sizeof(*job->epochs));
    alloc_release(alloc, job->exclude, job->query.exclude_count, sizeof(*job->exclude));
    alloc_release(alloc, job->exclude_bits, job->exclude_bytes, 1);
    alloc_release(alloc, job->entries, job->query.k, sizeof(*job->entries));
    alloc_release(alloc, job->filters, filter_words_total(job), sizeof(*job->filters));
    alloc_release(alloc, job->parts, job->query.part_count, sizeof(*job->parts));
    alloc_release(alloc, job, 1, sizeof(*job));
}

void query_end(struct query_job *job)
{
    struct requester *client = job->client;
    const size_t bytes = job->bytes;
    const size_t answer_bytes = job->answer_bytes;

    if (bytes > 0) {
        job->service->working--;
    }
    query_free(job);
    if (bytes > 0) {
        requester_work_end(client, bytes, answer_bytes);
    }
}

void query_fail(struct query_job *job, enum msg_error_code code, const char *sentence)
{
    requester_refuse(job->client, job->request_id, code, NULL, "%s", sentence);
    query_end(job);
}

/* The most that the answer may take of the output. */
static size_t answer_bytes_max(const struct query_job *job)
{
    const size_t frame_bytes = job->service->config.limits.frame_bytes;
    const size_t bare = CODEC_ENVELOPE_BYTES_MAX + job->query.k * codec_result_bytes_max(0, 0);

    return job->with_payload || bare > frame_bytes ? frame_bytes : bare;
}

void query_charge(struct query_job *job)
{
    if (job->bytes > 0) {
        return;
    }
    job->answer_bytes = answer_bytes_max(job);
    job->bytes = sizeof(*job) + filter_words_total(job) * sizeof(uint64_t) +
                 job->query.k * sizeof(struct nearest_candidate) + job->exclude_bytes +
                 job->query.exclude_count * sizeof(*job->exclude);
    if (job->with_payload) {
        job->bytes += 2 * (size_t)job->service->config.limits.frame_bytes +
                      job->query.k * sizeof(struct persist_entry);
    }
    job->service->working++;
    requester_work_begin(job->client, job->bytes, job->answer_bytes);
}

/* How many of k results may be of one sender; 0: all of them. */
static uint32_t share_of(const struct config_limits *limits, uint32_t k)
{
    const uint64_t share = (uint64_t)k * limits->sender_share_ppm / DISTANCE_ONE_PPM;

    return limits->sender_share_ppm == DISTANCE_ONE_PPM ? 0 : share > 0 ? (uint32_t)share : 1;
}

struct query_job *query_new(struct service *service, struct requester *client, struct host *host,
                            const struct msg_request *request)
{
    const struct msg_query *query = &request->query;
    struct query_job *job = alloc_zeroed(service->alloc, 1, sizeof(*job));

    if (job == NULL) {
        return NULL;
    }
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request->id;
    job->began_ns = service_monotonic_ns(service);
    job->order = query->order;
    job->with_payload = query->with_payload;
    job->query = (struct index_query){
        .part_count = (uint32_t)query->part_count,
        .k = query->k,
        .sender_share = share_of(&service->config.limits, query->k),
        .max_distance_ppm = query->max_distance_ppm,
        .since_ms = query->since_ms,
        .until_ms = query->until_ms,
        .metric =
            query->metric == MSG_METRIC_ESTIMATED ? INDEX_METRIC_ESTIMATED : INDEX_METRIC_BITS,
    };
    job->parts = alloc_zeroed(service->alloc, query->part_count, sizeof(*job->parts));
    job->epochs = alloc_zeroed(service->alloc, query->part_count, sizeof(*job->epochs));
    job->filters = alloc_zeroed(service->alloc, filter_words_total(job), sizeof(*job->filters));
    job->query.parts = job->parts;
    if (job->parts == NULL || job->epochs == NULL || job->filters == NULL) {
        query_free(job);
        return NULL;
    }
    return job;
}
