/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench load: a daemon under a load of given rates, with messages that expire and clients
 * that watch. The times of requests and matches count from the moments at which the requests were
 * due. Also measures memory, descriptors and storage. With attackers, the same load runs several
 * times in one run, with and without an attack, so that the effect of the attackers is a ratio.
 */
#include <string.h>

#include "tests/bench/load_attack.h"
#include "tests/bench/load_report.h"
#include "tests/bench/plot.h"
#include "tests/bench/stage.h"

enum { RATE_MAX = 1000000 };

struct load_options {
    struct bench_options bench;
    struct load_plan plan;
    uint32_t seconds;
    uint32_t stored; /* messages deposited beforehand, which stay */
    enum load_attack attack;
    uint32_t attackers;
    uint32_t addresses; /* theirs */
    uint32_t rounds;
    bool unlimited; /* attackers are not held to the limits of an address */
    const char *plot;
    bool json;
};

/* What a look needs. */
struct lookout {
    struct load_watch watch;
    const struct load_client *client;
    double base_s; /* when this phase began */
};

/* Who is there. */
struct theatre {
    const struct child *child;
    const struct child *other; /* nobody's but attackers'; NULL where there are none */
    struct load_client *client;
    struct lookout lookout;
};

/* --- options ---------------------------------------------------------------------------------- */

static int parse_attack(char *text, void *destination)
{
    enum load_attack *out = destination;

    for (int i = ATTACK_SLOW; i < ATTACK_BURN; i++) {
        if (strcmp(text, load_attack_names[i]) == 0) {
            *out = (enum load_attack)i;
            return 0;
        }
    }
    return bench_fail("--attack takes slow, unread, greedy or noise, not %s", text);
}

static enum options_outcome read_options(int argc, char **argv, struct load_options *options)
{
    const struct option_row load_rows[] = {
        OPTION_U32("deposits", "N", &options->plan.per_second[LOAD_DEPOSIT], 0, RATE_MAX,
                   "a second (100)"),
        OPTION_U32("queries", "N", &options->plan.per_second[LOAD_QUERY], 0, RATE_MAX,
                   "a second (1000)"),
        OPTION_SIZE("watches", "N", &options->plan.watches, 0, 1000000,
                    "that stand all the time (0)"),
        OPTION_SIZE("sessions", "N", &options->plan.sessions, 1, 20000,
                    "connections, which requests take in turn (100)"),
        OPTION_U32("seconds", "N", &options->seconds, 1, 86400, "of each phase (10)"),
        OPTION_U32("stored", "N", &options->stored, 1, BENCH_COUNT_MAX,
                   "messages deposited beforehand (10000)"),
        OPTION_U32("ttl", "N", &options->plan.ttl_s, 1, 604800,
                   "seconds after which the others expire (60)"),
        OPTION_U64("seed", "N", &options->plan.seed, 0, UINT32_MAX, "of contexts and times (1)"),
        OPTION_TEXT("plot", "DIR", &options->plot,
                    "memory and descriptors over time, as CSV, SVG and PNG"),
    };
    const struct option_row attack_rows[] = {
        OPTION_PARSE("attack", "KIND", parse_attack, &options->attack,
                     "rounds of four phases: quiet, beside attackers (slow, unread,\n"
                     "greedy, noise), beside the same at another daemon (elsewhere),\n"
                     "and beside a process that uses as much of the processor as they\n"
                     "did and talks to nobody (control)"),
        OPTION_U32("rounds", "N", &options->rounds, 1, LOAD_ROUNDS_MAX, "of these (1)"),
        OPTION_U32("attackers", "N", &options->attackers, 1, 5000, "connections of theirs (64)"),
        OPTION_U32("addresses", "N", &options->addresses, 1, 5000, "that these come from (1)"),
        OPTION_FLAG("unlimited", &options->unlimited,
                    "without the limits that addresses have by default"),
    };
    struct option_row daemon_rows[BENCH_ROWS];
    const struct options_table table = {
        .command = "load",
        .about = "A daemon under a steady load, and under attack. docs/performance.md\n",
        .groups = {{"Load", load_rows, sizeof(load_rows) / sizeof(load_rows[0])},
                   {"Attack", attack_rows, sizeof(attack_rows) / sizeof(attack_rows[0])},
                   {"As for the other commands", daemon_rows, BENCH_ROWS}},
    };

