/* SPDX-License-Identifier: Apache-2.0 */
/* admin list, remove, restore: list the messages that are reported or wait for review, remove one,
 * or show one again. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/cmd/ask_admin.h"
#include "client/cli/cmd/commands.h"
#include "client/cli/cmd/moderate.h"
#include "client/cli/term/text.h"
#include "client/cli/term/when.h"

struct moderate_options {
    const char *host;
    bool pending;
    bool reported;
    bool json;
    bool ban;
    uint32_t count;
};

/* --- list ------------------------------------------------------------------------------------- */

static const struct args_option list_options[] = {
    ARGS_ROW("reported", 0, ARGS_FLAG, struct moderate_options, reported, NULL,
             "those that readers have reported (this)"),
    ARGS_ROW("pending", 0, ARGS_FLAG, struct moderate_options, pending, NULL,
             "those that wait for review"),
    ARGS_RANGE("count", 'k', ARGS_NUMBER, struct moderate_options, count, "N", 1, UINT32_MAX,
               "so many at most (as many as one answer holds)"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct moderate_options, host, "HOST",
             "where they are (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct moderate_options, json, NULL,
             "one line of JSON a message"),
};

const char *const moderate_kinds[] = {"other", "illegal", "about-me", "harassment", "spam", NULL};

/* The name of a kind; a kind that this command does not know counts as other. */
static const char *name_of_kind(enum hearsay_report_kind kind)
{
    return moderate_kinds[kind >= HEARSAY_REPORT_ILLEGAL && kind <= HEARSAY_REPORT_SPAM ? kind : 0];
}

/* The reasons of a message: [{"kind": "spam", "text": "..."}, ...]. NULL: out of memory. */
static json_t *reasons_of(const struct hearsay_reported *reported)
{
    json_t *list = json_array();
    for (size_t i = 0; i < reported->reason_count; i++) {
        const struct hearsay_reason *reason = &reported->reasons[i];
        out_json_append(&list, json_pack("{s:s, s:s*}", "kind", name_of_kind(reason->kind), "text",
                                         reason->text));
    }
    return list;
}

static json_t *line_of(const struct hearsay_reported *reported)
{
    const struct hearsay_message *message = &reported->message;
    json_t *line = json_pack("{s:o, s:I, s:b, s:b, s:o, s:o, s:o, s:s}", "id",
                             out_json_hex(message->id, HEARSAY_ID_BYTES), "reports",
                             (json_int_t)reported->reports, "hidden", reported->hidden ? 1 : 0,
                             "pending", reported->pending ? 1 : 0, "reasons", reasons_of(reported),
                             "deposited", out_json_time(message->deposited_ms), "expires",
                             out_json_time(message->expires_ms), "type", message->media_type);
    if (reported->payload_omitted) {
        out_json_set(&line, "payload_omitted", json_true());
    } else {
        out_json_payload(&line, message->media_type, message->payload, message->payload_bytes);
    }
    return line;
}

static void print_reported(const struct cli *cli, const struct hearsay_reported *reported)
{
    FILE *stream = cli->out.stream;
    const struct hearsay_message *message = &reported->message;
    char deposited[WHEN_BYTES];
    when_print(message->deposited_ms, deposited);
    out_hex(&cli->out, message->id, HEARSAY_ID_BYTES);
    (void)fprintf(stream, "  %s  %s", deposited,
                  reported->pending ? "waits for review" : (reported->hidden ? "hidden" : "shown"));
    if (reported->reports > 0) {
        (void)fprintf(stream, ", %" PRIu32 " report%s", reported->reports,
                      reported->reports == 1 ? "" : "s");
    }
    (void)fputs("\n    ", stream);
    if (reported->payload_omitted) {
        (void)fputs("(too long for this list)", stream);
    } else if (out_is_text(message->media_type, message->payload, message->payload_bytes)) {
        (void)text_print(stream, (const char *)message->payload, message->payload_bytes, 0);
    } else {
        (void)fprintf(stream, "(%zu bytes of ", message->payload_bytes);
        out_text(&cli->out, message->media_type, 0);
        (void)fputc(')', stream);
    }
    (void)fputc('\n', stream);
    for (size_t i = 0; i < reported->reason_count; i++) {
        const struct hearsay_reason *reason = &reported->reasons[i];
        (void)fprintf(stream, "    %s", name_of_kind(reason->kind));
        if (reason->text != NULL) {
            (void)fputs(": ", stream);
            out_text(&cli->out, reason->text, 0);
        }
        (void)fputc('\n', stream);
    }
}

