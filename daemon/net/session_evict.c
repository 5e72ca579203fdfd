/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/session_evict.h"

#include "daemon/net/session_inner.h"
#include "daemon/system/list.h"
#include "daemon/watch/watch.h"

enum { SHARES = 8 }; /* an address may have an eighth of the handshakes */

static uint32_t held_by(const struct session *session, enum sender_use use)
{
    const struct sender *sender = session->client.sender;

    return sender == NULL ? 1 : sender_holds(sender, use);
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool is_idle(const struct session *session, int64_t now_ms)
{
    return session->client.work_count == 0 && session->counted_output == 0 &&
           now_ms - session->activity_ms >= SESSION_IDLE_MS;
}

static bool may_be_dropped(const struct session *session, const struct session *newcomer,
                           int64_t now_ms)
{
    if (session == newcomer || session->client.sender == NULL || session->is_refused ||
        !session_takes_requests(session)) {
        return false;
    }
    uint32_t theirs = held_by(session, SENDER_CONNECTIONS);
    uint32_t ours = held_by(newcomer, SENDER_CONNECTIONS);
    uint32_t of_network =
        sender_network_holds(session->client.sender, newcomer->client.sender, SENDER_CONNECTIONS);

    if (theirs != ours) {
        return theirs > ours;
    }
    return of_network > session->all->service->config.limits.sessions_max / 2 ||
           (is_idle(session, now_ms) && !watch_is_watching(&session->client));
}

/* Whether session `a` is a better choice to drop than session `b`. The caller has checked that both
 * may be dropped. */
static bool is_dropped_first(const struct session *a, const struct session *b, int64_t now_ms)
{
    int by_sender = sender_compare(a->client.sender, b->client.sender, SENDER_CONNECTIONS);
    bool a_is_idle = is_idle(a, now_ms);

    if (by_sender != 0) {
        return by_sender > 0;
    }
    if (a_is_idle != is_idle(b, now_ms)) {
        return a_is_idle;
    }
    return a->activity_ms < b->activity_ms;
}

bool session_evict_for(struct sessions *all, const struct session *newcomer)
{
    int64_t now_ms = loop_now_ms(all->loop);
    struct session *session;
    struct session *chosen = NULL;

    DL_FOREACH (all->first, session) {
        if (may_be_dropped(session, newcomer, now_ms) &&
            (chosen == NULL || is_dropped_first(session, chosen, now_ms))) {
            chosen = session;
        }
    }
    if (chosen == NULL) {
        return false;
    }
    session_give_way(chosen);
    return true;
}

/* --- handshakes ------------------------------------------------------------------------------- */

static uint32_t handshakes_max(const struct sessions *all)
{
    return all->service->config.limits.tls_handshakes_max;
}

bool session_handshakes_are_short(const struct sessions *all)
{
    return all->handshakes > handshakes_max(all) / 2;
}

/* Returns the oldest session of the sender `only` that is in a TLS handshake. With `only` NULL,
 * returns the oldest one of the sender with the most handshakes. NULL: no handshake may be dropped.
 * The list of sessions begins with the oldest session. */
static struct session *find_handshake(const struct sessions *all, const struct sender *only)
{
    struct session *session;
    struct session *chosen = NULL;

    DL_FOREACH (all->first, session) {
        struct sender *sender = session->client.sender;
        if (!session->is_shaking_hands || sender == NULL || (only != NULL && sender != only)) {
            continue;
        }
        if (chosen == NULL ||
            sender_compare(sender, chosen->client.sender, SENDER_HANDSHAKES) > 0) {
            chosen = session;
        }
    }
    return chosen;
}

bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer)
{
    uint32_t max = handshakes_max(all);
    uint32_t share = max / SHARES > 0 ? max / SHARES : 1;
    const struct sender *sender = newcomer->client.sender;
    bool has_its_share = sender != NULL && sender_holds(sender, SENDER_HANDSHAKES) >= share;

    if (!has_its_share && all->handshakes < max) {
        return true;
    }
    struct session *chosen = find_handshake(all, has_its_share ? sender : NULL);
    if (chosen == NULL) {
        return false;
    }
    session_note_drop(chosen, DROP_EVICTED);
    session_reset(chosen); /* before the handshake no error can be sent */
    return true;
}
