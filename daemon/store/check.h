/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_check: whether a database is whole. It runs before anything is written to the database.
 *
 * - Structure: SQLite's quick_check reads every page and every row once (0.05 s for 100,000
 * messages, measured; linear).
 * - Values: the checksum of each row shows a changed byte within a value. store_check proves the
 * rows of all small tables. store_load_replay proves the messages, which it has to read anyway.
 * - Indexes: integrity_check compares the indexes of the small tables with their rows.
 *   store_load_replay does so for the messages.
 */
#ifndef DAEMON_STORE_CHECK_H
#define DAEMON_STORE_CHECK_H

#include <stdint.h>

#include <sqlite3.h>

enum { STORE_CHECK_DETAIL_BYTES = 128 };

/*
 * SQLITE_OK; SQLITE_CORRUPT for damage, or another result code, with a few words in out_detail
 * (STORE_CHECK_DETAIL_BYTES). Reads only.
 */
int store_check(sqlite3 *db, char *out_detail);

#endif
