/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_check: checks whether a database is damaged. The store runs this check before the store
 * writes anything to the database.
 *
 * - Structure: SQLite's quick_check reads every page and every row once. Its time is linear: 0.05 s
 *   for 100,000 messages (measured).
 * - Values: each row has a checksum, which reveals a changed byte. store_check verifies the
 *   checksums of all small tables. store_load_replay verifies the checksums of the messages,
 *   because start-up reads every message anyway.
 * - Indexes: SQLite's integrity_check compares the indexes of the small tables with their rows.
 *   store_load_replay compares the indexes of the messages.
 */
#ifndef DAEMON_STORE_CHECK_H
#define DAEMON_STORE_CHECK_H

#include <stdint.h>

#include <sqlite3.h>

enum { STORE_CHECK_DETAIL_BYTES = 128 };

/*
 * Checks a database without writing to it. Returns SQLITE_OK, SQLITE_CORRUPT for damage, or another
 * result code. On failure out_detail (STORE_CHECK_DETAIL_BYTES) has a few words.
 */
int store_check(sqlite3 *db, char *out_detail);

/*
 * Compares the SQL texts of a database's tables and indexes with those that the statements `tables`
 * create. Returns SQLITE_OK; SQLITE_CORRUPT if they differ; or another result code.
 */
int store_check_tables(sqlite3 *db, const char *tables);

#endif
