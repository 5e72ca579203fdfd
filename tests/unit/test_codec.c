/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent is what is read; what is wrong is named; nothing a peer sends does any harm. */
#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "proto/codec.h"
#include "proto/frame.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/lib/wire_fixture.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

/* One side of the protocol, so that each property is tested on both. */
struct side {
    const char *name;
    size_t (*sample_count)(void);
    int (*encode_sample)(size_t index, struct arena *arena, struct bytes *out);
    int (*decode)(const uint8_t *frame, size_t length, struct arena *arena,
                  struct msg_error *out_error);
    /* Decodes and encodes what came out. Outcomes of decoding. */
    int (*again)(const uint8_t *frame, size_t length, struct arena *arena, struct bytes *out,
                 struct msg_error *out_error);
    size_t arena_bytes;
};

static int encode_request_sample(size_t index, struct arena *arena, struct bytes *out)
{
    return codec_encode_request(wire_request(index), arena, LIMIT_FRAME_BYTES_DEFAULT, out);
}

static int decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_error *out_error)
{
    struct msg_request request;

    return codec_decode_request(frame, length, arena, &request, out_error);
}

static int again_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct bytes *out, struct msg_error *out_error)
{
    struct msg_request request;
    int rv = codec_decode_request(frame, length, arena, &request, out_error);

    if (rv == 0) {
        assert_int_equal(codec_encode_request(&request, arena, LIMIT_FRAME_BYTES_MAX, out), 0);
    }
    return rv;
}

static int encode_response_sample(size_t index, struct arena *arena, struct bytes *out)
{
    return codec_encode_response(wire_response(index), arena, LIMIT_FRAME_BYTES_DEFAULT, out);
}

static int decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                           struct msg_error *out_error)
{
    struct msg_response response;

    return codec_decode_response(frame, length, arena, &response, out_error);
}

static int again_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct bytes *out, struct msg_error *out_error)
{
    struct msg_response response;
    int rv = codec_decode_response(frame, length, arena, &response, out_error);

    if (rv == 0) {
        assert_int_equal(codec_encode_response(&response, arena, LIMIT_FRAME_BYTES_MAX, out), 0);
    }
    return rv;
}

static const struct side sides[] = {
    {"request", wire_request_count, encode_request_sample, decode_request, again_request,
     LIMIT_FRAME_BYTES_DEFAULT + CODEC_REQUEST_ARENA_BYTES},
    {"response", wire_response_count, encode_response_sample, decode_response, again_response,
     LIMIT_FRAME_BYTES_DEFAULT + CODEC_RESPONSE_ARENA_BYTES},
};

static void sample_make(const struct side *side, size_t index, struct bytes *out)
{
    struct arena arena;

    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(out, alloc_system());
    assert_int_equal(side->encode_sample(index, &arena, out), 0);
    arena_deinit(&arena);
}

/* --- round trips ------------------------------------------------------------------------------ */

static void test_samples_come_back_the_same(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            struct msg_error error;
            struct arena arena;
            struct bytes once, twice;

            sample_make(&sides[s], i, &once);
            arena_init(&arena, alloc_system(), sides[s].arena_bytes);
            bytes_init(&twice, alloc_system());
            assert_int_equal(
                sides[s].again(once.data + HEADER, once.count - HEADER, &arena, &twice, &error), 0);
            assert_int_equal(once.count, twice.count);
            assert_memory_equal(once.data, twice.data, once.count);
            bytes_deinit(&twice);
            bytes_deinit(&once);
            arena_deinit(&arena);
        }
    }
}

static void assert_bytes(struct msg_bytes a, struct msg_bytes b)
{
    assert_int_equal(a.data == NULL, b.data == NULL);
    assert_int_equal(a.count, b.count);
    if (a.count > 0) {
        assert_memory_equal(a.data, b.data, a.count);
    }
}

/* Bytes alone could hide a field that neither direction knows: values are compared here, and all
 * of them against another implementation in tests/vectors. */
