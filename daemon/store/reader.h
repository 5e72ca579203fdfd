/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_reader: the thread that reads payloads and pages, through a connection of its own that
 * cannot write. It does jobs one after another. Each job is one read transaction, so that no reader
 * delays a checkpoint for long.
 */
#ifndef DAEMON_STORE_READER_H
#define DAEMON_STORE_READER_H

#include "daemon/store/persist.h"

struct store_reader;

struct store_reader_options {
    const char *path; /* borrowed, for as long as the reader lives */
    const char *vfs;  /* store_schema_vfs of the writer's connection, static storage */
    /* Both run on the reader's thread. `done`: a job is done. `ended`: the thread ends. */
    void (*done)(void *context, struct persist_read *read);
    void (*ended)(void *context);
    void *context;
};

/* Starts the thread; the connection is opened with the first job. 0 or a negative ERR_. */
int store_reader_new(const struct store_reader_options *options, struct store_reader **out_reader);

/* Any thread. Takes the job until `done`. */
void store_reader_submit(struct store_reader *reader, struct persist_read *read);

/* Any thread, once. The thread does all submitted jobs and ends. No submit after this call. */
void store_reader_stop(struct store_reader *reader);

/* Waits for the thread, after store_reader_stop, and frees everything. */
void store_reader_free(struct store_reader *reader);

/* Frees what the entries of a job that is done point to. */
void store_reader_release(struct persist_read *read);

#endif
