/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: sends a request of the protocol, and gives the response, as the structs of
 * hearsay/messages.h. This is the way to report a message, to administer a daemon, and to copy a
 * host; docs/protocol.md says what each request does and who may send it. Part of hearsay.h.
 *
 *   struct hearsay_request request = {.kind = HEARSAY_REQUEST_HIDE};
 *   request.hide.id = hearsay_bytes(id, HEARSAY_ID_BYTES);
 *   hearsay_ask(server, &request, 5000, &response, &error);
 */
#ifndef HEARSAY_ASK_H
#define HEARSAY_ASK_H

#include "base.h"
#include "connection.h"
#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sends the request and waits for the response, as hearsay_query does, with the same errors. `kind`
 * says which member of the union is the request; `id` and `asker` need not be set. A member that is
 * 0 counts as such: where the comment of a field gives another value for an absent field, the
 * caller sets it. The request is borrowed for the call.
 *
 * response->kind is the one that answers the request: hearsay_ask returns the error of a server
 * that refuses it. *out_response is borrowed from the connection until the next call on the
 * connection. The time that the requests check, backup, compact and similar take grows with the
 * size of the store: choose timeout_ms accordingly.
 */
HEARSAY_API int hearsay_ask(struct hearsay *server, const struct hearsay_request *request,
                            int timeout_ms, const struct hearsay_response **out_response,
                            struct hearsay_error *out_error);

/* Submits a request, as hearsay_submit_query. After HEARSAY_REQUEST_SERVE, hearsay_next returns
 * asks as well: HEARSAY_RESPONSE_ASK, with the id 0. */
HEARSAY_API int hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                               uint64_t *out_ticket, struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
