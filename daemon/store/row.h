/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_row: writes and reads the rows of messages, rules, decisions and epochs, with their
 * checksums (checksum.h).
 */
#ifndef DAEMON_STORE_ROW_H
#define DAEMON_STORE_ROW_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

/* The columns of a message's row, in the order in which store_row_put and store_row_read use them.
 */
#define STORE_ROW_COLUMNS                                                      \
    "seq, host_id, id, epoch, deposited_ms, expires_ms, reach_ppm, checksum, " \
    "withdraw_hash, filter, media_type, payload"
#define STORE_ROW_PLACES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"
#define STORE_ROW_BLANKS "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define STORE_ROWS_PLACES                                                              \
    STORE_ROW_BLANKS ", " STORE_ROW_BLANKS ", " STORE_ROW_BLANKS ", " STORE_ROW_BLANKS \
                     ", " STORE_ROW_BLANKS ", " STORE_ROW_BLANKS ", " STORE_ROW_BLANKS \
                     ", " STORE_ROW_BLANKS

enum {
    STORE_ROW_VALUES = 12, /* places of a row */
    STORE_ROWS = 8         /* rows in STORE_ROWS_PLACES */
};

/* A message and its number. The message is borrowed. */
struct store_row {
    int64_t seq;
    const struct persist_message *message;
};

/*
 * Writes the row of a message by the prepared INSERT `statement`, which has the places 1 to 12.
 * Returns an SQLite result code.
 */
int store_row_put(sqlite3_stmt *statement, int64_t seq, const struct persist_message *message);

/* Writes STORE_ROWS rows by a prepared INSERT with STORE_ROWS_PLACES, in about two thirds of the
 * CPU time of as many calls of store_row_put. */
int store_row_put_several(sqlite3_stmt *statement, const struct store_row *rows);

/*
 * Reads the current row of `statement` and verifies its checksum. Pointers in *out_message are
 * valid until the statement is stepped or reset. Returns SQLITE_OK; SQLITE_CORRUPT or SQLITE_NOMEM
 * leave *out_message untouched.
 */
int store_row_read(sqlite3_stmt *statement, struct persist_message *out_message);

/* Whether the current row has the host and the id of `key`. */
bool store_row_is_of(sqlite3_stmt *statement, const struct persist_message *key);

/*
 * Whether two messages have the same content: epoch, reach, withdraw hash, filter, media type and
 * payload.
 */
bool store_row_same_content(const struct persist_message *a, const struct persist_message *b);

/*
 * store_row_put_rule writes the row of a rule by a prepared statement with the places 1 to 9.
 * store_row_read_rule reads the current row, and verifies its checksum; the value of *out_rule is
 * valid until the statement is stepped or reset. Both return an SQLite result code.
 */
#define STORE_RULE_COLUMNS \
    "host_id, kind, value, number, created_ms, until_ms, checksum, seq, dropped"
int store_row_put_rule(sqlite3_stmt *statement, const struct persist_rule *rule);
int store_row_read_rule(sqlite3_stmt *statement, struct persist_rule *out_rule);

/*
 * store_row_put_decision writes the row of a decision, or replaces the row. store_row_read_decision
 * reads the current row, and verifies its checksum. Both return an SQLite result code.
 */
#define STORE_DECISION_COLUMNS \
    "host_id, number, time_ms, act, id, kind, reports, reason, uid, web, checksum"
int store_row_put_decision(sqlite3 *db, const struct persist_decision *decision);
int store_row_read_decision(sqlite3_stmt *statement, struct persist_decision *out_decision);

/* What a row of the table copy_decision says of a message: the states of persist_state that an
 * operator can decide for, and: */
enum { STORE_COPY_REMOVED = PERSIST_WITHHELD + 1 };

/* A row of the table copy_decision. */
struct store_copy {
    uint32_t host;
    uint32_t kind;        /* 0: about a message; else enum persist_rule_kind */
    const uint8_t *value; /* borrowed: the id of the message, or the value of the rule */
    size_t value_bytes;
    struct persist_decision_id id;
    int64_t until_ms; /* 0: the row has no end */
    uint32_t state;   /* of a message: APPROVED, WITHHELD or STORE_COPY_REMOVED; of a rule 0 */
    bool waits;
};

