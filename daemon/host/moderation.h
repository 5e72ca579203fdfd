/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moderation: the messages of one host of which something is known besides: who are reported,
 * hidden, waiting for review, or approved by the operator. In memory, as the store has it.
 *
 * What is hidden is here and not in an index; what is not hidden may be in both.
 */
#ifndef DAEMON_HOST_MODERATION_H
#define DAEMON_HOST_MODERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/idmap.h"
#include "core/index/nearest.h"
#include "daemon/store/persist.h"

struct moderated {
    uint8_t id[MESSAGE_ID_BYTES];
    enum persist_state state;
    uint32_t reports;
    uint32_t reporting; /* reports on their way to the store */
    uint32_t uncounted; /* of all reports since the start: they do not count for hide_after */
    bool is_hiding;     /* one that hides it is on its way to the store */
    uint32_t bytes;     /* that count against caps */
    uint32_t sender;    /* who deposited it, or 0 */
    int64_t deposited_ms;
    int64_t expires_ms;
};

struct moderation {
    const struct alloc *alloc; /* borrowed */
    struct idmap ids;
    struct moderated *entries; /* owned: count of room; in no order */
    uint32_t count;
    uint32_t room;
};

/* Empty; holds no memory. `alloc` is borrowed; seed: random. */
void moderation_init(struct moderation *moderation, const struct alloc *alloc, uint64_t seed);
void moderation_deinit(struct moderation *moderation); /* a zeroed one is fine */

/* Borrowed until the next put or remove; NULL: nothing is known of this message. */
struct moderated *moderation_find(const struct moderation *moderation, const uint8_t *id);

/* Whether nobody is shown the message of this id. */
bool moderation_hides(const struct moderation *moderation, const uint8_t *id);

/* Adds it, or puts it in the place of what was known. -ERR_NOMEM: nothing has changed. */
int moderation_put(struct moderation *moderation, const struct moderated *moderated);

/* Forgets a message; what was known goes to *out unless that is NULL. False: nothing was. */
bool moderation_remove(struct moderation *moderation, const uint8_t *id, struct moderated *out);

/* Hidden ones, and of these those that wait for review. O(count). */
void moderation_count(const struct moderation *moderation, uint64_t *out_hidden,
                      uint64_t *out_pending);

#endif
