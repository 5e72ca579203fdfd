/* SPDX-License-Identifier: Apache-2.0 */
/* known: the servers that --tls has met, and the pins of their keys. */
#include <string.h>

#include "client/cli/base/connect.h"
#include "client/cli/base/place.h"
#include "client/cli/cmd/commands.h"

struct known_options {
    bool json;
};

static const struct known_options known_defaults;

static const struct args_option known_options[] = {
    {.name = "json",
     .kind = ARGS_FLAG,
     .offset = offsetof(struct known_options, json),
     .help = "one line of JSON a server"},
};

/* Of one list. */
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
    if (line == NULL || out_json(&cli->out, line) != 0) {
        list->code = cli_report_nomem(cli);
    }
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

static int known_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct known_options *chosen = options;
    char path[PLACE_PATH_BYTES];
    if (word_count > 0 && strcmp(words[0], "remove") != 0) {
        return cli_misuse(cli, "\"%.80s\" is not \"remove\"; alone, known lists the servers",
                          words[0]);
    }
    if (word_count == 1) {
        return cli_misuse(cli, "the server to be removed is missing");
    }
    if (word_count > 2) {
        return cli_misuse_word(cli, words[2]);
    }
    if (place_file(cli, PLACE_STATE, CONNECT_KNOWN_SERVERS, false, path) != CLI_DONE) {
        return cli_misuse(cli, "neither XDG_STATE_HOME nor HOME says where the file is");
    }
    return word_count == 0 ? known_print_all(cli, path, chosen->json)
                           : known_remove(cli, path, words[1]);
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
    .options = known_options,
    .option_count = sizeof(known_options) / sizeof(known_options[0]),
    .defaults = &known_defaults,
    .options_bytes = sizeof(known_defaults),
    .run = known_run,
};
