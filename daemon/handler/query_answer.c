/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the answer to a query. Payloads come from the cache, or from the store on another thread.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/query.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

enum {
    /*
     * Upper bound of the searches for one query. If the message of a result was removed before its
     * payload was read, the query is searched again. After the last search the answer keeps the
     * result of a removed message, without the payload.
     */
    ATTEMPTS_MAX = 4
};

/* --- answering -------------------------------------------------------------------------------- */

static int compare_by_time(const void *left, const void *right)
{
    const struct hearsay_result *a = left;
    const struct hearsay_result *b = right;

    if (a->deposited_ms != b->deposited_ms) {
        return a->deposited_ms > b->deposited_ms ? -1 : 1;
    }
    return memcmp(a->id.data, b->id.data, MESSAGE_ID_BYTES);
}

/* Fills in a result of the answer, without its payload. */
static void fill_result(const struct query_job *job, const struct nearest_candidate *found,
                        struct hearsay_result *out)
{
    bool is_phi = job->query.metric == INDEX_METRIC_PHI;
    struct similarity bits = similarity_of(found->intersection, found->union_count);
    const struct query_place *place = &job->places[found->part];
    uint32_t section_count = place->host->config.profile.section_count;

    *out = (struct hearsay_result){
        .id = {found->item.id, MESSAGE_ID_BYTES},
        .intersection_count = found->intersection,
        .union_count = found->union_count,
        .distance_ppm = distance_ppm(is_phi ? found->similarity : bits),
        .epoch = place->epoch->number,
        .deposited_ms = found->item.deposited_ms,
        .expires_ms = found->item.expires_ms,
        .set_bit_count = section_count,
    };
    for (uint32_t s = 0; s < section_count; s++) {
        out->set_bits[s] = found->set_bits[s];
    }
    if (place->host->answers.count > 0) {
        out->answer_count =
            answers_count(&place->host->answers, found->item.id, service_now_ms(job->base.service));
    }
    if (job->asked.scope == HEARSAY_SCOPE_HOOD) {
        out->host =
            (struct hearsay_text){place->host->config.name, strlen(place->host->config.name)};
    }
}

static void query_answer_omit(struct hearsay_result *result)
{
    result->payload_omitted = true;
    result->media_type = (struct hearsay_text){NULL, 0};
    result->payload = (struct hearsay_bytes){NULL, 0};
}

/*
 * Attaches the payload of a message to a result. A message without media type was removed or not
 * read: its payload is omitted.
 */
static void query_answer_attach(struct hearsay_result *result,
                                const struct persist_message *message)
{
    if (message->media_type == NULL) {
        query_answer_omit(result);
        return;
    }
    result->payload_omitted = false;
    result->media_type = (struct hearsay_text){message->media_type, message->media_type_bytes};
    result->payload = (struct hearsay_bytes){message->payload, message->payload_bytes};
}

/*
 * Attaches all payloads if all fit the frame. Otherwise attaches, nearest message first, each
 * payload that fits the rest of the frame. messages[i] belongs to results[i]. The results are in
 * the order of the search. Filters give way to payloads unless they are needed.
 */
static void attach_payloads(const struct hearsay_response *response, struct hearsay_result *results,
                            const struct persist_message *messages, size_t frame_bytes,
                            bool needs_filters)
{
    size_t count = response->results.result_count;
    size_t all_bytes = 0;
    size_t bare_bytes = 0;

    for (size_t i = 0; i < count; i++) {
        query_answer_omit(&results[i]);
        bare_bytes += codec_result_bytes(&results[i]);
        query_answer_attach(&results[i], &messages[i]);
        all_bytes += codec_result_bytes(&results[i]);
    }
    if (codec_results_bytes(response, all_bytes) <= frame_bytes) {
        return;
    }
    if (!needs_filters) {
        for (size_t i = 0; i < count; i++) {
            results[i].filter = (struct hearsay_bytes){NULL, 0};
        }
        attach_payloads(response, results, messages, frame_bytes, true);
        return;
    }
    size_t used = bare_bytes;
    for (size_t i = 0; i < count; i++) {
        size_t whole = codec_result_bytes(&results[i]);
        struct hearsay_result bare = results[i];

        query_answer_omit(&bare);
        size_t more = whole - codec_result_bytes(&bare);
        if (codec_results_bytes(response, used + more) <= frame_bytes) {
            used += more;
        } else {
            results[i] = bare;
        }
    }
}

