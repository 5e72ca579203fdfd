/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/main/program.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/base/err.h"
#include "daemon/system/datadir.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"
#include "daemon/system/privilege.h"
#include "daemon/system/reason.h"

/* --- the hub comes and goes ------------------------------------------------------------------- */

static void on_joined(void *context)
{
    struct program *program = context;

    own_joined(program->own);
    hub_joined(program->hub);
    ask_joined(program->ask);
    notify_ready("connected to the hub");
}

static void on_parted(void *context)
{
    struct program *program = context;

    own_parted(program->own);
    hub_parted(program->hub);
    ask_parted(program->ask);
    notify_ready("without the hub");
}

static const struct wire_events wire_events = {on_joined, on_parted};

static void on_fenced(void *context, const char *host, bool is_fenced)
{
    struct program *program = context;

    ask_silence(program->ask, host, is_fenced);
}

static const struct own_events own_events = {on_fenced};

static void write_report(void *context, bool is_metrics, FILE *out)
{
    const struct program *program = context;

    if (is_metrics) {
        wire_print_metrics(program->wire, out);
        own_print_metrics(program->own, out);
        hub_print_metrics(program->hub, out);
        ask_print_metrics(program->ask, out);
    } else {
        wire_print_status(program->wire, out);
        own_print_status(program->own, out);
        hub_print_status(program->hub, out);
        ask_print_status(program->ask, out);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void stop_program(struct program *program)
{
    program->is_stopping = true;
    for (size_t i = 0; i < sizeof(program->signals) / sizeof(program->signals[0]); i++) {
        uv_close((uv_handle_t *)&program->signals[i], NULL);
    }
    uv_close((uv_handle_t *)&program->watchdog, NULL);
    ask_stop(program->ask);
    hub_stop(program->hub);
    own_stop(program->own);
    report_stop(program->report);
    wire_stop(program->wire);
}

static void on_terminate(uv_signal_t *signal, int number)
{
    struct program *program = signal->data;

    if (!program->is_stopping) {
        log_info("stopping (%s)", number == SIGTERM ? "SIGTERM" : "SIGINT");
        notify_stopping("closing all connections");
        stop_program(program);
    }
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify_watchdog();
}

/* Makes and starts the handles. 0, or an error of libuv. */
static int start_handles(struct program *program)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    uint64_t watchdog_ms = notify_watchdog_interval_ms();
    int rc = 0;

    (void)uv_timer_init(&program->loop, &program->watchdog); /* never fails */
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)uv_signal_init(&program->loop, &program->signals[i]);
        program->signals[i].data = program;
        rc = rc == 0 ? uv_signal_start(&program->signals[i], on_terminate, numbers[i]) : rc;
    }
    if (rc == 0 && watchdog_ms > 0) {
        (void)uv_timer_start(&program->watchdog, on_watchdog, 0, watchdog_ms);
    }
    return rc;
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int become_user(const struct bridge_config *config, char *out_reason)
{
    struct privilege_user user;

    if (config->user[0] == '\0') {
        if (privilege_is_root()) {
            log_warning("running as root: set `user` to one without rights");
        }
        return 0;
    }
    if (privilege_find(config->user, &user, out_reason) != 0) {
        return SETTINGS_REFUSED;
    }
    user.admin_group = PRIVILEGE_NO_GROUP;
    if (privilege_is_root() && privilege_make_directory(config->state, &user, out_reason) != 0) {
        return -ERR_SYSTEM;
    }
    return privilege_drop(&user, out_reason);
}

static int start_parts(struct program *program, char *out_reason)
{
    const struct bridge_config *config = program->config;
    int rc = wire_new(&program->loop, config, &wire_events, program, &program->wire);

    rc = rc == 0
             ? own_new(&program->loop, config, program->wire, &own_events, program, &program->own)
             : rc;
    rc = rc == 0 ? hub_new(&program->loop, config, program->wire, &program->hub) : rc;
    rc = rc == 0 ? ask_new(&program->loop, config, program->wire, &program->ask) : rc;
    if (rc != 0) {
        (void)reason_set(out_reason, "%s", err_text(rc));
        return rc;
    }
    return report_new(&program->loop, config, write_report, program, &program->report, out_reason);
}

int program_start(struct program *program, const struct bridge_config *config, char *out_reason)
{
    memset(program, 0, sizeof(*program));
    program->config = config;
    program->unfiltered = privilege_refuse_rings(); /* before the loop is made */
    int rc = uv_loop_init(&program->loop);
    if (rc != 0) {
        return reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    rc = become_user(config, out_reason);
    rc = rc == 0 ? datadir_lock(config->state, false, &program->lock, out_reason) : rc;
    rc = rc == 0 ? start_parts(program, out_reason) : rc;
    if (rc == 0 && (rc = start_handles(program)) != 0) {
        rc = reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    return rc;
}

/* --- running ---------------------------------------------------------------------------------- */

void program_run(struct program *program)
{
    if (program->unfiltered == NULL) {
        program->unfiltered = privilege_filter_calls();
    }
    if (program->unfiltered != NULL) {
        log_warning("system calls are not filtered: %s", program->unfiltered);
    }
    log_info("ready: hearsay-bridge " HEARSAY_VERSION);
    notify_ready("without the hub");
    (void)uv_run(&program->loop, UV_RUN_DEFAULT); /* until all handles are closed */
    report_free(program->report);
    ask_free(program->ask);
    hub_free(program->hub);
    own_free(program->own);
    wire_free(program->wire);
    if (uv_loop_close(&program->loop) != 0) {
        log_error("the loop closed with handles left open"); /* a bug; tests look for it */
    }
    datadir_unlock(program->lock);
    log_info("stopped");
}
