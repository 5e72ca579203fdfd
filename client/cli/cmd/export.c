/* SPDX-License-Identifier: Apache-2.0 */
/* export: prints the stored messages of one host or of all hosts as lines of JSON, one line for
 * each message. admin feed: prints what copies of a host are told, one line for each change. */
#include <string.h>

#include "client/cli/cmd/commands.h"

static const struct args_option export_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct plain_options, host, "HOST", "only this one (all hosts)"),
};

static json_t *line_of(const struct hearsay_host *host,
                       const struct hearsay_exported_message *message)
{
    const char *type = out_media_type(&message->media_type);
    json_t *hash = message->withdraw_hash.data != NULL
                       ? out_json_hex(message->withdraw_hash.data, HEARSAY_HASH_BYTES)
                       : json_null();
    json_t *line = json_pack(
        "{s:o, s:s, s:I, s:s, s:o, s:s}", "id", out_json_hex(message->id.data, HEARSAY_ID_BYTES),
        "host", host->name, "epoch", (json_int_t)message->epoch, "profile", host->profile, "filter",
        out_json_base64(message->filter.data, message->filter.count), "type", type);
    out_json_payload(&line, type, message->payload.data, message->payload.count);
    out_json_set(&line, "deposited", out_json_time(message->deposited_ms));
    out_json_set(&line, "expires", out_json_time(message->expires_ms));
    out_json_set(&line, "reach", out_json_millionths(message->reach_ppm));
    out_json_set(&line, "withdraw_hash", hash);
    if (message->answers.data != NULL) {
        out_json_set(&line, "answers", out_json_hex(message->answers.data, HEARSAY_ID_BYTES));
    }
    return line;
}

static int print_page(const struct cli *cli, const struct hearsay_host *host,
                      const struct hearsay_exported *page)
{
    for (size_t i = 0; i < page->message_count; i++) {
        int code = cli_print_json(cli, line_of(host, &page->messages[i]));
        if (code != CLI_DONE) {
            return code;
        }
    }
    return cli_flush(cli); /* flushes after each page, so that a full disk ends the export after
                            * this page */
}

static int export_report(const struct cli *cli, const struct hearsay_error *error)
{
    int code = cli_report(cli, error);
    if (error->code == HEARSAY_CODE_FORBIDDEN || error->code == HEARSAY_CODE_UNSUPPORTED) {
        cli_complain(cli, "export works over the daemon's Unix socket only, which is found without "
                          "--server, for its user, root and members of its admin_group");
    }
    return code;
}

static int export_host(const struct cli *cli, const struct hearsay_host *host)
{
    uint8_t cursor[HEARSAY_CURSOR_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_EXPORT,
                                      .export_.host = hearsay_text(host->name)};
    struct hearsay_bytes *after = &request.export_.after;
    for (;;) {
        const struct hearsay_response *response = NULL;
        struct hearsay_error error;
        if (hearsay_ask(cli->connection, &request, cli_timeout(cli), &response, &error) !=
            HEARSAY_OK) {
            return export_report(cli, &error);
        }
        const struct hearsay_bytes *next = &response->exported.next;
        int code = print_page(cli, host, &response->exported);
        if (code != CLI_DONE || next->data == NULL) {
            return code;
        }
        if (next->count == after->count && memcmp(next->data, cursor, next->count) == 0) {
            cli_complain(cli, "the server does not get on with its pages");
            return CLI_CONNECTION;
        }
        memcpy(cursor, next->data, next->count);
        *after = hearsay_bytes(cursor, next->count);
    }
}

static int export_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    int code = admin_connect(cli, chosen->host);
    if (code == CLI_DONE && chosen->host != NULL) {
        code = export_host(cli, hearsay_find_host(cli->connection, chosen->host));
    } else if (code == CLI_DONE) {
        const struct hearsay_welcome *welcome = hearsay_welcome(cli->connection);
        for (size_t i = 0; i < welcome->host_count && code == CLI_DONE; i++) {
            code = export_host(cli, &welcome->hosts[i]);
        }
    }
    return code;
}

const struct cli_command command_export = {
    .name = "export",
    .summary = "write all messages, for import to take back",
    .arguments = "[OPTION]...",
    .details = "One line of JSON a message: id, host, epoch, profile, filter (base64), type, text\n"
               "or payload_base64, deposited, expires, reach, withdraw_hash; of an answer also\n"
               "answers, the id of its message. Only over the daemon's Unix socket, which is\n"
               "found as for admin.\n",
    .examples = "  hearsay export > messages.jsonl\n"
                "  hearsay import messages.jsonl\n",
    CLI_OPTIONS(export_options, struct plain_options),
    .run = export_run,
};

/* --- admin feed ------------------------------------------------------------------------------- */

