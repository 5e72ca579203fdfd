/* SPDX-License-Identifier: Apache-2.0 */
/* Watch and Unwatch: what a standing query may ask for. */
#include <inttypes.h>

#include "core/standing/standing.h"
#include "daemon/handler/handler.h"
#include "daemon/watch/watch.h"

/* A query's fields that a watch has no use for are refused, so that nobody relies on them. */
static bool check_watch(struct service *service, struct requester *client,
                        const struct msg_request *request)
{
    const struct msg_query *query = &request->watch.query;
    const struct config_limits *limits = &service->config.limits;
    const char *field = NULL;
    const char *sentence = NULL;

    if (query->part_count == 0 || query->part_count > limits->parts_max) {
        requester_refuse(client, request->id, MSG_INVALID, "query.parts",
                         "the query has %zu parts; it must have 1 to %" PRIu32, query->part_count,
                         limits->parts_max);
        return false;
    }
    if (query->k != 0) {
        field = "query.k";
        sentence = "a watch has no k: every message that fits is pushed; leave it out";
    } else if (query->until_ms != INT64_MAX) {
        field = "query.until_ms";
        sentence = "a watch has no end; leave until_ms out, and end it with Unwatch";
    } else if (query->order != MSG_ORDER_SIMILARITY) {
        field = "query.order";
        sentence = "matches come in the order of their deposits; leave the order out";
    } else if (query->exclude_count > 0) {
        field = "query.exclude";
        sentence = "a watch excludes nothing: each message comes once; use after_seq";
    }
    if (field != NULL) {
        requester_refuse(client, request->id, MSG_INVALID, field, "%s", sentence);
    }
    return field == NULL;
}

/* One part's filters, into `words`: 2 times profile words. */
static bool read_part(struct service *service, struct requester *client,
                      const struct msg_request *request, const struct host *host,
                      const struct msg_query_part *part, uint64_t *words, struct standing_part *out)
{
    const uint32_t most = service->config.limits.query_fill_max_ppm;
    uint64_t *contains = words + host->filter_words;

    if (handler_epoch(service, client, request, host, part->epoch, "query.parts.epoch") == NULL ||
        !handler_filter(service, client, request, host, &part->filter, "query.parts.filter",
                        words) ||
        !handler_fill(client, request, host, words, "query.parts.filter", 0, most)) {
        return false;
    }
    if (part->contains.data != NULL &&
        (!handler_filter(service, client, request, host, &part->contains, "query.parts.contains",
                         contains) ||
         !handler_fill(client, request, host, contains, "query.parts.contains", 0, most))) {
        return false;
    }
    *out = (struct standing_part){
        .filter = words,
        .contains = part->contains.data != NULL ? contains : NULL,
        .scope = part->epoch,
    };
    return true;
}

static void answer(struct service *service, struct requester *client,
                   const struct msg_request *request, const struct watch_order *order)
{
    const struct config_limits *limits = &service->config.limits;
    struct watch_begun begun = {0};

    switch (watch_begin(service, client, order, &begun)) {
    case 0: {
        const struct msg_response response = {
            .id = request->id,
            .kind = MSG_RESPONSE_WATCHING,
            .watching = {.watch_id = begun.number, .seq = begun.seq},
        };
        client->events->respond(client, &response);
        return;
    }
    case WATCH_SESSION_FULL:
        requester_refuse(client, request->id, MSG_QUOTA, NULL,
                         "this session watches with %" PRIu32 " filters already; %" PRIu32
                         " are allowed, and this one has %" PRIu32 ". End another watch first",
                         watch_filters_of(client), limits->watches_per_session,
                         order->terms.part_count);
        return;
    case WATCH_SERVER_FULL:
        requester_refuse(client, request->id, MSG_QUOTA, NULL,
                         "as many watches as are taken here stand already; try again later");
        return;
    default:
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
}

void handler_watch(struct service *service, struct requester *client,
                   const struct msg_request *request)
{
    const struct msg_query *query = &request->watch.query;
    struct host *host = handler_host(service, client, request, &query->host);

    if (host == NULL || !check_watch(service, client, request)) {
        return;
    }
    struct standing_part *parts =
        arena_take_zeroed(&service->arena, query->part_count, sizeof(*parts));
    uint64_t *words = arena_take_zeroed(&service->arena, query->part_count,
                                        2 * host->filter_words * sizeof(*words));
    const struct watch_order order = {
        .host = host,
        .terms = {.parts = parts,
                  .part_count = (uint32_t)query->part_count,
                  .max_distance_ppm = query->max_distance_ppm,
                  .metric = query->metric == MSG_METRIC_ESTIMATED ? INDEX_METRIC_ESTIMATED
                                                                  : INDEX_METRIC_BITS},
        .with_payload = query->with_payload,
        .since_ms = query->since_ms,
        .after_seq = request->watch.after_seq,
    };
    bool is_right = parts != NULL && words != NULL;

    if (!is_right) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
    }
    for (size_t i = 0; is_right && i < query->part_count; i++) {
        is_right = read_part(service, client, request, host, &query->parts[i],
                             words + 2 * i * host->filter_words, &parts[i]);
    }
    if (is_right) {
        answer(service, client, request, &order);
    }
    arena_reset(&service->arena);
}

void handler_unwatch(struct service *service, struct requester *client,
                     const struct msg_request *request)
{
    const struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_UNWATCHED};

    if (watch_end(service, client, request->unwatch.watch_id)) {
        client->events->respond(client, &response);
    } else {
        requester_refuse(client, request->id, MSG_NOT_FOUND, "watch_id",
                         "this session has no watch %" PRIu64, request->unwatch.watch_id);
    }
}
