/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_catch: what came before a watch. Pages of the store are read in order of deposit and each
 * message is tried for itself, up to the newest of when the watch began. What matches meanwhile is
 * not queued: the pages go on up to there, so that a watch which catches up slowly holds nothing.
 *
 * A page is read only while its client has room for matches and tokens for the page, and a few
 * watches at a time, in turn. Where tokens are short, catching up pauses until there are some.
 */
#include <assert.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

enum { SPARE_SHARE = 4 /* one part in so many of query_burst is not spent on pages */ };

static void enlist(struct watch_catch *catch)
{
    catch->is_paused = false;
    DL_APPEND(catch->service->watch->catching, catch);
}

static void delist(struct watch_catch *catch)
{
    struct watch_state *state = catch->service->watch;

    if (catch->is_paused) {
        DL_DELETE(state->paused, catch);
    } else {
        DL_DELETE(state->catching, catch);
    }
}

static void put_aside(struct watch_catch *catch)
{
    delist(catch);
    catch->is_paused = true;
    DL_APPEND(catch->service->watch->paused, catch);
}

static void take_up(struct watch_catch *catch)
{
    delist(catch);
    enlist(catch);
}

void watch_catch_begin(struct watch *watch, int64_t after)
{
    struct service *service = watch->watcher->service;
    struct watch_catch *catch = alloc_zeroed(service->alloc, 1, sizeof(*catch));

    if (catch != NULL) {
        catch->service = service;
        catch->watch = watch;
        catch->caught = after;
        watch->catch = catch;
        enlist(catch);
    }
}

static void free_catch(struct watch_catch *catch)
{
    alloc_release(catch->service->alloc, catch);
}

void watch_catch_end(struct watch *watch)
{
    struct watch_catch *catch = watch->catch;

    if (catch == NULL) {
        return;
    }
    watch->catch = NULL;
    catch->watch = NULL;
    if (catch->client == NULL) { /* no page is under way */
        delist(catch);
        free_catch(catch);
    }
}

/* The store's message may have gone since it was read, or have come anew. */
static bool is_there(const struct watch *watch, const struct persist_message *message)
{
    struct index_item item;

    return host_find(watch->host, message->id, NULL, &item, NULL) == 0 &&
           item.deposited_ms == message->deposited_ms;
}

static void try_message(struct watch *watch, const struct persist_message *message)
{
    struct service *service = watch->watcher->service;
    uint64_t filter[PROFILE_WORDS_MAX];
    struct watch_match match = {
        .watch = watch,
        .seq = message->seq,
        .deposited_ms = message->deposited_ms,
        .epoch = message->epoch,
    };
    const struct standing_deposit deposit = {
        .filter = filter,
        .scope = message->epoch,
        .reach_ppm = message->reach_ppm,
    };

    if (message->deposited_ms >= watch->since_ms && is_there(watch, message) &&
        bloom_load(filter, watch->host->config.profile.bits, message->filter,
                   message->filter_bytes) == 0 &&
        standing_fits(watch->host->standing, watch->query, &deposit, &match.hit)) {
        memcpy(match.id, message->id, MESSAGE_ID_BYTES);
        if (watch->with_payload) {
            service_remember(service, message); /* it is about to be sent */
        }
        /* if it is not queued, the client is about to be dropped */
        (void)watch_queue(watch, &match, message->payload_bytes + message->media_type_bytes);
    }
}

/* Takes a page. Whether there is no more to read. */
static bool take_page(struct watch_catch *catch, const struct persist_read *read)
{
    struct watch *watch = catch->watch;

    for (size_t i = 0; i < read->entry_count; i++) {
        const struct persist_message *message = &read->entries[i].message;

        if (message->seq > watch->live_after) {
            return true;
        }
        try_message(watch, message);
    }
    catch->caught = read->page_last;
    if (!read->page_more && catch->caught < catch->wanted) {
        catch->caught = catch->wanted; /* of what there was when the page was asked for */
    }
    return catch->caught >= watch->live_after;
}

