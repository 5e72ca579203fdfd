/* SPDX-License-Identifier: Apache-2.0 */
/* admin backup, compact, check, similar: commands that work on the whole store, or on all messages
 * of a host. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cmd/commands.h"

/* `path` is absolute. */
static int write_backup(struct cli *cli, const char *path)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_BACKUP,
                                      .backup.path = hearsay_text(path)};
    const struct hearsay_response *response = NULL;
    char size[16];
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        out_print_size(response->backed_up.bytes, size);
        (void)fprintf(cli->out.stream, "%s backed up to %s\n", size, path);
    }
    return code;
}

static int backup_run(struct cli *cli, void *options)
{
    char path[4096];
    char *directory = NULL;
    (void)options;
    if (cli->word_count == 0) {
        return cli_misuse(cli, "the file to write is needed");
    }
    if (cli->words[0][0] == '/') {
        return write_backup(cli, cli->words[0]);
    }
    /* The daemon has another working directory. */
    directory = getcwd(NULL, 0);
    if (directory == NULL) {
        cli_complain(cli, "the working directory: %s", strerror(errno));
        return CLI_NEGATIVE;
    }
    int length = snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") == 0 ? "" : directory,
                          cli->words[0]);
    free(directory);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return cli_misuse(cli, "the path is too long");
    }
    return write_backup(cli, path);
}

const struct cli_command command_admin_backup = {
    .name = "admin backup",
    .summary = "write a copy of the whole store, while it is in use",
    .arguments = "[OPTION]... FILE",
    .details = "The daemon writes FILE, as its own user, for its eyes only (0600); nothing is\n"
               "overwritten. hearsayd --restore FILE brings it back into an empty directory.\n",
    .examples = "  hearsay admin backup /var/lib/hearsay/monday.db\n",
    .words_max = 1,
    .run = backup_run,
};

static int compact_run(struct cli *cli, void *options)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_COMPACT};
    const struct hearsay_response *response = NULL;
    char before[16];
    char after[16];
    (void)options;
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        out_print_size(response->compacted.bytes_before, before);
        out_print_size(response->compacted.bytes_after, after);
        (void)fprintf(cli->out.stream, "%s, before %s\n", after, before);
    }
    return code;
}

const struct cli_command command_admin_compact = {
    .name = "admin compact",
    .summary = "give storage that is not used any more back",
    .arguments = "[OPTION]...",
    .details = "Needs as much free storage as the store has, twice; deposits wait meanwhile.\n",
    .examples = "  hearsay admin compact\n",
    .run = compact_run,
};

/* --- check ------------------------------------------------------------------------------------ */

static const struct args_option check_options[] = {
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL,
             "one line of JSON: messages, problems"),
};

static int print_checked(const struct cli *cli, const struct hearsay_checked *checked)
{
    if (checked->problem_count == 0) {
        (void)fprintf(cli->out.stream,
                      "all is well: %" PRIu64 " message%s; index, counters and store agree\n",
                      checked->messages, checked->messages == 1 ? "" : "s");
    }
    for (size_t i = 0; i < checked->problem_count; i++) {
        out_text(&cli->out, checked->problems[i].text, 0);
        (void)fputc('\n', cli->out.stream);
    }
    return checked->problem_count == 0 ? CLI_DONE : CLI_NEGATIVE;
}

static int print_checked_json(const struct cli *cli, const struct hearsay_checked *checked)
{
    json_t *problems = json_array();
    for (size_t i = 0; i < checked->problem_count; i++) {
        out_json_append(&problems, json_string(checked->problems[i].text));
    }
    int code = cli_print_json(cli, json_pack("{s:I, s:o}", "messages",
                                             (json_int_t)checked->messages, "problems", problems));
    return checked->problem_count == 0 ? code : CLI_NEGATIVE;
}

static int check_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHECK};
    const struct hearsay_response *response = NULL;
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        code = chosen->json ? print_checked_json(cli, &response->checked)
                            : print_checked(cli, &response->checked);
    }
    return code;
}

const struct cli_command command_admin_check = {
    .name = "admin check",
    .summary = "see whether index, counters and store agree",
    .arguments = "[OPTION]...",
    .details =
        "Reads every stored message while the daemon serves. Prints what is wrong and exits\n"
        "with 1, or says that all is well.\n",
    .examples = "  hearsay admin check\n"
                "  hearsay admin check --json | jq -r '.problems[]'\n",
    CLI_OPTIONS(check_options, struct plain_options),
    .run = check_run,
};

/* --- similar ---------------------------------------------------------------------------------- */

enum { GROUPS_MAX = 500, GROUPS_USUAL = 100 };

