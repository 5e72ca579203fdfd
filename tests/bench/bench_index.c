/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench index: compares the engines of the index with the same filters and the same
 * queries. The engines take turns after each query. A list reads all filters, so in its turn an
 * engine finds little of its own memory in the caches. With --alone each engine is also asked
 * without turns, and with empty caches.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/defaults.h"
#include "tests/bench/index_options.h"
#include "tests/bench/index_plot.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum { CHANGES = 2000, ROUNDS = 3, CACHE_BYTES = 128 * 1024 * 1024 };

/* One engine at work. */
struct side {
    const char *name;
    const struct index_engine *engine;
    struct index *index;
    double *query_ns; /* the median of each query's rounds */
    double alone_ns;  /* median of all queries, one after another; 0: not measured */
    double cold_ns;   /* the same with empty caches */
    double bytes;
    double comparisons;
    double hits;
    double build_ns;
    double insert_ns;
    double delete_ns;
    double overhead_share;
};

struct run {
    const struct index_bench_options *options;
    const struct bits_kernels *kernels;
    struct filters filters;
    struct side sides[INDEX_ENGINES_MAX];
    struct nearest_candidate *truth; /* the first engine's answer to the query under way */
    uint32_t truth_count;
    struct index_plot *plot; /* NULL without --plot */
    uint8_t *cache;          /* CACHE_BYTES that fill all caches; NULL without --alone */
};

/*
 * Returns the bytes of a list of the same messages. The overhead of an engine is what the engine
 * takes beyond these bytes.
 */
static double list_bytes_beyond(const struct run *run)
{
    struct index *list = NULL;
    double bytes = 0;

    if (bench_index_new(&list_engine, &run->filters.profile, run->kernels, &list) != 0) {
        return 0;
    }
    if (filters_insert(&run->filters, list, 0, run->filters.stored.count) == 0) {
        bytes = (double)index_bytes(list);
    }
    index_free(list);
    return bytes;
}

static int build(const struct run *run, struct side *side, double list_bytes)
{
    const size_t count = run->filters.stored.count;

    if (bench_index_new(side->engine, &run->filters.profile, run->kernels, &side->index) != 0) {
        return -1;
    }
    const int64_t begin = stats_cpu_ns();
    if (filters_insert(&run->filters, side->index, 0, count) != 0 ||
        (!run->options->one_by_one && index_arrange(side->index, NULL) != 0)) {
        return bench_fail("%s: memory is short", side->name);
    }
    side->build_ns = (double)(stats_cpu_ns() - begin) / (double)count;
    side->overhead_share = ((double)index_bytes(side->index) - list_bytes) /
                           ((double)count * run->filters.profile.bits / 8);
    return 0;
}

/* Removes and inserts again some messages spread over all. */
static int change(const struct run *run, struct side *side)
{
    const size_t count = run->filters.stored.count;
    const size_t changes = count / 2 < CHANGES ? count / 2 : CHANGES;
    const size_t step = changes == 0 ? 1 : count / changes;

    int64_t begin = stats_cpu_ns();
    for (size_t c = 0; c < changes; c++) {
        const struct index_item item = filters_item(c * step);

        if (index_remove(side->index, item.id, NULL) != 0) {
            return bench_fail("%s: a message is gone", side->name);
        }
    }
    side->delete_ns = (double)(stats_cpu_ns() - begin) / (double)(changes == 0 ? 1 : changes);
    begin = stats_cpu_ns();
    for (size_t c = 0; c < changes; c++) {
        if (filters_insert(&run->filters, side->index, c * step, c * step + 1) != 0) {
            return -1;
        }
    }
    side->insert_ns = (double)(stats_cpu_ns() - begin) / (double)(changes == 0 ? 1 : changes);
    return 0;
}

/*
 * Compares an answer with the answer of the first engine, and returns how many results are right.
 * Keeps the answer of the first engine.
 */
