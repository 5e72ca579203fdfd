/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/session_inner.h"

#include "daemon/system/list.h"
#include "daemon/watch/watch.h"

enum { SHARES = 8 }; /* an address may have an eighth of the handshakes */

/* What the sender of a session has. An exempt newcomer counts as a sender with one. */
static struct fair_share share_of(const struct session *session, enum sender_use use)
{
    const struct sender *sender = session->client.sender;

    return sender != NULL ? sender_share(sender, use)
                          : (struct fair_share){.held = 1, .by_network = 1};
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool is_idle(const struct session *session, int64_t now_ms)
{
    return session->client.work_count == 0 && session->counted_output == 0 &&
           now_ms - session->activity_ms >= SESSION_IDLE_MS;
}

static bool may_be_dropped(const struct session *session)
{
    return session->client.sender != NULL && !session->is_refused &&
           session_takes_requests(session);
}

static void consider_session(struct fair_choice *choice, struct session *session, int64_t now_ms)
{
    unsigned idle_rank = watch_is_watching(&session->client) ? 1 : 2;
    struct fair_candidate candidate = {
        .thing = session,
        .share = share_of(session, SENDER_CONNECTIONS),
        .rank = is_idle(session, now_ms) ? idle_rank : 0,
        .age = now_ms > session->activity_ms ? (uint64_t)(now_ms - session->activity_ms) : 0,
    };
    fair_consider(choice, &candidate);
}

static bool drop_victim(const struct fair_choice *choice)
{
    if (choice->victim.thing == NULL) {
        return false;
    }
    session_give_way(choice->victim.thing);
    return true;
}

bool session_evict_for(struct sessions *all, const struct session *newcomer)
{
    struct fair_choice choice = {.newcomer = share_of(newcomer, SENDER_CONNECTIONS)};
    int64_t now_ms = loop_now_ms(all->loop);
    struct session *session;

    DL_FOREACH (all->first, session) {
        if (session != newcomer && may_be_dropped(session)) {
            consider_session(&choice, session, now_ms);
        }
    }
    return drop_victim(&choice);
}

bool session_evict_idle_of(struct sessions *all, const struct sender *sender)
{
    struct fair_choice choice = {.newcomer = sender_share(sender, SENDER_CONNECTIONS)};
    int64_t now_ms = loop_now_ms(all->loop);
    struct session *session;

    DL_FOREACH (all->first, session) {
        if (session->client.sender == sender && may_be_dropped(session) &&
            is_idle(session, now_ms) && !watch_is_watching(&session->client)) {
            consider_session(&choice, session, now_ms);
        }
    }
    return drop_victim(&choice);
}

/* --- handshakes ------------------------------------------------------------------------------- */

static uint32_t handshakes_max(const struct sessions *all)
{
    return all->service->config.tls_handshakes_max;
}

bool session_handshakes_are_short(const struct sessions *all)
{
    return all->handshakes > handshakes_max(all) / 2;
}

bool session_evict_for_handshake(struct sessions *all, const struct session *newcomer)
{
    struct fair_choice choice = {.newcomer = share_of(newcomer, SENDER_HANDSHAKES)};
    uint32_t max = handshakes_max(all);
    uint32_t own_max = max / SHARES > 0 ? max / SHARES : 1;
    bool is_over_own = newcomer->client.sender != NULL && choice.newcomer.held > own_max;
    struct session *session;

    if (!is_over_own && all->handshakes <= max) {
        return true;
    }
    DL_FOREACH (all->first, session) { /* the oldest session comes first */
        if (session != newcomer && session->is_shaking_hands && session->client.sender != NULL &&
            (!is_over_own || session->client.sender == newcomer->client.sender)) {
            fair_consider(&choice,
                          &(struct fair_candidate){.thing = session,
                                                   .share = share_of(session, SENDER_HANDSHAKES)});
        }
    }
    session = choice.victim.thing;
    if (session == NULL) {
        return false;
    }
    session_note_drop(session, DROP_EVICTED);
    session_reset(session); /* before the handshake no error can be sent */
    return true;
}
