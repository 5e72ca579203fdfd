/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench similar: what it takes to find groups of near-duplicates (core/index/similar.h), as
 * processor time, beside 1,000 queries for the k nearest of the same index. Once with the messages
 * of a workload, and once with some of them and a flood of equal messages. Both take turns.
 */
#include "core/index/similar.h"
#include "core/tree/engine.h"
#include "daemon/host/arrange.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"

enum { QUERIES = 1000, ROUNDS = 5, K = 10, GROUPS = 100, WORK = 1 << 15 };

static const double most_times = 20; /* the goal: as long as 20 times 1,000 queries, at most */

struct options {
    struct filters_options filters;
    const char *profile_text;
    size_t flood; /* equal messages in the second run */
    uint32_t within_ppm;
    bool json;
};

struct run {
    const struct options *options;
    const struct bits_kernels *kernels;
    struct filters filters;
    const char *name;
    struct index *index;
    struct similar_group groups[GROUPS];
    struct similar_list list;
    double longest_ns; /* of a slice: WORK units of similar_step */
};

/* --- the two sides ---------------------------------------------------------------------------- */

static int ask_all(struct run *run, double *out_ns)
{
    const int64_t begin = stats_cpu_ns();

    for (size_t q = 0; q < QUERIES; q++) {
        const size_t of = q % run->filters.queries.count;
        struct index_search *search = NULL;
        const struct index_part part = {.index = run->index,
                                        .filter = run->filters.queries.words +
                                                  of * run->filters.filter_words};
        const struct index_query query = plain_index_query(&part, 1, K);

        if (index_search_new(alloc_system(), &query, &search) != 0) {
            return bench_fail("memory is short");
        }
        (void)index_search_step(search, UINT64_MAX, 0);
        index_search_free(search);
    }
    *out_ns = (double)(stats_cpu_ns() - begin);
    return 0;
}

static void note_slice(struct run *run, int64_t begin)
{
    const double ns = (double)(stats_cpu_ns() - begin);

    run->longest_ns = ns > run->longest_ns ? ns : run->longest_ns;
}

static int find_groups(struct run *run, double *out_ns)
{
    const struct similar_options options = {.alloc = alloc_system(),
                                            .index = run->index,
                                            .bits = run->filters.profile.bits,
                                            .within_ppm = run->options->within_ppm,
                                            .seed = 4711};
    struct similar *similar = NULL;
    const int64_t begin = stats_cpu_ns();
    int rc = SIMILAR_MORE;

    run->list = (struct similar_list){.groups = run->groups, .limit = GROUPS};
    if (similar_new(&options, &run->list, 0, &similar) != 0) {
        return bench_fail("memory is short");
    }
    while (rc == SIMILAR_MORE) {
        const int64_t slice = stats_cpu_ns();

        rc = similar_step(similar, WORK, 0);
        note_slice(run, slice);
    }
    similar_free(similar);
    similar_list_sort(&run->list);
    *out_ns = (double)(stats_cpu_ns() - begin);
    return rc == 0 ? 0 : bench_fail("memory is short");
}

/* --- figures ---------------------------------------------------------------------------------- */

static void print(const struct run *run, double *queries_ns, double *similar_ns)
{
    double ratios[ROUNDS];
    const double n = (double)index_count(run->index);

    for (size_t r = 0; r < ROUNDS; r++) {
        ratios[r] = similar_ns[r] / queries_ns[r];
    }
    const double ratio = stats_median(ratios, ROUNDS);
    const double queries_ms = stats_median(queries_ns, ROUNDS) / 1e6;
    const double similar_ms = stats_median(similar_ns, ROUNDS) / 1e6;
    const uint64_t largest = run->list.count > 0 ? run->groups[0].count : 0;

    if (run->options->json) {
        printf("{\"workload\":\"%s\",\"n\":%.0f,\"within_ppm\":%u,\"queries_ms\":%.3f,"
               "\"similar_ms\":%.3f,\"ratio\":%.3f,\"goal\":%.0f,\"groups\":%llu,\"largest\":%llu,"
               "\"longest_slice_us\":%.0f,\"cpu\":\"%s\"}\n",
               run->name, n, run->options->within_ppm, queries_ms, similar_ms, ratio, most_times,
               (unsigned long long)run->list.total, (unsigned long long)largest,
               run->longest_ns / 1000, run->kernels->name);
        return;
    }
    printf("%-16s %9.0f messages: %d queries %8.1f ms, groups %8.1f ms, ratio %6.1f (goal %.0f: "
           "%s)\n%-16s %llu groups, the largest of %llu messages; "
           "longest slice %.2f ms\n",
           run->name, n, QUERIES, queries_ms, similar_ms, ratio, most_times,
           ratio <= most_times ? "met" : "missed", "", (unsigned long long)run->list.total,
           (unsigned long long)largest, run->longest_ns / 1e6);
}

