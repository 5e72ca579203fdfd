/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state, for three files alone, from top to bottom: writer.c (the thread), job.c
 * (backups, compaction) and commit.c (connection, transactions, checkpoints). All functions here
 * run on the writer's thread.
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
    /* Operations of one transaction while the storage is full: each can be tried by itself. */
    STORE_SPARING_OPS = 64
};

struct store_writer {
    struct store_writer_options options;
    struct store_database database; /* the thread's */
    struct store_times times[STORE_BATCH_OPS];
    uint64_t log_pages;    /* the thread's: in the log, and maybe not in the database yet */
    bool was_full;         /* the thread's: the storage was full in the last batch */
    bool refuses_deposits; /* the thread's: not enough storage for the next deposit */
    uint64_t scrub_due;    /* the thread's: uv_hrtime of the next scrub, 0: none is due */
    bool has_scrubbed;     /* the thread's: at least once */
    bool locked_out;       /* the thread's: another program held the lock longer than we waited */
    bool hands_off;        /* written before the first submit */
    struct persist_job *current; /* the thread's: a backup that was begun */
    struct store_backup backup;  /* the thread's: of `current` */
    bool copy_is_lost; /* the thread's: the connection that `backup` copied from is closed, and
                          the backup was aborted; `current` has to fail */

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t wake;
    struct store_queue queue;
    uint64_t gather_until; /* uv_hrtime at which the commit of the queue begins at the latest */
    bool waiting;
    bool stopping;
    struct persist_job *job; /* running, or to begin */
    bool cancelled;          /* `job` is to fail soon */
    struct store_writer_counters counters;
};

/* --- commit.c --------------------------------------------------------------------------------- */

/*
 * Commits a batch in one transaction. If that transaction lacks storage or memory, commits the
 * batch in several smaller ones. Afterwards each operation has its outcome.
 */
void store_commit_run(struct store_writer *writer, const struct store_batch *batch);

/* Opens a new connection if the old one was closed. An SQLite result code. */
int store_commit_reopen(struct store_writer *writer);

/*
 * Runs a WAL checkpoint. An error is ignored here: the WAL keeps every frame, and the next commit
 * checkpoints again.
 */
void store_commit_checkpoint(struct store_writer *writer, int mode);

/* The same if the log has reached its limit. */
void store_commit_checkpoint_if_long(struct store_writer *writer);

/*
 * Runs a checkpoint and cuts the log to nothing. A removed message is overwritten with zeros in the
 * database, but the log still has its old pages until the cut.
 */
void store_commit_scrub(struct store_writer *writer);

/*
 * To be called after SQLITE_FULL. SQLite leaves the pages of the failed transaction in the log;
 * they use the storage that a checkpoint needs. This cuts them off and runs a checkpoint.
 */
void store_commit_make_space(struct store_writer *writer);

/* For a new connection: SQLite cuts a log that is longer than log_bytes after a checkpoint. */
int store_commit_limit_log(const struct store_writer *writer, sqlite3 *db);

/* For sqlite3_wal_hook: notes the number of pages in the log after each commit. */
int store_commit_on_commit(void *context, sqlite3 *db, const char *name, int pages);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Begins a job, or does its next slice. When the job ends, job_done is called. */
void store_job_run(struct store_writer *writer, struct persist_job *job);

#endif
