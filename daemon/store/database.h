/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_database: the writer's open database: its connection, prepared statements and transactions,
 * and a few numbers in memory. Operations (store_ops) call the steps below.
 *
 * One thread at a time uses a store_database. Results of type int are SQLite's codes.
 */
#pragma once

#include "core/filter/cuckoo.h"
#include "daemon/store/numbers.h"
#include "daemon/store/row.h"
#include "daemon/store/statement.h"
#include "daemon/system/keyed_hash.h"

/* --- marks ------------------------------------------------------------------------------------ */

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

enum {
    STORE_MARKS_KEY_BYTES = 4 + MESSAGE_ID_BYTES, /* host, little-endian, and id */
    STORE_MARKS_GONE_MAX = 1024
};

struct store_marks {
    struct cuckoo filter;
    uint8_t secret[KEYED_HASH_KEY_BYTES];
    bool usable;       /* the filter contains every id that has a tombstone */
    bool reloaded;     /* the filter was loaded after the current transaction may have changed the
                          table `tombstone` */
    uint32_t patience; /* transactions to wait before loading is tried again */
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

/* --- database --------------------------------------------------------------------------------- */

/* The statements that the connection keeps prepared. */
enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ROLLBACK,
    STORE_INSERT,
    STORE_INSERT_SEVERAL,
    STORE_FIND,
    STORE_DELETE,
    STORE_ANSWER,
    STORE_OLDEST,
    STORE_PLACE,
    STORE_TOMBSTONE_FIND,
    STORE_TOMBSTONE_PUT,
    STORE_TOMBSTONE_EXPIRE,
    STORE_TOMBSTONE_DROP,
    STORE_TOMBSTONE_LIFT,
    STORE_EVICTED_PUT,
    STORE_EVICTED_FIRST,
    STORE_EVICTED_DROP,
    STORE_EPOCH_EXPIRE,
    STORE_META_PUT,
    STORE_MOVE,
    STORE_MODERATION_FIND,
    STORE_MODERATION_PUT,
    STORE_MODERATION_DROP,
    STORE_MODERATION_DUE,
    STORE_DECISION_EXPIRE,
    STORE_RULE_FIND,
    STORE_RULE_PUT,
    STORE_RULE_DROP,
    STORE_RULE_EXPIRE,
    STORE_COPY_FIND,
    STORE_COPY_PUT,
    STORE_COPY_DROP,
    STORE_COPY_EXPIRE,
    STORE_REPLICATES,
    STORE_TALLY,
    STORE_STATEMENT_COUNT
};

/*
 * Where the next search for the oldest messages starts: the host has no message with a smaller
 * number than `from`.
 */
struct store_evicted {
    uint32_t host;
    int64_t from;
};

/*
 * Numbers are reserved by the hundred: the file has the first number that is not reserved, so that
 * a deposit need not write the table `meta`. After a crash the rest of the reserved numbers is left
 * out. No number is used twice.
 */
enum { STORE_NUMBERS_RESERVED = 100 };

/* The numbers in memory that a rollback restores. */
struct store_state {
    int64_t next_seq;
    int64_t reserved_seq; /* the file's: numbers below it are reserved */
    int64_t clock_ms;
    int64_t newest_ms;  /* deposit time of the message that the transaction added last, if that is
                           the newest message of the store; else INT64_MIN */
    int64_t newest_seq; /* the number of this message */
    int64_t shift_from_ms; /* see persist_info */
    int64_t tombstones;   /* an upper bound of the number of tombstones; 0: deposits need not search
                             for one */
    int64_t told_evicted; /* messages in the table `evicted` */
    int64_t moderated;    /* an upper bound of the rows of `moderation`; 0: no need to search */
    int64_t answers;      /* an upper bound of the answers; 0: no need to search */
    int64_t copied;       /* an upper bound of the rows of `copy_decision`; 0: no need to search */
    int64_t replicating;  /* hosts that have changes (persist_change) */
    bool removed;         /* the transaction has deleted something whose bytes the log may have */
    bool changed;         /* the commit has to write */
    bool has_shifted;     /* the transaction has moved times: `numbers` is to be loaded again */
    struct store_evicted evicted;
};

struct store_database {
    sqlite3 *db; /* owned; NULL: closed */
    sqlite3_stmt *statements[STORE_STATEMENT_COUNT];
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    uint8_t place[PERSIST_PLACE_BYTES];
    struct store_state state;
    struct store_state before;        /* state as it was at begin */
    struct store_evictions evictions; /* of the transaction, not in the table yet (ops.h) */
    struct store_marks marks;         /* the ids that have a tombstone */
    struct store_numbers *numbers;    /* borrowed */
    /* messages of the transaction that the table `message` does not have yet, but `numbers` has */
    const struct persist_message *waiting[STORE_ROWS];
    size_t waiting_count;
    struct { /* of the host that was asked for last */
        uint32_t host;
        bool is_known;
        bool has_changes;
    } replicates;
    bool refuses_deposits; /* set by the caller: new deposits get PERSIST_NO_SPACE */
    int64_t marks_max;
};

