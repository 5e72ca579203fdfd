/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/persist.h"
#include "daemon/store/schema.h"

enum { SLICE_PAGES = 256 }; /* 1 MiB: takes some milliseconds, then operations have their turn */

static int backup_refuse(const char *path, const char *why, char *out_reason)
{
    (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %s", path, why);
    return -ERR_SYSTEM;
}

int store_backup_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    int rc = fsync(fd) == 0 ? 0 : errno;
    (void)close(fd); /* nothing was written through it */
    return rc;
}

int store_backup_sync_directory(const char *path)
{
    char directory[4096 + 8];
    const char *slash = strrchr(path, '/');

    if (slash == NULL || (size_t)(slash - path) >= sizeof(directory)) {
        return EINVAL;
    }
    (void)snprintf(directory, sizeof(directory), "%.*s", slash == path ? 1 : (int)(slash - path),
                   path);
    return store_backup_sync(directory);
}

/* Makes a new empty file that only its owner may read. */
static int backup_create_file(const char *part, char *out_reason)
{
    int fd = open(part, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        return backup_refuse(part,
                             errno == EEXIST
                                 ? "it is there: another backup is under way, or one was "
                                   "interrupted; remove it then"
                                 : strerror(errno),
                             out_reason);
    }
    (void)close(fd); /* it is empty */
    return 0;
}

void store_backup_forget(struct store_backup *backup)
{
    (void)sqlite3_close(backup->copy);
    free(backup->path);
    free(backup->part);
    memset(backup, 0, sizeof(*backup));
}

void store_backup_abort(struct store_backup *backup)
{
    (void)sqlite3_backup_finish(backup->backup); /* repeats what step said */
    (void)sqlite3_close(backup->copy);
    backup->copy = NULL;
    if (backup->part != NULL) {
        (void)unlink(backup->part);
    }
    store_backup_forget(backup);
}

static int open_copy(struct store_backup *backup, sqlite3 *db)
{
    int rc =
        sqlite3_open_v2(backup->part, &backup->copy,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

    /* SQLite does not sync the copy: only a whole copy gets the backup's name, and backup_finish
     * syncs it first. */
    if (rc == SQLITE_OK) {
        rc = store_schema_run(backup->copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    }
    if (rc == SQLITE_OK) {
        backup->backup = sqlite3_backup_init(backup->copy, "main", db, "main");
        rc = backup->backup != NULL ? SQLITE_OK : sqlite3_errcode(backup->copy);
    }
    return rc;
}

int store_backup_begin(struct store_backup *backup, sqlite3 *db, const char *path, char *out_reason)
{
    size_t room = strlen(path) + sizeof(".part");
    struct stat status;

    memset(backup, 0, sizeof(*backup));
    if (lstat(path, &status) == 0) {
        return backup_refuse(path, "it is there already, and is not overwritten", out_reason);
    }
    backup->path = strdup(path);
    backup->part = malloc(room);
    if (backup->path == NULL || backup->part == NULL) {
        store_backup_forget(backup);
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "out of memory");
        return -ERR_NOMEM;
    }
    (void)snprintf(backup->part, room, "%s.part", path);
    int code = backup_create_file(backup->part, out_reason);
    if (code != 0) {
        store_backup_forget(backup);
        return code;
    }
    int rc = open_copy(backup, db);
    if (rc != SQLITE_OK) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %s", path,
                       store_error_reason(rc));
        store_backup_abort(backup);
        return -ERR_STORAGE;
    }
    return 0;
}

/* The copy is whole: syncs it to storage and gives it its name. */
static int backup_finish(struct store_backup *backup, char *out_reason)
{
    struct stat status;
    int rc = 0;

    backup->backup = NULL;
    (void)sqlite3_close(backup->copy);
    backup->copy = NULL;
    if (stat(backup->part, &status) != 0) {
        rc = errno;
    }
    if (rc == 0) {
        rc = store_backup_sync(backup->part);
    }
    /* link, unlike rename, does not replace a file. */
    if (rc == 0 && link(backup->part, backup->path) != 0) {
        rc = errno;
    }
    if (rc == 0) {
        (void)unlink(backup->part);
        backup->bytes = (uint64_t)status.st_size;
        rc = store_backup_sync_directory(backup->path);
    }
    if (rc != 0) {
        int code = backup_refuse(backup->path, strerror(rc), out_reason);
        store_backup_abort(backup);
        return code;
    }
    return 0;
}

int store_backup_step(struct store_backup *backup, char *out_reason)
{
    int rc = sqlite3_backup_step(backup->backup, SLICE_PAGES);

    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED) {
        return STORE_BACKUP_MORE;
    }
    if (rc == SQLITE_DONE) {
        rc = sqlite3_backup_finish(backup->backup);
        if (rc == SQLITE_OK) {
            return backup_finish(backup, out_reason);
        }
        backup->backup = NULL;
    }
    (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %s", backup->path,
                   store_error_reason(rc));
    store_backup_abort(backup);
    return -ERR_STORAGE;
}
