/* SPDX-License-Identifier: Apache-2.0 */
/* Watch and Unwatch: begin and end a standing query. Checks what a watch may ask for. */
#include <inttypes.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/watch/watch.h"

/*
 * Whether the query has 1 to parts_max parts, or is for answers, and has none of the fields with
 * which a client would expect other matches than a watch pushes. If not, sends an error.
 */
static bool check_watch(const struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->watch.query;
    uint32_t parts_max = ask->service->config.limits.parts_max;
    const char *field = NULL;
    const char *sentence = NULL;

    if (query->answers.data == NULL && (query->part_count == 0 || query->part_count > parts_max)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "query.parts",
                   "the query has %zu parts; it must have 1 to %" PRIu32, query->part_count,
                   parts_max);
        return false;
    }
    if (query->answers.data != NULL && query->part_count > 0) {
        field = "query.parts";
        sentence = "a watch for answers has no parts; leave them out";
    } else if (query->k != 0) {
        field = "query.k";
        sentence = "a watch has no k: every message that fits is pushed; leave it out";
    } else if (query->until_ms != INT64_MAX) {
        field = "query.until_ms";
        sentence = "a watch has no end; leave until_ms out, and end it with Unwatch";
    } else if (query->floor != 0) {
        field = "query.floor";
        sentence = "a watch has no floor; leave it out, and give a max_distance";
    } else if (query->order != HEARSAY_ORDER_SIMILARITY) {
        field = "query.order";
        sentence = "matches come in the order of their deposits; leave the order out";
    } else if (query->scope == HEARSAY_SCOPE_HOOD) {
        field = "query.scope";
        sentence = "a watch sees one host; leave the scope out, or watch each host of the hood";
    } else if (query->exclude_count > 0) {
        field = "query.exclude";
        sentence = "a watch excludes nothing: each message comes once; use after_seq";
    } else if (query->wait_ms != LIMIT_WAIT_MS_DEFAULT) {
        field = "query.wait_ms";
        sentence = "a watch sees one host and waits for no others; leave wait_ms out";
    } else if (query->max_staleness_ms != UINT64_MAX) {
        field = "query.max_staleness_ms";
        sentence = "a watch sees one host and asks no others; leave max_staleness_ms out";
    }
    if (field != NULL) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, field, "%s", sentence);
    }
    return field == NULL;
}

/* Reads the filters of a part into `words`, an array of twice the words of a filter. */
static bool read_part(const struct ask *ask, const struct hearsay_query_part *part, uint64_t *words,
                      struct standing_part *out)
{
    uint32_t most = ask->service->config.limits.query_fill_max_ppm;
    bool has_contains = part->contains.data != NULL;
    uint64_t *contains = words + ask->host->filter_words;

    if (ask_epoch(ask, part->epoch, "query.parts.epoch") == NULL ||
        !ask_filter(ask, &part->filter, "query.parts.filter", words) ||
        !ask_fill(ask, words, "query.parts.filter", 0, most)) {
        return false;
    }
    if (has_contains && (!ask_filter(ask, &part->contains, "query.parts.contains", contains) ||
                         !ask_fill(ask, contains, "query.parts.contains", 0, most))) {
        return false;
    }
    *out = (struct standing_part){
        .filter = words,
        .contains = has_contains ? contains : NULL,
        .scope = part->epoch,
    };
    return true;
}

/* Makes the part that each answer to the message `id` fits. False: an error was sent. */
static bool read_parent(const struct ask *ask, const uint8_t *id, uint64_t *words,
                        struct standing_part *out)
{
    struct index_item item;

    if (host_find(ask->host, id, NULL, &item, words) != 0 ||
        message_expired(item.expires_ms, service_now_ms(ask->service))) {
        ask_refuse(ask, HEARSAY_CODE_NOT_FOUND, "query.answers", "%s", handler_no_parent_text);
        return false;
    }
    *out = (struct standing_part){.filter = words, .scope = host_scope(ask->host, 0, id)};
    return true;
}

static void begin_watch(const struct ask *ask, const struct watch_order *order)
{
    const struct hearsay_limits *limits = &ask->service->config.limits;
    struct watch_begun begun = {0};

    switch (watch_begin(ask->service, ask->client, order, &begun)) {
    case 0: {
        struct hearsay_response response = {
            .id = ask->request->id,
            .kind = HEARSAY_RESPONSE_WATCHING,
            .watching = {.watch_id = begun.number, .seq = begun.seq},
        };
        ask_respond(ask, &response);
        return;
    }
    case WATCH_SESSION_FULL:
        ask_refuse(ask, HEARSAY_CODE_QUOTA, NULL,
                   "a session may watch with %" PRIu32 " filters, one for each part; its watches "
                   "have %" PRIu32 ", and this one has %" PRIu32,
                   limits->watches_per_session, watch_filters_of(ask->client),
                   order->terms.part_count);
        return;
    case WATCH_SERVER_FULL:
        ask_refuse(ask, HEARSAY_CODE_QUOTA, NULL,
                   "as many watches as are taken here stand already; try again later");
        return;
    default:
        ask_refuse_memory(ask);
        return;
    }
}

void handler_watch(struct ask *ask)
{
    const struct hearsay_query *query = &ask->request->watch.query;
    struct arena *arena = &ask->service->arena;

    if (!ask_host(ask, &query->host) || !check_watch(ask)) {
        return;
    }
    const uint8_t *parent = query->answers.data;
    size_t part_words = 2 * ask->host->filter_words;
    size_t count = parent != NULL ? 1 : query->part_count;
    bool is_phi = parent == NULL && query->metric == HEARSAY_METRIC_PHI;
    struct standing_part *parts = arena_take_zeroed(arena, count, sizeof(*parts));
    uint64_t *words = arena_take_zeroed(arena, count, part_words * sizeof(*words));
    struct watch_order order = {
        .host = ask->host,
        .terms = {.parts = parts,
                  .part_count = (uint32_t)count,
                  .max_distance_ppm = parent != NULL ? DISTANCE_ONE_PPM : query->max_distance_ppm,
                  .metric = is_phi ? INDEX_METRIC_PHI : INDEX_METRIC_BITS},
        .with_payload = query->with_payload,
        .since_ms = query->since_ms,
        .after_seq = ask->request->watch.after_seq,
    };
    bool is_right = parts != NULL && words != NULL;

    if (!is_right) {
        ask_refuse_memory(ask);
    }
    if (is_right && parent != NULL) {
        is_right = read_parent(ask, parent, words, &parts[0]);
    }
    for (size_t i = 0; is_right && i < query->part_count; i++) {
        is_right = read_part(ask, &query->parts[i], words + i * part_words, &parts[i]);
    }
    if (is_right) {
        begin_watch(ask, &order);
    }
    arena_reset(arena);
}

void handler_unwatch(struct ask *ask)
{
    uint64_t number = ask->request->unwatch.watch_id;
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_UNWATCHED};

    if (watch_end(ask->service, ask->client, number)) {
        ask_respond(ask, &response);
    } else {
        ask_refuse(ask, HEARSAY_CODE_NOT_FOUND, "watch_id", "this session has no watch %" PRIu64,
                   number);
    }
}
