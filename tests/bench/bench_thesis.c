/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench thesis: the five experiments of the thesis (quality of answers, CPU time, memory,
 * comparisons, build cost), beside the figures that the thesis published, and with more filters
 * than the thesis had. See docs/thesis.md.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bits/bits.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/options.h"
#include "tests/bench/stats.h"
#include "tests/bench/thesis_published.h"
#include "tests/bench/thesis_trial.h"

enum {
    SIZES_MAX = 8,
    FILTERS_MAX = 1000000,
    QUERIES_MAX = 1000,
    ROUNDS = 5,
    WORK_A_ROUND = 200000, /* filters that a list would compare */
    REPEATS_MIN = 2,
    REPEATS_MAX = 500
};

struct options {
    const char *words_file;
    uint64_t seed;
    size_t sizes[SIZES_MAX];
    size_t size_count;
    size_t queries;
    const char *csv_directory;
    const char *plot_directory;
};

/* What one competitor did with all queries. */
struct tally {
    double wrong;
    double squared;   /* sums, over all ranks */
    double deviation; /* of (found - true) / found */
    double counted;   /* sums, over queries */
    double overlaps;
    double us; /* median of the queries */
};

static const uint32_t bits_of[THESIS_SIZES] = {256, 512};
static const uint32_t hashes_of[THESIS_SIZES] = {4, 8};
static const uint32_t ks[] = {1, THESIS_K_MAX};

/* ---- the thesis's measures ---- */

/*
 * Compares answers rank by rank. A rank is wrong if its distance is not the true distance. A rank
 * without a result counts as the greatest distance, 1.
 */
static void judge(const double *truth, uint32_t truth_count, const double *found, uint32_t count,
                  struct tally *tally)
{
    for (uint32_t rank = 0; rank < truth_count; rank++) {
        const double distance = rank < count ? found[rank] : 1;
        const double error = distance - truth[rank];

        tally->wrong += distance != truth[rank];
        tally->squared += error * error;
        tally->deviation += distance > 0 ? fabs(error) / distance : 0;
    }
}

static void judge_published(const struct thesis_published *published, struct tally *list,
                            struct tally *tree)
{
    double us[2][PUBLISHED_QUERIES];

    for (size_t q = 0; q < PUBLISHED_QUERIES; q++) {
        judge(published->optimal[q], published->k, published->computed[q], published->k, tree);
        us[0][q] = published->list_us[q];
        us[1][q] = published->tree_us[q];
    }
    list->us = stats_median(us[0], PUBLISHED_QUERIES);
    tree->us = stats_median(us[1], PUBLISHED_QUERIES);
    list->counted = published->list_comparisons * (double)PUBLISHED_QUERIES;
    tree->counted = published->tree_comparisons * (double)PUBLISHED_QUERIES;
    list->overlaps = tree->overlaps = NAN;
}

/* ---- measuring ---- */

static int time_query(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                      uint32_t k, double *out_us)
{
    const size_t wanted = WORK_A_ROUND / trial->n;
    const size_t repeats = wanted < REPEATS_MIN   ? REPEATS_MIN
                           : wanted > REPEATS_MAX ? REPEATS_MAX
                                                  : wanted;
    struct thesis_answer answer;
    const int64_t begin = stats_cpu_ns();

    for (size_t i = 0; i < repeats; i++) {
        if (thesis_trial_ask(trial, who, query, k, &answer) != 0) {
            return -1;
        }
    }
    *out_us = (double)(stats_cpu_ns() - begin) / 1000 / (double)repeats;
    return 0;
}

/* Some rounds, in which the competitors take turns. */
static int time_all(struct thesis_trial *trial, const uint64_t *query, uint32_t k, double *out_us)
{
    double us[THESIS_MEASURED][ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        for (int who = 0; who < THESIS_MEASURED; who++) {
            if (time_query(trial, (enum thesis_column)who, query, k, &us[who][round]) != 0) {
                return -1;
            }
        }
    }
    for (int who = 0; who < THESIS_MEASURED; who++) {
        out_us[who] = stats_median(us[who], ROUNDS);
    }
    return 0;
}

static int ask_all(struct thesis_trial *trial, size_t q, uint32_t k, struct thesis_report *report,
                   struct tally *tallies)
{
    const uint64_t *query = trial->data->queries + q * trial->data->words;
    struct thesis_answer answers[THESIS_MEASURED] = {0};

