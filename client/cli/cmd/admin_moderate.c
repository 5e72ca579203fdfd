/* SPDX-License-Identifier: Apache-2.0 */
/* admin list, hide, remove, restore: list the messages that are reported, that wait for review, or
 * that are hidden, or all of them; hide or remove one, or show one again. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/cmd/commands.h"

struct moderate_options {
    const char *host;
    bool pending;
    bool reported;
    bool hidden;
    bool all;
    bool json;
    bool ban;
    int why; /* index in moderate_whys */
    const char *reason;
    const char *place;
    uint32_t count;
};

/* --- list ------------------------------------------------------------------------------------- */

static const struct args_option list_options[] = {
    ARGS_ROW("reported", 0, ARGS_FLAG, struct moderate_options, reported, NULL,
             "those that readers have reported (this)"),
    ARGS_ROW("pending", 0, ARGS_FLAG, struct moderate_options, pending, NULL,
             "those that wait for review"),
    ARGS_ROW("hidden", 0, ARGS_FLAG, struct moderate_options, hidden, NULL,
             "those that you have hidden, or removed and that are not destroyed"),
    ARGS_ROW("all", 0, ARGS_FLAG, struct moderate_options, all, NULL,
             "all but removed ones, the newest first, whether reported or not"),
    ARGS_RANGE("count", 'k', ARGS_NUMBER, struct moderate_options, count, "N", 1, UINT32_MAX,
               "so many at most (no limit)"),
    ARGS_ROW("place", 0, ARGS_TEXT, struct moderate_options, place, "NAME",
             "those that were left at this place, by its name in here_map"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct moderate_options, host, "HOST",
             "where they are (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct moderate_options, json, NULL,
             "one line of JSON a message"),
};

const char *const moderate_whys[] = {"none", "illegal", "about-me", "harassment",
                                     "spam", "other",   NULL};
const char *const moderate_kinds[] = {"other", "illegal", "about-me", "harassment", "spam", NULL};

/* The name of a kind; a kind that this command does not know counts as other. */
static const char *name_of_kind(enum hearsay_report_kind kind)
{
    return moderate_kinds[kind >= HEARSAY_REPORT_ILLEGAL && kind <= HEARSAY_REPORT_SPAM ? kind : 0];
}

/* The reasons of a message: [{"kind": "spam", "text": "..."}, ...]. NULL: out of memory. */
static json_t *reasons_of(const struct hearsay_reported_message *reported)
{
    json_t *list = json_array();
    for (size_t i = 0; i < reported->reason_count; i++) {
        const struct hearsay_report_reason *reason = &reported->reasons[i];
        out_json_append(&list, json_pack("{s:s, s:s*}", "kind", name_of_kind(reason->kind), "text",
                                         reason->text.text));
    }
    return list;
}

static json_t *line_of(const struct hearsay_reported_message *reported)
{
    const char *type = out_media_type(&reported->media_type);
    json_t *line = json_pack("{s:o, s:I, s:b, s:b, s:o, s:o, s:o, s:s}", "id",
                             out_json_hex(reported->id.data, HEARSAY_ID_BYTES), "reports",
                             (json_int_t)reported->reports, "hidden", reported->hidden ? 1 : 0,
                             "pending", reported->pending ? 1 : 0, "reasons", reasons_of(reported),
                             "deposited", out_json_time(reported->deposited_ms), "expires",
                             out_json_time(reported->expires_ms), "type", type);
    if (reported->destroyed_ms != 0) {
        out_json_set(&line, "destroyed", out_json_time(reported->destroyed_ms));
    }
    if (reported->answers.data != NULL) {
        out_json_set(&line, "answers", out_json_hex(reported->answers.data, HEARSAY_ID_BYTES));
    }
    if (reported->payload_omitted) {
        out_json_set(&line, "payload_omitted", json_true());
    } else {
        out_json_payload(&line, type, reported->payload.data, reported->payload.count);
    }
    return line;
}

