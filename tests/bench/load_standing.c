/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_standing.h"

#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "proto/codec/codec.h"
#include "tests/bench/bench.h"

int load_standing_init(struct load_standing *standing, uint64_t seed, size_t count)
{
    struct workload_message message;
    struct profile profile;

    workload_read_profile(&profile);
    *standing = (struct load_standing){
        .seed = seed,
        .count = count,
        .filter_words = bloom_words(profile.bits),
    };
    if (count == 0) {
        return 0;
    }
    standing->filters = calloc(count * standing->filter_words, sizeof(*standing->filters));
    if (standing->filters == NULL) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        workload_make(seed, i, &message);
        memcpy(standing->filters + i * standing->filter_words, message.words,
               standing->filter_words * sizeof(*standing->filters));
    }
    return 0;
}

void load_standing_deinit(struct load_standing *standing)
{
    free(standing->filters);
    *standing = (struct load_standing){0};
}

static int add_watch(const struct load_standing *standing, size_t i, struct bytes *out)
{
    struct workload_message message;

    workload_make(standing->seed, i, &message);
    const struct hearsay_query_part part = {.filter = {message.filter, message.filter_bytes}};
    const struct hearsay_request request = {
        .id = i + 1,
        .kind = HEARSAY_REQUEST_WATCH,
        .watch =
            {
                .query =
                    {
                        .parts = &part,
                        .part_count = 1,
                        .max_distance_ppm = LOAD_STANDING_DISTANCE_PPM,
                        .since_ms = INT64_MIN,
                        .until_ms = INT64_MAX,
                        .metric = HEARSAY_METRIC_BITS,
                        .order = HEARSAY_ORDER_SIMILARITY,
                        .scope = HEARSAY_SCOPE_HERE,
                        .with_payload = true,
                        .wait_ms = LIMIT_WAIT_MS_DEFAULT,
                        .max_staleness_ms = UINT64_MAX,
                    },
                .after_seq = UINT64_MAX,
            },
    };
    return codec_encode_request(&request, LIMIT_FRAME_BYTES_DEFAULT, out) == 0
               ? 0
               : bench_fail("a watch could not be encoded");
}

int load_standing_make_watches(const struct load_standing *standing, struct frames *out)
{
    int rc = 0;

    *out = (struct frames){.count = standing->count};
    bytes_init(&out->bytes, alloc_system());
    out->starts = calloc(standing->count + 1, sizeof(*out->starts));
    if (out->starts == NULL) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < standing->count && rc == 0; i++) {
        rc = add_watch(standing, i, &out->bytes);
        out->starts[i + 1] = out->bytes.count;
    }
    return rc;
}

uint32_t load_standing_count_fitting(const struct load_standing *standing,
                                     const struct workload_message *message)
{
    uint32_t fitting = 0;

    for (size_t i = 0; i < standing->count; i++) {
        const uint64_t *filter = standing->filters + i * standing->filter_words;
        uint32_t shared = 0;
        uint32_t all = 0;
        for (size_t w = 0; w < standing->filter_words; w++) {
            shared += (uint32_t)__builtin_popcountll(filter[w] & message->words[w]);
            all += (uint32_t)__builtin_popcountll(filter[w] | message->words[w]);
        }
        fitting += distance_within(similarity_of(shared, all), LOAD_STANDING_DISTANCE_PPM) ? 1 : 0;
    }
    return fitting;
}
