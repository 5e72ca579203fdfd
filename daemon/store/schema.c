/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/schema.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/tables.h"
#include "daemon/system/early_signals.h"
#include "daemon/system/log.h"

enum {
    VALUE_BYTES_MAX = 4 * 1024 * 1024, /* of a value or a row: four times the largest frame */
    STOP_STEPS = 10000,                /* of SQLite's machine: about a millisecond */
    BUSY_WAIT_MS = 1000,
    BUSY_WAIT_BRIEF_MS = 20
};

/* Run on a new file before its first page is written, after the size of the pages is set. */
static const char creation_pragmas[] =
    "PRAGMA encoding = 'UTF-8';"
    /*
     * SQLite uses free pages again. With auto_vacuum = FULL, SQLite would move pages to make the
     * file shorter, which wears out flash storage.
     */
    "PRAGMA auto_vacuum = NONE;";

/* Run on every connection. These pragmas do not change the file. */
static const char common_pragmas[] =
    /*
     * The file may come from another program. With trusted_schema = OFF, its views, triggers and
     * constraints cannot call functions that may have side effects.
     */
    "PRAGMA trusted_schema = OFF;"
    /*
     * With cell_size_check = ON, SQLite checks the sizes of the cells of a page when it reads the
     * page, and so notices damage early.
     */
    "PRAGMA cell_size_check = ON;"
    /*
     * With mmap_size = 0 the database is not mapped into memory. With a mapping, an input/output
     * error could raise SIGBUS.
     */
    "PRAGMA mmap_size = 0;"
    /* No temporary files, except for a compaction (job.c). */
    "PRAGMA temp_store = MEMORY;"
    /*
     * The size of the cache is 4096 KiB while the file is checked. Later writer_pragmas and
     * reader_pragmas set the size for each connection.
     */
    "PRAGMA cache_size = -4096;";

static const char reader_pragmas[] =
    "PRAGMA query_only = ON;"
    /* The reader reads random messages, so a cache of more than 512 KiB would help little. */
    "PRAGMA cache_size = -512;";

static const char writer_pragmas[] =
    /* SQLite overwrites deleted rows with zeros. */
    "PRAGMA secure_delete = ON;"
    /*
     * A cache of 4096 KiB is meant to hold all pages that a transaction of 2,000 deposits changes
     * in a store of 100,000 messages. With a cache that is too small SQLite writes pages to the log
     * before the commit, and perhaps more than once.
     */
    "PRAGMA cache_size = -4096;"
    /*
     * SQLite runs no checkpoint within a commit. The writer runs checkpoints between its
     * transactions.
     */
    "PRAGMA wal_autocheckpoint = 0;"
    /*
     * The tables have no foreign key: host numbers come from store_load, so they are valid, and a
     * foreign key would cost every deposit a search for the host.
     */
    "PRAGMA foreign_keys = OFF;";

/* --- connections ------------------------------------------------------------------------------ */

/* SQLite calls it every STOP_STEPS steps of a statement. Nonzero ends the statement with
 * SQLITE_INTERRUPT. */
static int on_progress(void *context)
{
    (void)context;
    return early_signals_stop();
}

static int open_file(const char *path, const char *vfs, int flags, sqlite3 **out_db)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);

    if (rc == SQLITE_OK) {
        rc = sqlite3_busy_timeout(db, BUSY_WAIT_MS);
    }
    if (rc != SQLITE_OK) {
        (void)sqlite3_close(db);
        return rc;
    }
    /* SQLite keeps small values in memory of its own (lookaside), which no free overwrites: the end
     * of a report's reason was found there after its message had gone. */
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    /* A stop while the daemon starts ends a long check, or the reading of all messages. */
    sqlite3_progress_handler(db, STOP_STEPS, on_progress, NULL);
    /* Closing the connection must not run a checkpoint, because the file may be refused later. */
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    *out_db = db;
    return SQLITE_OK;
}

/*
 * FULL: each commit syncs the log to storage. NORMAL: commits do not sync; a checkpoint syncs the
 * log before it writes to the database.
 */