static int print_list(const struct cli *cli, const struct moderate_options *chosen,
                      const struct hearsay_admin_reply *reply)
{
    for (size_t i = 0; i < reply->reported_count; i++) {
        if (!chosen->json) {
            print_reported(cli, &reply->reported[i]);
        } else if (cli_print_json(cli, line_of(&reply->reported[i])) != CLI_DONE) {
            return CLI_NEGATIVE;
        }
    }
    if (reply->total > reply->reported_count && !chosen->json) {
        (void)fprintf(cli->out.stream, "and %" PRIu64 " more: decide on these first\n",
                      reply->total - reply->reported_count);
    }
    if (reply->reported_count == 0 && !chosen->json) {
        (void)fputs(chosen->pending ? "nothing waits for review\n" : "nothing is reported\n",
                    cli->out.stream);
    }
    return CLI_DONE;
}

static int list_run(struct cli *cli, void *options)
{
    const struct moderate_options *chosen = options;
    struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_REPORTED,
                                  .host = chosen->host,
                                  .number = chosen->count,
                                  .pending = chosen->pending};
    const struct hearsay_admin_reply *reply = NULL;
    if (chosen->pending && chosen->reported) {
        return cli_misuse(cli, "--reported and --pending are two different lists: choose one");
    }
    int code = admin_call(cli, &admin, &reply);
    if (code == CLI_DONE) {
        code = print_list(cli, chosen, reply);
    }
    return code;
}

const struct cli_command command_admin_list = {
    .name = "admin list",
    .summary = "show reported messages, or those that wait for review",
    .arguments = "[--reported | --pending] [OPTION]...",
    .details = "Most reported first, or oldest first, with the readers' reasons. Decide with\n"
               "admin restore or admin remove.\n",
    .examples = "  hearsay admin list\n"
                "  hearsay admin list --pending --json\n",
    CLI_OPTIONS(list_options, struct moderate_options),
    .run = list_run,
};

/* --- remove, restore -------------------------------------------------------------------------- */

static const struct args_option remove_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct moderate_options, host, "HOST",
             "where it is (the first host)"),
    ARGS_ROW("ban", 0, ARGS_FLAG, struct moderate_options, ban, NULL,
             "refuse the same payload from now on, too"),
};
enum { RESTORE_OPTIONS = 1 }; /* the first of these */

static int admin_moderate_judge(struct cli *cli, const struct moderate_options *chosen,
                                enum hearsay_admin_kind kind, const char *done)
{
    struct hearsay_admin admin = {.kind = kind, .host = chosen->host, .ban = chosen->ban};
    uint8_t id[HEARSAY_ID_BYTES];
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the message's id is needed");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    admin.id = id;
    return admin_do(cli, &admin, done);
}

static int remove_run(struct cli *cli, void *options)
{
    const struct moderate_options *chosen = options;
    return admin_moderate_judge(cli, chosen, HEARSAY_ADMIN_REMOVE,
                                chosen->ban ? "removed, and its payload is banned" : "removed");
}

const struct cli_command command_admin_remove = {
    .name = "admin remove",
    .summary = "remove a message for good",
    .arguments = "[OPTION]... ID",
    .details = "Its id is refused until it would have expired; within a minute no byte of it is\n"
               "left in the database and its log. What backups have of it stays there.\n"
               "With --ban the same payload is refused from now on; admin bans lists it, and\n"
               "admin unban takes the ban back.\n",
    .examples = "  hearsay admin remove 00112233445566778899aabbccddeeff\n",
    CLI_OPTIONS(remove_options, struct moderate_options),
    .words_max = 1,
    .run = remove_run,
};

static int restore_run(struct cli *cli, void *options)
{
    return admin_moderate_judge(cli, options, HEARSAY_ADMIN_RESTORE, "shown");
}

const struct cli_command command_admin_restore = {
    .name = "admin restore",
    .summary = "show a message that is hidden, reported or waits for review",
    .arguments = "[OPTION]... ID",
    .details = "It is found again, and reports do not hide it any more. (A whole store comes back\n"
               "from its backup with hearsayd --restore.)\n",
    .examples = "  hearsay admin restore 00112233445566778899aabbccddeeff\n",
    .options = remove_options,
    .option_count = RESTORE_OPTIONS,
    .options_bytes = sizeof(struct moderate_options),
    .words_max = 1,
    .run = restore_run,
};
