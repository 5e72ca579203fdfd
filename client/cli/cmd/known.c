/* SPDX-License-Identifier: Apache-2.0 */
/* known: lists the servers in the file of known servers with their pins, or removes one of them. */
#include <string.h>

#include "client/cli/cmd/commands.h"

static const struct args_option known_options[] = {
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL, "one line of JSON a server"),
};

/* The context of print_server. */
struct known_list {
    const struct cli *cli;
    bool json;
    int code;
};

static void print_server(void *context, const char *server, const char *pin)
{
    struct known_list *list = context;
    const struct cli *cli = list->cli;
    if (!list->json) {
        out_text(&cli->out, server, 0);
        (void)fprintf(cli->out.stream, " %s\n", pin);
        return;
    }
    json_t *line = json_pack("{ss, ss}", "server", server, "pin", pin);
    int code = cli_print_json(cli, line);
    list->code = code == CLI_DONE ? list->code : code;
}

static int known_print_all(const struct cli *cli, const char *path, bool json)
{
    struct known_list list = {.cli = cli, .json = json, .code = CLI_DONE};
    struct hearsay_error error;
    return hearsay_known_each(path, print_server, &list, &error) == HEARSAY_OK
               ? list.code
               : cli_report(cli, &error);
}

static int known_remove(const struct cli *cli, const char *path, const char *server)
{
    bool was_known = false;
    struct hearsay_error error;
    if (hearsay_known_remove(path, server, &was_known, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    if (!was_known) {
        cli_complain(cli, "%s is not known: `hearsay known` lists the servers that are", server);
        return CLI_NEGATIVE;
    }
    return CLI_DONE;
}

static int known_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    char path[PLACE_PATH_BYTES];
    if (cli->word_count > 0 && strcmp(cli->words[0], "remove") != 0) {
        return cli_misuse(cli, "\"%.80s\" is not \"remove\"; alone, known lists the servers",
                          cli->words[0]);
    }
    if (cli->word_count == 1) {
        return cli_misuse(cli, "the server to be removed is missing");
    }
    if (cli->word_count > 2) {
        return cli_misuse_word(cli, cli->words[2]);
    }
    if (place_file(cli, PLACE_STATE, CONNECT_KNOWN_SERVERS, false, path) != CLI_DONE) {
        return cli_misuse(cli, "neither XDG_STATE_HOME nor HOME says where the file is");
    }
    return cli->word_count == 0 ? known_print_all(cli, path, chosen->json)
                                : known_remove(cli, path, cli->words[1]);
}

const struct cli_command command_known = {
    .name = "known",
    .summary = "list or forget the servers that --tls has met",
    .arguments = "[remove HOST[:PORT]] [--json]",
    .details = "Prints each server that was believed when it was met for the first time, with the\n"
               "pin of its key: the SHA-256 of the public key. With another key it is refused.\n"
               "remove forgets the server: the next connection with --tls believes it anew. Do\n"
               "this only when the operator says that the key is a new one.\n",
    .examples = "  hearsay known\n"
                "  hearsay known remove 192.168.8.1\n",
    CLI_OPTIONS(known_options, struct plain_options),
    .words_max = CLI_ANY_WORDS,
    .run = known_run,
};
