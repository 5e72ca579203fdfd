/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/program.h"

#include <string.h>

#include <sodium.h>

#include "client/web/main/user.h"
#include "client/web/route/route.h"
#include "core/base/alloc.h"
#include "core/base/err.h"
#include "daemon/device/devices.h"
#include "daemon/system/notify.h"
#include "daemon/system/reason.h"

enum {
    TIDY_MS = 60 * 1000,
    STACK_BYTES = 64 * 1024 /* what requests use at most */
};

/* --- signals ---------------------------------------------------------------------------------- */

static void on_stop(void *context, bool is_again)
{
    struct program *program = context;

    if (is_again) {
        return;
    }
    http_server_stop(program->http);
    if (program->board != NULL) {
        ticks_stop(&program->ticks);
        live_stop(program->live);
        board_stop(program->board);
    }
    devices_close(program->devices);
    runtime_close(&program->runtime);
    uv_close((uv_handle_t *)&program->tidy, NULL);
}

static void on_reload(void *context)
{
    struct program *program = context;
    struct web_config fresh;
    char reason[SETTINGS_REASON_BYTES];

    notify_reloading();
    int rc = settings_config_load(program->page, program->options, &fresh, reason);
    rc = rc == 0 ? web_config_read_rules(&fresh, reason) : rc;
    rc = rc == 0 ? settings_config_check_reload(program->page->table, program->page->section,
                                                &program->config, &fresh, reason)
                 : rc;
    if (rc == 0) {
        program->config = fresh;
        sheets_clear(&program->router.sheets, true); /* they have the title of before */
        log_set_level(fresh.log_level);
        log_info("configuration reloaded");
    } else {
        settings_log_refusal(reason);
    }
    router_note_read(&program->router, rc != 0);
    notify_ready(rc == 0 ? "serving" : "serving; the last reload was refused");
}

static const struct runtime_events runtime_events = {on_stop, on_reload, "closing all connections"};

/* Removes what requests left behind: pages for others, and addresses on the stack. */
static void on_tidy(uv_timer_t *timer)
{
    struct program *program = timer->data;

    if (program->board != NULL) {
        sheets_clear(&program->router.sheets, false);
        board_tidy(program->board);
        portal_tidy(program->router.portal, router_now_ms(&program->router));
    } else {
        moderate_tidy(&program->moderate);
    }
    sodium_stackzero(STACK_BYTES);
}

