/* SPDX-License-Identifier: Apache-2.0 */
/* main: the hearsay command. Finds the command in a table, parses its options and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/cli.h"
#include "client/cli/cmd/commands.h"

static const struct cli_command *const cli_commands[] = {
    &command_deposit, &command_query,   &command_watch,
    &command_here,    &command_get,     &command_withdraw,
    &command_report,  &command_import,  &command_export,
    &command_hosts,   &command_ping,    &command_channel,
    &command_known,   &command_summary, &command_profile,
    &command_context, &command_admin,   NULL,
};

static const struct args_option common_options[] = {
    ARGS_ROW("server", 's', ARGS_TEXT, struct cli, server, "ADDRESS",
             "HOST[:PORT], [IPV6][:PORT], a socket's path, or auto (127.0.0.1:7117)"),
    ARGS_RANGE("timeout", 0, ARGS_DURATION, struct cli, timeout_ms, "TIME", 1, 24 * 3600 * 1000,
               "longest wait for the server (10s)"),
    ARGS_ROW("tls", 0, ARGS_FLAG, struct cli, tls, NULL,
             "encrypt; an unknown server certificate is believed the first time"),
    ARGS_ROW("pin", 0, ARGS_LIST, struct cli, tls_pins, "SHA256",
             "encrypt; believe only a server with this key, or one of these"),
    ARGS_ROW("ca", 0, ARGS_TEXT, struct cli, tls_ca, "FILE",
             "encrypt; believe certificates signed by those in FILE"),
    ARGS_ROW("cert", 0, ARGS_TEXT, struct cli, tls_certificate, "FILE",
             "encrypt; show this certificate to a server that asks"),
    ARGS_ROW("key", 0, ARGS_TEXT, struct cli, tls_key, "FILE",
             "the key of --cert, if it is not in the same file"),
    ARGS_ROW("help", 'h', ARGS_FLAG, struct cli, help, NULL, "this help"),
    ARGS_ROW("version", 'V', ARGS_FLAG, struct cli, version, NULL, "the version"),
};

#define ENVIRONMENT_HELP                                                       \
    "\nEnvironment: HEARSAY_SERVER is the server unless --server names one,\n" \
    "HEARSAY_ADMIN the socket for admin and export.\n"

/* The topic of `hearsay help` that is no command. */
#define CONNECTION_TOPIC "connection"

static struct args_group common_group(struct cli *cli)
{
    struct args_group group = {common_options, sizeof(common_options) / sizeof(common_options[0]),
                               cli};
    return group;
}

enum { COMMAND_COLUMN = 13 }; /* where what a command does begins */

static int print_help(struct cli *cli)
{
    FILE *stream = cli->out.stream;
    (void)fputs("hearsay: leave messages at an access point, find those of similar contexts\n\n"
                "Usage: hearsay [OPTION]... COMMAND [ARGUMENT]...\n\nCommands:\n",
                stream);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        (void)fprintf(stream, "  %-10s ", cli_commands[i]->name);
        args_print_prose(stream, COMMAND_COLUMN, cli_commands[i]->summary);
    }
    (void)fputs("\nOptions of every command:\n", stream);
    struct args_group group = common_group(cli);
    args_print_help(stream, &group);
    (void)fputs(ENVIRONMENT_HELP
                "Exit codes: 0 done, 1 negative answer, 2 wrong usage, 3 no connection,\n"
                "4 refused by the server.\n\n"
                "Examples:\n"
                "  hearsay deposit -l wifi:a4:2b:8c:01:02:03 -l topic:coffee 'Fresh pot upstairs'\n"
                "  hearsay query -l wifi:a4:2b:8c:01:02:03 -l topic:tea\n"
                "  hearsay query --help\n",
                stream);
    return CLI_DONE;
}

