/* SPDX-License-Identifier: Apache-2.0 */
/* admin backup, compact: the store as a whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/admin.h"
#include "client/cli/commands.h"

struct no_options {
    char none;
};
static const struct no_options no_defaults;

static void print_sizes(const struct cli *cli, enum hearsay_admin_kind kind,
                        const struct hearsay_admin_reply *reply)
{
    char before[16];
    char after[16];
    out_print_size(reply->bytes_before, before);
    out_print_size(reply->bytes_after, after);
    if (kind == HEARSAY_ADMIN_BACKUP) {
        (void)fprintf(cli->out.stream, "%s backed up\n", after);
    } else {
        (void)fprintf(cli->out.stream, "%s, before %s\n", after, before);
    }
}

static int ask(const struct cli *cli, enum hearsay_admin_kind kind, const char *path)
{
    const struct hearsay_admin admin = {.kind = kind, .word = path};
    const struct hearsay_admin_reply *reply = NULL;
    struct hearsay *server = NULL;
    int code = admin_connect(cli, NULL, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = admin_ask(cli, server, &admin, true, &reply);
    if (code == CLI_DONE) {
        print_sizes(cli, kind, reply);
    }
    hearsay_close(server);
    return code;
}

static int backup_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    char path[4096];
    char *directory = NULL;
    (void)options;
    if (word_count == 0) {
        return cli_misuse(cli, "the file to write is needed");
    }
    if (word_count > 1) {
        return cli_misuse_word(cli, words[1]);
    }
    if (words[0][0] == '/') {
        return ask(cli, HEARSAY_ADMIN_BACKUP, words[0]);
    }
    /* The daemon has another working directory. */
    directory = getcwd(NULL, 0);
    if (directory == NULL) {
        cli_complain(cli, "the working directory: %s", strerror(errno));
        return CLI_NEGATIVE;
    }
    const int length = snprintf(path, sizeof(path), "%s/%s", directory, words[0]);
    free(directory);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return cli_misuse(cli, "the path is too long");
    }
    return ask(cli, HEARSAY_ADMIN_BACKUP, path);
}

const struct cli_command command_admin_backup = {
    .name = "admin backup",
    .summary = "write a copy of the whole store, while it is in use",
    .arguments = "[OPTION]... FILE",
    .details = "The daemon writes FILE, as its own user, for its eyes only (0600); nothing is\n"
               "overwritten. hearsayd --restore FILE brings it back into an empty directory.\n",
    .examples = "  hearsay admin backup /var/lib/hearsay/monday.db\n",
    .defaults = &no_defaults,
    .options_bytes = sizeof(no_defaults),
    .run = backup_run,
};

static int compact_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    (void)options;
    if (word_count > 0) {
        return cli_misuse_word(cli, words[0]);
    }
    return ask(cli, HEARSAY_ADMIN_COMPACT, NULL);
}

const struct cli_command command_admin_compact = {
    .name = "admin compact",
    .summary = "give storage that is not used any more back",
    .arguments = "[OPTION]...",
    .details = "Needs as much free storage as the store has, twice; deposits wait meanwhile.\n",
    .examples = "  hearsay admin compact\n",
    .defaults = &no_defaults,
    .options_bytes = sizeof(no_defaults),
    .run = compact_run,
};
