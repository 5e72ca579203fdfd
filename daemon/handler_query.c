/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query: the k nearest. A search that ends within a first budget is answered at once; a longer one
 * waits in service->searches and goes on in turn with the others. Payloads come from the cache, or
 * are read off the loop.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/bloom.h"
#include "core/err.h"
#include "daemon/container.h"
#include "daemon/handler.h"
#include "proto/codec.h"

enum {
    /* Filters looked at in one go: well under a millisecond without vector instructions. */
    STEP_BUDGET = 16 * 1024,
    /* Every deposit and removal is shown to all searches under way, so they must be few; more wait
     * without costing anything. */
    SEARCHES_MAX = 8,
    /* With ids to leave out a filter may cost LIMIT_SLICES_HASHES looks besides: steps are shorter.
     */
    EXCLUDE_COST = 16,
    /* A message withdrawn between search and reading makes the search run again, so often; then the
     * answer is that of the last search's end, and what went since then has no payload in it. */
    ATTEMPTS_MAX = 4
};

struct query_job {
    struct query_job *prev; /* in service->searches */
    struct query_job *next;
    struct service *service;
    struct handler_client *client;
    struct host *host;
    struct index_search *search; /* owned */
    uint64_t request_id;
    uint64_t began_ns;   /* taken then */
    size_t bytes;        /* charged to the client while under way; 0: answered within the call */
    size_t answer_bytes; /* charged, too */
    struct index_query query;
    struct index_part *parts;
    struct epoch **epochs;          /* part_count of them, of which we are users; NULL: not yet */
    uint64_t *filters;              /* part_count of filter words, then as many of contains */
    struct scalable_slice *exclude; /* query.exclude_count of them */
    uint8_t *exclude_bits;          /* what they point into */
    size_t exclude_bytes;
    enum msg_order order;
    bool with_payload;
    unsigned attempts;
    struct persist_read read;
    struct persist_entry *entries; /* k of them, while payloads are read */
};

/* --- making and freeing ----------------------------------------------------------------------- */

static size_t filter_words_total(const struct query_job *job)
{
    return 2 * (size_t)job->query.part_count * job->host->filter_words;
}

static void job_free(struct query_job *job)
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

/* The end of a job: what was charged is given back, and the client may be gone after this. */
static void job_end(struct query_job *job)
{
    struct handler_client *client = job->client;
    const size_t bytes = job->bytes;
    const size_t answer_bytes = job->answer_bytes;

    if (bytes > 0) {
        job->service->working--;
    }
    job_free(job);
    if (bytes > 0) {
        handler_work_end(client, bytes, answer_bytes);
    }
}

static void job_fail(struct query_job *job, enum msg_error_code code, const char *sentence)
{
    handler_refuse(job->client, job->request_id, code, NULL, "%s", sentence);
    job_end(job);
}

/* The most that the answer may take of the output. */
static size_t answer_bytes_max(const struct query_job *job)
{
    const size_t frame_bytes = job->service->config.limits.frame_bytes;
    const size_t bare = CODEC_ENVELOPE_BYTES_MAX + job->query.k * codec_result_bytes_max(0, 0);

    return job->with_payload || bare > frame_bytes ? frame_bytes : bare;
}

/* From here on the answer comes later. What it holds until then is charged to the client. */
static void job_charge(struct query_job *job)
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
    handler_work_begin(job->client, job->bytes, job->answer_bytes);
}

/* How many of k results may be of one sender; 0: all of them. */
static uint32_t share_of(const struct config_limits *limits, uint32_t k)
{
    const uint64_t share = (uint64_t)k * limits->sender_share_ppm / DISTANCE_ONE_PPM;

    return limits->sender_share_ppm == DISTANCE_ONE_PPM ? 0 : share > 0 ? (uint32_t)share : 1;
}

static struct query_job *job_new(struct service *service, struct handler_client *client,
                                 struct host *host, const struct msg_request *request)
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
        job_free(job);
        return NULL;
    }
    return job;
}

