/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsayd: the message store of an access point. main reads the configuration, and starts and runs
 * the server.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sodium.h>

#include "daemon/config/config.h"
#include "daemon/config/options.h"
#include "daemon/host/arrange.h"
#include "daemon/net/server.h"
#include "daemon/preflight.h"
#include "daemon/restore.h"
#include "daemon/system/log.h"
#include "daemon/system/streams.h"

enum { EXIT_USAGE = 2 };

static int main_restore(const struct options *options, const struct config *config)
{
    char reason[CONFIG_REASON_BYTES];
    uint64_t messages = 0;

    if (restore_run(config, options->restore, stdout, &messages, reason) != 0) {
        fprintf(stderr, "hearsayd: %s\n", reason);
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " messages restored into %s\n", messages, config->data);
    return streams_finish("hearsayd") ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct config config; /* large for a small machine's stack */
    static struct server server;
    char reason[CONFIG_REASON_BYTES];
    struct options options;

    streams_keep();
    arrange_tune_memory();
    if (options_parse(argc, argv, &options, reason) != 0) {
        fprintf(stderr, "hearsayd: %s\n", reason);
        return EXIT_USAGE;
    }
    if (options_answer(&options, NULL, stdout)) {
        return streams_finish("hearsayd") ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (options_load(&options, &config, reason) != 0) {
        settings_complain(&options_program, reason, stderr);
        return EXIT_USAGE;
    }
    if (options.common.action == SETTINGS_CHECK_CONFIG &&
        preflight(&config, (int64_t)time(NULL) * 1000, stderr, reason) != 0) {
        settings_complain(&options_program, reason, stderr);
        return EXIT_USAGE;
    }
    if (options_answer(&options, &config, stdout)) {
        return streams_finish("hearsayd") ? EXIT_SUCCESS : EXIT_FAILURE;
    }

    (void)umask(0077);
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(config.log_level);
    if (sodium_init() < 0) {
        log_error("the system gives no random numbers");
        return EXIT_FAILURE;
    }
    if (options.restore != NULL) {
        return main_restore(&options, &config);
    }
    int rc = server_start(&server, &options, &config, reason);
    if (rc == SERVER_STOPPED) {
        return EXIT_SUCCESS;
    }
    if (rc != 0) {
        log_error("%s", reason);
        return rc == SERVER_REFUSED ? EXIT_USAGE : EXIT_FAILURE;
    }
    server_run(&server);
    return EXIT_SUCCESS;
}
