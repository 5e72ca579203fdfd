/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent is what is read, and what is wrong is named. test_fields.c has the values of all
 * fields, test_codec_faults.c the rest. */
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/wire_fixture.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

/* --- round trips ------------------------------------------------------------------------------ */

TEST(test_samples_come_back_the_same)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            struct msg_error error;
            struct arena arena;
            struct bytes once, twice;

            wire_sample(&wire_sides[s], i, &once);
            arena_init(&arena, alloc_system(), wire_sides[s].arena_bytes);
            bytes_init(&twice, alloc_system());
            assert_int_equal(wire_sides[s].again(once.data + HEADER, once.count - HEADER, &arena,
                                                 &twice, &error),
                             0);
            assert_int_equal(once.count, twice.count);
            assert_memory_equal(once.data, twice.data, once.count);
            bytes_deinit(&twice);
            bytes_deinit(&once);
            arena_deinit(&arena);
        }
    }
}

/* As many changes as a request may have, each with all that it may have and with no payload: what a
 * reader needs beside the bytes of the frame is at its largest. */
TEST(test_a_full_apply_is_read)
{
    static const uint8_t filter[1] = {1};
    struct hearsay_change changes[LIMIT_CHANGES];
    struct hearsay_request request = {
        .id = 1,
        .kind = HEARSAY_REQUEST_APPLY,
        .apply = {.changes = changes, .change_count = LIMIT_CHANGES, .as = HEARSAY_AS_REPLICA},
    };
    struct hearsay_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    for (size_t i = 0; i < LIMIT_CHANGES; i++) {
        changes[i] = (struct hearsay_change){
            .has_message = true,
            .has_gone = true,
            .has_rule = true,
            .message = {.id = {(const uint8_t *)"0123456789abcdef", 16}, .filter = {filter, 1}},
            .gone = {{(const uint8_t *)"0123456789abcdef", 16}, 0, HEARSAY_WAS_REMOVED},
            .rule = {.kind = 1},
        };
    }
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_request(&request, LIMIT_FRAME_BYTES_DEFAULT, &bytes), 0);
    arena_init(&arena, alloc_system(), bytes.count + CODEC_REQUEST_ARENA_BYTES);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_int_equal(back.apply.change_count, LIMIT_CHANGES);
    arena_deinit(&arena);
    bytes_deinit(&bytes);
}

TEST(test_defaults_of_absent_fields)
{
    struct hearsay_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    arena_init(&arena, alloc_system(), 1 << 20);
    wire_sample(&wire_sides[0], 2, &bytes);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_null(back.deposit.host.text);
    assert_int_equal(back.deposit.epoch, 0);
    assert_string_equal(back.deposit.media_type.text, "text/plain");
    assert_int_equal(back.deposit.payload.count, 0);
    assert_false(back.deposit.has_ttl_s);
    assert_int_equal(back.deposit.reach_ppm, 1000000);
    assert_null(back.deposit.withdraw_hash.data);
    bytes_deinit(&bytes);

    wire_sample(&wire_sides[0], 4, &bytes);
    assert_int_equal(
        codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error), 0);
    assert_int_equal(back.query.max_distance_ppm, 1000000);
    assert_int_equal(back.query.since_ms, INT64_MIN);
    assert_int_equal(back.query.until_ms, INT64_MAX);
    assert_int_equal(back.query.metric, HEARSAY_METRIC_BITS);
    assert_int_equal(back.query.order, HEARSAY_ORDER_SIMILARITY);
    assert_int_equal(back.query.scope, HEARSAY_SCOPE_HERE);
    assert_null(back.query.parts[0].contains.data);
    assert_false(back.query.with_payload);
    bytes_deinit(&bytes);
    arena_deinit(&arena);
}

/* Texts to be sent need no NUL behind them: a sanitizer sees a read beyond these. */
TEST(test_texts_without_a_nul_behind_them)
{
    static const char type[] = "text/plain; charset=utf-8";
    const size_t length = sizeof type - 1;
    char *exact = malloc(length);
    struct hearsay_response response = {.id = 1, .kind = HEARSAY_RESPONSE_GOT};
    struct hearsay_response back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    assert_non_null(exact);
    memcpy(exact, type, length);
    response.got.id = (struct hearsay_bytes){(const uint8_t *)"0123456789abcdef", LIMIT_ID_BYTES};
    response.got.media_type = (struct hearsay_text){exact, length};
    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_response(&response, 65536, &bytes), 0);
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

