/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bridge: joins many access points over a hub of NATS servers. main reads the
 * configuration, and does what the command line says.
 */
#include <stdlib.h>
#include <sys/stat.h>
#ifdef __GLIBC__ /* after another header of libc */
#include <malloc.h>
#endif

#include "client/bridge/main/program.h"
#include "daemon/system/privilege.h"

/*
 * All threads share one heap. glibc gives each thread of libnats and libuv a heap of its own, and
 * what is freed in one is of no use to the others.
 */
static void share_heap(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

static int run_bridge(const struct bridge_config *config, char *reason)
{
    static struct program program;

    share_heap();
    (void)umask(0077);
    log_set_level(config->log_level);
    int rc = program_start(&program, config, reason);
    if (rc != 0) {
        return settings_fail_start(rc, reason);
    }
    program_run(&program);
    return EXIT_SUCCESS;
}

/* A command that ends by itself. */
static int carry_out(const struct bridge_options *options, const struct bridge_config *config,
                     char *reason)
{
    bool has_trouble = false;
    int rc = 0;

    switch (options->command) {
    case BRIDGE_STATUS:
        rc = report_ask(config, options->prints_metrics, stdout, &has_trouble, reason);
        break;
    case BRIDGE_SETUP_HUB:
        rc = hub_setup(config, options, stdout, reason);
        break;
    case BRIDGE_TAKE:
        rc = take_host(config, options->host, options->is_now, stdout, reason);
        break;
    case BRIDGE_FORGET:
        rc = forget_host(config, options->host, stdout, reason);
        break;
    case BRIDGE_RUN:
    case BRIDGE_NO_COMMAND:
        break;
    }
    if (rc != 0) {
        settings_complain(&bridge_program, reason, stderr);
        return EXIT_FAILURE;
    }
    int status = settings_finish_output(&bridge_program);
    return has_trouble ? EXIT_FAILURE : status;
}

/* What --check-config checks besides, as settings_program.check. */
static int check_config(void *checked, FILE *out, char *out_reason)
{
    const struct bridge_config *config = checked;
    struct stat found;
    int rc = program_check(config, out_reason);

    if (rc == 0 && config->cert[0] != '\0' && privilege_is_root() && config->user[0] == '\0' &&
        stat(config->state, &found) != 0) {
        (void)fputs("hearsay-bridge: warning: root has opened `cert`, `key` and `ca`, which the "
                    "user of the service may be unable to read: start the service once, then "
                    "check again, or set `user`\n",
                    out);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static struct bridge_config config; /* large for a small machine's stack */
    struct settings_program program = bridge_program;
    char reason[SETTINGS_REASON_BYTES];
    struct bridge_options options = {.command = BRIDGE_NO_COMMAND};

    program.check = check_config;
    int status = settings_begin(&program, argc, argv, &options);
    status = status == SETTINGS_GO_ON ? settings_prepare(&program, &options, &config) : status;
    if (status != SETTINGS_GO_ON) {
        return status;
    }
    return options.command == BRIDGE_RUN ? run_bridge(&config, reason)
                                         : carry_out(&options, &config, reason);
}
