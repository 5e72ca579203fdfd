/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. Three files include this header. Each file of this list calls only files
 * after it: writer.c (the thread), job.c (backups, compaction) and commit.c (connection,
 * transactions, checkpoints). The functions run on the writer's thread; store_writer_new also calls
 * store_commit_limit_log.
 */
#pragma once

#include <uv.h>

#include "daemon/store/database.h"
#include "daemon/store/numbers.h"
#include "daemon/store/persist.h"
#include "daemon/store/schema.h"
#include "daemon/store/space.h"
#include "daemon/store/thread/backup.h"

/* --- checkpointer ----------------------------------------------------------------------------- */

/*
 * store_checkpointer: a thread that copies pages of the log (WAL) into the database while the
 * writer commits. The writer runs all other checkpoints itself; while operations wait for it, this
 * thread has already copied most of the log when the writer's checkpoint is due.
 *
 * The thread begins with the first checkpoint, and has a connection of its own. Except where it is
 * said otherwise, the functions are for the writer's thread.
 */

struct store_checkpointer {
    const char *path;
    const char *vfs;
    enum store_use use;
    bool has_thread; /* the writer's thread only */
    uv_thread_t thread;
    uv_mutex_t mutex; /* guards the fields below */
    uv_cond_t changed;
    bool is_due;  /* a checkpoint is to begin, or runs */
    bool is_open; /* the thread has a connection */
    bool rests;   /* the thread is to close its connection */
    bool is_stopping;
    uint64_t copied; /* pages of the log that the last checkpoint has left copied */
};

/*
 * `path` is borrowed until deinit; `vfs` as for store_schema_connect. Any thread. Returns 0 or
 * -ERR_SYSTEM.
 */
int store_checkpointer_init(struct store_checkpointer *checkpointer, const char *path,
                            const char *vfs, enum store_use use);

/* Any thread; the checkpointer must be stopped, or must never have begun a checkpoint. */
void store_checkpointer_deinit(struct store_checkpointer *checkpointer);

/*
 * Begins a checkpoint if none runs and the log, of `pages` pages, has at least `step` pages more
 * than the last checkpoint has left copied. Does not wait. An error is ignored: the log keeps its
 * pages, and the writer's next checkpoint copies them.
 */
void store_checkpointer_begin(struct store_checkpointer *checkpointer, uint64_t pages,
                              uint64_t step);

/* Waits until no checkpoint runs. */
void store_checkpointer_wait(struct store_checkpointer *checkpointer);

/*
 * Waits until no checkpoint runs and the connection is closed: its memory has a page that the last
 * checkpoint copied, perhaps with texts that are gone. The next checkpoint opens it again.
 */
void store_checkpointer_rest(struct store_checkpointer *checkpointer);

/* Waits, and ends the thread and its connection. No further checkpoint may begin. */
void store_checkpointer_stop(struct store_checkpointer *checkpointer);

/* --- queue ------------------------------------------------------------------------------------ */

/*
 * store_queue: the operations that wait for the writer, in order, and the batches that the writer
 * takes from them. The queue has no lock: its user makes sure that one thread uses the queue at a
 * time. The queue links operations by their field `next`, and never frees them.
 */

enum {
    /*
     * Maximum number of operations in a transaction. While the writer commits one transaction, the
     * loop collects the next one. A session has at most about 1,300 deposits in flight (the limit
     * of bytes that a session holds), so two transactions of this size. With 1,024 and 2,048
     * operations one transaction took nearly all of them, and the writer waited for the next ones.
     */
    STORE_BATCH_OPS = 640,
    STORE_BATCH_BYTES = 4 * 1024 * 1024
};

struct store_queue {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
    size_t bytes; /* of the payloads, filters and media types of the deposits in the queue */
};

/* The operations of one transaction. */
struct store_batch {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
};

void store_queue_push(struct store_queue *queue, struct persist_op *op);

/* Whether the queue has enough operations for a whole batch. */
bool store_queue_is_full(const struct store_queue *queue);

