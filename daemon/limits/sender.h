/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender: the owner of connections, as far as limits are concerned. A sender is known by a keyed
 * hash of a device, an address or a /64, in memory only. It has a number of connections, and a
 * token bucket for each action (enum sender_action).
 *
 *   a device is known     the device is a sender, with all its addresses (daemon/device/)
 *   IPv4                  each address is a sender
 *   IPv6, on link         each address is a sender, and its /64 has SENDERS_WIDE times the rates.
 *                         A guest network is one /64, and one device can take many of its addresses
 *   IPv6, further away    each /64 is a sender: a provider usually gives a customer at least a /64
 *   Unix socket           all clients of limited Unix sockets are one sender
 *
 * A sender is kept while it has a connection or a bucket that is not full. Later senders_tidy
 * forgets the sender, or its place is given to another sender. Both change no limit of rates or
 * connections. So other senders, however many, cannot reset the limits of a sender. If there is no
 * place for a new sender, it shares one set of limits with all other senders without a place. The
 * shared limits are SENDERS_WIDE times the limits of one sender.
 *
 * A sender whose connections are refused gets an error with the reason only at a limited rate.
 *
 * This module reads no clock and makes no random numbers: the caller passes the time and the key.
 * Not thread-safe.
 */
#pragma once

#include <sys/socket.h>

#include "core/base/alloc.h"
#include "core/base/bucket.h"
#include "core/base/fair.h"
#include "daemon/limits/account.h"
#include "daemon/system/keyed_hash.h"

enum { SENDERS_WIDE = 16 };

enum sender_kind {
    SENDER_IPV4,
    SENDER_IPV6_ON_LINK,
    SENDER_IPV6_PREFIX,
    SENDER_UNIX,
    SENDER_DEVICE
};

/* What of an address counts. */
struct sender_address {
    enum sender_kind kind;
    uint8_t bytes[16]; /* IPv4: 4, a prefix: 8, a device: 8 of its number, the rest is zero */
};

/*
 * Gets the part of a peer's address that limits depend on. `local` is the address of our end of the
 * connection: an IPv6 peer in the /64 of `local` is on link. An IPv4 address that is mapped into
 * IPv6 becomes the IPv4 address. An address that is not of IP becomes SENDER_UNIX.
 */
void sender_address_of(const struct sockaddr *peer, const struct sockaddr *local,
                       struct sender_address *out_address);

/* Makes the device `device` (daemon/device/devices.h) what counts, whatever its address is. */
void sender_address_set_device(struct sender_address *address, uint64_t device);

/* Makes the /64 of an IPv6 address on link what counts, as if the address were further away. Does
 * nothing to another address. */
void sender_address_widen(struct sender_address *address);

/* Whether the peer is on this machine: it has a loopback address, or its address is not of IP. */
bool sender_is_local(const struct sockaddr *peer);

/* The actions that have a rate limit per minute. SENDER_TOLD: a connection is refused with an error
 * that gives the reason. SENDER_OVER: a request that exceeds a rate limit is refused. */
enum sender_action { SENDER_DEPOSIT, SENDER_QUERY, SENDER_TOLD, SENDER_OVER, SENDER_ACTIONS };

struct sender_limits {
    /* Maximum number of connections that a sender may have at the same time. The shared sender may
     * have SENDERS_WIDE times as many. The /64 of an address on link has no such limit. */
    uint32_t connections;
    struct bucket_rate rates[SENDER_ACTIONS];
};

struct senders;
struct sender;

/* Makes a table with places for `capacity` (1 to 2^30) senders. Borrows `alloc`. Returns 0 or
 * -ERR_NOMEM. */
int senders_new(const struct alloc *alloc, uint32_t capacity,
                const uint8_t key[KEYED_HASH_KEY_BYTES], struct senders **out_senders);
void senders_free(struct senders *senders); /* NULL is fine; no sender has a connection */

/* Forgets senders that have no connection and whose buckets are full. Each call checks some
 * thousands of senders for every five seconds since the last call. The next call goes on where this
 * one has stopped. */
void senders_tidy(struct senders *senders, const struct sender_limits *limits, int64_t now_ms);

