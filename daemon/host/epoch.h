/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: the messages of one host that belong to one epoch: their index and what they have in
 * common. Epoch 0 is the open one, which every host has.
 *
 * Searches under way look at an index over many turns of the loop, and begin anew where a message
 * went that they had found. So whoever keeps an epoch from one turn to the next is counted as a
 * user (epoch_use, epoch_leave), and an epoch that is over stays in memory, out of everyone's
 * reach, until it is empty and has no users.
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
    struct index *index;    /* messages come and go by host_admit and host_remove */
    struct summary summary; /* of what is in the index */
    uint32_t users;         /* who keep it from one turn to the next */
    bool is_over;           /* nobody may ask for it any more */
    bool is_loaded;         /* its messages were loaded at the start, and not arranged since */
    int64_t starts_ms;      /* the rest: not of the open one */
    int64_t ends_ms;
    int64_t kept_ms;
    uint8_t key[LIMIT_KEY_BYTES]; /* zeros when it is over */
};

/*
 * An empty one, owned by the caller; `stored` NULL: the open one. -ERR_NOMEM. What `options` points
 * to must outlive it.
 */
int epoch_new(const struct persist_epoch *stored, const struct index_options *options,
              struct epoch **out_epoch);

/* Its time is over: the key is wiped. */
void epoch_end(struct epoch *epoch);

void epoch_free(struct epoch *epoch, const struct alloc *alloc); /* no users; NULL is fine */

void epoch_use(struct epoch *epoch);
void epoch_leave(struct epoch *epoch);

#endif