static void test_a_full_query_keeps_its_values(void **state)
{
    const struct msg_query *sent = &wire_request(5)->query;
    struct msg_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    (void)state;
    sample_make(&sides[0], 5, &bytes);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    bytes_deinit(&bytes); /* nothing borrows from the frame */
    assert_int_equal(back.id, 5);
    assert_int_equal(back.kind, MSG_REQUEST_QUERY);
    assert_string_equal(back.name, "query");
    assert_string_equal(back.query.host.text, "default");
    assert_int_equal(back.query.host.length, 7);
    assert_int_equal(back.query.k, 100);
    assert_int_equal(back.query.part_count, 2);
    assert_int_equal(back.query.parts[1].epoch, UINT64_MAX);
    for (size_t i = 0; i < 2; i++) {
        assert_bytes(back.query.parts[i].filter, sent->parts[i].filter);
        assert_bytes(back.query.parts[i].contains, sent->parts[i].contains);
        assert_bytes(back.query.exclude[i].bits, sent->exclude[i].bits);
        assert_int_equal(back.query.exclude[i].hashes, sent->exclude[i].hashes);
    }
    assert_int_equal(back.query.max_distance_ppm, 500000);
    assert_int_equal(back.query.since_ms, -1);
    assert_int_equal(back.query.until_ms, INT64_C(1790000000000));
    assert_int_equal(back.query.metric, MSG_METRIC_ESTIMATED);
    assert_int_equal(back.query.order, MSG_ORDER_TIME);
    assert_int_equal(back.query.exclude_count, 2);
    assert_true(back.query.with_payload);
    arena_deinit(&arena);
}

static void test_defaults_of_absent_fields(void **state)
{
    struct msg_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    (void)state;
    arena_init(&arena, alloc_system(), 1 << 20);
    sample_make(&sides[0], 2, &bytes);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_null(back.deposit.host.text);
    assert_int_equal(back.deposit.epoch, 0);
    assert_string_equal(back.deposit.media_type.text, "text/plain");
    assert_int_equal(back.deposit.payload.count, 0);
    assert_false(back.deposit.has_ttl);
    assert_int_equal(back.deposit.reach_ppm, 1000000);
    assert_null(back.deposit.withdraw_hash.data);
    bytes_deinit(&bytes);

    sample_make(&sides[0], 4, &bytes);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_int_equal(back.query.max_distance_ppm, 1000000);
    assert_int_equal(back.query.since_ms, INT64_MIN);
    assert_int_equal(back.query.until_ms, INT64_MAX);
    assert_int_equal(back.query.metric, MSG_METRIC_BITS);
    assert_int_equal(back.query.order, MSG_ORDER_SIMILARITY);
    assert_null(back.query.parts[0].contains.data);
    assert_false(back.query.with_payload);
    bytes_deinit(&bytes);
    arena_deinit(&arena);
}

