/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: the clients that watch, and the list of those clients that wait for their turn to send.
 */
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

struct watcher *watcher_of(struct service *service, struct requester *client)
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
        DL_APPEND(service->watch->watchers, watcher);
    }
    return watcher;
}

bool watch_is_watching(const struct requester *client)
{
    return client->wait_id != 0 || (client->watcher != NULL && client->watcher->watches != NULL);
}

uint32_t watch_filters_of(const struct requester *client)
{
    return client->watcher != NULL ? client->watcher->filter_count : 0;
}

void watcher_make_ready(struct watcher *watcher)
{
    if (!watcher->is_ready) {
        watcher->is_ready = true;
        DL_APPEND2(watcher->service->watch->ready, watcher, ready_prev, ready_next);
    }
}

void watcher_make_unready(struct watcher *watcher)
{
    if (watcher->is_ready) {
        watcher->is_ready = false;
        DL_DELETE2(watcher->service->watch->ready, watcher, ready_prev, ready_next);
    }
}

void watcher_free_if_unused(struct watcher *watcher)
{
    if (watcher->client == NULL && watcher->payloads == NULL) {
        alloc_release(watcher->service->alloc, watcher);
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

    DL_FOREACH (service->watch->watchers, watcher) {
        if (watches_host(watcher, host)) {
            watcher->has_failed = true;
            watcher_make_ready(watcher);
        }
    }
}

struct standing_deposit watch_deposit(const struct host *host,
                                      const struct persist_message *message)
{
    const uint8_t *parent = message->is_answer ? message->answers : NULL;

    return (struct standing_deposit){
        .scope = host_scope(host, message->epoch, parent),
        .reach_ppm = parent != NULL ? DISTANCE_ONE_PPM : message->reach_ppm,
    };
}
