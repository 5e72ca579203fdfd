/* SPDX-License-Identifier: Apache-2.0 */
/* http_peer: addresses of clients, and which of them are one sender. */
#pragma once

#include <sys/socket.h>

#include "client/web/http.h"
#include "core/base/alloc.h"
#include "core/base/fair.h"

/* Converts the address of a socket's other end. An IPv4 address that is mapped into IPv6 becomes
 * IPv4. False: the socket is neither IPv4 nor IPv6. Without out->local. */
bool http_peer_from_socket(const struct sockaddr *socket_address, struct http_address *out);

/* Learns our end of an IPv6 connection. Does nothing for IPv4. */
void http_peer_learn_local(int descriptor, struct http_address *address);

/* Asks which device is behind the address, and sets out->device and out->is_hidden. `interface` is
 * the index of the interface of a link-local address; 0: not known. `devices` may be NULL. */
void http_peer_learn_device(struct devices *devices, uint32_t interface,
                            struct http_address *address);

/* Reads the last item of an X-Forwarded-For header. False: the item is not a numeric address. */
bool http_peer_from_forwarded(const char *header, struct http_address *out);

/* Whether two clients have the same address. */
bool http_peer_equals(const struct http_address *a, const struct http_address *b);

/* What counts as one holder wherever something has run out (core/base/fair.h): the device of a
 * client. If the device is not known: an IPv4 address; an IPv6 address on link; or of IPv6 from
 * further away the /64, because one guest there can have all addresses of a /64. */
void http_peer_sender_key(const struct http_address *address, struct fair_key *out_key);

/* Counts one more thing of a client, as fair_enter: an IPv6 address on link is in its /64. */
struct fair_holder *http_peer_enter(struct fair_table *table, const struct alloc *alloc,
                                    const struct http_address *address);

/* Whether two clients count as one address: off link, a /64 is one address. */
bool http_peer_shares_address(const struct http_address *a, const struct http_address *b);

/* Whether two clients are one sender: their keys are the same. */
bool http_peer_shares_sender(const struct http_address *a, const struct http_address *b);

/* Whether two clients are of one device; or, if no device is known, of one IPv6 /64. */
bool http_peer_shares_network(const struct http_address *a, const struct http_address *b);
