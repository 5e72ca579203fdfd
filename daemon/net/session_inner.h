/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_inner: functions of session_state.c, session_admit.c, session_requests.c and session.c
 * that other session*.c files call.
 */
#pragma once

#include "daemon/net/session.h"

/* retry_after_ms of the error that says that too many connections are open */
enum { SESSION_RETRY_MS = 5000 };

/* --- session_state.c: one session ------------------------------------------------------------- */

struct session *session_of_client(struct requester *client);

void session_move_to(struct session *session, enum session_state state);
bool session_takes_requests(const struct session *session);

/* Adds a session that was accepted just now to the list of all sessions. */
void session_add(struct sessions *all, struct session *session);

/* No request is in flight, and no output waits. */
bool session_is_done(const struct session *session);

/* Whether the account of CPU time that the session is charged to holds more than SESSION_SLICE_NS.
 * The account shrinks by a 16th of the time that passes. All connections of one sender use the same
 * account, unless the sender is the shared one (sender_account). */
bool session_is_over_share(struct session *session, uint64_t now_ns);

/* Charges the session's account with the CPU time from `began_ns` until now. */
void session_spend(struct session *session, uint64_t began_ns);

/* The same with CPU time that another thread has used, which the loop has left for others. */
void session_spend_elsewhere(struct session *session, uint64_t spent_ns);

/* Adds the session to the loop's list `ready`, or to the list `busy` if the session is over its
 * share of CPU time. */
void session_mark_ready(struct session *session);

/* Adds the session to `ready` or `busy` (session_mark_ready), but only if its transport is not
 * reading. */
void session_mark_ready_if_held(struct session *session);

/* Has the output sent before the loop waits. */
void session_mark_dirty(struct session *session);

/* session_begin_handshake counts a TLS handshake that begins. session_end_handshake counts off a
 * handshake that has succeeded or failed, and may be called more than once. */
void session_begin_handshake(struct session *session);
void session_end_handshake(struct session *session);

/* --- session_state.c: output ------------------------------------------------------------------ */

/* Encodes a response into the output. If the response does not fit a frame, encodes an error
 * instead. Drops the session if memory is short. Checks the bounds on output
 * (session_check_output). Does nothing if the session is closed. */
void session_respond(struct requester *client, const struct hearsay_response *response);

/* Updates all->output_bytes with the output that waits in this session. */
void session_count_output(struct session *session);

/* Updates all->output_bytes, and checks two bounds on output. Over the bound of a session, this
 * session is dropped. Over the bound of all sessions, the session with the most output is dropped.
 */
void session_check_output(struct session *session);

/* --- session_state.c: the end ----------------------------------------------------------------- */

/* Counts and logs why the daemon ends the session. The caller then ends the session. */
void session_note_drop(const struct session *session, enum drop reason);

/* Closes the session. A client that was sent Welcome gets the reason when it soon reconnects with
 * its resume token. */
void session_drop(struct session *session, enum hearsay_code code, const char *sentence);

/* Drops the session because the client does not read. `reason` is DROP_UNREAD, DROP_STUCK or
 * DROP_OUTPUT. */
void session_drop_slow_reader(struct session *session, enum drop reason);

/* Drops the session because an answer would be missing, for example because memory has run out. */
void session_fail(struct session *session);

/* Stops taking requests. The stream ends when the last answer has been sent. */
void session_end(struct session *session);

/* Closes the session at once. TCP resets the connection. */
void session_reset(struct session *session);

/* Counts a session that is refused or gives way. Returns false if too many such sessions are ending
 * already; then the caller should reset the connection. */
bool session_count_refused(struct session *session);

/* Ends a session that session_evict.c has chosen for a newcomer. The client gets an error, or a
 * reset if too many such sessions are ending. The session's place counts as free from now on. */
void session_give_way(struct session *session);

/* --- session_admit.c -------------------------------------------------------------------------- */

/* Begins a TLS handshake if `security` asks for TLS. Returns 0; UV_EBUSY if too many handshakes are
 * under way and none may be dropped; or UV_ENOMEM. */
int session_begin_tls(struct session *session, enum config_security security);

/*
 * Counts the connection as one of its sender: of the device behind the address, or of the address.
 * What counts stays so for the connection. Returns false if the sender has too many connections.
 * Then the connection was refused.
 */
