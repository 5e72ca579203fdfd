/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_check: whether a database is whole, before anything is written to it.
 *
 * SQLite's quick_check walks every page and every row once: it proves the structure (0.05 s for
 * 100,000 messages, measured; linear). What it cannot see, a changed byte within a value, the rows'
 * checksums show: those of hosts, marks and meta here, those of messages while they are replayed
 * (store_load.h), which has to read each of them anyway. That the indexes are those of their rows
 * is proved here for the small tables, by integrity_check, and in store_load.h for the messages.
 */
#ifndef DAEMON_STORE_CHECK_H
#define DAEMON_STORE_CHECK_H

#include <stdint.h>

#include <sqlite3.h>

enum { STORE_CHECK_DETAIL_BYTES = 128 };

/*
 * SQLITE_OK; or what failed, SQLITE_CORRUPT for damage, and a few words in out_detail
 * (STORE_CHECK_DETAIL_BYTES). Reads only.
 */
int store_check(sqlite3 *db, char *out_detail);

#endif