    for (int who = 0; who < THESIS_MEASURED; who++) {
        if (thesis_trial_ask(trial, (enum thesis_column)who, query, k, &answers[who]) != 0) {
            return -1;
        }
    }
    const struct thesis_answer *truth = &answers[THESIS_LIST];
    for (int who = 0; who < THESIS_MEASURED; who++) {
        judge(truth->distances, truth->count, answers[who].distances, answers[who].count,
              &tallies[who]);
        tallies[who].counted += answers[who].counted;
        tallies[who].overlaps += answers[who].overlaps;
    }
    for (uint32_t rank = 0; rank < truth->count; rank++) {
        double found[THESIS_MEASURED];

        for (int who = 0; who < THESIS_MEASURED; who++) {
            found[who] = rank < answers[who].count ? answers[who].distances[rank] : NAN;
        }
        thesis_report_answer(report, k, q, rank + 1, truth->distances[rank], found);
    }
    return 0;
}

static int time_queries(struct thesis_trial *trial, uint32_t k, struct tally *tallies)
{
    const size_t queries = trial->data->query_count;
    double *us = calloc(queries * THESIS_MEASURED, sizeof(*us));
    int rc = us == NULL ? bench_fail("memory is short") : 0;

    for (size_t q = 0; rc == 0 && q < queries; q++) {
        double one[THESIS_MEASURED];

        rc = time_all(trial, trial->data->queries + q * trial->data->words, k, one);
        for (size_t who = 0; rc == 0 && who < THESIS_MEASURED; who++) {
            us[who * queries + q] = one[who];
        }
    }
    for (size_t who = 0; rc == 0 && who < THESIS_MEASURED; who++) {
        tallies[who].us = stats_median(us + who * queries, queries);
    }
    free(us);
    return rc;
}

/* ---- rows ---- */

static void put(struct thesis_report *report, const char *key, const char *text, int digits,
                uint32_t k, enum thesis_plot plot, const double *values)
{
    struct thesis_row row = {.key = key, .text = text, .digits = digits, .k = k, .plot = plot};

    memcpy(row.values, values, sizeof(row.values));
    thesis_report_row(report, &row);
}

/* Computes the figures of one k: the sums divided by the number of queries. */
static void put_tallies(struct thesis_report *report, const struct tally *tallies, uint32_t k,
                        double queries, bool published)
{
    double wrong[THESIS_COLUMNS];
    double share[THESIS_COLUMNS];
    double squared[THESIS_COLUMNS];
    double deviation[THESIS_COLUMNS];
    double us[THESIS_COLUMNS];
    double counted[THESIS_COLUMNS];
    double overlaps[THESIS_COLUMNS];

    for (size_t i = 0; i < THESIS_COLUMNS; i++) {
        const struct tally *tally = &tallies[i];
        const bool measured = i < THESIS_MEASURED;
        const double asked = measured ? queries : PUBLISHED_QUERIES;
        const double there = measured || published ? 1 : NAN; /* times NAN is NAN */

        wrong[i] = tally->wrong * there;
        share[i] = 100 * tally->wrong / (asked * k) * there;
        squared[i] = tally->squared / (asked * k) * there;
        deviation[i] = 100 * tally->deviation / (asked * k) * there;
        us[i] = tally->us * there;
        counted[i] = tally->counted / asked * there;
        overlaps[i] = tally->overlaps / asked * there;
    }
    put(report, "wrong_ranks", "wrong ranks", 0, k, THESIS_PLOT_NONE, wrong);
    put(report, "wrong_percent", "wrong ranks, %", 1, k, PLOT_WRONG, share);
    put(report, "squared_error_mean", "squared error of the distance, mean", 6, k, THESIS_PLOT_NONE,
        squared);
    put(report, "deviation_percent", "deviation from the true distance, %", 2, k, THESIS_PLOT_NONE,
        deviation);
    put(report, "cpu_us_median", "CPU time, us (median)", 2, k, PLOT_TIME, us);
    put(report, "comparisons_counted_as_there", "comparisons, counted as there", 0, k,
        THESIS_PLOT_NONE, counted);
    put(report, "overlaps_computed", "overlaps really computed", 0, k, PLOT_OVERLAPS, overlaps);
}

