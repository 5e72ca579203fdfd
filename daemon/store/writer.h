/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_writer: the thread that writes. Operations queue up while a transaction runs. The next
 * transaction takes all of them, up to STORE_BATCH_OPS. After the commit the writer hands the
 * operations to `done`, in order.
 *
 * If a transaction fails, the writer rolls it back. Its operations fail, or the writer tries them
 * again in smaller transactions. If the connection is unusable, the next batch opens a new one.
 */
#ifndef DAEMON_STORE_WRITER_H
#define DAEMON_STORE_WRITER_H

#include <sqlite3.h>

#include "daemon/store/persist.h"
#include "daemon/store/schema.h"

struct store_writer;

struct store_writer_options {
    const char *path; /* borrowed, for as long as the writer lives */
    const char *vfs;  /* store_schema_vfs of the connection, static storage */
    enum store_use use;
    /* All three run on the writer's thread. `done`: a list of operations, linked by next, with
       their outcomes. `ended`: the thread ends, after store_writer_stop. */
    void (*done)(void *context, struct persist_op *first, struct persist_op *last);
    void (*ended)(void *context);
    void (*job_done)(void *context, struct persist_job *job);
    void *context;
    uint64_t (*free_bytes)(const char *path); /* see store_space_free; any thread */
    uint64_t log_bytes;      /* size at which the log is checkpointed; a longer log is cut to it */
    int64_t marks_max;       /* tombstones at most */
    uint64_t scrub_after_ms; /* from a removal to the cut of the log that still has its bytes */
    uint64_t gather_ms;      /* how long a commit waits for more operations */
};

/* Since the writer began. Consistent with one another. */
struct store_writer_counters {
    uint64_t transactions; /* committed */
    uint64_t operations;   /* in committed transactions */
    uint64_t failures;     /* transactions rolled back */
    uint64_t scrubs;       /* how often the log was cut to nothing */
};

/*
 * Takes a connection from store_schema_open and starts the thread. 0; or a negative ERR_, then the
 * connection is still the caller's.
 */
int store_writer_new(const struct store_writer_options *options, sqlite3 *db,
                     struct store_writer **out_writer);

/* Any thread. Takes the operation until `done`. */
void store_writer_submit(struct store_writer *writer, struct persist_op *op);

/* Any thread. False when another job is running. The job ends before the thread does. */
bool store_writer_begin_job(struct store_writer *writer, struct persist_job *job);
void store_writer_cancel_job(struct store_writer *writer);

/* Any thread, once. The thread commits all submitted operations and ends. No submit after this. */
void store_writer_stop(struct store_writer *writer);

/* Waits for the thread, after store_writer_stop, and frees everything. */
void store_writer_free(struct store_writer *writer);

/* Any thread. */
void store_writer_count(struct store_writer *writer, struct store_writer_counters *out_counters);

/*
 * The connection, for start-up: the thread does not use it before the first submit.
 */
sqlite3 *store_writer_connection(struct store_writer *writer);

/* For start-up: the store's id and the latest clock saved. */
void store_writer_info(const struct store_writer *writer, struct persist_info *out_info);

/* For start-up: the database is damaged, so closing must not change it. */
void store_writer_keep_hands_off(struct store_writer *writer);

#endif
