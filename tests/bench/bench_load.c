/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench load: a daemon under a load of given rates, with messages that expire and clients
 * that watch; the times of requests and matches from when the requests were to be sent; memory,
 * descriptors and storage meanwhile. With attackers, the same load several times in one run, quiet
 * and attacked, so that what attackers do to others is a ratio.
 */
#include "tests/bench/bench_load.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/bench/load_attack.h"
#include "tests/bench/load_client.h"
#include "tests/bench/load_report.h"
#include "tests/bench/load_watch.h"
#include "tests/bench/plot.h"
#include "tests/bench/stage.h"

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

static void print_help(void)
{
    printf("usage: hearsay-bench load [OPTION...]\n\n"
           "  --deposits N     a second (100)\n"
           "  --queries N      a second (1000)\n"
           "  --watches N      that stand all the time (0)\n"
           "  --sessions N     connections, which requests take in turn (100)\n"
           "  --seconds N      of each phase (10)\n"
           "  --stored N       messages deposited beforehand (10000)\n"
           "  --ttl N          seconds after which the others expire (60)\n"
           "  --attack KIND    rounds of four phases: quiet, beside attackers (slow, unread,\n"
           "                   greedy, noise), beside the same at another daemon (elsewhere),\n"
           "                   and beside a process that uses as much of the processor as they\n"
           "                   did and talks to nobody (control)\n"
           "  --rounds N       of these (1)\n"
           "  --attackers N    connections of theirs (64)\n"
           "  --addresses N    that these come from (1)\n"
           "  --unlimited      without the limits that addresses have by default\n"
           "  --plot DIR       memory and descriptors over time, as CSV, SVG and PNG\n"
           "  --seed N         of contexts and times (1)\n"
           "  --hearsayd FILE, --dir DIR, --json, --help  as for the other commands\n");
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct option known[] = {
    {"deposits", required_argument, NULL, 'd'},
    {"queries", required_argument, NULL, 'q'},
    {"sessions", required_argument, NULL, 's'},
    {"seconds", required_argument, NULL, 't'},
    {"stored", required_argument, NULL, 'n'},
    {"ttl", required_argument, NULL, 'T'},
    {"watches", required_argument, NULL, 'w'},
    {"attack", required_argument, NULL, 'a'},
    {"attackers", required_argument, NULL, 'A'},
    {"addresses", required_argument, NULL, 'F'},
    {"rounds", required_argument, NULL, 'r'},
    {"unlimited", no_argument, NULL, 'u'},
    {"plot", required_argument, NULL, 'p'},
    {"seed", required_argument, NULL, 'S'},
    {"hearsayd", required_argument, NULL, 'H'},
    {"dir", required_argument, NULL, 'D'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int read_number(const char *text, uint32_t least, uint32_t most, uint32_t *out)
{
    char *end = NULL;
    const unsigned long value = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < least || value > most) {
        return bench_fail("\"%s\" is not a number from %u to %u", text, (unsigned)least,
                          (unsigned)most);
    }
    *out = (uint32_t)value;
    return 0;
}

static int read_rate(const char *text, double *out)
{
    uint32_t number = 0;
    const int rc = read_number(text, 0, 1000000, &number);

    *out = number;
    return rc;
}

static int read_attack(const char *text, enum load_attack *out)
{
    for (int i = ATTACK_SLOW; i < ATTACK_BURN; i++) {
        if (strcmp(text, load_attack_names[i]) == 0) {
            *out = (enum load_attack)i;
            return 0;
        }
    }
    return bench_fail("\"%s\" is no attack: slow, unread, greedy or noise", text);
}

static int take_option(struct load_options *options, int option)
{
    uint32_t number = 0;
    int rc = 0;

    switch (option) {
    case 'd':
        return read_rate(optarg, &options->plan.per_second[LOAD_DEPOSIT]);
    case 'q':
        return read_rate(optarg, &options->plan.per_second[LOAD_QUERY]);
    case 's':
        rc = read_number(optarg, 1, 20000, &number);
        options->plan.sessions = number;
        return rc;
    case 'w':
        rc = read_number(optarg, 0, 1000000, &number);
        options->plan.watches = number;
        return rc;
    case 't':
        return read_number(optarg, 1, 86400, &options->seconds);
    case 'n':
        return read_number(optarg, 1, BENCH_COUNT_MAX, &options->stored);
    case 'T':
        return read_number(optarg, 1, 604800, &options->plan.ttl_s);
    case 'a':
        return read_attack(optarg, &options->attack);
    case 'A':
        return read_number(optarg, 1, 5000, &options->attackers);
    case 'F':
        return read_number(optarg, 1, 5000, &options->addresses);
    case 'r':
        return read_number(optarg, 1, LOAD_ROUNDS_MAX, &options->rounds);
    case 'S':
        rc = read_number(optarg, 0, UINT32_MAX, &number);
        options->plan.seed = number;
        return rc;
    case 'u':
        options->unlimited = true;
        return 0;
    case 'p':
        options->plot = optarg;
        return 0;
    case 'H':
        options->bench.hearsayd = optarg;
        return 0;
    case 'D':
        options->bench.dir = optarg;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    default:
        return -1;
    }
}

/* --- phases ----------------------------------------------------------------------------------- */

static void look(void *context, double elapsed_s)
{
    struct lookout *lookout = context;

    load_watch_look(&lookout->watch, lookout->base_s + elapsed_s,
                    load_client_messages(lookout->client));
}

/* When the first messages have expired for a while, and what is to be filled is full. */
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
 * Quiet; attacked; beside the same attackers at another daemon, and beside a process that is as
 * busy as they were: what these two do is the machine's doing.
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

/* Descriptors for all connections, here and in the daemon, which inherits them. */
static void raise_limits(const struct load_options *options)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)options->plan.sessions + options->attackers + 200;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is missing shows when connecting */
    }
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

    raise_limits(options);
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

int bench_load(int argc, char **argv, const char *hearsayd)
{
    struct load_options options = {
        .bench = {.hearsayd = hearsayd, .dir = "."},
        .plan = {.sessions = 100, .per_second = {100, 1000}, .ttl_s = 60, .seed = 1},
        .seconds = 10,
        .stored = 10000,
        .attackers = 64,
        .addresses = 1,
        .rounds = 1,
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        if (option == 'h') {
            print_help();
            return 0;
        }
        if (take_option(&options, option) != 0) {
            return -1;
        }
    }
    if (optind < argc) {
        return bench_fail("\"%s\": see hearsay-bench load --help", argv[optind]);
    }
    if (options.plot != NULL && plot_prepare(options.plot) != 0) {
        return -1;
    }
    if (!options.json) {
        printf("load: %.0f deposits and %.0f queries a second over %zu sessions with %zu watches, "
               "%u messages stored, others for %u s, %u s a phase\n",
               options.plan.per_second[LOAD_DEPOSIT], options.plan.per_second[LOAD_QUERY],
               options.plan.sessions, options.plan.watches, (unsigned)options.stored,
               (unsigned)options.plan.ttl_s, (unsigned)options.seconds);
        (void)fflush(stdout);
    }
    return run(&options);
}