/* Adds the notices of the host to the answer, but for those of another place than the client's, and
 * for the last ones if they do not fit the frame beside the results without payloads. */
static void add_notices(struct query_job *job, struct hearsay_house_notice *notices,
                        struct hearsay_results *results, struct hearsay_response *response)
{
    struct service *service = job->base.service;
    struct rules *rules = &job->base.host->rules;
    const struct requester *client = job->base.client;
    struct hearsay_text place = here_map_name(job->base.host->here_map, &client->address);
    size_t bare_bytes = 0;

    rules_end_notices(rules, service_now_ms(service));
    results->notices = notices;
    results->notice_count =
        handler_fill_notices(rules, client->is_gateway ? NULL : &place, notices);
    for (size_t i = 0; i < results->result_count && results->notice_count > 0; i++) {
        struct hearsay_result bare = results->results[i];
        query_answer_omit(&bare);
        bare_bytes += codec_result_bytes(&bare);
    }
    while (results->notice_count > 0 &&
           codec_results_bytes(response, bare_bytes) > service->config.limits.frame_bytes) {
        results->notice_count--;
    }
}

/* The highest number of the store that a bridge can know of the host. */
static uint64_t highest_number(const struct query_job *job)
{
    uint64_t newest = (uint64_t)job->base.service->watch->newest_seq;

    return job->base.host->feed.told > newest ? job->base.host->feed.told : newest;
}

/*
 * Whether each host that the search looked at has all its messages here. A host that is restoring
 * may still get messages back. A copy may lack what is new at its owner.
 */
static bool is_whole(const struct query_job *job)
{
    for (uint32_t p = 0; p < job->query.part_count; p++) {
        const struct host *host = job->places[p].host;

        if (host->config.is_replica || host_is_restoring(host)) {
            return false;
        }
    }
    return true;
}

/*
 * The filter of a message for a bridge or a gateway, in the arena. Absent: the message has gone, or
 * memory is short; the bridge leaves the message out.
 */
static struct hearsay_bytes filter_of(const struct query_job *job,
                                      const struct nearest_candidate *found)
{
    const struct host *host = job->places[found->part].host;
    uint64_t words[PROFILE_WORDS_MAX];
    uint8_t *bytes = arena_take(&job->base.service->arena, host->filter_bytes);

    if (bytes == NULL || host_find(host, found->item.id, NULL, NULL, words) != 0) {
        return (struct hearsay_bytes){NULL, 0};
    }
    bloom_store(words, host->config.profile.bits, bytes);
    return (struct hearsay_bytes){bytes, host->filter_bytes};
}

/* Whether a message of this server comes before one of another server. Of one id at two hosts any
 * may. */
static bool is_nearer(const struct nearest_candidate *own, const struct query_remote *remote)
{
    int order = similarity_compare(own->rank, remote->rank);

    if (order == 0 && own->item.deposited_ms != remote->result.deposited_ms) {
        order = own->item.deposited_ms > remote->result.deposited_ms ? 1 : -1;
    }
    return order != 0 ? order > 0
                      : memcmp(own->item.id, remote->result.id.data, MESSAGE_ID_BYTES) <= 0;
}

/* Whether the owner of the host has told this message: then its word counts, not the copy here. */
static bool is_told(const struct query_job *job, const struct nearest_candidate *found)
{
    const struct config_host *host = &job->places[found->part].host->config;

    for (uint32_t i = 0; host->is_replica && i < job->remote_count; i++) {
        const struct hearsay_result *told = &job->remote[i].result;

        if (memcmp(told->id.data, found->item.id, MESSAGE_ID_BYTES) == 0 &&
            strcmp(told->host.text, host->name) == 0) {
            return true;
        }
    }
    return false;
}

/* Merges the messages of this server and of the others, nearest first. Fills the arrays, which have
 * k elements; a message of another server brings its payload. Returns their number. */
static uint32_t merge_results(struct query_job *job, const struct persist_message *messages,
                              struct hearsay_result *results, struct persist_message *payloads)
{
    uint32_t count = 0, own = 0, remote = 0, merged = 0;
    const struct nearest_candidate *found = query_found(job, &count);

