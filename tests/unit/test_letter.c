/* SPDX-License-Identifier: Apache-2.0 */
/* What bridges say to one another: bytes as protobuf has them, all fields come back, and what is
 * wrong is refused by name. */
#include "core/base/alloc.h"
#include "proto/codec/letter.h"
#include "tests/lib/check.h"
#include "tests/lib/wire_fixture.h"

#include <string.h>

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

TEST_WITH(test_a_page_keeps_its_changes, begin_test, end_test)
{
    static const struct hearsay_change changes[] = {
        {.seq = 5,
         .has_gone = true,
         .gone = {.id = {id, sizeof(id)}, .until_ms = 9, .why = HEARSAY_WAS_REMOVED}},
        {.seq = 6, .has_rule = true, .rule = {.kind = 3, .number = 2, .created_ms = 4}},
    };
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE,
                                .page = {.changes = changes,
                                         .change_count = 2,
                                         .next = 6,
                                         .more = true,
                                         .count = 1,
                                         .digest = UINT64_MAX}};

    struct msg_letter read = pass_through(&letter);
    assert_int_equal(read.page.change_count, 2);
    assert_int_equal(read.page.changes[0].gone.why, HEARSAY_WAS_REMOVED);
    assert_int_equal(read.page.changes[1].rule.number, 2);
    assert_true(read.page.more);
    assert_true(read.page.digest == UINT64_MAX);
}

TEST_WITH(test_what_is_asked_of_a_reader, begin_test, end_test)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE_ASK,
                                .page_ask = {.kind = MSG_PAGE_DIGEST,
                                             .after = 3,
                                             .limit = 4,
                                             .deposited_before_ms = 5,
                                             .expires_after_ms = 6}};

    struct msg_letter read = pass_through(&letter);
    assert_int_equal(read.page_ask.kind, MSG_PAGE_DIGEST);
    assert_int_equal(read.page_ask.after, 3);
    assert_int_equal(read.page_ask.limit, 4);
    assert_int_equal(read.page_ask.deposited_before_ms, 5);
    assert_int_equal(read.page_ask.expires_after_ms, 6);
}

TEST_WITH(test_what_neighbours_tell, begin_test, end_test)
{
    static const uint8_t filter[64] = {1, 2};
    static const struct hearsay_summary_group groups[] = {
        {.union_filter = {filter, 64},
         .least = {1, 0},
         .least_count = 2,
         .most = {2, 512},
         .most_count = 2,
         .count = 3,
         .newest_ms = 4},
        {.union_filter = {filter, 64}},
    };
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_SUMMARY,
                                .peer_summary = {.store_id = {id, sizeof(id)},
                                                 .seq = 9,
                                                 .after = 8,
                                                 .as_of_ms = 7,
                                                 .newest_ms = INT64_MIN,
                                                 .profile = {"v2:512/4", 8},
                                                 .groups = groups,
                                                 .group_count = 2}};

    struct msg_letter read = pass_through(&letter);
    assert_int_equal(read.peer_summary.after, 8);
    assert_true(read.peer_summary.newest_ms == INT64_MIN);
    assert_false(read.peer_summary.full);
    assert_int_equal(read.peer_summary.group_count, 2);
    assert_int_equal(read.peer_summary.groups[0].newest_ms, 4);
    assert_int_equal(read.peer_summary.groups[0].least_count, 2);
    assert_int_equal(read.peer_summary.groups[0].least[1], 0);
    assert_int_equal(read.peer_summary.groups[0].most_count, 2);
    assert_int_equal(read.peer_summary.groups[0].most[1], 512);
    assert_int_equal(read.peer_summary.groups[1].least_count, 0);
    assert_string_equal(read.peer_summary.profile.text, "v2:512/4");
    out.count = 0;
    letter =
        (struct msg_letter){.kind = MSG_LETTER_SUMMARY_ASK, .summary_ask = {.host = {"lobby", 5}}};
    read = pass_through(&letter);
    assert_string_equal(read.summary_ask.host.text, "lobby");
    out.count = 0;
    letter.summary_ask.host = (struct hearsay_text){NULL, 0};
    read = pass_through(&letter);
    assert_null(read.summary_ask.host.text);
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
