/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a turn of the loop, and how much CPU time each part gets. The work of a turn is
 * bounded. Requests of a session that uses little CPU time are mostly handled when their bytes
 * arrive, before server_turn. Sessions that use much CPU time take turns, round robin by sender.
 */

#include "daemon/handler/similar.h"
#include "daemon/net/server.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/asks.h"
#include "daemon/watch/feed.h"
#include "daemon/watch/watch.h"

enum {
    /* work of all searches together in a turn, in units of index_search_step */
    SEARCH_BUDGET = 64 * 1024,
    /* Nanoseconds of CPU time in a turn. READY_NS is for all sessions on the list `ready`. BUSY_NS
     * is for all sessions on the list `busy`, and once more for searches that take turns. */
    READY_NS = 200 * 1000,
    BUSY_NS = 100 * 1000,
    /* The same for the request Similar, of which one at a time is under way. */
    SIMILAR_NS = 100 * 1000,
    /* The CPU time of a refused connection counts 16 times against the quarter that all new
     * connections share. So refused connections use about a 64th of the CPU time at most in the
     * long run. */
    REFUSALS_COUNT = 16
};

/* --- connections ------------------------------------------------------------------------------ */

int server_accept(struct listener *listener)
{
    struct server *server = listener->home->context;
    uint64_t began_ns = service_monotonic_ns(server->service);

    server->loop.activity++;
    if (!loop_takes_arrivals(&server->loop, began_ns)) {
        return LISTENER_LATER;
    }
    int rc = session_accept(&server->sessions, listener);
    uint64_t now_ns = service_monotonic_ns(server->service);
    uint64_t spent_ns = (now_ns - began_ns) * (rc == SESSION_REFUSED ? REFUSALS_COUNT : 1);
    loop_spend_on_arrivals(&server->loop, now_ns, spent_ns);
    return rc == SESSION_REFUSED ? 0 : rc;
}

/* Accepts connections that wait for this turn. Returns whether a connection waits for the next
 * turn. A connection that waits for the timer of loop_takes_arrivals does not count. */
static bool take_arrivals(struct server *server)
{
    bool waits = false;

    for (size_t i = 0; i < server->listener_count; i++) {
        listener_turn(&server->listeners[i]);
        waits = waits || server->listeners[i].waits_a_turn;
    }
    return waits && !loop_awaits_arrivals(&server->loop);
}

/* --- sessions --------------------------------------------------------------------------------- */

static struct session *session_of(struct loop_entry *entry)
{
    return CONTAINER_OF(entry, struct session, entry);
}

void server_flush(struct server *server)
{
    struct loop_entry *entry;

    while ((entry = loop_take_dirty(&server->loop)) != NULL) {
        session_flush(session_of(entry));
    }
}

/* Lets a session take requests for about `slice_ns` of CPU time, but not longer than
 * SESSION_SLICE_NS. Returns whether time is left before `until_ns` to serve another session. */
static bool process_until(struct server *server, struct loop_entry *entry, uint64_t slice_ns,
                          uint64_t until_ns)
{
    uint64_t now_ns = service_monotonic_ns(server->service);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

    loop_remove_ready(&server->loop, entry);
    slice_ns = slice_ns < SESSION_SLICE_NS ? slice_ns : SESSION_SLICE_NS;
    session_process(session_of(entry), slice_ns < left_ns ? slice_ns : left_ns);
    return service_monotonic_ns(server->service) < until_ns;
}

/*
 * Serves the sessions that are on the list `ready` now, until READY_NS have passed. Each session
 * gets an equal part of READY_NS, but at most SESSION_SLICE_NS. A session that is added to `ready`
 * meanwhile waits for the next turn.
 */
static void process_ready(struct server *server)
{
    uint64_t until_ns = service_monotonic_ns(server->service) + READY_NS;
    const struct loop_entry *entry;
    size_t waiting = 0;

    DL_COUNT2(server->loop.ready, entry, waiting, ready_next);
    uint64_t slice_ns = waiting == 0 ? 0 : READY_NS / waiting;
    while (waiting-- > 0 && server->loop.ready != NULL &&
           process_until(server, server->loop.ready, slice_ns, until_ns)) {
    }
}

static uint64_t *turn_of(struct loop_entry *entry)
{
    struct requester *client = &session_of(entry)->client;

    return requester_turn(client, client->sender);
}

/* Returns a busy session of the sender that has waited longest since its last turn. */
static struct loop_entry *next_busy(const struct server *server)
{
    struct loop_entry *best = server->loop.busy;
    struct loop_entry *entry;

    DL_FOREACH2 (server->loop.busy, entry, ready_next) {
        if (*turn_of(entry) < *turn_of(best)) {
            best = entry;
        }
    }
    return best;
}

/* Serves busy sessions, round robin by sender, until BUSY_NS of CPU time are used. Most turns have
 * none, and read no clock for them. */
static void process_busy(struct server *server)
{
    bool has_time = server->loop.busy != NULL;
    uint64_t until_ns = has_time ? service_monotonic_ns(server->service) + BUSY_NS : 0;

    while (has_time && server->loop.busy != NULL) {
        struct loop_entry *entry = next_busy(server);
        service_take_turn(server->service, turn_of(entry));
        has_time = process_until(server, entry, SESSION_SLICE_NS, until_ns);
    }
}

/* --- waits ------------------------------------------------------------------------------------ */

static void on_wait_over(uv_timer_t *timer)
{
    (void)timer; /* the turn that follows does the work */
}

/* Whether the next turn has waits to end, for changes or for a bridge, or asks to send. Otherwise
 * lets a timer wake the loop in time. */
static bool waits_are_due(struct server *server)
{
    int64_t feed_ms = feed_next_ms(server->service);
    int64_t asks_ms = asks_next_ms(server->service);
    int64_t next_ms = feed_ms < asks_ms ? feed_ms : asks_ms;

    if (next_ms == INT64_MAX) {
        (void)uv_timer_stop(&server->waits);
        return false;
    }
    int64_t now_ms = service_monotonic_ms(server->service);
    if (next_ms > now_ms) {
        (void)uv_timer_start(&server->waits, on_wait_over, (uint64_t)(next_ms - now_ms), 0);
    }
    return next_ms <= now_ms;
}

/* --- a turn of the loop ----------------------------------------------------------------------- */

void server_turn(struct server *server)
{
    struct service *service = server->service;

    sessions_end_congestion(&server->sessions);
    process_ready(server);
    server_flush(server); /* these clients do not wait for busy ones */
    process_busy(server);
    bool is_searching = handler_run_searches(service, SEARCH_BUDGET, BUSY_NS);
    bool is_arranging = service_turn(service);
    bool is_comparing = handler_run_similar(service, SIMILAR_NS);
    watch_turn(service);
    feed_turn(service);
    handler_turn_asks(service);
    bool is_arriving = take_arrivals(server); /* last: connected clients come first */
    server_flush(server);
    sessions_reap(&server->sessions);
    loop_end_turn(&server->loop, is_searching || is_arranging || is_comparing || is_arriving ||
                                     watch_is_due(service) || waits_are_due(server));
}