/*
 * Takes a batch of operations from the front of the queue. The queue must not be empty. A batch has
 * at least one operation and at most `ops_max` (1 .. STORE_BATCH_OPS). The batch ends before an
 * operation with which it would exceed STORE_BATCH_BYTES of content, or the storage in `room`; with
 * `room` NULL the storage is not checked. The first operation is taken in any case. The batch ends
 * after a PERSIST_SHIFT: the writer loads the new order of expiry only after the commit, and an
 * expiry or an eviction in the same transaction would still use the old order.
 */
void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch);

/* Returns false if the first operation is a deposit that does not fit into `room`. */
bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room);

/* Moves the first operations of `rest`, which is not empty, at most `ops_max`, to *out_part. */
void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part);

/* --- writer ----------------------------------------------------------------------------------- */

/*
 * store_writer: the thread that writes. While a transaction runs, new operations wait in a queue.
 * The next transaction has as many of them as store_queue_take allows. Afterwards the writer passes
 * the operations to `done`, in order.
 *
 * The writer rolls a failed transaction back. Then the operations fail, or the writer tries them
 * again in smaller transactions. If a failure makes the connection unusable, the writer closes the
 * connection, and opens a new one when it is needed.
 */

struct store_writer;

struct store_writer_options {
    const char *path; /* borrowed, for as long as the writer lives */
    const char *vfs;  /* store_schema_vfs of the connection, static storage */
    enum store_use use;
    /*
     * `done`, `ended` and `job_done` run on the writer's thread. `done` gets a list of operations
     * with their outcomes, linked by `next`. `ended` is called when the thread ends.
     */
    void (*done)(void *context, struct persist_op *first, struct persist_op *last);
    void (*ended)(void *context);
    void (*job_done)(void *context, struct persist_job *job);
    void *context;
    uint64_t (*free_bytes)(const char *path); /* see store_space_free; any thread */
    uint64_t log_bytes;            /* bytes of frames in the log at which a checkpoint runs; SQLite
                                      truncates a longer log to this size */
    int64_t marks_max;             /* tombstones at most */
    struct store_numbers *numbers; /* borrowed: the numbers of all messages */
    uint64_t scrub_after_ms; /* time from a removal to the truncation of the log, which may still
                                have the removed bytes */
    uint64_t gather_ms;      /* how long the writer waits for more operations before a commit */
    uint64_t group_us;       /* see persist_sqlite_options */
};

/* Counters since the writer started. */
struct store_writer_counters {
    uint64_t transactions; /* that succeeded */
    uint64_t operations;   /* in these transactions */
    uint64_t failures;     /* transactions that failed */
    uint64_t scrubs;       /* how often the log was truncated to 0 bytes */
};

/*
 * Starts the writer's thread with a connection from store_schema_open. Returns 0, and then the
 * writer owns the connection; or a negative ERR_, and then the caller still owns it.
 */
int store_writer_new(const struct store_writer_options *options, sqlite3 *db,
                     struct store_writer **out_writer);

/* Any thread. Takes the operation until `done`. */
void store_writer_submit(struct store_writer *writer, struct persist_op *op);

/*
 * Begins a backup or a compaction. Returns false if another job is running. May be called from any
 * thread. A job always ends before the writer's thread does.
 */
bool store_writer_begin_job(struct store_writer *writer, struct persist_job *job);
void store_writer_cancel_job(struct store_writer *writer);

/*
 * Tells the writer's thread to carry out all submitted operations and to end. Returns without
 * waiting for the thread. Any thread may call this function. No submit and no new job may follow.
 */
void store_writer_stop(struct store_writer *writer);

/* Waits until the thread has ended, and frees everything. To be called after store_writer_stop. */
void store_writer_free(struct store_writer *writer);

/* Any thread. */
void store_writer_count(struct store_writer *writer, struct store_writer_counters *out_counters);

/*
 * Returns the writer's connection, for start-up. The thread does not use the connection before the
 * first submit or job.
 */
sqlite3 *store_writer_connection(struct store_writer *writer);

/* Fills *out_info, for start-up: before the first submit or job. */
void store_writer_info(const struct store_writer *writer, struct persist_info *out_info);

/*
 * Call this function at start-up if the database is damaged. Then the end of the thread does not
 * change the database.
 */
void store_writer_keep_hands_off(struct store_writer *writer);

/* --- inner ------------------------------------------------------------------------------------ */

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
