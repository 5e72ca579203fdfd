/* SPDX-License-Identifier: Apache-2.0 */
/* watch: who watches, and the deposits that are to be matched. */
#include "daemon/watch/watch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

enum {
    BATCH = 64,           /* deposits matched at a time */
    TURN_MATCHES = 16384, /* hits of a turn, after which the others have theirs */
    TURN_DEPOSITS = 2048, /* ... deposits */
    TURN_SENT = 4096,     /* ... and pushes */
    TICK_PARTS = 128      /* of watches that are looked at in a tick, some 10 microseconds each */
};

/* A deposit that is to be matched. */
struct watch_pending {
    struct watch_pending *prev, *next;
    struct host *host;
    uint64_t epoch;
    int64_t seq;
    int64_t deposited_ms;
    uint32_t reach_ppm;
    size_t content_bytes; /* of payload and media type */
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t *filter; /* profile words; behind it, for those in the list */
    uint64_t storage[];
};

/* ---- the end ---- */

void watch_free(struct watch *watch)
{
    struct watcher *watcher = watch->watcher;
    struct service *service = watcher->service;

    watch_catch_end(watch);
    watch_forget_matches(watch);
    standing_query_free(watch->host->standing, watch->query);
    DL_DELETE(watcher->watches, watch);
    watcher->filter_count -= watch->filter_count;
    service->watch.filter_count -= watch->filter_count;
    service->watch.counts.watches--;
    alloc_release(service->alloc, watch, 1, sizeof(*watch));
}

static void free_if_unused(struct watcher *watcher)
{
    if (watcher->client == NULL && watcher->users == 0) {
        watcher_make_unready(watcher);
        alloc_release(watcher->service->alloc, watcher, 1, sizeof(*watcher));
    }
}

void watcher_leave(struct watcher *watcher)
{
    watcher->users--;
    free_if_unused(watcher);
}

void watch_client_gone(struct service *service, struct handler_client *client)
{
    struct watcher *watcher = client->watcher;

    if (watcher == NULL) {
        return;
    }
    while (watcher->watches != NULL) {
        watch_free(watcher->watches);
    }
    client->watcher = NULL;
    watcher->client = NULL;
    DL_DELETE(service->watch.watchers, watcher);
    free_if_unused(watcher);
}

bool watch_is_watching(const struct handler_client *client)
{
    return client->watcher != NULL && client->watcher->watches != NULL;
}

bool watch_client_has_room(struct service *service, struct handler_client *client)
{
    if (client->watcher == NULL) {
        return false;
    }
    if (client->watcher->queue != NULL) {
        watcher_make_ready(client->watcher);
    }
    watch_catch_resume(client->watcher);
    service->watch.has_room = true;
    return watch_is_due(service);
}

static void free_pending(struct service *service, struct watch_pending *pending)
{
    const size_t bytes = sizeof(*pending) + pending->host->filter_words * sizeof(uint64_t);

    DL_DELETE(service->watch.pending, pending);
    service->watch.pending_bytes -= bytes;
    service->watch.counts.pending--;
    alloc_release(service->alloc, pending, 1, bytes);
}

void watch_deinit(struct service *service)
{
    assert(service->watch.filter_count == 0);
    while (service->watch.pending != NULL) {
        free_pending(service, service->watch.pending);
    }
}

void watch_host_deinit(struct host *host)
{
    standing_free(host->standing);
    host->standing = NULL;
}

/* ---- the beginning ---- */

static int make_standing(struct service *service, struct host *host)
{
    const struct standing_options options = {
        .alloc = service->alloc,
        .profile = &host->config.profile,
        .estimate = host->estimate,
        .kernels = service->kernels,
    };

    return host->standing != NULL ? 0 : standing_new(&options, &host->standing);
}

static struct watcher *watcher_of(struct service *service, struct handler_client *client)
{
    struct watcher *watcher = client->watcher;

    if (watcher != NULL) {
        return watcher;
    }
    watcher = alloc_zeroed(service->alloc, 1, sizeof(*watcher));
    if (watcher != NULL) {
        watcher->service = service;
        watcher->client = client;
        client->watcher = watcher;
        DL_APPEND(service->watch.watchers, watcher);
    }
    return watcher;
}

/* Refuses what would be over a limit. */
static bool check_limits(struct service *service, struct handler_client *client,
                         const struct msg_request *request, uint32_t filters)
{
    const struct config_limits *limits = &service->config.limits;
    const uint32_t own = client->watcher != NULL ? client->watcher->filter_count : 0;

    if (filters > limits->watches_per_session || own > limits->watches_per_session - filters) {
        handler_refuse(client, request->id, MSG_QUOTA, NULL,
                       "this session watches with %" PRIu32 " filters already; %" PRIu32
                       " are allowed, and this one has %" PRIu32 ". End another watch first",
                       own, limits->watches_per_session, filters);
        return false;
    }
    if (filters > limits->watches || service->watch.filter_count > limits->watches - filters) {
        handler_refuse(client, request->id, MSG_QUOTA, NULL,
                       "as many watches as are taken here stand already; try again later");
        return false;
    }
    return true;
}

