/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time makes due: timeouts of sessions, ends of epochs and notices, expired messages, and
 * rebuilds. The server looks once a second (a tick) while anything happens. When nothing has
 * happened for QUIET_TICKS, it computes when the next thing is due, and the next tick comes then,
 * but after REST_MS at the latest: that tick finds what has no time of its own, such as a clock
 * that was set. So an idle access point can sleep. Activity brings the next tick forward again.
 */
#include <sodium.h>

#include "core/base/least.h"
#include "daemon/host/room.h"
#include "daemon/net/here_watch.h"
#include "daemon/net/server.h"
#include "daemon/watch/watch.h"

enum {
    TICK_MS = 1000,
    STOPPING_TICK_MS = 100,
    STOP_PATIENCE_MS = 3500, /* then clients that have not ended yet are dropped */
    STACK_BYTES = 64 * 1024, /* what requests use at most */
    /* Longer than ROOM_SWEEP_MS, so that a sweep and a look at the indexes follow all activity. */
    QUIET_TICKS = ROOM_SWEEP_MS / TICK_MS + 2,
    REST_MS = 30 * 1000
};

/* --- when the next tick comes ----------------------------------------------------------------- */

/* When a host has something to do, by the host's clock; at most now_ms: now. */
static int64_t host_due_ms(const struct host *host, int64_t now_ms)
{
    int64_t due_ms = host->told_accept_until_ms > 0 ? host->told_accept_until_ms : INT64_MAX;

    if (host->rules.has_news || host->change != NULL ||
        (host->config.epoch_length_s > 0 && host->current == NULL)) {
        return now_ms;
    }
    if (host->current != NULL) {
        due_ms = least_i64(due_ms, host->current->ends_ms);
    }
    for (size_t i = 1; i < host->epoch_count; i++) { /* the first is the open one */
        due_ms = least_i64(due_ms, host->epochs[i]->is_over ? now_ms : host->epochs[i]->kept_ms);
    }
    for (size_t i = 0; i < host->rules.notice_count; i++) {
        int64_t until_ms = host->rules.notices[i]->until_ms;
        due_ms = until_ms > 0 ? least_i64(due_ms, until_ms) : due_ms;
    }
    for (uint32_t i = 0; i < host->moderation.count; i++) {
        int64_t destroy_ms = host->moderation.entries[i].destroy_ms;
        due_ms = destroy_ms > 0 ? least_i64(due_ms, destroy_ms) : due_ms;
    }
    return due_ms;
}

/* In how many milliseconds the service has something to do, at most REST_MS. */
static int64_t service_rest_ms(struct service *service)
{
    int64_t now_ms = service_now_ms(service);
    int64_t due_ms = least_i64(now_ms + REST_MS, service->next_expiry_ms);

    if (arrange_is_active(&service->arrange) || service->is_setting_clock ||
        service->clock.waiting) {
        return 0;
    }
    for (size_t i = 0; i < service->host_count; i++) {
        due_ms = least_i64(due_ms, host_due_ms(&service->hosts[i], now_ms));
    }
    return due_ms - now_ms;
}

/* Whether something is under way that looks each second. */
static bool needs_each_second(const struct server *server)
{
    bool is_held = false;

    for (size_t i = 0; i < server->listener_count; i++) {
        is_held |= server->listeners[i].is_open && server->listeners[i].is_held;
    }
    return is_held || here_watch_has_files(server->here_watch);
}

/* In how many milliseconds the next tick comes. */
static uint64_t next_tick_ms(struct server *server, bool is_watching)
{
    int64_t now_ms = loop_now_ms(&server->loop);

    server->quiet_ticks =
        server->loop.activity == server->tick_activity ? server->quiet_ticks + 1 : 0;
    server->tick_activity = server->loop.activity;
    if (server->quiet_ticks < QUIET_TICKS || is_watching || needs_each_second(server)) {
        return TICK_MS;
    }
    int64_t rest_ms = least_i64(service_rest_ms(server->service),
                                sessions_due_ms(&server->sessions, now_ms) - now_ms);
    if (rest_ms <= TICK_MS) {
        return TICK_MS;
    }
    log_debug("nothing is due for %d s", (int)(rest_ms / 1000));
    return (uint64_t)rest_ms;
}

/* --- a tick ----------------------------------------------------------------------------------- */

static void sweep_sessions(struct server *server)
{
    server->sweep_due_ms = loop_now_ms(&server->loop) + ROOM_SWEEP_MS;
    service_sweep(server->service);
    /* These overwrite what answers and searches have left. */
    block_pool_clear(&server->sessions.buffers);
    block_pool_clear(&server->service->cursors);
    sodium_stackzero(STACK_BYTES); /* addresses of connections that have ended */
}

static void on_tick(uv_timer_t *timer)
{
    struct server *server = timer->data;
    int64_t now_ms = loop_now_ms(&server->loop);

    sessions_tick(&server->sessions, now_ms);
    if (!server->stopping) {
        here_watch_tick(server->here_watch);
        server_tell_gateways(server);
        server_check_certificate(server, &server->config);
    }
    for (size_t i = 0; i < server->listener_count; i++) {
        listener_retry(&server->listeners[i]);
    }
    epochs_tick(server->service);
    if (!server->stopping && now_ms >= server->sweep_due_ms) {
        sweep_sessions(server);
    }
    bool is_watching = watch_tick(server->service);
    if (!server->stopping && service_arrange(server->service)) {
        loop_wake(&server->loop);
    }
    if (server->stopping && now_ms - server->stop_since_ms >= STOP_PATIENCE_MS) {
        sessions_close(&server->sessions);
    }
    if (server->stopping) {
        loop_wake(&server->loop); /* the server may end after the next turn */
    } else {
        (void)uv_timer_start(timer, on_tick, next_tick_ms(server, is_watching), 0);
    }
}

void server_start_ticks(struct server *server)
{
    uint64_t first_ms = server->stopping ? STOPPING_TICK_MS : TICK_MS;

    (void)uv_timer_start(&server->tick, on_tick, first_ms, server->stopping ? first_ms : 0);
}

void server_hasten_tick(struct server *server)
{
    if (server->loop.activity != server->tick_activity &&
        uv_timer_get_due_in(&server->tick) > TICK_MS && !server->stopping) {
        (void)uv_timer_start(&server->tick, on_tick, TICK_MS, 0);
    }
}
