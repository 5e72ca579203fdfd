/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/count/requests.h"

#include "core/filter/bloom.h"
#include "proto/codec/codec.h"
#include "tests/bench/defaults.h"
#include "tests/count/count.h"
#include "tests/lib/plain_request.h"

enum { SEED = 1, QUERIES = 100, TTL_S = 24 * 3600 };

static const char media_type[] = "text/plain";

void requests_make_filters(const char *workload, size_t count, uint32_t copies, struct filters *out)
{
    struct filters_options options = filters_standard;
    struct profile profile;

    options.workload = workload;
    options.count = count;
    options.query_count = QUERIES;
    options.copies = copies;
    options.seed = SEED;
    options.levels = true;
    bench_default_profile(&profile);
    if (filters_make(&options, &profile, out) != 0) {
        count_fail("there are no filters of %s", workload);
    }
}

void requests_make_message(const struct filters *filters, size_t number,
                           struct requests_message *out)
{
    uint64_t state = SEED + number;
    uint64_t random = filters_random(&state);

    memset(out, 0, sizeof(*out));
    memcpy(out->id, &random, sizeof(random));
    memcpy(out->id + sizeof(random), &number, sizeof(number));
    for (size_t i = 0; i < sizeof(out->payload); i++) {
        out->payload[i] = (uint8_t)('a' + (random >> i % 56) % 26);
    }
    out->filter_bytes = bloom_bytes(filters->profile.bits);
    bloom_store(filters_stored(filters, number), filters->profile.bits, out->filter);
}

void requests_describe(const struct requests_message *message, int64_t now_ms,
                       struct persist_message *out)
{
    *out = (struct persist_message){
        .filter = message->filter,
        .filter_bytes = message->filter_bytes,
        .media_type = media_type,
        .media_type_bytes = sizeof(media_type) - 1,
        .payload = message->payload,
        .payload_bytes = sizeof(message->payload),
        .deposited_ms = now_ms,
        .expires_ms = now_ms + (int64_t)TTL_S * 1000,
        .reach_ppm = DISTANCE_ONE_PPM,
        .seq = 1,
    };
    memcpy(out->id, message->id, sizeof(out->id));
}

static void add_frame(const struct hearsay_request *request, struct bytes *out)
{
    if (codec_encode_request(request, LIMIT_FRAME_BYTES_DEFAULT, out) != 0) {
        count_fail("a request cannot be encoded");
    }
}

void requests_add_deposit(const struct filters *filters, size_t number, struct bytes *out)
{
    struct requests_message message;
    struct hearsay_request request = {.id = number + 2, .kind = HEARSAY_REQUEST_DEPOSIT};

    requests_make_message(filters, number, &message);
    request.deposit = (struct hearsay_deposit){
        .id = {message.id, sizeof(message.id)},
        .filter = {message.filter, message.filter_bytes},
        .media_type = {media_type, sizeof(media_type) - 1},
        .payload = {message.payload, sizeof(message.payload)},
        .has_ttl_s = true,
        .ttl_s = TTL_S,
        .reach_ppm = DISTANCE_ONE_PPM,
    };
    add_frame(&request, out);
}

void requests_add_query(const struct filters *filters, size_t number, struct bytes *out)
{
    size_t which = number % filters->queries.count;
    uint8_t filter[PROFILE_BYTES_MAX];
    struct hearsay_query_part part = {.filter = {filter, bloom_bytes(filters->profile.bits)}};
    struct hearsay_request request = {.id = number + 2, .kind = HEARSAY_REQUEST_QUERY};

    bloom_store(filters->queries.words + which * filters->filter_words, filters->profile.bits,
                filter);
    request.query = plain_query(&part, 1, REQUESTS_K);
    request.query.metric = MSG_METRIC_DEFAULT;
    request.query.with_payload = true;
    add_frame(&request, out);
}
