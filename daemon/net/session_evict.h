/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_evict: decides which session is dropped for a new connection, the newcomer, when all
 * sessions or all TLS handshakes are taken. For session_admit.c and session.c.
 *
 * Of the sessions that may be dropped, one of the sender (sender.h) with the most sessions is
 * dropped. If several senders have the most, the sender whose /64 has the most sessions loses one.
 * An idle session is dropped before the other sessions of such senders; of several, the session
 * whose client has sent nothing for the longest time. A session is idle when the client has sent
 * nothing for SESSION_IDLE_MS, no request is in flight, and no output waits to be sent. A watch is
 * not activity: a session that only watches is idle.
 *
 * Whether a session may be dropped depends on its sender and on the newcomer's sender:
 *
 *   - The session's sender has more sessions: any session may be dropped.
 *   - The session's sender has fewer sessions: none may be dropped.
 *   - Both have the same number, the session's sender is in another /64, and that /64 has more than
 *     half of the allowed sessions: any session may be dropped. One device can have hundreds of
 *     addresses of a /64, with a session each.
 *   - Both have the same number otherwise: an idle session without a watch may be dropped. So a
 *     device with many addresses cannot push out clients that watch.
 *
 * Sessions of exempt clients are never dropped for a newcomer. An exempt newcomer counts as a
 * sender with one session.
 *
 * A session that is dropped for a newcomer gets an error with the reason, or a reset if too many
 * such sessions are ending. A session that is dropped in its TLS handshake gets a reset. A client
 * that was sent Welcome also gets the reason when it soon reconnects with its resume token. The
 * loop frees the dropped session later, never within these functions.
 */
#ifndef DAEMON_NET_SESSION_EVICT_H
#define DAEMON_NET_SESSION_EVICT_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct sessions;

enum { SESSION_IDLE_MS = 5000 };

/*
 * Drops another session, so that the session `newcomer` may stay. `newcomer` is counted already.
 * Returns false if no other session may be dropped. O(sessions).
 */
bool session_evict_for(struct sessions *all, const struct session *newcomer);

/*
 * Makes sure that `newcomer` can begin a TLS handshake. Returns true at once if the limits allow
 * one more handshake. Otherwise drops the oldest handshake: of the newcomer's own sender, if that
 * sender has an eighth of tls_handshakes (at least 1) or more; else of the sender with the most
 * handshakes. Returns false if no handshake may be dropped. O(sessions) if a handshake has to be
 * dropped.
 */
bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer);

/* Returns whether more than half of the allowed TLS handshakes (tls_handshakes) are under way. If
 * so, handshakes have a shorter timeout. */
bool session_handshakes_are_short(const struct sessions *all);

#endif
