/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_writer: the thread that writes. While a transaction runs, new operations wait in a queue.
 * The next transaction has as many of them as store_queue_take allows. Afterwards the writer passes
 * the operations to `done`, in order.
 *
 * The writer rolls a failed transaction back. Then the operations fail, or the writer tries them
 * again in smaller transactions. If a failure makes the connection unusable, the writer closes the
 * connection, and opens a new one when it is needed.
 */
#ifndef DAEMON_STORE_THREAD_WRITER_H
#define DAEMON_STORE_THREAD_WRITER_H

#include <sqlite3.h>

#include "daemon/store/numbers.h"
#include "daemon/store/persist.h"
#include "daemon/store/schema.h"

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

#endif
