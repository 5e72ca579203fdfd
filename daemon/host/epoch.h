/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: an epoch of a host in memory: its times, its key, the index and the summary of its
 * messages. Every host has epoch 0, which never ends.
 *
 * A query or a rebuild may use an index over many turns of the loop. Each counts as a user of the
 * epoch (epoch_use, epoch_leave). Requests cannot name an epoch that is over. An epoch that is over
 * is freed when its index has no messages and it has no users.
 */
#ifndef DAEMON_HOST_EPOCH_H
#define DAEMON_HOST_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/filter/summary.h"
#include "core/index/index.h"
#include "core/index/worth.h"
#include "daemon/store/persist.h"

struct epoch {
    uint64_t number;        /* 0: the open one */
    struct index *index;    /* messages are added by host_admit and removed by host_remove only */
    struct summary summary; /* of the messages in the index */
    uint32_t users;         /* number of queries and rebuilds that use the epoch */
    bool is_over;           /* requests cannot name it any more */
    uint32_t walks; /* number of index_walk_new that run; the index is not rebuilt meanwhile */
    /* the index has messages that were loaded at the start, and waits for its first rebuild */
    bool is_loaded;
    struct worth worth; /* arrange.c: of a rebuild of the index */
    /*
     * Unix time in milliseconds at which the epoch begins. Epoch 0 does not use starts_ms, ends_ms,
     * kept_ms and key.
     */
    int64_t starts_ms;
    int64_t ends_ms;
    int64_t kept_ms;
    uint8_t key[LIMIT_KEY_BYTES]; /* zero when the epoch is over */
};

/*
 * Makes an epoch without messages from `stored`; NULL: makes epoch 0. The caller owns *out_epoch.
 * The objects that `options` points to must outlive the epoch. Returns 0 or -ERR_NOMEM.
 */
int epoch_new(const struct persist_epoch *stored, const struct index_options *options,
              struct epoch **out_epoch);

/* The epoch is over: wipes its key. */
void epoch_end(struct epoch *epoch);

void epoch_free(struct epoch *epoch, const struct alloc *alloc); /* no users; NULL is fine */

void epoch_use(struct epoch *epoch);
void epoch_leave(struct epoch *epoch);

#endif