/*
 * Counts one more connection of an address. Returns 0, and in *out_sender the sender, which is
 * valid until senders_leave. If the sender already has the maximum number of connections, returns
 * SENDER_REFUSED: send an error; or SENDER_CUT_OFF if the sender has got such errors too often:
 * send nothing. O(capacity) at worst, when there is no free place.
 */
enum { SENDER_REFUSED = 1, SENDER_CUT_OFF = 2 };
int senders_enter(struct senders *senders, const struct sender_address *address,
                  const struct sender_limits *limits, int64_t now_ms, struct sender **out_sender);
void senders_leave(struct sender *sender);

/* Returns the sender of an address, if it has the maximum number of connections. NULL: one more
 * connection of the address may be counted. */
const struct sender *senders_find_full(struct senders *senders,
                                       const struct sender_address *address,
                                       const struct sender_limits *limits);

/*
 * sender_keep keeps a sender valid, also without a connection, until sender_release: for work whose
 * cost is settled when the client may have gone. Keeps may be nested. They count as no connection.
 * senders_keep finds the sender of an address, or makes it, and keeps it: for a request that a
 * gateway sends for a client which has no connection here. O(capacity) at worst, when there is no
 * free place.
 */
struct sender *senders_keep(struct senders *senders, const struct sender_address *address,
                            const struct sender_limits *limits, int64_t now_ms);
void sender_keep(struct sender *sender);
void sender_release(struct sender *sender);

/* What is counted for a sender: connections, TLS handshakes that are under way, and operations that
 * wait for the store. */
enum sender_use { SENDER_CONNECTIONS, SENDER_HANDSHAKES, SENDER_WRITES, SENDER_USES };

/* sender_begin_handshake counts a TLS handshake that begins. sender_end_handshake counts off a
 * handshake that has ended. All handshakes of a connection must end before its senders_leave. */
void sender_begin_handshake(struct sender *sender);
void sender_end_handshake(struct sender *sender);

/* sender_begin_write counts an operation that waits for the store, and keeps the sender valid until
 * sender_end_write, also if the client has gone by then. */
void sender_begin_write(struct sender *sender);
void sender_end_write(struct sender *sender);

/* Returns how much of `use` the sender and its /64 have. */
struct fair_share sender_share(const struct sender *sender, enum sender_use use);

/* Returns a number for the address, never 0: a part of its keyed hash. Equal addresses get equal
 * numbers while the table has the same key. */
uint32_t senders_tag(const struct senders *senders, const struct sender_address *address);

/* Returns a number for the /64 of an IPv6 address on link. Such a /64 has limits, in addition to
 * the limits of the address. Returns 0 for any other address. */
uint32_t senders_wide_tag(const struct senders *senders, const struct sender_address *address);

/*
 * Takes `cost` tokens from a bucket of a sender, and from the bucket of its /64 if the sender is on
 * link. Returns 0, or the time in ms after which the call may succeed; then nothing was taken.
 * `now_ms` is monotonic.
 */
uint64_t sender_take(struct sender *sender, enum sender_action action,
                     const struct sender_limits *limits, uint32_t cost, int64_t now_ms);

/* Takes tokens as sender_take does: at most `most`, and as many as there are. Returns how many.
 * sender_give gives tokens back that were not needed. */
uint32_t sender_take_most(struct sender *sender, enum sender_action action,
                          const struct sender_limits *limits, uint32_t most, int64_t now_ms);
void sender_give(struct sender *sender, enum sender_action action,
                 const struct sender_limits *limits, uint32_t tokens, int64_t now_ms);

/* Takes `cost` tokens as sender_take does, but only if at least a quarter of the burst in `limits`
 * is left in each of the buckets afterwards. For work that is less urgent than requests. */
uint64_t sender_take_spare(struct sender *sender, enum sender_action action,
                           const struct sender_limits *limits, uint32_t cost, int64_t now_ms);

/* Returns a pointer to the account of CPU time of all connections of the sender. The caller changes
 * the account. NULL: `sender` is the shared sender, which stands for all addresses without a place
 * in the table. */
struct account *sender_account(struct sender *sender);

/* Returns a pointer to the number of the last turn that a connection of the sender had
 * (service_take_turn). The caller changes the number. NULL: `sender` is the shared sender, which
 * stands for all addresses without a place in the table. */
uint64_t *sender_turn(struct sender *sender);
