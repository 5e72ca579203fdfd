/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve: names to addresses, with a deadline.
 *
 * getaddrinfo knows no deadline, so a name (not a numeric address) is looked up on a thread of its
 * own. Where the deadline passes first, the thread is left to end by itself and frees what it
 * holds.
 */
#ifndef CLIENT_NET_RESOLVE_H
#define CLIENT_NET_RESOLVE_H

#include "client/hearsay.h"

#include <stdint.h>

struct addrinfo;

/*
 * The stream addresses of host and decimal port. 0 with *out_list owned (freeaddrinfo), or
 * HEARSAY_ERR_CONNECT, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM.
 */
int resolve_name(const char *host, const char *port, int64_t deadline_ms,
                 struct addrinfo **out_list, struct hearsay_error *out_error);

#endif