    bench_rows(&options->bench, &options->json, daemon_rows);
    return options_read(&table, argc, argv);
}

/* --- phases ----------------------------------------------------------------------------------- */

static void look(void *context, double elapsed_s)
{
    struct lookout *lookout = context;

    load_watch_look(&lookout->watch, lookout->base_s + elapsed_s,
                    load_client_messages(lookout->client));
}

/*
 * Returns the time of the warm-up in seconds: messages have expired for a while, but at most a
 * third of the run.
 */
static double warm_s(const struct load_options *options)
{
    const double expired_s = 2.0 * options->plan.ttl_s;
    const double third_s = options->seconds / 3.0;

    return expired_s < third_s ? expired_s : third_s;
}

static int run_phase(const struct load_options *options, struct theatre *theatre,
                     struct load_phase *out)
{
    struct lookout *lookout = &theatre->lookout;
    const size_t first = lookout->watch.count;
    const double cpu_s = child_cpu_seconds(theatre->child);

    memset(out, 0, sizeof(*out));
    const int rc = load_client_run(theatre->client, options->seconds, look, lookout, out->results);
    out->cpu_share = (child_cpu_seconds(theatre->child) - cpu_s) / options->seconds;
    out->peak_mib = load_watch_peak_mib(&lookout->watch, first);
    out->warm_s = warm_s(options);
    out->has_trend =
        options->attack == ATTACK_NONE &&
        load_watch_trend(&lookout->watch, first, lookout->base_s + out->warm_s, &out->trend) == 0;
    lookout->base_s += options->seconds;
    return rc;
}

/* The same beside attackers, or beside what stands for them. */
static int run_beside(const struct load_options *options, struct theatre *theatre,
                      const struct load_attack_plan *plan, struct load_phase *out)
{
    const pid_t attacker = load_attack_begin(plan);

    if (attacker < 0) {
        return -1;
    }
    const int rc = run_phase(options, theatre, out);
    out->attacker_share = load_attack_end(attacker) / options->seconds;
    return rc;
}

static uint16_t attacked_port(const struct load_options *options, const struct child *child)
{
    return options->unlimited ? child->port : child->limited_port;
}

/*
 * Runs four phases: without an attack; with the attack; with the same attackers at another daemon;
 * and with a process that uses as much CPU time as the attackers did. The last two phases show the
 * effect of the shared machine alone.
 */
static int run_round(const struct load_options *options, struct theatre *theatre,
                     struct load_rounds *rounds)
{
    static struct load_phase phases[LOAD_TURNS];
    struct load_attack_plan plan = {
        .kind = options->attack,
        .port = attacked_port(options, theatre->child),
        .peers = options->attackers,
        .addresses = options->addresses,
        .seed = options->plan.seed + 1,
    };

    int rc = run_phase(options, theatre, &phases[LOAD_QUIET]);
    if (rc == 0) {
        rc = run_beside(options, theatre, &plan, &phases[LOAD_ATTACKED]);
    }
    plan.port = attacked_port(options, theatre->other);
    if (rc == 0) {
        rc = run_beside(options, theatre, &plan, &phases[LOAD_ELSEWHERE]);
    }
    plan.kind = ATTACK_BURN;
    plan.burn_share = phases[LOAD_ATTACKED].attacker_share;
    if (rc == 0) {
        rc = run_beside(options, theatre, &plan, &phases[LOAD_CONTROL]);
    }
    for (int turn = 0; turn < LOAD_TURNS && rc == 0; turn++) {
        load_report_phase(options->json, load_turn_names[turn], &phases[turn]);
        load_rounds_add(rounds, (enum load_turn)turn, &phases[turn]);
    }
    rounds->count += rc == 0 ? 1 : 0;
    return rc;
}

