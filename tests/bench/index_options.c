/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/index_options.h"

#include <string.h>

#include "tests/bench/bench.h"
#include "tests/reference/engines.h"

static int parse_engines(char *text, void *destination)
{
    struct index_bench_options *options = destination;

    options->engine_count = 0;
    for (char *name = strtok(text, ","); name != NULL; name = strtok(NULL, ",")) {
        const struct index_engine *engine = engine_named(name);

        if (engine == NULL || options->engine_count == INDEX_ENGINES_MAX) {
            return bench_fail("--engine takes up to %d names that --help lists, not %s",
                              INDEX_ENGINES_MAX, name);
        }
        options->contenders[options->engine_count++] = (struct index_contender){name, engine};
    }
    return options->engine_count > 0 ? 0 : bench_fail("--engine takes names with commas between");
}

static int parse_metric(char *text, void *destination)
{
    enum index_metric *metric = destination;

    if (strcmp(text, "phi") == 0) {
        *metric = INDEX_METRIC_PHI;
    } else if (strcmp(text, "bits") == 0) {
        *metric = INDEX_METRIC_BITS;
    } else {
        return bench_fail("--metric takes phi or bits, not %s", text);
    }
    return 0;
}

/* -m 512 -d 4 is short for --profile v2:512/4. Without either the default stays. */
static int resolve_profile(struct index_bench_options *options)
{
    const bool by_number = options->bits != 0 || options->hashes != 0;
    const char *reason = NULL;
    char text[PROFILE_TEXT_MAX];

    if (by_number && options->profile_text != NULL) {
        return bench_fail("-m and -d are short for --profile v2:M/D; give either, not both");
    }
    if (!by_number && options->profile_text == NULL) {
        return 0;
    }
    const int length =
        options->profile_text != NULL
            ? snprintf(text, sizeof(text), "%s", options->profile_text)
            : snprintf(text, sizeof(text), "v2:%u/%u", (unsigned)bench_or(options->bits, 512),
                       (unsigned)bench_or(options->hashes, 4));
    if (length >= (int)sizeof(text)) {
        return bench_fail("the profile is longer than %zu bytes", sizeof(text) - 1);
    }
    if (profile_parse(text, strlen(text), &options->profile, &reason) != 0) {
        return bench_fail("%s %s: %s", by_number ? "-m, -d: profile" : "--profile", text, reason);
    }
    return 0;
}

/* The help text of --engine: the names are those of the engines in core. */
static void print_engines(char *out, size_t room)
{
    int used = snprintf(out, room, "of:");

    for (const struct index_engine *const *engine = all_engines(); *engine != NULL; engine++) {
        used += snprintf(out + used, room - (size_t)used, " %s", (*engine)->name);
    }
    (void)snprintf(out + used, room - (size_t)used,
                   " best-path (default: list,tree);\nrecall is against the first");
}

enum options_outcome index_options_read(int argc, char **argv, struct index_bench_options *options)
{
    char engines[256];
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row stored_rows[] = {
        OPTION_SIZE("n", "N", &options->filters.count, 1, FILTERS_COUNT_MAX,
                    "filters to store (default: 100000 made up, or all there are)"),
        OPTION_TEXT("queries", "FILE", &options->filters.queries_file,
                    "raw filters to ask for (default: the workload's own)"),
        OPTION_SIZE("query-count", "N", &options->filters.query_count, 1, FILTERS_COUNT_MAX,
                    "queries (default: 200 made up, or all there are)"),
        OPTION_TEXT("profile", "PROFILE", &options->profile_text,
                    "how labels become filters (default: hearsayd's)"),
        OPTION_U32("m", "M", &options->bits, 1, PROFILE_BITS_MAX,
                   "with -d D short for --profile v2:M/D"),
        OPTION_U32("d", "D", &options->hashes, 1, PROFILE_HASHES_MAX,
                   "with -m M short for --profile v2:M/D"),
    };
    const struct option_row query_rows[] = {
        OPTION_U32("k", "K", &options->k, 1, BENCH_K_MAX, "answers wanted (default: 10)"),
        OPTION_FLAG("contains", &options->contains,
                    "only filters that contain one label of the query's"),
        OPTION_PARSE("metric", "phi|bits", parse_metric, &options->metric,
                     "of the similarity (default: that of a query)"),
        OPTION_U64("budget", "N", &options->budget, 0, UINT64_MAX,
                   "comparisons after which a query ends (default: 0, none)"),
    };
    const struct option_row engine_rows[] = {
        OPTION_PARSE("engine", "A[,B...]", parse_engines, options, engines),
        OPTION_FLAG("one-by-one", &options->one_by_one, "messages are inserted and not arranged"),
        OPTION_FLAG("alone", &options->alone, "asks each engine alone, too, and with empty caches"),
    };
    const struct option_row result_rows[] = {
        OPTION_FLAG("json", &options->json, "one JSON object an engine instead of a table"),
        OPTION_TEXT("plot", "DIR", &options->plot_directory,
                    "measures the first 100, 1000 and so on, too, and draws\n"
                    "index-time and index-bytes there with gnuplot, SVG and PNG"),
    };
    const struct options_table table = {
        .command = "index",
        .about = "The engines of the index on the same filters and queries, in turns. "
                 "docs/tree.md\n",
        .notes = "HEARSAY_CPU=scalar, avx2, avx512 or neon forces the kernels.\n",
        .groups = {{"Filters", filter_rows, FILTERS_ROWS},
                   {NULL, stored_rows, sizeof(stored_rows) / sizeof(stored_rows[0])},
                   {"Queries", query_rows, sizeof(query_rows) / sizeof(query_rows[0])},
                   {"Engines", engine_rows, sizeof(engine_rows) / sizeof(engine_rows[0])},
                   {"Results", result_rows, sizeof(result_rows) / sizeof(result_rows[0])}},
    };

    filters_rows(&options->filters, filter_rows);
    print_engines(engines, sizeof(engines));
    const enum options_outcome outcome = options_read(&table, argc, argv);
    return outcome == OPTIONS_RUN && resolve_profile(options) != 0 ? OPTIONS_REFUSED : outcome;
}
