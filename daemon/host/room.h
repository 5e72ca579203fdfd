/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room: finds room for one more message: within the caps of the host, of the server, and of the
 * sender's share. Where `evict` allows it, other messages go for the new one.
 *
 * Shares: an address may have 1/16 of a host's messages and bytes, but always one message. A /64 on
 * link may have 1/2. Example: with messages_max = 8000 an address may have 500 messages.
 *
 * A sender over its share loses its own oldest messages (a /64: those of its address that has
 * most); shares.h picks them. If the host or the server is full besides, the store picks messages
 * in the transaction that stores the deposit. Until then the messages are only promised to go: they
 * are counted in `leaving`.
 */
#ifndef DAEMON_HOST_ROOM_H
#define DAEMON_HOST_ROOM_H

#include <stdint.h>

#include "daemon/host/host.h"

struct service;

enum {
    ROOM_EVICT_MAX = 64,  /* messages that may go for one message, however large it is */
    ROOM_OF_ADDRESS = 16, /* an address may have 1/16 of a host */
    ROOM_OF_WIDE = 2      /* a /64 on link may have 1/2 */
};

/* Which cap leaves no room. */
enum room_full { ROOM_HOST_FULL, ROOM_SERVER_FULL, ROOM_ADDRESS_FULL, ROOM_WIDE_FULL };

/* A message that needs room. */
struct room_wish {
    struct service *service;
    struct host *host;
    struct sender_tags sender;
    uint64_t bytes; /* of the message, as they count against the caps */
    bool may_evict; /* other messages may be removed for this one */
};

/* The messages that go for a new one. */
struct room {
    struct usage need; /* messages that the store picks */
    struct usage own;  /* messages of the sender: own_count, marked as leaving in host->shares */
    uint32_t own_count;
    uint8_t own_ids[ROOM_EVICT_MAX][MESSAGE_ID_BYTES];
    enum room_full why; /* only if no room was found: the limit that refuses the message, */
    const char *cap;    /* ... and the cap: "messages" or "bytes" */
};

/*
 * Finds room for a message. True: *out_room is promised, until room_unpromise. False: out_room->why
 * and out_room->cap name the cap, and nothing has changed. Messages that wait for the store count
 * as stored, and promised messages as gone.
 */
bool room_find(const struct room_wish *wish, struct room *out_room);

/* Ends a promise: the store has kept it, or the deposit has failed. */
void room_unpromise(struct service *service, struct host *host, const struct room *room);

/* Call every few seconds: logs which hosts have room again, 1/20 of their caps. */
void room_tick(struct service *service);

#endif
