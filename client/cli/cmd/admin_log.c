/* SPDX-License-Identifier: Apache-2.0 */
/* admin log, wait: show what operators have decided; wait for something to decide. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cmd/commands.h"

enum { LOG_COUNT = 50 }; /* decisions without --count */

struct log_options {
    const char *host;
    bool json;
    uint32_t count;
};

static const struct args_option log_options[] = {
    ARGS_RANGE("count", 'k', ARGS_NUMBER, struct log_options, count, "N", 1, 10000,
               "so many at most, the newest (50)"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct log_options, host, "HOST",
             "whose decisions (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct log_options, json, NULL, "one line of JSON a decision"),
};

/* The name of a kind; NULL: no kind was said. */
static const char *name_of_why(enum hearsay_report_kind why)
{
    return why == 0
               ? NULL
               : moderate_whys[why <= HEARSAY_REPORT_OTHER_KIND ? why : HEARSAY_REPORT_OTHER_KIND];
}

static json_t *json_of_decision(const struct hearsay_decision *decision)
{
    json_t *line =
        json_pack("{s:o, s:s, s:I, s:s*, s:s*}", "time", out_json_time(decision->time_ms), "act",
                  decision->act.text, "reports", (json_int_t)decision->reports, "kind",
                  name_of_why(decision->kind), "reason", decision->reason.text);
    if (decision->id.data != NULL) {
        out_json_set(&line, "id", out_json_hex(decision->id.data, HEARSAY_ID_BYTES));
    }
    out_json_set(&line, "uid", json_integer((json_int_t)decision->uid));
    out_json_set(&line, "web", json_boolean(decision->web));
    return line;
}

static void print_decision(const struct out *out, const struct hearsay_decision *decision)
{
    const char *why = name_of_why(decision->kind);
    char made[WHEN_BYTES];
    when_print(decision->time_ms, made);
    (void)fprintf(out->stream, "%s  ", made);
    if (decision->web) {
        (void)fputs("web", out->stream);
    } else if (decision->uid == HEARSAY_UID_HUB) {
        (void)fputs("hub", out->stream);
    } else {
        (void)fprintf(out->stream, "uid %" PRIu32, decision->uid);
    }
    (void)fputs("  ", out->stream);
    out_text(out, decision->act.text, 0);
    if (decision->id.data != NULL) {
        (void)fputc(' ', out->stream);
        out_hex(out, decision->id.data, HEARSAY_ID_BYTES);
    }
    if (decision->reports > 0) {
        (void)fprintf(out->stream, ", %" PRIu32 " report%s", decision->reports,
                      decision->reports == 1 ? "" : "s");
    }
    if (why != NULL) {
        (void)fprintf(out->stream, ", %s", why);
    }
    if (decision->reason.text != NULL) {
        (void)fputs(": ", out->stream);
        out_text(out, decision->reason.text, 0);
    }
    (void)fputc('\n', out->stream);
}

/* A decision with what it points to: an answer is gone when the next one comes. */
struct kept {
    struct hearsay_decision decision;
    char act[16];
    char reason[201];
    uint8_t id[HEARSAY_ID_BYTES];
};

static void keep_decision(const struct hearsay_decision *from, struct kept *out)
{
    out->decision = *from;
    (void)snprintf(out->act, sizeof(out->act), "%s", from->act.text);
    out->decision.act = hearsay_text(out->act);
    if (from->id.data != NULL) {
        memcpy(out->id, from->id.data, HEARSAY_ID_BYTES);
        out->decision.id.data = out->id;
    }
    if (from->reason.text != NULL) {
        (void)snprintf(out->reason, sizeof(out->reason), "%s", from->reason.text);
        out->decision.reason = hearsay_text(out->reason);
    }
}

/*
 * Fills `kept`, which has `count` elements, from its end: each answer has older decisions than the
 * answer before. *out_first: index of the oldest decision.
 */
static int keep_decisions(struct cli *cli, const char *host, struct kept *kept, uint32_t count,
                          uint32_t *out_first)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_DECISIONS,
        .decisions = {.host = hearsay_text(host), .before = UINT64_MAX}};
    const struct hearsay_response *response = NULL;
    uint32_t at = count;
    int code = admin_connect_one(cli, host);
    bool more = true;
    while (code == CLI_DONE && more && at > 0) {
        request.decisions.limit = at;
        code = admin_ask(cli, &request, &response);
        if (code != CLI_DONE) {
            break;
        }
        const struct hearsay_decision_list *list = &response->decision_list;
        more = list->decision_count > 0 && list->decision_count < at && list->more;
        for (size_t i = list->decision_count; i > 0 && at > 0; i--) {
            keep_decision(&list->decisions[i - 1], &kept[--at]);
        }
        request.decisions.before = at < count ? kept[at].decision.number : 0;
    }
    *out_first = at;
    return code;
}

