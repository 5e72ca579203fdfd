/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. Three files include this header. Each file of this list calls only files
 * after it: writer.c (the thread), job.c (backups, compaction) and commit.c (connection,
 * transactions, checkpoints). The functions run on the writer's thread; store_writer_new also calls
 * store_commit_limit_log.
 */
#ifndef DAEMON_STORE_THREAD_INNER_H
#define DAEMON_STORE_THREAD_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/store/database.h"
#include "daemon/store/thread/backup.h"
#include "daemon/store/thread/checkpointer.h"
#include "daemon/store/thread/queue.h"
#include "daemon/store/thread/writer.h"

#define STORE_NS_PER_US UINT64_C(1000)
#define STORE_NS_PER_MS UINT64_C(1000000)

enum {
    /*
     * Maximum number of operations in a batch while deposits are refused, and after a transaction
     * for which the storage was full.
     */
    STORE_SPARING_OPS = 64
};

struct store_writer {
    struct store_writer_options options;
    struct store_database database; /* the thread's */
    struct store_times times[STORE_BATCH_OPS];
    struct store_checkpointer checkpointer;
    uint64_t page_bytes;   /* of the database */
    uint64_t log_pages;    /* the writer's thread only: pages in the log that may not be in the
                              database yet */
    bool was_full;         /* the thread's: the storage was full in the last batch */
    bool refuses_deposits; /* the writer's thread only: the present batch has too little storage for
                              deposits */
    uint64_t scrub_due;    /* the thread's: uv_hrtime of the next scrub, 0: none is due */
    bool is_scrubbed;      /* the thread's: the log has no bytes from before the start */
    bool locked_out; /* the writer's thread only: another program held the lock of the database too
                        long for the last batch */
    bool hands_off;  /* closing must not change the database; written before the first submit */
    size_t usual;    /* the writer's thread only: operations of a usual batch, see note_usual */
    struct persist_job *current; /* the thread's: a backup that was begun */
    struct store_backup backup;  /* the thread's: of `current` */
    bool copy_is_lost; /* the writer's thread only: the backup was aborted because its connection
                          was closed; the job `current` must fail */

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards the fields below */
    uv_cond_t wake;
    struct store_queue queue;
    size_t wanted;         /* the thread waits until this number of operations waits; 0: it does not
                              wait so */
    uint64_t gather_until; /* uv_hrtime: the thread waits for more operations until this time at the
                              latest */
    bool waiting;
    bool stopping;
    struct persist_job *job; /* running, or to begin */
    bool cancelled;          /* `job` is to fail soon */
    struct store_writer_counters counters;
};

/* --- commit.c --------------------------------------------------------------------------------- */

/*
 * Commits a batch in one transaction. If the storage is full, makes space and commits the batch in
 * parts, and the operations of a part that fails one by one. After 8 operations have failed for
 * lack of storage, the remaining operations fail without another try. If memory is short and the
 * batch has several operations, commits the batch in parts. Each other failure fails the whole
 * batch. Afterwards each operation has its outcome.
 */
void store_commit_run(struct store_writer *writer, const struct store_batch *batch);

/* Opens a new connection if a failure has closed the last one. Returns an SQLite result code. */
int store_commit_reopen(struct store_writer *writer);

/*
 * Runs a checkpoint of the write-ahead log (WAL). `mode` is one of SQLITE_CHECKPOINT_... An error
 * is ignored: the log keeps its pages, and a later checkpoint copies them.
 */
void store_commit_checkpoint(struct store_writer *writer, int mode);

/*
 * Runs a checkpoint if the log has reached its limit. Below the limit, if operations wait, lets the
 * checkpointer copy what the log has.
 */
void store_commit_checkpoint_if_long(struct store_writer *writer);

/*
 * Runs a checkpoint and truncates the log to 0 bytes. After a failure the thread tries again a
 * second later. SQLite overwrites a removed message with zeros in the database, but the log may
 * still have old pages with the message until the log is truncated. Overwrites the stack, too.
 * Overwrites the unused stack of the thread, too.
 */
void store_commit_scrub(struct store_writer *writer);

/*
 * Frees storage after SQLITE_FULL. SQLite leaves the pages of the failed transaction in the log,
 * where they use storage that a checkpoint may need. This function cuts these pages off and runs a
 * checkpoint. Errors are ignored.
 */
void store_commit_make_space(struct store_writer *writer);

/*
 * Sets the size limit of the log for a new connection: when SQLite writes the log from its
 * beginning again, SQLite truncates a log that is longer than `log_bytes` of the options. Returns
 * an SQLite result code.
 */
int store_commit_limit_log(const struct store_writer *writer, sqlite3 *db);

/* A callback for sqlite3_wal_hook: sets log_pages to the number of pages in the log. */
int store_commit_on_commit(void *context, sqlite3 *db, const char *name, int pages);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Begins a job, or does the next slice of a running job. When the job ends, calls job_done. */
void store_job_run(struct store_writer *writer, struct persist_job *job);

#endif
