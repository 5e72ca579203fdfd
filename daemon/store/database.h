/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_database: the database as the writer's thread has it open: the connection, its prepared
 * statements, its transactions, and the few numbers that are kept in memory because every operation
 * needs them. Operations (store_ops) are built from the steps below.
 *
 * Used by one thread at a time. Results are SQLite's codes.
 */
#ifndef DAEMON_STORE_DATABASE_H
#define DAEMON_STORE_DATABASE_H

#include <sqlite3.h>

#include "daemon/store/marks.h"
#include "daemon/store/persist.h"
#include "daemon/store/statement.h"

/* Where the next search for messages to evict begins: the host has no messages before this. */
struct store_evicted {
    enum persist_evict order; /* PERSIST_EVICT_NONE: not known */
    uint32_t host;
    int64_t from; /* a seq, or an expires_ms */
};

/* The numbers in memory that a rollback restores. */
struct store_state {
    int64_t next_seq;
    int64_t clock_ms;
    int64_t tombstones; /* an upper bound; 0: deposits need not search for one */
    int64_t moderated;  /* rows of `moderation`: an upper bound; 0: no need to search */
    bool removed;       /* a message was deleted, and the log still has its bytes */
    bool changed;       /* the transaction has changed something besides the clock */
    struct store_evicted evicted;
};

struct store_database {
    sqlite3 *db; /* owned; NULL: closed */
    sqlite3_stmt *statements[STORE_STATEMENT_COUNT];
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    struct store_state state;
    struct store_state before; /* state as it was at begin */
    struct store_marks marks;  /* which ids tombstones are for */
    bool refuses_deposits;     /* set by the caller: new deposits get PERSIST_NO_SPACE */
    int64_t marks_max;
};

/* Fields of a stored message that go into the operation after the commit has succeeded. */
struct store_times {
    int64_t deposited_ms;
    int64_t expires_ms;
    enum persist_state state;
    uint32_t reports;
};

/*
 * Prepares the statements on a writer's connection and loads the state. Takes the connection on
 * success; on failure it stays the caller's. marks_max (>= 1): tombstones at most. One more deletes
 * the tombstone that expires soonest, and its id is free again.
 */
int store_database_init(struct store_database *database, sqlite3 *db, int64_t marks_max);

/* Finalizes the statements and gives the connection back for closing (NULL: there was none). */
sqlite3 *store_database_deinit(struct store_database *database);

/* --- transactions ----------------------------------------------------------------------------- */

/* Begins a transaction and notes the state, for a rollback. */
int store_database_begin(struct store_database *database);

/*
 * Saves the clock and the next number, then commits. A transaction that changed nothing is ended
 * without a write, so that a sweep that finds nothing does not wear the storage out.
 */
int store_database_commit(struct store_database *database);

/* Also after a failed begin or commit. Not SQLITE_OK: the connection is unusable from now on. */
int store_database_rollback(struct store_database *database);

/* --- steps that several operations share, within a transaction -------------------------------- */

/*
 * The next number (`seq`) of a message: of one that is deposited, released from review or restored.
 * The commit saves the number after it. So a number is given once: a transaction that does not
 * commit has told nobody of its numbers.
 */
int64_t store_database_take_number(struct store_database *database);

/*
 * Finds the message of the same host and id. SQLITE_ROW: *out_message is borrowed until STORE_FIND
 * is reset; SQLITE_DONE: there is none; SQLITE_CORRUPT: its row does not match its checksum. The
 * caller resets STORE_FIND in any case.
 */
int store_database_find(struct store_database *database, const struct persist_message *key,
                        struct persist_message *out_message);

/* Deletes a message and its row in the table `moderation`. */
int store_database_delete(struct store_database *database, int64_t seq);

/* Deletes a message's row in the table `moderation`, if there is one. */
int store_database_drop_moderation(struct store_database *database, int64_t seq);

/* Puts a tombstone: the message's id is refused until expires_ms. */
int store_database_put_tombstone(struct store_database *database,
                                 const struct persist_message *message, int64_t expires_ms);

/*
 * Sets the outcome of an operation whose row does not match its checksum. Only this operation
 * fails, which has changed nothing so far; the others of its transaction go on. SQLITE_OK.
 */
int store_database_fail_damaged(struct persist_op *op);

#endif
