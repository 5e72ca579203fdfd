/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_parts: what session.c and session_accept.c share; nobody else includes it.
 */
#ifndef DAEMON_SESSION_PARTS_H
#define DAEMON_SESSION_PARTS_H

#include "daemon/session.h"

extern const struct handler_client_events session_client_events;
extern const struct transport_events session_transport_events;

/* Puts a response into the output; drops the session where that cannot be. */
void session_respond(struct handler_client *client, const struct msg_response *response);

/* No more requests; when the last answer has gone out, the stream is ended. */
void session_end(struct session *session);

/* Drops it at once, without a word, and without the memory that TCP keeps of who was told. */
void session_reset(struct session *session);

#endif
