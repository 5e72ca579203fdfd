/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrange: decides when an index is rebuilt, and rebuilds the index in slices. Only a rebuild puts
 * similar messages into the same group of the tree. A new message goes into a group that has a free
 * slot, beside messages that need not be similar, so searches compare most new messages.
 *
 * A rebuild has four steps (core/index/index.h): copy the messages into a new tree, some
 * thousands at a time; arrange the new tree; follow, which repeats the changes made meanwhile; free
 * the old tree. Copying out of the old tree, and follow, run in slices on the loop's thread. Taking
 * the copied messages into the new tree, arrange and free run on a worker thread. Of all hosts
 * together, at most one index is being rebuilt at a time.
 *
 * An index is rebuilt when that is worth the work (worth.h), and no other index is being rebuilt.
 *
 * Messages that were loaded at the start count as new messages. hearsayd serves requests at once
 * and rebuilds all loaded indexes one after the other, the largest first.
 */
#pragma once

#include <stdatomic.h>

#include "daemon/host/host.h"
#include "daemon/system/worker.h"

enum arrange_phase {
    ARRANGE_IDLE,
    ARRANGE_COPYING,
    ARRANGE_TAKING,    /* on the worker; then it copies on */
    ARRANGE_ARRANGING, /* on the worker */
    ARRANGE_FOLLOWING,
    ARRANGE_FREEING /* on the worker */
};

/* Figures since the start. */
struct arrange_figures {
    uint64_t done;
    uint64_t failed; /* out of memory, or too much changed meanwhile */
    /* milliseconds from the first slice of the last successful rebuild to its last slice */
    int64_t last_ms;
};

struct arrange {
    struct worker *worker; /* borrowed; NULL: nothing is ever arranged */
    uint32_t *working;     /* borrowed: service->working; counts the job on the worker */
    enum arrange_phase phase;
    struct renewal *renewal;
    const struct host *hosts; /* borrowed: host_count hosts, as in the last call */
    size_t host_count;
    bool gives_back;         /* before and after arranging, freed memory goes back to the system */
    bool has_given_back;     /* before it, already */
    bool loaded;             /* an index with messages loaded at the start waits for its first
                                rebuild */
    int64_t loaded_ms;       /* when arrange_loaded was called */
    const struct host *host; /* whose index is rebuilt, for the log */
    /* the epoch whose index is rebuilt; arrange counts as a user of the epoch; NULL: none */
    struct epoch *epoch;
    struct long_work work;
    int outcome;      /* of taking or arranging, by the worker */
    atomic_bool stop; /* tells the worker to stop */
    bool stopped;
    int64_t now_ms; /* of the last tick or turn */
    int64_t begun_ms;
    struct worth_counts begun; /* the counters of the index when its rebuild began, for the log */
    int64_t not_before_ms;     /* after a failure for lack of memory */
    struct arrange_figures figures;
};

/*
 * Makes glibc return freed blocks of 192 KiB or more to the system at once. Does nothing with
 * another C library. Call once, at the start of the program.
 */
void arrange_tune_memory(void);

/* Borrows `worker` and `working`. `worker` NULL: no index is ever rebuilt. */
void arrange_init(struct arrange *arrange, struct worker *worker, uint32_t *working);

/*
 * Reports that the messages of all hosts were loaded at the start. arrange_turn and arrange_tick
 * then rebuild each index that has messages, and log when all rebuilds are done. Call at most once.
 * The hosts must outlive the calls of arrange_turn. Does nothing without a worker. O(epochs)
 */
void arrange_loaded(struct arrange *arrange, const struct host *hosts, size_t host_count,
                    int64_t now_ms);

/*
 * Begins to rebuild an index if one is due. Call about once a second. Returns whether arrange_turn
 * has a slice to run. `now_ms` is monotonic.
 */
bool arrange_tick(struct arrange *arrange, const struct host *hosts, size_t host_count,
                  int64_t now_ms);

/* Whether arrange_turn may have work to do. */
bool arrange_is_active(const struct arrange *arrange);

/*
 * Runs one slice of a rebuild, or begins to rebuild an index that was loaded at the start. Returns
 * whether the next turn has a slice to run.
 */
bool arrange_turn(struct arrange *arrange, int64_t now_ms);

/*
 * Cancels the current rebuild, and prevents further ones. A job of the worker ends later. Until
 * then service->working counts the job.
 */
void arrange_stop(struct arrange *arrange);
