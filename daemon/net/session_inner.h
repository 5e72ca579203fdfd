/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_parts: what session.c, session_accept.c and session_requests.c share; nobody else
 * includes it.
 */
#ifndef DAEMON_NET_SESSION_INNER_H
#define DAEMON_NET_SESSION_INNER_H

#include "daemon/limits/drops.h"
#include "daemon/net/session.h"

extern const struct requester_events session_client_events;
extern const struct transport_events session_transport_events;

enum {
    SESSION_REFUSED_MAX = 64, /* sessions that are told at a time that there is no place for them */
    SESSION_RETRY_MS = 5000   /* after which there may be */
};

void session_move_to(struct session *session, enum session_state state);
bool session_takes_requests(const struct session *session);

/* Its requests wait for its turn: among those that want much, if it is one. */
void session_mark_ready(struct session *session);

/* Its handshake is done, or will never be: another one may begin in its place. */
void session_end_handshake(struct session *session);

/* Counts what waits for it with the output of all sessions, and drops who is over a bound. */
void session_check_output(struct session *session);

/* Counts and logs that the daemon ends it for this reason; the caller ends it. */
void session_note_drop(const struct session *session, enum drop reason);

/* Drops it since memory failed: an answer would be missing. */
void session_fail(struct session *session);

/* Whether it, or all connections of its sender, had more than the share of the time lately. */
bool session_is_over_share(struct session *session, uint64_t now_ns);

/* Charges it with the time since. */
void session_spend(struct session *session, uint64_t began_ns);

/* Takes requests until slice_ns after began_ns, from when on it is charged. */
void session_process_since(struct session *session, uint64_t began_ns, uint64_t slice_ns);

/* Puts a response into the output; drops the session where that cannot be. */
void session_respond(struct requester *client, const struct msg_response *response);

/* No more requests; when the last answer has gone out, the stream is ended. */
void session_end(struct session *session);

/* Tells the client that its place is needed, and ends the session. A session over
 * SESSION_REFUSED_MAX is reset. The loop frees it later; its place counts as free from now on. */
void session_give_way(struct session *session);

/* Drops it at once, without a word, and without the memory that TCP keeps of who was told. */
void session_reset(struct session *session);

#endif