/* Texts to be sent need no NUL behind them: a sanitizer sees a read beyond these. */
static void test_texts_without_a_nul_behind_them(void **state)
{
    static const char type[] = "text/plain; charset=utf-8";
    const size_t length = sizeof type - 1;
    char *exact = malloc(length);
    struct msg_response response = {.id = 1, .kind = MSG_RESPONSE_GOT};
    struct msg_response back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    (void)state;
    assert_non_null(exact);
    memcpy(exact, type, length);
    response.got.id = (struct msg_bytes){(const uint8_t *)"0123456789abcdef", LIMIT_ID_BYTES};
    response.got.media_type = (struct msg_text){exact, length};
    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_response(&response, &arena, 65536, &bytes), 0);
    free(exact);
    assert_int_equal(
        codec_decode_response(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_int_equal(back.got.media_type.length, length);
    assert_string_equal(back.got.media_type.text, type);
    bytes_deinit(&bytes);
    arena_deinit(&arena);
}

/* --- semantic errors -------------------------------------------------------------------------- */

static const uint8_t spare[LIMIT_FILTER_BYTES + 1];
static char long_agent[LIMIT_AGENT_BYTES + 2];
static char long_host[LIMIT_HOST_BYTES + 2];

static const struct msg_query_part no_filter[2] = {{.epoch = 1}};
static const struct msg_query_part long_filter[2] = {{.filter = {spare, 513}}};
static const struct msg_query_part no_bits_contained[2] = {
    {.filter = {spare, 64}, .contains = {spare, 0}},
};
static const struct msg_slice no_hashes[2] = {{.bits = {spare, 64}}};
static const struct msg_slice many_hashes[2] = {{.bits = {spare, 64}, .hashes = 33}};
static const struct msg_slice no_bits[2] = {{.hashes = 3}};

/* A good request, with one member overwritten by a value; the field that is then wrong. */
struct spoiled {
    const char *field;
    size_t sample;
    size_t member;
    size_t bytes;
    const void *value;
};
#define SPOILED(field, sample, member, type, ...)                                  \
    {                                                                              \
        field, sample, offsetof(struct msg_request, member), sizeof(type), &(type) \
        {                                                                          \
            __VA_ARGS__                                                            \
        }                                                                          \
    }

static const struct spoiled spoiled_rows[] = {
    SPOILED("versions", 1, hello.version_count, uint32_t, 0),
    SPOILED("agent", 1, hello.agent, struct msg_text, long_agent, LIMIT_AGENT_BYTES + 1),
    SPOILED("resume_token", 1, hello.resume_token, struct msg_bytes, spare, 0),
    SPOILED("resume_token", 1, hello.resume_token, struct msg_bytes, spare, 65),
    SPOILED("id", 3, deposit.id, struct msg_bytes, NULL, 0),
    SPOILED("id", 3, deposit.id, struct msg_bytes, spare, 0),
    SPOILED("id", 3, deposit.id, struct msg_bytes, spare, 15),
    SPOILED("filter", 3, deposit.filter, struct msg_bytes, NULL, 0),
    SPOILED("filter", 3, deposit.filter, struct msg_bytes, spare, 0),
    SPOILED("filter", 3, deposit.filter, struct msg_bytes, spare, 513),
    SPOILED("host", 3, deposit.host, struct msg_text, "", 0),
    SPOILED("host", 3, deposit.host, struct msg_text, "Default", 7),
    SPOILED("host", 3, deposit.host, struct msg_text, "-a", 2),
    SPOILED("host", 3, deposit.host, struct msg_text, long_host, LIMIT_HOST_BYTES + 1),
    SPOILED("media_type", 3, deposit.media_type, struct msg_text, "", 0),
    SPOILED("media_type", 3, deposit.media_type, struct msg_text, "text", 4),
    SPOILED("media_type", 3, deposit.media_type, struct msg_text, "text/", 5),
    SPOILED("media_type", 3, deposit.media_type, struct msg_text, "text/\x1b[31m", 10),
    SPOILED("ttl_s", 3, deposit.ttl_s, uint32_t, 0),
    SPOILED("reach", 3, deposit.reach_ppm, uint32_t, 1000001),
    SPOILED("withdraw_hash", 3, deposit.withdraw_hash, struct msg_bytes, spare, 0),
    SPOILED("withdraw_hash", 3, deposit.withdraw_hash, struct msg_bytes, spare, 31),
    SPOILED("k", 5, query.k, uint32_t, 0),
    SPOILED("parts", 5, query.part_count, size_t, 0),
    SPOILED("parts.filter", 5, query.parts, const struct msg_query_part *, no_filter),
    SPOILED("parts.filter", 5, query.parts, const struct msg_query_part *, long_filter),
    SPOILED("parts.contains", 5, query.parts, const struct msg_query_part *, no_bits_contained),
    SPOILED("max_distance", 5, query.max_distance_ppm, uint32_t, 1000001),
    SPOILED("metric", 5, query.metric, enum msg_metric, 0),
    SPOILED("metric", 5, query.metric, enum msg_metric, 3),
    SPOILED("order", 5, query.order, enum msg_order, (enum msg_order) - 1),
    SPOILED("exclude.hashes", 5, query.exclude, const struct msg_slice *, no_hashes),
    SPOILED("exclude.hashes", 5, query.exclude, const struct msg_slice *, many_hashes),
    SPOILED("exclude.bits", 5, query.exclude, const struct msg_slice *, no_bits),
    SPOILED("id", 7, get.id, struct msg_bytes, NULL, 0),
    SPOILED("id", 7, get.id, struct msg_bytes, spare, 17),
    SPOILED("host", 7, get.host, struct msg_text, "a_b", 3),
    SPOILED("id", 9, withdraw.id, struct msg_bytes, NULL, 0),
    SPOILED("token", 9, withdraw.token, struct msg_bytes, NULL, 0),
    SPOILED("token", 9, withdraw.token, struct msg_bytes, spare, 31),
    SPOILED("after", 12, export_page.after, struct msg_bytes, spare, 0),
    SPOILED("after", 12, export_page.after, struct msg_bytes, spare, 33),
    SPOILED("host", 12, export_page.host, struct msg_text, "a-", 2),
};

static void check_spoiled(const struct spoiled *row)
{
    struct msg_request request = *wire_request(row->sample);
    struct msg_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;
    int rv;

    memcpy((uint8_t *)&request + row->member, row->value, row->bytes);
    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_request(&request, &arena, 65536, &bytes), 0);
    rv = codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error);
    if (rv != CODEC_INVALID || strcmp(error.field, row->field) != 0) {
        fail_msg("%s, row %td: outcome %d, field %s: %s", row->field, row - spoiled_rows, rv,
                 error.field, error.message);
    }
    assert_int_equal(error.code, MSG_INVALID);
    assert_true(strlen(error.message) > 10);
    assert_int_equal(back.id, request.id); /* it can be answered */
    assert_true(strlen(back.name) > 0);
    bytes_deinit(&bytes);
    arena_deinit(&arena);
}

