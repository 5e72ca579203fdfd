/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a turn of the loop, and who gets how much of it. The work of a turn is bounded
 * whoever asks for what, so that nobody waits for long: who asks for little is served as its bytes
 * arrive, who asks for much takes turns with others like it.
 */

#include "daemon/net/server.h"

#include "daemon/system/list.h"
#include "daemon/watch/watch.h"

enum {
    SEARCH_BUDGET = 64 * 1024, /* filters a turn, of all searches together */
    /* What sessions get of a turn, all together: those that wait for it, and those that want much,
     * which used up their slice again and again; the latter's is that of searches of several steps,
     * too. Mostly a session is served as its bytes arrive, and waits for nothing. */
    READY_NS = 200 * 1000,
    BUSY_NS = 100 * 1000,
    /* What all who arrive may take at once, the part of the time that they may take in the long
     * run, and the most that they are made to wait for. */
    ARRIVALS_NS = 500 * 1000,
    ARRIVALS_SHARE = 4,
    ARRIVALS_NS_MAX = 8 * ARRIVALS_NS
};

/* --- a turn of the loop ----------------------------------------------------------------------- */

static void on_idle(uv_idle_t *handle)
{
    (void)handle; /* that it is active keeps the loop from waiting */
}

void server_wake(struct server *server)
{
    if (!server->closing) {
        (void)uv_idle_start(&server->idle, on_idle); /* fails only without a callback */
    }
}

/* --- arrivals --------------------------------------------------------------------------------- */

void server_spend_on_arrivals(struct server *server, uint64_t now_ns, uint64_t spent_ns)
{
    if (spent_ns > 0) {
        account_leak(&server->arrivals, now_ns, ARRIVALS_SHARE);
        account_spend(&server->arrivals, now_ns, spent_ns, ARRIVALS_NS_MAX);
    }
}

static void on_arrival_time(uv_timer_t *timer)
{
    server_wake(timer->data);
}

bool server_takes_arrivals(struct server *server)
{
    account_leak(&server->arrivals, service_monotonic_ns(server->service), ARRIVALS_SHARE);
    if (server->arrivals.spent_ns < ARRIVALS_NS) {
        return true;
    }
    const uint64_t over_ns = server->arrivals.spent_ns - ARRIVALS_NS + 1;
    const uint64_t wait_ms = (over_ns * ARRIVALS_SHARE + 999999) / 1000000;
    if (server->arrival.data == NULL) { /* a server without timers: it looks again and again */
        server_wake(server);
    } else if (!server->closing && !uv_is_active((uv_handle_t *)&server->arrival)) {
        (void)uv_timer_start(&server->arrival, on_arrival_time, wait_ms, 0); /* has a callback */
    }
    return false;
}

/* --- turns ------------------------------------------------------------------------------------ */

void server_flush(struct server *server)
{
    while (server->dirty != NULL) {
        struct session *session = server->dirty;
        DL_DELETE2(server->dirty, session, dirty_prev, dirty_next);
        session->is_dirty = false;
        session_flush(session);
    }
}

/* Sessions that were kept waiting by the store go on when it has caught up. */
static void end_congestion(struct server *server)
{
    struct session *session;

    if (!server->was_congested || handler_is_congested(server->service)) {
        return;
    }
    server->was_congested = false;
    DL_FOREACH (server->sessions, session) {
        session_resume(session);
    }
}

/* Whether there is time left for others. */
static bool process_until(struct session *session, uint64_t slice_ns, uint64_t until_ns)
{
    struct service *service = session->server->service;
    const uint64_t now_ns = service_monotonic_ns(service);
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

    slice_ns = slice_ns < SESSION_SLICE_NS ? slice_ns : SESSION_SLICE_NS;
    session_process(session, slice_ns < left_ns ? slice_ns : left_ns);
    return service_monotonic_ns(service) < until_ns;
}

/* Of those that want much, one of the sender that has waited for a turn the longest. */
static struct session *next_busy(const struct server *server)
{
    struct session *best = server->busy;
    struct session *session;

    DL_FOREACH2 (server->busy, session, ready_next) {
        if (*requester_turn(&session->client) < *requester_turn(&best->client)) {
            best = session;
        }
    }
    return best;
}

/* Those that want much take turns, round robin by sender, for as long as they all together may. */
static void process_busy(struct server *server)
{
    const uint64_t until_ns = service_monotonic_ns(server->service) + BUSY_NS;

    while (server->busy != NULL) {
        struct session *session = next_busy(server);
        *requester_turn(&session->client) = ++server->service->turns;
        DL_DELETE2(server->busy, session, ready_prev, ready_next);
        session->is_ready = false;
        if (!process_until(session, SESSION_SLICE_NS, until_ns)) {
            break;
        }
    }
}

/* Whether some wait for the next turn; those for whom there is no time wait for the timer. */
static bool take_arrivals(struct server *server)
{
    bool waits = false;

    for (size_t i = 0; i < server->listener_count; i++) {
        listener_turn(&server->listeners[i]);
        waits = waits || server->listeners[i].waits_a_turn;
    }
    return waits &&
           !(server->arrival.data != NULL && uv_is_active((uv_handle_t *)&server->arrival));
}

/* Those that become ready meanwhile wait for the next turn; the more there are, the less each has.
 */
static void process_ready(struct server *server)
{
    const uint64_t until_ns = service_monotonic_ns(server->service) + READY_NS;
    const struct session *one;
    size_t waiting = 0;

    DL_COUNT2(server->ready, one, waiting, ready_next);
    const uint64_t slice_ns = waiting == 0 ? 0 : READY_NS / waiting;
    for (; waiting > 0 && server->ready != NULL; waiting--) {
        struct session *session = server->ready;
        DL_DELETE2(server->ready, session, ready_prev, ready_next);
        session->is_ready = false;
        if (!process_until(session, slice_ns, until_ns)) {
            break;
        }
    }
}

void server_turn(struct server *server)
{
    end_congestion(server);
    process_ready(server);
    server_flush(server); /* they do not wait for those who want much */
    process_busy(server);
    const bool searching = handler_run_searches(server->service, SEARCH_BUDGET,
                                                service_monotonic_ns(server->service) + BUSY_NS);
    const bool arranging = service_turn(server->service);
    watch_turn(server->service);
    const bool arriving = take_arrivals(server); /* last: who is here goes first */
    server_flush(server);
    server->spent_ns = 0;
    if (searching || arranging || arriving || server->ready != NULL || server->busy != NULL ||
        watch_is_due(server->service)) {
        server_wake(server);
    } else {
        (void)uv_idle_stop(&server->idle);
    }
}