/* Prints `hearsay help connection`, to which the help of each command refers. */
static int print_connection_help(struct cli *cli)
{
    FILE *stream = cli->out.stream;
    struct args_group group = common_group(cli);
    (void)fputs("Options of every command, before it or behind it:\n", stream);
    args_print_help(stream, &group);
    (void)fputs(ENVIRONMENT_HELP, stream);
    return CLI_DONE;
}

static int print_version(const struct cli *cli)
{
    (void)fprintf(cli->out.stream, "hearsay %s\n", hearsay_version());
    return CLI_DONE;
}

/* Returns the last word of the name of a command: "stats" of "admin stats". */
static const char *last_word(const struct cli_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space != NULL ? space + 1 : command->name;
}

static void print_children(FILE *stream, const struct cli_command *const *children)
{
    (void)fputs("\nCommands:\n", stream);
    for (size_t i = 0; children[i] != NULL; i++) {
        (void)fprintf(stream, "  %-10s ", last_word(children[i]));
        args_print_prose(stream, COMMAND_COLUMN, children[i]->summary);
    }
}

static int print_command_help(struct cli *cli)
{
    FILE *stream = cli->out.stream;
    const struct cli_command *command = cli->command;
    char title[200];
    (void)snprintf(title, sizeof(title), "hearsay %s: %s", command->name, command->summary);
    args_print_prose(stream, 0, title);
    (void)fprintf(stream, "\nUsage: hearsay %s %s\n", command->name, command->arguments);
    if (command->details[0] != '\0') {
        (void)fputc('\n', stream);
        args_print_prose(stream, 0, command->details);
    }
    if (command->children != NULL) {
        print_children(stream, command->children);
    }
    if (command->option_count > 0) {
        struct args_group group = {command->options, command->option_count, NULL};
        (void)fputs("\nOptions:\n", stream);
        args_print_help(stream, &group);
    }
    (void)fputs("\nServer, TLS and other options of every command: hearsay help connection\n",
                stream);
    (void)fprintf(stream, "\nExamples:\n%s", command->examples);
    return CLI_DONE;
}

