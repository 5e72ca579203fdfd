/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. Only three files include this header. Each calls only files after it:
 * writer.c (the thread), job.c (backups, compaction) and commit.c (connection, transactions,
 * checkpoints). All functions of this header run on the writer's thread.
 */
#ifndef DAEMON_STORE_INNER_H
#define DAEMON_STORE_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/store/backup.h"
#include "daemon/store/database.h"
#include "daemon/store/queue.h"
#include "daemon/store/writer.h"

#define STORE_NS_PER_MS UINT64_C(1000000)

enum {
    /*
     * Maximum number of operations in a transaction while the storage is full. A batch of this size
     * can be retried operation by operation.
     */
    STORE_SPARING_OPS = 64
};

struct store_writer {
    struct store_writer_options options;
    struct store_database database; /* the thread's */
    struct store_times times[STORE_BATCH_OPS];
    uint64_t log_pages;    /* the writer's thread only: pages in the log that may not be in the
                              database yet */
    bool was_full;         /* the thread's: the storage was full in the last batch */
    bool refuses_deposits; /* the thread's: not enough storage for the next deposit */
    uint64_t scrub_due;    /* the thread's: uv_hrtime of the next scrub, 0: none is due */
    bool has_scrubbed;     /* the thread's: at least once */
    bool locked_out;       /* the writer's thread only: a batch failed because another program held
                              the lock too long */
    bool hands_off;        /* written before the first submit */
    struct persist_job *current; /* the thread's: a backup that was begun */
    struct store_backup backup;  /* the thread's: of `current` */
    bool copy_is_lost; /* the writer's thread only: the backup was aborted because its connection
                          was closed; the job `current` must fail */

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t wake;
    struct store_queue queue;
    uint64_t gather_until; /* uv_hrtime: the thread begins the next commit at this time at the
                              latest */
    bool waiting;
    bool stopping;
    struct persist_job *job; /* running, or to begin */
    bool cancelled;          /* `job` is to fail soon */
    struct store_writer_counters counters;
};

/* --- commit.c --------------------------------------------------------------------------------- */

/*
 * Commits a batch in one transaction. If this transaction lacks storage or memory, commits the
 * batch in several smaller transactions. Afterwards each operation has its outcome.
 */
void store_commit_run(struct store_writer *writer, const struct store_batch *batch);

/* Opens a new connection if a failure has closed the last one. Returns an SQLite result code. */
int store_commit_reopen(struct store_writer *writer);

/*
 * Runs a checkpoint of the write-ahead log (WAL). An error is ignored: the WAL keeps every page,
 * and a later commit runs a checkpoint again.
 */
void store_commit_checkpoint(struct store_writer *writer, int mode);

/* Runs a checkpoint if the log has reached its limit. */
void store_commit_checkpoint_if_long(struct store_writer *writer);

/*
 * Runs a checkpoint and truncates the log to 0 bytes. SQLite overwrites a removed message with
 * zeros in the database. But the log still has the old pages with the message until this
 * truncation.
 */
void store_commit_scrub(struct store_writer *writer);

/*
 * Frees storage after SQLITE_FULL. SQLite leaves the pages of the failed transaction in the log,
 * where they use the storage that a checkpoint needs. This function cuts these pages off and runs a
 * checkpoint.
 */
void store_commit_make_space(struct store_writer *writer);

/*
 * Sets a size limit for the log of a new connection: after a checkpoint SQLite truncates a log that
 * is longer than `log_bytes`.
 */
int store_commit_limit_log(const struct store_writer *writer, sqlite3 *db);

/* A callback for sqlite3_wal_hook: stores the number of pages in the log after each commit. */
int store_commit_on_commit(void *context, sqlite3 *db, const char *name, int pages);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Begins a job, or does the next slice of a running job. When the job ends, calls job_done. */
void store_job_run(struct store_writer *writer, struct persist_job *job);

#endif
