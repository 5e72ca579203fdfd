/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include <sodium.h>

#include "core/base/err.h"
#include "daemon/host/epochs.h"
#include "daemon/net/here_watch.h"
#include "daemon/net/server_open.h"
#include "daemon/store/sqlite.h"
#include "daemon/system/datadir.h"
#include "daemon/system/list.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"
#include "daemon/system/privilege.h"
#include "daemon/watch/watch.h"

enum {
    TICK_MS = 1000,
    STOPPING_TICK_MS = 100,
    SWEEP_TICKS = 5,         /* seconds between looks for expired messages */
    STOP_PATIENCE_MS = 3500, /* then clients that still hold on are dropped */
    DECODE_BYTES_MAX = 4 * LIMIT_FRAME_BYTES_MAX
};

static void read_clocks(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    struct timespec wall;
    struct timespec monotonic;
    (void)context;

    clock_gettime(CLOCK_REALTIME, &wall); /* neither fails with these clocks */
    clock_gettime(CLOCK_BOOTTIME, &monotonic);
    *out_wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    *out_monotonic_ms = (int64_t)monotonic.tv_sec * 1000 + monotonic.tv_nsec / 1000000;
}

/*
 * Whether something keeps the system's clock right. Most programs that do clear STA_UNSYNC; some
 * leave it, to keep the kernel from writing the battery's clock, and only tell the error, which the
 * kernel lets grow to 16 s when nobody does.
 */
static bool clock_synchronised(void *context)
{
    struct timex state = {.modes = 0}; /* reads */
    (void)context;

    return adjtimex(&state) != -1 &&
           ((state.status & STA_UNSYNC) == 0 || state.maxerror < 16 * 1000000L);
}

static uint64_t read_ns(void *context)
{
    (void)context;
    return uv_hrtime();
}

int64_t server_loop_ms(const struct server *server)
{
    return (int64_t)uv_now(&server->loop);
}

/* Warns when the certificate expires soon: after it was loaded, and once a day. */
static void look_at_certificate(struct server *server, const struct config *config)
{
    int64_t wall_ms = 0;
    int64_t monotonic_ms = 0;

    read_clocks(NULL, &wall_ms, &monotonic_ms);
    (void)server_tls_tick(&server->tls, config, monotonic_ms, wall_ms);
}

/* --- a turn of the loop ----------------------------------------------------------------------- */

static void on_check(uv_check_t *handle)
{
    server_turn(handle->data);
}

static void on_prepare(uv_prepare_t *handle)
{
    server_flush(handle->data);
}

void server_push(struct server *server, const struct msg_response *response)
{
    struct session *session;

    DL_FOREACH (server->sessions, session) { /* none is freed before its stream has closed */
        session_push(session, response);
    }
}

/* --- caps ------------------------------------------------------------------------------------- */