struct similar_options {
    const char *host;
    bool json;
    uint32_t within;
    uint32_t limit;
};

static const struct similar_options similar_defaults = {.within = UINT32_MAX,
                                                        .limit = GROUPS_USUAL};

static const struct args_option similar_options[] = {
    ARGS_ROW("within", 0, ARGS_DISTANCE, struct similar_options, within, "D",
             "how near the messages of a group are to its oldest, 0 to 1"),
    ARGS_RANGE("limit", 0, ARGS_NUMBER, struct similar_options, limit, "N", 1, GROUPS_MAX,
               "so many groups at most, the largest (100)"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct similar_options, host, "HOST",
             "whose messages (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct similar_options, json, NULL, "one line of JSON a group"),
};

static json_t *json_of_group(const struct hearsay_similar_group *group)
{
    json_t *line = json_pack("{s:I, s:o, s:o, s:I}", "count", (json_int_t)group->count, "oldest_at",
                             out_json_time(group->oldest_ms), "newest_at",
                             out_json_time(group->newest_ms), "epoch", (json_int_t)group->epoch);
    out_json_set(&line, "oldest", out_json_hex(group->oldest.data, HEARSAY_ID_BYTES));
    out_json_set(&line, "newest", out_json_hex(group->newest.data, HEARSAY_ID_BYTES));
    return line;
}

static void print_group(const struct out *out, const struct hearsay_similar_group *group)
{
    char oldest[WHEN_BYTES];
    char newest[WHEN_BYTES];
    when_print(group->oldest_ms, oldest);
    when_print(group->newest_ms, newest);
    (void)fprintf(out->stream, "%8" PRIu64 "  %s ", group->count, oldest);
    out_hex(out, group->oldest.data, HEARSAY_ID_BYTES);
    (void)fprintf(out->stream, "  %s ", newest);
    out_hex(out, group->newest.data, HEARSAY_ID_BYTES);
    if (group->epoch != 0) {
        (void)fprintf(out->stream, "  epoch %" PRIu64, group->epoch);
    }
    (void)fputc('\n', out->stream);
}

static int print_groups(const struct cli *cli, const struct hearsay_similar_list *list)
{
    if (list->group_count > 0) {
        out_colour(&cli->out, OUT_BOLD);
        (void)fputs("   COUNT  OLDEST, NEWEST", cli->out.stream);
        out_colour(&cli->out, OUT_PLAIN);
        (void)fputc('\n', cli->out.stream);
    }
    for (size_t i = 0; i < list->group_count; i++) {
        print_group(&cli->out, &list->groups[i]);
    }
    (void)fprintf(cli->out.stream, "%" PRIu64 " message%s, %" PRIu64 " group%s", list->messages,
                  list->messages == 1 ? "" : "s", list->total, list->total == 1 ? "" : "s");
    if (list->total > list->group_count) {
        (void)fprintf(cli->out.stream, ", the largest %zu above", list->group_count);
    }
    (void)fputc('\n', cli->out.stream);
    return CLI_DONE;
}

static int similar_run(struct cli *cli, void *options)
{
    const struct similar_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_SIMILAR,
                                      .similar = {.host = hearsay_text(chosen->host),
                                                  .max_distance_ppm = chosen->within,
                                                  .limit = chosen->limit}};
    const struct hearsay_response *response = NULL;
    if (chosen->within == UINT32_MAX) {
        return cli_misuse(cli, "say how near: --within 0.1");
    }
    int code = admin_call_one(cli, chosen->host, &request, &response);
    if (code == CLI_DONE && !chosen->json) {
        return print_groups(cli, &response->similar_list);
    }
    for (size_t i = 0; code == CLI_DONE && i < response->similar_list.group_count; i++) {
        code = cli_print_json(cli, json_of_group(&response->similar_list.groups[i]));
    }
    return code;
}

const struct cli_command command_admin_similar = {
    .name = "admin similar",
    .summary = "find floods: groups of messages with almost the same context",
    .arguments = "--within D [OPTION]...",
    .details =
        "The messages are taken from the oldest to the newest. A message begins a group unless\n"
        "it lies within the distance D of the oldest message of an earlier group. A line has\n"
        "the number of messages within D of the group's oldest message, and when the oldest\n"
        "and the newest were left, with their ids. The daemon goes on serving meanwhile.\n",
    .examples = "  hearsay admin similar --within 0.1\n"
                "  hearsay admin similar --within 0 --limit 10 --json\n",
    CLI_OPTIONS(similar_options, struct similar_options),
    .defaults = &similar_defaults,
    .run = similar_run,
};
