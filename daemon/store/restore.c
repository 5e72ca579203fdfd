/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "core/base/err.h"
#include "daemon/store/backup.h"
#include "daemon/store/error.h"
#include "daemon/store/load.h"
#include "daemon/store/persist.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"

enum { PATH_ROOM = 4096 + 32 };

struct paths {
    char target[PATH_ROOM];
    char part[PATH_ROOM];
};

static int restore_refuse(const char *path, const char *why, char *out_reason)
{
    (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.300s: %s", path, why);
    return -ERR_SYSTEM;
}

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
    return rc == 0 ? 0 : restore_refuse(file, strerror(rc), out_reason);
}

static int count_message(void *context, const struct persist_message *message)
{
    (void)message; /* it has been proved by its checksum */
    ++*(uint64_t *)context;
    return 0;
}

static int renew_store_id(sqlite3 *db)
{
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, "SELECT next_seq, clock_ms FROM meta", -1, &statement, NULL);
    int64_t next_seq = 0;
    int64_t clock_ms = 0;

    if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        next_seq = sqlite3_column_int64(statement, 0);
        clock_ms = sqlite3_column_int64(statement, 1);
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    if (rc != SQLITE_OK) {
        return rc;
    }
    randombytes_buf(store_id, sizeof(store_id));
    rc = sqlite3_prepare_v2(db, "UPDATE meta SET store_id = ?1, checksum = ?2", -1, &statement,
                            NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(statement, 1, store_id, sizeof(store_id), SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 2, store_meta_checksum(store_id, next_seq, clock_ms));
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Checks the copy, and gives it a new store id. */
static int restore_examine(const struct paths *paths, const char *file, uint64_t *out_messages,
                           char *out_reason)
{
    char said[PERSIST_REASON_BYTES] = "";
    sqlite3 *db = NULL;
    int code = store_schema_open(paths->part, STORE_USE_WRITER, &db, said);

    *out_messages = 0;
    if (code == 0) {
        code = store_load_replay(db, paths->part, count_message, out_messages, said);
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
        return restore_refuse(
            paths.target,
            "there is a store already; restore into an empty directory, or move its "
            "files away",
            out_reason);
    }
    if (fstat(source, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 512) {
        return restore_refuse(file, "this is no backup", out_reason);
    }
    if (is_there(file, "-wal")) {
        return restore_refuse(
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
        int rc = store_backup_sync(paths.part);
        if (rc == 0 && rename(paths.part, paths.target) != 0) {
            rc = errno;
        }
        if (rc == 0) {
            rc = store_backup_sync_directory(paths.target);
        }
        code = rc == 0 ? 0 : restore_refuse(paths.target, strerror(rc), out_reason);
    }
    remove_part(&paths);
    if (code == 0) {
        *out_messages = messages;
    }
    return code;
}
