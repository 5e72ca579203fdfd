/* SPDX-License-Identifier: Apache-2.0 */
/* Query: finds the k nearest messages. This file checks a request and makes a job. */
#include "daemon/handler/query.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/system/container.h"

/* --- checking --------------------------------------------------------------------------------- */

static bool check_query(const struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->query;
    const struct hearsay_limits *limits = &ask->service->config.limits;
    uint32_t hashes = 0; /* at most LIMIT_SLICES * LIMIT_HASHES */

    if (query->k == 0 || query->k > limits->k_max) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "k", "k is %" PRIu32 "; it must be 1 to %" PRIu32,
                   query->k, limits->k_max);
        return false;
    }
    if (query->answers.data != NULL &&
        (query->part_count > 0 || query->scope != HEARSAY_SCOPE_HERE)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, query->part_count > 0 ? "parts" : "scope",
                   "a query for answers is for those of one message at one host; leave parts and "
                   "scope out");
        return false;
    }
    if (query->answers.data == NULL &&
        (query->part_count == 0 || query->part_count > limits->parts_max)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "parts",
                   "the query has %zu parts; it must have 1 to %" PRIu32, query->part_count,
                   limits->parts_max);
        return false;
    }
    for (size_t i = 0; i < query->exclude_count; i++) {
        hashes += query->exclude[i].hashes;
    }
    if (hashes > LIMIT_SLICES_HASHES) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "exclude.hashes",
                   "the slices have %" PRIu32 " hashes together; at most %d are allowed", hashes,
                   LIMIT_SLICES_HASHES);
        return false;
    }
    /* until_ms of INT64_MAX means that the query has no upper bound of times */
    if (query->since_ms >= query->until_ms && query->until_ms != INT64_MAX) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "until_ms", "until_ms must be after since_ms");
        return false;
    }
    return true;
}

/* Lets part i of the search look at an epoch of a host. */
static void query_look(struct query_job *job, size_t i, struct host *host, struct epoch *epoch)
{
    job->places[i] = (struct query_place){host, epoch};
    epoch_use(epoch);
}

static bool read_part(const struct ask *ask, struct query_job *job, size_t i)
{
    const struct hearsay_query_part *part = &ask->request->query.parts[i];
    uint32_t most = ask->service->config.limits.query_fill_max_ppm;
    bool has_contains = part->contains.data != NULL;
    uint64_t *filter = job->filters + 2 * i * ask->host->filter_words;
    uint64_t *contains = filter + ask->host->filter_words;

    struct epoch *epoch = ask_epoch(ask, part->epoch, "parts.epoch");
    if (epoch == NULL) {
        return false;
    }
    query_look(job, i, ask->host, epoch);
    if (!ask_filter(ask, &part->filter, "parts.filter", filter) ||
        !ask_fill(ask, filter, "parts.filter", 0, most)) {
        return false;
    }
    if (has_contains && (!ask_filter(ask, &part->contains, "parts.contains", contains) ||
                         !ask_fill(ask, contains, "parts.contains", 0, most))) {
        return false;
    }
    job->parts[i] = (struct index_part){
        .filter = filter,
        .contains = has_contains ? contains : NULL,
    };
    return true;
}

/* --- the hood --------------------------------------------------------------------------------- */

/* Whether a search of the host `asked` also looks at `other`: filters of both have one form. */
static bool is_peer(const struct host *asked, const struct host *other)
{
    return host_is_neighbour(asked, other) &&
           profile_equal(&asked->config.profile, &other->config.profile);
}

/* Counts the parts of the query in epoch 0. Other epochs have their messages at one host only. */
static uint32_t count_open(const struct hearsay_query *query)
{
    uint32_t open = 0;

    for (size_t i = 0; i < query->part_count; i++) {
        open += query->parts[i].epoch == 0 ? 1 : 0;
    }
    return open;
}

/* Counts the peers. Returns false, after sending an error, if the query cannot ask the hood. */
static bool count_peers(const struct ask *ask, uint32_t *out_peers, uint32_t *out_other)
{
    const struct hearsay_query *query = &ask->request->query;
    uint32_t open = count_open(query);
    uint32_t all = 0;

    *out_peers = 0;
    if (ask->host->config.hood[0] == '\0') {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "scope",
                   "host \"%s\" belongs to no hood, so it asks no other host",
                   ask->host->config.name);
        return false;
    }
    for (size_t h = 0; h < ask->service->host_count; h++) {
        all += host_is_neighbour(ask->host, &ask->service->hosts[h]) ? 1 : 0;
        *out_peers += is_peer(ask->host, &ask->service->hosts[h]) ? 1 : 0;
    }
    *out_other = all - *out_peers;
    if (query->part_count + open * *out_peers <= INDEX_PARTS_MAX) {
        return true;
    }
    ask_refuse(ask, HEARSAY_CODE_INVALID, "parts",
               "%" PRIu32 " parts in epoch 0 at %" PRIu32 " hosts, and %zu in other epochs, are "
               "more than %d searches; ask with fewer parts",
               open, *out_peers + 1, query->part_count - open, INDEX_PARTS_MAX);
    return false;
}

