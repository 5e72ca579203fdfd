/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_marks: the ids that have a tombstone, as a cuckoo filter in memory. With the filter, most
 * deposits of new ids need not search the database for a tombstone. A false positive of the filter
 * makes about one deposit in a thousand search (cuckoo.h). While the filter is not usable, for
 * example for lack of memory, every deposit searches.
 *
 * A usable filter contains every id with a tombstone. The filter may also contain ids whose
 * tombstones are deleted. When an expiry deletes a tombstone, the commit removes the id from the
 * filter.
 *
 * One thread at a time uses a store_marks.
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
    bool reloaded;      /* the filter was loaded after the current transaction may have changed the
                           table `tombstone` */
    uint32_t patience;  /* transactions to wait before loading is tried again */
    uint32_t gone_count;
    /*
     * Ids whose tombstones the current transaction has deleted. The commit removes these ids from
     * the filter. When this array is full, further ids stay in the filter until the filter is
     * loaded again. An id that stays is a false positive: its deposit searches the database.
     */
    uint8_t gone[STORE_MARKS_GONE_MAX][STORE_MARKS_KEY_BYTES];
};

/* Makes an empty filter. The filter uses no memory yet, and is not usable until ids are loaded. */
void store_marks_init(struct store_marks *marks);
void store_marks_deinit(struct store_marks *marks); /* a zeroed one is fine */

/*
 * Call this function when a transaction begins. If the filter is not usable, the function tries to
 * load all ids, which is O(tombstones). After a failure the next 1,000 calls do not try.
 */
void store_marks_begin(struct store_marks *marks, sqlite3 *db);

/* False: the id has no tombstone. True: the id may have a tombstone. O(1). */
bool store_marks_may_have(const struct store_marks *marks, uint32_t host, const uint8_t *id);

/*
 * Call store_marks_add after the current transaction has stored a tombstone for the id. Call
 * store_marks_remove after the current transaction has deleted the tombstone of the id; without
 * this call the id stays in the filter.
 */
void store_marks_add(struct store_marks *marks, sqlite3 *db, uint32_t host, const uint8_t *id);
void store_marks_remove(struct store_marks *marks, uint32_t host, const uint8_t *id);

/* The transaction was committed, or rolled back. */
void store_marks_commit(struct store_marks *marks);
void store_marks_rollback(struct store_marks *marks);

#endif
