/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/setup/options.h"

#include <string.h>

#include "client/bridge/setup/inner.h"

static const struct settings_option rows[] = {
    {"--log-level", "LEVEL", .key = "log_level", .help = "error, warning, info or debug"},
    {"--write", "FOLDER", .offset = offsetof(struct bridge_options, write),
     .help = "setup-hub: write configurations of nats-server"},
    {"--hosts", "FILE", .offset = offsetof(struct bridge_options, hosts),
     .help = "with --write: who may connect, see hub.md"},
    {"--nats", "VERSION", .offset = offsetof(struct bridge_options, nats_server),
     .help = "and n1.conf to n3.conf, for this nats-server"},
    {"--store", "FOLDER", .offset = offsetof(struct bridge_options, store),
     .help = "with --write: where the servers store"},
    {"--disk", "SIZE", .offset = offsetof(struct bridge_options, disk),
     .help = "setup-hub: what a server may use, 4G"},
    {"--age", "TIME", .offset = offsetof(struct bridge_options, age),
     .help = "setup-hub: longest ttl_max and a day, 8d"},
    {"--metrics", .is_flag = true, .offset = offsetof(struct bridge_options, prints_metrics)},
    {"--print", .is_flag = true, .offset = offsetof(struct bridge_options, is_dry)},
    {"--now", .is_flag = true, .offset = offsetof(struct bridge_options, is_now)},
};

static const struct command {
    const char *name;
    enum bridge_command command;
    bool has_host;
    const char *flag; /* the only one of this command; NULL: none */
    size_t flag_offset;
} commands[] = {
    {"run", BRIDGE_RUN, false, NULL, 0},
    {"status", BRIDGE_STATUS, false, "--metrics", offsetof(struct bridge_options, prints_metrics)},
    {"setup-hub", BRIDGE_SETUP_HUB, false, "--print", offsetof(struct bridge_options, is_dry)},
    {"take", BRIDGE_TAKE, true, "--now", offsetof(struct bridge_options, is_now)},
    {"forget", BRIDGE_FORGET, true, NULL, 0},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* The command that was given. */
static const struct command *command_of(const struct bridge_options *options)
{
    size_t which = 0;

    while (commands[which].command != options->command) {
        which++;
    }
    return &commands[which];
}

/* As settings_program.take_word: the command, and then its host. */
static int take_word(void *own, const char *word, char *out_reason)
{
    struct bridge_options *options = own;
    struct settings_source source = {.name = "command line", .reason = out_reason};
    size_t which = 0;

    if (options->command != BRIDGE_NO_COMMAND) {
        if (options->host != NULL || !command_of(options)->has_host) {
            return settings_refuse(
                &source, "`%.100s` is one word too many; see hearsay-bridge --help", word);
        }
        options->host = word;
        return 0;
    }
    while (which < COMMANDS && strcmp(word, commands[which].name) != 0) {
        which++;
    }
    if (which == COMMANDS) {
        return settings_refuse(&source,
                               "`%.100s` is none of run, status, setup-hub, take HOST and forget "
                               "HOST; see hearsay-bridge --help",
                               word);
    }
    options->command = commands[which].command;
    return 0;
}

/* As settings_program.check_words. */
static int check_words(const void *own, char *out_reason)
{
    const struct bridge_options *options = own;
    const struct command *command = command_of(options);
    struct settings_source source = {.name = "command line", .reason = out_reason};

    if (command->has_host &&
        (options->host == NULL || !settings_is_name(options->host, strlen(options->host)))) {
        return settings_refuse(&source, "%s needs the name of a host: hearsay-bridge %s lobby",
                               command->name, command->name);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        const struct command *other = &commands[i];

        if (other != command && other->flag != NULL &&
            *(const bool *)(const void *)((const char *)own + other->flag_offset)) {
            return settings_refuse(&source, "%s is an option of %s, and not of %s", other->flag,
                                   other->name, command->name);
        }
    }
    return 0;
}

const struct settings_program bridge_program = {
    .name = "hearsay-bridge",
    .version = HEARSAY_VERSION,
    .file = "/etc/hearsay/bridge.conf",
    .about = "Joins many access points: publishes the messages of hearsayd to a hub of NATS\n"
             "servers, restores them, follows other hosts, and asks neighbours.\n"
             "\n"
             "  run                 do so until SIGTERM\n"
             "  status [--metrics]  say how it goes; for people, or for Prometheus\n"
             "  setup-hub [--print] make the streams of the hub, or its files\n"
             "  take HOST [--now]   become the owner of a host that another store owned\n"
             "  forget HOST         remove a host from the hub\n",
    .more = "SIGTERM ends the program. See hearsay-bridge(8).\n",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(rows[0]),
    .table = &bridge_table,
    .markdown = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                "<!-- Generated by hearsay-bridge --print-reference markdown. -->\n"
                "# Configuration of hearsay-bridge\n",
    .example = "# SPDX-License-Identifier: Apache-2.0\n"
               "# bridge.conf: every key at its default; see bridge.conf(5).\n",
    .config_bytes = sizeof(struct bridge_config),
    .section = BRIDGE_SECTION_BRIDGE,
    .defaults = bridge_config_defaults,
    .enter = bridge_config_enter,
    .finish = bridge_config_finish,
    .take_word = take_word,
    .check_words = check_words,
    .words = "run, status, setup-hub, take HOST or forget HOST",
    .print = bridge_config_print,
};
