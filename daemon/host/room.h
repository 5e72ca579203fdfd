/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room: whether a host has room for one message more, and what must go for it where it has not.
 *
 * An address may have a 16th of a host's messages and of its bytes, but always one message; a /64
 * on link may have half of them. Where `evict` lets messages go, a sender over its share loses its
 * own oldest ones first (of a /64: those of the address that has most); shares.h finds these. When
 * the host, or all hosts together, are full besides, the store chooses, in the transaction that the
 * deposit is stored in; here is only counted what is promised to go.
 */
#ifndef DAEMON_HOST_ROOM_H
#define DAEMON_HOST_ROOM_H

#include <stdint.h>

#include "daemon/host/host.h"

struct service;

enum {
    ROOM_EVICT_MAX = 64,  /* messages that go for one: a large message does not displace hundreds */
    ROOM_OF_ADDRESS = 16, /* an address may have one part in so many of a host */
    ROOM_OF_WIDE = 2      /* a /64 on link */
};

/* What must go for a message. */
struct room {
    struct usage need; /* of the host's messages, which the store chooses */
    struct usage own;  /* of the sender's own ones: own_count, marked as leaving in host->shares */
    uint32_t own_count;
    uint8_t own_ids[ROOM_EVICT_MAX][MESSAGE_ID_BYTES];
};

/* Why there is no room. */
enum room_full { ROOM_HOST_FULL, ROOM_SERVER_FULL, ROOM_ADDRESS_FULL, ROOM_WIDE_FULL };

/*
 * Looks for room for a message of `bytes` by `sender`. `may_evict`: whether messages may go for it.
 * True, and *out_room, which is promised then (room_unpromise takes that back); or false, with
 * *out_why and *out_cap, "messages" or "bytes", and nothing changed. What waits to be stored counts
 * as stored, what was promised to go as gone.
 */
bool room_find(struct service *service, struct host *host, const struct sender_tags *sender,
               uint64_t bytes, bool may_evict, struct room *out_room, enum room_full *out_why,
               const char **out_cap);

/* The promise has been kept, or will not be. */
void room_unpromise(struct service *service, struct host *host, const struct room *room);

/* Called every few seconds: tells the log which hosts have room again, a 20th of their limits. */
void room_tick(struct service *service);

/* What the store took out of a host: from its indexes, its usage and the cache. */
void room_take_out(struct service *service, struct host *host,
                   const struct persist_removed *removed, uint32_t count);

#endif
