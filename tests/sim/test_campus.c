/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day of a campus with 1,000 access points of one hood, in one process: the real core, codec,
 * groups and waves; the hub, cuts and clocks are simulated. People leave messages everywhere, and
 * ask around at 24 of the hosts. Words get lost, uplinks are cut, peers are silent or wiped, clocks
 * are wrong and are set, and a dozen hosts lie, each in its way. Every answer is compared with
 * brute force over all peers: those that were asked, as they are now; those that were skipped, as
 * their summaries say for which time they speak.
 *
 * HEARSAY_SEED gives a day again. HEARSAY_CAMPUS_HOURS: how long (24; 1 with sanitizers, and where
 * tests are brief).
 * HEARSAY_CAMPUS_FAULT: skip, delta or merge plants a fault, which the test must find.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/campus.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HOURS = 1 };
#else
enum { HOURS = 24 };
#endif

enum {
    BEFORE = 10000,            /* messages when the day begins */
    QUERIES_AN_HOUR = 800,     /* of all askers */
    DEPOSITS_PER_MILLE = 1200, /* a second */
    EXPIRE_EVERY_S = 10,
    HOURS_FOR_SUMS = 12 /* in fewer, chance would decide */
};

struct campus campus;
struct sim_position sim_position;

void sim_fail(const char *file, int line, const char *format, ...)
{
    const int64_t second = (campus.now_ms - CAMPUS_BEGINS_MS) / SECOND_MS;
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(stderr,
                  "%s:%d: at %02" PRId64 ":%02" PRId64 ":%02" PRId64 ", query %" PRIu64 " (%s): ",
                  file, line, second / 3600, second / 60 % 60, second % 60, campus.sums.queries,
                  sim_position.doing != NULL ? sim_position.doing : "");
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "\nHEARSAY_SEED=%" PRIu64 " runs this day again\n", sim_position.seed);
    exit(EXIT_FAILURE);
}

/* --- what happens ----------------------------------------------------------------------------- */

/* About `per_mille` times in a thousand calls; above a thousand, more than once. */
static uint32_t how_often(uint32_t per_mille)
{
    return per_mille / 1000 + (rng_below(&campus.rng, 1000) < per_mille % 1000 ? 1 : 0);
}

/* A minute or two, at times hours. */
static int64_t some_time(void)
{
    return rng_chance(&campus.rng, 80) ? 1 + rng_below(&campus.rng, 2 * MINUTE_MS)
                                       : 1 + rng_below(&campus.rng, 3 * HOUR_MS);
}

static void set_clock(struct c_host *host)
{
    static const int64_t steps_ms[] = {5 * SECOND_MS, 10 * MINUTE_MS, 2 * HOUR_MS};
    const int64_t step_ms = steps_ms[rng_below(&campus.rng, 3)];

    if (rng_chance(&campus.rng, 40)) { /* it learns the time */
        host->has_gone_back = host->has_gone_back || host->clock_ms > 0;
        host->clock_ms = 0;
    } else if (rng_chance(&campus.rng, 50)) {
        host->clock_ms += step_ms;
    } else {
        host->clock_ms -= step_ms;
        host->has_gone_back = true;
    }
    campus.sums.clocks++;
}

/* The house loses its uplink: a row of hosts at once, or one. */
static void cut_uplinks(uint32_t number)
{
    const int64_t until_ms = campus.now_ms + some_time();
    const uint32_t count = rng_chance(&campus.rng, 30) ? SIDE : 1;

    for (uint32_t i = 0; i < count; i++) {
        campus.hosts[(number / count * count + i) % HOSTS].cut_until_ms = until_ms;
    }
    campus.sums.cuts++;
}

static void happen(void)
{
    struct rng *rng = &campus.rng;
    struct c_host *host = &campus.hosts[rng_below(rng, HOSTS)];
    const uint32_t number = (uint32_t)(host - campus.hosts);

    switch (rng_below(rng, 600)) {
    case 0:
        cut_uplinks(number);
        break;
    case 1:
    case 2:
        host->silent_until_ms = campus.now_ms + some_time();
        campus.sums.silences++;
        break;
    case 3:
        host_wipe(number);
        break;
    case 4:
        set_clock(host);
        break;
    default:
        break;
    }
}

static void live_second(uint32_t second)
{
    struct rng *rng = &campus.rng;

    campus.now_ms = CAMPUS_BEGINS_MS + (int64_t)second * SECOND_MS;
    sim_position.doing = "hosts live";
    happen();
    for (uint32_t i = how_often(DEPOSITS_PER_MILLE); i > 0; i--) {
        host_deposit(rng_below(rng, HOSTS));
    }
    if (rng_chance(rng, 20)) {
        host_withdraw(rng_below(rng, HOSTS));
    }
    for (uint32_t h = 0; h < HOSTS; h++) {
        if ((second + h) % EXPIRE_EVERY_S == 0) {
            host_expire(h);
        }
        hub_tell(h, (second + h) % KEEPALIVE_S == 0);
    }
    sim_position.doing = "words arrive";
    hub_deliver();
    sim_position.doing = "somebody asks around";
    for (uint32_t i = how_often(QUERIES_AN_HOUR * 1000 / 3600); i > 0; i--) {
        ask_around(&campus.askers[rng_below(rng, ASKERS)]);
    }
}

