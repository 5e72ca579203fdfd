/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a bridge ask the hosts of other servers for a query of a hood. Serve and Answered are the
 * requests of the bridge.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/expiry.h"
#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/query.h"
#include "daemon/system/container.h"

_Static_assert((int)LIMIT_FLOOR == (int)SIMILARITY_FLOOR_ONE, "a floor has one unit");

enum {
    /* So far may the clock of another server be ahead of this one's. */
    AHEAD_MS = 10 * 60 * 1000,
    MINUTE_MS = 60 * 1000,
    /* So many results more are asked for where some may be dropped (is_banned). */
    SPARE_RESULTS = 8
};

/*
 * Messages of others that were deposited at this time or later are not shown. If this clock is not
 * trusted, which may mean that it is far behind, there is no such time. In whole minutes, so that
 * queries that a bridge sends together do not tell in which order they came.
 */
static int64_t latest_ms(struct service *service)
{
    if (!service_clock_trusted(service)) {
        return INT64_MAX;
    }
    return ((service_now_ms(service) + AHEAD_MS) / MINUTE_MS + 1) * MINUTE_MS;
}

/* --- to the bridge ---------------------------------------------------------------------------- */

/* A push has filters and slices, and further bytes. These are the most further bytes of a push as a
 * whole, of each part, and of each slice. */
enum { ASK_REST_BYTES = 256, ASK_PART_BYTES = 16, ASK_SLICE_BYTES = 24 };

/* Whether the push with the query certainly fits a frame. */
static bool ask_fits(const struct query_job *job)
{
    size_t part = 2 * job->base.host->filter_bytes + ASK_PART_BYTES;
    size_t bytes = ASK_REST_BYTES + job->asked_parts * part + job->exclude_bytes +
                   job->query.exclude_count * ASK_SLICE_BYTES;

    return bytes <= job->base.service->config.limits.frame_bytes;
}

/* Copies a filter into the arena. False: memory is short. */
static bool write_filter(const struct query_job *job, const uint64_t *words,
                         struct hearsay_bytes *out)
{
    const struct host *host = job->base.host;
    uint8_t *bytes = arena_take(&job->base.service->arena, host->filter_bytes);

    if (bytes == NULL) {
        return false;
    }
    bloom_store(words, host->config.profile.bits, bytes);
    *out = (struct hearsay_bytes){bytes, host->filter_bytes};
    return true;
}

/* Writes the parts in epoch 0. */
static bool write_parts(const struct query_job *job, struct hearsay_query *out)
{
    struct arena *arena = &job->base.service->arena;
    struct hearsay_query_part *parts = arena_take_zeroed(arena, job->asked_parts, sizeof(*parts));

    if (parts == NULL) {
        return false;
    }
    out->parts = parts;
    for (uint32_t i = 0; i < job->asked_parts; i++) {
        const struct index_part *part = &job->parts[i];
        struct hearsay_query_part *written = &parts[out->part_count];

        if (job->places[i].epoch->number != 0) {
            continue;
        }
        if (!write_filter(job, part->filter, &written->filter) ||
            (part->contains != NULL && !write_filter(job, part->contains, &written->contains))) {
            return false;
        }
        out->part_count++;
    }
    return true;
}

static bool write_slices(const struct query_job *job, struct hearsay_query *out)
{
    struct arena *arena = &job->base.service->arena;
    uint32_t count = job->query.exclude_count;
    struct hearsay_slice *slices = arena_take_zeroed(arena, count + 1, sizeof(*slices));

    for (uint32_t i = 0; slices != NULL && i < count; i++) {
        slices[i] =
            (struct hearsay_slice){.bits = {job->exclude[i].bits, job->exclude[i].byte_count},
                                   .hashes = job->exclude[i].hashes,
                                   .seed = job->exclude[i].seed};
    }
    out->exclude = slices;
    out->exclude_count = count;
    return slices != NULL;
}