static void finish(struct watch_catch *catch)
{
    catch->watch->catch = NULL;
    free_catch(catch);
}

static void on_page(struct persist_read *read)
{
    struct watch_page *page = CONTAINER_OF(read, struct watch_page, read);
    struct watch_catch *catch = page->catch;
    struct service *service = catch->service;
    struct requester *client = catch->client;

    catch->client = NULL;
    service->watch->reads--;
    service_work_end(service);
    const bool over = catch->watch == NULL;
    const bool done = !over && !read->failed && take_page(catch, read);
    service->persist->interface->read_release(service->persist, read);
    if (over) {
        free_catch(catch);
    } else if (read->failed) {
        /* Nothing may be missing: it comes again, and goes on where it was. */
        service_storage_failed(service, "reading what was missed", read->reason);
        enlist(catch);
        service->watch->counts.failed++;
        client->events->drop(client, MSG_STORAGE,
                             "the message store could not read what was missed");
    } else if (done) {
        finish(catch);
    } else {
        enlist(catch);
    }
    alloc_release(service->alloc, page);
    requester_work_end(client, sizeof(struct watch_page), 0);
}

/*
 * Reads the next page. Without memory for the page, the next turn drops the client: the client
 * comes again, and goes on after the last match that it was sent.
 */
static void read_page(struct watch_catch *catch)
{
    struct service *service = catch->service;
    struct watch *watch = catch->watch;
    struct watch_page *page = alloc_zeroed(service->alloc, 1, sizeof(*page));

    if (page == NULL) {
        put_aside(catch);
        watch->watcher->has_failed = true;
        watcher_make_ready(watch->watcher);
        return;
    }
    delist(catch);
    catch->client = watch->watcher->client;
    page->catch = catch;
    catch->wanted = watch->live_after;
    page->read.kind = PERSIST_READ_PAGE;
    page->read.entries = page->entries;
    page->read.entry_count = WATCH_PAGE;
    page->read.page_host = watch->host->number;
    page->read.page_after = catch->caught;
    page->read.page_bytes_limit = service->config.limits.frame_bytes;
    page->read.done = on_page;
    service->watch->reads++;
    service_work_begin(service);
    requester_work_begin(catch->client, sizeof(*page), 0);
    service->persist->interface->read(service->persist, &page->read);
}

/* Takes the tokens for a page, but leaves some for what the client asks. */
static bool pay_page(struct service *service, struct watch_catch *catch)
{
    static const struct cost page = {.pages = 1};
    struct sender *sender = catch->watch->watcher->client->sender;
    const struct sender_limits *limits = &service->sender_limits;

    if (sender == NULL) {
        return true;
    }
    const int64_t now_ms = service_monotonic_ms(service);
    if (now_ms < catch->not_before_ms) {
        return false;
    }
    const uint64_t wait_ms =
        sender_take_spare(sender, SENDER_QUERY, limits, cost_tokens(&page),
                          limits->rates[SENDER_QUERY].burst / SPARE_SHARE, now_ms);
    catch->not_before_ms = now_ms + (int64_t)wait_ms; /* at most the time to fill a bucket */
    return wait_ms == 0;
}

void watch_catch_turn(struct service *service)
{
    struct watch_catch *catch;
    struct watch_catch *next;

    DL_FOREACH_SAFE (service->watch->catching, catch, next) {
        const struct watcher *watcher = catch->watch->watcher;

        if (service->watch->reads == WATCH_READS) {
            break;
        }
        if (watcher->queue == NULL && watcher->client->events->has_room(watcher->client) &&
            pay_page(service, catch)) {
            read_page(catch);
        } else {
            put_aside(catch);
        }
    }
}

void watch_catch_resume(const struct watcher *watcher)
{
    const struct watch *watch;

    DL_FOREACH (watcher->watches, watch) {
        if (watch->catch != NULL && watch->catch->is_paused) {
            take_up(watch->catch);
        }
    }
}

void watch_catch_tick(struct service *service)
{
    while (service->watch->paused != NULL) {
        take_up(service->watch->paused);
    }
}