static int store(const struct load_options *options, struct stage *stage)
{
    struct frames frames = {0};
    struct peer_outcome outcome;

    int rc = frames_make_deposits(&frames, options->plan.seed + 2, options->stored);
    if (rc == 0) {
        rc = stage_deposit(stage, &frames, options->stored < 1000 ? options->stored : 1000,
                           &outcome);
    }
    frames_deinit(&frames);
    return rc;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int run_phases(const struct load_options *options, struct theatre *theatre)
{
    static struct load_rounds rounds;
    static struct load_phase phase;
    int rc = 0;

    if (options->attack == ATTACK_NONE) {
        rc = run_phase(options, theatre, &phase);
        if (rc == 0) {
            load_report_phase(options->json, load_turn_names[LOAD_QUIET], &phase);
        }
        return rc;
    }
    for (uint32_t i = 0; i < options->rounds && rc == 0; i++) {
        rc = run_round(options, theatre, &rounds);
    }
    if (rc == 0) {
        load_report_rounds(options->json, load_attack_names[options->attack], &rounds);
    }
    return rc;
}

static int run_with(const struct load_options *options, const struct child *child,
                    const struct child *other, const char *data)
{
    struct load_plan plan = options->plan;
    struct theatre theatre = {
        .child = child, .other = other, .lookout.watch = {.pid = child->pid, .data = data}};

    plan.port = child->port;
    theatre.client = load_client_new(&plan);
    theatre.lookout.client = theatre.client;
    int rc = theatre.client == NULL ? -1 : run_phases(options, &theatre);
    if (rc == 0 && options->plot != NULL) {
        rc = load_watch_draw(&theatre.lookout.watch, options->plot, "hearsayd under load");
    }
    load_client_free(theatre.client);
    load_watch_deinit(&theatre.lookout.watch);
    return rc;
}

/* A daemon with the messages that are there beforehand. 0 or -1; put_away in any case. */
static int put_up(const struct load_options *options, struct stage *stage,
                  struct child_directory *directory)
{
    char limits[256];

    (void)snprintf(limits, sizeof(limits),
                   "sessions = %zu\nwatches = %zu\nwatches_per_session = %zu\n",
                   options->plan.sessions + options->attackers + 16, options->plan.watches,
                   options->plan.watches / options->plan.sessions + 1);
    const struct child_config config = {.limits = limits, .has_limited = !options->unlimited};
    int rc = child_directory_make(directory, options->bench.dir);
    if (rc == 0) {
        rc = child_start_daemon_with(&stage->child, options->bench.hearsayd, directory->path,
                                     &config);
    }
    if (rc == 0) {
        rc = stage_connect(stage, 1);
    }
    if (rc == 0) {
        rc = store(options, stage);
    }
    if (rc == 0) {
        peer_close(&stage->peers[0]); /* it would be idle from now on */
    }
    return rc;
}

static void put_away(struct stage *stage, struct child_directory *directory)
{
    stage_end(stage);
    child_directory_remove(directory);
}

static int run(const struct load_options *options)
{
    static struct stage stage;
    static struct stage other;
    struct child_directory directory = {.path = ""};
    struct child_directory other_directory = {.path = ""};
    char data[CHILD_PATH_BYTES];
    const bool attacked = options->attack != ATTACK_NONE;

    bench_raise_descriptors((uint64_t)options->plan.sessions + options->attackers + 200);
    if (attacked) {
        load_attack_leave_a_processor();
    }
    int rc = put_up(options, &stage, &directory);
    if (rc == 0 && attacked) {
        rc = put_up(options, &other, &other_directory);
    }
    if (rc == 0) {
        (void)snprintf(data, sizeof(data), "%.*s/data", CHILD_PATH_BYTES - 8, directory.path);
        rc = run_with(options, &stage.child, attacked ? &other.child : NULL, data);
    }
    if (attacked) {
        put_away(&other, &other_directory);
    }
    put_away(&stage, &directory);
    return rc;
}

int bench_load(int argc, char **argv)
{
    struct load_options options = {
        .bench = bench_standard(),
        .plan = {.sessions = 100, .per_second = {100, 1000}, .ttl_s = 60, .seed = 1},
        .seconds = 10,
        .stored = 10000,
        .attackers = 64,
        .addresses = 1,
        .rounds = 1,
    };
    const enum options_outcome outcome = read_options(argc, argv, &options);

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    if (options.plot != NULL && plot_prepare(options.plot) != 0) {
        return -1;
    }
    if (!options.json) {
        printf("load: %u deposits and %u queries a second over %zu sessions with %zu watches, "
               "%u messages stored, others for %u s, %u s a phase\n",
               (unsigned)options.plan.per_second[LOAD_DEPOSIT],
               (unsigned)options.plan.per_second[LOAD_QUERY], options.plan.sessions,
               options.plan.watches, (unsigned)options.stored, (unsigned)options.plan.ttl_s,
               (unsigned)options.seconds);
        (void)fflush(stdout);
    }
    return run(&options);
}
