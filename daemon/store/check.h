/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_check: checks whether a database is damaged. The store runs this check at the start, before
 * it writes to the database.
 *
 * - Structure: SQLite's quick_check reads every table and index.
 * - Values: each row has a checksum. store_check verifies the checksums of all tables except
 *   `message`. store_replay_messages verifies the checksums of the messages, because start-up reads
 *   every message anyway.
 * - Indexes: SQLite's integrity_check compares the indexes of the other tables with their rows. The
 *   table `message` has no index.
 * - Ids: store_numbers_load checks that no two messages of a host have the same id, and that every
 *   message has its host.
 */
#ifndef DAEMON_STORE_CHECK_H
#define DAEMON_STORE_CHECK_H

#include <stdint.h>

#include <sqlite3.h>

enum { STORE_CHECK_DETAIL_BYTES = 128 };

/*
 * Checks a database without writing to it. Returns SQLITE_OK, SQLITE_CORRUPT for damage, or another
 * result code. On failure out_detail (STORE_CHECK_DETAIL_BYTES) says what was checked, or has
 * SQLite's text for the error.
 */
int store_check(sqlite3 *db, char *out_detail);

#endif
