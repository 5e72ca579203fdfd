/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench watch: how much standing queries add to the time of a deposit in the index. Two
 * indexes with the same messages take the same deposits in turn, batch by batch. One index has no
 * standing queries. For the other index, the deposits are also matched against all standing
 * queries.
 *
 * An insert only stores the message. The work of moving messages to their places in the tree is
 * done later, when a share of all messages is new (daemon/host/arrange.h). So there are two times
 * of a deposit: the time of the insert alone, and the time of the insert with its share of the
 * arranging. The number of deposits is the number after which a busy daemon arranges, and the index
 * is arranged once, as in the daemon.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/standing/inner.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum {
    BATCH = 64,
    RADII_MAX = 8,
    MESSAGES = 100000,
    DEPOSITS = 33344, /* a quarter of all messages then: BUSY_SHARE of daemon/host/arrange.c */
    WATCHES = 10000,
    FOLLOW_BUDGET = 128, /* as there */
    SETTLE_SLICE = 128,  /* as in daemon/watch/watch.c */
    SETTLE_ROUNDS = 24,
    LEARN = 8192 /* messages matched between two rounds */
};

struct options {
    struct filters_options filters;
    struct profile profile;
    size_t messages;
    size_t deposits;
    size_t watches;
    size_t batch;
    uint32_t radii[RADII_MAX];
    size_t radius_count;
    bool contains; /* half of the watches want one of their labels */
    bool phi;      /* their metric is phi instead of bits */
    bool json;
};

struct run {
    const struct options *options;
    const struct bits_kernels *kernels;
    struct filters filters;
    struct index *plain;   /* nobody watches */
    struct index *watched; /* the same messages */
    struct standing *standing;
    struct standing_query **queries;
    double *plain_ns;  /* of each batch; sample_count of them */
    double *insert_ns; /* ... into the watched index */
    double *match_ns;
    size_t sample_count;
    size_t hits;
    uint64_t compared; /* parts, before the first deposit that counts */
    double build_ns;   /* a watch */
    double settle_ns;  /* a watch: arranging them, after they came */
    double slice_ns;   /* a deposit's share of arranging the messages: on the loop, */
    double worker_ns;  /* ... and on the worker */
};

/* ---- what is there beforehand ---- */

static int load_index(const struct run *run, struct index **out_index)
{
    if (bench_index_new(&tree_engine, &run->filters.profile, run->kernels, out_index) != 0) {
        return -1;
    }
    if (filters_insert(&run->filters, *out_index, 0, run->options->messages) != 0) {
        return -1;
    }
    return index_arrange(*out_index, NULL) == 0 ? 0 : bench_fail("memory is short");
}

/*
 * Returns the filter of watch number i: a context of the workload's queries. After the last query
 * come contexts of messages, spread over all messages.
 */
static const uint64_t *watch_filter(const struct run *run, size_t i)
{
    const struct filters_array *queries = &run->filters.queries;
    const size_t words = run->filters.filter_words;

    if (i < queries->count) {
        return queries->words + i * words;
    }
    return filters_stored(&run->filters, (i - queries->count) * 7919 % run->options->messages);
}

static int add_watch(struct run *run, size_t i, uint32_t radius_ppm)
{
    const bool contains = run->options->contains && i % 2 == 0 && i < run->filters.wanted.count;
    const struct standing_part part = {
        .filter = watch_filter(run, i),
        .contains = contains ? run->filters.wanted.words + i * run->filters.filter_words : NULL,
    };
    const struct standing_terms terms = {
        .parts = &part,
        .part_count = 1,
        .max_distance_ppm = contains ? DISTANCE_ONE_PPM : radius_ppm,
        .metric = run->options->phi ? INDEX_METRIC_PHI : INDEX_METRIC_BITS,
    };

    return standing_query_new(run->standing, &terms, &run->queries[i]) == 0 &&
                   standing_insert(run->standing, run->queries[i]) == 0
               ? 0
               : bench_fail("memory is short");
}

