/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/moderation.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"

enum { ROOM_MIN = 16 };

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return ((const struct moderation *)context)->entries[position].id;
}

void moderation_init(struct moderation *moderation, const struct alloc *alloc, uint64_t seed)
{
    *moderation = (struct moderation){.alloc = alloc};
    idmap_init(&moderation->ids, alloc, seed);
}

void moderation_deinit(struct moderation *moderation)
{
    if (moderation->alloc == NULL) {
        return;
    }
    alloc_release(moderation->alloc, moderation->entries);
    idmap_deinit(&moderation->ids);
    memset(moderation, 0, sizeof(*moderation));
}

struct moderated *moderation_find(const struct moderation *moderation, const uint8_t *id)
{
    uint32_t position = 0;

    if (moderation->count == 0 || !idmap_find(&moderation->ids, id, id_at, moderation, &position)) {
        return NULL;
    }
    return &moderation->entries[position];
}

void moderation_set_texts(struct moderation *moderation, struct moderated *entry, uint32_t bytes)
{
    moderation->texts_bytes -= entry->texts_bytes;
    moderation->texts_bytes += bytes;
    entry->texts_bytes = bytes;
}

static bool needs_decision(const struct moderated *moderated)
{
    return moderated->state == PERSIST_HIDDEN || moderated->state == PERSIST_PENDING ||
           (moderated->state == PERSIST_SHOWN && moderated->reports > 0);
}

bool moderation_is_open(const struct moderated *moderated, int64_t now_ms)
{
    return needs_decision(moderated) && !message_expired(moderated->expires_ms, now_ms);
}

uint32_t moderation_senders(const struct moderated *moderated)
{
    /* Reports that wait for the store are among those that do not count, but not in `reports`. */
    return moderated->reports > moderated->uncounted ? moderated->reports - moderated->uncounted
                                                     : 0;
}

bool moderation_hides(const struct moderation *moderation, const uint8_t *id)
{
    const struct moderated *found = moderation_find(moderation, id);

    return found != NULL && found->state >= PERSIST_HIDDEN;
}

/* Room for one more. */
static int moderation_grow(struct moderation *moderation)
{
    if (moderation->count < moderation->room) {
        return 0;
    }
    if (moderation->room > UINT32_MAX / 4) {
        return -ERR_NOMEM;
    }
    uint32_t room = moderation->room == 0 ? ROOM_MIN : moderation->room * 2;
    struct moderated *entries =
        alloc_resize(moderation->alloc, moderation->entries, room, sizeof(*entries));
    if (entries == NULL) {
        return -ERR_NOMEM;
    }
    moderation->entries = entries;
    moderation->room = room;
    return 0;
}

int moderation_put(struct moderation *moderation, const struct moderated *moderated)
{
    struct moderated *there = moderation_find(moderation, moderated->id);

    if (there != NULL) {
        moderation_set_texts(moderation, there, moderated->texts_bytes);
        *there = *moderated;
        return 0;
    }
    int rc = moderation_grow(moderation);
    if (rc == 0) {
        rc = idmap_reserve(&moderation->ids);
    }
    if (rc != 0) {
        return rc;
    }
    moderation->entries[moderation->count] = *moderated;
    idmap_insert(&moderation->ids, moderated->id, moderation->count);
    moderation->count++;
    moderation->texts_bytes += moderated->texts_bytes;
    return 0;
}

struct moderated *moderation_take(struct moderation *moderation, const struct index_item *item)
{
    struct moderated fresh = {
        .state = PERSIST_SHOWN,
        .bytes = item->bytes,
        .sender = item->sender,
        .deposited_ms = item->deposited_ms,
        .expires_ms = item->expires_ms,
    };

    memcpy(fresh.id, item->id, MESSAGE_ID_BYTES);
    if (moderation_find(moderation, item->id) == NULL && moderation_put(moderation, &fresh) != 0) {
        return NULL;
    }
    return moderation_find(moderation, item->id);
}

bool moderation_remove(struct moderation *moderation, const uint8_t *id, struct moderated *out)
{
    const struct moderated *there = moderation_find(moderation, id);

    if (there == NULL) {
        return false;
    }
    uint32_t position = (uint32_t)(there - moderation->entries);
    uint32_t last = moderation->count - 1;
    moderation->texts_bytes -= there->texts_bytes;
    if (out != NULL) {
        *out = *there;
    }
    idmap_remove(&moderation->ids, id, position);
    if (position != last) { /* the last one takes its place */
        idmap_move(&moderation->ids, moderation->entries[last].id, last, position);
        moderation->entries[position] = moderation->entries[last];
    }
    moderation->count = last;
    return true;
}

void moderation_count(const struct moderation *moderation, struct moderation_counts *out_counts)
{
    *out_counts = (struct moderation_counts){0};
    for (uint32_t i = 0; i < moderation->count; i++) {
        const struct moderated *one = &moderation->entries[i];

        out_counts->hidden += one->state >= PERSIST_HIDDEN;
        out_counts->pending += one->state == PERSIST_PENDING;
        out_counts->reported += one->state != PERSIST_PENDING && needs_decision(one);
    }
}

/* --- removed ---------------------------------------------------------------------------------- */

void removed_deinit(struct removed *removed, const struct alloc *alloc)
{
    if (removed->list != NULL) {
        alloc_release(alloc, removed->list);
    }
    *removed = (struct removed){.list = NULL};
}

static struct removed_id *removed_find(const struct removed *removed, const uint8_t *id)
{
    for (uint32_t i = 0; i < removed->count; i++) {
        if (memcmp(removed->list[i].id, id, MESSAGE_ID_BYTES) == 0) {
            return &removed->list[i];
        }
    }
    return NULL;
}

/* The place for one more: a free one, or that of the id that expires first. */
static struct removed_id *removed_room(struct removed *removed)
{
    struct removed_id *soonest = removed->list;

    if (removed->count < REMOVED_KEPT) {
        return &removed->list[removed->count++];
    }
    for (uint32_t i = 1; i < removed->count; i++) {
        if (removed->list[i].expires_ms < soonest->expires_ms) {
            soonest = &removed->list[i];
        }
    }
    return soonest;
}

int removed_put(struct removed *removed, const struct alloc *alloc, const uint8_t *id,
                int64_t expires_ms)
{
    if (removed->list == NULL) {
        removed->list = alloc_zeroed(alloc, REMOVED_KEPT, sizeof(*removed->list));
        if (removed->list == NULL) {
            return -ERR_NOMEM;
        }
    }
    struct removed_id *place = removed_find(removed, id);
    if (place == NULL) {
        place = removed_room(removed);
    }
    memcpy(place->id, id, MESSAGE_ID_BYTES);
    place->expires_ms = expires_ms;
    return 0;
}

void removed_drop(struct removed *removed, const uint8_t *id)
{
    struct removed_id *found = removed_find(removed, id);

    if (found != NULL) {
        *found = removed->list[--removed->count];
    }
}

bool removed_has(const struct removed *removed, const uint8_t *id, int64_t now_ms)
{
    const struct removed_id *found = removed_find(removed, id);

    return found != NULL && !message_expired(found->expires_ms, now_ms);
}
