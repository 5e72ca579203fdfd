/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrange: decides when an index is rebuilt (core/index/renewal.h), and does it in slices. New
 * deposits stand in a list behind the arranged messages, and each query compares all of the list.
 * When the list is long, or many arranged messages have gone, the index is rebuilt: copying and
 * following in slices on the loop, the long parts on a worker. One index of all hosts at a time.
 *
 *   tick: is any index due?    turn: copy ... copy    worker: arrange    turn: follow ...
 *   worker: free what was before
 *
 * Work is in proportion: the more messages there are, the more must come before they are arranged
 * again; and the worker must have rested for a multiple of the time that it will take, a longer one
 * the busier the daemon is.
 *
 * Messages that are loaded at the start stand behind one another, too, and the daemon serves at
 * once. All indexes are then renewed one after another, the largest first, and the worker does not
 * rest until the last one is done.
 */
#ifndef DAEMON_HOST_ARRANGE_H
#define DAEMON_HOST_ARRANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/renewal.h"
#include "daemon/host/host.h"
#include "daemon/system/worker.h"

enum arrange_phase {
    ARRANGE_IDLE,
    ARRANGE_COPYING,
    ARRANGE_ARRANGING, /* on the worker */
    ARRANGE_FOLLOWING,
    ARRANGE_FREEING /* on the worker */
};

/* Figures since the start. */
struct arrange_figures {
    uint64_t done;
    uint64_t failed;     /* out of memory, or too much changed meanwhile */
    int64_t last_ms;     /* duration of the last rebuild, from its first slice to its last */
    uint64_t last_count; /* messages of the last rebuild */
    bool is_under_way;
};

struct arrange {
    struct worker *worker; /* borrowed; NULL: nothing is ever arranged */
    uint32_t *working;     /* borrowed: service->working; counts the work on the worker */
    enum arrange_phase phase;
    struct renewal *renewal;
    const struct host *hosts; /* borrowed, host_count of them: those of the last call */
    size_t host_count;
    bool loaded;             /* some index has messages loaded at the start, not arranged yet */
    int64_t loaded_ms;       /* when arrange_loaded was called */
    const struct host *host; /* whose index is rebuilt, for the log */
    struct epoch *epoch;     /* whose index is rebuilt; arrange is a user of the epoch */
    struct long_work work;
    int outcome;      /* of arranging, by the worker */
    atomic_bool stop; /* tells the worker to stop */
    bool stopped;
    size_t seen;    /* worn messages of all indexes, at the last tick */
    size_t came;    /* worn messages more than at the tick before */
    int64_t now_ms; /* of the last tick or turn */
    int64_t begun_ms;
    int64_t rests_since_ms; /* the worker; INT64_MIN before the first tick */
    int64_t not_before_ms;  /* after a failure */
    int64_t message_ns;     /* time per message of the last rebuild; a guess at first */
    struct arrange_figures figures;
};

/*
 * Makes the C library return large blocks to the system as soon as they are freed (glibc keeps more
 * of them the longer a program runs). Call once, at the start of the program.
 */
void arrange_tune_memory(void);

/* `worker` may be NULL. There is no deinit; see arrange_stop. */
void arrange_init(struct arrange *arrange, struct worker *worker, uint32_t *working);

/*
 * The hosts' messages were loaded: arrange_turn rebuilds each index that has any, without a rest
 * between them, and logs when all are done. Call once at most; the hosts must outlive the calls of
 * arrange_turn. Does nothing without a worker. O(epochs)
 */
void arrange_loaded(struct arrange *arrange, const struct host *hosts, size_t host_count,
                    int64_t now_ms);

/*
 * Call about once a second: begins to rebuild an index if one is due. Returns whether arrange_turn
 * has work. now_ms is monotonic. O(epochs + messages / 4,096).
 */
bool arrange_tick(struct arrange *arrange, const struct host *hosts, size_t host_count,
                  int64_t now_ms);

/* Whether arrange_turn may have something to do. */
bool arrange_is_active(const struct arrange *arrange);

/* Does one slice, well under a millisecond. Returns whether the next turn has more to do. */
bool arrange_turn(struct arrange *arrange, int64_t now_ms);

/* Begins no rebuild any more, and cancels the current one. The worker ends within milliseconds;
 * until then it counts as working. */
void arrange_stop(struct arrange *arrange);

void arrange_figures(const struct arrange *arrange, struct arrange_figures *out_figures);

#endif
