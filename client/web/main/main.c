/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-web: a page on which phones read and leave messages of hearsayd. main reads the
 * configuration, starts the program and ends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/web/main/program.h"
#include "client/web/moderate/password.h"
#include "daemon/settings/options.h"

static void print_warning(const char *sentence, FILE *out)
{
    (void)fprintf(out, "hearsay-web: warning: %s\n", sentence);
}

/* What --check-config checks besides, as settings_program.check. */
static int check_config(void *own, FILE *out, char *out_reason)
{
    struct web_config *config = own;
    char warning[SETTINGS_REASON_BYTES];
    char reason[SETTINGS_REASON_BYTES];

    if (web_config_warning(config) != NULL) {
        print_warning(web_config_warning(config), out);
    }
    int rc = look_at_server(config, warning, out_reason);
    if (warning[0] != '\0') {
        print_warning(warning, out);
    }
    int rules = look_at_rules(config, reason);
    if (rules != 0) {
        size_t used = strlen(out_reason);

        (void)snprintf(out_reason + used, SETTINGS_REASON_BYTES - used, "%s%s",
                       used > 0 ? "\n" : "", reason);
    }
    return rc != 0 ? rc : rules;
}

static int set_password(const struct settings_options *options)
{
    char reason[SETTINGS_REASON_BYTES];
    const char *file = settings_options_file(options);

    if (file == NULL) {
        fprintf(stderr, "hearsay-web: there is no %s: make it first, with the line [moderate]\n",
                options->config_none);
        return SETTINGS_EXIT_USAGE;
    }
    if (password_set(file, reason) != 0) {
        settings_complain(&moderate_program, reason, stderr);
        return SETTINGS_EXIT_USAGE;
    }
    printf("%s has the new password. A page that runs takes it at once; all logins have ended.\n",
           file);
    return settings_finish_output(&moderate_program);
}

int main(int argc, char **argv)
{
    static struct web_config config; /* large for a small machine's stack */
    static struct program program;
    char reason[SETTINGS_REASON_BYTES];
    struct settings_options options = {.config = NULL};
    bool sets_password = argc > 1 && strcmp(argv[1], "--set-password") == 0;
    bool moderates = sets_password || (argc > 1 && strcmp(argv[1], "--moderate") == 0);
    struct settings_program page = moderates ? moderate_program : web_program;

    page.check = check_config;
    tzset(); /* reads the zone's file while the system calls are not filtered */
    int status = settings_begin(&page, argc - moderates, argv + moderates, &options);
    if (status == SETTINGS_GO_ON && sets_password) {
        return set_password(&options);
    }
    status = status == SETTINGS_GO_ON ? settings_prepare(&page, &options, &config) : status;
    if (status == EXIT_SUCCESS && options.action == SETTINGS_CHECK_CONFIG && !moderates) {
        memory_print(&config, stdout);
        return settings_finish_output(&page);
    }
    if (status != SETTINGS_GO_ON) {
        return status;
    }

    (void)umask(0077);
    log_set_level(config.log_level);
    int rc = program_start(&program, &page, &options, &config, reason);
    if (rc != 0) {
        return settings_fail_start(rc, reason);
    }
    program_run(&program);
    return EXIT_SUCCESS;
}
