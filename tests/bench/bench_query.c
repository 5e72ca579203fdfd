/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: queries a second, and the time of a single one, beside a bare libuv echo server that
 * answers frames of the same size with frames of the same size. Both sides run all the time and
 * take turns; the client is the same.
 */
#include "tests/bench/stage.h"
#include "tests/bench/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MESSAGES = 1000,
    QUERIES = 1000, /* different ones, asked over and over */
    ROUNDS = 9,
    COUNT = 50000,  /* queries of a round */
    SINGLES = 2000, /* unpipelined ones of a round */
    IN_FLIGHT = 64,
    WARM_UP = 2000,
    PATIENCE_MS = 60 * 1000,
    ARENA_BYTES = 1024 * 1024,
    MESSAGES_SEED = 1,
    QUERIES_SEED = 2
};
static const double goal = 0.5;

struct side {
    struct stage stage;
    double rates[BENCH_ROUNDS_MAX];
    double server_shares[BENCH_ROUNDS_MAX];
    double client_shares[BENCH_ROUNDS_MAX];
    double *singles_us;
    size_t single_count;
};

struct setting {
    struct frames deposits;
    struct frames queries;
    uint32_t rounds;
    uint64_t count;
    size_t answer_bytes;
    struct side daemon;
    struct side echo;
    double ratios[BENCH_ROUNDS_MAX];
};

/* --- a typical answer ------------------------------------------------------------------------- */

/* An answer must be what its question asked for; else its speed is of no interest. */
static int check_answer(const struct msg_response *response)
{
    if (response->kind != MSG_RESPONSE_RESULTS || response->results.result_count != WORKLOAD_K ||
        !response->results.exact)
        return bench_fail("an answer does not have the %d nearest", WORKLOAD_K);
    for (size_t i = 1; i < WORKLOAD_K; i++) {
        if (response->results.results[i].distance_ppm <
            response->results.results[i - 1].distance_ppm)
            return bench_fail("an answer is not in order");
    }
    return 0;
}

/* Asks every query once; then again the one whose answer has the median size, for the echo. */
static int choose_answer(struct setting *setting, struct arena *arena, struct msg_response *out)
{
    struct peer *peer = &setting->daemon.stage.peers[0];
    double sizes[QUERIES];
    double sorted[QUERIES];
    size_t chosen = 0;

    for (size_t i = 0; i < QUERIES; i++) {
        size_t bytes = 0;
        arena_reset(arena);
        if (peer_ask(peer, &setting->queries, i, arena, out, &bytes) != 0 || check_answer(out) != 0)
            return -1;
        sizes[i] = (double)bytes;
    }
    memcpy(sorted, sizes, sizeof(sorted));
    const double median = stats_percentile(sorted, QUERIES, 0.5);
    while (sizes[chosen] < median || sizes[chosen] > median)
        chosen++;
    arena_reset(arena);
    return peer_ask(peer, &setting->queries, chosen, arena, out, &setting->answer_bytes);
}

/* --- measuring -------------------------------------------------------------------------------- */

static int run_pipelined(struct setting *setting, struct side *side, uint32_t round)
{
    const struct peer_load load = {
        .frames = &setting->queries,
        .total = setting->count,
        .window = IN_FLIGHT,
        .expected = MSG_RESPONSE_RESULTS,
        .patience_ms = PATIENCE_MS,
    };
    struct peer_outcome outcome = {0};

    const double cpu_seconds = child_cpu_seconds(&side->stage.child);
    if (peer_run(side->stage.peers, 1, &load, &outcome) != 0)
        return -1;
    side->rates[round] = (double)load.total / outcome.seconds;
    side->server_shares[round] =
        (child_cpu_seconds(&side->stage.child) - cpu_seconds) / outcome.seconds;
    side->client_shares[round] = outcome.cpu_seconds / outcome.seconds;
    return 0;
}

static int run_singles(const struct setting *setting, struct side *side, size_t count)
{
    const struct peer_load load = {
        .frames = &setting->queries,
        .total = count,
        .window = 1,
        .expected = MSG_RESPONSE_RESULTS,
        .patience_ms = PATIENCE_MS,
        .latencies_us = side->singles_us + side->single_count,
    };
    struct peer_outcome outcome = {0};

    side->single_count += count;
    return peer_run(side->stage.peers, 1, &load, &outcome);
}

static int run_round(struct setting *setting, uint32_t round)
{
    if (run_pipelined(setting, &setting->echo, round) != 0 ||
        run_pipelined(setting, &setting->daemon, round) != 0 ||
        run_singles(setting, &setting->echo, SINGLES) != 0 ||
        run_singles(setting, &setting->daemon, SINGLES) != 0)
        return -1;
    setting->ratios[round] = setting->daemon.rates[round] / setting->echo.rates[round];
    return 0;
}

