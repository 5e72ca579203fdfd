/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers: the answers to the messages of one host, in memory: found by their ids, and listed by
 * the messages that they answer, their parents. Answers are in no index, so that no query and no
 * summary has them. An entry is kept from the deposit until the store has deleted the answer, also
 * while the answer is hidden. Whether the parent can be read is the business of host.h.
 */
#pragma once

#include "core/index/idmap.h"
#include "core/index/nearest.h"

struct answer {
    struct answer *prev, *next; /* of the same parent, oldest first; the links of list.h */
    struct index_item item;
    uint8_t parent[MESSAGE_ID_BYTES];
    uint64_t epoch;
    bool is_shown;   /* it is neither hidden nor does it wait for review */
    bool is_leaving; /* it makes room for a message that waits for the store */
};

/* An answer that waits for the store. */
struct waiting_answer {
    struct waiting_answer *prev, *next; /* the links of list.h */
    uint8_t parent[MESSAGE_ID_BYTES];
    uint32_t sender;
};

/* The answers to one message. */
struct answered {
    uint8_t parent[MESSAGE_ID_BYTES];
    struct answer *first;
    uint32_t count; /* hidden ones, too */
};

struct answers {
    const struct alloc *alloc; /* borrowed */
    struct answer **entries;   /* owned, and so is what they point to */
    struct answered *parents;  /* owned: at most as many as entries, and as much room */
    uint32_t count;
    uint32_t parent_count;
    uint32_t room;
    struct waiting_answer *waiting; /* borrowed: added and removed by who deposits them */
    struct idmap ids;               /* places in `entries` */
    struct idmap parent_ids;        /* places in `parents` */
};

/* Uses no memory before the first answer. */
void answers_init(struct answers *answers, const struct alloc *alloc, uint64_t seed);
void answers_deinit(struct answers *answers); /* a zeroed one is fine */

/* Finds an answer by its id. NULL: there is none. Valid until it is removed. */
struct answer *answers_find(const struct answers *answers, const uint8_t *id);

/* Returns the answers to the message `parent`, or NULL if there are none. The result is valid until
 * the next answer is added or removed. */
struct answered *answers_of(const struct answers *answers, const uint8_t *parent);

/*
 * Adds a copy of an answer; its links need not be set. Of an answer that is there already, only
 * is_shown changes. Returns 0, or -ERR_NOMEM with nothing added. O(1), unless answers with later
 * times are there.
 */
int answers_put(struct answers *answers, const struct answer *answer);

/* Removes an answer, and copies its item to *out_item unless out_item is NULL. False: no such id.
 */
bool answers_remove(struct answers *answers, const uint8_t *id, struct index_item *out_item);

/* As index_shift. O(answers) */
void answers_shift(struct answers *answers, int64_t from_ms, int64_t by_ms);

/* How many answers to a message are of one sender, with hidden ones and those that wait for the
 * store. O(answers to it + all that wait) */
uint32_t answers_count_of(const struct answers *answers, const uint8_t *parent, uint32_t sender);

/*
 * The answer to a message that goes first for one more: of those that are shown and not leaving,
 * the oldest one of the sender that has most of them. Answers without a sender count as of one
 * sender each. NULL: there is none. O(answers to it, squared)
 */
struct answer *answers_pick(const struct answers *answers, const uint8_t *parent, int64_t now_ms);

/* How many answers to a message are shown and have not expired at now_ms. O(answers to it) */
uint32_t answers_count(const struct answers *answers, const uint8_t *parent, int64_t now_ms);
