/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench hood: how many access points a query of a neighbourhood asks, which core/hood/
 * decides by the groups of core/summary/; and what groups and bounds cost. Everything runs in this
 * process: there is no network. Every answer is compared with brute force over all messages.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/hood_town.h"
#include "tests/bench/stats.h"

enum {
    LIMITS = 3,
    RANGE_BYTES = 4, /* of a section of a group: smallest and largest number of set bits */
    ROUNDS = 9,
    BOUNDS_QUERIES = 300,
    GOAL_PERCENT = 10,
    GOAL_GRADED_PERCENT = 5
};

static const uint32_t limits[LIMITS] = {16, 32, 64};
static const size_t hood_sizes[] = {256, 999};

#define DEFAULT_PROFILE "v2:wifi=362/2,place=53/7,any=97/4"

static const struct hood_kind kinds[] = {
    {"plain", "plain, v2:512/4", "v2:512/4", false, false, false},
    {"graded", "graded, v2:512/2", "v2:512/2", true, false, false},
    {"noise", "plain, with topics and hours, v2:512/4", "v2:512/4", false, true, false},
    {"sections", "graded, with topics and hours, v2:wifi=480/2,any=32/1", "v2:wifi=480/2,any=32/1",
     true, true, false},
    {"default", "plain, with topics and hours, " DEFAULT_PROFILE, DEFAULT_PROFILE, false, true,
     false},
    {"phi", "the same by phi, " DEFAULT_PROFILE, DEFAULT_PROFILE, false, true, true},
    {"phi_plain", "plain by phi, v2:512/4", "v2:512/4", false, false, true},
};

/* Who helps the search at its beginning. */
enum start {
    START_HOME, /* the messages of the host that asks are among the results */
    START_FLOOR /* only the similarity of the k-th best of them is known: Query.floor_... */
};

struct figures {
    double *asked; /* of each query; owned */
    double waves;  /* the sum */
    size_t wrong;
};

/* --- queries ---------------------------------------------------------------------------------- */

static void describe_results(const struct town *town, const struct town_result *results,
                             uint32_t count, struct hood_found *out)
{
    for (uint32_t i = 0; i < count; i++) {
        memset(&out[i], 0, sizeof(out[i]));
        memcpy(out[i].id, &results[i].message, sizeof(results[i].message));
        out[i].deposited_ms = results[i].message;
        out[i].filter = town_filter(town, results[i].message);
    }
}

/* One query of a host. */
struct asking {
    const struct town *town;
    const uint64_t *query;
    struct town_result own[TOWN_K + 1]; /* what the host has itself */
    uint32_t own_count;
    struct town_result got[2 * TOWN_K + 1];
    uint32_t got_count;
};

static void ask_wave(struct asking *asking, struct hood_search *search, const uint32_t *peers,
                     uint32_t count, struct figures *figures)
{
    const struct town *town = asking->town;
    const struct similarity floor = hood_search_floor(search);
    struct hood_found found[TOWN_K];
    struct town_result results[TOWN_K + 1];

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = town->first[peers[i]];
        const uint32_t end = town->first[peers[i] + 1];
        const uint32_t result_count = town_nearest(town, asking->query, first, end, floor, results);
        const struct hood_answer answer = {
            .seq = 1, .is_complete = true, .found = found, .found_count = result_count};

        describe_results(town, results, result_count, found);
        (void)hood_search_answer(search, peers[i], &answer);
    }
    figures->waves++;
}

static void take_results(struct asking *asking, struct hood_search *search, enum start start)
{
    struct hood_outcome outcome;
    uint32_t count = 0;
    const struct nearest_candidate *results = hood_search_results(search, &count, &outcome);

    for (uint32_t i = 0; i < count; i++) {
        asking->got[i] =
            (struct town_result){results[i].rank, (uint32_t)results[i].item.deposited_ms};
    }
    asking->got_count = count;
    if (start == START_FLOOR) { /* the daemon that asked puts both together */
        memcpy(asking->got + count, asking->own, asking->own_count * sizeof(*asking->own));
        asking->got_count += asking->own_count;
        qsort(asking->got, asking->got_count, sizeof(*asking->got), town_compare);
    }
    asking->got_count = asking->got_count < TOWN_K ? asking->got_count : TOWN_K;
}

