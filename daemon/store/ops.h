/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_ops: what one operation does to the database, within a transaction that the caller
 * (store_writer) begins and ends. Prepared statements and the few numbers that are kept in memory
 * because every operation needs them.
 *
 * Used by one thread at a time. Results are SQLite's codes: an operation's own outcome, such as a
 * conflict, is no failure.
 */
#ifndef DAEMON_STORE_OPS_H
#define DAEMON_STORE_OPS_H

#include <sqlite3.h>

#include "daemon/store/marks.h"
#include "daemon/store/persist.h"

enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ROLLBACK,
    STORE_INSERT,
    STORE_FIND,
    STORE_DELETE,
    STORE_EXPIRE,
    STORE_OLDEST,
    STORE_SOONEST,
    STORE_PLACE,
    STORE_TOMBSTONE_FIND,
    STORE_TOMBSTONE_PUT,
    STORE_TOMBSTONE_EXPIRE,
    STORE_TOMBSTONE_DROP,
    STORE_EPOCH_EXPIRE,
    STORE_META_SAVE,
    STORE_MOVE,
    STORE_MODERATION_FIND,
    STORE_MODERATION_PUT,
    STORE_MODERATION_DROP,
    STORE_RULE_PUT,
    STORE_RULE_DROP,
    STORE_TALLY,
    STORE_STATEMENT_COUNT
};

/* Where the search for messages that make room begins: no earlier ones of that host are left. */
struct store_evicted {
    enum persist_evict order; /* PERSIST_EVICT_NONE: it is not known */
    uint32_t host;
    int64_t from; /* a seq, or an expires_ms */
};

/* What a rolled back transaction takes back. */
struct store_state {
    int64_t next_seq;
    int64_t clock_ms;
    int64_t tombstones; /* none: deposits need not look for one */
    int64_t moderated;  /* none, or at most so many: the same */
    bool removed;       /* some message went, whose bytes are still in the log */
    bool changed;       /* there is something to commit besides the clock */
    struct store_evicted evicted;
};

struct store_ops {
    sqlite3 *db; /* owned; NULL: closed */
    sqlite3_stmt *statements[STORE_STATEMENT_COUNT];
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    struct store_state state;
    struct store_state before; /* state as it was at begin */
    struct store_marks marks;  /* which ids tombstones are for */
    bool refuses_deposits;     /* the caller's: new ones get PERSIST_NO_SPACE */
    int64_t marks_max;
};

/* Times of a stored duplicate, kept beside the operation until the commit has succeeded. */
struct store_times {
    int64_t deposited_ms;
    int64_t expires_ms;
    enum persist_state state;
    uint32_t reports;
};

/*
 * Prepares the statements on a writer's connection and loads the state. Takes the connection on
 * success; on failure it stays the caller's. marks_max (>= 1): tombstones at most; with one more,
 * that which ends soonest goes, and its id is free again.
 */
int store_ops_init(struct store_ops *ops, sqlite3 *db, int64_t marks_max);

/* Finalizes and gives the connection back for closing (NULL: there was none). */
sqlite3 *store_ops_deinit(struct store_ops *ops);

/* Begins a transaction and notes the state, for a rollback. 0, or what SQLite said. */
int store_ops_begin(struct store_ops *ops);

/*
 * Applies one operation and fills its outcome. *out_times is set for PERSIST_DUPLICATE. On failure
 * the transaction must be rolled back.
 */
int store_ops_apply(struct store_ops *ops, struct persist_op *op, struct store_times *out_times);

/*
 * Saves the clock and the next number, then commits. A transaction that changed nothing is ended
 * without a write, so that a sweep that finds nothing does not wear the storage out.
 */
int store_ops_commit(struct store_ops *ops);

/* Also after a failed begin or commit. Not SQLITE_OK: the connection is of no use any more. */
int store_ops_rollback(struct store_ops *ops);

/* --- for store_moderation.c, store_evict.c and others
 * ------------------------------------------------- */

/* Bindings point into operations: none may outlive its use. */
void store_ops_done_with(sqlite3_stmt *statement);

/* For statements that give no rows, once they are bound. */
int store_ops_step_to_end(sqlite3_stmt *statement);

/*
 * Finds the message of the same host and id. SQLITE_ROW: *out_message is borrowed until
 * store_ops_done_with(STORE_FIND), which is due in any case; SQLITE_DONE: there is none.
 */
int store_ops_find(struct store_ops *ops, const struct persist_message *key, int64_t *out_seq,
                   struct persist_message *out_message);

/*
 * The next number, within a transaction, which saves it. Whatever others should know takes one: a
 * message that is deposited, released from review or restored. A number is given once: what does
 * not commit has told nobody of its number, and what commits has saved the next one.
 */
int64_t store_ops_take_number(struct store_ops *ops);

/* Deletes a message, with what was kept of its moderation. */
int store_ops_delete(struct store_ops *ops, int64_t seq);

/* Marks an id as gone until then. */
int store_ops_put_tombstone(struct store_ops *ops, const struct persist_message *message,
                            int64_t expires_ms);

/* The outcome of an operation whose row does not match its checksum. SQLITE_OK. */
int store_ops_fail_damaged(struct persist_op *op);

#endif