/* --- checking --------------------------------------------------------------------------------- */

static bool check_query(struct service *service, struct handler_client *client,
                        const struct msg_request *request)
{
    const struct msg_query *query = &request->query;
    const struct config_limits *limits = &service->config.limits;

    if (query->k == 0 || query->k > limits->k_max) {
        handler_refuse(client, request->id, MSG_INVALID, "k",
                       "k is %" PRIu32 "; it must be 1 to %" PRIu32, query->k, limits->k_max);
        return false;
    }
    if (query->part_count == 0 || query->part_count > limits->parts_max) {
        handler_refuse(client, request->id, MSG_INVALID, "parts",
                       "the query has %zu parts; it must have 1 to %" PRIu32, query->part_count,
                       limits->parts_max);
        return false;
    }
    uint32_t hashes = 0; /* at most LIMIT_SLICES * LIMIT_HASHES */
    for (size_t i = 0; i < query->exclude_count; i++) {
        hashes += query->exclude[i].hashes;
    }
    if (hashes > LIMIT_SLICES_HASHES) {
        handler_refuse(client, request->id, MSG_INVALID, "exclude.hashes",
                       "the slices have %" PRIu32 " hashes together; at most %d are allowed",
                       hashes, LIMIT_SLICES_HASHES);
        return false;
    }
    if (query->since_ms >= query->until_ms) {
        handler_refuse(client, request->id, MSG_INVALID, "until_ms",
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

/* --- answering -------------------------------------------------------------------------------- */

static int compare_by_time(const void *left, const void *right)
{
    const struct msg_result *a = left;
    const struct msg_result *b = right;

    if (a->deposited_ms != b->deposited_ms) {
        return a->deposited_ms > b->deposited_ms ? -1 : 1;
    }
    return memcmp(a->id.data, b->id.data, MESSAGE_ID_BYTES);
}

/* Fills what the search found; payloads come after. */
static void fill_result(const struct query_job *job, const struct nearest_candidate *found,
                        struct msg_result *out)
{
    const struct similarity bits = similarity_of(found->intersection, found->union_count);

    *out = (struct msg_result){
        .id = {found->item.id, MESSAGE_ID_BYTES},
        .intersection_count = found->intersection,
        .union_count = found->union_count,
        .distance_ppm = distance_ppm(bits),
        .estimated_similarity_ppm =
            host_estimated_similarity_ppm(job->host, job->parts[found->part].filter, found),
        .epoch = job->epochs[found->part]->number,
        .deposited_ms = found->item.deposited_ms,
        .expires_ms = found->item.expires_ms,
    };
}

/*
 * Payloads, nearest first, each that the rest of the frame has room for; the others, those that
 * were not read because no frame holds them, and those that went are marked as omitted. messages[i]
 * belongs to results[i], which are in the search's order.
 */
static void attach_payloads(struct msg_result *results, size_t count,
                            const struct persist_message *messages, size_t frame_bytes)
{
    size_t used = CODEC_ENVELOPE_BYTES_MAX + count * codec_result_bytes_max(0, 0);

    for (size_t i = 0; i < count; i++) {
        const struct persist_message *message = &messages[i];
        const size_t more =
            codec_result_bytes_max(message->payload_bytes, message->media_type_bytes) -
            codec_result_bytes_max(0, 0);
        results[i].payload_omitted = message->media_type == NULL || used + more > frame_bytes;
        if (results[i].payload_omitted) {
            continue;
        }
        used += more;
        results[i].media_type = (struct msg_text){message->media_type, message->media_type_bytes};
        results[i].payload = (struct msg_bytes){message->payload, message->payload_bytes};
    }
}

/* Sends the answer. `messages`: payloads in the order of the search's results, or NULL. */
static void send_answer(struct query_job *job, const struct persist_message *messages)
{
    struct service *service = job->service;
    uint32_t count = 0;
    const struct nearest_candidate *found = index_search_results(job->search, &count);
    struct msg_result *results = arena_take_zeroed(&service->arena, count + 1, sizeof(*results));

    if (results == NULL) {
        handler_refuse(job->client, job->request_id, MSG_INTERNAL, NULL,
                       "the server is out of memory");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        fill_result(job, &found[i], &results[i]);
    }
    if (messages != NULL) {
        attach_payloads(results, count, messages, service->config.limits.frame_bytes);
    }
    if (job->order == MSG_ORDER_TIME) {
        qsort(results, count, sizeof(*results), compare_by_time);
    }
    const struct msg_response response = {
        .id = job->request_id,
        .kind = MSG_RESPONSE_RESULTS,
        .results = {.results = results,
                    .result_count = count,
                    .comparisons = index_search_comparisons(job->search),
                    .exact = index_search_is_exact(job->search),
                    .capped = index_search_is_capped(job->search)},
    };
    service->metrics.comparisons += response.results.comparisons;
    service_note(service, METRIC_QUERY, job->began_ns);
    job->client->events->respond(job->client, &response);
}

/* --- payloads --------------------------------------------------------------------------------- */

static void start_search(struct query_job *job);

/* Whether what was read for a result is that message, and it is still shown: not withdrawn or
 * hidden meanwhile, nor another one under its id. */
static bool is_it(const struct query_job *job, const struct persist_entry *entry,
                  const struct nearest_candidate *found)
{
    struct index_item item;

    return entry->found && entry->message.deposited_ms == found->item.deposited_ms &&
           host_find(job->host, found->item.id, NULL, &item, NULL) == 0 &&
           item.deposited_ms == found->item.deposited_ms;
}

/* The payloads of a finished read, in the search's order; NULL for want of memory. */
static struct persist_message *take_payloads(struct query_job *job, bool *out_all_found)
{
    struct service *service = job->service;
    const struct persist_read *read = &job->read;
    uint32_t count = 0;
    const struct nearest_candidate *results = index_search_results(job->search, &count);
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
    struct service *service = job->service;
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
            outcome = AGAIN; /* one went meanwhile: the answer is no longer right */
        }
    }
    service->persist->interface->read_release(service->persist, read);
    arena_reset(&service->arena);
    if (outcome == SENT) {
        job_end(job);
    } else if (outcome == AGAIN) {
        start_search(job);
    } else {
        job_fail(job, MSG_STORAGE, "the message store could not read its storage; try again later");
    }
}

/* Whether the cache had them all, and the answer is sent. */
static bool answer_from_cache(struct query_job *job, const struct nearest_candidate *found,
                              uint32_t count)
{
    struct service *service = job->service;
    struct persist_message *messages = arena_take_zeroed(&service->arena, count, sizeof(*messages));
    bool all_cached = messages != NULL;

    for (uint32_t i = 0; i < count && all_cached; i++) {
        all_cached = service_recall(service, job->host->number, found[i].item.id, &messages[i]);
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
    struct service *service = job->service;

    if (job->entries == NULL) {
        job->entries = alloc_zeroed(service->alloc, job->query.k, sizeof(*job->entries));
    }
    if (job->entries == NULL) {
        job_fail(job, MSG_INTERNAL, "the server is out of memory");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        memset(&job->entries[i], 0, sizeof(job->entries[i]));
        job->entries[i].message.host = job->host->number;
        memcpy(job->entries[i].message.id, found[i].item.id, MESSAGE_ID_BYTES);
    }
    memset(&job->read, 0, sizeof(job->read));
    job->read.kind = PERSIST_READ_PAYLOADS;
    job->read.entries = job->entries;
    job->read.entry_count = count;
    /* What does not fit the answer need not be read, with room for one that is passed over. */
    job->read.content_limit = 2 * (size_t)service->config.limits.frame_bytes;
    job->read.done = on_payloads;
    job_charge(job);
    service->persist->interface->read(service->persist, &job->read);
}

/* --- searching -------------------------------------------------------------------------------- */

static void finish_search(struct query_job *job)
{
    uint32_t count = 0;
    const struct nearest_candidate *found = index_search_results(job->search, &count);

    if (!job->with_payload || count == 0) {
        send_answer(job, NULL);
        arena_reset(&job->service->arena);
    } else if (!answer_from_cache(job, found, count)) {
        read_payloads(job, found, count);
        return;
    }
    job_end(job);
}

/* How many filters one go looks at. */
static uint64_t step_budget(const struct query_job *job)
{
    return job->query.exclude_count > 0 ? STEP_BUDGET / EXCLUDE_COST : STEP_BUDGET;
}

/* Looks at `budget` filters; whether the search is over. */
static bool step(struct query_job *job, uint64_t budget)
{
    return index_search_step(job->search, budget, service_now_ms(job->service)) != INDEX_MORE;
}

/* Puts a job at the end of a list of the service; its client has a search under way then. */
static void enlist(struct query_job *job, struct query_job **list)
{
    job_charge(job);
    job->client->searches++;
    DL_APPEND(*list, job);
}

/* Takes a job off its list. Whether its client is still there; if not, the job is over. */
static bool delist(struct query_job *job, struct query_job **list)
{
    DL_DELETE(*list, job);
    job->client->searches--;
    if (!job->client->is_gone) {
        return true;
    }
    job_end(job);
    return false;
}

/* Finishes a search that has ended, and lets any other go on in turn. */
static void go_on(struct query_job *job)
{
    if (step(job, step_budget(job))) {
        finish_search(job);
        return;
    }
    enlist(job, &job->service->searches);
    job->service->search_count++;
}

static void begin_search(struct query_job *job)
{
    struct service *service = job->service;

    /* Each time anew: an epoch's index may be another one than at the last attempt. */
    for (uint32_t p = 0; p < job->query.part_count; p++) {
        job->parts[p].index = job->epochs[p]->index;
    }
    if (index_search_new(service->alloc, &job->query, &job->search) != 0) {
        job_fail(job, MSG_INTERNAL, "the server is out of memory");
    } else if (service->search_count < SEARCHES_MAX) {
        go_on(job);
    } else if (step(job, step_budget(job))) {
        finish_search(job); /* most end so soon: they need not wait for those that do not */
    } else {
        index_search_free(job->search);
        job->search = NULL;
        enlist(job, &service->waiting);
    }
}

static void start_search(struct query_job *job)
{
    index_search_free(job->search);
    job->search = NULL;
    job->attempts++; /* on_payloads counts them */
    begin_search(job);
}

bool handler_run_searches(struct service *service, uint64_t budget, uint64_t until_ns)
{
    while (service->searches != NULL && budget >= STEP_BUDGET) {
        struct query_job *job = service->searches;
        budget -= STEP_BUDGET;
        service->search_count--;
        if (delist(job, &service->searches)) {
            go_on(job);
        }
        if (service_monotonic_ns(service) >= until_ns) {
            break;
        }
    }
    while (service->waiting != NULL && service->search_count < SEARCHES_MAX) {
        struct query_job *job = service->waiting;
        if (delist(job, &service->waiting)) {
            begin_search(job);
        }
    }
    return service->searches != NULL || service->waiting != NULL;
}

size_t handler_searches_waiting(const struct service *service)
{
    const struct query_job *job;
    size_t count = 0;

    DL_COUNT(service->waiting, job, count);
    return count;
}

void handler_query(struct service *service, struct handler_client *client,
                   const struct msg_request *request)
{
    struct host *host = handler_host(service, client, request, &request->query.host);

    if (host == NULL || !check_query(service, client, request)) {
        return;
    }
    struct query_job *job = job_new(service, client, host, request);
    if (job == NULL) {
        handler_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    if (!read_exclude(job, &request->query)) {
        job_free(job);
        handler_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    for (size_t i = 0; i < request->query.part_count; i++) {
        if (!read_part(job, request, i)) {
            job_free(job);
            return;
        }
    }
    start_search(job);
}
