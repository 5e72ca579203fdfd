/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsayd: the message store of an access point. main reads the configuration, and starts and runs
 * the server.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/commands.h"
#include "daemon/config/options.h"
#include "daemon/host/arrange.h"
#include "daemon/net/server.h"
#include "daemon/settings/options.h"

static int main_restore(const struct options *options, const struct config *config)
{
    char reason[CONFIG_REASON_BYTES];
    uint64_t messages = 0;

    if (restore_run(config, options->restore, stdout, &messages, reason) != 0) {
        settings_complain(&options_program, reason, stderr);
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " message%s restored into %s\n", messages, messages == 1 ? "" : "s",
           config->data);
    return settings_finish_output(&options_program);
}

static int check_config(void *config, FILE *out, char *out_reason)
{
    return preflight(config, (int64_t)time(NULL) * 1000, out, out_reason);
}

int main(int argc, char **argv)
{
    static struct config config; /* large for a small machine's stack */
    static struct server server;
    struct settings_program program = options_program;
    char reason[CONFIG_REASON_BYTES];
    struct options options = {.restore = NULL};

    program.check = check_config;
    arrange_tune_memory();
    int status = settings_begin(&program, argc, argv, &options);
    status = status == SETTINGS_GO_ON ? settings_prepare(&program, &options, &config) : status;
    if (status != SETTINGS_GO_ON) {
        return status;
    }

    (void)umask(0077);
    log_set_level(config.log_level);
    if (options.restore != NULL) {
        return main_restore(&options, &config);
    }
    int rc = server_start(&server, &options, &config, reason);
    if (rc == SERVER_STOPPED) {
        return EXIT_SUCCESS;
    }
    if (rc != 0) {
        return settings_fail_start(rc == SERVER_REFUSED ? SETTINGS_REFUSED : rc, reason);
    }
    server_run(&server);
    return EXIT_SUCCESS;
}