    while (merged < job->query.k && (own < count || remote < job->remote_count)) {
        if (own < count && is_told(job, &found[own])) {
            own++;
            continue;
        }
        if (remote == job->remote_count ||
            (own < count && is_nearer(&found[own], &job->remote[remote]))) {
            fill_result(job, &found[own], &results[merged]);
            if (job->base.client->is_bridge ||
                (job->base.client->is_gateway && job->asked.with_payload)) {
                results[merged].filter = filter_of(job, &found[own]);
            }
            payloads[merged++] = messages != NULL ? messages[own] : (struct persist_message){0};
            own++;
            continue;
        }
        const struct hearsay_result *one = &job->remote[remote++].result;
        payloads[merged].media_type = one->payload_omitted ? NULL : one->media_type.text;
        payloads[merged].media_type_bytes = one->media_type.length;
        payloads[merged].payload = one->payload.data;
        payloads[merged].payload_bytes = one->payload.count;
        results[merged++] = *one;
    }
    return merged;
}

/*
 * How many of the results, nearest first, fit a frame without payloads. k is bounded so that the
 * results for a client usually fit. Those for a bridge may not: they have filters.
 */
static size_t count_fitting(const struct hearsay_response *response, size_t frame_bytes)
{
    size_t bytes = 0;
    size_t i = 0;

    for (; i < response->results.result_count; i++) {
        struct hearsay_result bare = response->results.results[i];

        query_answer_omit(&bare);
        bytes += codec_result_bytes(&bare);
        if (codec_results_bytes(response, bytes) > frame_bytes) {
            break;
        }
    }
    return i;
}

/* Leaves the farthest results out of an answer to a bridge if they do not fit. */
static void fit_bridge(struct hearsay_response *response, size_t frame_bytes)
{
    size_t fitting = count_fitting(response, frame_bytes);

    if (fitting < response->results.result_count) {
        response->results.result_count = fitting;
        response->results.exact = false;
        response->results.complete = false;
    }
}

/* Completes what the job knows of the answer by what the search has found out. */
static void complete_answer(const struct query_job *job, struct hearsay_results *answer)
{
    if (!job->is_list) {
        answer->comparisons += index_search_comparisons(job->search);
        answer->capped = answer->capped || index_search_is_capped(job->search);
    }
    answer->exact = job->is_list || index_search_is_exact(job->search);
    answer->complete = answer->complete && is_whole(job);
    answer->as_of_ms = job->asked.scope == HEARSAY_SCOPE_HOOD ? answer->as_of_ms : 0;
    answer->seq = job->base.client->is_bridge ? highest_number(job) : 0;
}

/*
 * Sends the answer. `messages` has the payloads in the order of the search's results. NULL: no
 * payloads are wanted, or there are no results.
 */
static void send_answer(struct query_job *job, const struct persist_message *messages)
{
    struct service *service = job->base.service;
    uint32_t k = job->query.k;
    struct hearsay_result *results = arena_take_zeroed(&service->arena, k, sizeof(*results));
    struct persist_message *payloads = arena_take_zeroed(&service->arena, k, sizeof(*payloads));

    if (results == NULL || payloads == NULL) {
        requester_refuse(job->base.client, job->base.request_id, HEARSAY_CODE_INTERNAL, NULL,
                         "the server is out of memory");
        return;
    }
    uint32_t count = merge_results(job, messages, results, payloads);
    struct hearsay_response response = {
        .id = job->base.request_id,
        .kind = HEARSAY_RESPONSE_RESULTS,
        .results = job->answer,
    };
    complete_answer(job, &response.results);
    response.results.results = results;
    response.results.result_count = count;
    if (job->base.client->is_bridge) {
        fit_bridge(&response, service->config.limits.frame_bytes);
    }
    struct hearsay_house_notice notices[LIMIT_NOTICES];
    add_notices(job, notices, &response.results, &response);
    if (job->asked.with_payload) {
        attach_payloads(&response, results, payloads, service->config.limits.frame_bytes,
                        job->base.client->is_bridge);
    }
    if (job->asked.order == HEARSAY_ORDER_TIME) {
        qsort(results, response.results.result_count, sizeof(*results), compare_by_time);
    }
    service_note_query(service, response.results.comparisons, job->base.began_ns);
    job->base.client->events->respond(job->base.client, &response);
}

/* --- payloads --------------------------------------------------------------------------------- */

/*
 * Whether the store's entry is the message that the search found, and this message is still in the
 * index. While the store read, the message may have been removed or hidden, or another message may
 * have got the same id.
 */
static bool is_it(const struct query_job *job, const struct persist_entry *entry,
                  const struct nearest_candidate *found)
{
    struct index_item item;

    return entry->found && entry->message.deposited_ms == found->item.deposited_ms &&
           host_find(job->places[found->part].host, found->item.id, NULL, &item, NULL) == 0 &&
           item.deposited_ms == found->item.deposited_ms;
}