static double judge(struct run *run, bool first, const struct nearest_candidate *found,
                    uint32_t count)
{
    uint32_t right = 0;

    if (first) {
        memcpy(run->truth, found, count * sizeof(*found));
        run->truth_count = count;
    }
    for (uint32_t i = 0; i < count && i < run->truth_count; i++) {
        right += memcmp(found[i].item.id, run->truth[i].item.id, MESSAGE_ID_BYTES) == 0;
    }
    return run->truth_count == 0 ? 1 : (double)right / run->truth_count;
}

static int ask(struct run *run, size_t s, size_t q, bool count_it, double *out_ns)
{
    struct side *side = &run->sides[s];
    const size_t words = run->filters.filter_words;
    struct index_part part = {.index = side->index,
                              .filter = run->filters.queries.words + q * words};
    struct index_search *search = NULL;
    uint32_t count = 0;

    if (run->options->contains) {
        part.contains = run->filters.wanted.words + q * words;
    }
    struct index_query query = plain_index_query(&part, 1, run->options->k);

    query.metric = run->options->metric;
    query.budget = run->options->budget;
    const int64_t begin = stats_now_ns();
    if (index_search_new(alloc_system(), &query, &search) != 0) {
        return bench_fail("memory is short");
    }
    (void)index_search_step(search, UINT64_MAX, 0);
    *out_ns = (double)(stats_now_ns() - begin);
    const struct nearest_candidate *found = index_search_results(search, &count);
    if (count_it) {
        side->hits += judge(run, s == 0, found, count);
        side->bytes += (double)search_bytes(search);
        side->comparisons += (double)index_search_comparisons(search);
    }
    index_search_free(search);
    return 0;
}

/* Asks each engine each query in turn, and repeats all this some times. */
static int ask_all(struct run *run)
{
    for (size_t q = 0; q < run->filters.queries.count; q++) {
        double ns[INDEX_ENGINES_MAX][ROUNDS];

        for (size_t round = 0; round < ROUNDS; round++) {
            for (size_t s = 0; s < run->options->engine_count; s++) {
                if (ask(run, s, q, round == 0, &ns[s][round]) != 0) {
                    return -1;
                }
            }
        }
        for (size_t s = 0; s < run->options->engine_count; s++) {
            run->sides[s].query_ns[q] = stats_median(ns[s], ROUNDS);
        }
    }
    return 0;
}

/* Asks one engine all queries, one after another. `cold`: with empty caches each time. */
static int ask_alone(struct run *run, size_t s, bool cold, double *out_median)
{
    enum { LINE_BYTES = 64 };
    const size_t count = run->filters.queries.count;
    double *ns = calloc(count, sizeof(*ns));
    int rc = ns != NULL ? 0 : bench_fail("memory is short");

    for (size_t q = 0; rc == 0 && q < count; q++) {
        for (size_t byte = 0; cold && byte < CACHE_BYTES; byte += LINE_BYTES) {
            ((volatile uint8_t *)run->cache)[byte]++;
        }
        rc = ask(run, s, q, false, &ns[q]);
    }
    if (rc == 0) {
        *out_median = stats_median(ns, count);
    }
    free(ns);
    return rc;
}

static int ask_each_alone(struct run *run)
{
    int rc = 0;

    if (!run->options->alone) {
        return 0;
    }
    run->cache = run->cache != NULL ? run->cache : calloc(CACHE_BYTES, 1);
    if (run->cache == NULL) {
        return bench_fail("memory is short");
    }
    for (size_t s = 0; rc == 0 && s < run->options->engine_count; s++) {
        struct side *side = &run->sides[s];

        rc = ask_alone(run, s, false, &side->alone_ns); /* fills the caches */
        rc = rc == 0 ? ask_alone(run, s, false, &side->alone_ns) : rc;
        rc = rc == 0 ? ask_alone(run, s, true, &side->cold_ns) : rc;
    }
    return rc;
}