/* CPU time, because other processes of the machine often interrupt a long measurement. */
static int64_t cpu_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* it is there wherever this is built */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int add_watches(struct run *run, uint32_t radius_ppm)
{
    const struct standing_options options = {
        .alloc = alloc_system(),
        .profile = &run->filters.profile,
        .kernels = run->kernels,
    };
    const int64_t begin = cpu_now_ns();

    run->queries = calloc(run->options->watches + 1, sizeof(struct standing_query *));
    if (run->queries == NULL || standing_new(&options, &run->standing) != 0) {
        return bench_fail("memory is short");
    }
    for (size_t i = 0; i < run->options->watches; i++) {
        if (add_watch(run, i, radius_ppm) != 0) {
            return -1;
        }
    }
    run->build_ns = (double)(cpu_now_ns() - begin) / (double)run->options->watches;
    return 0;
}

static uint64_t match_batch(struct run *run, size_t first, size_t count);

/* Does as much as the daemon does within some minutes: messages come, and watches are arranged. */
static void settle(struct run *run)
{
    const size_t batch = run->options->batch;
    int64_t spent_ns = 0;
    size_t at = 0;

    for (unsigned round = 0; round < SETTLE_ROUNDS; round++) {
        const int64_t begin = cpu_now_ns();

        while (standing_arrange(run->standing, SETTLE_SLICE)) {
        }
        spent_ns += cpu_now_ns() - begin;
        for (size_t matched = 0; matched < LEARN; matched += batch) {
            at = at + 2 * batch < run->options->messages ? at + batch : 0;
            (void)match_batch(run, at, batch);
        }
    }
    run->settle_ns = (double)spent_ns / (double)run->options->watches;
    run->compared = run->standing->compared;
    run->hits = 0;
}

/* Arranges an index as the daemon does. */
static int arrange(struct run *run, struct index *index)
{
    const double deposits = (double)run->options->deposits;
    struct renewal *renewal = NULL;
    int64_t begin = cpu_now_ns();
    int rc = renewal_begin(index, &renewal);

    int64_t taking_ns = 0;
    while (rc == 0 && (rc = renewal_copy(renewal)) != 0) {
        const int64_t taking = cpu_now_ns();

        if (rc == RENEWAL_FULL) {
            rc = renewal_take(renewal, NULL);
        }
        rc = rc == RENEWAL_MORE ? 0 : rc;
        taking_ns += cpu_now_ns() - taking;
    }
    int64_t slices_ns = cpu_now_ns() - begin - taking_ns;
    begin = cpu_now_ns();
    rc = rc == 0 ? renewal_arrange(renewal, NULL) : rc;
    int64_t worker_ns = cpu_now_ns() - begin + taking_ns;
    begin = cpu_now_ns();
    while (rc == 0 && (rc = renewal_follow(renewal, FOLLOW_BUDGET)) == RENEWAL_MORE) {
        rc = 0;
    }
    slices_ns += cpu_now_ns() - begin;
    begin = cpu_now_ns();
    if (renewal != NULL) {
        renewal_detach(renewal);
    }
    renewal_free(renewal);
    worker_ns += cpu_now_ns() - begin;
    run->slice_ns = (double)slices_ns / deposits;
    run->worker_ns = (double)worker_ns / deposits;
    return rc == 0 ? 0 : bench_fail("messages could not be arranged");
}

static void end_round(struct run *run)
{
    for (size_t i = 0; run->queries != NULL && i < run->options->watches; i++) {
        standing_query_free(run->standing, run->queries[i]);
    }
    free(run->queries);
    free(run->plain_ns);
    free(run->insert_ns);
    free(run->match_ns);
    run->plain_ns = run->insert_ns = run->match_ns = NULL;
    standing_free(run->standing);
    index_free(run->plain);
    index_free(run->watched);
    run->queries = NULL;
    run->standing = NULL;
    run->plain = NULL;
    run->watched = NULL;
}

/* ---- deposits ---- */

/* All hits are read, as the daemon would. */
static uint64_t match_batch(struct run *run, size_t first, size_t count)
{
    struct standing_deposit deposits[BATCH];
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        deposits[i] = (struct standing_deposit){.filter = filters_stored(&run->filters, first + i),
                                                .reach_ppm = DISTANCE_ONE_PPM};
    }
    for (uint32_t done = 0; done < count;) {
        const struct standing_hit *hits = NULL;
        size_t hit_count = 0;

        done += standing_match(run->standing, deposits + done, (uint32_t)count - done, &hits,
                               &hit_count);
        for (size_t h = 0; h < hit_count; h++) {
            sum += hits[h].intersection;
        }
        run->hits += hit_count;
    }
    return sum;
}