/* Repeats each part in epoch 0 for each peer. */
static void add_peers(const struct ask *ask, struct query_job *job)
{
    size_t next = job->asked_parts;

    for (size_t h = 0; job->answer.peers_asked > 0 && h < ask->service->host_count; h++) {
        struct host *peer = &ask->service->hosts[h];
        uint32_t count = is_peer(ask->host, peer) ? job->asked_parts : 0;

        for (uint32_t i = 0; i < count; i++) {
            if (job->places[i].epoch->number == 0) {
                job->parts[next] = job->parts[i];
                query_look(job, next++, peer, peer->epochs[0]);
            }
        }
    }
}

/* --- slices ----------------------------------------------------------------------------------- */

/*
 * Whether the chances that a slice of the query excludes a message which nobody put into it add up
 * to at most LIMIT_SLICES_PPM. If not, sends an error. With a sum near 1 the query could exclude
 * nearly every message, and the search would compare nearly all messages.
 */
static bool check_slices(const struct ask *ask, const struct query_job *job)
{
    uint64_t chance_ppm = 0;

    for (uint32_t i = 0; i < job->query.exclude_count; i++) {
        chance_ppm += scalable_slice_chance_ppm(&job->exclude[i]);
    }
    if (chance_ppm <= LIMIT_SLICES_PPM) {
        return true;
    }
    ask_refuse(ask, HEARSAY_CODE_FILL_OUT_OF_RANGE, "exclude.bits",
               "the slices have any message's id with a chance of %.3f; at most %.1f is taken. "
               "Make them larger, or put fewer ids in",
               (double)chance_ppm / 1000000, (double)LIMIT_SLICES_PPM / 1000000);
    return false;
}

/*
 * Copies the slices of the query into the job, since a search may last longer than the request.
 * Returns false if memory is short.
 */