static int measure_k(struct thesis_trial *trial, uint32_t k, struct thesis_report *report)
{
    const struct thesis_published *published = thesis_published(trial->data->bits, k);
    struct tally tallies[THESIS_COLUMNS] = {{0}};
    const bool beside = published != NULL && trial->n == PUBLISHED_FILTERS;

    for (size_t q = 0; q < trial->data->query_count; q++) {
        if (ask_all(trial, q, k, report, tallies) != 0) {
            return -1;
        }
    }
    if (time_queries(trial, k, tallies) != 0) {
        return -1;
    }
    if (beside) {
        judge_published(published, &tallies[PUBLISHED_LIST], &tallies[PUBLISHED_TREE]);
    }
    put_tallies(report, tallies, k, (double)trial->data->query_count, beside);
    return 0;
}

/*
 * Returns the thesis's estimate of the build cost of its tree for N filters: N ln N for the keys,
 * and log N to the base 7 for the place. Its estimate for the list is 1.
 */
static double estimated_cost(size_t n)
{
    const double count = (double)n;

    return count * log(count) + log(count) / log(THESIS_FANOUT);
}

static void put_memory_and_build(struct thesis_trial *trial, struct thesis_report *report)
{
    const bool beside = trial->n == PUBLISHED_FILTERS;
    const struct thesis_published *published = thesis_published(trial->data->bits, 1);
    const double n = (double)trial->n;
    double counted[THESIS_COLUMNS];
    double bytes[THESIS_COLUMNS];
    double build[THESIS_COLUMNS];
    double bulk[THESIS_COLUMNS];
    double tests[THESIS_COLUMNS];
    double cost[THESIS_COLUMNS];

    for (int i = 0; i < THESIS_COLUMNS; i++) {
        const bool measured = i < THESIS_MEASURED;
        const enum thesis_column who = (enum thesis_column)i;

        counted[i] = measured ? thesis_trial_bytes_counted(trial, who) : NAN;
        bytes[i] = measured ? thesis_trial_bytes(trial, who) / n : NAN;
        build[i] = measured ? trial->build_us[i] : NAN;
        bulk[i] = measured ? trial->bulk_us[i] : NAN;
        tests[i] = who == THESIS_TREE ? (double)trial->tree->tests / n : NAN;
        cost[i] = who == THESIS_LIST ? 1 : who == THESIS_TREE ? estimated_cost(trial->n) : NAN;
    }
    if (beside) {
        counted[PUBLISHED_LIST] = published->list_bytes;
        counted[PUBLISHED_TREE] = published->tree_bytes;
        cost[PUBLISHED_LIST] = thesis_published_list_cost;
        cost[PUBLISHED_TREE] = thesis_published_tree_cost;
    }
    put(report, "memory_counted_as_there_bytes", "memory, counted as there (4 bytes a bit)", 0, 0,
        THESIS_PLOT_NONE, counted);
    put(report, "memory_bytes_a_filter", "memory, bytes a filter", 1, 0, PLOT_MEMORY, bytes);
    put(report, "build_estimate", "build cost, estimated as there", 3, 0, THESIS_PLOT_NONE, cost);
    put(report, "build_set_tests_a_filter", "subset and superset tests a filter", 1, 0,
        THESIS_PLOT_NONE, tests);
    put(report, "build_us_a_filter", "build one after another, us CPU a filter", 2, 0, PLOT_BUILD,
        build);
    put(report, "bulk_us_a_filter", "build in bulk, us CPU a filter", 2, 0, THESIS_PLOT_NONE, bulk);
}

static int measure(const struct thesis_data *data, uint32_t size, size_t n,
                   const struct bits_kernels *kernels, struct thesis_report *report)
{
    struct thesis_trial trial;
    int rc = thesis_trial_init(&trial, data, n, kernels);

    if (rc == 0) {
        thesis_report_begin(report, size, data->bits, data->hashes, n);
    }
    for (size_t i = 0; rc == 0 && i < sizeof(ks) / sizeof(ks[0]); i++) {
        rc = measure_k(&trial, ks[i], report);
    }
    if (rc == 0) {
        put_memory_and_build(&trial, report);
        (void)fflush(stdout); /* a broken pipe is found when the program ends */
    }
    thesis_trial_deinit(&trial);
    return rc;
}

static int measure_all(const struct options *options, const struct wordlist *list,
                       const struct bits_kernels *kernels, struct thesis_report *report)
{
    size_t most = 0;
    int rc = 0;

    for (size_t i = 0; i < options->size_count; i++) {
        most = options->sizes[i] > most ? options->sizes[i] : most;
    }
    for (uint32_t s = 0; rc == 0 && s < THESIS_SIZES; s++) {
        struct thesis_data data;

        rc = thesis_data_make(list, bits_of[s], hashes_of[s], options->queries, most, options->seed,
                              &data);
        for (size_t i = 0; rc == 0 && i < options->size_count; i++) {
            rc = measure(&data, s, options->sizes[i], kernels, report);
        }
        thesis_data_deinit(&data);
    }
    return rc;
}