/* How many bits a stored filter has set on average. */
static double mean_bits(const struct run *run)
{
    const struct filters *filters = &run->filters;
    double sum = 0;

    for (size_t i = 0; i < filters->stored.count; i++) {
        sum += bloom_cardinality(filters_stored(filters, i), filters->filter_words);
    }
    return sum / (double)filters->stored.count;
}

static const char *metric_name(enum index_metric metric)
{
    return metric == INDEX_METRIC_PHI ? "phi" : "bits";
}

static void print_side(const struct run *run, struct side *side, double first_median)
{
    const struct index_bench_options *options = run->options;
    const size_t queries = run->filters.queries.count;
    const double n = (double)run->filters.stored.count;
    const double asked = (double)queries;
    const double median = stats_median(side->query_ns, queries);
    const double p99 = stats_percentile(side->query_ns, queries, 0.99);
    const double bytes = side->bytes / asked / (n * run->filters.profile.bits / 8);
    const double comparisons = side->comparisons / asked / n;

    if (run->plot != NULL) {
        index_plot_add(run->plot, side->name, run->filters.stored.count, median / 1000, bytes);
        if (options->alone) {
            char name[64];

            snprintf(name, sizeof(name), "%s alone", side->name);
            plot_add(&run->plot->time, name, n, side->alone_ns / 1000);
        }
    }
    if (options->json) {
        char profile[PROFILE_TEXT_MAX];

        profile_print(&run->filters.profile, profile);
        printf("{\"workload\":\"%s\",\"levels\":%s,\"profile\":\"%s\",\"metric\":\"%s\","
               "\"engine\":\"%s\",\"n\":%.0f,\"m\":%u,\"k\":%u,"
               "\"query_ns_median\":%.0f,\"query_ns_p99\":%.0f,\"bytes_share\":%.5f,"
               "\"comparisons_share\":%.5f,\"recall\":%.5f,\"insert_ns\":%.0f,\"delete_ns\":%.0f,"
               "\"build_ns\":%.0f,\"overhead_share\":%.4f,\"alone_ns_median\":%.0f,"
               "\"cold_ns_median\":%.0f,\"mean_bits\":%.1f,\"cpu\":\"%s\"}\n",
               options->filters.workload, options->filters.levels ? "true" : "false", profile,
               metric_name(options->metric), side->name, n, run->filters.profile.bits, options->k,
               median, p99, bytes, comparisons, side->hits / asked, side->insert_ns,
               side->delete_ns, side->build_ns, side->overhead_share, side->alone_ns, side->cold_ns,
               mean_bits(run), run->kernels->name);
        return;
    }
    printf(
        "%-10s %9.0f %10.1f us %10.1f us %7.3f %8.2f %% %8.2f %% %8.4f %8.2f us %8.2f us %7.2f us "
        "%7.1f %%\n",
        side->name, n, median / 1000, p99 / 1000, median / first_median, bytes * 100,
        comparisons * 100, side->hits / asked, side->insert_ns / 1000, side->delete_ns / 1000,
        side->build_ns / 1000, side->overhead_share * 100);
    if (options->alone) {
        printf("%-10s alone %.1f us, with empty caches %.1f us\n", side->name,
               side->alone_ns / 1000, side->cold_ns / 1000);
    }
}

static void print(struct run *run)
{
    const size_t queries = run->filters.queries.count;
    const double first = stats_median(run->sides[0].query_ns, queries);

    if (!run->options->json) {
        char profile[PROFILE_TEXT_MAX];

        profile_print(&run->filters.profile, profile);
        printf("%s, levels %s, %s, by %s, k = %u, %s, %zu queries\n"
               "engine             N       median          p99   ratio    bytes   compared   recall"
               "      insert      delete     build  overhead\n",
               run->options->filters.workload, run->options->filters.levels ? "on" : "off", profile,
               metric_name(run->options->metric), run->options->k, run->kernels->name, queries);
    }
    for (size_t s = 0; s < run->options->engine_count; s++) {
        print_side(run, &run->sides[s], first);
    }
}

