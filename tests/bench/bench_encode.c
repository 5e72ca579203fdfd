/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode: the time to make the filter of a context of 30 labels, beside the time for the hashes of
 * these labels alone. All sides take turns over the same 1,000 contexts.
 */
#include <stdlib.h>
#include <string.h>

#include "client/context/context.h"
#include "core/base/hash.h"
#include "core/profile/encode.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"

enum { CONTEXTS = 1000, LABELS = 30, LABEL_BYTES = 32, ROUNDS = 51, PROFILES = 3 };

static const struct {
    const char *key;
    const char *text;
} profiles[PROFILES] = {
    {"one", "v2:512/4"},
    {"sections", "v2:wifi=256/2,geo=96/1,time=32/1,topic=97/2,joint(geo,time)=31/1"},
    {"default", "v2:wifi=362/2,place=53/7,any=97/4"},
};

struct context {
    char text[LABELS][LABEL_BYTES];
    const char *labels[LABELS];
    size_t lengths[LABELS];
};

struct bench {
    struct context contexts[CONTEXTS];
    struct profile profiles[PROFILES];
    double hash_ns[BENCH_ROUNDS_MAX];
    double encode_ns[PROFILES][BENCH_ROUNDS_MAX];
    double library_ns[PROFILES][BENCH_ROUNDS_MAX];
    uint64_t sink; /* takes what is computed, so that none of it is left out */
};

/* 21 access points, a geohash of each of four lengths, date-hour and hour of the week, topics. */
static void make_context(uint64_t *state, struct context *out)
{
    static const char geohash[] = "u281zdqx";

    for (int i = 0; i < LABELS; i++) {
        const unsigned number = (unsigned)(filters_random(state) & 0xffffff);
        char *text = out->text[i];

        if (i < 21) {
            snprintf(text, LABEL_BYTES, "wifi:02:00:00:%02x:%02x:%02x", number >> 16,
                     number >> 8 & 0xff, number & 0xff);
        } else if (i < 25) {
            snprintf(text, LABEL_BYTES, "geo:%.*s%u", i - 17, geohash, number % 10);
        } else if (i == 25) {
            snprintf(text, LABEL_BYTES, "time:2026-11-%02uT%02u", number % 28 + 1, number % 24);
        } else if (i == 26) {
            snprintf(text, LABEL_BYTES, "time:h%u", number % 168);
        } else {
            snprintf(text, LABEL_BYTES, "topic:t%u", number % 5000);
        }
        out->labels[i] = text;
        out->lengths[i] = strlen(text);
    }
}

static double ns_a_context(int64_t begin_ns)
{
    return (double)(stats_cpu_ns() - begin_ns) / CONTEXTS;
}

static double time_hashes(struct bench *bench)
{
    const int64_t begin = stats_cpu_ns();

    for (int c = 0; c < CONTEXTS; c++) {
        const struct context *context = &bench->contexts[c];

        for (int i = 0; i < LABELS; i++) {
            const struct hash128 hash = hash_label(context->labels[i], context->lengths[i]);

            bench->sink += hash.low64 ^ hash.high64;
        }
    }
    return ns_a_context(begin);
}

static double time_encoder(struct bench *bench, const struct profile *profile)
{
    const int64_t begin = stats_cpu_ns();

    for (int c = 0; c < CONTEXTS; c++) {
        const struct context *context = &bench->contexts[c];
        struct encoder encoder;
        uint64_t filter[PROFILE_WORDS_MAX];

        encoder_begin(&encoder, profile);
        for (int i = 0; i < LABELS; i++) {
            bench->sink += (uint64_t)encoder_add(&encoder, context->labels[i], context->lengths[i]);
        }
        encoder_end(&encoder, filter);
        bench->sink += filter[0];
    }
    return ns_a_context(begin);
}

/*
 * Encodes a context as programs do: checks the labels and writes the filter in the form that is
 * sent.
 */
static double time_library(struct bench *bench, const struct profile *profile)
{
    const int64_t begin = stats_cpu_ns();

    for (int c = 0; c < CONTEXTS; c++) {
        struct hearsay_filter filter = {0};

        bench->sink += (uint64_t)context_encode(profile, NULL, bench->contexts[c].labels, LABELS,
                                                &filter, NULL);
        bench->sink += filter.bytes[0];
    }
    return ns_a_context(begin);
}

static int prepare(struct bench *bench)
{
    uint64_t state = 1;

    for (int c = 0; c < CONTEXTS; c++) {
        make_context(&state, &bench->contexts[c]);
    }
    for (int p = 0; p < PROFILES; p++) {
        struct hearsay_filter filter;

        if (bench_profile(profiles[p].text, &bench->profiles[p]) != 0) {
            return -1;
        }
        for (int c = 0; c < CONTEXTS; c++) { /* all of them can be encoded at all */
            struct hearsay_error error;

            if (context_encode(&bench->profiles[p], NULL, bench->contexts[c].labels, LABELS,
                               &filter, &error) != 0) {
                return bench_fail("%s", error.sentence);
            }
        }
    }
    return 0;
}

static void tell_profile(struct report *report, struct bench *bench, int p, uint32_t rounds,
                         double hash_ns)
{
    const double encode_ns = stats_median(bench->encode_ns[p], rounds);
    char key[64];
    char text[128];

    snprintf(key, sizeof(key), "%s_ns", profiles[p].key);
    snprintf(text, sizeof(text), "%s", profiles[p].text);
    report_figure(report, key, encode_ns, 0, "ns/context", text);
    snprintf(key, sizeof(key), "%s_library_ns", profiles[p].key);
    report_figure(report, key, stats_median(bench->library_ns[p], rounds), 0, "ns/context",
                  "  the same by libhearsay: labels checked, filter stored");
    snprintf(key, sizeof(key), "%s_ratio", profiles[p].key);
    report_figure(report, key, encode_ns / hash_ns, 2, "", "  to the hashes alone");
}

int bench_encode(const struct bench_options *options, struct report *report)
{
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    struct bench *bench = calloc(1, sizeof(*bench));
    char title[128];

    if (bench == NULL) {
        return bench_fail("memory is short");
    }
    const int rc = prepare(bench);
    for (uint32_t round = 0; rc == 0 && round < rounds; round++) {
        bench->hash_ns[round] = time_hashes(bench);
        for (int p = 0; p < PROFILES; p++) {
            bench->encode_ns[p][round] = time_encoder(bench, &bench->profiles[p]);
            bench->library_ns[p][round] = time_library(bench, &bench->profiles[p]);
        }
    }
    if (rc == 0) {
        const double hash_ns = stats_median(bench->hash_ns, rounds);

        snprintf(title, sizeof(title), "a context of %d labels to its filter; medians of %u rounds",
                 LABELS, (unsigned)rounds);
        report_begin(report, "encode", title);
        report_figure(report, "hash_ns", hash_ns, 0, "ns/context", "XXH3-128 of the labels alone");
        for (int p = 0; p < PROFILES; p++) {
            tell_profile(report, bench, p, rounds, hash_ns);
        }
        report_end(report);
    }
    free(bench);
    return rc;
}
