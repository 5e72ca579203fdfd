/* SPDX-License-Identifier: Apache-2.0 */
/* report: reports a message to the operator, with a reason. */

#include "client/cli/cmd/commands.h"

struct report_options {
    const char *host;
    int kind; /* index in moderate_kinds */
    bool json;
};

static const struct args_option report_options[] = {
    ARGS_NAMES("kind", 0, struct report_options, kind, moderate_kinds, "what is wrong"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct report_options, host, "HOST",
             "where it is (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct report_options, json, NULL, "one line of JSON"),
};

static int report_run(struct cli *cli, void *options)
{
    const struct report_options *chosen = options;
    uint8_t id[HEARSAY_ID_BYTES];
    const struct hearsay_host *host = NULL;
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the message's id is needed, as query --ids prints it");
    }
    if (cli->word_count > 2) {
        return cli_misuse(cli, "the reason is one word: put it into quotes");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_REPORT,
        .report = {.id = hearsay_bytes(id, HEARSAY_ID_BYTES),
                   .kind = chosen->kind != 0 ? (enum hearsay_report_kind)chosen->kind
                                             : HEARSAY_REPORT_OTHER_KIND,
                   .reason = hearsay_text(cli->word_count > 1 ? cli->words[1] : NULL)},
    };
    int code = connect_host(cli, chosen->host, &host);
    if (code != CLI_DONE) {
        return code;
    }
    request.report.host = hearsay_text(host->name);
    return cli_carry_out(cli, &request, "reported", id, chosen->json);
}

const struct cli_command command_report = {
    .name = "report",
    .summary = "tell the operator that a message should not be there",
    .arguments = "[OPTION]... ID [REASON]",
    .details = "After reports by several different senders a message is hidden until the operator\n"
               "has looked at it. The reason, at most 1,000 bytes, is for the operator alone.\n",
    .examples = "  hearsay report --kind spam 00112233445566778899aabbccddeeff\n",
    CLI_OPTIONS(report_options, struct report_options),
    .words_max = CLI_ANY_WORDS,
    .run = report_run,
};
