/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_reader: the thread that reads messages. The thread has its own read-only connection, and
 * does jobs one after another. No read transaction stays open after a job, because a checkpoint may
 * have to wait for open read transactions.
 */
#pragma once

#include <sqlite3.h>

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

/* --- feed ------------------------------------------------------------------------------------- */

/* store_feed: reads the changes of a host (persist_change), for the reader's thread. */

/* Carries out PERSIST_READ_CHANGES. Returns an SQLite result code. */
int store_feed_read(sqlite3 *db, struct store_numbers *numbers, struct persist_read *read);

/* --- list ------------------------------------------------------------------------------------- */

/* store_list: on the reader's thread, reads one page of the list of all messages of a host, which
 * the operator has asked for. */

/*
 * Carries out PERSIST_READ_LIST. The table is read from page_after on, in the order of its key, so
 * that a page costs as much at the end of a large board as at its beginning. Messages of other
 * hosts that lie between are read and skipped, because the table has no index by host. Returns an
 * SQLite result code.
 */
int store_list_read(sqlite3 *db, struct persist_read *read);

/* --- keep ------------------------------------------------------------------------------------- */

/*
 * store_keep: the memory of a read job, to which the pointers in the results point. A job's memory
 * is a linked list of blocks. Results of type int are SQLite's codes.
 */

/* Returns the bytes of filter, media type and payload of a message. */
size_t store_keep_bytes(const struct persist_message *message);

/* Adds `bytes` bytes to the job's memory. NULL: out of memory. */
uint8_t *store_keep_block(struct persist_read *read, size_t bytes);

/* Copies a message, and what it points to, out of SQLite's memory into the job's. */
int store_keep_message(struct persist_read *read, const struct persist_message *message,
                       struct persist_message *out_message);

/*
 * Copies the reasons of reports from a column of the statement's current row into an entry. Without
 * reasons the entry stays as it is.
 */
int store_keep_reasons(struct persist_read *read, sqlite3_stmt *statement, int column,
                       struct persist_entry *out_entry);

/* Frees the memory of a job. */
void store_keep_release(struct persist_read *read);
