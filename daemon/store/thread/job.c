/* SPDX-License-Identifier: Apache-2.0 */
/* store_job: backups and compaction, which the writer's thread does between its batches. */
#include <stdio.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/thread/inner.h"

static void end_job(struct store_writer *writer, struct persist_job *job)
{
    writer->current = NULL;
    writer->copy_is_lost = false;
    uv_mutex_lock(&writer->mutex);
    writer->job = NULL;
    writer->cancelled = false;
    uv_mutex_unlock(&writer->mutex);
    writer->options.job_done(writer->options.context, job);
}

static void fail_job(struct store_writer *writer, struct persist_job *job, const char *reason)
{
    job->failed = true;
    (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
    end_job(writer, job);
}

static bool is_cancelled(struct store_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    bool cancelled = writer->cancelled || writer->stopping;
    uv_mutex_unlock(&writer->mutex);
    return cancelled;
}

/* SQLite calls this during VACUUM; a result other than 0 interrupts VACUUM. */
static int on_progress(void *context)
{
    return is_cancelled(context) ? 1 : 0;
}

/*
 * Runs VACUUM. SQLite writes the database without its free pages into a temporary file in the same
 * directory, and copies the result back through the WAL. So VACUUM needs free storage of about
 * twice the size of the result.
 */
static void job_compact(struct store_writer *writer, struct persist_job *job)
{
    enum { PROGRESS_STEPS = 10000 };
    sqlite3 *db = writer->database.db;

    store_commit_scrub(writer); /* the file then has every page that the database has */
    job->bytes_before = store_space_of_file(writer->options.path);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1); /* VACUUM attaches the temporary file */
    sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, writer);
    int rc = store_exec(db, "PRAGMA temp_store = FILE");
    if (rc == SQLITE_OK) {
        rc = store_exec(db, "VACUUM");
    }
    sqlite3_progress_handler(db, 0, NULL, NULL);
    if ((rc & 0xff) == SQLITE_FULL) {
        store_commit_make_space(writer);
    }
    (void)store_exec(db, "PRAGMA temp_store = MEMORY");
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    store_commit_scrub(writer); /* the checkpoint truncates the file */
    job->bytes_after = store_space_of_file(writer->options.path);
    if (rc == SQLITE_OK) {
        end_job(writer, job);
    } else {
        fail_job(writer, job,
                 (rc & 0xff) == SQLITE_INTERRUPT ? "it was cancelled" : store_error_reason(rc));
    }
}

/* Copies the next slice; begins the copy first if none is under way. */
static void copy_slice(struct store_writer *writer, struct persist_job *job)
{
    int code;

    if (writer->current == NULL) {
        code = store_backup_begin(&writer->backup, writer->database.db, job->path, job->reason);
        job->failed = code != 0;
        job->path_is_wrong = code == -ERR_SYSTEM;
        if (code != 0) {
            end_job(writer, job);
            return;
        }
        writer->current = job;
    }
    code = store_backup_step(&writer->backup, job->reason);
    if (code != STORE_BACKUP_MORE) {
        job->failed = code != 0;
        job->path_is_wrong = code == -ERR_SYSTEM;
        job->bytes_after = writer->backup.bytes;
        store_backup_forget(&writer->backup);
        end_job(writer, job);
    }
}

void store_job_run(struct store_writer *writer, struct persist_job *job)
{
    if (writer->copy_is_lost) {
        fail_job(writer, job, "the storage failed meanwhile");
        return;
    }
    int rc = store_commit_reopen(writer);
    if (rc != SQLITE_OK) {
        fail_job(writer, job, store_error_reason(rc));
        return;
    }
    if (is_cancelled(writer)) {
        if (writer->current != NULL) {
            store_backup_abort(&writer->backup);
        }
        fail_job(writer, job, "it was cancelled, since the daemon stops");
        return;
    }
    if (job->kind == PERSIST_COMPACT) {
        job_compact(writer, job);
    } else {
        copy_slice(writer, job);
    }
}
