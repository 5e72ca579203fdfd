/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_catch: what came before a watch. Pages of the store are read in order of deposit and each
 * message is tried for itself, up to the newest of when the watch began; what is newer is matched
 * as it comes, and held until then. A page is read only while its client has room for matches, and
 * a few watches at a time, in turn.
 */
#include <assert.h>
#include <string.h>

#include <utlist.h>

#include "core/bloom.h"
#include "daemon/container.h"
#include "daemon/watch_parts.h"

static void enlist(struct watch_catch *catch)
{
    DL_APPEND(catch->service->watch.catching, catch);
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
    alloc_release(catch->service->alloc, catch, 1, sizeof(*catch));
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
        DL_DELETE(catch->service->watch.catching, catch);
        free_catch(catch);
    }
}

bool watch_is_to_catch(const struct watch *watch, int64_t seq)
{
    return watch->catch != NULL && seq > watch->catch->caught;
}

/* The store's message may have gone since it was read, or have come anew. */
static bool is_there(const struct watch *watch, const struct persist_message *message)
{
    struct index_item item;

    return host_find(watch->host, message->id, NULL, &item, NULL) == 0 &&
           item.deposited_ms == message->deposited_ms;
}

/* It is shown again, and comes under that place. */
static bool comes_again(const struct watch *watch, const struct persist_message *message)
{
    return (watch->holds_again && watch_holds(watch, message)) ||
           watch_is_coming_again(watch->watcher->service, watch->host, message->id);
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
        !comes_again(watch, message) &&
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
static bool take_page(struct watch_catch *catch)
{
    const struct persist_read *read = &catch->read;
    struct watch *watch = catch->watch;

    for (size_t i = 0; i < read->entry_count; i++) {
        const struct persist_message *message = &read->entries[i].message;

        if (message->seq > watch->live_after) {
            return true;
        }
        try_message(watch, message);
    }
    catch->caught = read->page_last;
    return !read->page_more || catch->caught >= watch->live_after;
}

static void finish(struct watch_catch *catch)
{
    struct watch *watch = catch->watch;

    watch->catch = NULL;
    free_catch(catch);
    watch_release_held(watch);
}

static void on_page(struct persist_read *read)
{
    struct watch_catch *catch = CONTAINER_OF(read, struct watch_catch, read);
    struct service *service = catch->service;
    struct handler_client *client = catch->client;

    catch->client = NULL;
    service->watch.reads--;
    service->working--;
    const bool over = catch->watch == NULL;
    const bool done = !over && !read->failed && take_page(catch);
    service->persist->interface->read_release(service->persist, read);
    if (over) {
        free_catch(catch);
    } else if (read->failed) {
        /* Nothing may be missing: it comes again, and goes on where it was. */
        service_storage_failed(service, "reading what was missed", read->reason);
        enlist(catch);
        service->watch.counts.failed++;
        client->events->drop(client, MSG_STORAGE,
                             "the message store could not read what was missed");
    } else if (done) {
        finish(catch);
    } else {
        enlist(catch);
    }
    handler_work_end(client, sizeof(struct watch_catch), 0);
}

static void read_page(struct watch_catch *catch)
{
    struct service *service = catch->service;
    struct watch *watch = catch->watch;

    DL_DELETE(service->watch.catching, catch);
    catch->client = watch->watcher->client;
    memset(&catch->read, 0, sizeof(catch->read));
    memset(catch->entries, 0, sizeof(catch->entries));
    catch->read.kind = PERSIST_READ_PAGE;
    catch->read.entries = catch->entries;
    catch->read.entry_count = WATCH_PAGE;
    catch->read.page_host = watch->host->number;
    catch->read.page_after = catch->caught;
    catch->read.page_bytes_limit = service->config.limits.frame_bytes;
    catch->read.done = on_page;
    service->watch.reads++;
    service->working++;
    handler_work_begin(catch->client, sizeof(*catch), 0);
    service->persist->interface->read(service->persist, &catch->read);
}

void watch_catch_turn(struct service *service)
{
    struct watch_catch *catch;
    struct watch_catch *next;

    DL_FOREACH_SAFE (service->watch.catching, catch, next) {
        const struct watcher *watcher = catch->watch->watcher;

        if (service->watch.reads == WATCH_READS) {
            break;
        }
        if (watcher->queue == NULL && watcher->client->events->has_room(watcher->client)) {
            read_page(catch);
        }
    }
}
