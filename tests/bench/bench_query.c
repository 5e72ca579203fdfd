/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: queries per second and the time of a single query, beside a minimal libuv echo server that
 * answers frames of the same size with frames of the same size. Both servers run all the time and
 * take turns. The client is the same for both: first libhearsay, which programs use, and then a raw
 * client that does as little as possible, so that the figures show the servers.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bench/library.h"
#include "tests/bench/stage.h"
#include "tests/bench/stats.h"

enum {
    MESSAGES = 1000,
    QUERIES = 1000, /* different ones, asked over and over */
    ROUNDS = 9,
    COUNT = 50000,  /* queries of a round */
    SINGLES = 2000, /* unpipelined ones of a round */
    IN_FLIGHT = 64,
    CONNECTIONS = IN_FLIGHT, /* of many clients with one question each */
    WARM_UP = 2000,
    PATIENCE_MS = 60 * 1000,
    ARENA_BYTES = 1024 * 1024,
    MESSAGES_SEED = 1,
    QUERIES_SEED = 2
};
static const double goal = 0.5;

/* Who has 64 questions in flight. */
enum mode { LIBRARY, RAW, RAW_MANY, MODES };
static const size_t mode_connections[MODES] = {1, 1, CONNECTIONS};

/* Who asks one question at a time. */
enum single { LIBRARY_SINGLE, RAW_SINGLE, SINGLE_KINDS };

struct throughput {
    double rates[BENCH_ROUNDS_MAX];
    double server_shares[BENCH_ROUNDS_MAX];
    double client_shares[BENCH_ROUNDS_MAX];
};

struct side {
    struct stage stage;
    struct hearsay *library;
    struct throughput modes[MODES];
    double *singles_us[SINGLE_KINDS];
    size_t single_count; /* of each */
};

struct setting {
    struct frames deposits;
    struct frames queries;
    struct hearsay_filter *filters; /* the same queries */
    uint32_t rounds;
    uint64_t count;
    size_t answer_bytes;
    struct side daemon;
    struct side echo;
    double ratios[MODES][BENCH_ROUNDS_MAX];
};

/* --- a typical answer ------------------------------------------------------------------------- */

/* Checks that an answer belongs to its query; the time of a wrong answer means nothing. */
static int check_answer(const struct hearsay_response *response)
{
    if (response->kind != HEARSAY_RESPONSE_RESULTS ||
        response->results.result_count != WORKLOAD_K || !response->results.exact) {
        return bench_fail("an answer does not have the %d nearest", WORKLOAD_K);
    }
    for (size_t i = 1; i < WORKLOAD_K; i++) {
        if (response->results.results[i].distance_ppm <
            response->results.results[i - 1].distance_ppm) {
            return bench_fail("an answer is not in order");
        }
    }
    return 0;
}

/*
 * Asks every query once. Then asks again the query whose answer has the median size, for the echo
 * server.
 */
static int choose_answer(struct setting *setting, struct arena *arena, struct hearsay_response *out)
{
    struct peer *peer = &setting->daemon.stage.peers[0];
    double sizes[QUERIES];
    double sorted[QUERIES];
    size_t chosen = 0;

    for (size_t i = 0; i < QUERIES; i++) {
        size_t bytes = 0;
        arena_reset(arena);
        if (peer_ask(peer, &setting->queries, i, arena, out, &bytes) != 0 ||
            check_answer(out) != 0) {
            return -1;
        }
        sizes[i] = (double)bytes;
    }
    memcpy(sorted, sizes, sizeof(sorted));
    const double median = stats_percentile(sorted, QUERIES, 0.5);
    while (sizes[chosen] < median || sizes[chosen] > median) {
        chosen++;
    }
    arena_reset(arena);
    return peer_ask(peer, &setting->queries, chosen, arena, out, &setting->answer_bytes);
}

/* --- measuring -------------------------------------------------------------------------------- */

