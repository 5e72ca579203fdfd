/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench arrange: measures the renewal of an index that serves queries at the same time.
 * Messages are inserted one by one, as deposits are. Then the index is renewed: another thread does
 * the long part, while messages are inserted and removed. The figures are how long the serving
 * thread is blocked, and the times of messages and queries before and after the renewal.
 *
 * All times are CPU times of the thread, so that other processes do not change them.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <uv.h>

#include "core/index/inner.h"
#include "daemon/host/arrange.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum {
    K = 10,
    FOLLOW_BUDGET = 128 /* as in daemon/host/arrange.c */,
    CHANGES = 2000,
    HELD_BACK = 20
};

struct trial {
    struct filters filters;
    const struct bits_kernels *kernels;
    struct index *index;
    struct renewal *renewal;
    size_t count; /* of the stored filters, how many are in the index at first */
    size_t came;  /* while it was arranged */
    atomic_bool arranged;
    int outcome;
    double arrange_ns;
    double copy_ns; /* all slices */
    double copy_most_ns;
    double follow_ns;
    double follow_most_ns;
    double changes_most_ns; /* one insert and one removal */
    double begin_ns;
    size_t followed;
    double grown_bytes; /* of resident memory, at most */
};

static int insert_one(const struct trial *trial, struct index *index, size_t number)
{
    return filters_insert(&trial->filters, index, number, number + 1);
}

static int remove_one(struct index *index, size_t number)
{
    const struct index_item item = filters_item(number);

    return index_remove(index, item.id, NULL) == 0 ? 0 : bench_fail("a message is gone");
}

static void note_most(double *most, double value)
{
    *most = value > *most ? value : *most;
}

/*
 * Writes the median time of all queries, each the best of three, and the share of the filters that
 * the queries compared.
 */
static int ask_all(const struct trial *trial, struct index *index, double *out_ns,
                   double *out_compared)
{
    const size_t count = trial->filters.queries.count;
    double *samples = calloc(count, sizeof(*samples));
    double compared = 0;

    for (size_t q = 0; samples != NULL && q < count; q++) {
        const struct index_part part = {
            .index = index,
            .filter = trial->filters.queries.words + q * trial->filters.filter_words,
        };
        const struct index_query query = plain_index_query(&part, 1, K);
        for (int round = 0; round < 3; round++) {
            struct index_search *search = NULL;
            const int64_t begin = stats_cpu_ns();

            if (index_search_new(alloc_system(), &query, &search) != 0) {
                free(samples);
                return bench_fail("memory is short");
            }
            (void)index_search_step(search, UINT64_MAX, 0);
            const double ns = (double)(stats_cpu_ns() - begin);
            samples[q] = round == 0 || ns < samples[q] ? ns : samples[q];
            compared += (double)index_search_comparisons(search);
            index_search_free(search);
        }
    }
    if (samples == NULL) {
        return bench_fail("memory is short");
    }
    *out_ns = stats_median(samples, count);
    *out_compared = compared / 3 / (double)count / (double)index_count(index);
    free(samples);
    return 0;
}

/* A query to a list of the same messages. */
static int ask_list(struct trial *trial, double *out_ns)
{
    struct index *list = NULL;
    double compared = 0;

    if (bench_index_new(&list_engine, &trial->filters.profile, trial->kernels, &list) != 0) {
        return -1;
    }
    int rc = filters_insert(&trial->filters, list, 0, trial->count);
    if (rc == 0) {
        rc = ask_all(trial, list, out_ns, &compared);
    }
    index_free(list);
    return rc;
}

/* ---- renewing ---- */

static void run_arranging(void *context)
{
    struct trial *trial = context;
    const int64_t begin = stats_cpu_ns();

    trial->outcome = renewal_arrange(trial->renewal, NULL);
    trial->arrange_ns += (double)(stats_cpu_ns() - begin);
    atomic_store(&trial->arranged, true);
}

static void run_freeing(void *context)
{
    renewal_free(context);
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long total = 0;
    long resident = 0;

    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &total, &resident) != 2) {
            resident = 0;
        }
        (void)fclose(file);
    }
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int copy(struct trial *trial)
{
    int result = RENEWAL_MORE;

    while (result == RENEWAL_MORE) {
        const int64_t begin = stats_cpu_ns();
        result = renewal_copy(trial->renewal);
        const int64_t end = stats_cpu_ns();

        trial->copy_ns += (double)(end - begin);
        note_most(&trial->copy_most_ns, (double)(end - begin));
        if (result == RENEWAL_FULL) { /* the daemon does this on its worker */
            result = renewal_take(trial->renewal, NULL);
            result = result == 0 ? RENEWAL_MORE : result;
            trial->arrange_ns += (double)(stats_cpu_ns() - end);
        }
    }
    return result;
}