static void print_reported(const struct cli *cli, const struct hearsay_reported_message *reported)
{
    FILE *stream = cli->out.stream;
    const char *type = out_media_type(&reported->media_type);
    const struct hearsay_bytes *payload = &reported->payload;
    char deposited[WHEN_BYTES];
    when_print(reported->deposited_ms, deposited);
    out_hex(&cli->out, reported->id.data, HEARSAY_ID_BYTES);
    (void)fprintf(stream, "  %s  %s", deposited,
                  reported->pending ? "waits for review" : (reported->hidden ? "hidden" : "shown"));
    if (reported->reports > 0) {
        (void)fprintf(stream, ", %" PRIu32 " report%s", reported->reports,
                      reported->reports == 1 ? "" : "s");
    }
    if (reported->destroyed_ms != 0) {
        when_print(reported->destroyed_ms, deposited);
        (void)fprintf(stream, ", destroyed %s", deposited);
    }
    if (reported->answers.data != NULL) {
        (void)fputs(", answers ", stream);
        out_hex(&cli->out, reported->answers.data, HEARSAY_ID_BYTES);
    }
    (void)fputs("\n    ", stream);
    if (reported->payload_omitted) {
        (void)fputs("(too long for this list)", stream);
    } else if (out_is_text(type, payload->data, payload->count)) {
        (void)text_print(stream, payload->count > 0 ? (const char *)payload->data : "",
                         payload->count, 0);
    } else {
        (void)fprintf(stream, "(%zu bytes of ", payload->count);
        out_text(&cli->out, type, 0);
        (void)fputc(')', stream);
    }
    (void)fputc('\n', stream);
    for (size_t i = 0; i < reported->reason_count; i++) {
        const struct hearsay_report_reason *reason = &reported->reasons[i];
        (void)fprintf(stream, "    %s", name_of_kind(reason->kind));
        if (reason->text.text != NULL) {
            (void)fputs(": ", stream);
            out_text(&cli->out, reason->text.text, 0);
        }
        (void)fputc('\n', stream);
    }
}

static int print_list(const struct cli *cli, const struct moderate_options *chosen,
                      const struct hearsay_reported_list *list)
{
    for (size_t i = 0; i < list->message_count; i++) {
        if (!chosen->json) {
            print_reported(cli, &list->messages[i]);
        } else if (cli_print_json(cli, line_of(&list->messages[i])) != CLI_DONE) {
            return CLI_NEGATIVE;
        }
    }
    if (list->message_count == 0 && !chosen->json) {
        (void)fputs(chosen->pending  ? "nothing waits for review\n"
                    : chosen->hidden ? "nothing is hidden by you\n"
                    : chosen->all    ? "there are no messages\n"
                                     : "nothing is reported\n",
                    cli->out.stream);
    }
    return CLI_DONE;
}

/*
 * Copies the cursor of the next page. Returns CLI_CONNECTION after printing the error if it is not
 * another one than before, as the pages would have no end then.
 */
static int copy_cursor(const struct cli *cli, const struct hearsay_bytes *next,
                       struct hearsay_bytes *after, uint8_t cursor[HEARSAY_CURSOR_BYTES])
{
    if (next->count == after->count && memcmp(next->data, cursor, next->count) == 0) {
        cli_complain(cli, "the server sent the same page of its list twice");
        return CLI_CONNECTION;
    }
    memcpy(cursor, next->data, next->count);
    *after = hearsay_bytes(cursor, next->count);
    return CLI_DONE;
}

