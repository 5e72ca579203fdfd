/* SPDX-License-Identifier: Apache-2.0 */
/* withdraw: removes a message of one's own, with the id and the token that deposit printed. */
#include "client/cli/cmd/commands.h"

static const struct args_option withdraw_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct plain_options, host, "HOST",
             "where it is (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL, "one line of JSON"),
};

static int withdraw_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    const struct hearsay_host *host = NULL;
    if (cli->word_count < 2) {
        return cli_misuse(cli, "id and token are needed, as deposit printed them");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    if (number_parse_hex(cli->words[1], token, HEARSAY_TOKEN_BYTES) != 0) {
        return cli_misuse(cli, "the token is not 64 hexadecimal digits");
    }
    int code = connect_host(cli, chosen->host, &host);
    if (code != CLI_DONE) {
        return code;
    }
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.host = hearsay_text(host->name),
                     .id = hearsay_bytes(id, HEARSAY_ID_BYTES),
                     .token = hearsay_bytes(token, HEARSAY_TOKEN_BYTES)},
    };
    return cli_carry_out(cli, &request, "withdrawn", id, chosen->json);
}

const struct cli_command command_withdraw = {
    .name = "withdraw",
    .summary = "take a message back",
    .arguments = "[OPTION]... ID TOKEN",
    .details = "A wrong token is refused (exit code 4); a message that is not there, or not any\n"
               "more, is a negative answer (exit code 1).\n",
    .examples = "  hearsay withdraw 00112233445566778899aabbccddeeff TOKEN\n",
    CLI_OPTIONS(withdraw_options, struct plain_options),
    .words_max = 2,
    .run = withdraw_run,
};
