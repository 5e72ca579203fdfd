/* SPDX-License-Identifier: Apache-2.0 */
/* admin: the commands of the operator. This file has the table of all these commands, and the
 * commands reload, log-level and pin. */

#include "client/cli/cmd/commands.h"

/* --- reload ----------------------------------------------------------------------------------- */

static int reload_run(struct cli *cli, void *options)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_RELOAD};
    const struct hearsay_response *response = NULL;
    (void)options;
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        (void)fputs("reloaded\n", cli->out.stream);
    }
    return code;
}

static const struct cli_command command_admin_reload = {
    .name = "admin reload",
    .summary = "have the daemon read its configuration again",
    .arguments = "[OPTION]...",
    .details = "All of it is taken, or nothing, and then the reason is printed (exit code 4). No\n"
               "connection ends.\n",
    .examples = "  hearsay admin reload\n",
    .run = reload_run,
};

/* --- log-level -------------------------------------------------------------------------------- */

static int log_level_run(struct cli *cli, void *options)
{
    const char *level = cli->word_count > 0 ? cli->words[0] : NULL;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_LOG_LEVEL,
                                      .log_level.level = hearsay_text(level)};
    const struct hearsay_response *response = NULL;
    (void)options;
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s\n", response->log_level_set.level.text);
    }
    return code;
}

static const struct cli_command command_admin_log_level = {
    .name = "admin log-level",
    .summary = "print or set the least important lines that are logged",
    .arguments = "[OPTION]... [error|warning|info|debug]",
    .details = "Holds until the next reload or start.\n",
    .examples = "  hearsay admin log-level debug\n",
    .words_max = 1,
    .run = log_level_run,
};

/* --- pin -------------------------------------------------------------------------------------- */

static int pin_run(struct cli *cli, void *options)
{
    char pin[HEARSAY_PIN_TEXT_BYTES];
    struct hearsay_error error;
    (void)options;
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the file of the certificate is missing: tls_certificate in "
                               "hearsayd's configuration names it");
    }
    if (hearsay_certificate_pin(cli->words[0], pin, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    (void)fprintf(cli->out.stream, "%s\n", pin);
    return CLI_DONE;
}

static const struct cli_command command_admin_pin = {
    .name = "admin pin",
    .summary = "print the pin of a certificate, for --pin",
    .arguments = "[OPTION]... FILE",
    .details =
        "FILE is what tls_certificate names in hearsayd's configuration (PEM). The pin is the\n"
        "SHA-256 of the public key: a certificate that is renewed with the same key has the\n"
        "same pin. Nothing is asked of the daemon, whose log says which pin it uses.\n",
    .examples = "  hearsay admin pin /etc/hearsay/certificate.pem\n",
    .words_max = 1,
    .run = pin_run,
};

/* --- the group -------------------------------------------------------------------------------- */

static const struct cli_command *const children[] = {
    &command_admin_stats,
    &command_admin_hosts,
    &command_admin_list,
    &command_admin_restore,
    &command_admin_hide,
    &command_admin_remove,
    &command_admin_log,
    &command_admin_wait,
    &command_admin_ban,
    &command_admin_unban,
    &command_admin_bans,
    &command_admin_accept,
    &command_admin_notice,
    &command_admin_notices,
    &command_admin_check,
    &command_admin_backup,
    &command_admin_compact,
    &command_admin_reload,
    &command_admin_log_level,
    &command_admin_pin,
    &command_admin_feed,
    &command_admin_similar,
    NULL,
};

const struct cli_command command_admin = {
    .name = "admin",
    .summary = "look after a daemon: numbers, moderation, backups",
    .arguments = "COMMAND [ARGUMENT]...",
    .details =
        "Over the daemon's Unix socket only, for its own user, root, and members of the group\n"
        "that its configuration names as admin_group. The socket is that of --server, else\n"
        "of HEARSAY_ADMIN, else of HEARSAY_SERVER if it is a path, else the first that is\n"
        "there of /run/hearsay/admin.sock, /var/lib/hearsay/hearsayd.sock and\n"
        "~/.local/state/hearsayd/hearsayd.sock.\n",
    .examples = "  hearsay admin stats --watch\n"
                "  HEARSAY_ADMIN=/srv/hearsayd.sock hearsay admin stats\n"
                "  hearsay admin stats --help\n",
    .children = children,
};
