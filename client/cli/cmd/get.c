/* SPDX-License-Identifier: Apache-2.0 */
/* get: prints one message by its id. */
#include <inttypes.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/cmd/query_common.h"

struct get_options {
    const char *host;
    const char *group;
    bool answers;
    bool ids;
    bool json;
};

static const struct args_option get_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct get_options, host, "HOST",
             "where it is (the first host)"),
    ARGS_ROW("answers", 0, ARGS_FLAG, struct get_options, answers, NULL,
             "instead of the message the answers to it, oldest first"),
    ARGS_ROW("ids", 0, ARGS_FLAG, struct get_options, ids, NULL, "show the answers' ids"),
    SECRET_OPTION(struct get_options, group),
    ARGS_ROW("json", 0, ARGS_FLAG, struct get_options, json, NULL,
             "one line of JSON, with times and type"),
};

static int print_json(const struct cli *cli, const struct hearsay_got *message)
{
    json_t *line = json_pack(
        "{s:o, s:I, s:o, s:o, s:s}", "id", out_json_hex(message->id.data, HEARSAY_ID_BYTES),
        "epoch", (json_int_t)message->epoch, "deposited", out_json_time(message->deposited_ms),
        "expires", out_json_time(message->expires_ms), "type", message->media_type.text);
    if (message->answers.data != NULL) {
        out_json_set(&line, "answers", out_json_hex(message->answers.data, HEARSAY_ID_BYTES));
    }
    if (message->answer_count > 0) {
        out_json_set(&line, "answer_count", json_integer((json_int_t)message->answer_count));
    }
    out_json_payload(&line, message->media_type.text, message->payload.data,
                     message->payload.count);
    return cli_print_json(cli, line);
}

/*
 * Writes the bytes of the payload. To a terminal, writes only text, with control characters
 * escaped.
 */
static int print_payload(const struct cli *cli, const struct hearsay_got *message)
{
    FILE *stream = cli->out.stream;
    const char *bytes = (const char *)message->payload.data;
    size_t count = message->payload.count;
    if (!cli->out.terminal) {
        (void)fwrite(bytes, 1, count, stream);
        return CLI_DONE;
    }
    if (!out_is_text(message->media_type.text, message->payload.data, count)) {
        char size[16];
        out_print_size(count, size);
        cli_complain(cli, "the message is %s of %s, not text: send standard output to a file", size,
                     message->media_type.text);
        return CLI_NEGATIVE;
    }
    text_print_lines(stream, bytes, count);
    if (count > 0 && bytes[count - 1] != '\n') {
        (void)fputc('\n', stream);
    }
    return CLI_DONE;
}

