/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_marks: which ids are marked as withdrawn, in a cuckoo filter in memory, so that the deposit
 * of a new id need not look for a mark in the database: one in about a thousand still does, and
 * where the filter cannot be had, each does.
 *
 * The filter may have marks that are not there any more, never the other way round. What a
 * transaction takes out of the database leaves the filter when it is committed.
 *
 * Used by the thread of the connection it is given.
 */
#ifndef DAEMON_STORE_MARKS_H
#define DAEMON_STORE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "core/filter/cuckoo.h"
#include "core/index/nearest.h"

enum {
    STORE_MARKS_KEY_BYTES = 4 + MESSAGE_ID_BYTES, /* host, little-endian, and id */
    STORE_MARKS_GONE_MAX = 1024
};

struct store_marks {
    struct cuckoo filter;
    uint8_t secret[16]; /* of SipHash */
    bool usable;        /* the filter has all marks that there are */
    bool reloaded;      /* within the transaction under way: it has seen what is not committed */
    uint32_t patience;  /* begins to wait before loading is tried again */
    uint32_t gone_count;
    /* Taken out by the transaction under way. What exceeds this stays in the filter until it is
     * loaded anew, which does no harm but a look at the database now and then. */
    uint8_t gone[STORE_MARKS_GONE_MAX][STORE_MARKS_KEY_BYTES];
};

/* An empty one that holds no memory and is not usable yet. */
void store_marks_init(struct store_marks *marks);
void store_marks_deinit(struct store_marks *marks); /* a zeroed one is fine */

/* At the beginning of a transaction: loads all marks, unless that is done. O(marks), once. */
void store_marks_begin(struct store_marks *marks, sqlite3 *db);

/* Whether there may be a mark: certainly not when false. O(1). */
bool store_marks_may_have(const struct store_marks *marks, uint32_t host, const uint8_t *id);

/* A mark was put into the database, or taken out of it, by the transaction under way. */
void store_marks_add(struct store_marks *marks, sqlite3 *db, uint32_t host, const uint8_t *id);
void store_marks_remove(struct store_marks *marks, uint32_t host, const uint8_t *id);

/* The transaction is over: committed, or rolled back. */
void store_marks_commit(struct store_marks *marks);
void store_marks_rollback(struct store_marks *marks);

#endif