static int run_thesis(const struct options *options)
{
    const struct bits_kernels *kernels = bench_kernels();
    struct thesis_report *report = calloc(1, sizeof(*report)); /* its plots are big */
    struct wordlist list = {0};

    if (kernels == NULL || report == NULL) {
        free(report);
        return kernels == NULL ? -1 : bench_fail("memory is short");
    }
    int rc = thesis_report_open(report, options->csv_directory, options->plot_directory);
    if (rc == 0) {
        rc = wordlist_read(options->words_file, &list);
    }
    if (rc == 0) {
        printf("words: %s, %zu words, XXH3-64 %016" PRIx64 "; seed %" PRIu64 "\n"
               "%d words a filter, %zu queries; list and tree of core with %s\n",
               options->words_file, list.count, list.checksum, options->seed, THESIS_WORDS_A_FILTER,
               options->queries, kernels->name);
        rc = measure_all(options, &list, kernels, report);
    }
    if (rc != 0) {
        report->plot_directory = NULL; /* half a plot would be taken for a whole one */
    }
    if (thesis_report_close(report) != 0) {
        rc = -1;
    }
    wordlist_deinit(&list);
    free(report);
    return rc;
}

/* ---- options ---- */

/* "100,1000": numbers with commas between. */
static int parse_sizes(char *text, void *destination)
{
    struct options *options = destination;
    const char *rest = text;

    options->size_count = 0;
    while (options->size_count < SIZES_MAX && *rest >= '0' && *rest <= '9') {
        char *end = NULL;
        const unsigned long long value = strtoull(rest, &end, 10);

        if (value < 1 || value > FILTERS_MAX || (*end != '\0' && *end != ',')) {
            break;
        }
        options->sizes[options->size_count++] = (size_t)value;
        if (*end == '\0') {
            return 0;
        }
        rest = end + 1;
    }
    return bench_fail("-n takes up to %d numbers from 1 to %d with commas between, not %s",
                      SIZES_MAX, FILTERS_MAX, text);
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    const struct option_row rows[] = {
        {.name = "n",
         .value = "N[,N...]",
         .parse = parse_sizes,
         .destination = options,
         .help = "numbers of filters, 1 to 1000000, at most 8 (default:\n"
                 "100,1000,10000,100000); ten times as many take the thesis's\n"
                 "insertion a hundred times as long"},
        {.name = "query-count",
         .value = "N",
         .size = &options->queries,
         .least = 1,
         .most = QUERIES_MAX,
         .help = "queries (default: 10)"},
        {.name = "words",
         .value = "FILE",
         .text = &options->words_file,
         .help = "a word a line (default: /usr/share/dict/words)"},
        {.name = "seed",
         .value = "N",
         .u64 = &options->seed,
         .most = UINT64_MAX,
         .help = "of the words that are chosen (default: 1)"},
        {.name = "csv",
         .value = "DIR",
         .text = &options->csv_directory,
         .help = "writes figures.csv and answers.csv there"},
        {.name = "plot",
         .value = "DIR",
         .text = &options->plot_directory,
         .help = "draws plots there with gnuplot, as SVG and PNG"},
    };
    const struct options_table table = {
        .command = "thesis",
        .about = "The experiments of the thesis: its list and its tree, the list and the tree of "
                 "core,\n"
                 "and the published figures; 50 words a filter, 256 bits (d = 4) and 512 (d = 8), "
                 "k = 1\n"
                 "and 3. About a minute by default, most of it the insertions of the thesis. See\n"
                 "docs/thesis.md for what the figures mean.\n",
        .notes = "HEARSAY_CPU=scalar, avx2 or avx512 forces the kernels of core's engines.\n",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    return options_read(&table, argc, argv);
}

int bench_thesis(int argc, char **argv)
{
    struct options options = {
        .words_file = filters_standard.words_file,
        .seed = 1,
        .sizes = {100, 1000, 10000, 100000},
        .size_count = 4,
        .queries = 10,
    };
    const enum options_outcome outcome = read_options(argc, argv, &options);

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return run_thesis(&options);
}
