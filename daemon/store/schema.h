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
    STORE_USE_WRITER_RELAXED, /* a power cut may lose whole commits, but no part of one */
};

/*
 * Opens a file that store_schema_open has accepted, and sets the connection up. `vfs`: of the
 * connection that store_schema_open made (store_schema_vfs). An SQLite result code; the caller owns
 * the connection (sqlite3_close).
 */
int store_schema_connect(const char *path, const char *vfs, enum store_use use, sqlite3 **out_db);

/*
 * Opens or creates the database for its one writer and checks it (see check.h). 0, or negative with
 * a sentence in out_reason (PERSIST_REASON_BYTES): -ERR_DAMAGED, -ERR_VERSION, -ERR_STORAGE,
 * -ERR_NOMEM; a file that is refused is left as it was, bit by bit. O(size of the file).
 */
int store_schema_open(const char *path, enum store_use use, sqlite3 **out_db, char *out_reason);

/*
 * The name of the VFS (SQLite's file system functions) of a connection; static storage. It is
 * STORE_HEAP_VFS on a file system that refuses shared memory, as JFFS2 does. The index of the log
 * (WAL) is on the heap then, and other programs cannot open the database. All connections of a
 * process must use the same VFS.
 */
#define STORE_HEAP_VFS "unix-excl"
const char *store_schema_vfs(sqlite3 *db);

/*
 * Closes the last connection, runs a checkpoint and deletes the log: the database is one file
 * again. sqlite3_close alone keeps the log.
 */
void store_schema_close_last(sqlite3 *db);

/*
 * Sets how long statements wait for another program's lock: `patient`: one second, as at first;
 * otherwise 20 ms.
 */
void store_schema_set_patience(sqlite3 *db, bool patient);

#endif
