/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moderation: the state of the messages of one host that are reported, hidden, removed and not yet
 * destroyed, pending (they wait for review) or approved by the operator. The store also has the
 * state and the number of reports.
 *
 * A hidden, removed or pending message has an entry here, and is in no index. A message that is
 * only reported, or approved, has an entry here, and is in its index unless memory was short. All
 * other messages are in their index only.
 */
#pragma once

#include "core/index/idmap.h"
#include "core/index/nearest.h"
#include "daemon/store/persist.h"

struct moderated {
    uint8_t id[MESSAGE_ID_BYTES];
    enum persist_state state;
    uint32_t reports;
    uint32_t reporting; /* reports that wait for the store */
    /*
     * Reports since the start that do not count towards hide_after: of senders that have had as
     * many counted ones in the last hour as they may, and of the message's own sender.
     */
    uint32_t uncounted;
    uint32_t own;   /* of these, reports of the message's own sender */
    uint32_t grave; /* reports of the kinds ILLEGAL and ABOUT_ME, without `own` */
    /* enough senders have reported the message to hide it, and only a bound keeps it shown */
    bool is_beyond;
    bool is_hiding;       /* a report that will hide the message waits for the store */
    uint32_t bytes;       /* count against the caps */
    uint32_t sender;      /* tag of the address that deposited the message; 0: not known */
    uint32_t texts_bytes; /* of the reasons that the store keeps; see moderation_set_texts */
    int64_t deposited_ms;
    int64_t expires_ms;
    int64_t destroy_ms; /* of a removed message: see persist_message; else 0 */
    int64_t removed_ms; /* of a removed message: when it was removed; else 0 */
    bool is_new;        /* no request Wait was told of the message */
    uint8_t new_kind;   /* is_new: kind of the report that is news; 0: none, or not known */
};

struct moderation {
    const struct alloc *alloc; /* borrowed */
    struct idmap ids;
    struct moderated *entries; /* owned: `room` elements, `count` in use, in no order */
    uint32_t count;
    uint32_t room;
    /* Bytes of the texts of reasons: of all entries, and of reports that wait for the store. */
    uint64_t texts_bytes;
};

/* Makes an empty table, which holds no memory. Borrows `alloc`. `seed` is random. */
void moderation_init(struct moderation *moderation, const struct alloc *alloc, uint64_t seed);
void moderation_deinit(struct moderation *moderation); /* a zeroed one is fine */

/*
 * Finds the entry of a message. The entry is borrowed until the next moderation_put or
 * moderation_remove. NULL: the message is neither reported, hidden, pending nor approved.
 */
struct moderated *moderation_find(const struct moderation *moderation, const uint8_t *id);

/*
 * Finds the entry of a message of the index, as moderation_find does. Makes an entry if there is
 * none. NULL: out of memory.
 */
struct moderated *moderation_take(struct moderation *moderation, const struct index_item *item);

/* Sets how many bytes of texts the store keeps of the reasons of an entry's reports. */
void moderation_set_texts(struct moderation *moderation, struct moderated *entry, uint32_t bytes);

/* Whether the operator has to decide about the message: it is reported, hidden by reports, or
 * pending, and has not expired. */
bool moderation_is_open(const struct moderated *moderated, int64_t now_ms);

/* How many senders have reported the message, as far as their reports count. */
uint32_t moderation_senders(const struct moderated *moderated);

/* Whether the message of this id is hidden or pending. */
bool moderation_hides(const struct moderation *moderation, const uint8_t *id);

/* Adds or replaces an entry. -ERR_NOMEM: nothing has changed. */
int moderation_put(struct moderation *moderation, const struct moderated *moderated);

/*
 * Removes an entry. Copies the entry to *out, unless out is NULL. Returns false if there is no such
 * entry.
 */
bool moderation_remove(struct moderation *moderation, const uint8_t *id, struct moderated *out);

struct moderation_counts {
    uint64_t hidden;  /* hidden messages, which include the pending ones */
    uint64_t pending; /* messages that wait for review */
    /* Other messages about which the operator has to decide: Reported lists them. */
    uint64_t reported;
};

/* Counts messages; of expired messages those that are not deleted yet, too. O(count) */
void moderation_count(const struct moderation *moderation, struct moderation_counts *out_counts);

/* --- removed ---------------------------------------------------------------------------------- */

/*
 * Which messages of one host the operator has removed, until these messages would have
 * expired. The store has the same ids; this copy is in memory. At most REMOVED_KEPT ids are kept:
 * the id that goes first makes room for a new one.
 */

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
