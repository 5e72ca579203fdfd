/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/error.h"

#include <stdio.h>

#include <sqlite3.h>

#include "core/base/err.h"
#include "daemon/store/persist.h"

const char *store_error_reason(int rc)
{
    if (rc == SQLITE_READONLY_DBMOVED) {
        return "the database was moved, removed or replaced while hearsayd runs: put its files "
               "back, because a restart begins without what they have";
    }
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return "the storage is full";
    case SQLITE_NOMEM:
        return "the message store has no memory left";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program holds the database locked";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "the database is damaged: restart hearsayd to have it checked";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return "the database may not be written to: check the owner and the permissions";
    case SQLITE_TOOBIG:
        return "the message is larger than the database takes";
    default:
        return "the storage reported an input/output error";
    }
}

/* Returns words that say what the operator should look at. */
static const char *error_advice(int rc)
{
    if (rc == SQLITE_IOERR_SHMMAP) {
        return "the file system cannot share memory between connections, and the way around that "
               "failed, too: use another file system for the data directory";
    }
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return "the storage is full: make room on the file system of the data directory";
    case SQLITE_IOERR:
        return "the storage failed: look at the system's log, and at the free space";
    default:
        return "check the owner and the permissions of it and of its directory, and the free space";
    }
}

int store_error_refuse(const char *path, int rc, const char *detail, char *out_reason)
{
    const char *text = detail != NULL ? detail : sqlite3_errstr(rc);
    char copy[128]; /* out_reason may be where detail lies */

    (void)snprintf(copy, sizeof(copy), "%s", text);
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* SQLite did not understand the schema of the file */
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.160s is damaged or not a message store (%s); it was left untouched. "
                       "Restore a backup, or try `sqlite3 FILE .recover`, or move it and its -wal "
                       "file away to start empty",
                       path, copy);
        return -ERR_DAMAGED;
    case SQLITE_NOMEM:
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "out of memory while opening %.160s",
                       path);
        return -ERR_NOMEM;
    case SQLITE_BUSY:
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.160s is locked by another program: end that first", path);
        return -ERR_STORAGE;
    default:
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%.160s cannot be used (%s): %s", path,
                       copy, error_advice(rc));
        return -ERR_STORAGE;
    }
}