/* How many results the bridge is asked for. */
static uint32_t count_asked(const struct query_job *job)
{
    const struct host *host = job->base.host;
    uint32_t most = job->base.service->config.limits.k_max;
    uint32_t k = job->asked.k;

    if (host->rules.ban_count == 0) {
        return k;
    }
    return k + SPARE_RESULTS <= most ? k + SPARE_RESULTS : most > k ? most : k;
}

/* The query for the bridge. It has nothing that tells one client from another. */
static bool write_query(struct ask_wait *wait, struct hearsay_query *out)
{
    struct query_job *job = CONTAINER_OF(wait, struct query_job, wait);
    const struct hearsay_query *asked = &job->asked;
    const char *host = job->base.host->config.name;
    bool is_newest = job->query.order == INDEX_ORDER_NEWEST;
    uint32_t count = 0;
    const struct nearest_candidate *found = index_search_results(job->search, &count);
    int64_t latest = latest_ms(job->base.service);

    job->asked_of_bridge = count_asked(job);
    *out = (struct hearsay_query){
        .host = {host, strlen(host)},
        .k = job->asked_of_bridge,
        .max_distance_ppm = asked->max_distance_ppm,
        .since_ms = asked->since_ms,
        .until_ms = asked->until_ms,
        .metric = asked->metric,
        .order = is_newest ? HEARSAY_ORDER_NEWEST : HEARSAY_ORDER_SIMILARITY,
        .with_payload = asked->with_payload,
        .scope = HEARSAY_SCOPE_HERE,
        .max_staleness_ms = asked->max_staleness_ms,
    };
    if (count == job->query.k && is_newest) {
        out->since_ms = found[count - 1].item.deposited_ms; /* not below job->query.since_ms */
    } else if (count == job->query.k) {
        out->floor = similarity_floor(found[count - 1].rank);
    }
    if (latest < out->until_ms && latest > out->since_ms) {
        out->until_ms = latest; /* so that later ones do not crowd out others */
    }
    return write_parts(job, out) && write_slices(job, out);
}

/* --- from the bridge -------------------------------------------------------------------------- */

/* The similarity of a filter to a part of the query, by the metric of the query. */
static struct similarity rank_filter(const struct query_job *job, const struct index_part *part,
                                     const uint64_t *filter, uint32_t shared, uint32_t all)
{
    struct phi_query phi;

    if (job->query.metric != INDEX_METRIC_PHI) {
        return similarity_of(shared, all);
    }
    phi_ask(&phi, &job->base.host->config.profile, part->filter);
    return phi_similarity(&phi, filter, shared);
}

/*
 * Computes what the filter of a result says, by the part that it is nearest to. False: no part
 * finds a message of this filter, or the result has no right filter.
 */
static bool rank_result(const struct query_job *job, const struct hearsay_result *result,
                        struct query_remote *out)
{
    const struct host *host = job->base.host;
    size_t words = host->filter_words;
    uint64_t filter[PROFILE_WORDS_MAX];
    struct similarity nearest = {0, 1};
    bool is_found = false;

    if (result->filter.count != host->filter_bytes ||
        bloom_load(filter, host->config.profile.bits, result->filter.data, result->filter.count) !=
            0) {
        return false;
    }
    out->result = *result;
    for (uint32_t i = 0; i < job->asked_parts; i++) {
        const struct index_part *part = &job->parts[i];
        uint32_t shared = bloom_intersection_count(part->filter, filter, words);
        uint32_t all = bloom_union_count(part->filter, filter, words);
        struct similarity rank = rank_filter(job, part, filter, shared, all);

        if (job->places[i].epoch->number != 0 ||
            !distance_within(rank, job->query.max_distance_ppm) ||
            (part->contains != NULL && !bloom_is_subset(part->contains, filter, words)) ||
            (is_found && similarity_compare(rank, nearest) <= 0)) {
            continue;
        }
        is_found = true;
        nearest = rank;
        out->rank = index_rank(job->query.order, rank);
        out->result.intersection_count = shared;
        out->result.union_count = all;
        out->result.distance_ppm = distance_ppm(rank);
    }
    host_note_bits(host, filter, &out->result);
    return is_found;
}

