/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: what the files with public requests share (calls.c, watch.c, admin.c). Within libhearsay
 * only.
 */
#ifndef CLIENT_CALL_CALLS_H
#define CLIENT_CALL_CALLS_H

#include "client/call/client.h"

/* A text or bytes as a field of a request; NULL: the field is absent. Borrows. */
struct msg_text calls_text(const char *text);
struct msg_bytes calls_bytes(const void *data, size_t count);
struct msg_bytes calls_filter(const struct hearsay_filter *filter);

/*
 * The check of every one-at-a-time call, before it submits. 0, ERR_ARGUMENT for a negative timeout,
 * HEARSAY_FULL when the kept replies exceed CLIENT_KEPT_BYTES_MAX.
 */
int calls_prepare(struct hearsay *server, int timeout_ms, struct hearsay_error *error);

/*
 * Waits for the reply to a ticket. A refusal becomes ERR_REFUSED and is copied to `error`.
 * *out_reply is borrowed until the next call on the connection.
 */
int calls_finish(struct hearsay *server, uint64_t ticket, int timeout_ms,
                 const struct reply **out_reply, struct hearsay_error *error);

/* All of a one-at-a-time call: calls_prepare, submit, calls_finish. */
int calls_ask(struct hearsay *server, struct msg_request *request, int timeout_ms,
              const struct reply **out_reply, struct hearsay_error *error);

/* Checks a query before it is sent. 0 or ERR_ARGUMENT. */
int calls_check_query(const struct hearsay_query *query, struct hearsay_error *error);

/* A checked query as the wire has it, without `exclude`. Fills out_parts, which has room for
 * LIMIT_PARTS elements. The result borrows out_parts, and both borrow from the query. */
struct msg_query calls_query(const struct hearsay_query *query, struct msg_query_part *out_parts);

#endif
