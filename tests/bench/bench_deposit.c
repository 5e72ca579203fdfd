/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit: durable deposits per second through the daemon, beside SQLite alone with the same rows.
 * All sides take turns, each time with a new database. Then what the changes for copies cost: the
 * store in this process, with and without them, in turns.
 */
#include "tests/bench/alone.h"
#include "tests/bench/deposit_store.h"
#include "tests/bench/stage.h"
#include "tests/bench/stats.h"

enum {
    COUNT = 100000,
    ROUNDS = 5,
    MANY = 8, /* connections */
    /*
     * deposits in flight over all connections: twice the rows of a transaction of SQLite alone,
     * because one group of deposits is committed while the next group is collected
     */
    IN_FLIGHT = 2 * ALONE_TRANSACTION_ROWS,
    SEED = 1
};
static const double goal = 0.8;
static const double feed_ceiling = 1.05; /* what changes for copies may cost a deposit */

struct samples {
    double one[BENCH_ROUNDS_MAX];
    double many[BENCH_ROUNDS_MAX];
    double alone[BENCH_ROUNDS_MAX];
    double ratio_one[BENCH_ROUNDS_MAX];
    double ratio_many[BENCH_ROUNDS_MAX];
    double client_share[BENCH_ROUNDS_MAX];
    double daemon_share[BENCH_ROUNDS_MAX];
    double store_us[DEPOSIT_KINDS][BENCH_ROUNDS_MAX];
    double feed_ratio[BENCH_ROUNDS_MAX];
    double evict_ratio[BENCH_ROUNDS_MAX];
};

/*
 * Measures one round through a daemon: deposits per second, and the shares of CPU time of the
 * client and the daemon.
 */
static int run_daemon(const struct bench_options *options, const struct frames *frames,
                      size_t connections, double *out_rate, double *out_client_share,
                      double *out_daemon_share)
{
    static struct stage stage;
    struct child_directory directory;
    struct peer_outcome outcome = {0};
    double cpu_seconds = 0;

    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    int rc = stage_begin(&stage, options, directory.path, connections);
    if (rc == 0) {
        cpu_seconds = child_cpu_seconds(&stage.child);
        rc = stage_deposit(&stage, frames, IN_FLIGHT, &outcome);
        cpu_seconds = child_cpu_seconds(&stage.child) - cpu_seconds;
    }
    stage_end(&stage);
    child_directory_remove(&directory);
    if (rc != 0) {
        return -1;
    }
    *out_rate = (double)frames->count / outcome.seconds;
    *out_client_share = outcome.cpu_seconds / outcome.seconds;
    *out_daemon_share = cpu_seconds / outcome.seconds;
    return 0;
}

static int run_alone(const struct bench_options *options, size_t count, double *out_rate)
{
    struct child_directory directory;
    struct alone_outcome outcome = {0};

    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    const int rc = alone_deposit(directory.path, SEED, count, &outcome);
    child_directory_remove(&directory);
    if (rc == 0) {
        *out_rate = (double)count / outcome.seconds;
    }
    return rc;
}

/* What the client could do if the server took no time. */
static int run_ceiling(const struct frames *frames, double *out_rate)
{
    static struct stage stage;
    const struct hearsay_response answer = {
        .kind = HEARSAY_RESPONSE_DEPOSITED,
        .deposited = {.deposited_ms = INT64_C(1800000000000),
                      .expires_ms = INT64_C(1800000000000),
                      .durability = HEARSAY_DURABILITY_ON_STORAGE},
    };
    struct peer_outcome outcome = {0};

    int rc = stage_begin_echo(&stage, NULL, &answer, 1);
    if (rc == 0) {
        rc = stage_deposit(&stage, frames, IN_FLIGHT, &outcome);
    }
    stage_end(&stage);
    if (rc == 0) {
        *out_rate = (double)frames->count / outcome.seconds;
    }
    return rc;
}

static int run_round(const struct bench_options *options, const struct frames *frames,
                     struct samples *samples, uint32_t round)
{
    double client_share = 0;
    double daemon_share = 0;

    if (run_alone(options, frames->count, &samples->alone[round]) != 0 ||
        run_daemon(options, frames, 1, &samples->one[round], &samples->client_share[round],
                   &samples->daemon_share[round]) != 0 ||
        run_daemon(options, frames, MANY, &samples->many[round], &client_share, &daemon_share) !=
            0) {
        return -1;
    }
    samples->ratio_one[round] = samples->one[round] / samples->alone[round];
    samples->ratio_many[round] = samples->many[round] / samples->alone[round];
    return 0;
}

