/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_writer: the thread that writes. Operations queue up while a transaction runs; the next one
 * takes them all, up to a bound, and only after its commit are they handed on, in order.
 *
 * If a transaction fails it is rolled back and its operations fail, or are tried again in a few
 * smaller ones; the next batch begins anew, with a new connection if the old one is of no use.
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
    /* Both run on the writer's thread. A list of operations, linked by next, of which each has its
       outcome; then, after store_writer_stop, that the thread is at its end. */
    void (*done)(void *context, struct persist_op *first, struct persist_op *last);
    void (*ended)(void *context);
    void (*job_done)(void *context, struct persist_job *job); /* on the writer's thread, too */
    void *context;
    uint64_t (*free_bytes)(const char *path); /* see store_space_free; any thread */
    uint64_t log_bytes;      /* size at which the log is checkpointed, and to which it is cut */
    int64_t marks_max;       /* of withdrawn ids */
    uint64_t scrub_after_ms; /* at most so long after a removal its bytes leave the log */
    uint64_t gather_ms;      /* operations wait so long for others, to share their commit */
};

/* Since the writer began. Consistent with one another. */
struct store_writer_counters {
    uint64_t transactions; /* committed */
    uint64_t operations;   /* in those */
    uint64_t failures;     /* transactions rolled back */
    uint64_t scrubs;       /* times that the log was emptied for good */
};

/*
 * Takes a connection from store_schema_open and starts the thread. 0; or a negative ERR_, then the
 * connection is still the caller's.
 */
int store_writer_new(const struct store_writer_options *options, sqlite3 *db,
                     struct store_writer **out_writer);

/* Any thread. Takes the operation until `done`. */
void store_writer_submit(struct store_writer *writer, struct persist_op *op);

/* Any thread. False when a job is under way. It is done, or has failed, before the thread ends. */
bool store_writer_begin_job(struct store_writer *writer, struct persist_job *job);
void store_writer_cancel_job(struct store_writer *writer);

/* Any thread, once: what was submitted is done first. No submit after. */
void store_writer_stop(struct store_writer *writer);

/* Waits for the thread, which has been stopped, and frees everything. */
void store_writer_free(struct store_writer *writer);

/* Any thread. What was done since the start. */
void store_writer_count(struct store_writer *writer, struct store_writer_counters *out_counters);

/*
 * The connection, for start-up: while nothing has been submitted the thread does not touch it.
 */
sqlite3 *store_writer_connection(struct store_writer *writer);

/* For start-up: the store's id and the latest clock saved. */
void store_writer_info(const struct store_writer *writer, struct persist_info *out_info);

/* For start-up: the database is damaged, closing it must not change it. */
void store_writer_keep_hands_off(struct store_writer *writer);

#endif
