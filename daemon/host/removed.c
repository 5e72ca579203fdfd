/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/host.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"

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
