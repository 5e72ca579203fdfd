/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tables: the tables of the database, in the version STORE_VERSION (table.h). Results are
 * SQLite's codes.
 */
#ifndef DAEMON_STORE_TABLES_H
#define DAEMON_STORE_TABLES_H

#include <sqlite3.h>

#include "daemon/store/table.h"

extern const struct store_table store_meta_table;       /* struct store_meta */
extern const struct store_table store_host_table;       /* struct store_host */
extern const struct store_table store_message_table;    /* struct persist_message */
extern const struct store_table store_tombstone_table;  /* struct store_tombstone */
extern const struct store_table store_epoch_table;      /* struct persist_epoch */
extern const struct store_table store_moderation_table; /* struct store_review */
extern const struct store_table store_decision_table;   /* struct persist_decision */
extern const struct store_table store_rule_table;       /* struct persist_rule */
extern const struct store_table store_evicted_table;    /* struct store_evicted_row */
extern const struct store_table store_copy_table;       /* struct store_copy */

/* The place of the first column that a statement with `SELECT message.*` adds. */
enum { STORE_MESSAGE_PLACES = 12 };

/*
 * Creates the tables and sets the version in one transaction, so that a crash leaves either a
 * database without tables or a complete one.
 */
int store_tables_create(sqlite3 *db);

/* Compares the schema of a database with the tables: SQLITE_CORRUPT if they differ. */
int store_tables_check(sqlite3 *db);

/*
 * Reads all rows of all tables but `message`, which start-up reads anyway. SQLITE_CORRUPT: a row is
 * damaged, and *out_what names it. Other codes are errors.
 */
int store_tables_check_rows(sqlite3 *db, const char **out_what);

#endif
