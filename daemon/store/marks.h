/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_marks: which ids have a tombstone, as a cuckoo filter in memory. Thanks to it, the deposit
 * of a new id does not search the database for a tombstone. About one deposit in a thousand still
 * does (a false positive). If there is no memory for the filter, every deposit does.
 *
 * The filter may contain ids whose tombstone is deleted already. It never lacks an id that has a
 * tombstone. When a transaction deletes a tombstone, the id leaves the filter at the commit.
 *
 * Used by the thread of the connection that it is given.
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
    bool usable;        /* the filter contains every id that has a tombstone */
    bool reloaded;      /* the filter was loaded by the current transaction, with its changes */
    uint32_t patience;  /* transactions to wait before loading is tried again */
    uint32_t gone_count;
    /* Ids whose tombstones the current transaction has deleted. Further ids stay in the filter
       until it is loaded again: they are false positives, which cost a search now and then. */
    uint8_t gone[STORE_MARKS_GONE_MAX][STORE_MARKS_KEY_BYTES];
};

/* Makes an empty filter, which holds no memory and is not usable yet. */
void store_marks_init(struct store_marks *marks);
void store_marks_deinit(struct store_marks *marks); /* a zeroed one is fine */

/* To be called when a transaction begins. Loads all ids the first time: O(tombstones). */
void store_marks_begin(struct store_marks *marks, sqlite3 *db);

/* False: the id has no tombstone. True: it may have one. O(1). */
bool store_marks_may_have(const struct store_marks *marks, uint32_t host, const uint8_t *id);

/* The current transaction has put a tombstone into the database, or has deleted one. */
void store_marks_add(struct store_marks *marks, sqlite3 *db, uint32_t host, const uint8_t *id);
void store_marks_remove(struct store_marks *marks, uint32_t host, const uint8_t *id);

/* The transaction was committed, or rolled back. */
void store_marks_commit(struct store_marks *marks);
void store_marks_rollback(struct store_marks *marks);

#endif
