/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_inner: what session_state.c and session_requests.c offer to the other files of session.
 */
#ifndef DAEMON_NET_SESSION_INNER_H
#define DAEMON_NET_SESSION_INNER_H

#include "daemon/limits/drops.h"
#include "daemon/net/session.h"

/* Answered with RATE_LIMITED, a client may come again after this time. */
enum { SESSION_RETRY_MS = 5000 };

/* --- session_state.c: one session ------------------------------------------------------------- */

struct session *session_of_client(struct requester *client);

void session_move_to(struct session *session, enum session_state state);
bool session_takes_requests(const struct session *session);

/* Adds a session that was just accepted to all others. */
void session_add(struct sessions *all, struct session *session);

/* No request is in flight, and no output waits. */
bool session_is_done(const struct session *session);

/* Whether the session, or all connections of its sender, used more than a 16th of the CPU time. */
bool session_is_over_share(struct session *session, uint64_t now_ns);

/* Charges the session with the CPU time since began_ns. */
void session_spend(struct session *session, uint64_t began_ns);

/* Puts the session on the loop's list `ready`, or `busy` if it is over its share. */
void session_mark_ready(struct session *session);

/* The same if the session had stopped reading since a bound was reached. */
void session_mark_ready_if_held(struct session *session);

/* Has the output sent before the loop waits. */
void session_mark_dirty(struct session *session);

/* A TLS handshake begins; it is done, or will never be. The second may be called again. */
void session_begin_handshake(struct session *session);
void session_end_handshake(struct session *session);

/* --- session_state.c: output ------------------------------------------------------------------ */

/* Encodes a response into the output. Drops the session if that fails or a bound is passed. */
void session_respond(struct requester *client, const struct msg_response *response);

/* Updates all->output_bytes with what waits in this session. */
void session_count_output(struct session *session);

/* The same; and drops this session, or the one with the most output, when a bound is passed. */
void session_check_output(struct session *session);

/* --- session_state.c: the end ----------------------------------------------------------------- */

/* Counts and logs why the daemon ends the session; the caller ends it. */
void session_note_drop(const struct session *session, enum drop reason);

/* Closes the session. The client gets the reason when it comes again with its resume token. */
void session_drop(struct session *session, enum msg_error_code code, const char *sentence);

/* Drops the session because the client does not read; `reason` is one of those. */
void session_drop_slow_reader(struct session *session, enum drop reason);

/* Drops the session because memory is out, and an answer would be missing. */
void session_fail(struct session *session);

/* Takes no more requests; when the last answer has gone out, the stream is ended. */
void session_end(struct session *session);

/* Closes the session at once, and TCP resets the connection. */
void session_reset(struct session *session);

/* Counts a session that gets an error as there is no place for it. False: too many such sessions
 * are ending already, and this one should be reset. */
bool session_count_refused(struct session *session);

/* The same for a session that is in the way of a newcomer: tells the client, or resets. Its place
 * counts as free from now on. */
void session_give_way(struct session *session);

/* --- session_requests.c ----------------------------------------------------------------------- */

/* Takes requests until slice_ns after began_ns; charges the session from began_ns on. */
void session_process_since(struct session *session, uint64_t began_ns, uint64_t slice_ns);

/* --- session.c -------------------------------------------------------------------------------- */

extern const struct requester_events session_client_events;
extern const struct transport_events session_transport_events;

#endif