static int measure(struct run *run)
{
    const size_t queries = run->filters.queries.count;
    const double list_bytes = list_bytes_beyond(run);

    if (queries == 0 || run->filters.stored.count == 0) {
        return bench_fail("there is nothing to store or to ask");
    }
    if (run->options->contains && run->filters.wanted.count < queries) {
        return bench_fail("labels of these queries are not known");
    }
    run->truth = calloc(run->options->k, sizeof(*run->truth));
    for (size_t s = 0; s < run->options->engine_count; s++) {
        struct side *side = &run->sides[s];

        side->name = run->options->contenders[s].name;
        side->engine = run->options->contenders[s].engine;
        side->query_ns = calloc(queries, sizeof(*side->query_ns));
        if (run->truth == NULL || side->query_ns == NULL) {
            return bench_fail("memory is short");
        }
        if (build(run, side, list_bytes) != 0) {
            return -1;
        }
    }
    if (ask_all(run) != 0 || ask_each_alone(run) != 0) {
        return -1;
    }
    for (size_t s = 0; s < run->options->engine_count; s++) {
        if (change(run, &run->sides[s]) != 0) {
            return -1;
        }
    }
    print(run);
    return 0;
}

static void free_sides(struct run *run)
{
    for (size_t s = 0; s < INDEX_ENGINES_MAX; s++) {
        index_free(run->sides[s].index);
        free(run->sides[s].query_ns);
    }
    memset(run->sides, 0, sizeof(run->sides));
    free(run->truth);
    run->truth = NULL;
}

/* Measures with all filters. With --plot, also measures with the first 100, 1,000 and so on. */
static int measure_sizes(struct run *run)
{
    const size_t count = run->filters.stored.count;
    size_t sizes[PLOT_POINTS_MAX] = {count};
    const size_t size_count = run->plot != NULL ? index_plot_sizes(count, sizes) : 1;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < size_count; i++) {
        run->filters.stored.count = sizes[i];
        rc = measure(run);
        free_sides(run);
    }
    return rc == 0 && run->plot != NULL ? index_plot_draw(run->plot, run->options->plot_directory)
                                        : rc;
}

/* NULL, and it is said, when it cannot be drawn. */
static struct index_plot *new_plot(const struct index_bench_options *options)
{
    struct index_plot *plot =
        plot_prepare(options->plot_directory) == 0 ? calloc(1, sizeof(*plot)) : NULL;
    char profile[PROFILE_TEXT_MAX];
    char title[2 * PROFILE_TEXT_MAX];

    if (plot != NULL) {
        profile_print(&options->profile, profile);
        snprintf(title, sizeof(title), "%.200s, %s, k = %u", options->filters.workload, profile,
                 options->k);
        index_plot_init(plot, title);
    }
    return plot;
}

static int run_index(const struct index_bench_options *options)
{
    struct run run = {.options = options};

    run.kernels = bench_kernels();
    if (run.kernels == NULL) {
        return -1;
    }
    if (options->plot_directory != NULL) {
        run.plot = new_plot(options);
        if (run.plot == NULL) {
            return -1;
        }
    }
    int rc = filters_make(&options->filters, &options->profile, &run.filters);
    if (rc == 0) {
        rc = measure_sizes(&run);
    }
    free_sides(&run);
    free(run.cache);
    free(run.plot);
    filters_deinit(&run.filters);
    return rc;
}

int bench_index(int argc, char **argv)
{
    struct index_bench_options options = {
        .filters = filters_standard,
        .contenders = {{"list", &list_engine}, {"tree", &tree_engine}},
        .engine_count = 2,
        .k = 10,
        .metric = bench_default_metric(),
    };

    options.filters.levels = true;
    bench_default_profile(&options.profile);
    const enum options_outcome outcome = index_options_read(argc, argv, &options);

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return run_index(&options);
}
