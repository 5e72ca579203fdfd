/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_schema: the database file: how a connection is set up, which tables a database has, and
 * which files are refused.
 *
 * The tables have a version, STORE_VERSION. A file of another version, newer or older, is refused.
 * Before the store writes to a file that is not empty, it checks that the file is a hearsay
 * database of this version and is not damaged. One thread at a time uses a connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    STORE_APPLICATION_ID = 0x48525359, /* "HRSY", at byte 68 of the file */
    STORE_VERSION = 10                 /* of the tables, at byte 60 of the file */
};

/*
 * Sizes of pages. A transaction that changes one row writes whole pages to the log. A small store
 * has small pages, for less wear of flash; in a large store they make deposits slower
 * (docs/performance.md).
 */
enum store_page { STORE_PAGE_BYTES = 4096, STORE_PAGE_BYTES_SMALL = 1024 };

enum store_use {
    STORE_USE_READER,         /* cannot write */
    STORE_USE_WRITER,         /* a commit is on storage when it returns */
    STORE_USE_WRITER_RELAXED, /* a power cut may lose whole commits, but not a part of a commit */
};

/*
 * Opens a further connection to a database that store_schema_open has accepted, and sets the
 * connection up. `vfs` is the VFS of the first connection (store_schema_vfs). Returns an SQLite
 * result code. The caller owns the connection (sqlite3_close).
 */
int store_schema_connect(const char *path, const char *vfs, enum store_use use, sqlite3 **out_db);

/*
 * Opens or creates the database for its one writer, and checks the database (see check). Returns
 * 0; or -ERR_DAMAGED, -ERR_VERSION, -ERR_STORAGE or -ERR_NOMEM with a sentence in out_reason
 * (PERSIST_REASON_BYTES). With -ERR_DAMAGED and -ERR_VERSION the file is unchanged, bit by bit.
 * O(size of the file). `page_bytes`: the size of the pages of a new database, one of enum
 * store_page.
 */
int store_schema_open(const char *path, enum store_use use, int page_bytes, sqlite3 **out_db,
                      char *out_reason);

/*
 * Work that reads the database on another thread while store_schema_open_beside checks it: `begin`
 * gets what store_schema_connect needs, and `end` is called after the check. The database may turn
 * out to be damaged.
 */
struct store_beside {
    void (*begin)(void *context, const char *path, const char *vfs);
    void (*end)(void *context);
    void *context;
};

/*
 * As store_schema_open, and calls the functions of `beside` before and after the check. They are
 * not called for a new database.
 */
int store_schema_open_beside(const char *path, enum store_use use, int page_bytes,
                             const struct store_beside *beside, sqlite3 **out_db, char *out_reason);

/* Returns the size of the pages of a database; STORE_PAGE_BYTES if it cannot be read. */
uint64_t store_schema_page_bytes(sqlite3 *db);

/*
 * Returns the name of the VFS (SQLite's layer of file system functions) of a connection, in static
 * storage; NULL: not known. On a file system that refuses shared memory, such as JFFS2,
 * store_schema_open uses STORE_HEAP_VFS. Then the index of the log (WAL) is on the heap, and other
 * programs cannot open the database. All connections to a database must use the same VFS.
 */
#define STORE_HEAP_VFS "unix-excl"
const char *store_schema_vfs(sqlite3 *db);

/*
 * Closes the last connection of a database. The functions of this header open each connection with
 * SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, so sqlite3_close alone runs no checkpoint and keeps the WAL.
 * This function clears the setting first: SQLite then runs a checkpoint and deletes the WAL, so
 * that the database is one file. If the checkpoint fails, the WAL stays.
 */
void store_schema_close_last(sqlite3 *db);

/*
 * Sets how long statements wait for another program's lock. `patient` true: one second, as on a new
 * connection; false: 20 ms.
 */
void store_schema_set_patience(sqlite3 *db, bool patient);

/* --- check ------------------------------------------------------------------------------------ */

/*
 * store_check: checks whether a database is damaged. The store runs this check at the start, before
 * it writes to the database.
 *
 * - Structure: SQLite's quick_check reads every table and index.
 * - Values: each row has a checksum. store_check verifies the checksums of all tables except
 *   `message`. store_replay_messages verifies the checksums of the messages, because start-up reads
 *   every message anyway.
 * - Indexes: SQLite's integrity_check compares the indexes of the other tables with their rows. The
 *   table `message` has an index of answers only; store_replay_messages compares their number.
 * - Ids: store_numbers_load checks that no two messages of a host have the same id, and that every
 *   message has its host.
 */

enum { STORE_CHECK_DETAIL_BYTES = 128 };

/*
 * Checks a database without writing to it. Returns SQLITE_OK, SQLITE_CORRUPT for damage, or another
 * result code. On failure out_detail (STORE_CHECK_DETAIL_BYTES) says what was checked, or has
 * SQLite's text for the error.
 */
int store_check(sqlite3 *db, char *out_detail);
