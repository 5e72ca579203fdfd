/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pool: threads that read what the loop owns, for example an index that a query searches. The
 * loop goes on meanwhile, and may read the same things. Before it changes one of them it pauses the
 * pool, so that no lock is needed where things are read, and no task ever sees a change half made.
 *
 * All functions are called on the loop, except for read_task.run and the function `wake`. A pool
 * that is NULL has no threads and no tasks: pausing it and taking from it are fine.
 */
#pragma once

#include "core/base/alloc.h"

/*
 * A task. The caller fills in `run`. From read_pool_put until read_pool_take returns the task,
 * the loop may use what `run` uses only between read_pool_pause and read_pool_resume.
 */
struct read_task {
    /*
     * Does a small piece of the task, on a thread of the pool. Returns whether the task is over.
     * The loop may have to wait for the end of a piece when it pauses the pool, so a piece should
     * take less than about 100 microseconds.
     */
    bool (*run)(struct read_task *task);
    struct read_task *next; /* for the pool */
};

struct read_pool;

/*
 * Makes a pool of `threads` threads, at least 1; of at most 7, and of fewer if the system does not
 * allow as many. `wake`
 * is called on a thread of the pool when a task is over while the loop waits (read_pool_await).
 * NULL: there is no memory, or the system allows no thread.
 */
struct read_pool *read_pool_new(const struct alloc *alloc, unsigned threads,
                                void (*wake)(void *context), void *context);

/* Ends the threads, and frees the pool. No task may be left in it. NULL is fine. */
void read_pool_free(struct read_pool *pool);

/* Whether so few tasks wait for a thread that one more would not wait long. */
bool read_pool_has_room(const struct read_pool *pool);

/* Gives a task to the pool. */
void read_pool_put(struct read_pool *pool, struct read_task *task);

/* Returns the tasks that are over, in a list in the order in which they ended, or NULL. */
struct read_task *read_pool_take(struct read_pool *pool);

/*
 * Waits until no piece of a task runs, and lets none begin until read_pool_resume or
 * read_pool_await. If the pool is paused already, does nothing.
 */
void read_pool_pause(struct read_pool *pool);
void read_pool_resume(struct read_pool *pool);

/*
 * Resumes the pool. Call it before the loop waits for events: the pool calls `wake` when the next
 * task is over, or at once if a task is over already.
 */
void read_pool_await(struct read_pool *pool);