static int deposit_all(struct run *run)
{
    const size_t count = run->options->batch;
    uint64_t sum = 0;

    const size_t samples = run->options->deposits / run->options->batch;
    run->plain_ns = calloc(samples, sizeof(double));
    run->insert_ns = calloc(samples, sizeof(double));
    run->match_ns = calloc(samples, sizeof(double));
    if (run->plain_ns == NULL || run->insert_ns == NULL || run->match_ns == NULL) {
        return bench_fail("memory is short");
    }
    run->sample_count = 0;
    for (size_t first = run->options->messages; run->sample_count < samples; first += count) {
        const int64_t start = stats_now_ns();

        if (filters_insert(&run->filters, run->plain, first, first + count) != 0) {
            return -1;
        }
        const int64_t plain = stats_now_ns();
        if (filters_insert(&run->filters, run->watched, first, first + count) != 0) {
            return -1;
        }
        const int64_t inserted = stats_now_ns();
        sum += match_batch(run, first, count);
        run->match_ns[run->sample_count] = (double)(stats_now_ns() - inserted);
        run->insert_ns[run->sample_count] = (double)(inserted - plain);
        run->plain_ns[run->sample_count++] = (double)(plain - start);
    }
    return sum == UINT64_MAX ? bench_fail("no sum is that large") : 0;
}

static void print_round(const struct run *run, uint32_t radius_ppm)
{
    const double deposits = (double)run->options->deposits;
    const double batch = (double)run->options->batch;
    const double plain = stats_median(run->plain_ns, run->sample_count) / batch;
    const double insert = stats_median(run->insert_ns, run->sample_count) / batch;
    const double match = stats_median(run->match_ns, run->sample_count) / batch;
    const double compared = (double)(run->standing->compared - run->compared) / deposits;
    const double later = run->slice_ns + run->worker_ns;
    const double loop = (insert + run->slice_ns + match) / (plain + run->slice_ns);
    const double whole = (insert + later + match) / (plain + later);
    const double bytes = (double)standing_bytes(run->standing) / (double)run->options->watches;

    if (run->options->json) {
        printf("{\"workload\":\"%s\",\"messages\":%zu,\"watches\":%zu,"
               "\"metric\":\"%s\",\"radius\":%.3f,"
               "\"batch\":%zu,\"plain_ns\":%.0f,\"insert_ns\":%.0f,\"match_ns\":%.0f,"
               "\"ratio\":%.3f,\"slices_ns\":%.0f,\"worker_ns\":%.0f,"
               "\"loop_ratio\":%.3f,\"whole_ratio\":%.3f,"
               "\"matches\":%.3f,\"compared\":%.1f,\"watch_ns\":%.0f,\"settle_ns\":%.0f,"
               "\"watch_bytes\":%.0f,\"cpu\":\"%s\"}\n",
               run->options->filters.workload, run->options->messages, run->options->watches,
               run->options->phi ? "phi" : "bits", radius_ppm / 1e6, run->options->batch, plain,
               insert, match, (insert + match) / plain, run->slice_ns, run->worker_ns, loop, whole,
               (double)run->hits / deposits, compared, run->build_ns, run->settle_ns, bytes,
               run->kernels->name);
        return;
    }
    printf("%7.2f %7.0f ns %7.0f ns %7.0f ns %7.2f %8.2f us %8.2f us %7.2f %7.3f %8.2f %9.1f "
           "%6.1f us %6.1f us %6.0f\n",
           radius_ppm / 1e6, plain, insert, match, (insert + match) / plain, run->slice_ns / 1000,
           run->worker_ns / 1000, loop, whole, (double)run->hits / deposits, compared,
           run->build_ns / 1000, run->settle_ns / 1000, bytes);
}

static int measure(struct run *run, uint32_t radius_ppm)
{
    int rc = load_index(run, &run->plain);

    if (rc == 0) {
        rc = load_index(run, &run->watched);
    }
    if (rc == 0) {
        rc = add_watches(run, radius_ppm);
    }
    if (rc == 0) {
        settle(run);
        rc = deposit_all(run);
    }
    if (rc == 0) {
        rc = arrange(run, run->plain);
    }
    if (rc == 0) {
        print_round(run, radius_ppm);
    }
    end_round(run);
    return rc;
}

