/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench phones: phones in front of a hearsay-web that runs already. tests/scale starts the
 * programs, cuts the power, and looks afterwards for what was acknowledged.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/phones.h"

struct phones_options {
    struct phones_plan plan;
    uint32_t port;
    uint32_t seconds;
    uint32_t pages;
    uint32_t deposits;
    uint32_t roams;
    const char *name;
    const char *acknowledged;
};

static enum options_outcome read_options(int argc, char **argv, struct phones_options *options)
{
    const struct option_row rows[] = {
        OPTION_U32("port", "N", &options->port, 1, UINT16_MAX, "of the page, on 127.0.0.1"),
        OPTION_TEXT("name", "NAME", &options->name, "of the page, as in web.conf (hearsay.lan)"),
        OPTION_U32("phones", "N", &options->plan.phones, 2, PHONES_MAX,
                   "that keep the page open (200)"),
        OPTION_U32("places", "N", &options->plan.places, 1, PHONES_PLACES_MAX,
                   "where they are; place P has the addresses 127.P.0.0/16 (1)"),
        OPTION_U32("opened", "N", &options->plan.opened_per_second, 0, 100000,
                   "phones that open the page a second (0: all at once)"),
        OPTION_U32("pages", "N", &options->pages, 0, 100000, "opened again a second (0)"),
        OPTION_U32("deposits", "N", &options->deposits, 0, 100000, "a second (0)"),
        OPTION_U32("roams", "N", &options->roams, 0, 100000,
                   "phones that go to another place a minute (0)"),
        OPTION_U32("seconds", "N", &options->seconds, 1, 86400,
                   "after all phones have opened the page (10)"),
        OPTION_TEXT("acknowledged", "FILE", &options->acknowledged,
                    "receives the ids of the messages that were acknowledged"),
        OPTION_U64("seed", "N", &options->plan.seed, 0, UINT32_MAX, "of times and places (1)"),
    };
    const struct options_table table = {
        .command = "phones",
        .about = "Phones in front of a hearsay-web that runs. Prints one JSON object a phase.\n",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    return options_read(&table, argc, argv);
}

static void print_times(const char *name, const struct histogram *us)
{
    printf(", \"%s_p50_ms\": %.2f, \"%s_p99_ms\": %.2f", name,
           (double)histogram_percentile(us, 500000) / 1000, name,
           (double)histogram_percentile(us, 990000) / 1000);
}

static void print_phase(const char *phase, const struct phones_result *result)
{
    printf("{\"phase\": \"%s\", \"pages\": %" PRIu64 ", \"left\": %" PRIu64 ", \"shown\": %" PRIu64
           ", \"refused\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"roamed\": %" PRIu64
           ", \"resumed\": %" PRIu64 ", \"gone\": %" PRIu64,
           phase, result->pages, result->left, result->shown, result->refused, result->lost,
           result->roamed, result->resumed, result->gone);
    print_times("page", &result->page_us);
    print_times("leave", &result->leave_us);
    print_times("shown", &result->shown_us);
    printf("}\n");
    (void)fflush(stdout); /* the script acts on it */
}

static int run(struct phones_options *options)
{
    struct phones_result opened = {0};
    struct phones_result result = {0};
    struct phones *phones = phones_new(&options->plan);
    const int rc = phones == NULL ? -1 : phones_open(phones, &opened);

    if (rc == 0) {
        print_phase("opened", &opened);
        phones_run(phones, options->seconds, &result);
        print_phase("run", &result);
    }
    phones_free(phones);
    return rc;
}

int bench_phones(int argc, char **argv)
{
    struct phones_options options = {
        .plan = {.phones = 200, .places = 1, .has_streams = true, .seed = 1},
        .seconds = 10,
        .name = "hearsay.lan",
    };
    const enum options_outcome outcome = read_options(argc, argv, &options);

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    if (options.port == 0) {
        return bench_fail("--port is missing: where the page is");
    }
    options.plan.port = (uint16_t)options.port;
    options.plan.pages_per_second = options.pages;
    options.plan.deposits_per_second = options.deposits;
    options.plan.roams_per_minute = options.plan.places > 1 ? options.roams : 0;
    (void)snprintf(options.plan.name, sizeof(options.plan.name), "%.100s:%u", options.name,
                   (unsigned)options.port);
    if (options.acknowledged != NULL &&
        (options.plan.acknowledged = fopen(options.acknowledged, "w")) == NULL) {
        return bench_fail("%s: %s", options.acknowledged, strerror(errno));
    }
    bench_raise_descriptors(2 * (uint64_t)options.plan.phones + 64); /* two connections a phone */
    const int rc = run(&options);
    if (options.plan.acknowledged != NULL) {
        (void)fclose(options.plan.acknowledged);
    }
    return rc;
}