/* Prints a list, page by page, up to --count. */
static int list_pages(struct cli *cli, const struct moderate_options *chosen,
                      struct hearsay_request *request)
{
    uint8_t cursor[HEARSAY_CURSOR_BYTES];
    const struct hearsay_response *response = NULL;
    struct hearsay_bytes *after = &request->reported.after;
    uint32_t *left = &request->reported.limit; /* 0: no limit */
    uint64_t more = 0;
    uint64_t printed = 0;
    int code = admin_connect_one(cli, chosen->host);
    while (code == CLI_DONE) {
        code = admin_ask(cli, request, &response);
        if (code != CLI_DONE) {
            return code;
        }
        const struct hearsay_reported_list *list = &response->reported_list;
        if (list->message_count > 0 || after->data == NULL) {
            code = print_list(cli, chosen, list);
            printed += list->message_count;
        }
        more = list->total > printed ? list->total - printed : 0;
        if (code != CLI_DONE || list->next.data == NULL ||
            (chosen->count > 0 && *left <= list->message_count)) {
            break;
        }
        *left -= chosen->count > 0 ? (uint32_t)list->message_count : 0;
        code = copy_cursor(cli, &list->next, after, cursor);
    }
    if (code == CLI_DONE && more > 0 && !chosen->json) {
        (void)fprintf(cli->out.stream, "and %" PRIu64 " more: decide on these first\n", more);
    }
    return code;
}

static int list_run(struct cli *cli, void *options)
{
    const struct moderate_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_REPORTED,
                                      .reported = {.host = hearsay_text(chosen->host),
                                                   .limit = chosen->count,
                                                   .pending = chosen->pending,
                                                   .withheld = chosen->hidden,
                                                   .all = chosen->all,
                                                   .place = hearsay_text(chosen->place)}};
    if (chosen->pending + chosen->reported + chosen->hidden + chosen->all > 1) {
        return cli_misuse(
            cli, "--reported, --pending, --hidden and --all are different lists: choose one");
    }
    return list_pages(cli, chosen, &request);
}

const struct cli_command command_admin_list = {
    .name = "admin list",
    .summary = "show what is reported, waits for review, or is hidden; or all",
    .arguments = "[--reported | --pending | --hidden | --all] [OPTION]...",
    .details = "What was reported as illegal or about-me first, then what most readers have\n"
               "reported, then the newest, with the readers' reasons; one message of each sender\n"
               "before the second one of any. With --pending the oldest first. With --all the\n"
               "newest first; one that was hidden and is shown again counts as new. Decide with\n"
               "admin restore, admin hide or admin remove.\n",
    .examples = "  hearsay admin list\n"
                "  hearsay admin list --all --place 'Main stage'\n"
                "  hearsay admin list --all --count 20\n"
                "  hearsay admin list --pending --json\n",
    CLI_OPTIONS(list_options, struct moderate_options),
    .run = list_run,
};

/* --- hide, remove, restore -------------------------------------------------------------------- */

static const struct args_option remove_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct moderate_options, host, "HOST",
             "where it is (the first host)"),
    ARGS_NAMES("why", 0, struct moderate_options, why, moderate_whys,
               "for admin log: what is wrong"),
    ARGS_ROW("reason", 0, ARGS_TEXT, struct moderate_options, reason, "TEXT",
             "for admin log: one line of at most 200 bytes"),
    ARGS_ROW("ban", 0, ARGS_FLAG, struct moderate_options, ban, NULL,
             "refuse the same payload from now on, too"),
};
enum { RESTORE_OPTIONS = 3 }; /* the first of these */

static struct hearsay_request request_on(enum hearsay_request_kind kind,
                                         const struct moderate_options *chosen,
                                         const uint8_t *id_bytes)
{
    struct hearsay_text host = hearsay_text(chosen->host);
    struct hearsay_bytes id = hearsay_bytes(id_bytes, HEARSAY_ID_BYTES);
    enum hearsay_report_kind why = (enum hearsay_report_kind)chosen->why;
    struct hearsay_text reason = hearsay_text(chosen->reason);
    struct hearsay_request request = {.kind = kind};
    if (kind == HEARSAY_REQUEST_HIDE) {
        request.hide = (struct hearsay_hide){.host = host, .id = id, .kind = why, .reason = reason};
    } else if (kind == HEARSAY_REQUEST_REMOVE) {
        request.remove = (struct hearsay_remove){
            .host = host, .id = id, .ban = chosen->ban, .kind = why, .reason = reason};
    } else {
        request.restore =
            (struct hearsay_restore){.host = host, .id = id, .kind = why, .reason = reason};
    }
    return request;
}

