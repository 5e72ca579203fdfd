/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve: names to addresses, with a deadline.
 *
 * getaddrinfo has no timeout, so a name is looked up on a thread of its own; a numeric address
 * needs no thread. When the deadline passes first, the caller goes on, and the thread frees its
 * memory when getaddrinfo returns.
 */
#ifndef CLIENT_NET_RESOLVE_H
#define CLIENT_NET_RESOLVE_H

#include <stdint.h>

#include "client/hearsay.h"

struct addrinfo;

/*
 * The stream addresses of host and decimal port. 0 with *out_list owned (freeaddrinfo), or
 * HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM.
 */
int resolve_name(const char *host, const char *port, int64_t deadline_ms,
                 struct addrinfo **out_list, struct hearsay_error *out_error);

#endif
