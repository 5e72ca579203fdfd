/* SPDX-License-Identifier: Apache-2.0 */
/* admin: the operator's commands; here the group itself, reload and log-level. */
#include <string.h>

#include "client/cli/admin.h"
#include "client/cli/commands.h"

struct no_options {
    char none;
};
static const struct no_options no_defaults;

/* --- reload ----------------------------------------------------------------------------------- */

static int reload_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_RELOAD};
    (void)options;
    if (word_count > 0) {
        return cli_misuse_word(cli, words[0]);
    }
    return admin_do(cli, &admin, "reloaded");
}

const struct cli_command command_admin_reload = {
    .name = "admin reload",
    .summary = "have the daemon read its configuration again",
    .arguments = "[OPTION]...",
    .details = "All of it is taken, or nothing, and then the reason is printed (exit code 4). No\n"
               "connection ends.\n",
    .examples = "  hearsay --server /var/lib/hearsay/hearsayd.sock admin reload\n",
    .defaults = &no_defaults,
    .options_bytes = sizeof(no_defaults),
    .run = reload_run,
};

/* --- log-level -------------------------------------------------------------------------------- */

static int log_level_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_LOG_LEVEL};
    const struct hearsay_admin_reply *reply = NULL;
    struct hearsay *server = NULL;
    (void)options;
    if (word_count > 1) {
        return cli_misuse_word(cli, words[1]);
    }
    admin.word = word_count > 0 ? words[0] : NULL;
    int code = admin_connect(cli, NULL, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = admin_ask(cli, server, &admin, false, &reply);
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s\n", reply->word);
    }
    hearsay_close(server);
    return code;
}

const struct cli_command command_admin_log_level = {
    .name = "admin log-level",
    .summary = "print or set the least important lines that are logged",
    .arguments = "[OPTION]... [error|warning|info|debug]",
    .details = "Holds until the next reload or start.\n",
    .examples = "  hearsay --server /var/lib/hearsay/hearsayd.sock admin log-level debug\n",
    .defaults = &no_defaults,
    .options_bytes = sizeof(no_defaults),
    .run = log_level_run,
};

/* --- the group -------------------------------------------------------------------------------- */

static const struct cli_command *const children[] = {
    &command_admin_stats,     &command_admin_list,
    &command_admin_restore,   &command_admin_remove,
    &command_admin_ban,       &command_admin_unban,
    &command_admin_bans,      &command_admin_accept,
    &command_admin_check,     &command_admin_backup,
    &command_admin_compact,   &command_admin_reload,
    &command_admin_log_level, NULL,
};

const struct cli_command command_admin = {
    .name = "admin",
    .summary = "look after a daemon: numbers, moderation, backups",
    .arguments = "COMMAND [ARGUMENT]...",
    .details = "Over the daemon's Unix socket only, for its own user and root. The socket is\n"
               "hearsayd.sock in the data directory unless the configuration names another.\n",
    .examples = "  export HEARSAY_SERVER=/var/lib/hearsay/hearsayd.sock\n"
                "  hearsay admin stats --watch\n"
                "  hearsay admin stats --help\n",
    .children = children,
    .defaults = &no_defaults,
    .options_bytes = sizeof(no_defaults),
};