static void test_semantic_errors_name_the_field(void **state)
{
    (void)state;
    memset(long_agent, 'a', sizeof long_agent - 1);
    memset(long_host, 'a', sizeof long_host - 1);
    for (size_t i = 0; i < sizeof spoiled_rows / sizeof spoiled_rows[0]; i++) {
        check_spoiled(&spoiled_rows[i]);
    }
}

/* The same on the client's side: what a server must not send. */
static void test_bad_responses_name_the_field(void **state)
{
    static const struct {
        const char *field;
        uint32_t body;
        const char *bytes;
        size_t length;
    } rows[] = {
        {"code", 15, "", 0},
        {"code", 15, "\x08\x00", 2},
        {"version", 2, "", 0},
        {"store_id", 2, "\x08\x01", 2},
        {"limits", 2,
         "\x08\x01\x12\x10"
         "0123456789abcdef",
         20},
        {"hosts.name", 2,
         "\x08\x01\x12\x10"
         "0123456789abcdef"
         "\x2a\x00\x3a\x00",
         24},
        {"durability", 3, "\x08\x01", 2},
        {"durability", 3, "\x18\x03", 2},
        {"results.id", 4, "\x0a\x00", 2},
        {"results.distance", 4,
         "\x0a\x16\x0a\x10"
         "0123456789abcdef"
         "\x20\xc1\x84\x3d",
         24},
        {"id", 5, "", 0},
        {"messages.id", 39, "\x0a\x00", 2},
        {"messages.filter", 39,
         "\x0a\x12\x0a\x10"
         "0123456789abcdef",
         20},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct msg_error error;
        struct arena arena;
        struct bytes bytes;
        int rv;

        bytes_init(&bytes, alloc_system());
        wire_put_data(&bytes, rows[i].body, rows[i].bytes, rows[i].length);
        arena_init(&arena, alloc_system(), 1 << 20);
        rv = decode_response(bytes.data, bytes.count, &arena, &error);
        if (rv != CODEC_INVALID || strcmp(error.field, rows[i].field) != 0) {
            fail_msg("%s: outcome %d, field %s: %s", rows[i].field, rv, error.field, error.message);
        }
        arena_deinit(&arena);
        bytes_deinit(&bytes);
    }
}

/* An error code of a later version is passed on; its sentence says what it means. */
static void test_error_codes_of_later_versions(void **state)
{
    struct msg_response response;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    (void)state;
    bytes_init(&bytes, alloc_system());
    wire_put_data(&bytes, 15, "\x08\x63\x12\x04later", 8);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(codec_decode_response(bytes.data, bytes.count, &arena, &response, &error), 0);
    assert_int_equal(response.kind, MSG_RESPONSE_ERROR);
    assert_int_equal(response.error.code, 99);
    assert_string_equal(msg_error_name(response.error.code), "UNKNOWN");
    assert_string_equal(response.error.message, "late");
    arena_deinit(&arena);
    bytes_deinit(&bytes);
}

/* Decodes a request put together by hand. */
static int decode_by_hand(const struct bytes *bytes, struct msg_request *out,
                          struct msg_error *out_error)
{
    struct arena arena;
    int rv;

    arena_init(&arena, alloc_system(), LIMIT_FRAME_BYTES_MAX + CODEC_REQUEST_ARENA_BYTES);
    rv = codec_decode_request(bytes->data, bytes->count, &arena, out, out_error);
    arena_deinit(&arena);
    return rv;
}

static void test_an_id_is_needed(void **state)
{
    struct msg_request request;
    struct msg_error error;
    struct bytes bytes;

    (void)state;
    bytes_init(&bytes, alloc_system());
    wire_put_data(&bytes, 12, "", 0);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), CODEC_MALFORMED);
    assert_int_equal(error.code, MSG_MALFORMED);
    assert_string_equal(error.field, "id");
    wire_put_number(&bytes, 1, 0);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), CODEC_MALFORMED);
    bytes_deinit(&bytes);

    /* A field that is wrong does not matter where nobody can be told. */
    bytes_init(&bytes, alloc_system());
    wire_put_data(&bytes, 2, "\x12\x01\xff", 3);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), CODEC_MALFORMED);
    bytes_deinit(&bytes);
}

