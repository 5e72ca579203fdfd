/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removed: which messages of one host the operator has removed, until these messages would have
 * expired. The store has the same ids; this copy is in memory. At most REMOVED_KEPT ids are kept:
 * the id that goes first makes room for a new one.
 */
#ifndef DAEMON_HOST_REMOVED_H
#define DAEMON_HOST_REMOVED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/index/nearest.h"

enum { REMOVED_KEPT = 1000 };

struct removed_id {
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t expires_ms;
};

struct removed {
    struct removed_id *list; /* owned: `count` of REMOVED_KEPT; NULL: none yet */
    uint32_t count;
};

void removed_deinit(struct removed *removed, const struct alloc *alloc); /* a zeroed one is fine */

/* Adds an id. Returns 0, or -ERR_NOMEM with nothing added. O(REMOVED_KEPT) */
int removed_put(struct removed *removed, const struct alloc *alloc, const uint8_t *id,
                int64_t expires_ms);

/* Takes an id out: the operator has restored the message. O(REMOVED_KEPT) */
void removed_drop(struct removed *removed, const uint8_t *id);

/* Whether the operator has removed the message of this id, which has not expired at `now_ms`.
 * O(REMOVED_KEPT) */
bool removed_has(const struct removed *removed, const uint8_t *id, int64_t now_ms);

#endif
