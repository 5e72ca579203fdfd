/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_evict: which session is dropped when a newcomer finds all sessions, or all TLS
 * handshakes, taken. For session_accept.c only.
 *
 * The sender (sender.h) that holds most loses one: if several senders hold as many, the one whose
 * /64 holds most. Of the sessions of that sender the oldest idle one goes. A session is idle when
 * the client has sent nothing for SESSION_IDLE_MS, no request is in flight, and no answer waits to
 * be sent. A watch does not count as activity: a session that only watches is idle.
 *
 * A newcomer takes any session of a sender that holds more than the newcomer's own sender, and none
 * of a sender that holds less. Of a sender that holds as many it takes
 *   - any session, if that sender is in another /64, which holds more than half of all sessions:
 *     one device can have hundreds of addresses of a /64, with a session each;
 *   - else an idle session without a watch: who watches is not driven out by such addresses.
 * Clients that are exempt from the limits of an address are never dropped for others; as newcomers
 * they count as a sender of their own.
 *
 * A dropped session is told why, and so is a watcher that comes back with its resume token. The
 * loop frees the session later, never within these calls.
 */
#ifndef DAEMON_NET_SESSION_EVICT_H
#define DAEMON_NET_SESSION_EVICT_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct sessions;

enum { SESSION_IDLE_MS = 5000 };

/*
 * Makes room for `newcomer`, which is counted already, by dropping another session. False: no
 * session may be dropped for it. O(sessions).
 */
bool session_evict_for(struct sessions *all, const struct session *newcomer);

/*
 * The same for a TLS handshake that `newcomer` is about to begin: the oldest handshake goes, of the
 * newcomer's own sender when that has its share (an eighth of tls_handshakes, at least 1),
 * otherwise of the sender that has most. True when there was room anyway. O(sessions) when there
 * was none.
 */
bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer);

/* Whether more than half of all handshakes are taken: then their timeout is shorter. */
bool session_handshakes_are_short(const struct sessions *all);

#endif