static const struct hearsay_query_part no_filter[2] = {{.epoch = 1}};
static const struct hearsay_query_part long_filter[2] = {{.filter = {spare, 513}}};
static const struct hearsay_query_part no_bits_contained[2] = {
    {.filter = {spare, 64}, .contains = {spare, 0}},
};
static const struct hearsay_slice no_hashes[2] = {{.bits = {spare, 64}}};
static const struct hearsay_slice many_hashes[2] = {{.bits = {spare, 64}, .hashes = 33}};
static const struct hearsay_slice no_bits[2] = {{.hashes = 3}};
static const struct hearsay_slice empty_bits[2] = {{.bits = {spare, 0}, .hashes = 3}};

/* A good request, with one member overwritten by a value; the field that is then wrong. */
struct spoiled {
    const char *field;
    size_t sample;
    size_t member;
    size_t bytes;
    const void *value;
};
#define SPOILED(field, sample, member, type, ...)                                      \
    {                                                                                  \
        field, sample, offsetof(struct hearsay_request, member), sizeof(type), &(type) \
        {                                                                              \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

static const struct spoiled spoiled_rows[] = {
    SPOILED("versions", 1, hello.version_count, uint32_t, 0),
    SPOILED("agent", 1, hello.agent, struct hearsay_text, long_agent, LIMIT_AGENT_BYTES + 1),
    SPOILED("resume_token", 1, hello.resume_token, struct hearsay_bytes, spare, 0),
    SPOILED("resume_token", 1, hello.resume_token, struct hearsay_bytes, spare, 65),
    SPOILED("on_behalf", 1, hello.on_behalf, struct hearsay_bytes, spare, 5),
    SPOILED("id", 3, deposit.id, struct hearsay_bytes, NULL, 0),
    SPOILED("id", 3, deposit.id, struct hearsay_bytes, spare, 0),
    SPOILED("id", 3, deposit.id, struct hearsay_bytes, spare, 15),
    SPOILED("filter", 3, deposit.filter, struct hearsay_bytes, NULL, 0),
    SPOILED("filter", 3, deposit.filter, struct hearsay_bytes, spare, 0),
    SPOILED("filter", 3, deposit.filter, struct hearsay_bytes, spare, 513),
    SPOILED("host", 3, deposit.host, struct hearsay_text, "", 0),
    SPOILED("host", 3, deposit.host, struct hearsay_text, "Default", 7),
    SPOILED("host", 3, deposit.host, struct hearsay_text, "-a", 2),
    SPOILED("host", 3, deposit.host, struct hearsay_text, long_host, LIMIT_HOST_BYTES + 1),
    SPOILED("media_type", 3, deposit.media_type, struct hearsay_text, "", 0),
    SPOILED("media_type", 3, deposit.media_type, struct hearsay_text, "text", 4),
    SPOILED("media_type", 3, deposit.media_type, struct hearsay_text, "text/", 5),
    SPOILED("media_type", 3, deposit.media_type, struct hearsay_text, "text/\x1b[31m", 10),
    SPOILED("ttl_s", 3, deposit.ttl_s, uint32_t, 0),
    SPOILED("reach", 3, deposit.reach_ppm, uint32_t, 1000001),
    SPOILED("withdraw_hash", 3, deposit.withdraw_hash, struct hearsay_bytes, spare, 0),
    SPOILED("withdraw_hash", 3, deposit.withdraw_hash, struct hearsay_bytes, spare, 31),
    SPOILED("k", 5, query.k, uint32_t, 0),
    SPOILED("parts.filter", 5, query.parts, const struct hearsay_query_part *, no_filter),
    SPOILED("parts.filter", 5, query.parts, const struct hearsay_query_part *, long_filter),
    SPOILED("parts.contains", 5, query.parts, const struct hearsay_query_part *, no_bits_contained),
    SPOILED("max_distance", 5, query.max_distance_ppm, uint32_t, 1000001),
    SPOILED("metric", 5, query.metric, enum hearsay_metric, 0),
    SPOILED("metric", 5, query.metric, enum hearsay_metric, 2),
    SPOILED("metric", 5, query.metric, enum hearsay_metric, 4),
    SPOILED("order", 5, query.order, enum hearsay_order, (enum hearsay_order) - 1),
    SPOILED("scope", 5, query.scope, enum hearsay_scope, 0),
    SPOILED("scope", 5, query.scope, enum hearsay_scope, 3),
    SPOILED("exclude.hashes", 5, query.exclude, const struct hearsay_slice *, no_hashes),
    SPOILED("exclude.hashes", 5, query.exclude, const struct hearsay_slice *, many_hashes),
    SPOILED("exclude.bits", 5, query.exclude, const struct hearsay_slice *, no_bits),
    SPOILED("exclude.bits", 5, query.exclude, const struct hearsay_slice *, empty_bits),
    SPOILED("id", 7, get.id, struct hearsay_bytes, NULL, 0),
    SPOILED("id", 7, get.id, struct hearsay_bytes, spare, 17),
    SPOILED("host", 7, get.host, struct hearsay_text, "a_b", 3),
    SPOILED("id", 9, withdraw.id, struct hearsay_bytes, NULL, 0),
    SPOILED("token", 9, withdraw.token, struct hearsay_bytes, NULL, 0),
    SPOILED("token", 9, withdraw.token, struct hearsay_bytes, spare, 31),
    SPOILED("after", 12, export_.after, struct hearsay_bytes, spare, 0),
    SPOILED("after", 12, export_.after, struct hearsay_bytes, spare, 33),
    SPOILED("host", 12, export_.host, struct hearsay_text, "a-", 2),
};

static void check_spoiled(const struct spoiled *row)
{
    struct hearsay_request request = *wire_request(row->sample);
    struct hearsay_request back;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;
    int rv;

    memcpy((uint8_t *)&request + row->member, row->value, row->bytes);
    arena_init(&arena, alloc_system(), 1 << 20);
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_request(&request, 65536, &bytes), 0);
    rv = codec_decode_request(bytes.data + HEADER, bytes.count - HEADER, &arena, &back, &error);
    if (rv != CODEC_INVALID || strcmp(error.field, row->field) != 0) {
        fail_msg("%s, row %td: outcome %d, field %s: %s", row->field, row - spoiled_rows, rv,
                 error.field, error.message);
    }
    assert_int_equal(error.code, HEARSAY_CODE_INVALID);
    assert_true(strlen(error.message) > 10);
    assert_null(strstr(error.message, " to 0 are allowed"));
    assert_int_equal(back.id, request.id); /* it can be answered */
    assert_true(strlen(back.name) > 0);
    bytes_deinit(&bytes);
    arena_deinit(&arena);
}

TEST(test_semantic_errors_name_the_field)
{
    memset(long_agent, 'a', sizeof long_agent - 1);
    memset(long_host, 'a', sizeof long_host - 1);
    for (size_t i = 0; i < sizeof spoiled_rows / sizeof spoiled_rows[0]; i++) {
        check_spoiled(&spoiled_rows[i]);
    }
}

/* The same on the client's side: what a server must not send. */
TEST(test_bad_responses_name_the_field)
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
        {"durability", 3, "\x18\x00", 2},
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

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct msg_error error;
        struct arena arena;
        struct bytes bytes;
        int rv;

        bytes_init(&bytes, alloc_system());
        wire_put_data(&bytes, rows[i].body, rows[i].bytes, rows[i].length);
        arena_init(&arena, alloc_system(), 1 << 20);
        rv = wire_sides[1].decode(bytes.data, bytes.count, &arena, &error);
        if (rv != CODEC_INVALID || strcmp(error.field, rows[i].field) != 0) {
            fail_msg("%s: outcome %d, field %s: %s", rows[i].field, rv, error.field, error.message);
        }
        arena_deinit(&arena);
        bytes_deinit(&bytes);
    }
}

