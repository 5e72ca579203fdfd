/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores: queries a second of a daemon that may use two cores beside those of one that may use one.
 * Both have the same messages, what people leave, and take turns. The client is beside them: it has
 * the other core for itself while the first daemon works, and shares the two cores with the second.
 */
#include <sched.h>
#include <stdlib.h>

#include "core/filter/bloom.h"
#include "tests/bench/defaults.h"
#include "tests/bench/filters.h"
#include "tests/bench/stage.h"
#include "tests/bench/stats.h"

enum { COUNT = 100000, QUERIES = 8000, DIFFERENT = 2000, ROUNDS = 5, IN_FLIGHT = 64, SEED = 1 };
enum { DEPOSITS_IN_FLIGHT = 2000, PATIENCE_MS = 60 * 1000, SIDES = 2, KINDS = 3 };
static const double goal = 1.7;

static const size_t connections[KINDS] = {1, 8, IN_FLIGHT};

struct trial {
    struct filters filters;
    struct frames deposits;
    struct frames queries;
    struct child_directory directories[SIDES];
    struct stage stages[SIDES]; /* with one core, with two */
    cpu_set_t cores[SIDES];     /* that the daemon of this side may use */
    cpu_set_t client[SIDES];    /* that this process uses meanwhile */
    double rates[SIDES][KINDS][BENCH_ROUNDS_MAX];
    double ratios[KINDS][BENCH_ROUNDS_MAX];
    double without_client[KINDS][BENCH_ROUNDS_MAX];
};

/* The first two of the processors that this process may use. */
static int choose_cores(struct trial *trial)
{
    cpu_set_t all;
    int found = 0;

    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2) {
        return bench_fail("cores: needs two processors");
    }
    for (size_t cpu = 0; found < 2; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, found == 0 ? &trial->client[0] : &trial->cores[0]);
            CPU_SET(cpu, &trial->cores[1]);
            CPU_SET(cpu, &trial->client[1]);
            found++;
        }
    }
    return 0;
}

static int make_frames(const struct trial *trial, const struct filters_array *from, bool is_query,
                       struct frames *out)
{
    int rc = 0;

    bytes_init(&out->bytes, alloc_system());
    out->count = from->count;
    out->starts = calloc(from->count + 1, sizeof(*out->starts));
    for (size_t i = 0; out->starts != NULL && rc == 0 && i < from->count; i++) {
        struct workload_message message;

        workload_make(SEED, i, &message);
        bloom_store(from->words + i * trial->filters.filter_words, trial->filters.profile.bits,
                    message.filter);
        message.filter_bytes = bloom_bytes(trial->filters.profile.bits);
        rc = is_query ? frames_add_query(&out->bytes, &message, i + 1)
                      : frames_add_deposit(&out->bytes, &message, i + 1, WORKLOAD_TTL_S);
        out->starts[i + 1] = out->bytes.count;
    }
    return out->starts != NULL ? rc : bench_fail("memory is short");
}

/* A daemon that has loaded and arranged the messages. Its threads are as many as its cores allow.
 */
static int start(struct trial *trial, int side, const struct bench_options *options)
{
    struct stage *stage = &trial->stages[side];
    struct peer_outcome outcome;

    (void)sched_setaffinity(0, sizeof(cpu_set_t), &trial->cores[side]);
    int rc = child_directory_make(&trial->directories[side], options->dir);
    rc = rc == 0 ? stage_begin(stage, options, trial->directories[side].path, 1) : rc;
    rc = rc == 0 ? stage_deposit(stage, &trial->deposits, DEPOSITS_IN_FLIGHT, &outcome) : rc;
    stage_end(stage);
    rc = rc == 0 ? stage_begin(stage, options, trial->directories[side].path, PEER_MAX) : rc;
    return rc == 0 ? child_wait_until_arranged(&stage->child) : rc;
}

static int ask(struct trial *trial, int side, int kind, uint32_t total, struct peer_outcome *out)
{
    const struct peer_load load = {
        .frames = &trial->queries,
        .total = total,
        .window = IN_FLIGHT / connections[kind],
        .expected = HEARSAY_RESPONSE_RESULTS,
        .patience_ms = PATIENCE_MS,
    };

    (void)sched_setaffinity(0, sizeof(cpu_set_t), &trial->client[side]);
    return peer_run(trial->stages[side].peers, connections[kind], &load, out);
}

static int run_round(struct trial *trial, uint32_t round, uint32_t total)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct peer_outcome outcomes[SIDES];

        for (int side = 0; side < SIDES; side++) {
            if (ask(trial, side, kind, total, &outcomes[side]) != 0) {
                return -1;
            }
            trial->rates[side][kind][round] = total / outcomes[side].seconds;
        }
        trial->ratios[kind][round] = outcomes[0].seconds / outcomes[1].seconds;
        trial->without_client[kind][round] =
            outcomes[0].seconds / (outcomes[1].seconds - outcomes[1].cpu_seconds / 2);
    }
    return 0;
}

static void tell(struct trial *trial, uint32_t rounds, struct report *report)
{
    static const char *const sides[SIDES] = {"one_core", "two_cores"};

    report_begin(report, "cores", "queries by phi of 100,000 mixed messages, 64 in flight");
    for (int kind = 0; kind < KINDS; kind++) {
        char key[64];
        char text[64];

        (void)snprintf(text, sizeof(text), "%zu connections", connections[kind]);
        for (int side = 0; side < SIDES; side++) {
            (void)snprintf(key, sizeof(key), "%s_%zu_per_second", sides[side], connections[kind]);
            report_figure(report, key, stats_median(trial->rates[side][kind], rounds), 0, "/s",
                          text);
        }
        (void)snprintf(key, sizeof(key), "ratio_%zu", connections[kind]);
        report_figure(report, key, stats_median(trial->ratios[kind], rounds), 2, "",
                      "two cores over one");
        (void)snprintf(key, sizeof(key), "ratio_%zu_without_client", connections[kind]);
        report_goal(report, key, stats_median(trial->without_client[kind], rounds), goal,
                    "the same without the client's time");
    }
    report_end(report);
}

int bench_cores(const struct bench_options *options, struct report *report)
{
    static struct trial trial; /* of one run of the program */
    struct filters_options wanted = filters_standard;
    struct profile profile;
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    cpu_set_t before;

    (void)sched_getaffinity(0, sizeof(before), &before);
    wanted.workload = "mixed";
    wanted.levels = true;
    wanted.count = COUNT;
    wanted.query_count = DIFFERENT;
    bench_default_profile(&profile);
    int rc = choose_cores(&trial);
    rc = rc == 0 ? filters_make(&wanted, &profile, &trial.filters) : rc;
    rc = rc == 0 ? make_frames(&trial, &trial.filters.stored, false, &trial.deposits) : rc;
    rc = rc == 0 ? make_frames(&trial, &trial.filters.queries, true, &trial.queries) : rc;
    for (int side = 0; rc == 0 && side < SIDES; side++) {
        rc = start(&trial, side, options);
    }
    for (uint32_t round = 0; rc == 0 && round < rounds; round++) {
        rc = run_round(&trial, round, bench_or(options->count, QUERIES));
    }
    if (rc == 0) {
        tell(&trial, rounds, report);
    }
    for (int side = 0; side < SIDES; side++) {
        stage_end(&trial.stages[side]);
        child_directory_remove(&trial.directories[side]);
    }
    frames_deinit(&trial.deposits);
    frames_deinit(&trial.queries);
    filters_deinit(&trial.filters);
    (void)sched_setaffinity(0, sizeof(before), &before);
    return rc;
}
