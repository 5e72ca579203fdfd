/* SPDX-License-Identifier: Apache-2.0 */
/* deposit: leaves a message in a context, and prints its id and the token that withdraws it. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/cmd/query_common.h"

struct deposit_options {
    struct sensed sensed;
    uint64_t ttl_ms; /* 0: the server's default */
    uint32_t reach;
    const char *type;
    const char *file;
    const char *host;
    const char *group;
    bool no_here;
    const char *channel; /* its name */
    const char *re;      /* the id of the message that this one answers; NULL: none */
    int epoch;           /* enum epoch_choice */
    bool json;
};

static const struct deposit_options deposit_defaults = {.reach = HEARSAY_DISTANCE_ONE};

static const struct args_option deposit_options[] = {
    SENSED_OPTIONS(struct deposit_options, sensed),
    NO_HERE_OPTION(struct deposit_options, no_here),
    ARGS_RANGE("ttl", 't', ARGS_DURATION, struct deposit_options, ttl_ms, "TIME", 1000,
               UINT32_MAX *(uint64_t)1000,
               "how long it stays: 90s, 15m, 2h, 3d (the server's default)"),
    ARGS_ROW("file", 'f', ARGS_TEXT, struct deposit_options, file, "FILE",
             "the message is this file's content"),
    ARGS_ROW("type", 0, ARGS_TEXT, struct deposit_options, type, "TYPE",
             "media type (text/plain for UTF-8, else octet-stream)"),
    ARGS_ROW("reach", 0, ARGS_DISTANCE, struct deposit_options, reach, "D",
             "nobody beyond this distance, 0 to 1, is shown it (1)"),
    ARGS_ROW("channel", 0, ARGS_TEXT, struct deposit_options, channel, "NAME",
             "the context that was saved under this name; see hearsay channel"),
    ARGS_ROW("re", 0, ARGS_TEXT, struct deposit_options, re, "ID",
             "an answer to this message; without CONTEXT"),
    SECRET_OPTION(struct deposit_options, group),
    EPOCH_OPTION(struct deposit_options, epoch, "open, current, or auto: current if known (auto)"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct deposit_options, host, "HOST",
             "where to (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct deposit_options, json, NULL, "one line of JSON"),
};

/* The result of a deposit: id and token from libhearsay, times and flags from the server. */
struct left {
    struct hearsay_receipt receipt;
    struct hearsay_deposited deposited;
};

/* Whether the message survives a power cut of the server. A durability of a later version does not
 * count. */
static bool is_durable(const struct hearsay_deposited *deposited)
{
    return deposited->durability == HEARSAY_DURABILITY_ON_STORAGE ||
           deposited->durability == HEARSAY_DURABILITY_REPLICATED;
}

static int print_json(const struct cli *cli, const struct left *left, uint64_t epoch)
{
    const struct hearsay_receipt *receipt = &left->receipt;
    const struct hearsay_deposited *deposited = &left->deposited;
    json_t *line = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:b, s:b, s:b}", "id",
        out_json_hex(receipt->id, HEARSAY_ID_BYTES), "withdraw_token",
        out_json_hex(receipt->token, HEARSAY_TOKEN_BYTES), "deposited",
        out_json_time(deposited->deposited_ms), "expires", out_json_time(deposited->expires_ms),
        "epoch", (json_int_t)epoch, "durable", is_durable(deposited) ? 1 : 0, "held",
        deposited->held ? 1 : 0, "without_here", deposited->without_here ? 1 : 0);
    return cli_print_json(cli, line);
}

static void print_hex(const struct out *out, const char *title, const uint8_t *bytes, size_t count)
{
    (void)fputs(title, out->stream);
    out_hex(out, bytes, count);
    (void)fputc('\n', out->stream);
}

/* `is_warned`: the user has not said that the message shall be without the here labels, or that its
 * labels are keyed. */
static void print_lines(const struct cli *cli, const struct left *left, bool is_warned)
{
    const struct hearsay_receipt *receipt = &left->receipt;
    const struct hearsay_deposited *deposited = &left->deposited;
    char expires[WHEN_BYTES];
    when_print(deposited->expires_ms, expires);
    print_hex(&cli->out, "id       ", receipt->id, HEARSAY_ID_BYTES);
    print_hex(&cli->out, "token    ", receipt->token, HEARSAY_TOKEN_BYTES);
    (void)fprintf(cli->out.stream, "expires  %s\n", expires);
    if (deposited->held) {
        (void)fputs("held     the operator looks at it before anybody sees it\n", cli->out.stream);
    }
    if (is_warned && deposited->without_here) {
        cli_complain(cli,
                     "people here may not find it: its context lacks what the access point says "
                     "is around it");
    }
    if (!is_durable(deposited)) {
        cli_complain(cli, "this server may lose the last moments to a power cut");
    }
}

/*
 * Refuses a payload that is too large for the server. The error names the size, as far as it is
 * known, and the limit.
 */