/*
 * Returns an array of the messages that the store has read, in the order of the search's results.
 * The array is in the arena. The element of a message that was removed or hidden since the search
 * is zero, and *out_all_found is false then. NULL: out of memory.
 */
static struct persist_message *take_payloads(struct query_job *job, bool *out_all_found)
{
    struct service *service = job->base.service;
    const struct persist_read *read = &job->read;
    uint32_t count = 0;
    const struct nearest_candidate *results = query_found(job, &count);
    struct persist_message *messages =
        arena_take_zeroed(&service->arena, read->entry_count, sizeof(*messages));

    *out_all_found = true;
    for (size_t i = 0; i < read->entry_count && messages != NULL; i++) {
        const struct persist_message *message = &read->entries[i].message;
        if (!is_it(job, &read->entries[i], &results[i])) {
            *out_all_found = false;
            continue;
        }
        messages[i] = *message;
        if (!read->entries[i].omitted) {
            service_remember(service, message);
        }
    }
    return messages;
}

static void on_payloads(struct persist_read *read)
{
    struct query_job *job = CONTAINER_OF(read, struct query_job, read);
    struct service *service = job->base.service;
    enum { SENT, AGAIN, FAILED } outcome = FAILED;
    bool all_found = false;

    if (read->failed) {
        service_storage_failed(service, "reading payloads", read->reason);
    } else {
        const struct persist_message *messages = take_payloads(job, &all_found);
        if (messages != NULL && (all_found || job->attempts == ATTEMPTS_MAX)) {
            send_answer(job, messages);
            outcome = SENT;
        } else if (messages != NULL) {
            /*
             * the message of a result was removed or hidden while the store read: the query is
             * searched again
             */
            outcome = AGAIN;
        }
    }
    job_release(&job->base);
    arena_reset(&service->arena);
    if (outcome == SENT) {
        job_end(&job->base);
    } else if (outcome == AGAIN) {
        /* the floor that a bridge was told may have been too high */
        job->answer.complete = job->answer.complete && job->until_ms == 0;
        query_search(job);
    } else {
        job_fail_later(&job->base, "the message store could not read its storage; try again later");
    }
}

/* Sends the answer if the cache has all payloads. Returns whether the answer was sent. */
static bool answer_from_cache(struct query_job *job, const struct nearest_candidate *found,
                              uint32_t count)
{
    struct service *service = job->base.service;
    struct persist_message *messages = arena_take_zeroed(&service->arena, count, sizeof(*messages));
    bool all_cached = messages != NULL;

    for (uint32_t i = 0; i < count && all_cached; i++) {
        all_cached = service_recall(service, job->places[found[i].part].host->number,
                                    found[i].item.id, &messages[i]);
    }
    if (all_cached) {
        send_answer(job, messages);
    }
    arena_reset(&service->arena);
    return all_cached;
}

static void read_payloads(struct query_job *job, const struct nearest_candidate *found,
                          uint32_t count)
{
    struct service *service = job->base.service;

    if (job->entries == NULL) {
        job->entries = alloc_zeroed(service->alloc, job->query.k, sizeof(*job->entries));
    }
    if (job->entries == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        memset(&job->entries[i], 0, sizeof(job->entries[i]));
        job->entries[i].message.host = job->places[found[i].part].host->number;
        memcpy(job->entries[i].message.id, found[i].item.id, MESSAGE_ID_BYTES);
    }
    memset(&job->read, 0, sizeof(job->read));
    job->read.kind = PERSIST_READ_PAYLOADS;
    job->read.entries = job->entries;
    job->read.entry_count = count;
    /* The payloads of an answer fit one frame. The store reads at most twice as much. */
    job->read.content_limit = 2 * (size_t)service->config.limits.frame_bytes;
    job->read.done = on_payloads;
    query_charge(job);
    job_read(&job->base, &job->read);
}

void query_answer(struct query_job *job)
{
    uint32_t count = 0;
    const struct nearest_candidate *found = query_found(job, &count);

    if (job->answer.as_of_ms == 0) {
        job->answer.as_of_ms = service_now_ms(job->base.service);
    }
    if (!job->asked.with_payload || count == 0) {
        send_answer(job, NULL);
        arena_reset(&job->base.service->arena);
    } else if (!answer_from_cache(job, found, count)) {
        read_payloads(job, found, count);
        return;
    }
    job_end(&job->base);
}
