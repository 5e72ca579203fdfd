/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room: decides whether one more message fits the caps of the host, the caps of the server, and the
 * sender's share. If the configuration key `evict` allows it, other messages are removed for the
 * new one.
 *
 * Shares: an address may have 1/16 of the messages and bytes of a host, and of the server. A /64 on
 * link may have 1/2. An address or a /64 without any message is not over its share with the first
 * one. Example: with `messages = 8000` of a host an address may have 500 messages there.
 *
 * If a message has as many answers as it may have, one of them goes for a new one (answers_pick).
 *
 * If `evict` allows it, a sender over its share loses its own oldest messages. If a /64 is over its
 * share, the address of the /64 that has most loses its oldest messages. shares.h picks these
 * messages. If the host or the server is full, too, the store picks more messages in the
 * transaction that stores the deposit. Until the store has answered, the messages are promised:
 * they are counted in `leaving`.
 */
#pragma once

#include "daemon/host/host.h"

enum {
    /* maximum number of messages that are removed for one new message, however large that is */
    ROOM_EVICT_MAX = 64,
    ROOM_OF_ADDRESS = 16, /* an address may have 1/16 of a host */
    ROOM_OF_WIDE = 2,     /* a /64 on link may have 1/2 */
    /* expired messages are deleted every 5 seconds (server.c) */
    ROOM_SWEEP_MS = 5000
};

/* Whose limit leaves no room for a message. */
enum room_full { ROOM_HOST_FULL, ROOM_SERVER_FULL, ROOM_ADDRESS_FULL, ROOM_WIDE_FULL };

/* A message for which room_find decides. */
struct room_wish {
    struct service *service;
    struct host *host;
    struct sender_tags sender;
    uint64_t bytes;       /* bytes of the message that count against the caps */
    bool may_evict;       /* other messages may be removed for this one */
    struct answer *first; /* an answer that goes for this one in any case; NULL: none */
};

/* The messages that are removed for a new one. */
struct room {
    struct usage need; /* how many messages and bytes the store picks */
    /* number and bytes of the messages in own_ids, which are marked as leaving in host->shares */
    struct usage own;
    uint32_t own_count;
    uint8_t own_ids[ROOM_EVICT_MAX][MESSAGE_ID_BYTES];
    /* only after room_find returned false: whose limit is reached */
    enum room_full why;
    const char *cap; /* only after room_find returned false: "messages" or "bytes" */
};

/*
 * Finds the messages that must be removed for a new message. Returns true: the messages in
 * *out_room are promised until room_unpromise. Returns false: out_room->why and out_room->cap name
 * the limit that is reached, and no message is promised. Messages that wait for the store count as
 * stored. Promised messages count as removed.
 */
bool room_find(const struct room_wish *wish, struct room *out_room);

/*
 * After room_find returned false: in how many milliseconds the next message of a full host, or of
 * all hosts if the server is full, will have expired and be deleted. 0: not known, or no message
 * that expires makes room for this one. Messages that wait for the store do not count.
 */
uint64_t room_next_ms(const struct room_wish *wish, const struct room *room);

/*
 * Ends the promise of room_find: the messages in *room do not count as removed any more. Call this
 * function when the store has removed the messages, or when the deposit has failed.
 */
void room_unpromise(struct service *service, struct host *host, const struct room *room);

/*
 * Notes each full host that has 1/20 of its caps free again, if 1/20 of the server's caps is free,
 * too. Logs a line if the log has a line that the host is full. Call every few seconds.
 */
void room_tick(struct service *service);
