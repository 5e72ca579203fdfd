/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: what the files with public requests share. Within libhearsay only.
 */
#ifndef CLIENT_CALL_CALLS_H
#define CLIENT_CALL_CALLS_H

#include "client/call/client.h"

/* Borrowed views; NULL is an absent field. */
struct msg_text calls_text(const char *text);
struct msg_bytes calls_bytes(const void *data, size_t count);

/*
 * Before anything is submitted: what a wait could not do must not be begun. 0, ERR_ARGUMENT for a
 * negative timeout, HEARSAY_FULL.
 */
int calls_prepare(struct hearsay *server, int timeout_ms, struct hearsay_error *error);

/*
 * Waits for the reply to what was just submitted (with the status `submitted`, passed on unless 0),
 * and unwraps a refusal. *out_reply is borrowed until the next call.
 */
int calls_finish(struct hearsay *server, int submitted, uint64_t ticket, int timeout_ms,
                 const struct hearsay_reply **out_reply, struct hearsay_error *error);

/* What is wrong with a query before it is sent: ERR_ARGUMENT. */
int calls_check_query(const struct hearsay_query *query, struct hearsay_error *error);

/* The parts of a checked query as the wire has them; out_parts[LIMIT_PARTS] borrow its filters. */
void calls_parts(const struct hearsay_query *query, struct msg_query_part *out_parts);

#endif
