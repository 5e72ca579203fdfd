/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_keep: the memory of a read job, to which the pointers in the results point. A job's memory
 * is a linked list of blocks. Results of type int are SQLite's codes.
 */
#ifndef DAEMON_STORE_THREAD_KEEP_H
#define DAEMON_STORE_THREAD_KEEP_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

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

#endif
