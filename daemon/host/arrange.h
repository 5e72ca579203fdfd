/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrange: when messages are arranged anew (core/index/renewal.h), and in what pieces. Deposits
 * stand behind the messages that were arranged, and queries compare them as a list would; when
 * these have become a share worth the work, or many of the others have gone, one index of all
 * hosts' is renewed: by slices on the loop, and the long parts on a worker.
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

/* What has been done since the start. */
struct arrange_figures {
    uint64_t done;
    uint64_t failed;     /* for want of memory, or as too much changed meanwhile */
    int64_t last_ms;     /* the last one done took, from its first slice to its last */
    uint64_t last_count; /* messages then */
    bool is_under_way;
};

struct arrange {
    struct worker *worker; /* borrowed; NULL: nothing is ever arranged */
    uint32_t *working;     /* borrowed: counts what is on the worker */
    enum arrange_phase phase;
    struct renewal *renewal;
    const struct host *hosts; /* borrowed, host_count of them: arrange_loaded; else NULL */
    size_t host_count;
    bool loaded;             /* some index has messages loaded at the start, not arranged yet */
    int64_t loaded_ms;       /* when arrange_loaded was called */
    const struct host *host; /* whose it is, for the log, */
    struct epoch *epoch;     /* ... and the epoch, which it uses */
    struct long_work work;
    int outcome;      /* of arranging, by the worker */
    atomic_bool stop; /* looked at by the worker */
    bool stopped;
    size_t seen;    /* worn messages of all indexes, at the last tick */
    int64_t now_ms; /* of the last tick or turn */
    int64_t begun_ms;
    int64_t rests_since_ms; /* the worker; INT64_MIN before the first tick */
    int64_t not_before_ms;  /* after a failure */
    int64_t message_ns;     /* that a message took last time; a guess at first */
    struct arrange_figures figures;
};

/*
 * Lets the C library give large blocks back to the system as soon as they are freed (glibc keeps
 * more of them the longer a program runs). To be called once, at the start of the program.
 */
void arrange_tune_memory(void);

/* `worker` may be NULL. Nothing to be undone, but see arrange_stop. */
void arrange_init(struct arrange *arrange, struct worker *worker, uint32_t *working);

/*
 * Messages of the hosts were loaded: arrange_turn arranges every index that has any, without a
 * rest between them, and logs when all are arranged. To be called once at most; the hosts must
 * outlive the calls of arrange_turn. Does nothing without a worker. O(epochs)
 */
void arrange_loaded(struct arrange *arrange, const struct host *hosts, size_t host_count,
                    int64_t now_ms);

/*
 * To be called about once a second: begins to arrange an index if one is due. Whether there is work
 * for arrange_turn. now_ms is monotonic. O(epochs + messages / 4,096).
 */
bool arrange_tick(struct arrange *arrange, const struct host *hosts, size_t host_count,
                  int64_t now_ms);

/* Whether arrange_turn may have something to do. */
bool arrange_is_active(const struct arrange *arrange);

/* One slice, well under a millisecond; whether there is more to do at once. */
bool arrange_turn(struct arrange *arrange, int64_t now_ms);

/* Begins nothing any more, and drops what is under way; the worker ends within milliseconds, and
 * until then it is counted as working. */
void arrange_stop(struct arrange *arrange);

void arrange_figures(const struct arrange *arrange, struct arrange_figures *out_figures);

#endif
