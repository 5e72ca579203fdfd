/* SPDX-License-Identifier: Apache-2.0 */
/* hearsay-bench: measures hearsayd, beside programs or functions that do comparable work. */
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"

enum { EXIT_USAGE = 2, PATH_BYTES = 4096, PROGRAMS_MAX = 4 };

struct command {
    const char *name;
    const char *help;
    int (*run)(const struct bench_options *options, struct report *report);
    int (*run_alone)(int argc, char **argv); /* has options of its own; then `run` is NULL */
};

/* `all` runs those with `run` in this order. */
static const struct command commands[] = {
    {"deposit", "durable deposits a second, beside SQLite alone", bench_deposit, NULL},
    {"query", "queries a second and their times, beside a libuv echo server", bench_query, NULL},
    {"memory", "resident bytes a stored message, and where they go", bench_memory, NULL},
    {"filters", "the filters beside the index: docs/filters.md", bench_filters, NULL},
    {"flash", "bytes written for a deposit, on a file system of its own; root", bench_flash, NULL},
    {"ids", "the table of ids beside a cuckoo filter, and what new ids read", bench_ids, NULL},
    {"start", "time from start to ready with many messages", bench_start, NULL},
    {"cores", "queries a second on two cores beside one: docs/performance.md", bench_cores, NULL},
    {"list", "the exact list beside the machine's bandwidth and a popcount loop", bench_list, NULL},
    {"encode", "a context of 30 labels to its filter, beside the hashes alone", bench_encode, NULL},
    {"joint", "what unions claim, with and without a joint section", bench_joint, NULL},
    {"all", "all of these", NULL, NULL},
    {"index", "the engines of the index beside one another: docs/tree.md", NULL, bench_index},
    {"bound", "how much any tree can leave out: docs/notes/tree.md", NULL, bench_bound},
    {"arrange", "what it takes to arrange an index while it serves", NULL, bench_arrange},
    {"epochs", "a query over many epochs beside one tree: docs/tree.md", NULL, bench_epochs},
    {"hood", "access points that a query of a neighbourhood asks: docs/notes/hood.md", NULL,
     bench_hood},
    {"similar", "groups of near-duplicates beside queries: docs/performance.md", NULL,
     bench_similar},
    {"thesis", "the thesis's tree beside the index: docs/thesis.md", NULL, bench_thesis},
    {"watch", "what standing queries add to a deposit: docs/watch.md", NULL, bench_watch},
    {"load", "a daemon under a steady load, and under attack", NULL, bench_load},
    {"web", "the page for phones, beside lighttpd, and under attack", NULL, bench_web},
    {"phones", "phones in front of a page that runs", NULL, bench_phones},
};
static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

/* build/tests/bench/hearsay-bench belongs to the programs below build/. */
const char *bench_program(const char *name)
{
    static char paths[PROGRAMS_MAX][PATH_BYTES + 64];
    static size_t used;
    char self[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length <= 0 || used == PROGRAMS_MAX) {
        return name;
    }
    self[length] = '\0';
    char *path = paths[used++];
    (void)snprintf(path, sizeof(paths[0]), "%s/../../%s", dirname(self), name);
    return path;
}

struct bench_options bench_standard(void)
{
    return (struct bench_options){.hearsayd = bench_program("daemon/hearsayd"), .dir = "."};
}

void bench_rows(struct bench_options *options, bool *json, struct option_row out[BENCH_ROWS])
{
    const struct option_row rows[BENCH_ROWS] = {
        OPTION_TEXT("hearsayd", "FILE", &options->hearsayd,
                    "the daemon to measure (default: the one built beside this)"),
        OPTION_TEXT("dir", "DIR", &options->dir,
                    "where temporary directories are made, on the storage to be\n"
                    "measured (default: the current directory)"),
        OPTION_FLAG("json", json, "one JSON object a line instead of tables"),
    };

    memcpy(out, rows, sizeof(rows));
}

/* What --help prints of the subcommands. */
static void print_commands(char *out, size_t room)
{
    int used = snprintf(out, room, "Commands:\n");

    for (size_t i = 0; i < command_count; i++) {
        used += snprintf(out + used, room - (size_t)used, "  %-10s %s\n", commands[i].name,
                         commands[i].help);
    }
    (void)snprintf(out + used, room - (size_t)used,
                   "\nThe last eleven have options of their own: hearsay-bench index --help.\n"
                   "Options of the others:");
}

static const struct command *command_named(const char *name)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* A subcommand without options of its own, or all of these. */
static int run_common(int argc, char **argv)
{
    struct bench_options options = bench_standard();
    struct report report = {.out = stdout};
    const char *word = NULL;
    char about[2048];
    struct option_row daemon_rows[BENCH_ROWS];
    const struct option_row rows[] = {
        OPTION_U32("rounds", "N", &options.rounds, 1, BENCH_ROUNDS_MAX,
                   "repetitions (default: each command's own)"),
        OPTION_U32("count", "N", &options.count, 1, BENCH_COUNT_MAX,
                   "messages, deposits or queries a round (default: each\ncommand's own)"),
    };
    const struct options_table table = {
        .about = about,
        .groups = {{NULL, daemon_rows, BENCH_ROWS}, {NULL, rows, sizeof(rows) / sizeof(rows[0])}},
        .word = &word,
    };

    bench_rows(&options, &report.json, daemon_rows);
    print_commands(about, sizeof(about));
    const enum options_outcome outcome = options_read(&table, argc, argv);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    }
    if (word == NULL) {
        options_help(&table, stderr);
        return EXIT_USAGE;
    }
    const struct command *wanted = command_named(word);
    if (wanted == NULL || wanted->run_alone != NULL) {
        (void)bench_fail(wanted == NULL ? "there is no command %s; see hearsay-bench --help"
                                        : "%s has options of its own, which come after it",
                         word);
        return EXIT_USAGE;
    }
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < command_count; i++) {
        const bool is_wanted = wanted->run == NULL || wanted == &commands[i]; /* NULL: all */

        if (is_wanted && commands[i].run != NULL && commands[i].run(&options, &report) != 0) {
            status = EXIT_FAILURE;
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct command *command = argc > 1 ? command_named(argv[1]) : NULL;
    if (command != NULL && command->run_alone != NULL) {
        return command->run_alone(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return run_common(argc, argv);
}