static int set_durability(sqlite3 *db, enum store_use use)
{
    if (use == STORE_USE_READER) {
        return SQLITE_OK;
    }
    return store_exec(db, use == STORE_USE_WRITER ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = NORMAL");
}

static int set_pragmas(sqlite3 *db, enum store_use use)
{
    int rc = store_exec(db, common_pragmas);

    if (rc == SQLITE_OK) {
        rc = store_exec(db, use == STORE_USE_READER ? reader_pragmas : writer_pragmas);
    }
    return rc == SQLITE_OK ? set_durability(db, use) : rc;
}

int store_schema_connect(const char *path, const char *vfs, enum store_use use, sqlite3 **out_db)
{
    sqlite3 *db;
    int rc = open_file(path, vfs,
                       use == STORE_USE_READER ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE, &db);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = set_pragmas(db, use);
    if (rc != SQLITE_OK) {
        (void)sqlite3_close(db);
        return rc;
    }
    *out_db = db;
    return SQLITE_OK;
}

void store_schema_set_patience(sqlite3 *db, bool patient)
{
    /* Cannot fail on an open connection. */
    (void)sqlite3_busy_timeout(db, patient ? BUSY_WAIT_MS : BUSY_WAIT_BRIEF_MS);
}

void store_schema_close_last(sqlite3 *db)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    (void)sqlite3_close(db); /* runs a checkpoint; if that fails the log stays */
}

/* --- opening ---------------------------------------------------------------------------------- */

/*
 * Refuses a log whose database is missing or empty. SQLite would delete such a log, which may have
 * messages, if somebody has moved or truncated the database. Also refuses a path that is not a
 * regular file.
 */
static int check_files(const char *path, bool *out_is_new, char *out_reason)
{
    char log_path[4096 + 8];
    struct stat info;
    bool has_file = stat(path, &info) == 0;
    /* For SQLite a file of one byte is empty. */
    bool is_new = !has_file || info.st_size <= 1;

    if (has_file && !S_ISREG(info.st_mode)) {
        return store_error_refuse(path, SQLITE_CANTOPEN, "not a regular file", out_reason);
    }
    (void)snprintf(log_path, sizeof(log_path), "%.4096s-wal", path);
    if (is_new && stat(log_path, &info) == 0 && info.st_size > 0) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "%.160s is %s, but its log %.160s-wal has messages; nothing was touched. "
                       "Put the database back, or move the log away to start empty",
                       path, has_file ? "empty" : "missing", path);
        return -ERR_DAMAGED;
    }
    if (is_new && has_file) {
        log_warning("%s is empty, and begins anew: if it had messages, stop hearsayd and restore a "
                    "backup",
                    path);
    }
    *out_is_new = is_new;
    return 0;
}

static const char *writer_of(int64_t version)
{
    return version > STORE_VERSION ? "a newer hearsayd"
           : version >= 6          ? "a hearsayd after 0.2.0"
           : version == 5          ? "hearsayd 0.2.0"
                                   : "a hearsayd before 0.2.0";
}

/* The first schema whose filters are those of profiles of version 2. */
enum { SCHEMA_OF_V2 = 9 };

static const char *way_out_of(int64_t version)
{
    return version > STORE_VERSION ? "Install that version again, or use another directory"
           : version >= SCHEMA_OF_V2
               ? "To take its messages along, install that version again, `hearsay export` them, "
                 "`mv` the file and its -wal file away, and `hearsay import` them with this one"
               : "Its messages cannot be taken along, because labels set other bits of a filter "
                 "now. Install that version again until they have expired, or `mv` the file and "
                 "its -wal file away";
}

static int refuse_version(const char *path, int64_t version, char *out_reason)
{
    (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                   "%.160s has schema %lld and was written by %s; this one reads schema %d only, "
                   "and left it untouched. %s",
                   path, (long long)version, writer_of(version), STORE_VERSION,
                   way_out_of(version));
    return -ERR_VERSION;
}

