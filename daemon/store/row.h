/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_row: how messages and rules become rows of their tables, and the checksums of all rows. A
 * wrong checksum shows that the storage has changed a row.
 *
 * A checksum is XXH3-64 over every column of its row, in little-endian byte order on every machine.
 * It finds accidents; it does not stop a forger.
 */
#ifndef DAEMON_STORE_ROW_H
#define DAEMON_STORE_ROW_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

/* Every SELECT of messages reads these columns in this order; the INSERT binds them so. */
#define STORE_ROW_COLUMNS                                                      \
    "seq, host_id, id, epoch, deposited_ms, expires_ms, reach_ppm, checksum, " \
    "withdraw_hash, filter, media_type, payload"
#define STORE_ROW_PLACES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"

/*
 * Binds a message to places 1 to 12. The message must stay in place until the statement is reset.
 * An SQLite result code.
 */
int store_row_bind(sqlite3_stmt *statement, int64_t seq, const struct persist_message *message);

/*
 * Reads the current row of the statement and proves it by its checksum. Pointers in *out_message
 * are valid until the statement is stepped or reset. SQLITE_OK, SQLITE_CORRUPT or SQLITE_NOMEM;
 * outputs are untouched on failure.
 */
int store_row_read(sqlite3_stmt *statement, int64_t *out_seq, struct persist_message *out_message);

/* Whether two messages are the same in all but id, host and times. */
bool store_row_same_content(const struct persist_message *a, const struct persist_message *b);

/* The same for rules, with places 1 to 6. */
#define STORE_RULE_COLUMNS "host_id, kind, value, number, created_ms, checksum"
int store_row_bind_rule(sqlite3_stmt *statement, const struct persist_rule *rule);
int store_row_read_rule(sqlite3_stmt *statement, struct persist_rule *out_rule);

/* Checksums of rows, as SQLite stores integers. */
int64_t store_message_checksum(int64_t seq, const struct persist_message *message);
int64_t store_host_checksum(uint32_t host, const char *name, const char *profile);
int64_t store_epoch_checksum(const struct persist_epoch *epoch);
int64_t store_tombstone_checksum(uint32_t host, const uint8_t *id, int64_t expires_ms);
int64_t store_moderation_checksum(int64_t seq, int64_t state, int64_t reports, const void *reasons,
                                  size_t reasons_bytes);
int64_t store_meta_checksum(const uint8_t *store_id, int64_t next_seq, int64_t clock_ms);

#endif
