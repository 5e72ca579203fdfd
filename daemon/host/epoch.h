/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: an epoch of a host in memory: its times, its key, the index and the summary of its
 * messages. Every host has epoch 0, which never ends.
 *
 * A long search uses an index over many turns of the loop. Such a search counts as a user of the
 * epoch (epoch_use, epoch_leave). Requests cannot name an epoch that is over. An epoch that is over
 * is freed when it has no messages and no users.
 */
#ifndef DAEMON_HOST_EPOCH_H
#define DAEMON_HOST_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/filter/summary.h"
#include "core/index/index.h"
#include "daemon/store/persist.h"

struct epoch {
    uint64_t number;        /* 0: the open one */
    struct index *index;    /* changed by host_admit and host_remove only */
    struct summary summary; /* of the messages in the index */
    uint32_t users;         /* number of long searches and rebuilds that use the epoch */
    bool is_over;           /* requests cannot name it any more */
    /* the index has messages that were loaded at the start, and waits for its first rebuild */
    bool is_loaded;
    /* Time at which the epoch begins. Epoch 0 does not use starts_ms, ends_ms, kept_ms and key. */
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