/* An error code of a later version is passed on; its sentence says what it means. */
TEST(test_error_codes_of_later_versions)
{
    struct hearsay_response response;
    struct msg_error error;
    struct arena arena;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    wire_put_data(&bytes, 15, "\x08\x63\x12\x04later", 8);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(codec_decode_response(bytes.data, bytes.count, &arena, &response, &error), 0);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(response.error.code, 99);
    assert_string_equal(msg_error_name(response.error.code), "UNKNOWN");
    assert_string_equal(response.error.message, "late");
    arena_deinit(&arena);
    bytes_deinit(&bytes);
}

/* Decodes a request put together by hand. */
static int decode_by_hand(const struct bytes *bytes, struct hearsay_request *out,
                          struct msg_error *out_error)
{
    struct arena arena;
    int rv;

    arena_init(&arena, alloc_system(), LIMIT_FRAME_BYTES_MAX + CODEC_REQUEST_ARENA_BYTES);
    rv = codec_decode_request(bytes->data, bytes->count, &arena, out, out_error);
    arena_deinit(&arena);
    return rv;
}

TEST(test_an_id_is_needed)
{
    struct hearsay_request request;
    struct msg_error error;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    wire_put_data(&bytes, 12, "", 0);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), CODEC_MALFORMED);
    assert_int_equal(error.code, HEARSAY_CODE_MALFORMED);
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

