/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench: measures hearsayd, beside something that it can be compared with.
 */
#include <getopt.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/bench_arrange.h"
#include "tests/bench/bench_epochs.h"
#include "tests/bench/bench_index.h"
#include "tests/bench/bench_load.h"
#include "tests/bench/bench_thesis.h"
#include "tests/bench/bench_watch.h"

enum { EXIT_USAGE = 2, PATH_BYTES = 4096 };

struct command {
    const char *name;
    int (*run)(const struct bench_options *options, struct report *report);
    const char *help;
};

/* `all` runs them in this order. */
static const struct command commands[] = {
    {"deposit", bench_deposit, "durable deposits a second, beside SQLite alone"},
    {"query", bench_query, "queries a second and their times, beside a libuv echo server"},
    {"memory", bench_memory, "resident bytes a stored message, and where they go"},
    {"filters", bench_filters, "the filters beside the index: docs/filters.md"},
    {"ids", bench_ids, "the table of ids beside a cuckoo filter, and what new ids read"},
    {"start", bench_start, "time from start to ready with many messages"},
    {"list", bench_list, "the exact list beside the machine's bandwidth and a popcount loop"},
    {"encode", bench_encode, "a context of 30 labels to its filter, beside the hashes alone"},
    {"joint", bench_joint, "what unions claim, with and without a joint section"},
};
static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

int bench_fail(const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    fprintf(stderr, "hearsay-bench: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    return -1;
}

const struct bits_kernels *bench_kernels(void)
{
    enum bits_level level = BITS_BEST;
    const char *wanted = getenv("HEARSAY_CPU");

    if (wanted != NULL && bits_level_parse(wanted, &level) != 0) {
        (void)bench_fail("HEARSAY_CPU is none of " BITS_LEVEL_NAMES);
        return NULL;
    }
    return bits_select(level);
}

static void print_help(FILE *out)
{
    fprintf(out, "usage: hearsay-bench COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "  %-10s all of these\n", "all");
    fprintf(out, "  %-10s the engines of the index beside one another: docs/tree.md\n", "index");
    fprintf(out, "  %-10s what it takes to arrange an index while it serves\n", "arrange");
    fprintf(out, "  %-10s a query over many epochs beside one tree: docs/tree.md\n", "epochs");
    fprintf(out, "  %-10s the thesis's tree beside the index: docs/thesis.md\n", "thesis");
    fprintf(out, "  %-10s what standing queries add to a deposit: docs/watch.md\n", "watch");
    fprintf(out, "  %-10s a daemon under a steady load, and under attack\n\n", "load");
    fprintf(out, "The last six have options of their own: hearsay-bench index --help.\n"
                 "Options of the others:\n");
    fprintf(out, "  --hearsayd FILE  the daemon to measure (default: the one built beside this)\n"
                 "  --dir DIR        where temporary directories are made, on the storage to be\n"
                 "                   measured (default: the current directory)\n"
                 "  --rounds N       repetitions (default: each command's own)\n"
                 "  --count N        messages, deposits or queries a round (default: each\n"
                 "                   command's own)\n"
                 "  --json           one JSON object a line instead of tables\n"
                 "  --help           this text\n");
}

/* A whole number from 1 to `most`. */
static bool parse_number(const char *text, uint32_t most, uint32_t *out)
{
    char *end = NULL;
    const unsigned long value = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0 || value > most) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* build/tests/bench/hearsay-bench lies beside build/daemon/hearsayd. */
static const char *default_daemon(void)
{
    static char path[PATH_BYTES + 32];
    char self[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length <= 0) {
        return "hearsayd";
    }
    self[length] = '\0';
    snprintf(path, sizeof(path), "%s/../../daemon/hearsayd", dirname(self));
    return path;
}

enum outcome { RUN, DONE, REFUSED };

static enum outcome refuse(const char *what, const char *value)
{
    fprintf(stderr, "hearsay-bench: %s%s; see hearsay-bench --help\n", what, value);
    return REFUSED;
}

static enum outcome parse_options(int argc, char **argv, struct bench_options *options,
                                  struct report *report)
{
    static const struct option known[] = {
        {"hearsayd", required_argument, NULL, 'd'},
        {"dir", required_argument, NULL, 'D'},
        {"rounds", required_argument, NULL, 'r'},
        {"count", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        switch (option) {
        case 'd':
            options->hearsayd = optarg;
            break;
        case 'D':
            options->dir = optarg;
            break;
        case 'j':
            report->json = true;
            break;
        case 'r':
            if (!parse_number(optarg, BENCH_ROUNDS_MAX, &options->rounds)) {
                return refuse("--rounds takes a number from 1 to 99, not ", optarg);
            }
            break;
        case 'c':
            if (!parse_number(optarg, BENCH_COUNT_MAX, &options->count)) {
                return refuse("--count takes a number from 1 to 1000000, not ", optarg);
            }
            break;
        case 'h':
            print_help(stdout);
            return DONE;
        default:
            return REFUSED;
        }
    }
    return RUN;
}

int main(int argc, char **argv)
{
    struct bench_options options = {.hearsayd = default_daemon(), .dir = "."};
    struct report report = {.out = stdout};
    bool found = false;
    int status = EXIT_SUCCESS;

    (void)signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "index") == 0) { /* it has options of its own */
        return bench_index(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "arrange") == 0) {
        return bench_arrange(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "epochs") == 0) {
        return bench_epochs(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "thesis") == 0) {
        return bench_thesis(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "watch") == 0) {
        return bench_watch(argc - 1, argv + 1) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "load") == 0) {
        return bench_load(argc - 1, argv + 1, default_daemon()) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    const enum outcome outcome = parse_options(argc, argv, &options, &report);
    if (outcome != RUN) {
        return outcome == DONE ? EXIT_SUCCESS : EXIT_USAGE;
    }
    if (optind + 1 != argc) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(argv[optind], "all") != 0 && strcmp(argv[optind], commands[i].name) != 0) {
            continue;
        }
        found = true;
        if (commands[i].run(&options, &report) != 0) {
            status = EXIT_FAILURE;
        }
    }
    if (!found) {
        (void)refuse("there is no command ", argv[optind]);
        return EXIT_USAGE;
    }
    return status;
}