static int check_size(const struct cli *cli, const char *file, const struct payload *payload,
                      size_t sealing_bytes)
{
    uint32_t limit = hearsay_welcome(cli->connection)->limits.payload_bytes;
    limit = limit != 0 && limit < PAYLOAD_BYTES_MAX ? limit : PAYLOAD_BYTES_MAX;
    limit = limit > sealing_bytes ? limit - (uint32_t)sealing_bytes : 0;
    if (payload->count <= limit) {
        return CLI_DONE;
    }
    cli_complain(cli, "%s has %s%" PRIu64 " bytes; this server takes messages of at most %" PRIu32,
                 file != NULL ? file : "the message", payload->whole ? "" : "over ",
                 payload->whole ? payload->size_bytes : payload->size_bytes - 1, limit);
    return CLI_REFUSED;
}

/* The context and the group of a deposit. All pointers are borrowed. */
struct deposit_where {
    struct hearsay_context *context;   /* to which the here labels are added */
    const uint8_t *parent;             /* the message that this one answers; NULL: none */
    const struct hearsay_group *group; /* NULL: none */
};

/*
 * Sends the request. If a group is given, first encrypts the payload for the group. Returns
 * CLI_DONE or an exit code.
 */
static int deposit_send(const struct cli *cli, const struct hearsay_group *group,
                        struct hearsay_deposit *request, struct left *out_left)
{
    struct hearsay_error error;
    struct hearsay_content sealed = {.payload = NULL};
    if (group != NULL) {
        struct hearsay_sealing plain = {.id = request->id.data,
                                        .media_type = request->media_type.text,
                                        .payload = request->payload.data,
                                        .payload_bytes = request->payload.count};
        if (hearsay_group_seal(group, &plain, &sealed, &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
        request->media_type = hearsay_text(sealed.media_type);
        request->payload = hearsay_bytes(sealed.payload, sealed.payload_bytes);
    }
    int status =
        hearsay_deposit(cli->connection, request, cli_timeout(cli), &out_left->deposited, &error);
    hearsay_content_free(&sealed);
    return status == HEARSAY_OK ? CLI_DONE : cli_report(cli, &error);
}

/* The epoch of an answer, which is that of its parent, and its filter. Returns CLI_DONE or an exit
 * code. */
static int answer_begin(const struct cli *cli, const struct hearsay_host *host,
                        const uint8_t *parent, uint64_t *out_epoch,
                        struct hearsay_filter *out_filter)
{
    const struct hearsay_response *response = NULL;
    struct hearsay_error error;
    struct hearsay_encode encode = {.host = host, .is_answer = true};
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_GET,
        .get = {.host = hearsay_text(host->name), .id = hearsay_bytes(parent, HEARSAY_ID_BYTES)},
    };
    int code = cli_ask(cli, &request, &response);
    if (code != CLI_DONE) {
        return code;
    }
    *out_epoch = response->got.epoch;
    return hearsay_encode(&encode, out_filter, &error) == HEARSAY_OK ? CLI_DONE
                                                                     : cli_report(cli, &error);
}

static int deposit_deposit(const struct cli *cli, const struct deposit_options *chosen,
                           const struct deposit_where *where, const struct payload *payload)
{
    struct hearsay_filter filter;
    const struct hearsay_host *host = NULL;
    const char *type = chosen->type != NULL ? chosen->type : payload->type;
    struct hearsay_keys keys = {.group = where->group};
    struct hearsay_epoch epoch = {.number = 0};
    bool is_answer = where->parent != NULL;
    int code = cli_find_host(cli, cli->connection, chosen->host, &host);
    if (code == CLI_DONE) {
        code = check_size(cli, chosen->file, payload,
                          where->group != NULL ? HEARSAY_SEAL_BYTES + strlen(type) : 0);
    }
    if (code == CLI_DONE && is_answer) {
        code = answer_begin(cli, host, where->parent, &epoch.number, &filter);
    } else if (code == CLI_DONE && !chosen->no_here) {
        code = sensed_add_here(cli, host, false, where->context);
    }
    if (code == CLI_DONE && !is_answer) {
        code = epoch_for_deposit(cli, host, (enum epoch_choice)chosen->epoch, &epoch);
    }
    if (code == CLI_DONE && !is_answer) {
        keys.epoch_key = epoch.number != 0 ? epoch.key : NULL;
        code = sensed_encode(cli, host, &keys, where->context, &filter);
    }
    if (code != CLI_DONE) {
        return code;
    }
    struct fullness made = {.host = host, .filter = &filter};
    made.labels = hearsay_context_labels(where->context, &made.label_count);
    fullness_warn(cli, &made, hearsay_welcome(cli->connection)->limits.deposit_fill_max_ppm);
    struct hearsay_deposit request;
    struct left left;
    hearsay_deposit_init(&request, &left.receipt);
    request.host = hearsay_text(host->name);
    request.filter = hearsay_filter_bytes(&filter);
    request.epoch = epoch.number;
    request.media_type = hearsay_text(type);
    request.payload = hearsay_bytes(payload->bytes, payload->count);
    request.ttl_s = (uint32_t)(chosen->ttl_ms / 1000);
    request.reach_ppm = chosen->reach;
    if (is_answer) {
        request.answers = hearsay_bytes(where->parent, HEARSAY_ID_BYTES);
    }
    code = deposit_send(cli, where->group, &request, &left);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->json) {
        return print_json(cli, &left, epoch.number);
    }
    print_lines(cli, &left, !chosen->no_here && where->group == NULL);
    return CLI_DONE;
}