static int warm_up(struct setting *setting)
{
    if (run_singles(setting, &setting->echo, WARM_UP) != 0 ||
        run_singles(setting, &setting->daemon, WARM_UP) != 0)
        return -1;
    setting->echo.single_count = 0;
    setting->daemon.single_count = 0;
    return 0;
}

static int run_all(struct setting *setting)
{
    struct peer_outcome outcome = {0};
    struct msg_response answer;
    struct arena arena;

    if (stage_deposit(&setting->daemon.stage, &setting->deposits, IN_FLIGHT, &outcome) != 0)
        return -1;
    arena_init(&arena, alloc_system(), ARENA_BYTES);
    int rc = choose_answer(setting, &arena, &answer);
    if (rc == 0)
        rc = stage_begin_echo(&setting->echo.stage, &answer, 1);
    arena_deinit(&arena);
    if (rc == 0)
        rc = warm_up(setting);
    for (uint32_t round = 0; round < setting->rounds && rc == 0; round++)
        rc = run_round(setting, round);
    return rc;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void tell(struct report *report, struct setting *setting)
{
    struct side *daemon = &setting->daemon;
    struct side *echo = &setting->echo;
    char title[200];

    snprintf(title, sizeof(title),
             "%d messages, k = %d, without payload; question %zu bytes, answer %zu; "
             "medians of %u rounds",
             MESSAGES, WORKLOAD_K, setting->queries.bytes.count / QUERIES, setting->answer_bytes,
             (unsigned)setting->rounds);
    report_begin(report, "query", title);
    report_figure(report, "echo_per_s", stats_median(echo->rates, setting->rounds), 0, "/s",
                  "bare libuv echo, 64 in flight");
    report_figure(report, "daemon_per_s", stats_median(daemon->rates, setting->rounds), 0, "/s",
                  "daemon, 64 in flight");
    report_goal(report, "ratio", stats_median(setting->ratios, setting->rounds), goal,
                "daemon / echo");
    report_figure(report, "echo_p50_us", stats_percentile(echo->singles_us, echo->single_count, .5),
                  1, "us", "one at a time: echo, p50");
    report_figure(report, "daemon_p50_us",
                  stats_percentile(daemon->singles_us, daemon->single_count, .5), 1, "us",
                  "one at a time: daemon, p50");
    report_figure(report, "echo_p99_us",
                  stats_percentile(echo->singles_us, echo->single_count, .99), 1, "us",
                  "one at a time: echo, p99");
    report_figure(report, "daemon_p99_us",
                  stats_percentile(daemon->singles_us, daemon->single_count, .99), 1, "us",
                  "one at a time: daemon, p99");
    report_figure(report, "daemon_cpu_share", stats_median(daemon->server_shares, setting->rounds),
                  2, "", "processor time / elapsed, 64 in flight: the daemon");
    report_figure(report, "daemon_client_cpu_share",
                  stats_median(daemon->client_shares, setting->rounds), 2, "",
                  "  and the client that asked it");
    report_figure(report, "echo_cpu_share", stats_median(echo->server_shares, setting->rounds), 2,
                  "", "processor time / elapsed, 64 in flight: the echo");
    report_figure(report, "echo_client_cpu_share",
                  stats_median(echo->client_shares, setting->rounds), 2, "",
                  "  and the client that asked it");
    report_end(report);
}

static int make_room(struct setting *setting)
{
    const size_t room = (size_t)BENCH_ROUNDS_MAX * SINGLES + WARM_UP;

    setting->daemon.singles_us = calloc(room, sizeof(double));
    setting->echo.singles_us = calloc(room, sizeof(double));
    if (setting->daemon.singles_us == NULL || setting->echo.singles_us == NULL)
        return bench_fail("out of memory");
    if (frames_make_deposits(&setting->deposits, MESSAGES_SEED, MESSAGES) != 0)
        return -1;
    return frames_make_queries(&setting->queries, QUERIES_SEED, QUERIES);
}

int bench_query(const struct bench_options *options, struct report *report)
{
    static struct setting setting;
    struct child_directory directory;

    setting.rounds = bench_or(options->rounds, ROUNDS);
    setting.count = bench_or(options->count, COUNT);
    if (child_directory_make(&directory, options->dir) != 0)
        return -1;
    int rc = make_room(&setting);
    if (rc == 0)
        rc = stage_begin(&setting.daemon.stage, options, directory.path, 1);
    if (rc == 0)
        rc = run_all(&setting);
    if (rc == 0)
        tell(report, &setting);
    stage_end(&setting.echo.stage);
    stage_end(&setting.daemon.stage);
    frames_deinit(&setting.deposits);
    frames_deinit(&setting.queries);
    free(setting.daemon.singles_us);
    free(setting.echo.singles_us);
    child_directory_remove(&directory);
    return rc;
}
