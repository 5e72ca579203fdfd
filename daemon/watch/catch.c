/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Catching up: a watch gets messages that were stored before the watch began. Pages of the store
 * are read in the order of the messages' numbers, and each message is compared with the watch's
 * query. A new deposit that matches meanwhile is not queued. Instead its number becomes
 * `live_after` of the watch, and pages are read up to this number. So a watch that catches up
 * slowly needs no memory for matches of new deposits.
 *
 * The read of a page begins only if no match of the client is queued, little output waits for the
 * client, and the client has enough tokens for the page or no limits. Otherwise the watch is
 * paused. At most WATCH_READS pages are read at a time. Watches are served round robin.
 */
#include <string.h>

#include "core/filter/bloom.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

/* The list that the catch is on, or comes to. */
static struct watch_catch **list_of(const struct watch_catch *catch)
{
    struct watch_state *state = catch->service->watch;

    return catch->is_paused ? &state->paused : &state->catching;
}

static void catch_enlist(struct watch_catch *catch, bool is_paused)
{
    catch->is_paused = is_paused;
    DL_APPEND(*list_of(catch), catch);
}

static void catch_delist(struct watch_catch *catch)
{
    DL_DELETE(*list_of(catch), catch);
}

static void catch_move(struct watch_catch *catch, bool is_paused)
{
    catch_delist(catch);
    catch_enlist(catch, is_paused);
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
        catch_enlist(catch, false);
    }
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
        catch_delist(catch);
        alloc_release(catch->service->alloc, catch);
    }
}

/* Whether the message is still in the index. After the page was read, the message may have been
 * removed, and another message may have got the same id. */
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
    struct standing_deposit deposit = watch_deposit(watch->host, message);

    deposit.filter = filter;
    if (message->deposited_ms >= watch->since_ms && is_there(watch, message) &&
        bloom_load(filter, watch->host->config.profile.bits, message->filter,
                   message->filter_bytes) == 0 &&
        standing_fits(watch->host->standing, watch->query, &deposit, &match.hit)) {
        memcpy(match.id, message->id, MESSAGE_ID_BYTES);
        if (watch->with_payload) {
            service_remember(service, message); /* sending needs it soon */
        }
        /* false: the client is about to be dropped */
        watch_queue(watch, &match, message->payload_bytes + message->media_type_bytes);
    }
}

/* Compares the messages of a page with the watch's query. Returns whether the watch has caught up.
 */
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
        catch->caught = catch->wanted; /* the page had all there was when it was asked for */
    }
    return catch->caught >= watch->live_after;
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
    bool over = catch->watch == NULL;
    bool done = !over && !read->failed && take_page(catch, read);
    service->persist->interface->read_release(service->persist, read);
    if (done) {
        catch->watch->catch = NULL;
    }
    if (over || done) {
        alloc_release(service->alloc, catch);
    } else if (read->failed) {
        /* The watch must not lose the matches of this page. So the client is dropped. After it has
         * connected again, it can go on after its last match. */
        catch_enlist(catch, false); /* watch_client_gone frees it */
        if (!client->is_gone) {     /* another page of the client may have failed before */
            service_storage_failed(service, "reading what was missed", read->reason);
            service->watch->counts.failed++;
            client->events->drop(client, HEARSAY_CODE_STORAGE,
                                 "the message store could not read what was missed");
        }
    } else {
        catch_enlist(catch, false);
    }
    alloc_release(service->alloc, page);
    requester_work_end(client, sizeof(struct watch_page), 0);
}

/*
 * Reads the next page of a watch. If there is no memory for the page, the next turn drops the
 * client. The client can connect again, and go on after the last match that was sent to it.
 */
static void read_page(struct watch_catch *catch)
{
    struct service *service = catch->service;
    struct watch *watch = catch->watch;
    struct watch_page *page = alloc_zeroed(service->alloc, 1, sizeof(*page));

    if (page == NULL) {
        catch_move(catch, true);
        watch->watcher->has_failed = true;
        watcher_make_ready(watch->watcher);
        return;
    }
    catch_delist(catch);
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

/* Takes the tokens for a page from the client's bucket, but leaves some tokens for requests of the
 * client. Returns true if there were enough, or if the client has no limits. */
static bool pay_page(struct service *service, struct watch_catch *catch)
{
    struct sender *sender = catch->watch->watcher->client->sender;

    if (sender == NULL) {
        return true;
    }
    int64_t now_ms = service_monotonic_ms(service);
    if (now_ms < catch->not_before_ms) {
        return false;
    }
    uint64_t wait_ms =
        sender_take_spare(sender, SENDER_QUERY, &service->sender_limits, COST_PAGE, now_ms);
    catch->not_before_ms = now_ms + (int64_t)wait_ms; /* at most the time in which a bucket fills */
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
            catch_move(catch, true);
        }
    }
}

void watch_catch_resume(const struct watcher *watcher)
{
    const struct watch *watch;

    DL_FOREACH (watcher->watches, watch) {
        if (watch->catch != NULL && watch->catch->is_paused) {
            catch_move(watch->catch, false);
        }
    }
}

void watch_catch_tick(struct service *service)
{
    while (service->watch->paused != NULL) {
        catch_move(service->watch->paused, false);
    }
}
