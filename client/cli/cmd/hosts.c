/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: lists the server's hosts, each with the profile of its filters. */
#include <string.h>

#include "client/cli/cmd/commands.h"

static const struct args_option hosts_options[] = {
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL, "one line of JSON a host"),
};

static const char *accept_word(const struct hearsay_host *host)
{
    switch (host->accept) {
    case HEARSAY_ACCEPT_REVIEW:
        return "review";
    case HEARSAY_ACCEPT_CLOSED:
        return "closed";
    default:
        return "open";
    }
}

static int print_json(const struct cli *cli, const struct hearsay_host *host)
{
    json_t *until = host->accept_until_ms != 0 ? out_json_time(host->accept_until_ms) : NULL;
    json_t *line =
        json_pack("{s:s, s:s, s:o, s:s, s:o*}", "host", host->name, "profile", host->profile,
                  "suggested_max_distance", out_json_millionths(host->suggested_max_distance),
                  "accept", accept_word(host), "accept_until", until);
    return cli_print_json(cli, line);
}

static void print_row(const struct cli *cli, const struct hearsay_host *host, int name_columns)
{
    char distance[16];
    out_print_millionths(host->suggested_max_distance, distance);
    out_text(&cli->out, host->name, (size_t)name_columns);
    (void)fprintf(cli->out.stream, "%*s  %-12s  %-8s  ", name_columns - (int)strlen(host->name), "",
                  distance, accept_word(host));
    out_text(&cli->out, host->profile, 0);
    (void)fputc('\n', cli->out.stream);
}

static int print_hosts(const struct cli *cli, const struct hearsay_welcome *welcome, bool json)
{
    int name_columns = cli_host_columns(welcome, (int)sizeof("HOST") - 1);
    if (!json) {
        out_colour(&cli->out, OUT_BOLD);
        (void)fprintf(cli->out.stream, "%-*s  %-12s  %-8s  %s", name_columns, "HOST",
                      "MAX DISTANCE", "DEPOSITS", "PROFILE");
        out_colour(&cli->out, OUT_PLAIN);
        (void)fputc('\n', cli->out.stream);
    }
    for (size_t i = 0; i < welcome->host_count; i++) {
        if (json) {
            int code = print_json(cli, &welcome->hosts[i]);
            if (code != CLI_DONE) {
                return code;
            }
        } else {
            print_row(cli, &welcome->hosts[i], name_columns);
        }
    }
    return CLI_DONE;
}

static int hosts_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    int code = connect_server(cli);
    return code == CLI_DONE ? print_hosts(cli, hearsay_welcome(cli->connection), chosen->json)
                            : code;
}

const struct cli_command command_hosts = {
    .name = "hosts",
    .summary = "list the message stores of the server",
    .arguments = "[OPTION]...",
    .details = "The first one is used where no --host is given. Queries apply the suggested\n"
               "largest distance unless --max-distance says otherwise. Deposits are shown at\n"
               "once (open), after the operator has looked at them (review), or refused\n"
               "(closed).\n",
    .examples = "  hearsay hosts\n"
                "  hearsay hosts --json\n",
    CLI_OPTIONS(hosts_options, struct plain_options),
    .run = hosts_run,
};