/* Decrypts a payload that the group has sealed, and prints it. */
static int print_opened(const struct cli *cli, const struct get_options *chosen,
                        const struct hearsay_group *group, const struct hearsay_got *message)
{
    struct hearsay_error error;
    struct hearsay_content content;
    struct hearsay_got opened = *message;
    struct hearsay_sealing sealed = {.id = message->id.data,
                                     .media_type = message->media_type.text,
                                     .payload = message->payload.data,
                                     .payload_bytes = message->payload.count};
    int status = hearsay_group_open(group, &sealed, &content, &error);
    if (status == HEARSAY_NOT_OURS) {
        cli_complain(cli, "the message is not this group's: its secret does not open it");
        return CLI_NEGATIVE;
    }
    if (status != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    opened.media_type = hearsay_text(content.media_type);
    opened.payload = hearsay_bytes(content.payload, content.payload_bytes);
    int code = chosen->json ? print_json(cli, &opened) : print_payload(cli, &opened);
    hearsay_content_free(&content);
    return code;
}

/* Prints an answer; one that the group did not seal is left out. Returns CLI_DONE or an exit code.
 */
static int print_answer(const struct cli *cli, const struct get_options *chosen,
                        const struct hearsay_group *group, const struct hearsay_result *answer,
                        bool *is_first)
{
    struct query_options options = {.ids = chosen->ids, .json = chosen->json};
    struct hearsay_content content = {.payload = NULL};
    struct hearsay_result result = *answer;
    struct hearsay_error error;
    int status = group != NULL ? secret_open(group, &result, &content, &error) : HEARSAY_OK;
    if (status == HEARSAY_NOT_OURS) {
        return CLI_DONE;
    }
    int code = status == HEARSAY_OK
                   ? query_print_result(cli, &options, &result, hearsay_now_ms(cli->connection),
                                        *is_first, NULL)
                   : cli_report(cli, &error);
    *is_first = false;
    hearsay_content_free(&content);
    return code;
}

/* As many answers as one message takes fit one query, but perhaps not all their payloads, and not
 * those that the operator restored meanwhile. */
static int get_answers(const struct cli *cli, const struct get_options *chosen,
                       const struct hearsay_group *group, const char *host, const uint8_t *id)
{
    const struct hearsay_results *results = NULL;
    struct hearsay_query query;
    struct hearsay_error error;
    bool is_first = true;
    int code = CLI_DONE;
    hearsay_query_init(&query);
    query.host = hearsay_text(host);
    query.answers = hearsay_bytes(id, HEARSAY_ID_BYTES);
    query.k = hearsay_welcome(cli->connection)->limits.k_max;
    if (hearsay_query(cli->connection, &query, cli_timeout(cli), &results, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    for (size_t i = 0; i < results->result_count && code == CLI_DONE; i++) {
        code = print_answer(cli, chosen, group, &results->results[i], &is_first);
    }
    if (code == CLI_DONE && results->result_count == query.k) {
        cli_complain(cli, "these are the first %" PRIu32 " answers; there may be more", query.k);
    }
    if (code == CLI_DONE && is_first) {
        cli_complain(cli, "nothing found");
        code = CLI_NEGATIVE;
    }
    return code;
}

static int get_get(struct cli *cli, const struct get_options *chosen,
                   const struct hearsay_group *group, const uint8_t *id)
{
    const struct hearsay_host *host = NULL;
    const struct hearsay_response *response = NULL;
    int code = connect_host(cli, chosen->host, &host);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->answers) {
        return get_answers(cli, chosen, group, host->name, id);
    }
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_GET,
        .get = {.host = hearsay_text(host->name), .id = hearsay_bytes(id, HEARSAY_ID_BYTES)},
    };
    code = cli_ask(cli, &request, &response);
    if (code != CLI_DONE) {
        return code;
    }
    const struct hearsay_got *message = &response->got;
    if (group != NULL) {
        return print_opened(cli, chosen, group, message);
    }
    return chosen->json ? print_json(cli, message) : print_payload(cli, message);
}

static int get_run(struct cli *cli, void *options)
{
    const struct get_options *chosen = options;
    uint8_t id[HEARSAY_ID_BYTES];
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the message's id is missing");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    struct hearsay_group *group = NULL;
    int code = chosen->group != NULL ? secret_group(cli, chosen->group, &group) : CLI_DONE;
    if (code == CLI_DONE) {
        code = get_get(cli, chosen, group, id);
    }
    hearsay_group_free(group);
    return code;
}

const struct cli_command command_get = {
    .name = "get",
    .summary = "print one message by its id",
    .arguments = "[OPTION]... ID",
    .details = "Writes the payload as it is, every byte. On a terminal only text is written, with\n"
               "control characters escaped. With --group what the group sealed is opened.\n"
               "With --answers prints the answers as query does; exit code 1: there are none.\n",
    .examples = "  hearsay get 00112233445566778899aabbccddeeff\n"
                "  hearsay get 00112233445566778899aabbccddeeff > picture.png\n"
                "  hearsay get --answers 00112233445566778899aabbccddeeff\n"
                "  hearsay get --json 00112233445566778899aabbccddeeff\n",
    CLI_OPTIONS(get_options, struct get_options),
    .words_max = 1,
    .run = get_run,
};
