/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay: requests and replies of a connection as the structs of proto/. hearsay-bridge passes
 * queries and results on between hearsayd and other bridges, and only looks at some of their
 * fields. Not part of hearsay.h: it is not installed, and the shared library does not export it.
 */
#ifndef CLIENT_RELAY_H
#define CLIENT_RELAY_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Returns the next reply that has arrived, or after a request Serve the next ask, without waiting;
 * its id is the ticket, 0 for an ask. *out_response is borrowed until the next call on the
 * connection. HEARSAY_PENDING: none is there. Other results as hearsay_next. A connection is read
 * by relay_next or by hearsay_next, not by both.
 */
int relay_next(struct hearsay *server, struct hearsay_response *out_response,
               struct hearsay_error *out_error);

#endif