static void test_requests_that_are_not_served(void **state)
{
    struct msg_request request;
    struct msg_error error;
    struct bytes bytes;

    (void)state;
    bytes_init(&bytes, alloc_system());
    wire_put_number(&bytes, 1, 9);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), 0); /* no body at all */
    assert_int_equal(request.kind, MSG_REQUEST_UNKNOWN);
    assert_string_equal(request.name, "");
    wire_put_data(&bytes, 77, "\x01\x02", 2); /* a body of a later version */
    assert_int_equal(decode_by_hand(&bytes, &request, &error), 0);
    assert_int_equal(request.kind, MSG_REQUEST_UNKNOWN);
    wire_put_data(&bytes, 7, "\x10\x05", 2);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), 0);
    assert_int_equal(request.kind, MSG_REQUEST_KNOWN_ONLY);
    assert_string_equal(request.name, "watch");
    assert_int_equal(request.id, 9);
    bytes_deinit(&bytes);
}

static void test_unknown_fields_are_ignored(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            struct msg_error error;
            struct arena arena;
            struct bytes plain, more, again;

            sample_make(&sides[s], i, &plain);
            bytes_init(&more, alloc_system());
            bytes_init(&again, alloc_system());
            wire_put_number(&more, 5000, 7);
            assert_int_equal(bytes_append(&more, plain.data + HEADER, plain.count - HEADER), 0);
            wire_put_data(&more, 60, "later", 5);
            arena_init(&arena, alloc_system(), sides[s].arena_bytes);
            assert_int_equal(sides[s].again(more.data, more.count, &arena, &again, &error), 0);
            assert_int_equal(again.count, plain.count);
            assert_memory_equal(again.data, plain.data, plain.count);
            arena_deinit(&arena);
            bytes_deinit(&again);
            bytes_deinit(&more);
            bytes_deinit(&plain);
        }
    }
}

/* --- bombs ------------------------------------------------------------------------------------ */

static void test_too_many_parts_are_refused_before_unpacking(void **state)
{
    static const uint32_t counts[] = {LIMIT_PARTS + 1, 100000};
    struct msg_request request;
    struct msg_error error;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fail_alloc memory;
        struct arena arena;
        struct bytes query, bytes;

        bytes_init(&query, alloc_system());
        bytes_init(&bytes, alloc_system());
        for (uint32_t n = 0; n < counts[i]; n++) {
            wire_put_data(&query, 3, "", 0);
        }
        wire_put_data(&bytes, 4, query.data, query.count);
        wire_put_number(&bytes, 1, 33); /* behind it, and still found */
        fail_alloc_init(&memory);
        arena_init(&arena, &memory.alloc, 1 << 20);
        assert_int_equal(codec_decode_request(bytes.data, bytes.count, &arena, &request, &error),
                         CODEC_INVALID);
        assert_int_equal(memory.requests, 0);
        assert_int_equal(request.id, 33);
        assert_string_equal(request.name, "query");
        assert_string_equal(error.field, "parts");
        assert_non_null(strstr(error.message, "64"));
        arena_deinit(&arena);
        bytes_deinit(&bytes);
        bytes_deinit(&query);
    }
}

/* The most that the limits allow, in a frame of the default size, fits the promised memory. */
static void test_the_largest_messages_fit_the_promised_memory(void **state)
{
    struct msg_error error;

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        const uint32_t unknown = s == 0 ? LIMIT_UNKNOWN_REQUEST : LIMIT_UNKNOWN_RESPONSE;
        struct arena arena;
        struct bytes list, bytes;

        bytes_init(&list, alloc_system());
        bytes_init(&bytes, alloc_system());
        wire_put_number(&bytes, 1, 1);
        if (s == 0) {
            wire_put_number(&list, 2, 10);
            for (uint32_t n = 0; n < LIMIT_PARTS; n++) {
                wire_put_data(&list, 3, "\x08\x01\x12\x01\x01\x1a\x01\x01", 8);
            }
            for (uint32_t n = 0; n < LIMIT_SLICES; n++) {
                wire_put_data(&list, 9, "\x0a\x01\x01\x10\x01", 5);
            }
            wire_put_data(&bytes, 4, list.data, list.count);
        } else {
            for (uint32_t n = 0; n < LIMIT_RESULTS; n++) {
                wire_put_data(&list, 1,
                              "\x0a\x10"
                              "0123456789abcdef"
                              "\x42\x03"
                              "a/b",
                              23);
            }
            wire_put_data(&bytes, 4, list.data, list.count);
        }
        for (uint32_t n = 0; n < unknown; n++) {
            wire_put_number(&bytes, 100, n & 0x7f);
        }
        assert_true(bytes.count <= LIMIT_FRAME_BYTES_DEFAULT);
        arena_init(&arena, alloc_system(), sides[s].arena_bytes);
        assert_int_equal(sides[s].decode(bytes.data, bytes.count, &arena, &error), 0);
        arena_deinit(&arena);
        bytes_deinit(&list);
        bytes_deinit(&bytes);
    }
}