/* --- the day ---------------------------------------------------------------------------------- */

static void begin_askers(void)
{
    const struct hood_options options = {
        .alloc = alloc_system(), .profile = &campus.profile, .kernels = campus.kernels};
    for (uint32_t a = 0; a < ASKERS; a++) {
        campus.askers[a].host = a * (HOSTS / ASKERS) + 7;
        SIM_CHECK(hood_new(&options, HOSTS, &campus.askers[a].hood) == 0);
    }
}

/* Everybody has told everything before the first query. */
static void begin_day(void)
{
    static const char profile[] = "v2:512/4";
    const char *reason = NULL;

    SIM_CHECK(profile_parse(profile, strlen(profile), &campus.profile, &reason) == 0);
    campus.kernels = bits_select(BITS_BEST);
    campus.now_ms = CAMPUS_BEGINS_MS;
    hosts_init();
    begin_askers();
    for (uint32_t i = 0; i < BEFORE; i++) {
        host_deposit(rng_below(&campus.rng, HOSTS));
    }
    for (uint32_t h = 0; h < HOSTS; h++) {
        hub_tell(h, false);
    }
    campus.now_ms += 10 * SECOND_MS;
    hub_deliver();
}

static void end_day(void)
{
    hub_deinit();
    ask_deinit();
    hosts_deinit();
    for (uint32_t a = 0; a < ASKERS; a++) {
        hood_free(campus.askers[a].hood);
    }
}

static void report(uint32_t hours)
{
    const struct c_sums *sums = &campus.sums;
    const double queries = (double)sums->queries;

    printf("%u hours: %" PRIu64 " messages, of which %" PRIu64 " were covered by told groups; "
           "%" PRIu64 " words were full, %" PRIu64 " deltas, %" PRIu64 " keepalives, %.1f MB of "
           "groups; %" PRIu64 " delivered, %" PRIu64 " lost, %" PRIu64 " summaries became void\n",
           hours, sums->deposits, sums->covered, sums->full, sums->deltas, sums->keepalives,
           (double)sums->bytes / 1e6, sums->delivered, sums->lost, sums->voids);
    printf("%" PRIu64 " queries, all right: %.1f of %d peers asked, %.2f waves, %.1f results; "
           "%" PRIu64 " incomplete, %" PRIu64 " limited, %" PRIu64 " with an age\n",
           sums->queries, (double)sums->asked / queries, HOSTS - 1, (double)sums->waves / queries,
           (double)sums->results / queries, sums->incomplete, sums->limited, sums->stale);
    printf("%" PRIu64 " cuts, %" PRIu64 " silences, %" PRIu64 " wipes, %" PRIu64
           " clocks set, %" PRIu64 " groups made anew, %" PRIu64 " answers of faulty peers\n",
           sums->cuts, sums->silences, sums->wipes, sums->clocks, sums->rebuilds, sums->faulty);
}

/* Everything was tried. */
static void check_sums(void)
{
    const struct c_sums *sums = &campus.sums;

    SIM_CHECK(sums->covered > 0 && sums->deltas > 0 && sums->lost > 0 && sums->voids > 0);
    SIM_CHECK(sums->incomplete > 0 && sums->limited > 0 && sums->stale > 0 && sums->faulty > 0);
    SIM_CHECK(sums->cuts > 0 && sums->silences > 0 && sums->wipes > 0 && sums->clocks > 0);
    SIM_CHECK(sums->rebuilds > 0 && sums->results > sums->queries);
    SIM_CHECK(sums->asked * 10 < sums->queries * HOSTS); /* else bounds would be of no use */
}

static enum c_fault fault_named(const char *name)
{
    return name == NULL                 ? FAULT_NONE
           : strcmp(name, "skip") == 0  ? FAULT_SKIP
           : strcmp(name, "delta") == 0 ? FAULT_DELTA
                                        : FAULT_MERGE;
}

int main(void)
{
    const char *text = getenv("HEARSAY_CAMPUS_HOURS");
    const uint32_t hours = text != NULL     ? (uint32_t)strtoul(text, NULL, 10)
                           : rng_is_brief() ? 1U
                                            : (uint32_t)HOURS;

    rng_init(&campus.rng);
    sim_position.seed = campus.rng.state;
    campus.fault = fault_named(getenv("HEARSAY_CAMPUS_FAULT"));
    begin_day();
    for (uint32_t second = 11; second < hours * 3600; second++) {
        live_second(second);
    }
    report(hours);
    if (hours >= HOURS_FOR_SUMS) {
        check_sums();
    }
    end_day();
    return EXIT_SUCCESS;
}