static int run_store(const struct bench_options *options, struct samples *samples, uint32_t round,
                     size_t count)
{
    for (unsigned kind = 0; kind < DEPOSIT_KINDS; kind++) {
        if (deposit_store_run(options, (enum deposit_kind)kind, count,
                              &samples->store_us[kind][round]) != 0) {
            return -1;
        }
    }
    samples->feed_ratio[round] =
        samples->store_us[DEPOSIT_PLAIN_FED][round] / samples->store_us[DEPOSIT_PLAIN][round];
    samples->evict_ratio[round] =
        samples->store_us[DEPOSIT_EVICTS_FED][round] / samples->store_us[DEPOSIT_EVICTS][round];
    return 0;
}

static void tell_store(struct report *report, struct samples *samples, uint32_t rounds)
{
    report_figure(report, "store_us", stats_median(samples->store_us[DEPOSIT_PLAIN], rounds), 1,
                  "us", "CPU time of the store alone, batches of 256");
    report_figure(report, "store_fed_us",
                  stats_median(samples->store_us[DEPOSIT_PLAIN_FED], rounds), 1, "us",
                  "the same, with changes for copies");
    report_ceiling(report, "feed_ratio", stats_median(samples->feed_ratio, rounds), feed_ceiling,
                   "with changes / without");
    report_figure(report, "evict_us", stats_median(samples->store_us[DEPOSIT_EVICTS], rounds), 1,
                  "us", "the same, each deposit evicts the oldest message");
    report_figure(report, "evict_fed_us",
                  stats_median(samples->store_us[DEPOSIT_EVICTS_FED], rounds), 1, "us",
                  "the same, with changes for copies");
    report_ceiling(report, "evict_feed_ratio", stats_median(samples->evict_ratio, rounds),
                   feed_ceiling, "with changes / without");
}

static void tell(struct report *report, struct samples *samples, uint32_t rounds, size_t count,
                 double ceiling)
{
    char title[160];

    snprintf(title, sizeof(title),
             "%zu durable deposits a round, 200-byte payload, 512 bits; medians of %u rounds",
             count, (unsigned)rounds);
    report_begin(report, "deposit", title);
    report_figure(report, "alone_per_s", stats_median(samples->alone, rounds), 0, "/s",
                  "SQLite alone, transactions of 1,000");
    report_figure(report, "one_connection_per_s", stats_median(samples->one, rounds), 0, "/s",
                  "daemon, 1 connection, 2,000 in flight");
    report_figure(report, "eight_connections_per_s", stats_median(samples->many, rounds), 0, "/s",
                  "daemon, 8 connections, 250 in flight each");
    report_goal(report, "one_connection_ratio", stats_median(samples->ratio_one, rounds), goal,
                "1 connection / SQLite alone");
    report_goal(report, "eight_connections_ratio", stats_median(samples->ratio_many, rounds), goal,
                "8 connections / SQLite alone");
    report_figure(report, "daemon_cpu_share", stats_median(samples->daemon_share, rounds), 2, "",
                  "processor time of the daemon / elapsed, 1 connection");
    report_figure(report, "client_cpu_share", stats_median(samples->client_share, rounds), 2, "",
                  "processor time of the client / elapsed, 1 connection");
    report_figure(report, "client_ceiling_per_s", ceiling, 0, "/s",
                  "the same client against a server that does nothing");
    tell_store(report, samples, rounds);
    report_end(report);
}

int bench_deposit(const struct bench_options *options, struct report *report)
{
    static struct samples samples;
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    struct frames frames;
    double ceiling = 0;

    int rc = frames_make_deposits(&frames, SEED, bench_or(options->count, COUNT));
    for (uint32_t round = 0; round < rounds && rc == 0; round++) {
        rc = run_round(options, &frames, &samples, round);
    }
    /* A daemon that was measured right after the store alone was slower by a tenth. */
    for (uint32_t round = 0; round < rounds && rc == 0; round++) {
        rc = run_store(options, &samples, round, frames.count);
    }
    if (rc == 0) {
        rc = run_ceiling(&frames, &ceiling);
    }
    if (rc == 0) {
        tell(report, &samples, rounds, frames.count, ceiling);
    }
    frames_deinit(&frames);
    return rc;
}