/* An answer has no context of its own. */
static int check_answer(const struct cli *cli, const struct deposit_options *chosen,
                        const struct hearsay_context *context)
{
    size_t count = 0;
    (void)hearsay_context_labels(context, &count);
    if (count == 0 && chosen->channel == NULL && chosen->epoch == EPOCH_AUTO) {
        return CLI_DONE;
    }
    return cli_misuse(cli, "--re takes no context, no --channel and no --epoch: an answer is found "
                           "with the message that it answers");
}

static int deposit_run(struct cli *cli, void *options)
{
    struct deposit_options *chosen = options;
    uint8_t parent[HEARSAY_ID_BYTES];
    if (chosen->re != NULL && cli_parse_id(cli, chosen->re, parent) != CLI_DONE) {
        return CLI_USAGE;
    }
    if (chosen->ttl_ms % 1000 != 0) {
        return cli_misuse(cli, "--ttl: whole seconds only");
    }
    bool scan_piped = chosen->sensed.scan != NULL && strcmp(chosen->sensed.scan, "-") == 0;
    bool message_piped =
        chosen->file != NULL ? strcmp(chosen->file, "-") == 0 : cli->word_count == 0;
    if (scan_piped && message_piped) {
        return cli_misuse(cli, "the scan and the message cannot both be standard input");
    }
    struct payload payload = {0};
    struct hearsay_context *context = NULL;
    struct hearsay_group *group = NULL;
    struct channel channel = {.file = NULL};
    int code = query_find_channel(cli, chosen->channel, &channel, &chosen->group, &chosen->host);
    if (code == CLI_DONE) {
        code = query_read_context(cli, &chosen->sensed, !chosen->no_here || chosen->re != NULL,
                                  &channel, &context);
    }
    if (code == CLI_DONE && chosen->re != NULL) {
        code = check_answer(cli, chosen, context);
    }
    if (code == CLI_DONE) {
        code = payload_read(cli, chosen->file, cli->word_count, cli->words, &payload);
    }
    if (code == CLI_DONE && chosen->group != NULL) {
        code = secret_group(cli, chosen->group, &group);
    }
    if (code == CLI_DONE) {
        code = connect_server(cli);
    }
    if (code == CLI_DONE) {
        struct deposit_where where = {
            .context = context, .parent = chosen->re != NULL ? parent : NULL, .group = group};
        code = deposit_deposit(cli, chosen, &where, &payload);
    }
    payload_free(&payload);
    hearsay_context_free(context);
    hearsay_group_free(group);
    channel_free(&channel);
    return code;
}

const struct cli_command command_deposit = {
    .name = "deposit",
    .summary = "leave a message in a context",
    .arguments = "[CONTEXT...] [OPTION]... [TEXT... | --file FILE]",
    .details =
        "CONTEXT is any of --label, --wifi, --scan, --at, --time and --topic together. Where the\n"
        "server says what is around its access point, that is added, unless --no-here is given.\n"
        "Without TEXT and --file the message is read from standard input. Prints its id and\n"
        "the token that withdraws it; nobody can tell you the token again.\n"
        "Where a host has epochs and the user is on site, the message goes to the current one and\n"
        "is found only by those who were on site during it; it expires with it at the latest.\n"
        "With --group only those who have the same secret find it, and can read it.\n"
        "With --re the message answers another one: it is read with that message (hearsay get\n"
        "--answers ID), and goes with it at the latest.\n",
    .examples = "  hearsay deposit -l wifi:a4:2b:8c:01:02:03 -l topic:coffee 'Fresh pot upstairs'\n"
                "  iw dev wlan0 scan | hearsay deposit --scan - --topic Coffee 'Back in five'\n"
                "  hearsay deposit --topic Coffee 'Come up, there is cake'\n"
                "  hearsay deposit -l geo:u281zd --ttl 2h --file poster.png --type image/png\n"
                "  hearsay deposit -l geo:u281zd --group ~/.config/hearsay/team 'Third floor'\n"
                "  hearsay deposit --re 00112233445566778899aabbccddeeff 'Two cups are left'\n"
                "  date | hearsay deposit -l topic:clock --ttl 90s --json\n",
    CLI_OPTIONS(deposit_options, struct deposit_options),
    .defaults = &deposit_defaults,
    .words_max = CLI_ANY_WORDS,
    .run = deposit_run,
};