/* The host that asks is no peer of itself: its summary has no groups. */
static int ask_peers(struct asking *asking, struct hood *hood, enum start start,
                     struct figures *figures, double *out_asked)
{
    const struct index_part part = {.filter = asking->query};
    struct index_query query = plain_index_query(&part, 1, TOWN_K);
    const struct hood_query hood_query = {
        .query = &query,
        .floor = start == START_FLOOR && asking->own_count == TOWN_K ? asking->own[TOWN_K - 1].rank
                                                                     : (struct similarity){0, 1},
        .peers_max = UINT32_MAX,
        .max_staleness_ms = UINT64_MAX};
    struct hood_found found[TOWN_K];
    struct hood_search *search = NULL;
    const uint32_t *peers = NULL;
    uint32_t count = 0;
    double asked = 0;

    query.max_distance_ppm = TOWN_DISTANCE_PPM;
    query.metric = asking->town->metric;
    if (hood_search_new(hood, &hood_query, &search) != 0) {
        return bench_fail("memory is short");
    }
    if (start == START_HOME) {
        describe_results(asking->town, asking->own, asking->own_count, found);
        hood_search_offer_home(search, found, asking->own_count);
    }
    while ((count = hood_search_next(search, &peers)) > 0) {
        ask_wave(asking, search, peers, count, figures);
        asked += count;
    }
    take_results(asking, search, start);
    hood_search_free(search);
    *out_asked = asked;
    return 0;
}

static bool is_right(const struct asking *asking)
{
    const struct town *town = asking->town;
    struct town_result truth[TOWN_K + 1];
    const uint32_t count = town_nearest(town, asking->query, 0, town->first[town->data.peer_count],
                                        (struct similarity){0, 1}, truth);

    for (uint32_t i = 0; i < count && i < asking->got_count; i++) {
        if (town_compare(&truth[i], &asking->got[i]) != 0) {
            return false;
        }
    }
    return count == asking->got_count;
}

static int ask_all(const struct town *town, struct hood *hood, enum start start,
                   struct figures *figures)
{
    for (size_t q = 0; q < town->data.queries.count; q++) {
        const uint32_t home = town->data.homes[q];
        struct asking asking = {.town = town, .query = town_query(town, q)};

        asking.own_count =
            town_nearest(town, asking.query, town->first[home], town->first[home + 1],
                         (struct similarity){0, 1}, asking.own);
        if (town_set_peer(town, hood, home, false) != 0 ||
            ask_peers(&asking, hood, start, figures, &figures->asked[q]) != 0 ||
            town_set_peer(town, hood, home, true) != 0) {
            return -1;
        }
        figures->wrong += is_right(&asking) ? 0 : 1;
    }
    return 0;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void tell_figure(struct report *report, const struct hood_kind *kind, const char *key,
                        double value, int digits, const char *unit, const char *text)
{
    char whole[64];

    snprintf(whole, sizeof(whole), "%s_%s", kind->key, key);
    report_figure(report, whole, value, digits, unit, text);
}

static void tell_share(struct report *report, const struct hood_kind *kind, uint32_t limit,
                       enum start start, const struct town *town, struct figures *figures)
{
    const size_t count = town->data.queries.count;
    const double peers = town->data.peer_count - 1;
    char key[32];
    char text[96];
    double sum = 0;

