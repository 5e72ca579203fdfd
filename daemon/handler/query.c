/* SPDX-License-Identifier: Apache-2.0 */
/* Query: the k nearest messages. What a query may ask for. */
#include "daemon/handler/query.h"

#include <inttypes.h>
#include <string.h>

/* --- checking --------------------------------------------------------------------------------- */

static bool check_query(struct service *service, struct requester *client,
                        const struct msg_request *request)
{
    const struct msg_query *query = &request->query;
    const struct config_limits *limits = &service->config.limits;

    if (query->k == 0 || query->k > limits->k_max) {
        requester_refuse(client, request->id, MSG_INVALID, "k",
                         "k is %" PRIu32 "; it must be 1 to %" PRIu32, query->k, limits->k_max);
        return false;
    }
    if (query->part_count == 0 || query->part_count > limits->parts_max) {
        requester_refuse(client, request->id, MSG_INVALID, "parts",
                         "the query has %zu parts; it must have 1 to %" PRIu32, query->part_count,
                         limits->parts_max);
        return false;
    }
    uint32_t hashes = 0; /* at most LIMIT_SLICES * LIMIT_HASHES */
    for (size_t i = 0; i < query->exclude_count; i++) {
        hashes += query->exclude[i].hashes;
    }
    if (hashes > LIMIT_SLICES_HASHES) {
        requester_refuse(client, request->id, MSG_INVALID, "exclude.hashes",
                         "the slices have %" PRIu32 " hashes together; at most %d are allowed",
                         hashes, LIMIT_SLICES_HASHES);
        return false;
    }
    /* INT64_MAX: until_ms is absent, and there is no bound */
    if (query->since_ms >= query->until_ms && query->until_ms != INT64_MAX) {
        requester_refuse(client, request->id, MSG_INVALID, "until_ms",
                         "until_ms must be after since_ms");
        return false;
    }
    return true;
}

static bool read_part(struct query_job *job, const struct msg_request *request, size_t i)
{
    struct service *service = job->service;
    const struct msg_query_part *part = &request->query.parts[i];
    const struct host *host = job->host;
    uint64_t *filter = job->filters + 2 * i * host->filter_words;
    uint64_t *contains = filter + host->filter_words;

    struct epoch *epoch =
        handler_epoch(service, job->client, request, host, part->epoch, "parts.epoch");
    if (epoch == NULL) {
        return false;
    }
    job->epochs[i] = epoch;
    epoch_use(epoch);
    if (!handler_filter(service, job->client, request, host, &part->filter, "parts.filter",
                        filter) ||
        !handler_fill(job->client, request, host, filter, "parts.filter", 0,
                      service->config.limits.query_fill_max_ppm)) {
        return false;
    }
    if (part->contains.data != NULL &&
        (!handler_filter(service, job->client, request, host, &part->contains, "parts.contains",
                         contains) ||
         !handler_fill(job->client, request, host, contains, "parts.contains", 0,
                       service->config.limits.query_fill_max_ppm))) {
        return false;
    }
    job->parts[i] = (struct index_part){
        .filter = filter,
        .contains = part->contains.data != NULL ? contains : NULL,
    };
    return true;
}

/*
 * Slices that are too full would leave out nearly every message: no message found would bound the
 * search, and all would be compared with all parts.
 */
static bool check_slices(struct query_job *job)
{
    uint64_t chance_ppm = 0;

    for (uint32_t i = 0; i < job->query.exclude_count; i++) {
        chance_ppm += scalable_slice_chance_ppm(&job->exclude[i]);
    }
    if (chance_ppm <= LIMIT_SLICES_PPM) {
        return true;
    }
    requester_refuse(
        job->client, job->request_id, MSG_FILL_OUT_OF_RANGE, "exclude.bits",
        "the slices have any message's id with a chance of %.3f; at most %.1f is taken. "
        "Make them larger, or put fewer ids in",
        (double)chance_ppm / 1000000, (double)LIMIT_SLICES_PPM / 1000000);
    return false;
}

/* Copies the slices, which the search looks into as long as it lasts. False: out of memory. */
static bool read_exclude(struct query_job *job, const struct msg_query *query)
{
    const struct alloc *alloc = job->service->alloc;
    size_t total = 0; /* they are parts of one frame */

    if (query->exclude_count == 0) {
        return true;
    }
    for (size_t i = 0; i < query->exclude_count; i++) {
        total += query->exclude[i].bits.count;
    }
    job->query.exclude_count = (uint32_t)query->exclude_count; /* at most LIMIT_SLICES */
    job->exclude_bytes = total;
    job->exclude = alloc_zeroed(alloc, query->exclude_count, sizeof(*job->exclude));
    job->exclude_bits = alloc_array(alloc, total, 1);
    if (job->exclude == NULL || job->exclude_bits == NULL) {
        return false;
    }
    uint8_t *at = job->exclude_bits;
    for (size_t i = 0; i < query->exclude_count; i++) {
        const struct msg_slice *slice = &query->exclude[i];

        memcpy(at, slice->bits.data, slice->bits.count);
        job->exclude[i] = (struct scalable_slice){.bits = at,
                                                  .byte_count = (uint32_t)slice->bits.count,
                                                  .hashes = slice->hashes,
                                                  .seed = slice->seed};
        at += slice->bits.count;
    }
    job->query.exclude = job->exclude;
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

void handler_query(struct service *service, struct requester *client,
                   const struct msg_request *request)
{
    struct host *host = handler_host(service, client, request, &request->query.host);

    if (host == NULL || !check_query(service, client, request)) {
        return;
    }
    struct query_job *job = query_new(service, client, host, request);
    if (job == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    if (!read_exclude(job, &request->query)) {
        query_free(job);
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    bool is_right = check_slices(job);
    for (size_t i = 0; is_right && i < request->query.part_count; i++) {
        is_right = read_part(job, request, i);
    }
    if (!is_right) {
        query_free(job);
        return;
    }
    job->when_found = query_answer;
    query_search(job);
}