bool session_enter_sender(struct session *session, enum config_security security,
                          const struct sockaddr_storage *peer,
                          const struct sockaddr_storage *local);

/* Takes the tokens of a query from the rate limit of the connection's address. Returns false if
 * there are too few tokens. Then the connection was refused. */
bool session_pay_connection(struct session *session, enum config_security security);

/* Checks that there are not too many sessions, and if necessary drops another session for this one.
 * Returns false if no session may be dropped. Then the connection was refused. */
bool session_take_place(struct session *session, enum config_security security);

/*
 * Reads on_behalf in the Hello of a session that was not greeted yet. Where a gateway speaks for a
 * client, the limits of that client's address apply to the session from now on. False: the session
 * was refused, and ends.
 */
bool session_take_on_behalf(struct session *session, const struct hearsay_request *request);

/*
 * Reads on_behalf of a request, and keeps the sender of that client as client.asker, which the
 * caller releases with session_drop_asker. False: the request was refused. Without on_behalf there
 * is no asker.
 */
bool session_take_asker(struct session *session, const struct hearsay_request *request);
void session_drop_asker(struct session *session);

/* --- session_requests.c ----------------------------------------------------------------------- */

/* Takes requests until `slice_ns` after `began_ns`, and at least one request if no bound is
 * reached. Charges the session's account with the CPU time since `began_ns`. */
void session_process_since(struct session *session, uint64_t began_ns, uint64_t slice_ns);

/* --- session.c -------------------------------------------------------------------------------- */

extern const struct requester_events session_client_events;
extern const struct transport_events session_transport_events;

/* --- session_evict ---------------------------------------------------------------------------- */

/*
 * Decides which session is dropped for a new connection, the newcomer, when all
 * sessions or all TLS handshakes are taken. For session_admit.c and session.c.
 *
 * core/base/fair.h has the rule: the sender (sender.h) with the most sessions loses one, and of
 * several such senders the one whose /64 has the most. Any session may be dropped, whatever it
 * does, but none of a sender with fewer sessions than the newcomer's sender has with the newcomer.
 * So a newcomer that is the only session of its sender always gets in.
 *
 * Of the sessions of equal senders, an idle one without a watch is dropped first, then an idle one
 * with a watch, then another one; of several, the session whose client has sent nothing for the
 * longest time. A session is idle when the client has sent nothing for SESSION_IDLE_MS, no request
 * is in flight, and no output waits to be sent. A watch is not activity: a session that only
 * watches is idle.
 *
 * Sessions of exempt clients are never dropped for a newcomer. An exempt newcomer counts as a
 * sender with one session.
 *
 * A session that is dropped for a newcomer gets an error with the reason, or a reset if too many
 * such sessions are ending. A session that is dropped in its TLS handshake gets a reset. A client
 * that was sent Welcome also gets the reason when it soon reconnects with its resume token. The
 * loop frees the dropped session later, never within these functions.
 */

enum { SESSION_IDLE_MS = 5000 };

/*
 * Drops another session, so that the session `newcomer` may stay. `newcomer` is counted already.
 * Returns false if no other session may be dropped. O(sessions).
 */
bool session_evict_for(struct sessions *all, const struct session *newcomer);

/*
 * Drops an idle session without a watch of `sender`, which has as many as a sender may have, so
 * that one more can begin. The phones behind a repeater are one sender: without this, those that
 * are idle would keep out the next one. Sessions that watch stay, because otherwise nine phones
 * that watch would push out one another for ever. Returns false if there is none. O(sessions).
 */
bool session_evict_idle_of(struct sessions *all, const struct sender *sender);

/*
 * Makes room for the TLS handshake of `newcomer`, which is already counted. Returns true at once if
 * the limits allow this handshake. Otherwise drops one: the oldest of the newcomer's own
 * sender, if that sender has more than an eighth of tls_handshakes (at least 1); else the oldest of
 * the sender that core/base/fair.h chooses. Returns false if no handshake may be dropped.
 * O(sessions) if a handshake has to be dropped.
 */
bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer);

/* Returns whether more than half of the allowed TLS handshakes (tls_handshakes) are under way. If
 * so, handshakes have a shorter timeout. */
bool session_handshakes_are_short(const struct sessions *all);
