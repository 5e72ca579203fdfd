/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/workload.h"

#include <assert.h>
#include <stdlib.h>

#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "daemon/store/persist.h"
#include "proto/codec/codec.h"
#include "tests/bench/bench.h"
#include "tests/lib/plain_request.h"

enum { PLACES = 2000, NEIGHBOURS = 60, PLACE_STEP = 20 };

const char workload_media_type[] = "text/plain";
const char workload_profile[] = "v2:512/4";

/*
 * Returns the next number of splitmix64 (Steele, Lea, Flood 2014). The numbers look random, and are
 * the same on every machine.
 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void fill_random(uint64_t *state, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)next_random(state);
    }
}

void workload_read_profile(struct profile *out)
{
    const char *reason = NULL;
    const int rc = profile_parse(workload_profile, strlen(workload_profile), out, &reason);

    assert(rc == 0); /* it is a constant */
    (void)rc;
}

void workload_describe(const struct workload_message *from, uint32_t host, int64_t now_ms,
                       struct persist_message *out)
{
    *out = (struct persist_message){
        .host = host,
        .filter = from->filter,
        .filter_bytes = from->filter_bytes,
        .media_type = workload_media_type,
        .media_type_bytes = strlen(workload_media_type),
        .payload = from->payload,
        .payload_bytes = sizeof(from->payload),
        .deposited_ms = now_ms,
        .expires_ms = now_ms + (int64_t)WORKLOAD_TTL_S * 1000,
        .reach_ppm = DISTANCE_ONE_PPM,
        .can_withdraw = true,
    };
    memcpy(out->id, from->id, sizeof(out->id));
    memcpy(out->withdraw_hash, from->withdraw_hash, sizeof(out->withdraw_hash));
}

/* Makes the labels of one context. Each context draws which of its neighbours are seen. */
static void add_labels(uint64_t *state, const struct profile *profile, uint64_t *filter)
{
    struct encoder encoder;
    const uint64_t place = next_random(state) % PLACES * PLACE_STEP;
    uint64_t seen = 0;

    encoder_begin(&encoder, profile);
    for (unsigned labels = 0; labels < WORKLOAD_LABELS;) {
        const uint64_t neighbour = next_random(state) % NEIGHBOURS;
        char label[32];
        if ((seen >> neighbour & 1) != 0) {
            continue;
        }
        seen |= UINT64_C(1) << neighbour;
        const uint64_t point = place + neighbour;
        const int length = snprintf(label, sizeof(label), "wifi:02:00:00:%02x:%02x:%02x",
                                    (unsigned)(point >> 16 & 0xff), (unsigned)(point >> 8 & 0xff),
                                    (unsigned)(point & 0xff));
        const int refused = encoder_add(&encoder, label, (size_t)length);

        assert(refused == 0); /* one section takes every label */
        (void)refused;
        labels++;
    }
    encoder_end(&encoder, filter);
}

void workload_make(uint64_t seed, uint64_t number, struct workload_message *out)
{
    uint64_t state = seed * UINT64_C(0x100000001b3) + number * UINT64_C(0x9e3779b97f4a7c15);
    struct profile profile;

    workload_read_profile(&profile);
    memset(out, 0, sizeof(*out));
    (void)next_random(&state);
    state = next_random(&state);
    fill_random(&state, out->id, sizeof(out->id));
    fill_random(&state, out->withdraw_hash, sizeof(out->withdraw_hash));
    fill_random(&state, out->payload, sizeof(out->payload));
    add_labels(&state, &profile, out->words);
    out->filter_bytes = bloom_bytes(profile.bits);
    bloom_store(out->words, profile.bits, out->filter);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void describe_deposit(const struct workload_message *message, struct hearsay_request *out)
{
    out->kind = HEARSAY_REQUEST_DEPOSIT;
    out->deposit = (struct hearsay_deposit){
        .id = {message->id, sizeof(message->id)},
        .filter = {message->filter, message->filter_bytes},
        .media_type = {workload_media_type, strlen(workload_media_type)},
        .payload = {message->payload, sizeof(message->payload)},
        .has_ttl_s = true,
        .ttl_s = WORKLOAD_TTL_S,
        .reach_ppm = DISTANCE_ONE_PPM,
        .withdraw_hash = {message->withdraw_hash, sizeof(message->withdraw_hash)},
    };
}

static void describe_query(const struct workload_message *message, struct hearsay_query_part *part,
                           struct hearsay_request *out)
{
    *part = (struct hearsay_query_part){.filter = {message->filter, message->filter_bytes}};
    out->kind = HEARSAY_REQUEST_QUERY;
    out->query = plain_query(part, 1, WORKLOAD_K);
}

static int add_frame(struct bytes *out, const struct hearsay_request *request)
{
    return codec_encode_request(request, LIMIT_FRAME_BYTES_DEFAULT, out) == 0
               ? 0
               : bench_fail("a request could not be encoded");
}

int frames_add_deposit(struct bytes *out, const struct workload_message *message,
                       uint64_t request_id, uint32_t ttl_s)
{
    struct hearsay_request request = {.id = request_id};

    describe_deposit(message, &request);
    request.deposit.ttl_s = ttl_s;
    return add_frame(out, &request);
}

int frames_add_query(struct bytes *out, const struct workload_message *message, uint64_t request_id)
{
    struct hearsay_query_part part;
    struct hearsay_request request = {.id = request_id};

    describe_query(message, &part, &request);
    return add_frame(out, &request);
}

static int make_frames(struct frames *out, uint64_t seed, size_t count,
                       enum hearsay_request_kind kind)
{
    int rc = 0;

    *out = (struct frames){.count = count};
    bytes_init(&out->bytes, alloc_system());
    out->starts = calloc(count + 1, sizeof(*out->starts));
    if (out->starts == NULL) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct workload_message message;

        workload_make(seed, i, &message);
        rc = kind == HEARSAY_REQUEST_DEPOSIT
                 ? frames_add_deposit(&out->bytes, &message, i + 1, WORKLOAD_TTL_S)
                 : frames_add_query(&out->bytes, &message, i + 1);
        out->starts[i + 1] = out->bytes.count;
    }
    return rc;
}

int frames_make_deposits(struct frames *out, uint64_t seed, size_t count)
{
    return make_frames(out, seed, count, HEARSAY_REQUEST_DEPOSIT);
}

int frames_make_queries(struct frames *out, uint64_t seed, size_t count)
{
    return make_frames(out, seed, count, HEARSAY_REQUEST_QUERY);
}

void frames_deinit(struct frames *frames)
{
    free(frames->starts);
    bytes_deinit(&frames->bytes);
    *frames = (struct frames){0};
}