static void test_every_prefix_has_a_clean_outcome(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            struct msg_error error;
            struct bytes bytes;

            sample_make(&sides[s], i, &bytes);
            for (size_t length = 0; length + HEADER < bytes.count; length++) {
                struct arena arena;
                /* A block of its own, so that a sanitizer sees a read beyond it. */
                uint8_t *cut = malloc(length + 1);
                int rv;

                assert_non_null(cut);
                memcpy(cut, bytes.data + HEADER, length);
                arena_init(&arena, alloc_system(), 1 << 20);
                rv = sides[s].decode(cut, length, &arena, &error);
                assert_in_range(rv, 0, CODEC_INVALID);
                arena_deinit(&arena);
                free(cut);
            }
            bytes_deinit(&bytes);
        }
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

static void test_a_budget_that_is_too_small(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            struct bytes bytes;
            size_t limit = 0;
            int rv;

            sample_make(&sides[s], i, &bytes);
            do {
                struct fail_alloc memory;
                struct arena arena;
                struct msg_error error;

                fail_alloc_init(&memory);
                arena_init(&arena, &memory.alloc, limit);
                rv = sides[s].decode(bytes.data + HEADER, bytes.count - HEADER, &arena, &error);
                if (rv != 0) {
                    assert_int_equal(rv, CODEC_INVALID);
                    assert_int_equal(error.code, MSG_TOO_LARGE);
                    assert_true(arena.refused);
                }
                assert_true(memory.live_bytes <= limit);
                arena_deinit(&arena);
                assert_int_equal(memory.live_bytes, 0);
                limit += 64;
            } while (rv != 0);
            bytes_deinit(&bytes);
        }
    }
}

static void test_nth_allocation_fails_in_decoding(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            struct bytes bytes;
            size_t n = 0;
            int rv;

            sample_make(&sides[s], i, &bytes);
            do {
                struct fail_alloc memory;
                struct arena arena;
                struct msg_error error;

                fail_alloc_init(&memory);
                fail_alloc_arm(&memory, ++n);
                arena_init(&arena, &memory.alloc, 1 << 20);
                rv = sides[s].decode(bytes.data + HEADER, bytes.count - HEADER, &arena, &error);
                assert_true(rv == 0 || rv == -ERR_NOMEM);
                arena_deinit(&arena);
                assert_int_equal(memory.live_bytes, 0);
            } while (rv != 0);
            bytes_deinit(&bytes);
        }
    }
}

/* The arena gets its memory in blocks: to let every single request of it fail, its limit grows. */
static void test_memory_runs_out_in_encoding(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides[s].sample_count(); i++) {
            size_t limit = 0;
            int rv;

            do {
                struct fail_alloc memory;
                struct arena arena;
                struct bytes out;

                fail_alloc_init(&memory);
                arena_init(&arena, &memory.alloc, limit);
                bytes_init(&out, alloc_system());
                assert_int_equal(bytes_append(&out, "before", 6), 0);
                rv = sides[s].encode_sample(i, &arena, &out);
                if (rv != 0) {
                    assert_int_equal(rv, -ERR_NOMEM);
                    assert_int_equal(out.count, 6); /* nothing half-written */
                }
                assert_memory_equal(out.data, "before", 6);
                bytes_deinit(&out);
                arena_deinit(&arena);
                assert_int_equal(memory.live_bytes, 0);
                limit += 16;
            } while (rv != 0);
        }
    }
}

static void test_output_that_cannot_grow(void **state)
{
    struct fail_alloc memory;
    struct arena arena;
    struct bytes out;

    (void)state;
    fail_alloc_init(&memory);
    fail_alloc_arm(&memory, 1);
    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(&out, &memory.alloc);
    assert_int_equal(codec_encode_response(wire_response(3), &arena, 65536, &out), -ERR_NOMEM);
    assert_int_equal(out.count, 0);
    assert_int_equal(codec_encode_response(wire_response(3), &arena, 65536, &out), 0);
    bytes_deinit(&out);
    arena_deinit(&arena);
}

/* --- sizes ------------------------------------------------------------------------------------ */

static void test_frames_end_at_their_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_response_count(); i++) {
        struct arena arena;
        struct bytes out;
        size_t length;

        sample_make(&sides[1], i, &out);
        length = out.count - HEADER;
        arena_init(&arena, alloc_system(), 1 << 20);
        assert_int_equal(codec_encode_response(wire_response(i), &arena, length, &out), 0);
        assert_int_equal(out.count, 2 * (HEADER + length));
        assert_int_equal(codec_encode_response(wire_response(i), &arena, length - 1, &out),
                         CODEC_TOO_LARGE);
        assert_int_equal(out.count, 2 * (HEADER + length));
        arena_deinit(&arena);
        bytes_deinit(&out);
    }
}

