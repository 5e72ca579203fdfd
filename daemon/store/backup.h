/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_backup: backups of a database that is in use, and their restoration.
 *
 * The connection that writes makes the copy, a slice at a time. The copy also gets every change
 * that this connection makes between two slices. So the copy has the state of the database at the
 * time of the last slice, and checkpoints can run meanwhile.
 *
 * The copy is written to FILE.part. The file gets its name when the copy is whole and on storage.
 * No file is ever overwritten.
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

/* Copies the next slice. STORE_BACKUP_MORE; 0 when the backup is complete; negative on failure:
   then all its files are deleted. */
enum { STORE_BACKUP_MORE = 1 };
int store_backup_step(struct store_backup *backup, char *out_reason);

/* Aborts the backup and deletes its files. To be called before db is closed. */
void store_backup_abort(struct store_backup *backup);

/* Frees the memory after store_backup_step has returned 0 or has failed. */
void store_backup_forget(struct store_backup *backup);

/*
 * Copies the file that is open for reading as `source` (`file` is its name for sentences), checks
 * the whole copy, every message by its checksum, and names it DIRECTORY/messages.db. The copy gets
 * a new store id: cursors of clients may point behind the end of the backup. 0 with the number of
 * messages; or negative with a sentence in out_reason (PERSIST_REASON_BYTES), and the directory is
 * unchanged.
 */
int store_restore(const char *directory, int source, const char *file, uint64_t *out_messages,
                  char *out_reason);

#endif
