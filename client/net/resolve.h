/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve: looks up the addresses of a host name, with a deadline.
 *
 * getaddrinfo has no timeout. So a separate thread looks up a name; a numeric address needs no
 * thread. If the deadline passes before getaddrinfo returns, resolve_name returns, and the thread
 * later frees what it has.
 */
#ifndef CLIENT_NET_RESOLVE_H
#define CLIENT_NET_RESOLVE_H

#include <stdint.h>

#include "client/hearsay.h"

struct addrinfo;

/*
 * Finds the stream addresses of a host and a decimal port. Returns 0 with *out_list owned
 * (freeaddrinfo), HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_SYSTEM or
 * HEARSAY_ERR_NOMEM.
 */
int resolve_name(const char *host, const char *port, int64_t deadline_ms,
                 struct addrinfo **out_list, struct hearsay_error *out_error);

/* Converts a numeric address and a decimal port to an address, like resolve_name, but without
 * waiting and without a thread. Returns HEARSAY_ERR_ARGUMENT for a name. */
int resolve_number(const char *host, const char *port, struct addrinfo **out_list,
                   struct hearsay_error *out_error);

#endif
