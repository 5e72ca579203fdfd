/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_marks: the ids that have a tombstone, as a cuckoo filter in memory. With the filter, the
 * deposit of a new id need not search the database for a tombstone. About one deposit in a thousand
 * still searches, because of a false positive of the filter. Without memory for the filter every
 * deposit searches.
 *
 * Every id with a tombstone is in the filter. The filter may also contain ids whose tombstones are
 * deleted. When a transaction deletes a tombstone, its commit removes the id from the filter.
 *
 * Only the thread of the database connection uses a store_marks.
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
    bool reloaded;      /* the current transaction has loaded the filter, with its own changes to
                           the table `tombstone` */
    uint32_t patience;  /* transactions to wait before loading is tried again */
    uint32_t gone_count;
    /*
     * Ids whose tombstones the current transaction has deleted. The commit removes these ids from
     * the filter. When this array is full, further ids stay in the filter until the filter is
     * loaded again. Such an id is a false positive: its next deposit searches the database.
     */
    uint8_t gone[STORE_MARKS_GONE_MAX][STORE_MARKS_KEY_BYTES];
};

/* Makes an empty filter. The filter uses no memory yet, and is not usable until ids are loaded. */
void store_marks_init(struct store_marks *marks);
void store_marks_deinit(struct store_marks *marks); /* a zeroed one is fine */

/* Call this function when a transaction begins. The first call loads all ids: O(tombstones). */
void store_marks_begin(struct store_marks *marks, sqlite3 *db);

/* False: the id has no tombstone. True: it may have one. O(1). */
bool store_marks_may_have(const struct store_marks *marks, uint32_t host, const uint8_t *id);

/*
 * Call store_marks_add after the current transaction has stored a tombstone for the id. Call
 * store_marks_remove after the current transaction has deleted the tombstone.
 */
void store_marks_add(struct store_marks *marks, sqlite3 *db, uint32_t host, const uint8_t *id);
void store_marks_remove(struct store_marks *marks, uint32_t host, const uint8_t *id);

/* The transaction was committed, or rolled back. */
void store_marks_commit(struct store_marks *marks);
void store_marks_rollback(struct store_marks *marks);

#endif