/*
 * Finds out whether the file is empty (*out_is_empty) or a hearsay database of the known version.
 * Any other file is refused.
 */
static int schema_identify(sqlite3 *db, const char *path, bool *out_is_empty, char *out_reason)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t objects = 0;
    int rc = store_query_number(db, "PRAGMA application_id", STORE_NO_VALUES, &application);

    if (rc == SQLITE_OK) {
        rc = store_query_number(db, "PRAGMA user_version", STORE_NO_VALUES, &version);
    }
    /*
     * The version is checked before the tables are read, because this SQLite may be unable to read
     * the tables of a newer version.
     */
    if (rc == SQLITE_OK && application == STORE_APPLICATION_ID && version >= 1 &&
        version != STORE_VERSION) {
        return refuse_version(path, version, out_reason);
    }
    if (rc == SQLITE_OK) {
        rc =
            store_query_number(db, "SELECT count(*) FROM sqlite_schema", STORE_NO_VALUES, &objects);
    }
    if (rc != SQLITE_OK) {
        return store_error_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    *out_is_empty = application == 0 && version == 0 && objects == 0;
    if (*out_is_empty) {
        return 0;
    }
    if (application != STORE_APPLICATION_ID) {
        return store_error_refuse(path, SQLITE_NOTADB, "it is another program's database",
                                  out_reason);
    }
    return version < 1 ? store_error_refuse(path, SQLITE_CORRUPT, "it has no version", out_reason)
                       : 0;
}

static int set_wal(sqlite3 *db)
{
    sqlite3_stmt *statement;
    int64_t objects = 0;
    int rc = store_query(db, "PRAGMA journal_mode = WAL", STORE_NO_VALUES, &statement);

    if (rc == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(statement, 0);

        /* SQLite returns another mode if it cannot use WAL mode on this file system. */
        rc = mode != NULL && strcmp(mode, "wal") == 0 ? SQLITE_OK : SQLITE_CANTOPEN;
    }
    (void)sqlite3_finalize(statement);
    /* The first query in WAL mode fails if there is no shared memory for the index of the log. */
    return rc == SQLITE_OK ? store_query_number(db, "SELECT count(*) FROM sqlite_schema",
                                                STORE_NO_VALUES, &objects)
                           : rc;
}

/* Checks the tables and the rows. */
static int check_whole(sqlite3 *db, const char *path, char *out_reason)
{
    char detail[STORE_CHECK_DETAIL_BYTES];
    int rc = store_tables_check(db);

    if (rc != SQLITE_OK) {
        return store_error_refuse(path, rc,
                                  rc == SQLITE_CORRUPT ? "its tables are not those of its version"
                                                       : sqlite3_errmsg(db),
                                  out_reason);
    }
    rc = store_check(db, detail);
    return rc == SQLITE_OK ? 0 : store_error_refuse(path, rc, detail, out_reason);
}

static int check_with_beside(sqlite3 *db, const char *path, const struct store_beside *beside,
                             char *out_reason)
{
    if (beside != NULL) {
        beside->begin(beside->context, path, store_schema_vfs(db));
    }
    int code = check_whole(db, path, out_reason);
    if (beside != NULL) {
        beside->end(beside->context);
    }
    return code;
}

/* All checks of a file. They do not write to it. */
static int schema_examine(sqlite3 *db, const char *path, const struct store_beside *beside,
                          bool *out_is_empty, char *out_reason)
{
    int code = schema_identify(db, path, out_is_empty, out_reason);

    if (code != 0) {
        return code;
    }
    if (sqlite3_db_readonly(db, "main") != 0) {
        return store_error_refuse(path, SQLITE_READONLY, "it may not be written to", out_reason);
    }
    return *out_is_empty ? 0 : check_with_beside(db, path, beside, out_reason);
}

static int set_creation_pragmas(sqlite3 *db, int page_bytes)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "PRAGMA page_size = %d", page_bytes);
    int rc = store_exec(db, sql);
    return rc == SQLITE_OK ? store_exec(db, creation_pragmas) : rc;
}

