/* SPDX-License-Identifier: Apache-2.0 */
/* ping: measures how fast the server answers, and prints its program, store id and clock. */
#include <inttypes.h>

#include "client/cli/cmd/commands.h"

static const struct args_option ping_options[] = {
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL, "one line of JSON"),
};

static int print_json(const struct cli *cli, const struct hearsay_welcome *welcome,
                      const struct hearsay_pong *pong, int64_t took_us)
{
    json_t *line = json_pack(
        "{s:s, s:I, s:s, s:I, s:o, s:o, s:b}", "server", cli->server, "round_trip_us",
        (json_int_t)took_us, "agent", welcome->agent, "protocol", (json_int_t)welcome->version,
        "store_id", out_json_hex(welcome->store_id, HEARSAY_ID_BYTES), "now",
        out_json_time(pong->now_ms), "clock_trusted", pong->clock_trusted ? 1 : 0);
    return cli_print_json(cli, line);
}

static void print_lines(const struct cli *cli, const struct hearsay_welcome *welcome,
                        const struct hearsay_pong *pong, int64_t took_us)
{
    char now[WHEN_BYTES];
    when_print(pong->now_ms, now);
    FILE *stream = cli->out.stream;
    out_text(&cli->out, cli->server, 0);
    (void)fprintf(stream, " answers in %" PRId64 ".%02d ms\n", took_us / 1000,
                  (int)(took_us % 1000 / 10));
    (void)fputs("agent  ", stream);
    out_text(&cli->out, welcome->agent[0] != '\0' ? welcome->agent : "-", 0);
    (void)fprintf(stream, ", protocol %" PRIu32 "\nstore  ", welcome->version);
    out_hex(&cli->out, welcome->store_id, HEARSAY_ID_BYTES);
    (void)fprintf(stream, "\nclock  %s, clock_trusted: %s\n", now,
                  pong->clock_trusted ? "true" : "false");
}

static int ping_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    int code = connect_server(cli);
    if (code != CLI_DONE) {
        return code;
    }
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    const struct hearsay_response *response = NULL;
    int64_t began_us = clock_monotonic_us();
    code = cli_ask(cli, &request, &response);
    int64_t took_us = clock_monotonic_us() - began_us;
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->json) {
        return print_json(cli, hearsay_welcome(cli->connection), &response->pong, took_us);
    }
    print_lines(cli, hearsay_welcome(cli->connection), &response->pong, took_us);
    return CLI_DONE;
}

const struct cli_command command_ping = {
    .name = "ping",
    .summary = "ask whether the server is there",
    .arguments = "[OPTION]...",
    .details = "",
    .examples = "  hearsay ping\n"
                "  hearsay --server 192.168.8.1 --timeout 2s ping\n",
    CLI_OPTIONS(ping_options, struct plain_options),
    .run = ping_run,
};
