/* SPDX-License-Identifier: Apache-2.0 */
/* admin backup, compact, check: commands that work on the whole store. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/ask_admin.h"
#include "client/cli/cmd/commands.h"

/* Prints the sizes after a backup or a compaction. `path` is the absolute path of the backup. */
static void print_sizes(const struct cli *cli, enum hearsay_admin_kind kind, const char *path,
                        const struct hearsay_admin_reply *reply)
{
    char before[16];
    char after[16];
    out_print_size(reply->bytes_before, before);
    out_print_size(reply->bytes_after, after);
    if (kind == HEARSAY_ADMIN_BACKUP) {
        (void)fprintf(cli->out.stream, "%s backed up to %s\n", after, path);
    } else {
        (void)fprintf(cli->out.stream, "%s, before %s\n", after, before);
    }
}

static int admin_store_ask(struct cli *cli, enum hearsay_admin_kind kind, const char *path)
{
    struct hearsay_admin admin = {.kind = kind, .word = path};
    const struct hearsay_admin_reply *reply = NULL;
    int code = admin_call(cli, &admin, &reply);
    if (code == CLI_DONE) {
        print_sizes(cli, kind, path, reply);
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
        return admin_store_ask(cli, HEARSAY_ADMIN_BACKUP, cli->words[0]);
    }
    /* The daemon has another working directory. */
    directory = getcwd(NULL, 0);
    if (directory == NULL) {
        cli_complain(cli, "the working directory: %s", strerror(errno));
        return CLI_NEGATIVE;
    }
    int length = snprintf(path, sizeof(path), "%s/%s", directory, cli->words[0]);
    free(directory);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return cli_misuse(cli, "the path is too long");
    }
    return admin_store_ask(cli, HEARSAY_ADMIN_BACKUP, path);
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
    (void)options;
    return admin_store_ask(cli, HEARSAY_ADMIN_COMPACT, NULL);
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

static int print_checked(const struct cli *cli, const struct hearsay_admin_reply *reply)
{
    if (reply->problem_count == 0) {
        (void)fprintf(cli->out.stream,
                      "all is well: %" PRIu64 " messages; index, counters and store agree\n",
                      reply->messages);
    }
    for (size_t i = 0; i < reply->problem_count; i++) {
        out_text(&cli->out, reply->problems[i], 0);
        (void)fputc('\n', cli->out.stream);
    }
    return reply->problem_count == 0 ? CLI_DONE : CLI_NEGATIVE;
}

static int print_checked_json(const struct cli *cli, const struct hearsay_admin_reply *reply)
{
    int code = cli_print_json(
        cli, json_pack("{s:I, s:o}", "messages", (json_int_t)reply->messages, "problems",
                       cli_json_strings(reply->problems, reply->problem_count)));
    return reply->problem_count == 0 ? code : CLI_NEGATIVE;
}

static int check_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_CHECK};
    const struct hearsay_admin_reply *reply = NULL;
    int code = admin_call(cli, &admin, &reply);
    if (code == CLI_DONE) {
        code = chosen->json ? print_checked_json(cli, reply) : print_checked(cli, reply);
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
