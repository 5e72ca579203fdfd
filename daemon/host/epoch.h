/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: the messages of one host that belong to one epoch: their index and their summary. Every
 * host has epoch 0, the open one, which never ends.
 *
 * A long search uses an index over many turns of the loop. So it counts as a user of the epoch
 * (epoch_use, epoch_leave). An epoch that is over can no longer be asked for, and is freed when it
 * is empty and has no users.
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
    uint32_t users;         /* long searches that use it */
    bool is_over;           /* requests cannot name it any more */
    bool is_loaded;         /* its messages were loaded at the start and are not arranged yet */
    int64_t starts_ms;      /* from here on: not used by epoch 0 */
    int64_t ends_ms;
    int64_t kept_ms;
    uint8_t key[LIMIT_KEY_BYTES]; /* zero when the epoch is over */
};

/*
 * Makes an empty epoch, owned by the caller. `stored` NULL: epoch 0. -ERR_NOMEM. What `options`
 * points to must outlive the epoch.
 */
int epoch_new(const struct persist_epoch *stored, const struct index_options *options,
              struct epoch **out_epoch);

/* The epoch is over: wipes its key. */
void epoch_end(struct epoch *epoch);

void epoch_free(struct epoch *epoch, const struct alloc *alloc); /* no users; NULL is fine */

void epoch_use(struct epoch *epoch);
void epoch_leave(struct epoch *epoch);

#endif