static int run_raw(const struct setting *setting, struct side *side, enum mode mode,
                   struct peer_outcome *out)
{
    const size_t connections = mode_connections[mode];
    const struct peer_load load = {
        .frames = &setting->queries,
        .total = setting->count,
        .window = IN_FLIGHT / connections,
        .expected = HEARSAY_RESPONSE_RESULTS,
        .patience_ms = PATIENCE_MS,
    };

    return peer_run(side->stage.peers, connections, &load, out);
}

static int run_library(const struct setting *setting, struct side *side, struct peer_outcome *out)
{
    const struct library_load load = {
        .filters = setting->filters,
        .filter_count = QUERIES,
        .total = setting->count,
        .window = IN_FLIGHT,
        .patience_ms = PATIENCE_MS,
    };

    return library_run(side->library, &load, out);
}

static int run_pipelined(const struct setting *setting, struct side *side, enum mode mode,
                         uint32_t round)
{
    struct throughput *found = &side->modes[mode];
    struct peer_outcome outcome = {0};

    const double cpu_seconds = child_cpu_seconds(&side->stage.child);
    const int rc = mode == LIBRARY ? run_library(setting, side, &outcome)
                                   : run_raw(setting, side, mode, &outcome);
    if (rc != 0) {
        return -1;
    }
    found->rates[round] = (double)setting->count / outcome.seconds;
    found->server_shares[round] =
        (child_cpu_seconds(&side->stage.child) - cpu_seconds) / outcome.seconds;
    found->client_shares[round] = outcome.cpu_seconds / outcome.seconds;
    return 0;
}

static int run_singles(const struct setting *setting, struct side *side, size_t count)
{
    const struct library_load library_load = {
        .filters = setting->filters,
        .filter_count = QUERIES,
        .total = count,
        .window = 1,
        .patience_ms = PATIENCE_MS,
        .latencies_us = side->singles_us[LIBRARY_SINGLE] + side->single_count,
    };
    const struct peer_load raw_load = {
        .frames = &setting->queries,
        .total = count,
        .window = 1,
        .expected = HEARSAY_RESPONSE_RESULTS,
        .patience_ms = PATIENCE_MS,
        .latencies_us = side->singles_us[RAW_SINGLE] + side->single_count,
    };
    struct peer_outcome outcome = {0};

    side->single_count += count;
    if (library_run(side->library, &library_load, &outcome) != 0) {
        return -1;
    }
    return peer_run(side->stage.peers, 1, &raw_load, &outcome);
}

static int run_round(struct setting *setting, uint32_t round)
{
    struct side *daemon = &setting->daemon;
    struct side *echo = &setting->echo;

    for (enum mode mode = LIBRARY; mode < MODES; mode++) {
        if (run_pipelined(setting, echo, mode, round) != 0 ||
            run_pipelined(setting, daemon, mode, round) != 0) {
            return -1;
        }
        setting->ratios[mode][round] =
            daemon->modes[mode].rates[round] / echo->modes[mode].rates[round];
    }
    return run_singles(setting, echo, SINGLES) != 0 || run_singles(setting, daemon, SINGLES) != 0
               ? -1
               : 0;
}

static int warm_up(struct setting *setting)
{
    if (run_singles(setting, &setting->echo, WARM_UP) != 0 ||
        run_singles(setting, &setting->daemon, WARM_UP) != 0) {
        return -1;
    }
    setting->echo.single_count = 0;
    setting->daemon.single_count = 0;
    return 0;
}

/* Starts the echo server with a typical answer and the daemon's own Welcome. */
static int begin_echo(struct setting *setting)
{
    struct peer recorder = {0};
    struct hearsay_response welcome;
    struct hearsay_response answer;
    struct arena arena;

    arena_init(&arena, alloc_system(), ARENA_BYTES);
    int rc = choose_answer(setting, &arena, &answer);
    if (rc == 0) {
        rc = peer_connect(&recorder, setting->daemon.stage.child.port);
    }
    if (rc == 0) {
        rc = peer_greet(&recorder, &arena, &welcome);
    }
    if (rc == 0) {
        rc = stage_begin_echo(&setting->echo.stage, &welcome, &answer, CONNECTIONS);
    }
    peer_close(&recorder);
    arena_deinit(&arena);
    return rc;
}

