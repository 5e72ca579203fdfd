/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_evict: decides which session is dropped for a new connection, the newcomer, when all
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
#ifndef DAEMON_NET_SESSION_EVICT_H
#define DAEMON_NET_SESSION_EVICT_H

#include <stdbool.h>
#include <stdint.h>

struct sender;
struct session;
struct sessions;

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
 * Makes sure that `newcomer` may shake hands. Its handshake is counted already. Returns true at
 * once if the limits allow this handshake. Otherwise drops one: the oldest of the newcomer's own
 * sender, if that sender has more than an eighth of tls_handshakes (at least 1); else the oldest of
 * the sender that core/base/fair.h chooses. Returns false if no handshake may be dropped.
 * O(sessions) if a handshake has to be dropped.
 */
bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer);

/* Returns whether more than half of the allowed TLS handshakes (tls_handshakes) are under way. If
 * so, handshakes have a shorter timeout. */
bool session_handshakes_are_short(const struct sessions *all);

#endif
