/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench load: a daemon under a load of given rates, with messages that expire; the times of
 * requests from when they were to be sent; memory and descriptors meanwhile. With attackers, the
 * same load twice in one run, quiet and attacked, so that what attackers do to others is a ratio.
 */
#include "tests/bench/bench_load.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/bench/load_attack.h"
#include "tests/bench/load_client.h"
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
    bool unlimited; /* attackers are not held to the limits of an address */
    const char *plot;
    bool json;
};

/* What one phase gave. */
struct phase {
    struct load_result results[LOAD_KINDS];
    double cpu_share; /* of the daemon, of one core */
    double peak_mib;
};

static const char *const kind_names[LOAD_KINDS] = {"deposit", "query"};

static void print_help(void)
{
    printf("usage: hearsay-bench load [OPTION...]\n\n"
           "  --deposits N     a second (100)\n"
           "  --queries N      a second (1000)\n"
           "  --sessions N     connections, which requests take in turn (100)\n"
           "  --seconds N      of each phase (10)\n"
           "  --stored N       messages deposited beforehand (10000)\n"
           "  --ttl N          seconds after which the others expire (60)\n"
           "  --attack KIND    a second phase with attackers: slow, unread, greedy, noise\n"
           "  --attackers N    connections of theirs (64)\n"
           "  --unlimited      without the limits that addresses have by default\n"
           "  --plot DIR       memory and descriptors over time, as CSV, SVG and PNG\n"
           "  --seed N         of contexts and times (1)\n"
           "  --hearsayd FILE, --dir DIR, --json, --help  as for the other commands\n");
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct option known[] = {
    {"deposits", required_argument, NULL, 'd'}, {"queries", required_argument, NULL, 'q'},
    {"sessions", required_argument, NULL, 's'}, {"seconds", required_argument, NULL, 't'},
    {"stored", required_argument, NULL, 'n'},   {"ttl", required_argument, NULL, 'T'},
    {"attack", required_argument, NULL, 'a'},   {"attackers", required_argument, NULL, 'A'},
    {"unlimited", no_argument, NULL, 'u'},      {"plot", required_argument, NULL, 'p'},
    {"seed", required_argument, NULL, 'S'},     {"hearsayd", required_argument, NULL, 'H'},
    {"dir", required_argument, NULL, 'D'},      {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
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
    for (int i = ATTACK_NONE; i < ATTACK_KINDS; i++) {
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
    load_watch_look(context, elapsed_s);
}

static int run_phase(const struct load_options *options, struct load_client *client,
                     struct load_watch *watch, const struct child *child, struct phase *out)
{
    const size_t first = watch->count;
    const double cpu_s = child_cpu_seconds(child);

    const int rc = load_client_run(client, options->seconds, look, watch, out->results);
    out->cpu_share = (child_cpu_seconds(child) - cpu_s) / options->seconds;
    out->peak_mib = load_watch_peak_mib(watch, first);
    return rc;
}

static int run_attacked(const struct load_options *options, struct load_client *client,
                        struct load_watch *watch, const struct child *child, struct phase *out)
{
    const struct load_attack_plan plan = {
        .kind = options->attack,
        .port = options->unlimited ? child->port : child->limited_port,
        .source = "127.0.0.66",
        .peers = options->attackers,
        .seed = options->plan.seed + 1,
    };
    const pid_t attacker = load_attack_begin(&plan);

    if (attacker < 0) {
        return -1;
    }
    const int rc = run_phase(options, client, watch, child, out);
    load_attack_end(attacker);
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

/* --- figures ---------------------------------------------------------------------------------- */

static void tell_kind(const struct load_options *options, const char *phase, enum load_kind kind,
                      const struct load_result *result)
{
    static const struct {
        const char *name;
        uint32_t millionths;
    } shares[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}, {"p999", 999000}};

    if (result->sent == 0) {
        return;
    }
    if (options->json) {
        printf("{\"phase\": \"%s\", \"request\": \"%s\", \"sent\": %llu, \"answered\": %llu, "
               "\"refused\": %llu, \"unanswered\": %llu",
               phase, kind_names[kind], (unsigned long long)result->sent,
               (unsigned long long)result->answered, (unsigned long long)result->refused,
               (unsigned long long)result->unanswered);
    } else {
        printf("  %-8s %-8s %8llu sent, %llu refused, %llu unanswered;", phase, kind_names[kind],
               (unsigned long long)result->sent, (unsigned long long)result->refused,
               (unsigned long long)result->unanswered);
    }
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        const double ms = (double)histogram_percentile(&result->us, shares[i].millionths) / 1000;
        printf(options->json ? ", \"%s_ms\": %.3f" : " %s %.2f", shares[i].name, ms);
    }
    printf(options->json ? ", \"max_ms\": %.3f}\n" : " max %.2f ms\n",
           (double)result->us.greatest / 1000);
}

static void tell_phase(const struct load_options *options, const char *name,
                       const struct phase *phase)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        tell_kind(options, name, (enum load_kind)kind, &phase->results[kind]);
    }
    printf(options->json
               ? "{\"phase\": \"%s\", \"daemon_cpu_share\": %.3f, \"daemon_peak_mib\": %.1f}\n"
               : "  %-8s daemon: %.2f of a core, at most %.1f MiB\n",
           name, phase->cpu_share, phase->peak_mib);
}

