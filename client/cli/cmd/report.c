/* SPDX-License-Identifier: Apache-2.0 */
/* report: tell the operator that a message should not be there. */
#include <string.h>

#include "client/cli/base/connect.h"
#include "client/cli/cmd/commands.h"

struct report_options {
    const char *host;
};

static const struct args_option report_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct report_options, host, "HOST",
             "where it is (the first host)"),
};

static int report_report(struct cli *cli, const struct report_options *chosen, const uint8_t *id,
                         const char *reason)
{
    struct hearsay *server = NULL;
    const struct hearsay_host *host = NULL;
    struct hearsay_error error;
    int code = connect_server(cli, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = cli_find_host(cli, server, chosen->host, &host);
    if (code == CLI_DONE) {
        cli_say_work(cli, server);
        if (hearsay_report(server, host->name, id, reason, cli_timeout(cli), &error) !=
            HEARSAY_OK) {
            code = cli_report(cli, &error);
        } else {
            (void)fputs("reported\n", cli->out.stream);
        }
    }
    hearsay_close(server);
    return code;
}

static int report_run(struct cli *cli, void *options)
{
    uint8_t id[HEARSAY_ID_BYTES];
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the message's id is needed, as query --ids prints it");
    }
    if (cli->word_count > 2) {
        return cli_misuse(cli, "the reason is one word: put it into quotes");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    return report_report(cli, options, id, cli->word_count > 1 ? cli->words[1] : NULL);
}

const struct cli_command command_report = {
    .name = "report",
    .summary = "tell the operator that a message should not be there",
    .arguments = "[OPTION]... ID [REASON]",
    .details = "After reports by several different senders a message is hidden until the operator\n"
               "has looked at it. The reason, at most 200 bytes, is for the operator alone.\n",
    .examples = "  hearsay report 00112233445566778899aabbccddeeff 'spam'\n",
    CLI_OPTIONS(report_options, struct report_options),
    .words_max = CLI_ANY_WORDS,
    .run = report_run,
};