/*
 * While the other thread arranges, inserts the messages that were held back, and removes as many.
 */
static int change_meanwhile(struct trial *trial)
{
    while (!atomic_load(&trial->arranged)) {
        const size_t next = trial->count + trial->came;
        int rc = 0;

        if (next < trial->filters.stored.count) {
            const int64_t begin = stats_cpu_ns();
            rc = insert_one(trial, trial->index, next);
            rc = rc == 0 ? remove_one(trial->index, trial->came * 3) : rc;
            note_most(&trial->changes_most_ns, (double)(stats_cpu_ns() - begin));
            trial->came++;
        }
        if (rc != 0) {
            return rc;
        }
        (void)usleep(100); /* about as fast as deposits come */
    }
    return 0;
}

static int follow(struct trial *trial)
{
    int result = RENEWAL_MORE;

    trial->followed = trial->index->notes->count;
    while (result == RENEWAL_MORE) {
        const int64_t begin = stats_cpu_ns();
        result = renewal_follow(trial->renewal, FOLLOW_BUDGET);
        const double ns = (double)(stats_cpu_ns() - begin);

        trial->follow_ns += ns;
        note_most(&trial->follow_most_ns, ns);
    }
    return result;
}

static int renew(struct trial *trial)
{
    const double before = resident_bytes();
    struct rusage usage;
    uv_thread_t thread;

    const int64_t begin = stats_cpu_ns();
    if (renewal_begin(trial->index, &trial->renewal) != 0) {
        return bench_fail("memory is short");
    }
    trial->begin_ns = (double)(stats_cpu_ns() - begin);
    int rc = copy(trial);
    if (rc == 0 && uv_thread_create(&thread, run_arranging, trial) != 0) {
        rc = -1;
    }
    if (rc == 0) {
        rc = change_meanwhile(trial);
        (void)uv_thread_join(&thread);
        rc = rc == 0 ? trial->outcome : rc;
    }
    if (rc == 0) {
        rc = follow(trial);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        trial->grown_bytes = (double)usage.ru_maxrss * 1024 - before;
    }
    renewal_detach(trial->renewal);
    if (uv_thread_create(&thread, run_freeing, trial->renewal) == 0) {
        (void)uv_thread_join(&thread);
    }
    trial->renewal = NULL;
    return rc == 0 ? 0 : bench_fail("messages could not be arranged (%d)", rc);
}

/* ---- inserts and removals ---- */

static int insert_all(struct trial *trial, double *out_ns)
{
    const int64_t begin = stats_cpu_ns();
    const int rc = filters_insert(&trial->filters, trial->index, 0, trial->count);

    *out_ns = (double)(stats_cpu_ns() - begin) / (double)trial->count;
    return rc;
}

/* Messages spread over all that are left go, and come again. */
static int change(struct trial *trial, double *out_insert_ns, double *out_remove_ns)
{
    const size_t first = trial->came * 3 + 3;
    const size_t step = trial->count / CHANGES / 2 + 1;
    size_t changes = 0;
    int rc = 0;

    int64_t begin = stats_cpu_ns();
    for (size_t i = first; rc == 0 && changes < CHANGES && i < trial->count; i += step) {
        rc = remove_one(trial->index, i - i % 3 + 1);
        i += step < 3 ? 3 : 0;
        changes++;
    }
    *out_remove_ns = (double)(stats_cpu_ns() - begin) / (double)(changes == 0 ? 1 : changes);
    begin = stats_cpu_ns();
    changes = 0;
    for (size_t i = first; rc == 0 && changes < CHANGES && i < trial->count; i += step) {
        rc = insert_one(trial, trial->index, i - i % 3 + 1);
        i += step < 3 ? 3 : 0;
        changes++;
    }
    *out_insert_ns = (double)(stats_cpu_ns() - begin) / (double)(changes == 0 ? 1 : changes);
    return rc;
}

/* ---- the whole ---- */

