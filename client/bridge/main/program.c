/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/main/program.h"

#include <string.h>

#include "core/base/err.h"
#include "daemon/settings/user.h"
#include "daemon/system/datadir.h"
#include "daemon/system/notify.h"

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
        wire_print_metrics(program->wire, own_failures(program->own), out);
        own_print_metrics(program->own, out);
        hub_print_metrics(program->hub, out);
        ask_print_metrics(program->ask, out);
    } else {
        bool has_trouble = !wire_is_joined(program->wire) || own_has_trouble(program->own) ||
                           hub_has_trouble(program->hub);

        (void)fputs(has_trouble ? REPORT_TROUBLE : REPORT_WELL, out);
        wire_print_status(program->wire, out);
        own_print_status(program->own, out);
        hub_print_status(program->hub, out);
        ask_print_status(program->ask, out);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_stop(void *context, bool is_again)
{
    struct program *program = context;

    if (is_again) {
        return;
    }
    runtime_close(&program->runtime);
    ask_stop(program->ask);
    hub_stop(program->hub);
    own_stop(program->own);
    report_stop(program->report);
    wire_stop(program->wire);
}

static const struct runtime_events runtime_events = {on_stop, NULL, "closing all connections"};

/* --- the beginning ---------------------------------------------------------------------------- */

static struct settings_user user_of(const struct bridge_config *config)
{
    return (struct settings_user){.name = config->user,
                                  .is_peer = true,
                                  .admin_group = PRIVILEGE_NO_GROUP,
                                  .directory = config->state};
}

/* Loads the files as each connection to the hub does. */
static int check_tls(const struct bridge_config *config, char *out_reason)
{
    natsOptions *options = NULL;
    char error[CONNECT_ERROR_BYTES];

    if (connect_options(config, &options, error) != NATS_OK) {
        (void)reason_set(out_reason, "%s", error);
        return SETTINGS_REFUSED;
    }
    natsOptions_Destroy(options);
    return 0;
}

int program_check(const struct bridge_config *config, char *out_reason)
{
    struct settings_user user = user_of(config);
    char owner[PRIVILEGE_NAME_BYTES];

    if (settings_check_user(&user, out_reason) != 0 ||
        settings_become_checked(&user, owner, out_reason) != 0 ||
        bridge_config_check_files(config, config->user[0] != '\0' ? config->user : owner,
                                  out_reason) != 0) {
        return SETTINGS_REFUSED;
    }
    return check_tls(config, out_reason);
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
    struct settings_user user = user_of(config);

    memset(program, 0, sizeof(*program));
    program->config = config;
    runtime_init(&program->runtime, true);
    int rc = uv_loop_init(&program->loop);
    if (rc != 0) {
        return reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    rc = settings_become_user(&user, out_reason);
    rc = rc == 0 ? datadir_lock(config->state, false, &program->lock, out_reason) : rc;
    rc = rc == 0 ? start_parts(program, out_reason) : rc;
    if (rc == 0 &&
        (rc = runtime_start(&program->runtime, &program->loop, &runtime_events, program)) != 0) {
        rc = reason_set(out_reason, "event loop: %s", uv_strerror(rc));
    }
    return rc;
}

/* --- running ---------------------------------------------------------------------------------- */

void program_run(struct program *program)
{
    runtime_filter_calls(&program->runtime);
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