/* A watch that stands, of a client that has a watcher. NULL without memory. */
static struct watch *watch_new(struct service *service, struct watcher *watcher, struct host *host,
                               const struct standing_terms *terms)
{
    struct watch *watch = alloc_zeroed(service->alloc, 1, sizeof(*watch));
    struct standing_terms own = *terms;

    if (watch == NULL) {
        return NULL;
    }
    own.owner = watch;
    if (standing_query_new(host->standing, &own, &watch->query) != 0 ||
        standing_insert(host->standing, watch->query) != 0) {
        standing_query_free(host->standing, watch->query);
        alloc_release(service->alloc, watch, 1, sizeof(*watch));
        return NULL;
    }
    watch->watcher = watcher;
    watch->host = host;
    watch->number = ++service->watch.last_number;
    watch->filter_count = terms->part_count;
    watch->live_after = service->watch.newest_seq;
    watcher->filter_count += terms->part_count;
    service->watch.filter_count += terms->part_count;
    service->watch.counts.watches++;
    DL_APPEND(watcher->watches, watch);
    return watch;
}

void watch_begin(struct service *service, struct handler_client *client, struct host *host,
                 const struct msg_request *request, const struct standing_terms *terms)
{
    const struct msg_watch *asked = &request->watch;

    if (!check_limits(service, client, request, terms->part_count)) {
        return;
    }
    struct watcher *watcher = watcher_of(service, client);
    struct watch *watch = NULL;
    if (watcher != NULL && make_standing(service, host) == 0) {
        watch = watch_new(service, watcher, host, terms);
    }
    if (watch == NULL) {
        handler_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    watch->with_payload = asked->query.with_payload;
    watch->since_ms = asked->query.since_ms;
    /* a position from after the newest: of a store that was set back since; there is nothing */
    if (asked->after_seq < (uint64_t)watch->live_after) {
        watch_catch_begin(watch, (int64_t)asked->after_seq);
        if (watch->catch == NULL) {
            watch_free(watch);
            handler_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
            return;
        }
    }
    const struct msg_response response = {
        .id = request->id,
        .kind = MSG_RESPONSE_WATCHING,
        .watching = {.watch_id = watch->number, .seq = (uint64_t)watch->live_after},
    };
    client->events->respond(client, &response);
}

bool watch_end(struct service *service, struct handler_client *client, uint64_t number)
{
    struct watch *watch = NULL;
    (void)service;

    if (client->watcher != NULL) {
        DL_FOREACH (client->watcher->watches, watch) {
            if (watch->number == number) {
                break;
            }
        }
    }
    if (watch != NULL) {
        watch_free(watch);
    }
    return watch != NULL;
}

/* ---- deposits ---- */

/* Queues what one message fits. How many there were. */
static size_t queue_hits(struct watch_pending *const *batch, const struct standing_hit *hits,
                         size_t count)
{
    size_t taken = 0;

    for (size_t h = 0; h < count; h++) {
        const struct watch_pending *pending = batch[hits[h].deposit];
        struct watch *watch = standing_owner(hits[h].query);
        struct watch_match match = {
            .hit = hits[h],
            .seq = pending->seq,
            .deposited_ms = pending->deposited_ms,
            .epoch = pending->epoch,
        };

        if (pending->seq <= watch->live_after || pending->deposited_ms < watch->since_ms) {
            continue;
        }
        if (watch->catch != NULL) {
            watch->live_after = pending->seq; /* it comes from the store, too, in its order */
        } else {
            memcpy(match.id, pending->id, MESSAGE_ID_BYTES);
            match.watch = watch;
            (void)watch_queue(watch, &match, pending->content_bytes); /* if not, it was dropped */
            taken++;
        }
    }
    return taken;
}

/* Matches deposits of one host: the first of them. How many hits there were. */
static size_t match_some(struct watch_pending *const *batch, uint32_t *count)
{
    struct standing_deposit deposits[BATCH];
    const struct standing_hit *hits = NULL;
    size_t hit_count = 0;

    for (uint32_t i = 0; i < *count; i++) {
        deposits[i] = (struct standing_deposit){
            .filter = batch[i]->filter,
            .scope = batch[i]->epoch,
            .reach_ppm = batch[i]->reach_ppm,
        };
    }
    *count = standing_match(batch[0]->host->standing, deposits, *count, &hits, &hit_count);
    return queue_hits(batch, hits, hit_count);
}

/*
 * Matches the first deposits that wait. How many hits there were. Clients are not dropped before
 * all of a batch is queued (watch_queue): that would take their watches out of the index meanwhile.
 */
static size_t match_batch(struct service *service, uint32_t *out_deposits)
{
    struct watch_pending *first = service->watch.pending;
    struct watch_pending *batch[BATCH];
    struct watch_pending *pending;
    uint32_t count = 0;

    DL_FOREACH (service->watch.pending, pending) {
        if (pending->host != first->host || count == BATCH) {
            break;
        }
        batch[count++] = pending;
    }
    const size_t taken = match_some(batch, &count);
    for (uint32_t i = 0; i < count; i++) {
        free_pending(service, batch[i]);
    }
    *out_deposits += count;
    return taken;
}

/* Drops the clients that too much was queued for. */
static void end_overflows(struct service *service)
{
    struct watcher *watcher = service->watch.ready;

    while (watcher != NULL) {
        struct watcher *next = watcher->ready_next;
        struct handler_client *client = watcher->client;

        if (client == NULL) {
            watcher_make_unready(watcher);
        } else if (watcher->has_failed) {
            service->watch.counts.failed++;
            client->events->drop(client, MSG_INTERNAL, "the server is out of memory");
            next = service->watch.ready; /* another may have gone with it */
        } else if (!client->events->queued(client, watcher->queued_bytes)) {
            next = service->watch.ready;
        }
        watcher = next;
    }
}

static bool is_watched(const struct host *host)
{
    return host->standing != NULL && standing_count(host->standing) > 0;
}

static void load_filter(const struct watch_pending *pending, const struct persist_message *message)
{
    /* it was taken into the index with this filter */
    (void)bloom_load(pending->filter, pending->host->config.profile.bits, message->filter,
                     message->filter_bytes);
}

/* Without memory for it to wait: behind those that do. */
static void match_at_once(struct service *service, struct watch_pending *pending,
                          const struct persist_message *message)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t count = 0;

    while (service->watch.pending != NULL && is_watched(service->watch.pending->host)) {
        (void)match_batch(service, &count);
    }
    pending->filter = filter;
    load_filter(pending, message);
    count = 1;
    (void)match_some(&pending, &count);
}