static int judge_message(struct cli *cli, const struct moderate_options *chosen,
                         enum hearsay_request_kind kind, const char *done)
{
    const struct hearsay_response *response = NULL;
    char destroyed[WHEN_BYTES];
    uint8_t id[HEARSAY_ID_BYTES];
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the message's id is needed");
    }
    if (cli_parse_id(cli, cli->words[0], id) != CLI_DONE) {
        return CLI_USAGE;
    }
    struct hearsay_request request = request_on(kind, chosen, id);
    int code = admin_call_one(cli, chosen->host, &request, &response);
    if (code != CLI_DONE) {
        return code;
    }
    (void)fputs(done, cli->out.stream);
    if (kind == HEARSAY_REQUEST_REMOVE && response->removed.destroyed_ms != 0) {
        when_print(response->removed.destroyed_ms, destroyed);
        (void)fprintf(cli->out.stream, "; destroyed %s, until then admin restore shows it again",
                      destroyed);
    } else if (kind == HEARSAY_REQUEST_REMOVE) {
        (void)fputs("; it cannot come back", cli->out.stream);
    }
    if (kind == HEARSAY_REQUEST_RESTORE && response->restored.banned_hash.data != NULL) {
        (void)fputs("; its payload is still banned, admin unban --hash ", cli->out.stream);
        out_hex(&cli->out, response->restored.banned_hash.data, HEARSAY_HASH_BYTES);
        (void)fputs(" lifts that", cli->out.stream);
    }
    (void)fputc('\n', cli->out.stream);
    return CLI_DONE;
}

static int hide_run(struct cli *cli, void *options)
{
    return judge_message(cli, options, HEARSAY_REQUEST_HIDE, "hidden");
}

const struct cli_command command_admin_hide = {
    .name = "admin hide",
    .summary = "hide a message until you show it again",
    .arguments = "[OPTION]... ID",
    .details = "Nobody but you sees it. admin restore shows it again; without that it expires\n"
               "hidden. admin list --hidden lists it.\n",
    .examples = "  hearsay admin hide --why harassment 00112233445566778899aabbccddeeff\n",
    .options = remove_options,
    .option_count = RESTORE_OPTIONS,
    .options_bytes = sizeof(struct moderate_options),
    .words_max = 1,
    .run = hide_run,
};

static int remove_run(struct cli *cli, void *options)
{
    const struct moderate_options *chosen = options;
    return judge_message(cli, chosen, HEARSAY_REQUEST_REMOVE,
                         chosen->ban ? "removed, and its payload is banned" : "removed");
}

const struct cli_command command_admin_remove = {
    .name = "admin remove",
    .summary = "hide a message at once, and destroy it a day later",
    .arguments = "[OPTION]... ID",
    .details = "Until it is destroyed admin restore shows it again; remove_after in hearsayd's\n"
               "configuration says when that is (24h; 0: at once). Within a minute after that\n"
               "no byte of it is left in the database and its log. What backups have of it stays\n"
               "there. Its id is refused until it would have expired.\n"
               "With --ban the same payload is refused from now on; admin bans lists it, and\n"
               "admin unban takes the ban back.\n",
    .examples = "  hearsay admin remove --why spam 00112233445566778899aabbccddeeff\n",
    CLI_OPTIONS(remove_options, struct moderate_options),
    .words_max = 1,
    .run = remove_run,
};

static int restore_run(struct cli *cli, void *options)
{
    return judge_message(cli, options, HEARSAY_REQUEST_RESTORE, "shown");
}

const struct cli_command command_admin_restore = {
    .name = "admin restore",
    .summary = "show what is hidden, removed, reported, or waits for review",
    .arguments = "[OPTION]... ID",
    .details = "It is found again, and reports do not hide it any more. A ban that came with\n"
               "remove --ban stays. (A whole store comes back from its backup with\n"
               "hearsayd --restore.)\n",
    .examples = "  hearsay admin restore 00112233445566778899aabbccddeeff\n",
    .options = remove_options,
    .option_count = RESTORE_OPTIONS,
    .options_bytes = sizeof(struct moderate_options),
    .words_max = 1,
    .run = restore_run,
};
