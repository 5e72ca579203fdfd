/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_schema: the database file: how a connection to it is set up, which tables it has, and when
 * a file is refused.
 *
 * There is one version of the tables. A file of another version, newer or older, is refused. The
 * store writes to a file only after these checks: the file is ours, of our version, and whole.
 * Connections are not shared: one thread uses one at a time.
 */
#ifndef DAEMON_STORE_SCHEMA_H
#define DAEMON_STORE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    STORE_APPLICATION_ID = 0x48525359, /* "HRSY", at byte 68 of the file */
    STORE_VERSION = 3                  /* of the schema, at byte 60 */
};

enum store_use {
    STORE_USE_READER,         /* never writes */
    STORE_USE_WRITER,         /* a commit is on storage when it returns */
    STORE_USE_WRITER_RELAXED, /* a commit may be lost with the power, but none is half there */
};

/*
 * Opens a file that is there and sets the connection up. For files that store_schema_open has
 * accepted; `vfs`: that of the connection it made (store_schema_vfs). An SQLite result code; the
 * connection is owned by the caller (sqlite3_close).
 */
int store_schema_connect(const char *path, const char *vfs, enum store_use use, sqlite3 **out_db);

/*
 * Opens or creates the database for its one writer and checks it (see check.h). 0, or negative with
 * a sentence in out_reason (PERSIST_REASON_BYTES): -ERR_DAMAGED, -ERR_VERSION, -ERR_STORAGE,
 * -ERR_NOMEM; a file that is refused is left as it was, bit by bit. O(size of the file).
 */
int store_schema_open(const char *path, enum store_use use, sqlite3 **out_db, char *out_reason);

/*
 * SQLite's name of the file system functions that a connection uses; static storage. It is
 * STORE_HEAP_VFS where the file system refuses shared memory, as JFFS2 does: the index of the log
 * (WAL) is on the heap then. All connections of a process must use the same; other programs cannot
 * open the database meanwhile.
 */
#define STORE_HEAP_VFS "unix-excl"
const char *store_schema_vfs(sqlite3 *db);

/*
 * Closes the last connection and takes the log away, so that the database is one file again. A
 * connection closed with sqlite3_close leaves the log where it is.
 */
void store_schema_close_last(sqlite3 *db);

/*
 * How long statements wait for another program's lock: a second, as connections begin, or hardly at
 * all.
 */
void store_schema_set_patience(sqlite3 *db, bool patient);

/* Reads a pragma's or a query's one number. An SQLite result code. */
int store_schema_read_number(sqlite3 *db, const char *sql, int64_t *out);

/* Runs statements that give no rows. An SQLite result code. */
int store_schema_run(sqlite3 *db, const char *sql);

#endif