static const struct cli_command *find_command(const struct cli_command *const *commands,
                                              const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(last_word(commands[i]), name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

enum { COMMANDS_MAX = 32 };

static int unknown_command(const struct cli *cli, const struct cli_command *const *commands,
                           const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    while (count < COMMANDS_MAX && commands[count] != NULL) {
        names[count] = last_word(commands[count]);
        count++;
    }
    const struct cli_command *other =
        find_command(commands == cli_commands ? command_admin.children : cli_commands, name);
    const char *near = other != NULL ? other->name : args_nearest(name, names, count);
    return cli_misuse(cli, "there is no command \"%.80s\"%s%s%s%s", name,
                      near != NULL ? "; did you mean \"" : "", other != NULL ? "hearsay " : "",
                      near != NULL ? near : "", near != NULL ? "\"?" : "");
}

/* Sets the server from HEARSAY_SERVER or to the default, unless --server is given. */
static void choose_server(struct cli *cli)
{
    const char *server = getenv("HEARSAY_SERVER");
    cli->server_is_said = cli->server != NULL;
    if (!cli->server_is_said) {
        cli->server = server != NULL && server[0] != '\0' ? server : "127.0.0.1:7117";
    }
}

/* argv[0] is the command's name. */
static int run_command(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *command = cli->command;
    /* Aligned for any struct of options. */
    _Alignas(max_align_t) unsigned char options[CLI_OPTIONS_BYTES_MAX];
    if (command->options_bytes > sizeof(options)) {
        return cli_report_nomem(cli);
    }
    memset(options, 0, sizeof(options));
    if (command->defaults != NULL) {
        memcpy(options, command->defaults, command->options_bytes);
    }
    struct args_group groups[ARGS_GROUPS_MAX] = {
        {command->options, command->option_count, options},
        common_group(cli),
    };
    char sentence[ARGS_SENTENCE_BYTES];
    int first = 0;
    int status = args_parse(argc, argv, groups, ARGS_GROUPS_MAX, false, &first, sentence);
    if (status == ARGS_NOMEM) {
        status = cli_report_nomem(cli);
    } else if (status != 0) {
        status = cli_misuse(cli, "%s", sentence);
    } else if (cli->help) {
        status = print_command_help(cli);
    } else if (cli->version) {
        status = print_version(cli);
    } else if (command->words_max == CLI_ONLY_LABELS && argc > first) {
        status =
            cli_misuse(cli, "\"%.80s\" stands alone; labels are given as -l LABEL", argv[first]);
    } else if (command->words_max >= 0 && argc - first > command->words_max) {
        status = cli_misuse_word(cli, argv[first + command->words_max]);
    } else {
        choose_server(cli);
        cli->words = argv + first;
        cli->word_count = argc - first;
        status = command->run(cli, options);
    }
    args_free(&groups[0]);
    return status;
}

/* Runs a command that has subcommands. argv[0] is the name of the command. */
static int run_group(struct cli *cli, int argc, char **argv)
{
    struct args_group group = common_group(cli);
    const struct cli_command *parent = cli->command;
    char sentence[ARGS_SENTENCE_BYTES];
    int first = 0;
    if (args_parse(argc, argv, &group, 1, true, &first, sentence) != 0) {
        return cli_misuse(cli, "%s", sentence);
    }
    if (cli->version) {
        return print_version(cli);
    }
    if (first >= argc && cli->help) {
        return print_command_help(cli);
    }
    if (first >= argc) {
        return cli_misuse(cli, "a command is missing behind \"%s\"", parent->name);
    }
    const struct cli_command *child = find_command(parent->children, argv[first]);
    if (child == NULL) {
        return unknown_command(cli, parent->children, argv[first]);
    }
    cli->command = child;
    return run_command(cli, argc - first, argv + first);
}

static int main_run(struct cli *cli, int argc, char **argv)
{
    struct args_group group = common_group(cli);
    char sentence[ARGS_SENTENCE_BYTES];
    int first = 0;
    if (args_parse(argc, argv, &group, 1, true, &first, sentence) != 0) {
        return cli_misuse(cli, "%s", sentence);
    }
    if (cli->version) {
        return print_version(cli);
    }
    if (first >= argc) {
        if (cli->help) {
            return print_help(cli);
        }
        return cli_misuse(cli, "a command is missing");
    }
    /* hearsay help query is hearsay query --help. */
    bool help = strcmp(argv[first], "help") == 0;
    if (help && first + 1 >= argc) {
        return print_help(cli);
    }
    if (help && strcmp(argv[first + 1], CONNECTION_TOPIC) == 0) {
        return print_connection_help(cli);
    }
    first += help ? 1 : 0;
    cli->help = cli->help || help;
    cli->command = find_command(cli_commands, argv[first]);
    if (cli->command == NULL) {
        return unknown_command(cli, cli_commands, argv[first]);
    }
    return cli->command->children != NULL ? run_group(cli, argc - first, argv + first)
                                          : run_command(cli, argc - first, argv + first);
}

/*
 * If standard input, output or error was closed before the program started, opens /dev/null in its
 * place, so that the socket of a connection does not get the descriptor 0, 1 or 2. Reading from
 * this standard input, and writing to this standard output or error, still fail.
 */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    struct cli cli;
    keep_standard_streams();
    memset(&cli, 0, sizeof(cli));
    out_init(&cli.out, stdout);
    out_init(&cli.err, stderr);
    /* Without SIGPIPE, a write to a closed pipe fails with an error that can be reported. */
    (void)signal(SIGPIPE, SIG_IGN);
    int status = argc > 0 ? main_run(&cli, argc, argv) : CLI_USAGE;
    struct args_group group = common_group(&cli);
    args_free(&group);
    hearsay_close(cli.connection);
    return status == CLI_DONE ? cli_flush(&cli) : status;
}