static int run_watch(struct options *options)
{
    struct run run = {.options = options};

    run.kernels = bench_kernels();
    if (run.kernels == NULL) {
        return -1;
    }
    options->filters.count = options->messages + options->deposits;
    options->filters.query_count = options->watches;
    int rc = filters_make(&options->filters, &options->profile, &run.filters);
    const size_t made = run.filters.stored.count;
    if (rc == 0 && made < options->messages + options->deposits) {
        options->deposits = made / 5;
        options->messages = made - options->deposits;
    }
    if (rc == 0 && !options->json) {
        printf("%s, %zu messages, then %zu deposits in batches of %zu, %zu watches%s%s, %s\n"
               " radius      plain    watched   matching  insert      slices      worker    loop"
               "   whole  matches  compared   a watch   settles  bytes\n",
               options->filters.workload, options->messages, options->deposits, options->batch,
               options->watches, options->contains ? ", half of them `contains`" : "",
               options->phi ? ", by phi" : "", run.kernels->name);
    }
    for (size_t r = 0; rc == 0 && r < options->radius_count; r++) {
        rc = measure(&run, options->radii[r]);
    }
    filters_deinit(&run.filters);
    return rc;
}

/* ---- options ---- */

static int parse_radii(char *text, void *destination)
{
    struct options *options = destination;

    options->radius_count = 0;
    for (char *one = strtok(text, ","); one != NULL; one = strtok(NULL, ",")) {
        char *end = NULL;
        const double radius = strtod(one, &end);

        if (*end != '\0' || !(radius >= 0 && radius <= 1) || options->radius_count == RADII_MAX) {
            return bench_fail("--radius takes up to %d distances from 0 to 1, not %s", RADII_MAX,
                              one);
        }
        options->radii[options->radius_count++] = (uint32_t)(radius * 1e6 + 0.5);
    }
    return options->radius_count > 0 ? 0
                                     : bench_fail("--radius takes distances with commas between");
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options->messages, 1, BENCH_COUNT_MAX,
                    "messages that are there (default: 100000)"),
        OPTION_SIZE("deposits", "N", &options->deposits, 1, BENCH_COUNT_MAX,
                    "deposits that are timed (default: 33344)"),
        OPTION_SIZE("watches", "N", &options->watches, 1, BENCH_COUNT_MAX,
                    "standing queries (default: 10000)"),
        OPTION_PARSE("radius", "R[,R...]", parse_radii, options,
                     "their distance bounds (default: 0.4,0.5,0.6,0.7)"),
        OPTION_FLAG("contains", &options->contains,
                    "every other one wants a label instead, at any distance"),
        OPTION_FLAG("phi", &options->phi, "by phi instead of by the bits"),
        OPTION_SIZE("batch", "N", &options->batch, 1, BATCH,
                    "deposits of one commit, 1 to 64 (default: 64)"),
        OPTION_PROFILE("profile", "PROFILE", &options->profile,
                       "how labels become filters (default: v2:512/4)"),
        OPTION_FLAG("json", &options->json, "one JSON object a line instead of a table"),
    };
    const struct options_table table = {
        .command = "watch",
        .about = "What standing queries add to a deposit's time in the index. docs/watch.md\n",
        .notes =
            "plain: an insert where nobody watches; watched: an insert into the other index;\n"
            "matching: finding the watches that it fits. slices, worker: a deposit's share of\n"
            "arranging all messages anew, once, after the deposits, on the loop and on the "
            "thread.\n"
            "insert, loop, whole: what a deposit takes with watches, as a multiple of what it "
            "takes\n"
            "without: its insert alone, with the slices, with slices and worker.\n"
            "matches, compared: watches a deposit; a watch, settles: to put one in, and to "
            "arrange\n"
            "it among the others. HEARSAY_CPU forces the kernels.\n",
        .groups = {{NULL, filter_rows, FILTERS_ROWS}, {NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    filters_rows(&options->filters, filter_rows);
    return options_read(&table, argc, argv);
}

int bench_watch(int argc, char **argv)
{
    struct options options = {
        .filters = filters_standard,
        .messages = MESSAGES,
        .deposits = DEPOSITS,
        .watches = WATCHES,
        .batch = BATCH,
        .radii = {400000, 500000, 600000, 700000},
        .radius_count = 4,
    };

    if (bench_profile("v2:512/4", &options.profile) != 0) {
        return -1;
    }
    const enum options_outcome outcome = read_options(argc, argv, &options);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return run_watch(&options);
}
