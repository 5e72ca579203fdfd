/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay: requests of hearsay-bridge that libhearsay has no call for. Not part of hearsay.h: it is
 * not installed, and the shared library does not export it.
 */
#ifndef CLIENT_RELAY_H
#define CLIENT_RELAY_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Submits a request, as hearsay_submit_query. After a request Serve, hearsay_next returns replies
 * of the kind HEARSAY_RESPONSE_ASK, whose id is 0.
 */
int relay_submit(struct hearsay *server, struct hearsay_request *request, uint64_t *out_ticket,
                 struct hearsay_error *out_error);

#endif