/* The bytes of a response with a body of this kind. */
static size_t response_bytes(const struct msg_response *response)
{
    struct arena arena;
    struct bytes out;
    size_t length;

    arena_init(&arena, alloc_system(), 1 << 24);
    bytes_init(&out, alloc_system());
    assert_int_equal(codec_encode_response(response, &arena, LIMIT_FRAME_BYTES_MAX, &out), 0);
    length = out.count - HEADER;
    bytes_deinit(&out);
    arena_deinit(&arena);
    return length;
}

/* What fits by the promised sizes fits indeed. Numbers are those that take the most bytes. */
static void test_promised_sizes_are_enough(void **state)
{
    static const size_t payloads[] = {0, 1, 127, 128, 16383, 16384, 1000000};
    static uint8_t payload[1000000];
    static char type[LIMIT_MEDIA_TYPE_BYTES + 1];

    (void)state;
    memset(type, 'a', sizeof type - 1);
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        const struct msg_result result = {.id = {payload, 16},
                                          .epoch = UINT64_MAX,
                                          .intersection_count = UINT32_MAX,
                                          .union_count = UINT32_MAX,
                                          .distance_ppm = UINT32_MAX,
                                          .estimated_similarity_ppm = UINT32_MAX,
                                          .deposited_ms = -1,
                                          .expires_ms = -1,
                                          .media_type = {type, sizeof type - 1},
                                          .payload = {payload, payloads[i]},
                                          .payload_omitted = true};
        const struct msg_exported_message message = {.id = {payload, 16},
                                                     .epoch = UINT64_MAX,
                                                     .filter = {payload, LIMIT_FILTER_BYTES},
                                                     .media_type = {type, sizeof type - 1},
                                                     .payload = {payload, payloads[i]},
                                                     .deposited_ms = -1,
                                                     .expires_ms = -1,
                                                     .reach_ppm = UINT32_MAX,
                                                     .withdraw_hash = {payload, LIMIT_HASH_BYTES}};
        const struct msg_response results = {.id = UINT64_MAX,
                                             .kind = MSG_RESPONSE_RESULTS,
                                             .results = {&result, 1, UINT64_MAX, true, true}};
        const struct msg_response exported = {
            .id = UINT64_MAX,
            .kind = MSG_RESPONSE_EXPORTED,
            .exported = {&message, 1, {payload, LIMIT_CURSOR_BYTES}}};

        assert_true(response_bytes(&results) <=
                    CODEC_ENVELOPE_BYTES_MAX +
                        codec_result_bytes_max(payloads[i], sizeof type - 1));
        assert_true(response_bytes(&exported) <=
                    CODEC_ENVELOPE_BYTES_MAX + codec_exported_bytes_max(&message));
    }
    assert_int_equal(codec_result_bytes_max(SIZE_MAX, 1), SIZE_MAX);
}

/* --- mutation --------------------------------------------------------------------------------- */

/* Changes, drops, repeats or moves a few bytes. Returns the new length. */
static size_t mutate(struct rng *random, uint8_t *bytes, size_t length, size_t capacity)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0x08, 0x0a, 0x12, 0x1a, 0x22};
    uint64_t times = rng_next(random) % 4 + 1;

    for (uint64_t t = 0; t < times && length > 0; t++) {
        size_t at = rng_next(random) % length;
        size_t some = rng_next(random) % (length - at) % 24 + 1;

        switch (rng_next(random) % 6) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << rng_next(random) % 8);
            break;
        case 1:
            bytes[at] = telling[rng_next(random) % sizeof telling];
            break;
        case 2:
            bytes[at] = (uint8_t)rng_next(random);
            break;
        case 3: /* drop */
            memmove(bytes + at, bytes + at + some, length - at - some);
            length -= some;
            break;
        case 4: /* repeat */
            if (length + some <= capacity) {
                memmove(bytes + at + some, bytes + at, length - at);
                length += some;
            }
            break;
        default: /* copy elsewhere */
            memmove(bytes + rng_next(random) % (length - some + 1), bytes + at, some);
            break;
        }
    }
    return length;
}

static void check_mutant(const struct side *side, const uint8_t *bytes, size_t length,
                         struct arena *arena, size_t *decoded)
{
    struct msg_error error;
    struct bytes once, twice;
    /* A block of its own, so that a sanitizer sees a read beyond it. */
    uint8_t *own = malloc(length + 1);
    int rv;

