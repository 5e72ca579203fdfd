/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_backup: backups of a database that is in use, and their restoration.
 *
 * The connection that writes makes the copy, a slice at a time. The copy also gets the changes that
 * this connection makes between two slices. So the copy has the state of the database at the time
 * of the last slice, and checkpoints can run meanwhile.
 *
 * The copy is written to FILE.part, and gets the name FILE when it is whole and on storage. A
 * backup does not overwrite an existing file.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

struct store_backup {
    char *path; /* owned */
    char *part; /* owned */
    sqlite3 *copy;
    sqlite3_backup *backup;
    uint64_t bytes; /* size of the copy, after store_backup_step has returned 0 */
};

/*
 * Begins a copy of the database `db` into a file at `path`. `path` is absolute; the function fails
 * if a file of this path exists. Returns 0, or a negative error with a sentence in out_reason
 * (PERSIST_REASON_BYTES). -ERR_SYSTEM means that no file can be made there.
 */
int store_backup_begin(struct store_backup *backup, sqlite3 *db, const char *path,
                       char *out_reason);

/*
 * Copies the next slice. Returns STORE_BACKUP_MORE if slices are left, and 0 when the backup is
 * complete and has its name. On failure the function deletes FILE.part and returns a negative error
 * with a sentence in out_reason.
 */
enum { STORE_BACKUP_MORE = 1 };
int store_backup_step(struct store_backup *backup, char *out_reason);

/* Aborts the backup and deletes FILE.part. The database must still be open. */
void store_backup_abort(struct store_backup *backup);

/* Frees the memory after store_backup_step has returned 0 or has failed. May be called twice. */
void store_backup_forget(struct store_backup *backup);

/*
 * Restores a backup into a directory without a database. `source` is the backup, open for reading;
 * `file` is the path of the backup, for error sentences and to refuse a file with a log beside it.
 * The function copies the backup, checks every message of the copy by its checksum, and names the
 * copy DIRECTORY/messages.db. The copy gets a new store id, because cursors of clients may point
 * behind the end of the backup. Returns 0 and sets *out_messages to the number of messages. Or
 * returns a negative error with a sentence in out_reason (PERSIST_REASON_BYTES); then the function
 * has made no database, unless only the last sync of the directory has failed. No daemon may run on
 * the directory: the caller holds the lock of the directory.
 */
int store_restore(const char *directory, int source, const char *file, uint64_t *out_messages,
                  char *out_reason);