static int log_run(struct cli *cli, void *options)
{
    const struct log_options *chosen = options;
    uint32_t count = chosen->count != 0 ? chosen->count : LOG_COUNT;
    uint32_t first = 0;
    struct kept *kept = calloc(count, sizeof(*kept));
    if (kept == NULL) {
        return cli_report_nomem(cli);
    }
    int code = keep_decisions(cli, chosen->host, kept, count, &first);
    for (uint32_t i = first; i < count && code == CLI_DONE; i++) {
        if (chosen->json) {
            code = cli_print_json(cli, json_of_decision(&kept[i].decision));
        } else {
            print_decision(&cli->out, &kept[i].decision);
        }
    }
    if (code == CLI_DONE && first == count && !chosen->json) {
        (void)fputs("nothing was decided\n", cli->out.stream);
    }
    free(kept);
    return code;
}

const struct cli_command command_admin_log = {
    .name = "admin log",
    .summary = "show what operators have decided, the newest last",
    .arguments = "[OPTION]...",
    .details =
        "When, who (a user id, web or hub), what, about which message, how many reports it had,\n"
        "and why; of a ban, its handle. It has no text and no address of a guest.\n"
        "moderation_log_keep in hearsayd's configuration says how long a line stays.\n",
    .examples = "  hearsay admin log\n"
                "  hearsay admin log --json --count 1000\n",
    CLI_OPTIONS(log_options, struct log_options),
    .run = log_run,
};

/* --- wait ------------------------------------------------------------------------------------- */

struct wait_options {
    const char *host;
    bool reported;
};

static const struct args_option wait_options[] = {
    ARGS_ROW("reported", 0, ARGS_FLAG, struct wait_options, reported, NULL,
             "for a message that is newly reported, or waits for review"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct wait_options, host, "HOST", "where (the first host)"),
};

static int wait_run(struct cli *cli, void *options)
{
    const struct wait_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_WAIT,
                                      .wait.host = hearsay_text(chosen->host)};
    const struct hearsay_response *response = NULL;
    struct hearsay_error error;
    if (!chosen->reported) {
        return cli_misuse(cli, "say what to wait for: --reported");
    }
    int code = admin_connect_one(cli, chosen->host);
    if (code != CLI_DONE) {
        return code;
    }
    int timeout_ms = cli->timeout_ms == 0 ? INT_MAX : cli_timeout(cli);
    int status = hearsay_ask(cli->connection, &request, timeout_ms, &response, &error);
    if (status == HEARSAY_ERR_TIMEOUT) {
        return CLI_NEGATIVE; /* nothing is new */
    }
    if (status != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    const struct hearsay_waited *found = &response->waited;
    const char *why = name_of_why(found->kind);
    out_hex(&cli->out, found->id.data, HEARSAY_ID_BYTES);
    (void)fprintf(cli->out.stream, "  %s",
                  found->pending ? "waits for review" : (why != NULL ? why : "reported"));
    if (found->count > 1) {
        (void)fprintf(cli->out.stream, ", and %" PRIu64 " more", found->count - 1);
    }
    (void)fputc('\n', cli->out.stream);
    return CLI_DONE;
}

const struct cli_command command_admin_wait = {
    .name = "admin wait",
    .summary = "wait until a message is reported, or waits for review",
    .arguments = "--reported [OPTION]...",
    .details =
        "Prints the id of the message and the kind of the report, never its text; of several\n"
        "messages the oldest, and how many more there are. The first report as illegal or about\n"
        "somebody ends a wait, too. What came since the last wait counts. When --timeout is\n"
        "over, exits with 1; without it, waits for weeks.\n",
    .examples = "  hearsay admin wait --reported && hearsay admin list\n",
    CLI_OPTIONS(wait_options, struct wait_options),
    .run = wait_run,
};
