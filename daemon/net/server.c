/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server.h"

#include <signal.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "daemon/device/devices.h"
#include "daemon/net/here_watch.h"
#include "daemon/store/thread/sqlite.h"
#include "daemon/system/datadir.h"
#include "daemon/system/early_signals.h"
#include "daemon/system/read_pool.h"

/* --- a turn of the loop ----------------------------------------------------------------------- */

static void on_prepare(uv_prepare_t *handle)
{
    struct server *server = handle->data;

    server_flush(server);
    if (uv_backend_timeout(&server->loop.uv) != 0) {
        read_pool_await(server->read_pool);
    } else {
        read_pool_resume(server->read_pool);
    }
}

/* --- threads for searches --------------------------------------------------------------------- */

static void on_task_over(uv_async_t *handle)
{
    (void)handle; /* the turn that follows takes the task */
}

static void wake_loop(void *context)
{
    struct server *server = context;

    (void)uv_async_send(&server->task_over);
}

/*
 * With one processor there is no pool: its threads would only take the loop's time. If the system
 * allows no thread, the loop does all searches.
 */
static void open_read_pool(struct server *server)
{
    unsigned processors = uv_available_parallelism();

    if (processors < 2 || uv_async_init(&server->loop.uv, &server->task_over, on_task_over) != 0) {
        return;
    }
    server->read_pool = read_pool_new(server->alloc, processors - 1, wake_loop, server);
    if (server->read_pool == NULL) {
        uv_close((uv_handle_t *)&server->task_over, NULL);
    }
}