/* A message waits to be matched, under the number seq. */
static void append(struct service *service, struct host *host,
                   const struct persist_message *message, int64_t seq)
{
    const size_t bytes = sizeof(struct watch_pending) + host->filter_words * sizeof(uint64_t);

    struct watch_pending own = {
        .host = host,
        .epoch = message->epoch,
        .seq = seq,
        .deposited_ms = message->deposited_ms,
        .reach_ppm = message->reach_ppm,
        .content_bytes = message->payload_bytes + message->media_type_bytes,
    };
    memcpy(own.id, message->id, MESSAGE_ID_BYTES);
    struct watch_pending *pending = alloc_array(service->alloc, 1, bytes);
    if (pending == NULL) {
        match_at_once(service, &own, message);
        return;
    }
    *pending = own;
    pending->filter = pending->storage;
    load_filter(pending, message);
    DL_APPEND(service->watch.pending, pending);
    service->watch.pending_bytes += bytes;
    service->watch.counts.pending++;
}

void watch_numbered(struct service *service, struct host *host,
                    const struct persist_message *message, int64_t seq)
{
    assert(seq > service->watch.newest_seq);
    service->watch.newest_seq = seq;
    if (message != NULL && is_watched(host)) {
        append(service, host, message, seq);
    }
}

static bool watches_host(const struct watcher *watcher, const struct host *host)
{
    const struct watch *watch;

    DL_FOREACH (watcher->watches, watch) {
        if (watch->host == host) {
            return true;
        }
    }
    return false;
}

void watch_missed(struct service *service, const struct host *host)
{
    struct watcher *watcher;

    DL_FOREACH (service->watch.watchers, watcher) {
        if (watches_host(watcher, host)) {
            watcher->has_failed = true;
            watcher_make_ready(watcher);
        }
    }
}

size_t watch_waiting_bytes(const struct service *service)
{
    return service->watch.pending_bytes;
}

/* ---- turns ---- */

static void send_all(struct service *service)
{
    uint32_t left = TURN_SENT;
    struct watcher *watcher;
    size_t waiting = 0;

    DL_COUNT2(service->watch.ready, watcher, waiting, ready_next);
    for (; waiting > 0 && left > 0 && service->watch.ready != NULL; waiting--) {
        const uint32_t share = left / (uint32_t)waiting > 0 ? left / (uint32_t)waiting : 1;

        watcher = service->watch.ready;
        watcher_make_unready(watcher);
        const uint32_t sent = watch_send(watcher, share);
        left -= sent < left ? sent : left;
    }
}

bool watch_is_due(const struct service *service)
{
    const struct watch_state *state = &service->watch;

    return state->pending != NULL || state->ready != NULL ||
           (state->has_room && state->catching != NULL && state->reads < WATCH_READS);
}

void watch_tick(struct service *service)
{
    watch_catch_tick(service);
    for (size_t i = 0; i < service->host_count; i++) {
        if (service->hosts[i].standing != NULL) {
            (void)standing_arrange(service->hosts[i].standing, TICK_PARTS);
        }
    }
}

void watch_turn(struct service *service)
{
    uint32_t deposits = 0;
    size_t hits = 0;

    service->watch.has_room = false;

    while (service->watch.pending != NULL && deposits < TURN_DEPOSITS && hits < TURN_MATCHES) {
        if (is_watched(service->watch.pending->host)) {
            hits += match_batch(service, &deposits);
        } else {
            free_pending(service, service->watch.pending);
        }
    }
    end_overflows(service);
    send_all(service);
    watch_catch_turn(service);
}