void server_drop_slowest(struct server *server)
{
    struct session *session;
    struct session *slowest = NULL;

    DL_FOREACH (server->sessions, session) {
        if (slowest == NULL || session->counted_output > slowest->counted_output) {
            slowest = session;
        }
    }
    if (slowest == NULL || slowest->counted_output == 0) {
        return;
    }
    session_drop_slowest(slowest);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_persist_closed(void *context)
{
    struct server *server = context;

    server->persist = NULL;
    server->closing = true;
    uv_close((uv_handle_t *)&server->prepare, NULL);
    uv_close((uv_handle_t *)&server->check, NULL);
    uv_close((uv_handle_t *)&server->idle, NULL);
    uv_close((uv_handle_t *)&server->arrival, NULL);
    uv_close((uv_handle_t *)&server->tick, NULL);
    uv_close((uv_handle_t *)&server->watchdog, NULL);
    uv_close((uv_handle_t *)&server->terminate[0], NULL);
    uv_close((uv_handle_t *)&server->terminate[1], NULL);
    uv_close((uv_handle_t *)&server->reload, NULL);
}

/* When nobody is connected and nothing is under way any more, the store is closed. */
static void finish_if_quiet(struct server *server)
{
    if (!server->stopping || server->store_closing || server->sessions != NULL ||
        server->service->working > 0) {
        return;
    }
    server->store_closing = true;
    server->persist->interface->close(server->persist, on_persist_closed, server);
}

void server_session_gone(struct server *server)
{
    finish_if_quiet(server);
}

static void drop_all(struct server *server)
{
    struct session *session;
    struct session *next;

    DL_FOREACH_SAFE (server->sessions, session, next) {
        session_close(session);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct server *server = timer->data;
    const int64_t now_ms = server_loop_ms(server);
    struct session *session;
    struct session *next;

    DL_FOREACH_SAFE (server->sessions, session, next) {
        session_tick(session, now_ms);
    }
    if (!server->stopping) {
        here_watch_tick(server->here_watch);
        look_at_certificate(server, &server->config);
    }
    for (size_t i = 0; i < server->listener_count; i++) {
        listener_retry(&server->listeners[i]);
    }
    epochs_tick(server->service);
    if (!server->stopping && server->tick_count++ % SWEEP_TICKS == 0) {
        service_sweep(server->service);
    }
    watch_tick(server->service);
    if (!server->stopping && service_arrange(server->service)) {
        server_wake(server);
    }
    if (server->stopping && now_ms - server->stop_since_ms >= STOP_PATIENCE_MS) {
        drop_all(server);
    }
    finish_if_quiet(server);
}

static void on_terminate(uv_signal_t *signal, int number)
{
    struct server *server = signal->data;
    struct session *session;

    if (server->stopping) { /* asked twice: no more patience with the clients */
        drop_all(server);
        return;
    }
    log_info("stopping (%s)", number == SIGTERM ? "SIGTERM" : "SIGINT");
    notify_stopping("finishing what is under way");
    server->stopping = true;
    service_stop(server->service);
    server->stop_since_ms = server_loop_ms(server);
    for (size_t i = 0; i < server->listener_count; i++) {
        listener_close(&server->listeners[i]);
    }
    DL_FOREACH (server->sessions, session) {
        session_stop(session);
    }
    server->persist->interface->cancel_job(server->persist);
    service_save_clock(server->service);
    (void)uv_timer_start(&server->tick, on_tick, STOPPING_TICK_MS, STOPPING_TICK_MS);
    finish_if_quiet(server);
}

/* --- reload ----------------------------------------------------------------------------------- */

/* All lines of the reason go to the log; the first one, and how many others, to who asked. */
static void refuse_reload(char *reason)
{
    char *line = reason;

    do {
        char *end = strchr(line, '\n');

        log_error("configuration not reloaded, the old one stays: %.*s",
                  (int)(end != NULL ? (size_t)(end - line) : strlen(line)), line);
        line = end != NULL ? end + 1 : NULL;
    } while (line != NULL);

    const size_t others = config_reason_first(reason);
    const size_t used = strlen(reason);
    if (others > 0) {
        snprintf(reason + used, CONFIG_REASON_BYTES - used, " (and %zu more error%s, see the log)",
                 others, others == 1 ? "" : "s");
    }
}

int server_reload(struct server *server, char *out_reason)
{
    struct config fresh;
    struct server_listen listen;

    notify_reloading();
    int rc = options_load(server->options, &fresh, out_reason);
    if (rc == 0) {
        rc = config_check_reload(&server->config, &fresh, out_reason);
    }
    if (rc == 0) {
        rc = server_listen_prepare(server, &fresh, &listen, out_reason);
    }
    if (rc == 0) {
        rc = server_tls_load(&server->tls, &fresh, out_reason);
        if (rc != 0) {
            server_listen_cancel(server, &listen);
        }
    }
    if (rc == 0) {
        server_listen_commit(server, &fresh, &listen);
        server_tls_log_pin(&server->tls, &fresh);
        look_at_certificate(server, &fresh);
        server->config = fresh;
        service_reload(server->service, &fresh);
        here_watch_reload(server->here_watch);
        log_set_level(fresh.log_level);
        log_info("configuration reloaded");
    } else {
        refuse_reload(out_reason);
    }
    notify_ready(rc == 0 ? "serving" : "serving; the last reload was refused");
    return rc;
}

static void on_reload(uv_signal_t *signal, int number)
{
    struct server *server = signal->data;
    char reason[CONFIG_REASON_BYTES];
    (void)number;

    if (!server->stopping) {
        (void)server_reload(server, reason); /* it has said how it went */
    }
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify_watchdog();
}

/* Handles that cannot fail to be made, by libuv's documentation, but for want of memory. */
static int init_handles(struct server *server)
{
    const uint64_t watchdog_ms = notify_watchdog_interval_ms();
    int rc = 0;

    uv_prepare_init(&server->loop, &server->prepare);
    uv_check_init(&server->loop, &server->check);
    uv_idle_init(&server->loop, &server->idle);
    uv_timer_init(&server->loop, &server->arrival);
    uv_timer_init(&server->loop, &server->tick);
    uv_timer_init(&server->loop, &server->watchdog);
    uv_signal_init(&server->loop, &server->terminate[0]);
    uv_signal_init(&server->loop, &server->terminate[1]);
    uv_signal_init(&server->loop, &server->reload);
    server->prepare.data = server;
    server->check.data = server;
    server->arrival.data = server;
    server->tick.data = server;
    server->terminate[0].data = server;
    server->terminate[1].data = server;
    server->reload.data = server;

    uv_prepare_start(&server->prepare, on_prepare);
    uv_check_start(&server->check, on_check);
    uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
    if (watchdog_ms > 0) {
        uv_timer_start(&server->watchdog, on_watchdog, 0, watchdog_ms);
    }
    if (rc == 0) {
        rc = uv_signal_start(&server->terminate[0], on_terminate, SIGTERM);
    }
    if (rc == 0) {
        rc = uv_signal_start(&server->terminate[1], on_terminate, SIGINT);
    }
    if (rc == 0) {
        rc = uv_signal_start(&server->reload, on_reload, SIGHUP);
    }
    return rc;
}

static int open_store(struct server *server, char *out_reason)
{
    const struct config *config = &server->config;

    int rc = datadir_lock(config->data, !config->relaxed, &server->lock, out_reason,
                          CONFIG_REASON_BYTES);
    if (rc != 0) {
        return rc;
    }
    const struct persist_sqlite_options options = {
        .loop = &server->loop,
        .directory = config->data,
        .relaxed = config->relaxed,
        .gather_ms = config->commit_delay_ms,
        .log_bytes = config_log_bytes(config),
        .messages_max = config->limits.messages_max,
        .bytes_max = config->limits.bytes_max,
    };
    return persist_sqlite_open(&options, &server->persist, out_reason);
}

static int make_service(struct server *server, char *out_reason)
{
    struct service_options options = {
        .alloc = server->alloc,
        .config = &server->config,
        .persist = server->persist,
        .read_clocks = read_clocks,
        .clock_synchronised = clock_synchronised,
        .read_ns = read_ns,
        .control = &server->control,
        .worker = &server->worker.worker,
    };

    server_init_control(server);
    randombytes_buf(&options.hash_seed, sizeof(options.hash_seed));
    randombytes_buf(options.sender_key, sizeof(options.sender_key));
    return handler_open(&options, &server->service, out_reason);
}

static void close_all(struct server *server)
{
    (void)uv_run(&server->loop, UV_RUN_DEFAULT); /* until every handle is closed */
    here_watch_free(server->here_watch);
    handler_close(server->service);
    arena_deinit(&server->decode_arena);
    server_tls_deinit(&server->tls);
    if (uv_loop_close(&server->loop) != 0) {
        log_error("the loop closed with handles left open"); /* our mistake; tests look for it */
    }
    if (server->lock >= 0) {
        datadir_unlock(server->lock);
    }
}

int server_start(struct server *server, const struct options *options, const struct config *config,
                 char *out_reason)
{
    memset(server, 0, sizeof(*server));
    server->lock = -1;
    server->alloc = alloc_system();
    server->options = options;
    server->config = *config;
    arena_init(&server->decode_arena, server->alloc, DECODE_BYTES_MAX);
    out_reason[0] = '\0';
    /* Before the loop is made: see privilege_refuse_rings. */
    server->unfiltered = config->no_call_filter ? "`call_filter = no`" : privilege_refuse_rings();
    int rc = uv_loop_init(&server->loop);
    if (rc != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "event loop: %s", uv_strerror(rc));
        return -ERR_SYSTEM;
    }
    worker_uv_init(&server->worker, &server->loop);

    rc = server_open_addresses(server, out_reason);
    if (rc == 0) { /* as the user, who must be able to do it again at a reload */
        rc = server_tls_load(&server->tls, config, out_reason);
    }
    if (rc == 0) {
        server_tls_log_pin(&server->tls, config);
        look_at_certificate(server, config);
        rc = open_store(server, out_reason);
    }
    if (rc == 0) {
        rc = make_service(server, out_reason);
    }
    if (rc == 0 && (rc = here_watch_start(server, &server->here_watch)) != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
    }
    if (rc == 0) {
        rc = server_open_sockets(server, out_reason);
    }
    if (rc == 0 && (rc = init_handles(server)) != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "event loop: %s", uv_strerror(rc));
    }
    if (rc == 0) {
        return 0;
    }

    for (size_t i = 0; i < server->listener_count; i++) {
        listener_close(&server->listeners[i]);
    }
    if (server->persist != NULL) {
        server->persist->interface->close(server->persist, NULL, NULL);
    }
    close_all(server);
    return rc == CONFIG_REFUSED ? SERVER_REFUSED : -ERR_SYSTEM;
}

/* Last, when all files and threads are there; what it refuses is not needed to serve. */
static void filter_calls(struct server *server)
{
    if (server->unfiltered == NULL) {
        server->unfiltered = privilege_filter_calls();
    }
    if (server->unfiltered != NULL) { /* `call_filter = no` is the operator's will */
        log_write(server->config.no_call_filter ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
                  "system calls are not filtered: %s", server->unfiltered);
    }
}

void server_run(struct server *server)
{
    filter_calls(server);
    log_info("ready: hearsayd " HEARSAY_VERSION ", %zu host%s, data in %s",
             server->service->host_count, server->service->host_count == 1 ? "" : "s",
             server->config.data);
    notify_ready("serving");
    server_wake(server); /* the first turn begins to arrange what was loaded */
    close_all(server);
    log_info("stopped");
}
