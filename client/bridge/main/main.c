/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bridge: joins many access points over a hub of NATS servers. main reads the
 * configuration, and does what the command line says.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#ifdef __GLIBC__ /* after another header of libc */
#include <malloc.h>
#endif

#include <sodium.h>

#include "client/bridge/hub/setup.h"
#include "client/bridge/main/program.h"
#include "client/bridge/main/report.h"
#include "client/bridge/own/forget.h"
#include "client/bridge/own/take.h"
#include "client/bridge/setup/options.h"
#include "daemon/system/streams.h"

enum { EXIT_USAGE = 2 };

static int finish_output(void)
{
    return streams_finish("hearsay-bridge") ? EXIT_SUCCESS : EXIT_FAILURE;
}

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
        log_error("%s", reason);
        return rc == SETTINGS_REFUSED ? EXIT_USAGE : EXIT_FAILURE;
    }
    program_run(&program);
    return EXIT_SUCCESS;
}

/* A command that ends by itself. */
static int carry_out(const struct bridge_options *options, const struct bridge_config *config,
                     char *reason)
{
    int rc = 0;

    switch (options->command) {
    case BRIDGE_STATUS:
        rc = report_ask(config, options->prints_metrics, stdout, reason);
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
    return finish_output();
}

int main(int argc, char **argv)
{
    static struct bridge_config config; /* large for a small machine's stack */
    char reason[SETTINGS_REASON_BYTES];
    struct bridge_options options;

    streams_keep();
    if (sodium_init() < 0) {
        fprintf(stderr, "hearsay-bridge: the system gives no random numbers\n");
        return EXIT_FAILURE;
    }
    if (bridge_options_parse(argc, argv, &options, reason) != 0) {
        fprintf(stderr, "hearsay-bridge: %s\n", reason);
        return EXIT_USAGE;
    }
    if (settings_options_answer(&bridge_program, &options.common, "", NULL, stdout)) {
        return finish_output();
    }
    if (bridge_options_load(&options, &config, reason) != 0) {
        settings_complain(&bridge_program, reason, stderr);
        return EXIT_USAGE;
    }
    if (settings_options_answer(&bridge_program, &options.common, config.file, &config, stdout)) {
        return finish_output();
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return options.command == BRIDGE_RUN ? run_bridge(&config, reason)
                                         : carry_out(&options, &config, reason);
}
