/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch/feed.h"

#include "daemon/system/list.h"

void feed_changed(struct service *service, struct host *host)
{
    host->feed.turn++;
    service->feed.has_news = true;
}

bool feed_await_change(struct service *service, struct feed_wait *wait)
{
    if (service->stopping || service->feed.readers == FEED_READERS) {
        return false;
    }
    service->feed.readers++;
    service->feed.has_news = true; /* feed_turn looks at the number */
    DL_APPEND(wait->host->feed.readers, wait);
    return true;
}

bool feed_await_copies(struct service *service, struct feed_wait *wait)
{
    if (service->stopping || service->feed.copies == FEED_COPIES) {
        return false;
    }
    service->feed.copies++;
    DL_APPEND(wait->host->feed.copies, wait);
    return true;
}

static void end_reader(struct service *service, struct feed_wait *wait, bool is_there)
{
    service->feed.readers--;
    DL_DELETE(wait->host->feed.readers, wait);
    wait->done(wait, is_there);
}

static void end_copy(struct service *service, struct feed_wait *wait, bool is_there)
{
    service->feed.copies--;
    DL_DELETE(wait->host->feed.copies, wait);
    wait->done(wait, is_there);
}

void feed_replicated(struct service *service, struct host *host, uint64_t after, uint64_t number)
{
    if (after < host->feed.replicated && number < host->feed.replicated) {
        host->feed.replicated = 0;
    }
    if (number >= host->feed.whole && host->feed.whole > host->feed.replicated) {
        host->feed.replicated = host->feed.whole;
    }
    if (after < host->feed.whole) {
        host->feed.whole = 0; /* the bridge may not have got the answer */
    }
    while (host->feed.copies != NULL && host->feed.copies->number <= host->feed.replicated) {
        end_copy(service, host->feed.copies, true);
    }
}

static void turn_host(struct service *service, struct host *host, int64_t now_ms)
{
    struct feed_wait *wait;
    struct feed_wait *next;

    /* `done` begins no wait for a change before it has read the store, so the list only shrinks. */
    DL_FOREACH_SAFE (host->feed.readers, wait, next) {
        bool is_there = wait->number != host->feed.turn;
        if (is_there || service->stopping || wait->client->is_gone || wait->until_ms <= now_ms) {
            end_reader(service, wait, is_there);
        }
    }
    while (host->feed.copies != NULL &&
           (service->stopping || host->feed.copies->until_ms <= now_ms)) {
        end_copy(service, host->feed.copies, false);
    }
}

void feed_turn(struct service *service)
{
    if (service->feed.readers == 0 && service->feed.copies == 0) {
        return;
    }
    int64_t now_ms = service_monotonic_ms(service);
    service->feed.has_news = false;
    for (size_t i = 0; i < service->host_count; i++) {
        turn_host(service, &service->hosts[i], now_ms);
    }
}

int64_t feed_next_ms(const struct service *service)
{
    bool waits = service->feed.readers > 0 || service->feed.copies > 0;
    int64_t next_ms = waits && (service->feed.has_news || service->stopping) ? 0 : INT64_MAX;

    for (size_t i = 0; waits && i < service->host_count; i++) {
        const struct host *host = &service->hosts[i];
        const struct feed_wait *wait;

        DL_FOREACH (host->feed.readers, wait) {
            next_ms = wait->until_ms < next_ms ? wait->until_ms : next_ms;
        }
        if (host->feed.copies != NULL && host->feed.copies->until_ms < next_ms) {
            next_ms = host->feed.copies->until_ms;
        }
    }
    return next_ms;
}
