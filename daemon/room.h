/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room: whether a host has room for one message more, and what must go for it where it has not.
 * What goes is chosen by the store, in the transaction that the deposit is stored in; here is only
 * counted what is promised to go.
 */
#ifndef DAEMON_ROOM_H
#define DAEMON_ROOM_H

#include <stdint.h>

#include "daemon/host.h"

struct service;

/* Most messages that go for one: a large message does not displace hundreds of small ones. */
enum { ROOM_EVICT_MAX = 64 };

/* Named outcomes. */
enum {
    ROOM_BY_EVICTION = 1, /* *out_need must go */
    ROOM_NONE = 2         /* *out_cap of *out_whose is reached, and nothing may or can go */
};

/*
 * Looks for room for a message of `bytes`: 0 when there is, or one of the above. What waits to be
 * stored counts as stored, what was promised to go as gone.
 */
int room_find(const struct service *service, const struct host *host, uint64_t bytes,
              struct usage *out_need, const char **out_cap, const char **out_whose);

/* Promises that so much will go, and takes the promise back when it has, or has not. */
void room_promise(struct service *service, struct host *host, const struct usage *need);
void room_unpromise(struct service *service, struct host *host, const struct usage *need);

/* What the store took out of a host: from its indexes, its usage and the cache. */
void room_take_out(struct service *service, struct host *host,
                   const struct persist_removed *removed, uint32_t count);

#endif
