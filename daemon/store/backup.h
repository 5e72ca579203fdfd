/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_backup: a copy of a database that is in use, made a slice at a time by the connection that
 * writes: what it writes between two slices goes into the copy, too, so that the copy is of the
 * moment of its end, and the log can be emptied meanwhile.
 *
 * The copy is made as FILE.part and gets its name when it is whole and on storage. Nothing is ever
 * overwritten. Used by the writer's thread.
 */
#ifndef DAEMON_STORE_BACKUP_H
#define DAEMON_STORE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct store_backup {
    char *path; /* owned */
    char *part; /* owned */
    sqlite3 *copy;
    sqlite3_backup *backup;
    uint64_t bytes; /* of the copy, when it is done */
};

/*
 * Begins a copy of db into a file at `path` (absolute), which must not be there. 0; or negative
 * with a sentence in out_reason (PERSIST_REASON_BYTES): -ERR_SYSTEM when the path is at fault.
 */
int store_backup_begin(struct store_backup *backup, sqlite3 *db, const char *path,
                       char *out_reason);

/* The next slice: STORE_BACKUP_MORE, 0 when the file is there, or negative and nothing is left. */
enum { STORE_BACKUP_MORE = 1 };
int store_backup_step(struct store_backup *backup, char *out_reason);

/* Gives up; nothing is left. Before db is closed. */
void store_backup_abort(struct store_backup *backup);

/* Frees what is left after store_backup_step has returned 0; of one that failed nothing is. */
void store_backup_forget(struct store_backup *backup);

/* Makes sure that a file, or a directory's entries, are on storage. 0 or errno. */
int store_backup_sync(const char *path);

/* The directory that a path's file lies in, on storage. 0 or errno. */
int store_backup_sync_directory(const char *path);

#endif
