/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"
#include "daemon/store/tables.h"
#include "daemon/store/thread/replay.h"

enum { SLICE_PAGES = 256 }; /* 1 MiB at most; the writer commits operations between two slices */

static int backup_refuse(const char *path, const char *why, char *out_reason)
{
    (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %s", path, why);
    return -ERR_SYSTEM;
}

/* Syncs a file, or the entries of a directory, to storage. Returns 0 or errno. */
static int sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    int rc = fsync(fd) == 0 ? 0 : errno;
    (void)close(fd); /* nothing was written through it */
    return rc;
}

/* Syncs the directory of the file at `path`. 0 or errno. */
static int sync_directory(const char *path)
{
    char directory[4096 + 8];
    const char *slash = strrchr(path, '/');

    if (slash == NULL || (size_t)(slash - path) >= sizeof(directory)) {
        return EINVAL;
    }
    (void)snprintf(directory, sizeof(directory), "%.*s", slash == path ? 1 : (int)(slash - path),
                   path);
    return sync_file(directory);
}

/* Makes a new empty file that only its owner may read. */
static int backup_create_file(const char *part, char *out_reason)
{
    int fd = open(part, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 && errno == EEXIST) {
        return backup_refuse(part,
                             "it is there: another backup is under way, or one was interrupted; "
                             "remove it then",
                             out_reason);
    }
    if (fd < 0 && (errno == EROFS || errno == EACCES)) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.300s: %s; the daemon writes the file itself: name one in its data "
                       "directory, where it may write",
                       part, strerror(errno));
        return -ERR_SYSTEM;
    }
    if (fd < 0) {
        return backup_refuse(part, strerror(errno), out_reason);
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

    /*
     * SQLite does not sync the copy, which makes the copy faster. backup_finish syncs the whole
     * copy before the copy gets its name.
     */
    if (rc == SQLITE_OK) {
        rc = store_exec(backup->copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
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

/* Syncs the complete copy to storage, and then gives it the name FILE instead of FILE.part. */
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
        rc = sync_file(backup->part);
    }
    /* link, unlike rename, does not replace a file. */
    if (rc == 0 && link(backup->part, backup->path) != 0) {
        rc = errno;
    }
    if (rc == 0) {
        (void)unlink(backup->part);
        backup->bytes = (uint64_t)status.st_size;
        rc = sync_directory(backup->path);
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

/* --- restoring a backup ----------------------------------------------------------------------- */

enum { PATH_ROOM = 4096 + 32 };

struct paths {
    char target[PATH_ROOM];
    char part[PATH_ROOM];
};

static bool is_there(const char *path, const char *suffix)
{
    char whole[PATH_ROOM + 8];
    struct stat status;

    (void)snprintf(whole, sizeof(whole), "%s%s", path, suffix);
    return lstat(whole, &status) == 0;
}

static void remove_part(const struct paths *paths)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char whole[PATH_ROOM + 8];

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        (void)snprintf(whole, sizeof(whole), "%s%s", paths->part, suffixes[i]);
        (void)unlink(whole); /* most of them do not exist */
    }
}

/* 0 or errno. */
static int copy_bytes(int from, int to)
{
    static char buffer[64 * 1024];
    ssize_t count;

    while ((count = read(from, buffer, sizeof(buffer))) != 0) {
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return errno;
        }
        for (ssize_t done = 0; done < count;) {
            ssize_t more = write(to, buffer + done, (size_t)(count - done));
            if (more < 0 && errno != EINTR) {
                return errno;
            }
            done += more > 0 ? more : 0;
        }
    }
    return fsync(to) == 0 ? 0 : errno;
}

