/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tables: the tables of the database, in the version STORE_VERSION. Results are SQLite's
 * codes.
 */
#ifndef DAEMON_STORE_TABLES_H
#define DAEMON_STORE_TABLES_H

#include <sqlite3.h>

/*
 * Creates the tables and sets the version in one transaction, so that a crash leaves either a
 * database without tables or a complete one.
 */
int store_tables_create(sqlite3 *db);

/*
 * Changes the tables of the version before into those of STORE_VERSION, within a transaction of the
 * caller. The caller checks the tables afterwards.
 */
int store_tables_migrate(sqlite3 *db);

/* Compares the schema of a database with the tables: SQLITE_CORRUPT if they differ. */
int store_tables_check(sqlite3 *db);

#endif
