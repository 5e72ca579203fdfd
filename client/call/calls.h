/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: functions that calls.c, connect.c, watch.c and admin.c use. Only for files of libhearsay.
 */
#ifndef CLIENT_CALL_CALLS_H
#define CLIENT_CALL_CALLS_H

#include "client/call/client.h"

/*
 * Checks the timeout and the kept replies before a call sends its request. Returns 0; ERR_ARGUMENT
 * for a negative timeout; HEARSAY_FULL when the replies kept for hearsay_next take more than
 * CLIENT_KEPT_BYTES_MAX bytes.
 */
int calls_prepare(struct hearsay *server, int timeout_ms, struct hearsay_error *error);

/*
 * Waits for the reply to the request with this ticket. If the server refused the request, returns
 * ERR_REFUSED and copies the refusal to *error. *out_reply is borrowed until the next call on the
 * connection.
 */
int calls_finish(struct hearsay *server, uint64_t ticket, int timeout_ms,
                 const struct hearsay_reply **out_reply, struct hearsay_error *error);

/* Sends a request and waits for the reply: calls_prepare, client_submit, calls_finish. */
int calls_ask(struct hearsay *server, struct hearsay_request *request, int timeout_ms,
              const struct hearsay_reply **out_reply, struct hearsay_error *error);

/*
 * Checks the fields of a query, except those that only the server can check, such as k, and copies
 * it to *out_query with the defaults of the fields that are 0. Returns 0 or ERR_ARGUMENT.
 */
int calls_query(const struct hearsay_query *query, struct hearsay_query *out_query,
                struct hearsay_error *error);

#endif
