/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/options.h"

#include <signal.h>
#include <stdlib.h>

#include <sodium.h>

#include "daemon/system/file.h"
#include "daemon/system/log.h"

int settings_finish_output(const struct settings_program *program)
{
    return streams_finish(program->name) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int settings_begin(const struct settings_program *program, int argc, char *const argv[],
                   void *options)
{
    char reason[SETTINGS_REASON_BYTES];

    streams_keep();
    if (sodium_init() < 0) {
        settings_complain(program, "the system gives no random numbers", stderr);
        return EXIT_FAILURE;
    }
    if (settings_options_parse(program, argc, argv, options, reason) != 0) {
        settings_complain(program, reason, stderr);
        return SETTINGS_EXIT_USAGE;
    }
    return settings_options_answer(program, options, "", NULL, stdout)
               ? settings_finish_output(program)
               : SETTINGS_GO_ON;
}

int settings_prepare(const struct settings_program *program, const void *options, void *config)
{
    const struct settings_options *common = options;
    char reason[SETTINGS_REASON_BYTES];
    int rc = settings_config_load(program, options, config, reason);

    if (rc == 0 && common->action == SETTINGS_CHECK_CONFIG && program->check != NULL) {
        rc = program->check(config, stderr, reason);
    }
    if (rc != 0) {
        settings_complain(program, reason, stderr);
        return SETTINGS_EXIT_USAGE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return settings_options_answer(program, common, ((struct settings_config *)config)->file,
                                   config, stdout)
               ? settings_finish_output(program)
               : SETTINGS_GO_ON;
}

int settings_fail_start(int rc, const char *reason)
{
    log_error("%s", reason);
    return rc == SETTINGS_REFUSED ? SETTINGS_EXIT_USAGE : EXIT_FAILURE;
}
