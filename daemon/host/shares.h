/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares: what each sender (sender.h) has stored at one host: its messages, oldest first, and their
 * number and bytes. In memory only. A message belongs to a sender from its deposit until it leaves
 * the store; messages loaded at the start, and those of exempt clients, belong to no sender.
 *
 *   sharers[] (by tag)                     records[] (by id)
 *   +------------------------------+       +-----------------------+
 *   | an address: messages, bytes  |-first>| id, bytes, sharer     |-next-> ... (oldest first)
 *   |   wide -> its /64            |-last->| ...                   |
 *   +------------------------------+       +-----------------------+
 *   | a /64 on link: the sums of its addresses; no records of its own |
 *   +-----------------------------------------------------------------+
 *
 * A record takes 32 bytes and a place in the map of ids, a sharer 64 bytes; there are at most two
 * sharers for each record.
 *
 * A message that is to make room for another one is marked as leaving (shares_pick). A leaving
 * message does not count any more; it comes back with shares_unpick when the deposit failed.
 */
#ifndef DAEMON_HOST_SHARES_H
#define DAEMON_HOST_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/index/idmap.h"
#include "core/index/nearest.h"

/* Messages and bytes that count against a cap. */
struct usage {
    uint64_t messages;
    uint64_t bytes; /* of filters, media types and payloads */
};

/* A sender's tags (senders_tag): of its address, and of its /64 if that has a bound of its own,
 * else 0. Both 0: no sender, such as an exempt client. */
struct sender_tags {
    uint32_t address;
    uint32_t wide;
};

struct share_record {
    uint8_t id[MESSAGE_ID_BYTES];
    uint32_t bytes;  /* the highest bit is set while the message is leaving */
    uint32_t sharer; /* position of its address in `sharers` */
    uint32_t prev;   /* position of the next older record of this sharer; UINT32_MAX: none */
    uint32_t next;
};

struct sharer {
    uint32_t tag;  /* 0: free */
    uint32_t next; /* in its chain, or on the free list */
    uint32_t wide; /* the sharer that is its /64, or NONE */
    uint32_t first;
    uint32_t last;
    uint32_t leaving_messages; /* of `messages` */
    uint64_t leaving_bytes;
    uint32_t messages;
    uint32_t addresses; /* of a /64: sharers of which it is `wide` */
    uint64_t bytes;
    bool is_wide; /* a /64 */
};

struct shares {
    const struct alloc *alloc; /* borrowed */
    struct idmap ids;
    struct share_record *records; /* owned: record_room of them, record_count in use */
    uint32_t record_count;
    uint32_t record_room;
    struct sharer *sharers; /* owned: sharer_room of them, those not in use are on a free list */
    uint32_t sharer_count;  /* in use */
    uint32_t sharer_room;
    uint32_t free_sharer;
    uint32_t *chains; /* owned: sharer_room of them, by tag */
};

/* Empty; holds no memory. `alloc` is borrowed; seed: random. */
void shares_init(struct shares *shares, const struct alloc *alloc, uint64_t seed);
void shares_deinit(struct shares *shares); /* a zeroed one is fine */

/*
 * Counts a message of `bytes` (below 2^31) as the newest of its sender, until shares_remove.
 * *out_added: false when the id is counted already, which stays as it is, or when the sender is
 * nobody. 0, or -ERR_NOMEM with nothing changed.
 */
int shares_add(struct shares *shares, const uint8_t *id, const struct sender_tags *sender,
               uint32_t bytes, bool *out_added);

/* A message is gone. Does nothing for an id that is not counted. */
void shares_remove(struct shares *shares, const uint8_t *id);

/* Usage of an address or a /64, without messages that are leaving. */
void shares_usage(const struct shares *shares, uint32_t tag, bool is_wide, struct usage *out_usage);

/*
 * Marks one message of an address as leaving: the oldest message that is not marked yet. Returns
 * false if every message of the address is marked. O(marked messages of the address).
 */
bool shares_pick(struct shares *shares, uint32_t address_tag, uint8_t *out_id, uint32_t *out_bytes);

/* The same for the address of a /64 that has the most messages, or the most bytes. O(senders). */
bool shares_pick_wide(struct shares *shares, uint32_t wide_tag, bool by_bytes, uint8_t *out_id,
                      uint32_t *out_bytes);

/* Takes the mark back. Does nothing for an id that is not counted or not leaving. */
void shares_unpick(struct shares *shares, const uint8_t *id);

#endif
