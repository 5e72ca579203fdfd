/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends watches. Runs the turns, in which deposits are matched, matches are sent and
 * pages are read. */

#include <assert.h>

#include "core/base/err.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

enum {
    /* A turn takes at most this number of matches off the queues, so that the loop can do other
     * work. */
    TURN_SENT = 4096,
    /* Maximum number of parts of standing queries that a tick regroups in each host. */
    TICK_PARTS = 128
};

/* --- state ------------------------------------------------------------------------------------ */

int watch_init(struct service *service)
{
    struct watch_state *state = alloc_zeroed(service->alloc, 1, sizeof(*state));

    if (state == NULL) {
        return -ERR_NOMEM;
    }
    state->newest_seq = service->store.seq;
    service->watch = state;
    return 0;
}

void watch_deinit(struct service *service)
{
    struct watch_state *state = service->watch;

    if (state == NULL) {
        return;
    }
    assert(state->filter_count == 0);
    watch_forget_pending(service);
    alloc_release(service->alloc, state);
    service->watch = NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void watch_free(struct watch *watch)
{
    struct watcher *watcher = watch->watcher;
    struct service *service = watcher->service;

    watch_catch_end(watch);
    watch_forget_matches(watch);
    standing_query_free(watch->host->standing, watch->query);
    DL_DELETE(watcher->watches, watch);
    watcher->filter_count -= watch->filter_count;
    service->watch->filter_count -= watch->filter_count;
    service->watch->counts.watches--;
    alloc_release(service->alloc, watch);
}

void watch_client_gone(struct service *service, struct requester *client)
{
    struct watcher *watcher = client->watcher;

    wait_end(service, client);
    if (watcher == NULL) {
        return;
    }
    while (watcher->watches != NULL) {
        watch_free(watcher->watches);
    }
    client->watcher = NULL;
    watcher->client = NULL;
    watcher_make_unready(watcher);
    DL_DELETE(service->watch->watchers, watcher);
    watcher_free_if_unused(watcher);
}

bool watch_client_has_room(struct service *service, struct requester *client)
{
    if (client->watcher == NULL) {
        return false;
    }
    if (client->watcher->queue != NULL) {
        watcher_make_ready(client->watcher);
    }
    watch_catch_resume(client->watcher);
    service->watch->has_room = true;
    return watch_is_due(service);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int make_standing(struct service *service, struct host *host)
{
    struct standing_options options = {
        .alloc = service->alloc,
        .profile = &host->config.profile,
        .kernels = service->kernels,
    };

    return host->standing != NULL ? 0 : standing_new(&options, &host->standing);
}

/* Makes a watch, and adds its query to the host's index of standing queries. NULL: out of memory.
 */
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
        alloc_release(service->alloc, watch);
        return NULL;
    }
    watch->watcher = watcher;
    watch->host = host;
    watch->number = ++service->watch->last_number;
    watch->filter_count = terms->part_count;
    watch->live_after = service->watch->newest_seq;
    watcher->filter_count += terms->part_count;
    service->watch->filter_count += terms->part_count;
    service->watch->counts.watches++;
    DL_APPEND(watcher->watches, watch);
    return watch;
}

/* Checks whether a watch with `filters` filters would exceed a limit. Returns 0;
 * WATCH_SESSION_FULL: the limit of the client; WATCH_SERVER_FULL: the limit of all clients
 * together. */
static int check_limits(const struct service *service, const struct requester *client,
                        uint32_t filters)
{
    const struct hearsay_limits *limits = &service->config.limits;
    uint32_t own = watch_filters_of(client);

    if (filters > limits->watches_per_session || own > limits->watches_per_session - filters) {
        return WATCH_SESSION_FULL;
    }
    if (filters > limits->watches || service->watch->filter_count > limits->watches - filters) {
        return WATCH_SERVER_FULL;
    }
    return 0;
}

int watch_begin(struct service *service, struct requester *client, const struct watch_order *order,
                struct watch_begun *out_begun)
{
    int rc = check_limits(service, client, order->terms.part_count);

    if (rc != 0) {
        return rc;
    }
    struct watcher *watcher = watcher_of(service, client);
    struct watch *watch = NULL;
    if (watcher != NULL && make_standing(service, order->host) == 0) {
        watch = watch_new(service, watcher, order->host, &order->terms);
    }
    if (watch == NULL) {
        return -ERR_NOMEM;
    }
    watch->with_payload = order->with_payload;
    watch->since_ms = order->since_ms;
    /* `after_seq` may be above the number of the newest message, for example after a backup has
     * replaced the store. Then there is no page to read. */
    if (order->after_seq < (uint64_t)watch->live_after) {
        watch_catch_begin(watch, (int64_t)order->after_seq);
        if (watch->catch == NULL) {
            watch_free(watch);
            return -ERR_NOMEM;
        }
    }
    *out_begun = (struct watch_begun){.number = watch->number, .seq = (uint64_t)watch->live_after};
    return 0;
}

bool watch_end(struct service *service, struct requester *client, uint64_t number)
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

/* --- turns ------------------------------------------------------------------------------------ */

/* Drops the clients for which too much is queued or memory has failed. */
static void end_overflows(struct service *service)
{
    struct watcher *watcher;
    struct watcher *next;

    for (watcher = service->watch->ready; watcher != NULL; watcher = next) {
        struct requester *client = watcher->client;

        next = watcher->ready_next;
        if (client->is_gone) {
            watcher_make_unready(watcher);
        } else if (watcher->has_failed) {
            service->watch->counts.failed++;
            client->events->drop(client, HEARSAY_CODE_INTERNAL, "the server is out of memory");
        } else {
            (void)client->events->queued(client, watcher->queued_bytes);
        }
    }
}

static void send_all(struct service *service)
{
    uint32_t left = TURN_SENT;
    struct watcher *watcher;
    size_t waiting = 0;

    DL_COUNT2(service->watch->ready, watcher, waiting, ready_next);
    for (; waiting > 0 && left > 0 && service->watch->ready != NULL; waiting--) {
        uint32_t share = left / (uint32_t)waiting > 0 ? left / (uint32_t)waiting : 1;

        watcher = service->watch->ready;
        watcher_make_unready(watcher);
        uint32_t sent = watch_send(watcher, share);
        if (watcher->queue == NULL) {
            watch_catch_resume(watcher); /* also if all queued matches were dropped because their
                                            messages were gone */
        }
        left -= sent < left ? sent : left;
    }
}

bool watch_is_due(const struct service *service)
{
    const struct watch_state *state = service->watch;

    return state->pending != NULL || state->ready != NULL ||
           (state->has_room && state->catching != NULL && state->reads < WATCH_READS);
}

bool watch_tick(struct service *service)
{
    bool has_more = false;

    watch_catch_tick(service);
    for (size_t i = 0; i < service->host_count; i++) {
        if (service->hosts[i].standing != NULL) {
            has_more |= standing_arrange(service->hosts[i].standing, TICK_PARTS);
        }
    }
    return has_more;
}

void watch_turn(struct service *service)
{
    service->watch->has_room = false;
    watch_match_pending(service);
    end_overflows(service);
    send_all(service);
    watch_catch_turn(service);
}
