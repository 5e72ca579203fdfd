/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_row: writes and reads the rows of messages, rules, decisions and epochs, and computes the
 * checksums of all rows. A wrong checksum shows that a row is not as it was written.
 *
 * A checksum is computed from the columns of its row with XXH3-64, integers as little-endian on
 * every machine. Checksums reveal accidental damage. They do not protect against forgery.
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

/*
 * Writes the row of a message by the prepared INSERT `statement`, which has the places 1 to 12.
 * Returns an SQLite result code.
 */
int store_row_put(sqlite3_stmt *statement, int64_t seq, const struct persist_message *message);

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
 * store_row_put_rule writes the row of a rule by a prepared statement with the places 1 to 7.
 * store_row_read_rule reads the current row, and verifies its checksum; the value of *out_rule is
 * valid until the statement is stepped or reset. Both return an SQLite result code.
 */
#define STORE_RULE_COLUMNS "host_id, kind, value, number, created_ms, until_ms, checksum"
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

/* Each function returns the checksum of a row, as a signed number, because SQLite stores signed
 * numbers. */
int64_t store_message_checksum(int64_t seq, const struct persist_message *message);
int64_t store_host_checksum(uint32_t host, const char *name, const char *profile);
int64_t store_tombstone_checksum(uint32_t host, const uint8_t *id, int64_t expires_ms);
int64_t store_moderation_checksum(int64_t seq, int64_t state, int64_t reports, int64_t destroy_ms,
                                  int64_t removed_ms, const void *reasons, size_t reasons_bytes);
int64_t store_meta_checksum(const uint8_t *store_id, int64_t next_seq, int64_t clock_ms,
                            int64_t shift_from_ms);

#endif