enum { FEED_WAIT_MS = 30000 };

struct feed_options {
    const char *host;
    const char *after;
    bool follow;
};

static const struct args_option feed_options[] = {
    ARGS_ROW("after", 0, ARGS_TEXT, struct feed_options, after, "SEQ",
             "only changes with larger numbers (0)"),
    ARGS_ROW("follow", 0, ARGS_FLAG, struct feed_options, follow, NULL,
             "go on, and print each change when it comes"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct feed_options, host, "HOST", "which (the first host)"),
};

/* Returns the name with this number, or "unknown" for a number of a later version. */
static const char *name_in(const char *const *names, size_t count, uint32_t number)
{
    return number < count && names[number] != NULL ? names[number] : "unknown";
}

static json_t *feed_message(const struct hearsay_change *change)
{
    const struct hearsay_exported_message *message = &change->message;
    const char *type = out_media_type(&message->media_type);
    static const char *const states[] = {"shown", "approved", "hidden", "pending", "withheld"};
    json_t *line =
        json_pack("{s:I, s:o, s:s, s:I, s:o, s:s}", "seq", (json_int_t)change->seq, "id",
                  out_json_hex(message->id.data, HEARSAY_ID_BYTES), "state",
                  name_in(states, sizeof(states) / sizeof(states[0]), message->state), "reports",
                  (json_int_t)message->reports, "filter",
                  out_json_base64(message->filter.data, message->filter.count), "type", type);
    out_json_payload(&line, type, message->payload.data, message->payload.count);
    out_json_set(&line, "deposited", out_json_time(message->deposited_ms));
    out_json_set(&line, "expires", out_json_time(message->expires_ms));
    return line;
}

static json_t *feed_line(const struct hearsay_change *change)
{
    static const char *const whys[] = {NULL, "withdrawn", "removed", "evicted"};
    static const char *const kinds[] = {NULL, "ban-payload", "ban-filter", "accept", "notice"};

    if (change->has_message) {
        return feed_message(change);
    }
    if (change->has_gone) {
        return json_pack("{s:I, s:o, s:s, s:o}", "seq", (json_int_t)change->seq, "id",
                         out_json_hex(change->gone.id.data, HEARSAY_ID_BYTES), "gone",
                         name_in(whys, sizeof(whys) / sizeof(whys[0]), change->gone.why), "until",
                         out_json_time(change->gone.until_ms));
    }
    return json_pack("{s:I, s:s, s:o, s:I, s:b, s:o}", "seq", (json_int_t)change->seq, "rule",
                     name_in(kinds, sizeof(kinds) / sizeof(kinds[0]), change->rule.kind), "value",
                     out_json_hex(change->rule.value.data, change->rule.value.count), "number",
                     (json_int_t)change->rule.number, "dropped", change->rule.dropped, "since",
                     out_json_time(change->rule.created_ms));
}

static int feed_run(struct cli *cli, void *options)
{
    const struct feed_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHANGES,
                                      .changes.host = hearsay_text(chosen->host)};
    struct hearsay_changes *wanted = &request.changes;
    const struct hearsay_response *response = NULL;
    struct hearsay_error error;
    if (chosen->after != NULL && number_parse(chosen->after, 0, INT64_MAX, &wanted->after) != 0) {
        return cli_misuse(cli, "--after takes a number from 0 on, not \"%.80s\"", chosen->after);
    }
    int code = admin_connect(cli, chosen->host);
    wanted->wait_ms = chosen->follow ? FEED_WAIT_MS : 0;
    while (code == CLI_DONE) {
        if (hearsay_ask(cli->connection, &request, cli_timeout(cli) + (int)wanted->wait_ms,
                        &response, &error) != HEARSAY_OK) {
            return export_report(cli, &error);
        }
        const struct hearsay_changed *changed = &response->changed;
        for (size_t i = 0; i < changed->change_count && code == CLI_DONE; i++) {
            code = cli_print_json(cli, feed_line(&changed->changes[i]));
        }
        code = code == CLI_DONE ? cli_flush(cli) : code;
        wanted->after = changed->next;
        if (!changed->more && !chosen->follow) {
            break;
        }
    }
    return code;
}

const struct cli_command command_admin_feed = {
    .name = "admin feed",
    .summary = "print what copies of a host are told",
    .arguments = "[OPTION]...",
    .details =
        "One line of JSON a change, in the order of their numbers (seq): a message with its\n"
        "state, hidden ones included; an id that is gone, and why; or a rule of the operator.\n"
        "The host needs replicate = yes. Begin again behind the last number with --after.\n",
    .examples = "  hearsay admin feed\n"
                "  hearsay admin feed --follow --after 1200\n",
    CLI_OPTIONS(feed_options, struct feed_options),
    .run = feed_run,
};