/* Makes and starts the handles. 0, or an error of libuv. */
static int start_handles(struct program *program)
{
    (void)uv_timer_init(&program->loop, &program->tidy); /* never fails */
    program->tidy.data = program;
    (void)uv_timer_start(&program->tidy, on_tidy, TIDY_MS, TIDY_MS);
    return runtime_start(&program->runtime, &program->loop, &runtime_events, program);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int make_board(struct program *program, char *out_reason)
{
    const struct web_config *config = &program->config;
    struct board_options board = {
        .loop = &program->loop,
        .server = config->server,
        .cache_ms = config->cache_ms,
        .per_page = config->per_page,
        .views = config->views,
        .upstreams = config->upstreams,
        .topics = &config->topics,
    };
    int rc = board_new(&board, &program->board);

    if (rc == 0) {
        struct live_options live = {
            .loop = &program->loop,
            .board = program->board,
            .events = config->events,
            .views = config->views,
            .events_per_address = config->events_per_address,
        };
        rc = live_new(&live, &program->live);
    }
    if (rc != 0) {
        (void)snprintf(out_reason, SETTINGS_REASON_BYTES, "%s", err_text(rc));
    }
    return rc;
}

static void make_router(struct program *program)
{
    struct router *router = &program->router;

    router->loop = &program->loop;
    router->config = &program->config;
    router->board = program->board;
    router->live = program->live;
    router->portal = program->stay.portal;
    router->names.config = &program->config;
    router->names.place_count = program->listen.count;
    memcpy(router->names.places, program->listen.places, sizeof(router->names.places));
    router_init(router);
    if (program->stay.nonce_key != NULL) { /* forms and drafts of before the restart are right */
        memcpy(router->nonce.key, program->stay.nonce_key, sizeof(router->nonce.key));
    }
}

/* What both pages have. */
static struct http_options http_options_of(struct program *program)
{
    return (struct http_options){
        .loop = &program->loop,
        .listeners = program->listen.sockets,
        .listener_count = program->listen.count,
        .connections = program->config.connections,
        .connections_per_address = program->config.connections_per_address,
    };
}

/* Follows the kernel's table of neighbours. `key`: as of devices_open. */
static int open_devices(struct program *program, const uint8_t *key, char *out_reason)
{
    int rc = devices_open(alloc_system(), &program->loop, key, &program->devices);

    if (rc != 0) {
        (void)snprintf(out_reason, SETTINGS_REASON_BYTES, "%s", err_text(rc));
    }
    return rc;
}

/* Serves the guests' page. */
static int make_guests(struct program *program, char *out_reason)
{
    struct http_options http = http_options_of(program);
    int rc = make_board(program, out_reason);

    rc = rc == 0 ? open_devices(program, program->stay.device_key, out_reason) : rc;
    if (rc != 0) {
        return rc;
    }
    make_router(program);
    program->ticks = (struct ticks){.request = route_request,
                                    .gone = route_gone,
                                    .has_room = route_takes_stream,
                                    .context = &program->router};
    ticks_init(&program->ticks, &program->loop);
    http.devices = program->devices;
    http.request = ticks_request;
    http.gone = ticks_gone;
    http.context = &program->ticks;
    rc = http_server_new(&http, &program->http, out_reason);
    program->router.http = program->http;
    return rc;
}

/* Serves the moderators' page. No part of the guests' page is made. */
static int make_moderate(struct program *program, char *out_reason)
{
    struct http_options http = http_options_of(program);
    int rc = open_devices(program, NULL, out_reason);

    if (rc != 0) {
        return rc;
    }
    http.devices = program->devices;
    http.allows = moderate_allows;
    http.request = moderate_request;
    http.gone = moderate_gone;
    http.context = &program->moderate;
    moderate_init(&program->moderate, &program->loop, &program->config, program->listen.places,
                  program->listen.count);
    return http_server_new(&http, &program->http, out_reason);
}

static void log_listeners(const struct program *program)
{
    char text[WEB_CONFIG_LISTENER_BYTES];

    for (size_t i = 0; i < program->listen.count; i++) {
        if (!program->listen.places[i].is_unix || program->listen.places[i].path[0] != '\0') {
            web_listener_print(&program->listen.places[i], text);
            log_info("listening on %s", text);
        }
    }
}

int program_start(struct program *program, const struct settings_program *page,
                  const struct settings_options *options, const struct web_config *config,
                  char *out_reason)
{
    memset(program, 0, sizeof(*program));
    program->page = page;
    program->options = options;
    program->config = *config;
    program->stay.lock = -1;
    runtime_init(&program->runtime, !config->no_call_filter);
    int rc = uv_loop_init(&program->loop);
    if (rc != 0) {
        return reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    rc = listen_open(config, &program->listen, out_reason);
    if (rc == 0) {
        stay_open(&program->stay, config, (int64_t)uv_now(&program->loop));
    }
    rc = rc == 0 ? user_become(config, out_reason) : rc;
    rc = rc == 0 ? web_config_read_rules(&program->config, out_reason) : rc;
    if (rc == 0) {
        rc = config->section == WEB_SECTION_MODERATE ? make_moderate(program, out_reason)
                                                     : make_guests(program, out_reason);
    }
    if (rc == 0 && (rc = start_handles(program)) != 0) {
        rc = reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    if (rc != 0) {
        listen_clean(&program->listen);
        stay_close(&program->stay);
    }
    return rc;
}

/* --- running ---------------------------------------------------------------------------------- */

void program_run(struct program *program)
{
    const char *warning = web_config_warning(&program->config);

    runtime_filter_calls(&program->runtime);
    log_listeners(program);
    if (warning != NULL) {
        log_warning("%s", warning);
    }
    log_info("ready: hearsay-web " HEARSAY_VERSION);
    notify_ready("serving");
    (void)uv_run(&program->loop, UV_RUN_DEFAULT); /* until all handles are closed */
    http_server_free(program->http);
    sheets_clear(&program->router.sheets, true);
    if (program->board != NULL) {
        live_free(program->live);
        board_free(program->board);
    }
    devices_free(program->devices);
    stay_close(&program->stay);
    listen_clean(&program->listen);
    if (uv_loop_close(&program->loop) != 0) {
        log_error("the loop closed with handles left open"); /* a bug; tests look for it */
    }
    log_info("stopped");
}
