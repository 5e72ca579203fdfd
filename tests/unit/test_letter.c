/* SPDX-License-Identifier: Apache-2.0 */
/* What bridges say to one another: bytes as protobuf has them, and what is wrong is refused by
 * name. That all fields come back is in test_fields.c. */
#include "proto/codec/letter.h"
#include "tests/lib/check.h"
#include "tests/lib/wire_fixture.h"

static const uint8_t id[LIMIT_ID_BYTES] = {1, 2, 3};

static struct arena arena;
static struct bytes out;

static int begin_test(void **state)
{
    (void)state;
    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    bytes_init(&out, alloc_system());
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    arena_deinit(&arena);
    bytes_deinit(&out);
    return 0;
}

static struct msg_letter pass_through(const struct msg_letter *letter)
{
    struct msg_letter read;
    struct msg_error error;

    assert_int_equal(letter_encode(letter, &out), 0);
    assert_int_equal(letter_decode(out.data, out.count, &arena, &read, &error), 0);
    assert_int_equal(read.kind, letter->kind);
    return read;
}

TEST_WITH(test_a_head_has_these_bytes, begin_test, end_test)
{
    struct msg_letter letter = {.kind = MSG_LETTER_HEAD,
                                .head = {.store_id = {id, sizeof(id)}, .seq = 300, .as_of_ms = 7}};
    struct bytes body;
    struct bytes expected;

    bytes_init(&body, alloc_system());
    bytes_init(&expected, alloc_system());
    wire_put_data(&body, 1, id, sizeof(id));
    wire_put_number(&body, 2, 300);
    wire_put_number(&body, 4, 7);
    wire_put_number(&expected, 1, LETTER_VERSION);
    wire_put_data(&expected, 2, body.data, body.count);
    struct msg_letter read = pass_through(&letter);
    assert_int_equal(out.count, expected.count);
    assert_memory_equal(out.data, expected.data, out.count);
    assert_int_equal(read.head.seq, 300);
    assert_int_equal(read.head.as_of_ms, 7);
    assert_false(read.head.is_taken);
    assert_int_equal(read.head.term, 0);
    letter.head.is_taken = true;
    letter.head.term = UINT64_MAX;
    out.count = 0;
    wire_put_number(&body, 5, 1);
    wire_put_number(&body, 6, UINT64_MAX);
    expected.count = 0;
    wire_put_number(&expected, 1, LETTER_VERSION);
    wire_put_data(&expected, 2, body.data, body.count);
    read = pass_through(&letter);
    assert_int_equal(out.count, expected.count);
    assert_memory_equal(out.data, expected.data, out.count);
    assert_true(read.head.is_taken);
    assert_true(read.head.term == UINT64_MAX);
    assert_memory_equal(read.head.store_id.data, id, sizeof(id));
    bytes_deinit(&body);
    bytes_deinit(&expected);
}

static int decode_bytes(const struct bytes *bytes, struct msg_letter *read, struct msg_error *error)
{
    return letter_decode(bytes->data, bytes->count, &arena, read, error);
}

TEST_WITH(test_what_is_wrong_is_named, begin_test, end_test)
{
    struct msg_letter read;
    struct msg_error error;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    wire_put_number(&bytes, 1, 2);
    assert_int_equal(decode_bytes(&bytes, &read, &error), CODEC_INVALID);
    assert_string_equal(error.message, "a letter must have version 1");
    bytes.count = 0;
    wire_put_number(&bytes, 1, LETTER_VERSION);
    assert_int_equal(decode_bytes(&bytes, &read, &error), 0);
    assert_int_equal(read.kind, MSG_LETTER_UNKNOWN);
    wire_put_data(&bytes, 2, "", 0); /* a head without its store */
    assert_int_equal(decode_bytes(&bytes, &read, &error), CODEC_INVALID);
    assert_string_equal(error.field, "store_id");
    wire_put_data(&bytes, 2, "x", 1);
    assert_int_equal(decode_bytes(&bytes, &read, &error), CODEC_MALFORMED);
    bytes_deinit(&bytes);
}

TEST_WITH(test_a_letter_has_a_bound, begin_test, end_test)
{
    static uint8_t payload[LETTER_BYTES_MAX];
    struct msg_letter letter = {
        .kind = MSG_LETTER_CHANGE,
        .change = {.has_message = true,
                   .message = {.id = {id, sizeof(id)}, .payload = {payload, sizeof(payload)}}}};

    assert_int_equal(letter_encode(&letter, &out), CODEC_TOO_LARGE);
    assert_int_equal(out.count, 0);
}