/* Whether the times of a result can be right, are within the query, and the message is alive. */
static bool has_right_times(const struct query_job *job, const struct hearsay_result *result,
                            int64_t before_ms, int64_t now_ms)
{
    int64_t until_ms = job->query.until_ms < before_ms ? job->query.until_ms : before_ms;

    return message_times_fit(result->deposited_ms, result->expires_ms) &&
           !message_expired(result->expires_ms, now_ms) &&
           result->deposited_ms >= job->query.since_ms && result->deposited_ms < until_ms;
}

/*
 * Whether the operator here has banned the text or the context of a result. An answer without
 * payloads has no texts, and shows none. O(bans)
 */
static bool is_banned(const struct query_job *job, const struct hearsay_result *result)
{
    bool has_text = job->asked.with_payload && !result->payload_omitted;
    const struct ban *ban =
        rules_find_ban(&job->base.host->rules, result->filter.data, result->filter.count,
                       result->payload.data, has_text ? result->payload.count : 0);

    return ban != NULL && (has_text || ban->kind == PERSIST_BAN_FILTER);
}

/* Whether a result names a host whose owner is another server: also if this one has a copy. */
static bool is_elsewhere(const struct query_job *job, const struct hearsay_result *result)
{
    const struct host *own =
        result->host.text != NULL ? service_host(job->base.service, result->host.text) : NULL;

    return result->host.text != NULL && (own == NULL || own->config.is_replica);
}

static int compare_remote(const void *left, const void *right)
{
    const struct query_remote *a = left;
    const struct query_remote *b = right;
    int order = similarity_compare(b->rank, a->rank);

    if (order == 0 && a->result.deposited_ms != b->result.deposited_ms) {
        order = a->result.deposited_ms > b->result.deposited_ms ? -1 : 1;
    }
    return order != 0 ? order : memcmp(a->result.id.data, b->result.id.data, MESSAGE_ID_BYTES);
}

static size_t kept_bytes(const struct hearsay_result *result)
{
    return result->id.count + result->host.length + result->media_type.length +
           result->payload.count + 2; /* with the NULs of the texts */
}

static void keep_result(struct hearsay_result *result, bool with_payload, uint8_t **at)
{
    result->id.data = msg_keep_bytes(at, result->id.data, result->id.count);
    result->host.text = msg_keep_bytes(at, result->host.text, result->host.length + 1);
    result->filter = (struct hearsay_bytes){NULL, 0};
    result->epoch = 0;
    if (!with_payload) {
        result->media_type = (struct hearsay_text){NULL, 0};
        result->payload = (struct hearsay_bytes){NULL, 0};
        result->payload_omitted = false;
        return;
    }
    result->media_type.text =
        msg_keep_bytes(at, result->media_type.text, result->media_type.length + 1);
    result->payload.data = msg_keep_bytes(at, result->payload.data, result->payload.count);
}

/*
 * Copies the results of other servers into the job, nearest first. False: memory is short, or
 * results were dropped here in whose place the bridge may have had others.
 */
static bool keep_results(struct query_job *job, const struct hearsay_results *results)
{
    int64_t now_ms = service_now_ms(job->base.service);
    int64_t before_ms = latest_ms(job->base.service);
    size_t count = results->result_count;
    size_t bytes = 0; /* cannot overflow: the results are parts of one frame */
    bool has_dropped = false;

    for (size_t i = 0; i < count; i++) {
        bytes += kept_bytes(&results->results[i]);
    }
    job->remote =
        alloc_array(job->base.service->alloc, 1, count * sizeof(*job->remote) + bytes + 1);
    if (job->remote == NULL) {
        return false;
    }
    uint8_t *at = (uint8_t *)(job->remote + count);
    for (size_t i = 0; i < count; i++) {
        const struct hearsay_result *result = &results->results[i];
        struct query_remote *next = &job->remote[job->remote_count];

        if (!is_elsewhere(job, result) || !rank_result(job, result, next)) {
            continue;
        }
        if (!has_right_times(job, result, before_ms, now_ms) || is_banned(job, result)) {
            has_dropped = true;
            continue;
        }
        keep_result(&next->result, job->asked.with_payload, &at);
        job->remote_count++;
    }
    qsort(job->remote, job->remote_count, sizeof(*job->remote), compare_remote);
    return !has_dropped || count < job->asked_of_bridge || job->remote_count >= job->query.k;
}

