/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_hide: messages that reports hide after they were shown, and that the operator shows again.
 * A watch that has had one before is not pushed it again. So when one is hidden, what is on its way
 * is stopped, and the watches that it had reached remember its id, until it is shown or over.
 *
 * That is as long as a session lasts. Over a reconnect only the client's place is known: who says
 * that it is beyond the message's own place has had it, or has passed it while it was hidden.
 */
#include <string.h>

#include "core/bloom.h"
#include "core/err.h"
#include "daemon/watch_parts.h"

enum { HAD_ROOM_MIN = 8 };

void watch_had_deinit(struct watch *watch)
{
    alloc_release(watch->watcher->service->alloc, watch->had.messages, watch->had.room,
                  sizeof(*watch->had.messages));
    watch->had = (struct watch_had){.count = 0};
}

/* Messages of which nothing is known any more have gone. */
static void drop_gone(struct watch *watch)
{
    struct watch_had *had = &watch->had;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < had->count; i++) {
        if (moderation_find(&watch->host->moderation, had->messages[i].id) != NULL) {
            had->messages[kept++] = had->messages[i];
        }
    }
    had->count = kept;
}

static int make_room(struct watch *watch)
{
    const struct alloc *alloc = watch->watcher->service->alloc;
    struct watch_had *had = &watch->had;
    const size_t bytes = sizeof(*had->messages);

    if (had->count == had->room) {
        drop_gone(watch);
    }
    if (had->count < had->room) {
        return 0;
    }
    const uint32_t room = had->room == 0 ? HAD_ROOM_MIN : had->room * 2;
    void *messages = alloc_array(alloc, room, bytes);
    if (messages == NULL) {
        return -ERR_NOMEM;
    }
    if (had->count > 0) {
        memcpy(messages, had->messages, had->count * bytes);
    }
    alloc_release(alloc, had->messages, had->room, bytes);
    had->messages = messages;
    had->room = room;
    return 0;
}

/* The watch has had this message. Without memory for it, it ends: nothing may come twice. */
static void remember(struct watch *watch, const struct index_item *item)
{
    struct watch_had *had = &watch->had;

    if (make_room(watch) != 0) {
        watch->watcher->has_failed = true;
        watcher_make_ready(watch->watcher);
        return;
    }
    memcpy(had->messages[had->count].id, item->id, MESSAGE_ID_BYTES);
    had->messages[had->count++].deposited_ms = item->deposited_ms;
}

bool watch_wants_again(struct watch *watch, const uint8_t *id, int64_t deposited_ms, int64_t seq)
{
    struct watch_had *had = &watch->had;

    for (uint32_t i = 0; i < had->count; i++) {
        if (memcmp(had->messages[i].id, id, MESSAGE_ID_BYTES) == 0 &&
            had->messages[i].deposited_ms == deposited_ms) {
            had->messages[i] = had->messages[--had->count];
            return false; /* it cannot be hidden again */
        }
    }
    return !watch->resumes || seq > watch->after;
}

/* Whether the watch was pushed what has this place. */
static bool has_passed(const struct watch *watch, int64_t seq)
{
    return seq > watch->live_after || (seq > watch->after && !watch_is_to_catch(watch, seq));
}

void watch_hidden(struct service *service, struct host *host, const uint8_t *id, int64_t seq)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    const struct standing_hit *hits = NULL;
    struct epoch *epoch = NULL;
    struct index_item item;
    size_t hit_count = 0;

    if (!watch_is_watched(host) || host_find(host, id, &epoch, &item, filter) != 0 ||
        watch_forget_pending(service, host, id)) {
        return;
    }
    const struct standing_deposit deposit = {
        .filter = filter,
        .scope = epoch->number,
        .reach_ppm = item.reach_ppm,
    };
    (void)standing_match(host->standing, &deposit, 1, &hits, &hit_count);
    for (size_t h = 0; h < hit_count; h++) {
        struct watch *watch = standing_owner(hits[h].query);

        if (!watch_forget_match(watch, id) && item.deposited_ms >= watch->since_ms &&
            has_passed(watch, seq)) {
            remember(watch, &item);
        }
    }
}
