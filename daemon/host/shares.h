/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares: the messages that each sender (sender.h) has stored at one host, oldest first, with their
 * number and bytes. Kept in memory only. A message belongs to a sender from its deposit until the
 * store has deleted the message. Messages loaded at the start, and messages of exempt clients,
 * belong to no sender.
 *
 *   sharers[] (by tag)                     records[] (by id)
 *   +------------------------------+       +-----------------------+
 *   | an address: messages, bytes  |-first>| id, bytes, sharer     |-next-> ... (oldest first)
 *   |   wide -> its /64            |-last->| ...                   |
 *   +------------------------------+       +-----------------------+
 *   | a /64 on link: the sums of its addresses; no records of its own |
 *   +-----------------------------------------------------------------+
 *
 * A record takes 32 bytes and an entry in the map of ids. A sharer takes 56 bytes and 4 bytes for
 * its chain. There are at most two sharers for each record.
 *
 * A message that shares_pick or shares_pick_wide has picked is marked as leaving: it will be
 * removed for a new message. A leaving message does not count for its sender. If the deposit fails,
 * shares_unpick removes the mark, and the message counts again.
 */
#pragma once

#include "core/base/alloc.h"
#include "core/index/idmap.h"
#include "core/index/nearest.h"

/* A number of messages, and the bytes of these messages that count against the caps. */
struct usage {
    uint64_t messages;
    uint64_t bytes; /* of filters, media types and payloads */
};

/*
 * A sender's tags (senders_tag). `wide` is the tag of its /64, or 0 if the /64 has no limits of its
 * own. If both are 0 there is no sender, as for an exempt client.
 */
struct sender_tags {
    uint32_t address;
    uint32_t wide;
};

struct share_record {
    uint8_t id[MESSAGE_ID_BYTES];
    /* bytes of the message; the highest bit is set while the message is leaving */
    uint32_t bytes;
    uint32_t sharer; /* index of the sender's address in `sharers` */
    /* index in `records` of the next older record of this sender; UINT32_MAX: none */
    uint32_t prev;
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
    /* owned: record_room elements, record_count in use */
    struct share_record *records;
    uint32_t record_count;
    uint32_t record_room;
    /* owned: sharer_room elements; unused elements are on a free list */
    struct sharer *sharers;
    uint32_t sharer_count; /* in use */
    uint32_t sharer_room;
    uint32_t free_sharer;
    uint32_t *chains; /* owned: sharer_room of them, by tag */
};

/* Makes an empty table, which holds no memory. `alloc` is borrowed, `seed` is random. */
void shares_init(struct shares *shares, const struct alloc *alloc, uint64_t seed);
void shares_deinit(struct shares *shares); /* a zeroed one is fine */

/*
 * Counts a message of `bytes` (below 2^31) as the newest message of its sender, until
 * shares_remove. *out_added is false if the id is counted already, or if there is no sender; then
 * nothing has changed. Returns 0, or -ERR_NOMEM with nothing changed.
 */
int shares_add(struct shares *shares, const uint8_t *id, const struct sender_tags *sender,
               uint32_t bytes, bool *out_added);

/*
 * Takes a deleted message off the count of its sender. Does nothing for an id that is not counted.
 */
void shares_remove(struct shares *shares, const uint8_t *id);

/* The usage of an address or of a /64 (`is_wide`), without messages that are leaving. */
void shares_usage(const struct shares *shares, uint32_t tag, bool is_wide, struct usage *out_usage);

/*
 * Picks the oldest message of an address that is not marked as leaving yet, and marks this message.
 * Returns false if the address has no such message. O(marked messages of the address)
 */
bool shares_pick(struct shares *shares, uint32_t address_tag, uint8_t *out_id, uint32_t *out_bytes);

/*
 * Marks this message as leaving. Returns false if it is marked already. A message that belongs to
 * no sender has no mark: then the function returns true, and marks nothing.
 */
bool shares_pick_id(struct shares *shares, const uint8_t *id);

/*
 * Chooses the address of a /64 that has the most unmarked messages (with `by_bytes`: whose unmarked
 * messages have the most bytes), and marks the oldest unmarked message of this address as leaving.
 * Returns false if the /64 has no unmarked message. O(sharer_room + marked messages of the address)
 */
bool shares_pick_wide(struct shares *shares, uint32_t wide_tag, bool by_bytes, uint8_t *out_id,
                      uint32_t *out_bytes);

/* Removes the mark of a message. Does nothing for an id that is not counted or not marked. */
void shares_unpick(struct shares *shares, const uint8_t *id);
