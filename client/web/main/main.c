/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-web: a page on which phones read and leave messages of hearsayd. main reads the
 * configuration, starts the program and ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sodium.h>

#include "client/web/main/look.h"
#include "client/web/main/memory.h"
#include "client/web/main/program.h"
#include "client/web/moderate/password.h"
#include "client/web/setup/options.h"
#include "daemon/system/streams.h"

enum { EXIT_USAGE = 2 };

static void print_warning(const char *sentence)
{
    fprintf(stderr, "hearsay-web: warning: %s\n", sentence);
}

/* What --check-config says beside the errors of the file. False: the configuration is refused. */
static bool check_more(struct web_config *config)
{
    char warning[SETTINGS_REASON_BYTES];
    char reason[SETTINGS_REASON_BYTES];

    if (web_config_warning(config) != NULL) {
        print_warning(web_config_warning(config));
    }
    bool is_right = look_at_server(config, warning, reason) == 0;
    if (warning[0] != '\0') {
        print_warning(warning);
    }
    if (!is_right) {
        settings_complain(&web_program, reason, stderr);
    }
    if (look_at_rules(config, reason) != 0) {
        settings_complain(&web_program, reason, stderr);
        is_right = false;
    }
    return is_right;
}

static int set_password(const struct web_options *options)
{
    char reason[SETTINGS_REASON_BYTES];
    const char *file = settings_options_file(&options->common);

    if (file == NULL) {
        fprintf(stderr, "hearsay-web: there is no %s: make it first, with the line [moderate]\n",
                options->common.config_none);
        return EXIT_USAGE;
    }
    if (password_set(file, reason) != 0) {
        settings_complain(&web_program, reason, stderr);
        return EXIT_USAGE;
    }
    printf("%s has the new password; restart the page: systemctl restart hearsay-moderate\n", file);
    return streams_finish("hearsay-web") ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct web_config config; /* large for a small machine's stack */
    static struct program program;
    char reason[SETTINGS_REASON_BYTES];
    struct web_options options;

    streams_keep();
    tzset(); /* reads the zone's file while the system calls are not filtered */
    if (sodium_init() < 0) {
        log_error("the system gives no random numbers");
        return EXIT_FAILURE;
    }
    bool sets_password = argc > 1 && strcmp(argv[1], "--set-password") == 0;
    bool moderates = sets_password || (argc > 1 && strcmp(argv[1], "--moderate") == 0);
    if (web_options_parse(moderates ? WEB_SECTION_MODERATE : WEB_SECTION_WEB, argc - moderates,
                          argv + moderates, &options, reason) != 0) {
        fprintf(stderr, "hearsay-web: %s\n", reason);
        return EXIT_USAGE;
    }
    if (web_options_answer(&options, NULL, stdout)) {
        return streams_finish("hearsay-web") ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (sets_password) {
        return set_password(&options);
    }
    if (web_options_load(&options, &config, reason) != 0) {
        settings_complain(&web_program, reason, stderr);
        return EXIT_USAGE;
    }
    if (options.common.action == SETTINGS_CHECK_CONFIG && !check_more(&config)) {
        return EXIT_USAGE;
    }
    if (web_options_answer(&options, &config, stdout)) {
        if (options.common.action == SETTINGS_CHECK_CONFIG && !moderates) {
            memory_print(&config, stdout);
        }
        return streams_finish("hearsay-web") ? EXIT_SUCCESS : EXIT_FAILURE;
    }

    (void)umask(0077);
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(config.log_level);
    int rc = program_start(&program, &options, &config, reason);
    if (rc != 0) {
        log_error("%s", reason);
        return rc == SETTINGS_REFUSED ? EXIT_USAGE : EXIT_FAILURE;
    }
    program_run(&program);
    return EXIT_SUCCESS;
}
