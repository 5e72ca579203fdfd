/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_reader: the thread that reads messages. The thread has its own read-only connection, and
 * does jobs one after another. No read transaction stays open after a job, because a checkpoint may
 * have to wait for open read transactions.
 */
#ifndef DAEMON_STORE_THREAD_READER_H
#define DAEMON_STORE_THREAD_READER_H

#include "daemon/store/numbers.h"
#include "daemon/store/persist.h"

struct store_reader;

struct store_reader_options {
    const char *path;              /* borrowed, for as long as the reader lives */
    const char *vfs;               /* store_schema_vfs of the writer's connection, static storage */
    struct store_numbers *numbers; /* borrowed: the numbers of all messages */
    uint64_t forget_after_ms;      /* time from a job until the thread frees SQLite's cache, which
                                      has texts of messages that may be gone then */
    /*
     * Both callbacks run on the reader's thread. `done`: a job is done. `ended`: the thread ends.
     */
    void (*done)(void *context, struct persist_read *read);
    void (*ended)(void *context);
    void *context;
};

/* Starts the thread. A job opens the connection if it is closed. Returns 0 or a negative ERR_. */
int store_reader_new(const struct store_reader_options *options, struct store_reader **out_reader);

/* Any thread. Takes the job until `done`. */
void store_reader_submit(struct store_reader *reader, struct persist_read *read);

/*
 * Tells the reader's thread to do all submitted jobs and to end. Does not wait. May be called from
 * any thread. No submit may follow.
 */
void store_reader_stop(struct store_reader *reader);

/* Waits until the thread has ended, and frees everything. To be called after store_reader_stop. */
void store_reader_free(struct store_reader *reader);

#endif