static int measure(struct run *run)
{
    double queries_ns[ROUNDS];
    double similar_ns[ROUNDS];
    int rc = index_arrange(run->index, NULL) != 0 ? bench_fail("memory is short") : 0;

    run->longest_ns = 0;
    for (size_t r = 0; rc == 0 && r < ROUNDS; r++) {
        rc = ask_all(run, &queries_ns[r]);
        rc = rc == 0 ? find_groups(run, &similar_ns[r]) : rc;
    }
    if (rc == 0) {
        print(run, queries_ns, similar_ns);
    }
    return rc;
}

/* Inserts the stored filters first .. end - 1 of the workload; `equal`: all as the first one. */
static int insert(const struct run *run, size_t first, size_t end, bool equal)
{
    for (size_t i = first; i < end; i++) {
        const struct index_item item = filters_item(i);

        if (index_insert(run->index, &item, filters_stored(&run->filters, equal ? first : i)) !=
            0) {
            return bench_fail("memory is short");
        }
    }
    return 0;
}

static int measure_with(struct run *run, const char *name, size_t flood)
{
    const size_t count = run->filters.stored.count;
    const size_t equal = flood < count ? flood : count;

    run->name = name;
    if (bench_index_new(&tree_engine, &run->filters.profile, run->kernels, &run->index) != 0) {
        return -1;
    }
    int rc = insert(run, 0, count - equal, false);
    rc = rc == 0 ? insert(run, count - equal, count, true) : rc;
    rc = rc == 0 ? measure(run) : rc;
    index_free(run->index);
    run->index = NULL;
    return rc;
}

static int run_similar(const struct options *options)
{
    struct run run = {.options = options, .kernels = bench_kernels()};
    struct profile profile;
    int rc = run.kernels != NULL ? bench_profile(options->profile_text, &profile) : -1;

    rc = rc == 0 ? filters_make(&options->filters, &profile, &run.filters) : rc;
    if (rc == 0 && (run.filters.stored.count == 0 || run.filters.queries.count == 0)) {
        rc = bench_fail("there is nothing to store or to ask");
    }
    rc = rc == 0 ? measure_with(&run, options->filters.workload, 0) : rc;
    rc = rc == 0 ? measure_with(&run, "with a flood", options->flood) : rc;
    filters_deinit(&run.filters);
    return rc;
}

int bench_similar(int argc, char **argv)
{
    struct options options = {.filters = filters_standard,
                              .profile_text = "v2:512/4",
                              .flood = 60000,
                              .within_ppm = 100000};
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options.filters.count, 1, FILTERS_COUNT_MAX,
                    "messages (default: 100000 made up, or all there are)"),
        OPTION_SIZE("flood", "N", &options.flood, 1, FILTERS_COUNT_MAX,
                    "equal messages among those of the second run (default:\n60000)"),
        OPTION_U32("within-ppm", "N", &options.within_ppm, 0, DISTANCE_ONE_PPM,
                   "the distance in millionths (default: 100000)"),
        OPTION_TEXT("profile", "PROFILE", &options.profile_text,
                    "how labels become filters (default: v2:512/4)"),
        OPTION_FLAG("json", &options.json, "one JSON object a line"),
    };
    const struct options_table table = {
        .command = "similar",
        .about = "Groups of near-duplicates beside 1,000 queries. docs/performance.md\n",
        .groups = {{"Filters", filter_rows, FILTERS_ROWS},
                   {NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    filters_rows(&options.filters, filter_rows);
    const enum options_outcome outcome = options_read(&table, argc, argv);
    arrange_tune_memory(); /* as hearsayd does: fresh blocks are not cleared at once */
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return run_similar(&options);
}
