/* SPDX-License-Identifier: Apache-2.0 */
/* summary: prints how many messages a host has, and how many bits their filters set. */
#include <inttypes.h>

#include "client/cli/cmd/commands.h"

static const struct args_option summary_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct plain_options, host, "HOST", "of which host (the first)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL, "one line of JSON"),
};

static int print_json(const struct cli *cli, const struct hearsay_host *host,
                      const struct hearsay_summarized *summary)
{
    json_t *line =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "host", host->name, "profile",
                  host->profile, "messages", (json_int_t)summary->count, "union_bits",
                  (json_int_t)cli_count_bits(summary->union_filter), "cardinality_min",
                  (json_int_t)summary->cardinality_min, "cardinality_max",
                  (json_int_t)summary->cardinality_max, "union_filter",
                  out_json_base64(summary->union_filter.data, summary->union_filter.count));
    return cli_print_json(cli, line);
}

static void print_lines(const struct cli *cli, const struct hearsay_host *host,
                        const struct hearsay_summarized *summary)
{
    FILE *stream = cli->out.stream;
    uint32_t set = cli_count_bits(summary->union_filter);
    uint32_t bits = (uint32_t)summary->union_filter.count * 8; /* m is a multiple of 64 */
    (void)fputs("host      ", stream);
    out_text(&cli->out, host->name, 0);
    (void)fputs(", profile ", stream);
    out_text(&cli->out, host->profile, 0);
    (void)fprintf(stream, "\nmessages  %" PRIu64 "\n", summary->count);
    (void)fprintf(stream,
                  "bits      %" PRIu32 " of %" PRIu32 " set in any message (%" PRIu32 ".%" PRIu32
                  " %%)\n",
                  set, bits, set * 100 / bits, set * 1000 / bits % 10);
    (void)fprintf(stream, "each has  %" PRIu32 " to %" PRIu32 " bits\n", summary->cardinality_min,
                  summary->cardinality_max);
}

static int summary_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    const struct hearsay_host *host = NULL;
    const struct hearsay_response *response = NULL;
    int code = connect_host(cli, chosen->host, &host);
    if (code != CLI_DONE) {
        return code;
    }
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_SUMMARY,
                                      .summary.host = hearsay_text(host->name)};
    code = cli_ask(cli, &request, &response);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->json) {
        return print_json(cli, host, &response->summarized);
    }
    print_lines(cli, host, &response->summarized);
    return CLI_DONE;
}

const struct cli_command command_summary = {
    .name = "summary",
    .summary = "say what the messages of a host have in common",
    .arguments = "[OPTION]...",
    .details =
        "Prints how many messages there are, how many bits are set in any of their filters,\n"
        "and how many the emptiest and the fullest have. --json prints the union filter,\n"
        "too: what shares no bit with it, no message is near to.\n",
    .examples = "  hearsay summary\n"
                "  hearsay summary --host cafe --json\n",
    CLI_OPTIONS(summary_options, struct plain_options),
    .run = summary_run,
};