/*
 * store_row_put_copy writes a row, or replaces the one of the same host, kind and value, by a
 * prepared statement. store_row_read_copy reads the current row, and verifies its checksum; the
 * value is valid until the statement is stepped or reset. Both return an SQLite result code.
 */
#define STORE_COPY_COLUMNS \
    "host_id, kind, value, store_id, number, time_ms, until_ms, state, waits, checksum"
int store_row_put_copy(sqlite3_stmt *statement, const struct store_copy *copy);
int store_row_read_copy(sqlite3_stmt *statement, struct store_copy *out_copy);

/*
 * Writes the times of a stored message, and its new checksum, by the prepared statement
 * STORE_SHIFT. `message` is the whole message with its new times.
 */
int store_row_put_times(sqlite3_stmt *statement, const struct persist_message *message);

/*
 * store_row_put_epoch writes the row of an epoch; if the host has an epoch of this number, the
 * function changes nothing. store_row_read_epoch reads the current row, and verifies its checksum.
 * Both return an SQLite result code.
 */
#define STORE_EPOCH_COLUMNS "host_id, number, starts_ms, ends_ms, kept_ms, checksum, key"
int store_row_put_epoch(sqlite3 *db, const struct persist_epoch *epoch);
int store_row_read_epoch(sqlite3_stmt *statement, struct persist_epoch *out_epoch);

/*
 * The table of tombstones also keeps which messages the operator has removed: a message of host h
 * has a second row, with the host STORE_REMOVED_HOST + h. No host has such a number, so these rows
 * refuse no deposit, and they expire like all others.
 */
#define STORE_REMOVED_HOST INT64_C(0x80000000)

/* A row of the table `tombstone`. */
struct store_tombstone {
    uint32_t host; /* with STORE_REMOVED_HOST, perhaps */
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t expires_ms;
    int64_t seq;          /* 0: others are not told; the column is NULL */
    enum persist_why why; /* 0 in a row without seq */
};

/*
 * store_row_put_tombstone writes a tombstone, or replaces the one of the same host and id, by a
 * prepared statement. store_row_read_tombstone reads the current row, and verifies its checksum.
 * Both return an SQLite result code.
 */
#define STORE_TOMBSTONE_COLUMNS "host_id, id, expires_ms, checksum, seq, why"
int store_row_put_tombstone(sqlite3_stmt *statement, const struct store_tombstone *tombstone);
int store_row_read_tombstone(sqlite3_stmt *statement, struct store_tombstone *out_tombstone);

/* A message that went for a new deposit. */
struct store_eviction {
    int64_t seq; /* the number of the change */
    int64_t expires_ms;
    uint8_t id[MESSAGE_ID_BYTES];
};

enum {
    STORE_EVICTIONS_MAX = 128,
    STORE_EVICTION_BYTES = 32 /* in the column `messages`: seq and expires_ms, little-endian; id */
};

/*
 * A row of the table `evicted`: messages of one host that went for new deposits in one transaction,
 * in the order of their numbers. The row has the number of its last message: so the rows behind a
 * number have all messages behind this number. No two rows of a host have numbers in each other's
 * range.
 */
struct store_evictions {
    uint32_t host;
    uint32_t count; /* 1 .. STORE_EVICTIONS_MAX; 0: there is no row */
    struct store_eviction messages[STORE_EVICTIONS_MAX];
};

/*
 * store_row_put_evicted writes a row of at least one message, by a prepared statement.
 * store_row_read_evicted reads the current row, and verifies its checksum. Both return an SQLite
 * result code. The column expires_ms is the time when the last of the messages expires.
 * STORE_EVICTED_COUNT: how many messages a row has.
 */
#define STORE_EVICTED_COLUMNS "seq, host_id, expires_ms, checksum, messages"
#define STORE_EVICTED_COUNT   "length(messages) / 32"
int store_row_put_evicted(sqlite3_stmt *statement, const struct store_evictions *evictions);
int store_row_read_evicted(sqlite3_stmt *statement, struct store_evictions *out_evictions);

#endif