    assert_non_null(own);
    memcpy(own, bytes, length);
    bytes_init(&once, alloc_system());
    bytes_init(&twice, alloc_system());
    arena_reset(arena);
    rv = side->again(own, length, arena, &once, &error);
    free(own);
    assert_in_range(rv, 0, CODEC_INVALID);
    if (rv == 0) {
        (*decoded)++;
        assert_int_equal(
            side->again(once.data + HEADER, once.count - HEADER, arena, &twice, &error), 0);
        assert_int_equal(once.count, twice.count);
        assert_memory_equal(once.data, twice.data, once.count);
    } else {
        assert_int_equal(error.code, rv == CODEC_MALFORMED ? MSG_MALFORMED : MSG_INVALID);
        assert_true(strlen(error.message) > 10);
        /* protobuf-c must never be the one to find that something is wrong. */
        assert_null(strstr(error.message, "the bytes are not a"));
    }
    bytes_deinit(&twice);
    bytes_deinit(&once);
}

static void test_mutants(void **state)
{
    enum { ROUNDS = 200000, CAPACITY = 4096 };
    struct rng random;

    (void)state;
    rng_init(&random);
    for (size_t s = 0; s < 2; s++) {
        struct arena arena;
        size_t decoded = 0;

        arena_init(&arena, alloc_system(), sides[s].arena_bytes);
        for (size_t round = 0; round < ROUNDS / 2; round++) {
            static uint8_t buffer[CAPACITY];
            struct bytes bytes;
            size_t length;

            sample_make(&sides[s], rng_next(&random) % sides[s].sample_count(), &bytes);
            length = bytes.count - HEADER;
            memcpy(buffer, bytes.data + HEADER, length);
            bytes_deinit(&bytes);
            length = mutate(&random, buffer, length, sizeof buffer);
            check_mutant(&sides[s], buffer, length, &arena, &decoded);
        }
        print_message("%s: %zu of %d mutants could be read\n", sides[s].name, decoded, ROUNDS / 2);
        arena_deinit(&arena);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static void test_error_names(void **state)
{
    (void)state;
    assert_string_equal(msg_error_name(MSG_MALFORMED), "MALFORMED");
    assert_string_equal(msg_error_name(MSG_INTERNAL), "INTERNAL");
    assert_string_equal(msg_error_name((enum msg_error_code)0), "UNKNOWN");
    assert_string_equal(msg_error_name((enum msg_error_code)18), "UNKNOWN");
    assert_string_equal(msg_error_name((enum msg_error_code) - 1), "UNKNOWN");
}

/* A sentence that is too long is cut between characters, never within one. */
static void test_long_sentences_are_cut(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[2 * LIMIT_ERROR_BYTES] = "";
        struct msg_error error;
        size_t length;

        memset(text, 'a', shift);
        for (size_t at = shift; at + 4 < sizeof text; at += 4) {
            memcpy(text + at, "\xf0\x9f\x98\x80", 5);
        }
        msg_error_set(&error, MSG_INVALID, text, "%s", text);
        length = strlen(error.message);
        assert_in_range(length, LIMIT_ERROR_BYTES - 3, LIMIT_ERROR_BYTES);
        assert_int_equal(length % 4, shift);
        length = strlen(error.field);
        assert_in_range(length, LIMIT_FIELD_BYTES - 3, LIMIT_FIELD_BYTES);
        assert_int_equal(length % 4, shift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_come_back_the_same),
        cmocka_unit_test(test_a_full_query_keeps_its_values),
        cmocka_unit_test(test_defaults_of_absent_fields),
        cmocka_unit_test(test_texts_without_a_nul_behind_them),
        cmocka_unit_test(test_semantic_errors_name_the_field),
        cmocka_unit_test(test_bad_responses_name_the_field),
        cmocka_unit_test(test_error_codes_of_later_versions),
        cmocka_unit_test(test_an_id_is_needed),
        cmocka_unit_test(test_requests_that_are_not_served),
        cmocka_unit_test(test_unknown_fields_are_ignored),
        cmocka_unit_test(test_too_many_parts_are_refused_before_unpacking),
        cmocka_unit_test(test_the_largest_messages_fit_the_promised_memory),
        cmocka_unit_test(test_every_prefix_has_a_clean_outcome),
        cmocka_unit_test(test_a_budget_that_is_too_small),
        cmocka_unit_test(test_nth_allocation_fails_in_decoding),
        cmocka_unit_test(test_memory_runs_out_in_encoding),
        cmocka_unit_test(test_output_that_cannot_grow),
        cmocka_unit_test(test_frames_end_at_their_limit),
        cmocka_unit_test(test_promised_sizes_are_enough),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_error_names),
        cmocka_unit_test(test_long_sentences_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