static void tell_ratio(const struct load_options *options, const struct phase *quiet,
                       const struct phase *attacked)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const uint64_t before = histogram_percentile(&quiet->results[kind].us, 990000);
        const uint64_t with = histogram_percentile(&attacked->results[kind].us, 990000);
        if (before > 0) {
            printf(options->json
                       ? "{\"attack\": \"%s\", \"request\": \"%s\", \"p99_ratio\": %.2f}\n"
                       : "  with %s attackers the p99 of a %s is %.2f of the quiet one\n",
                   load_attack_names[options->attack], kind_names[kind],
                   (double)with / (double)before);
        }
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static int run_phases(const struct load_options *options, struct stage *stage)
{
    struct load_watch watch = {.pid = stage->child.pid};
    static struct phase quiet;
    static struct phase attacked;
    struct load_plan plan = options->plan;

    plan.port = stage->child.port;
    struct load_client *client = load_client_new(&plan);
    int rc = client == NULL ? -1 : run_phase(options, client, &watch, &stage->child, &quiet);
    if (rc == 0) {
        tell_phase(options, "quiet", &quiet);
    }
    if (rc == 0 && options->attack != ATTACK_NONE) {
        rc = run_attacked(options, client, &watch, &stage->child, &attacked);
        if (rc == 0) {
            tell_phase(options, "attacked", &attacked);
            tell_ratio(options, &quiet, &attacked);
        }
    }
    if (rc == 0 && options->plot != NULL) {
        rc = load_watch_draw(&watch, options->plot, "hearsayd under load");
    }
    load_client_free(client);
    load_watch_deinit(&watch);
    return rc;
}

static int run(const struct load_options *options)
{
    static struct stage stage;
    struct child_directory directory = {.path = ""};
    char limits[128];

    (void)snprintf(limits, sizeof(limits), "sessions = %zu\n",
                   options->plan.sessions + options->attackers + 16);
    const struct child_config config = {.limits = limits, .has_limited = !options->unlimited};
    raise_limits(options);
    int rc = child_directory_make(&directory, options->bench.dir);
    if (rc == 0) {
        rc =
            child_start_daemon_with(&stage.child, options->bench.hearsayd, directory.path, &config);
    }
    if (rc == 0) {
        rc = stage_connect(&stage, 1);
    }
    if (rc == 0) {
        rc = store(options, &stage);
    }
    if (rc == 0) {
        rc = run_phases(options, &stage);
    }
    stage_end(&stage);
    child_directory_remove(&directory);
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
        printf("load: %.0f deposits and %.0f queries a second over %zu sessions, %u messages "
               "stored, %u s a phase\n",
               options.plan.per_second[LOAD_DEPOSIT], options.plan.per_second[LOAD_QUERY],
               options.plan.sessions, (unsigned)options.stored, (unsigned)options.seconds);
    }
    return run(&options);
}