static int run_all(struct setting *setting)
{
    struct peer_outcome outcome = {0};

    if (stage_deposit(&setting->daemon.stage, &setting->deposits, IN_FLIGHT, &outcome) != 0 ||
        begin_echo(setting) != 0 ||
        library_connect(setting->daemon.stage.child.port, &setting->daemon.library) != 0 ||
        library_connect(setting->echo.stage.child.port, &setting->echo.library) != 0 ||
        warm_up(setting) != 0) {
        return -1;
    }
    for (uint32_t round = 0; round < setting->rounds; round++) {
        if (run_round(setting, round) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* Echo, daemon, and the ratio of the two, of one mode. */
static void tell_rates(struct report *report, struct setting *setting, enum mode mode,
                       const char *const keys[3], const char *const texts[3])
{
    report_figure(report, keys[0], stats_median(setting->echo.modes[mode].rates, setting->rounds),
                  0, "/s", texts[0]);
    report_figure(report, keys[1], stats_median(setting->daemon.modes[mode].rates, setting->rounds),
                  0, "/s", texts[1]);
    report_goal(report, keys[2], stats_median(setting->ratios[mode], setting->rounds), goal,
                texts[2]);
}

static void tell_latencies(struct report *report, struct side *side, enum single kind,
                           const char *const keys[2], const char *const texts[2])
{
    report_figure(report, keys[0], stats_percentile(side->singles_us[kind], side->single_count, .5),
                  1, "us", texts[0]);
    report_figure(report, keys[1],
                  stats_percentile(side->singles_us[kind], side->single_count, .99), 1, "us",
                  texts[1]);
}

static void tell_shares(struct report *report, struct throughput *found, uint32_t rounds,
                        const char *const keys[2], const char *const texts[2])
{
    report_figure(report, keys[0], stats_median(found->server_shares, rounds), 2, "", texts[0]);
    report_figure(report, keys[1], stats_median(found->client_shares, rounds), 2, "", texts[1]);
}

static void tell_all_rates(struct report *report, struct setting *setting)
{
    tell_rates(report, setting, LIBRARY,
               (const char *const[]){"library_echo_per_s", "library_daemon_per_s", "library_ratio"},
               (const char *const[]){"libhearsay, 64 in flight: bare libuv echo",
                                     "libhearsay, 64 in flight: daemon", "daemon / echo"});
    tell_rates(report, setting, RAW, (const char *const[]){"echo_per_s", "daemon_per_s", "ratio"},
               (const char *const[]){"raw client, 1 connection, 64 in flight: echo",
                                     "raw client, 1 connection, 64 in flight: daemon",
                                     "daemon / echo"});
    tell_rates(report, setting, RAW_MANY,
               (const char *const[]){"many_echo_per_s", "many_daemon_per_s", "many_ratio"},
               (const char *const[]){"raw client, 64 connections, 1 in flight each: echo",
                                     "raw client, 64 connections, 1 in flight each: daemon",
                                     "daemon / echo"});
}

static void tell_all_latencies(struct report *report, struct setting *setting)
{
    tell_latencies(report, &setting->echo, LIBRARY_SINGLE,
                   (const char *const[]){"library_echo_p50_us", "library_echo_p99_us"},
                   (const char *const[]){"libhearsay, one at a time: echo, p50",
                                         "libhearsay, one at a time: echo, p99"});
    tell_latencies(report, &setting->daemon, LIBRARY_SINGLE,
                   (const char *const[]){"library_daemon_p50_us", "library_daemon_p99_us"},
                   (const char *const[]){"libhearsay, one at a time: daemon, p50",
                                         "libhearsay, one at a time: daemon, p99"});
    tell_latencies(report, &setting->echo, RAW_SINGLE,
                   (const char *const[]){"echo_p50_us", "echo_p99_us"},
                   (const char *const[]){"raw client, one at a time: echo, p50",
                                         "raw client, one at a time: echo, p99"});
    tell_latencies(report, &setting->daemon, RAW_SINGLE,
                   (const char *const[]){"daemon_p50_us", "daemon_p99_us"},
                   (const char *const[]){"raw client, one at a time: daemon, p50",
                                         "raw client, one at a time: daemon, p99"});
}

static void tell_all_shares(struct report *report, struct setting *setting)
{
    struct throughput *daemon = setting->daemon.modes;
    struct throughput *echo = setting->echo.modes;

    tell_shares(
        report, &daemon[LIBRARY], setting->rounds,
        (const char *const[]){"library_daemon_cpu_share", "library_daemon_client_cpu_share"},
        (const char *const[]){"processor time / elapsed, 64 in flight: the daemon",
                              "  and libhearsay, which asked it"});
    tell_shares(report, &echo[LIBRARY], setting->rounds,
                (const char *const[]){"library_echo_cpu_share", "library_echo_client_cpu_share"},
                (const char *const[]){"processor time / elapsed, 64 in flight: the echo",
                                      "  and libhearsay, which asked it"});
    tell_shares(report, &daemon[RAW], setting->rounds,
                (const char *const[]){"daemon_cpu_share", "daemon_client_cpu_share"},
                (const char *const[]){"processor time / elapsed, 64 in flight: the daemon",
                                      "  and the raw client that asked it"});
    tell_shares(report, &echo[RAW], setting->rounds,
                (const char *const[]){"echo_cpu_share", "echo_client_cpu_share"},
                (const char *const[]){"processor time / elapsed, 64 in flight: the echo",
                                      "  and the raw client that asked it"});
}

static void tell(struct report *report, struct setting *setting)
{
    char title[200];

    snprintf(title, sizeof(title),
             "%d messages, k = %d, without payload; question %zu bytes, answer %zu; "
             "medians of %u rounds",
             MESSAGES, WORKLOAD_K, setting->queries.bytes.count / QUERIES, setting->answer_bytes,
             (unsigned)setting->rounds);
    report_begin(report, "query", title);
    tell_all_rates(report, setting);
    tell_all_latencies(report, setting);
    tell_all_shares(report, setting);
    report_end(report);
}

static int make_room(struct setting *setting)
{
    const size_t room = (size_t)BENCH_ROUNDS_MAX * SINGLES + WARM_UP;

    for (enum single kind = LIBRARY_SINGLE; kind < SINGLE_KINDS; kind++) {
        setting->daemon.singles_us[kind] = calloc(room, sizeof(double));
        setting->echo.singles_us[kind] = calloc(room, sizeof(double));
        if (setting->daemon.singles_us[kind] == NULL || setting->echo.singles_us[kind] == NULL) {
            return bench_fail("out of memory");
        }
    }
    setting->filters = library_make_filters(QUERIES_SEED, QUERIES);
    if (setting->filters == NULL) {
        return -1;
    }
    if (frames_make_deposits(&setting->deposits, MESSAGES_SEED, MESSAGES) != 0) {
        return -1;
    }
    return frames_make_queries(&setting->queries, QUERIES_SEED, QUERIES);
}

static void end_side(struct side *side)
{
    hearsay_close(side->library);
    stage_end(&side->stage);
    for (enum single kind = LIBRARY_SINGLE; kind < SINGLE_KINDS; kind++) {
        free(side->singles_us[kind]);
    }
}

int bench_query(const struct bench_options *options, struct report *report)
{
    static struct setting setting;
    struct child_directory directory;

    setting.rounds = bench_or(options->rounds, ROUNDS);
    setting.count = bench_or(options->count, COUNT);
    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    int rc = make_room(&setting);
    if (rc == 0) {
        rc = stage_begin(&setting.daemon.stage, options, directory.path, CONNECTIONS);
    }
    if (rc == 0) {
        rc = run_all(&setting);
    }
    if (rc == 0) {
        tell(report, &setting);
    }
    end_side(&setting.echo);
    end_side(&setting.daemon);
    frames_deinit(&setting.deposits);
    frames_deinit(&setting.queries);
    free(setting.filters);
    child_directory_remove(&directory);
    return rc;
}