static int restore_copy(const struct paths *paths, int source, const char *file, char *out_reason)
{
    int to = open(paths->part, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = to < 0 ? errno : copy_bytes(source, to);

    if (to >= 0 && close(to) != 0 && rc == 0) {
        rc = errno;
    }
    return rc == 0 ? 0 : backup_refuse(file, strerror(rc), out_reason);
}

static int count_message(void *context, const struct persist_message *message)
{
    (void)message; /* it has been proved by its checksum */
    ++*(uint64_t *)context;
    return 0;
}

/*
 * Gives the copy a new store id, and leaves its place as it is. The hosts of the copy are not
 * marked as restored: the copies of a host may know of changes since the backup.
 */
static int renew_store_id(sqlite3 *db)
{
    struct store_meta meta;
    int rc = store_table_query(db, "SELECT * FROM meta", NULL, &store_meta_table, &meta);

    if (rc == SQLITE_ROW) {
        rc = store_run(db, "DELETE FROM rule WHERE kind = ?1",
                       STORE_VALUES(STORE_NUMBER(PERSIST_RESTORED)));
    }
    randombytes_buf(meta.store_id, sizeof(meta.store_id));
    return rc == SQLITE_OK ? store_table_insert(db, "INSERT OR REPLACE", &store_meta_table, &meta)
                           : rc;
}

/* Checks the copy, and gives it a new store id. */
static int restore_examine(const struct paths *paths, const char *file, uint64_t *out_messages,
                           char *out_reason)
{
    char said[PERSIST_REASON_BYTES] = "";
    sqlite3 *db = NULL;
    int code = store_schema_open(paths->part, STORE_USE_WRITER, STORE_PAGE_BYTES, &db, said);

    *out_messages = 0;
    if (code == 0) {
        struct store_load load = {db, paths->part, said};
        struct store_numbers *numbers = store_numbers_new();

        code = numbers == NULL ? -ERR_NOMEM : store_load_numbers(&load, numbers);
        store_numbers_free(numbers);
        if (code == 0) {
            code = store_replay_messages(&load, count_message, out_messages);
        }
    }
    if (code == 0 && renew_store_id(db) != SQLITE_OK) {
        (void)snprintf(said, sizeof(said), "%s", store_error_reason(SQLITE_IOERR));
        code = -ERR_STORAGE;
    }
    if (db != NULL) {
        store_schema_close_last(db); /* runs a checkpoint */
    }
    if (code == 0 && is_there(paths->part, "-wal")) {
        (void)snprintf(said, sizeof(said), "%s", store_error_reason(SQLITE_IOERR));
        code = -ERR_STORAGE;
    }
    if (code == -ERR_DAMAGED) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.300s is damaged, or no backup; nothing was restored", file);
    } else if (code == -ERR_VERSION) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.300s was made by a newer or an older hearsayd; nothing was restored. "
                       "Restore it with that version",
                       file);
    } else if (code != 0) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %.150s", file, said);
    }
    return code;
}

int store_restore(const char *directory, int source, const char *file, uint64_t *out_messages,
                  char *out_reason)
{
    struct paths paths;
    struct stat status;
    uint64_t messages = 0;

    (void)snprintf(paths.target, sizeof(paths.target), "%.4096s/messages.db", directory);
    (void)snprintf(paths.part, sizeof(paths.part), "%.4096s/restore.part", directory);
    if (is_there(paths.target, "") || is_there(paths.target, "-wal")) {
        return backup_refuse(
            paths.target,
            "there is a store already; restore into an empty directory, or move its "
            "files away",
            out_reason);
    }
    if (fstat(source, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 512) {
        return backup_refuse(file, "this is no backup", out_reason);
    }
    if (is_there(file, "-wal")) {
        return backup_refuse(
            file,
            "it has a log beside it (-wal): this is a store, not a backup. Make one with "
            "`hearsay admin backup`",
            out_reason);
    }
    remove_part(&paths); /* left by an interrupted restore; the caller holds the lock */
    int code = restore_copy(&paths, source, file, out_reason);
    if (code == 0) {
        code = restore_examine(&paths, file, &messages, out_reason);
    }
    if (code == 0) {
        int rc = sync_file(paths.part);
        if (rc == 0 && rename(paths.part, paths.target) != 0) {
            rc = errno;
        }
        if (rc == 0) {
            rc = sync_directory(paths.target);
        }
        code = rc == 0 ? 0 : backup_refuse(paths.target, strerror(rc), out_reason);
    }
    remove_part(&paths);
    if (code == 0) {
        *out_messages = messages;
    }
    return code;
}