static int schema_prepare(sqlite3 *db, enum store_use use, int page_bytes, bool is_empty)
{
    int rc = is_empty ? set_creation_pragmas(db, page_bytes) : SQLITE_OK;

    if (rc == SQLITE_OK) {
        rc = set_pragmas(db, use);
    }
    /*
     * SQLite writes the first page of a new file with a rollback journal. After a power cut a
     * leftover journal could remove this page again, and leave a log without a database, which
     * check_files refuses. With synchronous = EXTRA, SQLite syncs the deletion of the journal
     * before a log exists.
     */
    if (rc == SQLITE_OK && is_empty) {
        rc = store_exec(db, "PRAGMA synchronous = EXTRA");
    }
    if (rc == SQLITE_OK) {
        rc = set_wal(db);
    }
    if (rc == SQLITE_OK) {
        rc = set_durability(db, use);
    }
    if (rc == SQLITE_OK && is_empty) {
        rc = store_tables_create(db);
    }
    return rc;
}

const char *store_schema_vfs(sqlite3 *db)
{
    sqlite3_vfs *vfs = NULL;
    int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_VFS_POINTER, (void *)&vfs);

    return rc == SQLITE_OK && vfs != NULL ? vfs->zName : NULL;
}

/*
 * Opens, checks and prepares the database with a VFS (SQLite's layer of file system functions;
 * NULL: the default one). *out_refuses_maps: whether the function failed because the file system
 * refuses shared memory.
 */
static int open_by(const char *path, const char *vfs, enum store_use use, int page_bytes,
                   const struct store_beside *beside, sqlite3 **out_db, bool *out_refuses_maps,
                   char *out_reason)
{
    sqlite3 *db;
    bool is_new = false;
    bool is_empty = false;
    int code = check_files(path, &is_new, out_reason);
    int rc;

    *out_refuses_maps = false;
    if (code != 0) {
        return code;
    }
    rc = open_file(path, vfs, SQLITE_OPEN_READWRITE | (is_new ? SQLITE_OPEN_CREATE : 0), &db);
    if (rc != SQLITE_OK) {
        return store_error_refuse(path, rc, NULL, out_reason);
    }
    /*
     * The checks read a file that may be damaged or hostile. So the safety settings are set before
     * the checks.
     */
    rc = store_exec(db, common_pragmas);
    if (rc != SQLITE_OK) {
        code = store_error_refuse(path, rc, sqlite3_errmsg(db), out_reason);
        goto close;
    }
    code = schema_examine(db, path, beside, &is_empty, out_reason);
    if (code != 0) {
        goto close;
    }
    rc = schema_prepare(db, use, page_bytes, is_empty);
    if (rc != SQLITE_OK) {
        code = store_error_refuse(path, rc, sqlite3_errmsg(db), out_reason);
        goto close;
    }
    *out_db = db;
    return 0;

close:
    *out_refuses_maps = sqlite3_extended_errcode(db) == SQLITE_IOERR_SHMMAP;
    (void)sqlite3_close(db);
    return code;
}

uint64_t store_schema_page_bytes(sqlite3 *db)
{
    int64_t bytes = STORE_PAGE_BYTES;

    (void)store_query_number(db, "PRAGMA page_size", STORE_NO_VALUES, &bytes);
    return (uint64_t)bytes;
}

int store_schema_open_beside(const char *path, enum store_use use, int page_bytes,
                             const struct store_beside *beside, sqlite3 **out_db, char *out_reason)
{
    bool refuses_maps = false;
    int code = open_by(path, NULL, use, page_bytes, beside, out_db, &refuses_maps, out_reason);

    if (code != 0 && refuses_maps) {
        code = open_by(path, STORE_HEAP_VFS, use, page_bytes, beside, out_db, &refuses_maps,
                       out_reason);
    }
    return code;
}

int store_schema_open(const char *path, enum store_use use, int page_bytes, sqlite3 **out_db,
                      char *out_reason)
{
    return store_schema_open_beside(path, use, page_bytes, NULL, out_db, out_reason);
}