/*
 * Fields of a stored message. After a successful commit the writer copies them into the operation,
 * if store_ops_apply has set them.
 */
struct store_times {
    int64_t deposited_ms;
    int64_t expires_ms;
    enum persist_state state;
    uint32_t reports;
    int64_t destroy_ms;
    int64_t removed_ms;
    int64_t seq; /* of a duplicate */
};

/*
 * Prepares the statements on a writer's connection and loads the state. On success *database owns
 * the connection; on failure the caller still owns the connection. `marks_max` (>= 1) is the
 * maximum number of tombstones. When the maximum is exceeded, tombstones that expire soonest are
 * deleted, and messages with the ids of these tombstones can be deposited again. `numbers` has the
 * numbers of all messages, and is borrowed.
 */
int store_database_init(struct store_database *database, sqlite3 *db, struct store_numbers *numbers,
                        int64_t marks_max);

/*
 * Finalizes the statements and frees the memory. Returns the connection, which the caller closes;
 * NULL if there was none.
 */
sqlite3 *store_database_deinit(struct store_database *database);

/* --- transactions ----------------------------------------------------------------------------- */

/* Begins a transaction and notes the state, for a rollback. */
int store_database_begin(struct store_database *database);

/*
 * Commits. Saves the clock and reserves numbers before, unless enough numbers are reserved and the
 * newest message has the time of the clock. A transaction that changed nothing is rolled back
 * instead: many expiries find nothing to delete, and a write would wear out flash storage.
 */
int store_database_commit(struct store_database *database);

/*
 * Rolls the transaction back, and restores the state. May also be called after a failed begin or
 * commit. If the result is not SQLITE_OK, the caller must close the connection.
 */
int store_database_rollback(struct store_database *database);

/* --- steps that several operations share, within a transaction -------------------------------- */

/*
 * Takes the next message number (`seq`). After a rollback a later transaction takes the number
 * again.
 */
int64_t store_database_take_number(struct store_database *database);

/* Whether a message can be part of a change (persist_change). */
bool store_database_is_told(const struct persist_message *message);

/*
 * Takes the number of a change (persist_change) of a host. `is_told`: of store_database_is_told, or
 * true for a change that is about no message. Sets *out_seq to 0 if others are not told: the host
 * has no changes, or is_told is false.
 */
int store_database_take_change(struct store_database *database, uint32_t host, bool is_told,
                               int64_t *out_seq);

/*
 * Adds a new message, whose `seq` is set, to the transaction. The message waits in memory; this
 * call, or a later one, inserts STORE_ROWS waiting messages at once into the table `message`. The
 * message must stay in place until the transaction ends.
 */
int store_database_insert(struct store_database *database, const struct persist_message *message);

/*
 * Inserts all waiting messages into the table `message`. Call store_database_flush before a
 * statement that reads or changes this table. store_database_find and store_database_commit call
 * store_database_flush themselves.
 */
int store_database_flush(struct store_database *database);

/* Makes the commit write the table `meta`. */
void store_database_write_meta(struct store_database *database);

/*
 * Finds the stored message with the host and the id of `key`. SQLITE_ROW: found; pointers in
 * *out_message are valid until STORE_FIND is reset. SQLITE_DONE: there is no such message.
 * SQLITE_CORRUPT: the row does not match its checksum. Other codes are errors. After any result but
 * SQLITE_DONE the caller resets STORE_FIND.
 */
int store_database_find(struct store_database *database, const struct persist_message *key,
                        struct persist_message *out_message);

/*
 * Deletes a message, all answers to it, and their rows in the table `moderation`. Unless
 * out_removed is NULL, fills it for the message. SQLITE_CORRUPT: there is no such message, or a row
 * is damaged.
 */
int store_database_delete(struct store_database *database, int64_t seq,
                          struct persist_removed *out_removed);

/*
 * Runs a DELETE of an expiry, and notes whether it has deleted something. `sql` is one of enum
 * store_statement.
 */
int store_database_expire(struct store_database *database, enum store_statement sql,
                          const struct store_value *values, size_t count);

/* Deletes a message's row in the table `moderation`, if there is one. */
int store_database_drop_moderation(struct store_database *database, int64_t seq);

/*
 * Checks that the transaction is still open. Call this function after a step whose failure the
 * caller ignores: if a statement has no memory, SQLite rolls the whole transaction back, and each
 * further statement would be committed alone. Returns SQLITE_NOMEM if there is no transaction, else
 * SQLITE_OK.
 */
int store_database_require_transaction(const struct store_database *database);

/* Returns whether the open file of the database is not the one at its path any more: it was moved
 * or removed, or another file has taken its place. A commit into the open file would be lost at the
 * next start, which opens the file at the path. */
bool store_database_has_moved(const struct store_database *database);

/*
 * Sets the outcome of an operation to PERSIST_FAILED, because a row does not match its checksum.
 * The operation must not have changed anything. Returns SQLITE_OK, so that the transaction goes
 * on.
 */
int store_database_fail_damaged(struct persist_op *op);