static int measure(struct trial *trial, struct report *report)
{
    double insert_ns = 0, list_ns = 0, before_ns = 0, after_ns = 0, again_ns = 0, remove_ns = 0;
    double before_compared = 0, after_compared = 0;
    const double count = (double)trial->count;

    int rc = ask_list(trial, &list_ns);
    rc = rc == 0 ? insert_all(trial, &insert_ns) : rc;
    rc = rc == 0 ? ask_all(trial, trial->index, &before_ns, &before_compared) : rc;
    const double index_size = (double)index_bytes(trial->index);
    rc = rc == 0 ? renew(trial) : rc;
    rc = rc == 0 ? ask_all(trial, trial->index, &after_ns, &after_compared) : rc;
    rc = rc == 0 ? change(trial, &again_ns, &remove_ns) : rc;
    if (rc != 0) {
        return rc;
    }
    report_figure(report, "messages", count, 0, "", "messages, each inserted alone");
    report_figure(report, "list_query_us", list_ns / 1e3, 1, "us", "a query to a list of them");
    report_figure(report, "query_before_us", before_ns / 1e3, 1, "us", "a query before");
    report_figure(report, "query_after_us", after_ns / 1e3, 1, "us", "a query after");
    report_figure(report, "compared_before_share", before_compared, 3, "", "compared before");
    report_figure(report, "compared_after_share", after_compared, 3, "", "compared after");
    report_figure(report, "stall_begin_us", trial->begin_ns / 1e3, 0, "us", "to begin");
    report_figure(report, "stall_copy_us", trial->copy_most_ns / 1e3, 0, "us",
                  "longest slice of copying");
    report_figure(report, "stall_follow_us", trial->follow_most_ns / 1e3, 0, "us",
                  "longest slice of following, with the exchange");
    report_figure(report, "stall_change_us", trial->changes_most_ns / 1e3, 0, "us",
                  "longest insert and removal meanwhile");
    report_figure(report, "changed_meanwhile", (double)trial->followed, 0, "",
                  "came or went meanwhile");
    report_figure(report, "copy_ns", trial->copy_ns / count, 0, "ns", "copying, a message");
    report_figure(report, "follow_ns",
                  trial->follow_ns / (double)(trial->followed > 0 ? trial->followed : 1), 0, "ns",
                  "following, a change");
    report_figure(report, "arrange_ns", trial->arrange_ns / count, 0, "ns",
                  "arranging by the other thread, a message");
    report_figure(report, "memory_share", trial->grown_bytes / index_size, 2, "",
                  "resident memory more at most, over the index's");
    report_figure(report, "insert_ns", insert_ns, 0, "ns", "an insert, from the first on");
    report_figure(report, "insert_after_ns", again_ns, 0, "ns", "an insert after");
    report_figure(report, "remove_ns", remove_ns, 0, "ns", "a removal after");
    report_ceiling(report, "insert_over_list_query", insert_ns / list_ns, 0.1,
                   "an insert over a list query");
    report_ceiling(report, "remove_over_list_query", remove_ns / list_ns, 0.1,
                   "a removal over a list query");
    return 0;
}

static int run(const struct filters_options *options, const struct profile *profile,
               struct report *report)
{
    static struct trial trial; /* of one run of the program */
    char title[200];

    arrange_tune_memory(); /* as the daemon does */
    trial.kernels = bench_kernels();
    int rc = trial.kernels == NULL ? -1 : filters_make(options, profile, &trial.filters);
    trial.count = trial.filters.stored.count - trial.filters.stored.count / HELD_BACK;
    if (rc == 0 && (trial.count < HELD_BACK || trial.filters.queries.count == 0)) {
        rc = bench_fail("there is nothing to store or to ask");
    }
    if (rc == 0) {
        rc = bench_index_new(&tree_engine, &trial.filters.profile, trial.kernels, &trial.index);
    }
    if (rc == 0) {
        snprintf(title, sizeof(title), "arranging while serving: %.60s, m = %u, %s",
                 options->workload, profile->bits, trial.kernels->name);
        report_begin(report, "arrange", title);
        rc = measure(&trial, report);
        report_end(report);
    }
    index_free(trial.index);
    filters_deinit(&trial.filters);
    return rc;
}

/* ---- options ---- */

int bench_arrange(int argc, char **argv)
{
    struct filters_options options = filters_standard;
    struct report report = {.out = stdout};
    struct profile profile;
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options.count, 1, FILTERS_COUNT_MAX,
                    "filters (default: 100000 made up, or all there are); a\n"
                    "twentieth of them comes while the others are arranged"),
        OPTION_FLAG("json", &report.json, "one JSON object instead of a table"),
    };
    const struct options_table table = {
        .command = "arrange",
        .about = "What it takes to arrange an index while it serves; m = 512. docs/tree.md\n",
        .notes = "HEARSAY_CPU=scalar, avx2, avx512 or neon forces the kernels.\n",
        .groups = {{NULL, filter_rows, FILTERS_ROWS}, {NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    filters_rows(&options, filter_rows);
    const enum options_outcome outcome = options_read(&table, argc, argv);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return bench_profile("v2:512/4", &profile) == 0 ? run(&options, &profile, &report) : -1;
}