TEST(test_requests_that_are_not_served)
{
    struct hearsay_request request;
    struct msg_error error;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    wire_put_number(&bytes, 1, 9);
    assert_int_equal(decode_by_hand(&bytes, &request, &error), 0); /* no body at all */
    assert_int_equal(request.kind, HEARSAY_REQUEST_UNKNOWN);
    assert_string_equal(request.name, "");
    wire_put_data(&bytes, 77, "\x01\x02", 2); /* a body of a later version */
    assert_int_equal(decode_by_hand(&bytes, &request, &error), 0);
    assert_int_equal(request.kind, HEARSAY_REQUEST_UNKNOWN);
    assert_int_equal(request.id, 9);
    bytes_deinit(&bytes);
}

TEST(test_unknown_fields_are_ignored)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            struct msg_error error;
            struct arena arena;
            struct bytes plain, more, again;

            wire_sample(&wire_sides[s], i, &plain);
            bytes_init(&more, alloc_system());
            bytes_init(&again, alloc_system());
            wire_put_number(&more, 5000, 7);
            assert_int_equal(bytes_append(&more, plain.data + HEADER, plain.count - HEADER), 0);
            wire_put_data(&more, 60, "later", 5);
            arena_init(&arena, alloc_system(), wire_sides[s].arena_bytes);
            assert_int_equal(wire_sides[s].again(more.data, more.count, &arena, &again, &error), 0);
            assert_int_equal(again.count, plain.count);
            assert_memory_equal(again.data, plain.data, plain.count);
            arena_deinit(&arena);
            bytes_deinit(&again);
            bytes_deinit(&more);
            bytes_deinit(&plain);
        }
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

TEST(test_error_names)
{
    assert_string_equal(msg_error_name(HEARSAY_CODE_MALFORMED), "MALFORMED");
    assert_string_equal(msg_error_name(HEARSAY_CODE_INTERNAL), "INTERNAL");
    assert_string_equal(msg_error_name(HEARSAY_CODE_REMOVED), "REMOVED");
    assert_string_equal(msg_error_name((enum hearsay_code)0), "UNKNOWN");
    assert_string_equal(msg_error_name((enum hearsay_code)19), "UNKNOWN");
    assert_string_equal(msg_error_name((enum hearsay_code) - 1), "UNKNOWN");
}

/* A sentence that is too long is cut between characters, never within one. */
TEST(test_long_sentences_are_cut)
{
    for (size_t shift = 0; shift < 4; shift++) {
        char text[2 * LIMIT_ERROR_BYTES] = "";
        struct msg_error error;
        size_t length;

        memset(text, 'a', shift);
        for (size_t at = shift; at + 4 < sizeof text; at += 4) {
            memcpy(text + at, "\xf0\x9f\x98\x80", 5);
        }
        msg_error_set(&error, HEARSAY_CODE_INVALID, text, "%s", text);
        length = strlen(error.message);
        assert_in_range(length, LIMIT_ERROR_BYTES - 3, LIMIT_ERROR_BYTES);
        assert_int_equal(length % 4, shift);
        length = strlen(error.field);
        assert_in_range(length, LIMIT_FIELD_BYTES - 3, LIMIT_FIELD_BYTES);
        assert_int_equal(length % 4, shift);
    }
}

/* A sentence with a path or a line of a file may have bytes that are no text: peers would refuse
 * it. */
TEST(test_sentences_are_text)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xe4rger", "?rger"},                     /* Latin-1 */
        {"cut \xf0\x9f\x98: why", "cut ???: why"}, /* as by %.6s */
        {"\x80\xed\xa0\x80\xc3\xa4", "????\xc3\xa4"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct msg_error error;

        msg_error_set(&error, HEARSAY_CODE_INVALID, NULL, "%s", cases[i][0]);
        assert_string_equal(error.message, cases[i][1]);
    }
}