    for (size_t q = 0; q < count; q++) {
        sum += figures->asked[q];
    }
    snprintf(key, sizeof(key), "g%u%s_percent", limit, start == START_FLOOR ? "_floor" : "");
    snprintf(text, sizeof(text), "%u groups: peers asked%s", limit,
             start == START_FLOOR ? ", with the floor only" : "");
    tell_figure(report, kind, key, 100 * sum / (double)count / peers, 1, "%", text);
    if (limit != 32 || start != START_HOME) {
        return;
    }
    tell_figure(report, kind, "goal_percent", kind->graded ? GOAL_GRADED_PERCENT : GOAL_PERCENT, 0,
                "%", "  goal: at most");
    tell_figure(report, kind, "asked_median", stats_percentile(figures->asked, count, 0.5), 0,
                "peers", "  median of a query");
    tell_figure(report, kind, "asked_p99", stats_percentile(figures->asked, count, 0.99), 0,
                "peers", "  99th percentile");
    tell_figure(report, kind, "waves", figures->waves / (double)count, 2, "/query", "  waves");
}

static void tell_cost(struct report *report, const struct hood_kind *kind, const struct town *town,
                      uint32_t limit, double us)
{
    double sum = 0;
    char key[32];
    char text[64];

    for (uint32_t p = 0; p < town->data.peer_count; p++) {
        const struct profile *profile = &town->data.profile;

        sum += town->groups[p].count *
               (double)(profile->bits / 8 + RANGE_BYTES * profile->section_count);
    }
    snprintf(key, sizeof(key), "g%u_bytes", limit);
    snprintf(text, sizeof(text), "%u groups: bytes of a summary, mean", limit);
    tell_figure(report, kind, key, sum / town->data.peer_count, 0, "B", text);
    snprintf(key, sizeof(key), "g%u_us", limit);
    snprintf(text, sizeof(text), "%u groups: a deposit, mean", limit);
    tell_figure(report, kind, key, us, 2, "us", text);
}

static int measure_limit(struct report *report, const struct hood_kind *kind, struct town *town,
                         uint32_t limit, size_t *wrong)
{
    const enum start last = limit == 32 ? START_FLOOR : START_HOME;
    double us = 0;
    int rc = town_cluster(town, limit, &us);

    for (enum start start = START_HOME; rc == 0 && start <= last; start++) {
        struct figures figures = {.asked = calloc(town->data.queries.count + 1, sizeof(double))};
        struct hood *hood = town_hood(town, town->data.peer_count);

        rc = hood == NULL || figures.asked == NULL ? -1 : ask_all(town, hood, start, &figures);
        if (rc == 0) {
            tell_share(report, kind, limit, start, town, &figures);
            *wrong += figures.wrong;
        }
        hood_free(hood);
        free(figures.asked);
    }
    if (rc == 0) {
        tell_cost(report, kind, town, limit, us);
    }
    return rc;
}

static int measure_kind(struct report *report, const struct hood_kind *kind, struct town *town)
{
    char title[160];
    size_t wrong = 0;
    int rc = town_begin(town);

    town->metric = kind->by_phi ? INDEX_METRIC_PHI : INDEX_METRIC_BITS;
    snprintf(title, sizeof(title), "%s: %u hosts, %zu messages, %zu queries, k = %d", kind->text,
             town->data.peer_count, town->data.stored.count, town->data.queries.count, TOWN_K);
    report_begin(report, "hood", title);
    for (size_t i = 0; rc == 0 && i < LIMITS; i++) {
        rc = measure_limit(report, kind, town, limits[i], &wrong);
    }
    if (rc == 0) {
        tell_figure(report, kind, "wrong", (double)wrong, 0, "",
                    "answers that brute force refutes");
    }
    report_end(report);
    return rc == 0 && wrong > 0 ? bench_fail("%zu answers were wrong", wrong) : rc;
}

/* --- times ------------------------------------------------------------------------------------ */

static int measure_clustering(struct report *report, struct town *town)
{
    double us[LIMITS][ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < LIMITS; i++) {
            if (town_cluster(town, limits[i], &us[i][round]) != 0) {
                return -1;
            }
        }
    }
    for (size_t i = 0; i < LIMITS; i++) {
        char key[32];
        char text[64];

        snprintf(key, sizeof(key), "g%u_us", limits[i]);
        snprintf(text, sizeof(text), "%u groups: a deposit, median of %d rounds", limits[i],
                 ROUNDS);
        report_figure(report, key, stats_median(us[i], ROUNDS), 2, "us", text);
    }
    return 0;
}