/* Whether all messages that the own search has found are still there. */
static bool own_are_there(const struct query_job *job)
{
    uint32_t count = 0;
    const struct nearest_candidate *found = index_search_results(job->search, &count);
    struct index_item item;

    for (uint32_t i = 0; i < count; i++) {
        if (host_find(job->places[found[i].part].host, found[i].item.id, NULL, &item, NULL) != 0 ||
            item.deposited_ms != found[i].item.deposited_ms) {
            return false;
        }
    }
    return true;
}

/* The wait is over: merges and answers, and frees the wait. NULL: the bridge has not answered. */
static void end_wait(struct ask_wait *wait, const struct hearsay_results *results)
{
    struct query_job *job = CONTAINER_OF(wait, struct query_job, wait);
    struct hearsay_results *answer = &job->answer;

    if (job->base.client->is_gone) {
        job_end(&job->base);
        return;
    }
    /* a bridge that knows no peer has perhaps just begun */
    answer->complete = results != NULL && keep_results(job, results) && results->complete &&
                       results->peers > 0 && results->peers_skipped == 0;
    if (results == NULL) {
        answer->bridge_away = !asks_serves(job->base.service, job->base.host);
    } else {
        bool is_older = results->as_of_ms > 0 && results->as_of_ms < answer->as_of_ms;

        answer->capped = results->capped;
        answer->peers += results->peers;
        answer->peers_asked += results->peers_asked;
        answer->peers_silent += results->peers_silent;
        answer->peers_other += results->peers_other;
        answer->peers_skipped = results->peers_skipped;
        answer->comparisons = results->comparisons;
        answer->as_of_ms = is_older ? results->as_of_ms : answer->as_of_ms;
    }
    if (own_are_there(job)) {
        query_answer(job);
    } else {
        /* the floor that the others were told may have been too high */
        answer->complete = false;
        query_search(job);
    }
}

void query_ask(struct query_job *job)
{
    struct service *service = job->base.service;

    job->answer.as_of_ms = service_now_ms(service);
    job->when_found = query_answer; /* of the next search, if there is one */
    job->wait = (struct ask_wait){
        .service = service,
        .client = job->base.client,
        .host = job->base.host,
        .until_ms = job->until_ms,
        .write = write_query,
        .sender = job->base.sender,
    };
    if (ask_fits(job) && asks_begin(&job->wait)) {
        query_charge(job);
        return;
    }
    job->answer.complete = false;
    job->answer.bridge_away = !asks_serves(service, job->base.host);
    query_answer(job);
}

void handler_turn_asks(struct service *service)
{
    struct ask_wait *wait;

    while ((wait = asks_over(service)) != NULL) {
        end_wait(wait, NULL);
    }
    asks_send(service);
}

/* --- requests of the bridge ------------------------------------------------------------------- */

void handler_serve(struct ask *ask)
{
    const struct hearsay_serve *serve = &ask->request->serve;
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_SERVING};

    if (asks_serve(ask->service, ask->client, serve->hoods, serve->hood_count) != 0) {
        ask_refuse_memory(ask);
        return;
    }
    ask_respond(ask, &response);
}

void handler_answered(struct ask *ask)
{
    const struct hearsay_answered *answered = &ask->request->answered;
    struct hearsay_response response = {.id = ask->request->id,
                                        .kind = HEARSAY_RESPONSE_ANSWER_TAKEN};

    ask_respond(ask, &response);
    struct ask_wait *wait = asks_answered(ask->service, ask->client, answered);
    if (wait != NULL) { /* resets the arena */
        end_wait(wait, answered->has_results ? &answered->results : NULL);
    }
}