static bool read_exclude(struct query_job *job, const struct hearsay_query *query)
{
    const struct alloc *alloc = job->base.service->alloc;
    size_t total = 0; /* cannot overflow: the slices are parts of one frame */

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
        const struct hearsay_slice *slice = &query->exclude[i];

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

/* --- the job ---------------------------------------------------------------------------------- */

/* Frees what a job owns. */
static void deinit_query(struct job *base)
{
    struct query_job *job = CONTAINER_OF(base, struct query_job, base);
    const struct alloc *alloc = base->service->alloc;

    index_search_free(job->search);
    for (uint32_t p = 0; job->places != NULL && p < job->query.part_count; p++) {
        if (job->places[p].epoch != NULL) {
            epoch_leave(job->places[p].epoch);
        }
    }
    alloc_release(alloc, job->places);
    alloc_release(alloc, job->exclude);
    alloc_release(alloc, job->exclude_bits);
    alloc_release(alloc, job->entries);
    alloc_release(alloc, job->listed);
    alloc_release(alloc, job->filters);
    alloc_release(alloc, job->parts);
    alloc_release(alloc, job->remote);
}

/* How many of the k results may come from one sender. 0: any number. */
static uint32_t share_of(const struct hearsay_limits *limits, uint32_t k)
{
    uint64_t share = (uint64_t)k * limits->sender_share_ppm / DISTANCE_ONE_PPM;

    return limits->sender_share_ppm == DISTANCE_ONE_PPM ? 0 : share > 0 ? (uint32_t)share : 1;
}

static enum index_metric metric_of(enum hearsay_metric metric)
{
    return metric == HEARSAY_METRIC_PHI ? INDEX_METRIC_PHI : INDEX_METRIC_BITS;
}

/*
 * Makes a job for a request that check_query has accepted. The search also looks at `peers` other
 * hosts. NULL: out of memory, and an error was sent.
 */
static struct query_job *query_new(const struct ask *ask, uint32_t peers)
{
    uint32_t open = count_open(&ask->request->query);
    const struct hearsay_query *query = &ask->request->query;
    const struct alloc *alloc = ask->service->alloc;
    struct query_job *job = job_new(ask, sizeof(*job), 0);

    if (job == NULL) {
        return NULL;
    }
    job->base.deinit = deinit_query;
    job->asked = *query;
    job->asked.host = (struct hearsay_text){NULL, 0};
    job->asked.parts = NULL;
    job->asked.exclude = NULL;
    job->answer.peers = peers;
    job->answer.peers_asked = open > 0 ? peers : 0;
    job->answer.complete = true;
    job->asked_parts = (uint32_t)query->part_count;
    job->query = (struct index_query){
        .part_count = (uint32_t)query->part_count + open * peers,
        .k = query->k,
        .sender_share = share_of(&ask->service->config.limits, query->k),
        .max_distance_ppm = query->max_distance_ppm,
        .since_ms = query->since_ms,
        .until_ms = query->until_ms,
        .metric = metric_of(query->metric),
        .order = query->order == HEARSAY_ORDER_NEWEST ? INDEX_ORDER_NEWEST : INDEX_ORDER_SIMILARITY,
        .floor = query->floor == 0 ? (struct similarity){0, 0} : similarity_of_floor(query->floor),
    };
    job->parts = alloc_zeroed(alloc, job->query.part_count, sizeof(*job->parts));
    job->places = alloc_zeroed(alloc, job->query.part_count, sizeof(*job->places));
    job->filters =
        alloc_zeroed(alloc, query_filter_words(job, job->asked_parts), sizeof(*job->filters));
    job->query.parts = job->parts;
    if (job->parts == NULL || job->places == NULL || job->filters == NULL) {
        job_fail_memory(&job->base);
        return NULL;
    }
    return job;
}

/* --- the other servers ------------------------------------------------------------------------ */

/* Whether hosts of other servers, which only a bridge can ask, may have messages for the query. */
static bool may_be_elsewhere(const struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->query;

    return query->scope == HEARSAY_SCOPE_HOOD && count_open(query) > 0;
}

static bool asks_bridge(const struct ask *ask)
{
    return may_be_elsewhere(ask) && asks_serves(ask->service, ask->host);
}

/* Whether the operator has configured a bridge, which asks_bridge has not found. Without one, the
 * hosts of this server are all that there are, so nothing is missing. */
static bool lacks_bridge(const struct ask *ask)
{
    return may_be_elsewhere(ask) && !asks_serves(ask->service, ask->host) &&
           config_has_bridge(&ask->service->config);
}

static bool check_floor(const struct ask *ask)
{
    if (ask->request->query.floor == 0 || ask->client->is_local) {
        return true;
    }
    ask_refuse(ask, HEARSAY_CODE_INVALID, "floor",
               "a floor is taken on the Unix sockets of the server only; ask with max_distance");
    return false;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A query for the answers to one message. */
static void query_answers(const struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->query;
    struct epoch *epoch = NULL;
    struct index_item item;

    if (host_find(ask->host, query->answers.data, &epoch, &item, NULL) != 0 ||
        message_expired(item.expires_ms, service_now_ms(ask->service))) {
        ask_refuse(ask, HEARSAY_CODE_NOT_FOUND, "answers", "%s", handler_no_parent_text);
        return;
    }
    struct query_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    job->base.deinit = deinit_query;
    job->asked.with_payload = query->with_payload;
    job->answer.complete = true;
    job->query = (struct index_query){.part_count = 1,
                                      .k = query->k,
                                      .since_ms = query->since_ms,
                                      .until_ms = query->until_ms,
                                      .metric = INDEX_METRIC_PHI};
    job->is_list = true;
    memcpy(job->parent, query->answers.data, MESSAGE_ID_BYTES);
    job->places = alloc_zeroed(ask->service->alloc, 1, sizeof(*job->places));
    if (job->places == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    query_look(job, 0, ask->host, epoch);
    job->when_found = query_answer;
    query_search(job);
}

/* --- the request ------------------------------------------------------------------------------ */

void handler_query(struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->query;
    uint32_t peers = 0;
    uint32_t other = 0;

    if (!ask_host(ask, &query->host) || !check_query(ask) || !check_floor(ask) ||
        (query->scope == HEARSAY_SCOPE_HOOD && !count_peers(ask, &peers, &other))) {
        return;
    }
    if (query->answers.data != NULL) {
        query_answers(ask);
        return;
    }
    struct query_job *job = query_new(ask, peers);
    if (job == NULL) {
        return;
    }
    job->answer.peers_other = other;
    if (!read_exclude(job, query)) {
        job_fail_memory(&job->base);
        return;
    }
    bool is_right = check_slices(ask, job);
    for (size_t i = 0; is_right && i < query->part_count; i++) {
        is_right = read_part(ask, job, i);
    }
    if (is_right) {
        add_peers(ask, job);
    }
    if (!is_right) {
        job_end(&job->base);
        return;
    }
    job->when_found = query_answer;
    if (asks_bridge(ask)) {
        job->when_found = query_ask;
        job->until_ms = service_monotonic_ms(ask->service) + query->wait_ms;
    } else if (lacks_bridge(ask)) {
        job->answer.bridge_away = true;
        job->answer.complete = false;
    }
    query_search(job);
}
