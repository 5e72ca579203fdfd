/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_checkpointer: a thread that copies pages of the log (WAL) into the database while the
 * writer commits. The writer runs all other checkpoints itself; while operations wait for it, this
 * thread has already copied most of the log when the writer's checkpoint is due.
 *
 * The thread begins with the first checkpoint, and has a connection of its own. Except where it is
 * said otherwise, the functions are for the writer's thread.
 */
#ifndef DAEMON_STORE_THREAD_CHECKPOINTER_H
#define DAEMON_STORE_THREAD_CHECKPOINTER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/store/schema.h"

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

#endif