/* Closes what keeps the loop running; close_all frees the pool, in which no task is left. */
static void close_read_pool(struct server *server)
{
    if (server->read_pool != NULL) {
        uv_close((uv_handle_t *)&server->task_over, NULL);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_persist_closed(void *context)
{
    struct server *server = context;

    server->persist = NULL;
    devices_close(server->devices);
    close_read_pool(server);
    loop_close_handles(&server->loop);
    uv_close((uv_handle_t *)&server->prepare, NULL);
    uv_close((uv_handle_t *)&server->check, NULL);
    uv_close((uv_handle_t *)&server->tick, NULL);
    uv_close((uv_handle_t *)&server->waits, NULL);
    runtime_close(&server->runtime);
}

/* Closes the store if the server is stopping, no session is left, and no work is under way. */
static void finish_if_quiet(struct server *server)
{
    if (!server->stopping || server->store_closing || server->sessions.first != NULL ||
        server->service->working > 0) {
        return;
    }
    server->store_closing = true;
    server->persist->interface->close(server->persist, on_persist_closed, server);
}

static void on_check(uv_check_t *handle)
{
    struct server *server = handle->data;

    server_turn(server);
    server_hasten_tick(server);
    finish_if_quiet(server);
}

static void on_stop(void *context, bool is_again)
{
    struct server *server = context;

    if (is_again) { /* the second signal: does not wait for clients */
        sessions_close(&server->sessions);
        return;
    }
    server->stopping = true;
    service_stop(server->service);
    server->stop_since_ms = loop_now_ms(&server->loop);
    for (size_t i = 0; i < server->listener_count; i++) {
        listener_close(&server->listeners[i]);
    }
    here_watch_stop(server->here_watch);
    sessions_stop(&server->sessions);
    server->persist->interface->cancel_job(server->persist);
    service_save_clock(server->service);
    server_start_ticks(server);
    finish_if_quiet(server);
}

static void on_reload(void *context)
{
    struct server *server = context;
    char reason[CONFIG_REASON_BYTES];

    (void)server_reload(server, reason); /* it has logged the result */
    loop_wake(&server->loop);            /* what the new configuration makes due */
}

static const struct runtime_events runtime_events = {on_stop, on_reload,
                                                     "finishing what is under way"};

/* --- the beginning ---------------------------------------------------------------------------- */

/* Makes and starts the server's handles. Returns 0 or a libuv error. */
static int init_handles(struct server *server)
{
    uv_prepare_init(&server->loop.uv, &server->prepare);
    uv_check_init(&server->loop.uv, &server->check);
    uv_timer_init(&server->loop.uv, &server->tick);
    uv_timer_init(&server->loop.uv, &server->waits);
    server->prepare.data = server;
    server->check.data = server;
    server->tick.data = server;
    int rc = runtime_start(&server->runtime, &server->loop.uv, &runtime_events, server);
    /* If a signal's handle has failed, the handles below are not started. A started handle would
     * keep the loop running. */
    if (rc == 0) {
        uv_prepare_start(&server->prepare, on_prepare);
        uv_check_start(&server->check, on_check);
        server_start_ticks(server);
    }
    return rc;
}

static int open_store(struct server *server, char *out_reason)
{
    enum { GROUP_US = 1000 }; /* about as long as a sync of a fast disk takes */
    const struct config *config = &server->config;

    int rc = datadir_lock(config->data, !config->relaxed, &server->lock, out_reason);
    if (rc != 0) {
        return rc;
    }
    struct persist_sqlite_options options = {
        .loop = &server->loop.uv,
        .directory = config->data,
        .relaxed = config->relaxed,
        .gather_ms = config->commit_delay_ms,
        .group_us = GROUP_US,
        .log_bytes = config_log_bytes(config),
        .messages_max = config->limits.messages,
        .bytes_max = config->limits.bytes,
    };
    return persist_sqlite_open(&options, &server->persist, out_reason);
}

static int make_service(struct server *server, char *out_reason)
{
    struct service_options options = {
        .alloc = server->alloc,
        .config = &server->config,
        .persist = server->persist,
        .read_wall_ms = server_clock_wall_ms,
        .read_monotonic_ms = server_clock_monotonic_ms,
        .clock_synchronised = server_clock_is_synchronised,
        .read_ns = server_clock_ns,
        .control = &server->control,
        .worker = &server->worker.worker,
        .read_pool = server->read_pool,
    };

    server->control = server_control_new(server);
    randombytes_buf(&options.hash_seed, sizeof(options.hash_seed));
    randombytes_buf(options.sender_key, sizeof(options.sender_key));
    int rc = handler_open(&options, &server->service, out_reason);
    if (rc == 0) {
        sessions_init(&server->sessions, &server->loop, server->alloc, server->service,
                      &server->tls);
    }
    return rc;
}

static void on_here_changed(void *context, const struct here_change *change)
{
    struct server *server = context;

    sessions_push_here(&server->sessions, change);
}

static int watch_here_files(struct server *server, char *out_reason)
{
    struct here_watch_options options = {.loop = &server->loop.uv,
                                         .service = server->service,
                                         .changed = on_here_changed,
                                         .context = server};

    int rc = here_watch_start(&options, &server->here_watch);
    if (rc != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
    }
    return rc;
}

/* Opens the table that tells which device is behind an address. */
static int open_devices(struct server *server, char *out_reason)
{
    int rc = devices_open(server->alloc, &server->loop.uv, NULL, &server->devices);

    if (rc != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
    }
    server->sessions.devices = server->devices;
    return rc;
}

static void close_all(struct server *server)
{
    (void)uv_run(&server->loop.uv, UV_RUN_DEFAULT); /* until every handle is closed */
    here_watch_free(server->here_watch);
    devices_free(server->devices);
    handler_close(server->service);
    read_pool_free(server->read_pool);
    sessions_deinit(&server->sessions);
    server_tls_deinit(&server->tls);
    if (uv_loop_close(&server->loop.uv) != 0) {
        log_error("the loop closed with handles left open"); /* a bug; tests look for it */
    }
    if (server->lock >= 0) {
        datadir_unlock(server->lock);
    }
}

static void tell_doubt(void *context, const char *sentence)
{
    (void)context;
    log_warning("%s", sentence);
}

int server_start(struct server *server, const struct options *options, const struct config *config,
                 char *out_reason)
{
    early_signals_catch(); /* before the log says where the daemon listens */
    memset(server, 0, sizeof(*server));
    server->lock = -1;
    server->alloc = alloc_system();
    server->options = options;
    server->config = *config;
    server_note_read(server);
    out_reason[0] = '\0';
    runtime_init(&server->runtime, !config->no_call_filter);
    int rc = loop_init(&server->loop);
    if (rc != 0) {
        return reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    /* Beside sessions: listeners, the store, libuv. */
    loop_reserve(&server->loop, (uint64_t)config->limits.sessions + 64);
    worker_uv_init(&server->worker, &server->loop.uv);
    open_read_pool(server);

    rc = server_open_addresses(server, out_reason);
    if (rc == 0) { /* as the configured user: a reload does it again */
        rc = server_tls_load(&server->tls, config, out_reason);
    }
    if (rc == 0) {
        server_tls_log_pin(&server->tls, config);
        server_check_certificate(server, config);
        config_tell_doubts(config, tell_doubt, NULL);
        rc = open_store(server, out_reason);
    }
    rc = rc == 0 ? make_service(server, out_reason) : rc;
    rc = rc == 0 ? watch_here_files(server, out_reason) : rc;
    rc = rc == 0 ? open_devices(server, out_reason) : rc;
    rc = rc == 0 ? server_open_sockets(server, out_reason) : rc;
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
    devices_close(server->devices);
    close_read_pool(server);
    loop_close_handles(&server->loop);
    close_all(server);
    if (early_signals_stop()) {
        log_info("stopping (%s)", early_signals_take(SIGTERM) ? "SIGTERM" : "SIGINT");
        log_info("stopped");
        return SERVER_STOPPED;
    }
    return rc == CONFIG_REFUSED ? SERVER_REFUSED : -ERR_SYSTEM;
}

void server_run(struct server *server)
{
    runtime_filter_calls(&server->runtime);
    log_info("ready: hearsayd " HEARSAY_VERSION ", %zu host%s, data in %s",
             server->service->host_count, server->service->host_count == 1 ? "" : "s",
             server->config.data);
    notify_ready("serving");
    service_set_clock(server->service); /* nobody is greeted before the clock is right */
    loop_wake(&server->loop);           /* the first turn begins to arrange the messages */
    runtime_act_early(&server->runtime);
    close_all(server);
    log_info("stopped");
}
