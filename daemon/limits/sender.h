/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender: who sends, as far as limits need to know: a salted hash of the address, in memory only.
 * Counts the connections of each and holds its token buckets.
 *
 *   IPv4                  each address counts by itself
 *   IPv6, on link         each address by itself, and its /64 with SENDERS_WIDE times the rates.
 *                         A guest network is one /64, and one device can take many addresses of it
 *   IPv6, further away    the /64: that is what one customer is given
 *   Unix socket           all together, where such a listener is limited
 *
 * A sender is remembered as long as that makes a difference: while it is connected, and until its
 * buckets are full again. So nobody's limits are forgotten because others came. When there is no
 * place for one more, it shares the limits of all who find none: SENDERS_WIDE times those of one.
 *
 * Who is refused connections again and again is not told so each time: that, too, has a bucket.
 *
 * No clock and no randomness in here: time and key are the caller's. Not thread-safe.
 */
#ifndef DAEMON_LIMITS_SENDER_H
#define DAEMON_LIMITS_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/alloc.h"
#include "core/base/bucket.h"
#include "daemon/limits/account.h"

enum { SENDERS_KEY_BYTES = 16, SENDERS_WIDE = 16 };

enum sender_kind { SENDER_IPV4, SENDER_IPV6_ON_LINK, SENDER_IPV6_PREFIX, SENDER_UNIX };

/* What of an address counts. */
struct sender_address {
    enum sender_kind kind;
    uint8_t bytes[16]; /* IPv4: 4, a prefix: 8, the rest is zero */
};

/*
 * What counts of a connection's peer; `local` is our end of it, whose /64 tells what is on link.
 * An IPv4 address in IPv6's clothes is that IPv4 address; what is no IP address is SENDER_UNIX.
 */
void sender_address_of(const struct sockaddr *peer, const struct sockaddr *local,
                       struct sender_address *out_address);

/* Whether the peer is this machine: loopback, or not IP at all. */
bool sender_is_local(const struct sockaddr *peer);

/* What is limited to so many a minute. SENDER_TOLD: to be told why a connection is refused;
 * SENDER_OVER: to be refused requests that are over a rate. */
enum sender_action { SENDER_DEPOSIT, SENDER_QUERY, SENDER_TOLD, SENDER_OVER, SENDER_ACTIONS };

struct sender_limits {
    uint32_t connections; /* of one sender at a time; a /64 on link has no bound of its own */
    struct bucket_rate rates[SENDER_ACTIONS];
};

struct senders;
struct sender;

/* Room for `capacity` (>= 1) senders. `alloc` is borrowed. -ERR_NOMEM. */
int senders_new(const struct alloc *alloc, uint32_t capacity, const uint8_t key[SENDERS_KEY_BYTES],
                struct senders **out_senders);
void senders_free(struct senders *senders); /* NULL is fine; nobody may be connected */

/*
 * Takes one more connection of this address: 0, and *out_sender until senders_leave. When it has as
 * many as it may, SENDER_REFUSED, or SENDER_CUT_OFF when it has been told so often lately.
 * O(capacity) at worst, when there is no place.
 */
enum { SENDER_REFUSED = 1, SENDER_CUT_OFF = 2 };
int senders_enter(struct senders *senders, const struct sender_address *address,
                  const struct sender_limits *limits, int64_t now_ms, struct sender **out_sender);
void senders_leave(struct sender *sender);

/* What a sender holds at a time: connections, and TLS handshakes that are under way. */
enum sender_use { SENDER_CONNECTIONS, SENDER_HANDSHAKES, SENDER_USES };

/* The sender begins or ends a handshake; senders_leave comes after the last one has ended. */
void sender_begin_handshake(struct sender *sender);
void sender_end_handshake(struct sender *sender);

/* How many the sender holds. */
uint32_t sender_holds(const struct sender *sender, enum sender_use use);

/* > 0: `a` holds more than `b`, or as many and the /64 of `a` holds more than that of `b`; < 0: the
 * other way round. */
int sender_compare(const struct sender *a, const struct sender *b, enum sender_use use);

/* How many connections or handshakes (`use`) all senders of this sender's IPv6 /64 hold together.
 * 0: the sender is not on link, or `other` is in the same /64. `other` may be NULL: then it is not
 * compared. */
uint32_t sender_network_holds(const struct sender *sender, const struct sender *other,
                              enum sender_use use);

/* The address's number, the same as long as the key is; never 0. */
uint32_t senders_tag(const struct senders *senders, const struct sender_address *address);

/* The number of the /64 that the address counts with besides; 0: there is none. */
uint32_t senders_wide_tag(const struct senders *senders, const struct sender_address *address);

/*
 * Takes `cost` tokens of a sender, and of its /64 where that counts, at now_ms (monotonic). 0, or
 * after how many ms it is worth trying again: then nothing was taken.
 */
uint64_t sender_take(struct sender *sender, enum sender_action action,
                     const struct sender_limits *limits, uint32_t cost, int64_t now_ms);

/* The same, but only where `spare` tokens more would be left: for work that gives way to requests.
 */
uint64_t sender_take_spare(struct sender *sender, enum sender_action action,
                           const struct sender_limits *limits, uint32_t cost, uint32_t spare,
                           int64_t now_ms);

/* The processor time that all its connections took lately, for the caller to keep; NULL for those
 * who found no place, and have nothing to do with each other. */
struct account *sender_account(struct sender *sender);

/* The number of the last turn that one of its connections had, for the caller to keep; NULL as
 * above. */
uint64_t *sender_turn(struct sender *sender);

#endif