/* Bounds and order of all peers, which is what beginning a search costs. */
static int measure_bounds(struct report *report, const struct town *town, size_t size,
                          uint32_t limit)
{
    const char *metric = town->metric == INDEX_METRIC_PHI ? "phi_" : "";
    struct hood *hood = town_hood(town, (uint32_t)size);
    double us[BOUNDS_QUERIES];
    char key[32];
    char text[96];

    for (size_t q = 0; hood != NULL && q < BOUNDS_QUERIES; q++) {
        const struct index_part part = {.filter = town_query(town, q)};
        struct index_query query = plain_index_query(&part, 1, TOWN_K);
        const struct hood_query hood_query = {.query = &query, .floor = {1, 5}, .peers_max = 1};
        struct hood_search *search = NULL;

        query.metric = town->metric;

        const int64_t begin_ns = stats_cpu_ns();
        if (hood_search_new(hood, &hood_query, &search) != 0) {
            hood_free(hood);
            return bench_fail("memory is short");
        }
        us[q] = (double)(stats_cpu_ns() - begin_ns) / 1000;
        hood_search_free(search);
    }
    if (hood == NULL) {
        return -1;
    }
    snprintf(key, sizeof(key), "bounds_%s%zu_g%u_us", metric, size, limit);
    snprintf(text, sizeof(text), "%zu peers, %u groups: their bounds%s, median", size, limit,
             metric[0] != '\0' ? " by phi" : "");
    report_figure(report, key, stats_median(us, BOUNDS_QUERIES), 0, "us", text);
    if (town->metric == INDEX_METRIC_BITS) {
        snprintf(key, sizeof(key), "bytes_%zu_g%u", size, limit);
        report_figure(report, key, (double)hood_bytes(hood) / 1024, 0, "KiB", "  memory for them");
    }
    hood_free(hood);
    return 0;
}

static int measure_times(struct report *report)
{
    struct town town = {0};
    double us = 0;
    int rc = hood_data_campus(&town.data) == 0 ? town_begin(&town) : -1;

    report_begin(report, "hood_times", "times, on 100,000 messages of a campus, v2:512/4");
    if (rc == 0) {
        rc = measure_clustering(report, &town);
    }
    for (size_t i = 0; rc == 0 && i < LIMITS - 1; i++) {
        rc = town_cluster(&town, limits[i], &us);
        for (size_t s = 0; rc == 0 && s < sizeof(hood_sizes) / sizeof(hood_sizes[0]); s++) {
            town.metric = INDEX_METRIC_BITS;
            rc = measure_bounds(report, &town, hood_sizes[s], limits[i]);
            town.metric = INDEX_METRIC_PHI;
            rc = rc == 0 ? measure_bounds(report, &town, hood_sizes[s], limits[i]) : rc;
        }
    }
    report_end(report);
    town_end(&town);
    return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static int measure_uji(struct report *report, const char *directory)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct town town = {0};

        rc = hood_data_read(directory, &kinds[i], &town.data);
        if (rc == 0) {
            rc = measure_kind(report, &kinds[i], &town);
        }
        town_end(&town);
    }
    return rc;
}

int bench_hood(int argc, char **argv)
{
    struct report report = {.out = stdout};
    const char *directory = "../shared/data/ujiindoorloc";
    char path[4096];
    const struct option_row rows[] = {
        OPTION_TEXT("data", "DIR", &directory,
                    "UJIIndoorLoc (default: ../shared/data/ujiindoorloc)"),
        OPTION_FLAG("json", &report.json, "one JSON object a line instead of tables"),
    };
    const struct options_table table = {
        .command = "hood",
        .about = "How many access points a query of a neighbourhood asks. No network: each host "
                 "is an array.",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };
    const enum options_outcome outcome = options_read(&table, argc, argv);

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    snprintf(path, sizeof(path), "%s/training.tsv.gz", directory);
    if (access(path, R_OK) != 0) {
        fprintf(stderr, "SKIPPED: %s is not there; only times are measured\n", path);
    } else if (measure_uji(&report, directory) != 0) {
        return -1;
    }
    return measure_times(&report);
}
