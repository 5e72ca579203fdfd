/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters: the costs of the filters beside the index: the summary of a host, the ids that a reader
 * has seen, and the recent contexts of a client. The figures are in docs/filters.md.
 */
#include <string.h>

#include "core/filter/bloom.h"
#include "core/filter/counting.h"
#include "core/filter/sizing.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"
#include "tests/lib/fail_alloc.h"

enum {
    FILTERS = 1000,
    SEEN = 16320, /* what a frame of 64 KiB has room for */
    SEEN_BYTES = 64 * 1024,
    MISS_PPM = 1000,
    ROUNDS = 15,
    SEED = 1
};

struct samples {
    double summary_ns[BENCH_ROUNDS_MAX];
    double build_us[BENCH_ROUNDS_MAX];
    double unknown_ns[BENCH_ROUNDS_MAX];
    double known_ns[BENCH_ROUNDS_MAX];
    double summary_bytes;
    double seen_bytes;
    double wrong_ppm;
};

static struct workload_message messages[2 * SEEN];

static int measure_summary(const struct profile *profile, double *out_ns, double *out_bytes)
{
    static uint64_t filters[FILTERS][PROFILE_WORDS_MAX];
    struct summary summary;
    struct fail_alloc counted;

    fail_alloc_init(&counted);
    if (summary_init(&summary, &counted.alloc, profile->bits) != 0) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < FILTERS; i++) {
        (void)bloom_load(filters[i], profile->bits, messages[i].filter, messages[i].filter_bytes);
    }
    const int64_t start_ns = stats_cpu_ns();
    for (size_t i = 0; i < FILTERS; i++) {
        summary_add(&summary, filters[i]);
    }
    for (size_t i = 0; i < FILTERS; i++) {
        summary_remove(&summary, filters[i]);
    }
    *out_ns = (double)(stats_cpu_ns() - start_ns) / (2 * FILTERS);
    *out_bytes = (double)counted.live_bytes;
    summary_deinit(&summary);
    return 0;
}

/* Asks for the SEEN ids from `first` on; how many were found. */
static size_t ask(const struct scalable *seen, size_t first, double *out_ns)
{
    size_t found = 0;
    const int64_t start_ns = stats_cpu_ns();

    for (size_t i = first; i < first + SEEN; i++) {
        found += scalable_slices_have(seen->slices, seen->slice_count, messages[i].id,
                                      MESSAGE_ID_BYTES, NULL)
                     ? 1
                     : 0;
    }
    *out_ns = (double)(stats_cpu_ns() - start_ns) / SEEN;
    return found;
}

static int measure_seen(uint32_t round, struct samples *samples)
{
    struct scalable seen;
    int rc = 0;
    const int64_t start_ns = stats_cpu_ns();

    scalable_init(&seen, alloc_system(), MISS_PPM, round, SEEN_BYTES);
    for (size_t i = 0; i < SEEN && rc == 0; i++) {
        rc = scalable_add(&seen, messages[i].id, MESSAGE_ID_BYTES);
    }
    samples->build_us[round] = (double)(stats_cpu_ns() - start_ns) / 1000;
    samples->seen_bytes = (double)seen.bytes;
    if (rc != 0 || ask(&seen, 0, &samples->known_ns[round]) != SEEN) {
        rc = bench_fail("the scalable filter lacks an id");
    }
    samples->wrong_ppm += (double)ask(&seen, SEEN, &samples->unknown_ns[round]) * 1e6 / SEEN;
    scalable_deinit(&seen);
    return rc;
}

static void tell(struct report *report, struct samples *s, uint32_t rounds)
{
    char title[128];
    uint32_t bits = 0;

    (void)sizing_bits(SEEN, MISS_PPM / 1e6, &bits); /* in range */
    snprintf(title, sizeof(title), "profile %s; medians of %u rounds, processor time",
             workload_profile, (unsigned)rounds);
    report_begin(report, "filters", title);
    report_figure(report, "summary_bytes", s->summary_bytes, 0, "bytes", "a host's summary");
    report_figure(report, "summary_ns", stats_median(s->summary_ns, rounds), 0, "ns",
                  "to count a message in, or out");
    report_figure(report, "seen_bytes", s->seen_bytes, 0, "bytes",
                  "slices of 16,320 seen ids, at 0.001");
    report_figure(report, "single_bytes", (bits + 7.0) / 8, 0, "bytes",
                  "  one filter planned for as many");
    report_figure(report, "seen_wrong_ppm", s->wrong_ppm / rounds, 0, "ppm",
                  "  of other ids are taken for seen");
    report_figure(report, "seen_build_us", stats_median(s->build_us, rounds), 0, "us",
                  "  to make them from the ids");
    report_figure(report, "seen_unknown_ns", stats_median(s->unknown_ns, rounds), 0, "ns",
                  "  to ask them for an id that was not seen");
    report_figure(report, "seen_known_ns", stats_median(s->known_ns, rounds), 0, "ns",
                  "  to ask them for one that was");
    report_end(report);
}

int bench_filters(const struct bench_options *options, struct report *report)
{
    static struct samples samples;
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    struct profile profile;
    int rc = 0;

    memset(&samples, 0, sizeof(samples));
    workload_read_profile(&profile);
    for (size_t i = 0; i < 2 * (size_t)SEEN; i++) {
        workload_make(SEED, i, &messages[i]);
    }
    for (uint32_t r = 0; r < rounds && rc == 0; r++) {
        rc = measure_summary(&profile, &samples.summary_ns[r], &samples.summary_bytes);
        if (rc == 0) {
            rc = measure_seen(r, &samples);
        }
    }
    if (rc == 0) {
        tell(report, &samples, rounds);
    }
    return rc;
}
