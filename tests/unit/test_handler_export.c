/* SPDX-License-Identifier: Apache-2.0 */
/* Export: page by page, each message once and complete, for the administrator. */
#include "tests/lib/check.h"

#include "proto/codec/codec.h"
#include "tests/lib/plain_request.h"
#include "tests/lib/rng.h"
#include "tests/unit/read_fixture.h"

static int setup(void **state)
{
    *state = read_fixture_new("64K", "0");
    return 0;
}

static int setup_small_frame(void **state)
{
    *state = read_fixture_new("4K", "0");
    return 0;
}

static int teardown(void **state)
{
    read_fixture_free(*state);
    return 0;
}

static void export_next_page(struct read_fixture *fixture, uint32_t limit)
{
    uint8_t cursor[READ_CURSOR_BYTES];

    assert_int_equal(fixture->answer.exported.next.count, READ_CURSOR_BYTES);
    memcpy(cursor, fixture->answer.exported.next.data, READ_CURSOR_BYTES);
    read_fixture_export_page(fixture, cursor, limit);
}

/* Refused before anything is read. */
TEST_OF(export_is_for_the_administrator, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    read_fixture_send_export(fixture, NULL, NULL, 0, 0);
    read_fixture_expect_error(fixture, 700, HEARSAY_CODE_FORBIDDEN, "export");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
    assert_int_equal(fixture->client->client.work_count, 0);

    fixture->client->client.is_administrator = true;
    read_fixture_send_export(fixture, "c", NULL, 0, 0);
    read_fixture_expect_error(fixture, 700, HEARSAY_CODE_UNKNOWN_HOST, "host");
    read_fixture_export_page(fixture, NULL, 0);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
}

/* What has expired is not shown, also if the store has not deleted it yet. The cursor goes past it.
 */
TEST_OF(export_leaves_out_what_has_expired, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    read_fixture_deposit(fixture, 2, "two", 2);
    read_fixture_deposit(fixture, 3, "three", 100);
    read_fixture_advance(fixture, 3000);
    read_fixture_export_page(fixture, NULL, 2);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
    export_next_page(fixture, 2);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){3});
}

/* A message is exported with all that is needed to deposit it elsewhere. */
TEST_OF(export_is_complete, struct read_fixture *fixture, setup, teardown)
{
    const struct hearsay_exported_message *first;
    uint8_t filter[READ_FILTER_BYTES];
    const int64_t deposited_ms = fixture->clock.wall_ms;

    read_fixture_deposit(fixture, 7, "seven", 100);
    read_fixture_advance(fixture, 3000);
    read_fixture_export_page(fixture, NULL, 0);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){7});
    assert_null(fixture->answer.exported.next.data);
    read_fixture_make_filter(7, filter);
    first = &fixture->answer.exported.messages[0];
    assert_int_equal(first->filter.count, READ_FILTER_BYTES);
    assert_memory_equal(first->filter.data, filter, READ_FILTER_BYTES);
    assert_int_equal(first->media_type.length, 10);
    assert_memory_equal(first->media_type.text, "text/plain", 10);
    assert_int_equal(first->payload.count, 5);
    assert_memory_equal(first->payload.data, "seven", 5);
    assert_true(first->epoch == 0);
    assert_true(first->deposited_ms == deposited_ms);
    assert_true(first->expires_ms == deposited_ms + 100 * 1000);
    assert_int_equal(first->reach_ppm, 1000000 - 7);
    assert_int_equal(first->withdraw_hash.count, LIMIT_HASH_BYTES);
    assert_memory_equal(first->withdraw_hash.data, fixture->withdraw_hash, LIMIT_HASH_BYTES);

    read_fixture_send_export(fixture, "b", NULL, 0, 0); /* a's message is not b's */
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_EXPORTED);
    read_fixture_expect_page(fixture, 0, NULL);
    assert_null(fixture->answer.exported.next.data);
}

/* Without a token's hash there is none in the export: empty is not the same as absent. */
TEST_OF(export_without_hash, struct read_fixture *fixture, setup, teardown)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[READ_FILTER_BYTES];
    struct hearsay_request request = {.id = 9, .kind = HEARSAY_REQUEST_DEPOSIT};

    read_fixture_make_id(1, id);
    read_fixture_make_filter(1, filter);
    request.deposit = plain_deposit(id, filter, sizeof(filter), "x");
    handler_handle(fixture->service, &fixture->client->client, &request);
    fake_persist_commit(fixture->persist);
    read_fixture_export_page(fixture, NULL, 0);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
    assert_null(fixture->answer.exported.messages[0].withdraw_hash.data);
}

/* Pages follow each other; the last says so, also when it is just full. */
TEST_OF(export_goes_page_by_page, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_export_page(fixture, NULL, 2);
    read_fixture_expect_page(fixture, 0, NULL);
    assert_null(fixture->answer.exported.next.data);
    for (uint32_t i = 1; i <= 4; i++) {
        read_fixture_deposit(fixture, 10 - i, "text", 100);
        read_fixture_deposit_bytes(fixture, "b", 50 + i, "b", 1,
                                   100); /* in between, and not exported */
    }
    read_fixture_export_page(fixture, NULL, 3);
    read_fixture_expect_page(fixture, 3, (const uint32_t[]){9, 8, 7});
    export_next_page(fixture, 3);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){6});
    assert_null(fixture->answer.exported.next.data);

    read_fixture_export_page(fixture, NULL, 2);
    read_fixture_expect_page(fixture, 2, (const uint32_t[]){9, 8});
    export_next_page(fixture, 2);
    read_fixture_expect_page(fixture, 2, (const uint32_t[]){7, 6});
    assert_null(fixture->answer.exported.next.data);
}

/* What is deposited between two pages comes on a later one; what is withdrawn moves none. */
TEST_OF(export_while_messages_come_and_go, struct read_fixture *fixture, setup, teardown)
{
    for (uint32_t i = 1; i <= 6; i++) {
        read_fixture_deposit(fixture, i, "text", 100);
    }
    read_fixture_export_page(fixture, NULL, 2);
    read_fixture_expect_page(fixture, 2, (const uint32_t[]){1, 2});
    uint8_t cursor[READ_CURSOR_BYTES];
    memcpy(cursor, fixture->answer.exported.next.data, sizeof(cursor));
    read_fixture_withdraw(fixture, 1); /* sent already */
    read_fixture_withdraw(fixture, 2); /* the cursor's own */
    read_fixture_withdraw(fixture, 4); /* not sent yet */
    read_fixture_deposit(fixture, 7, "late", 100);
    read_fixture_export_page(fixture, cursor, 2);
    read_fixture_expect_page(fixture, 2, (const uint32_t[]){3, 5});
    export_next_page(fixture, 2);
    read_fixture_expect_page(fixture, 2, (const uint32_t[]){6, 7});
    assert_null(fixture->answer.exported.next.data);
}

/* Eight bytes are a position, whosever they were; others are refused. */
TEST_OF(export_with_a_foreign_cursor, struct read_fixture *fixture, setup, teardown)
{
    static const uint8_t beyond[READ_CURSOR_BYTES] = {0, 0, 0, 0,
                                                      0, 1, 0, 0}; /* of a larger store */
    static const uint8_t second[READ_CURSOR_BYTES] = {0, 0, 0, 0, 0, 0, 0, 2};
    static const uint8_t largest[READ_CURSOR_BYTES] = {0x7f, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t negative[READ_CURSOR_BYTES] = {0x80};
    static const uint8_t ones[LIMIT_CURSOR_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t zero[READ_CURSOR_BYTES] = {0};
    const uint8_t *const last_pages[] = {beyond, largest, negative, ones};

    for (uint32_t i = 1; i <= 3; i++) {
        read_fixture_deposit(fixture, i, "text", 100);
    }
    for (size_t i = 0; i < sizeof(last_pages) / sizeof(last_pages[0]); i++) {
        read_fixture_export_page(fixture, last_pages[i], 0);
        read_fixture_expect_page(fixture, 0, NULL);
        assert_null(fixture->answer.exported.next.data);
    }
    read_fixture_export_page(fixture, zero, 0);
    read_fixture_expect_page(fixture, 3, (const uint32_t[]){1, 2, 3});
    read_fixture_export_page(fixture, second, 0); /* big-endian */
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){3});
    for (size_t bytes = 0; bytes <= LIMIT_CURSOR_BYTES; bytes++) {
        if (bytes != READ_CURSOR_BYTES) {
            read_fixture_send_export(fixture, NULL, ones, bytes, 0);
            read_fixture_expect_error(fixture, 700, HEARSAY_CODE_INVALID, "after");
            assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
        }
    }
}

/* Nobody gets more on a page than the server's own bound, nor more than was asked for. */
TEST_OF(export_pages_are_bounded, struct read_fixture *fixture, setup, teardown)
{
    static const uint32_t limits[] = {0, READ_PAGE_MAX, READ_PAGE_MAX + 1, 1000, UINT32_MAX};

    for (uint32_t i = 1; i <= READ_PAGE_MAX + 1; i++) {
        read_fixture_deposit(fixture, i, "x", 100);
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        read_fixture_export_page(fixture, NULL, limits[i]);
        assert_int_equal(fixture->answer.exported.message_count, READ_PAGE_MAX);
        export_next_page(fixture, limits[i]);
        read_fixture_expect_page(fixture, 1, (const uint32_t[]){READ_PAGE_MAX + 1});
        assert_null(fixture->answer.exported.next.data);
    }
    read_fixture_export_page(fixture, NULL, 1);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
    read_fixture_export_page(fixture, NULL, READ_PAGE_MAX - 1);
    assert_int_equal(fixture->answer.exported.message_count, READ_PAGE_MAX - 1);
}

/*
 * A page with another one behind it is full: it has its number of messages, which take a quarter
 * of the frame besides their content, or the next message would not fit the rest of the frame.
 */
static void check_page_is_full(const struct read_fixture *fixture)
{
    enum { BESIDES_CONTENT = 160, MESSAGE_MAX = READ_PAYLOAD_MAX + READ_FILTER_BYTES + 10 };
    const size_t frame_bytes = fixture->config.limits.frame_bytes;
    const size_t quarter = frame_bytes / 4 / BESIDES_CONTENT;
    const size_t most = quarter < READ_PAGE_MAX ? quarter : READ_PAGE_MAX;

    const struct hearsay_exported *page = &fixture->answer.exported;
    size_t content = 0;

    for (size_t i = 0; i < page->message_count; i++) {
        content += page->messages[i].filter.count + page->messages[i].media_type.length +
                   page->messages[i].payload.count;
    }
    assert_true(page->message_count >= most ||
                content + MESSAGE_MAX + CODEC_ENVELOPE_BYTES_MAX >= frame_bytes / 4 * 3);
}

/* Messages of all sizes: each is exported once, in order, and every page fits (check_frame). */
TEST_AGAIN(export_pages_fit_a_small_frame, export_pages_fit_the_frame, setup_small_frame, teardown,
           NULL)
TEST_OF(export_pages_fit_the_frame, struct read_fixture *fixture, setup, teardown)
{
    enum { COUNT = 300 };
    uint8_t payload[READ_PAYLOAD_MAX];
    uint32_t seen = 0;
    struct rng rng;

    rng_init(&rng);
    memset(payload, 0xab, sizeof(payload));
    for (uint32_t i = 1; i <= COUNT; i++) {
        /* stretches of small ones, which fill a page by number, and of large ones, by size */
        const uint32_t most = i % 100 < 40 ? 3 : READ_PAYLOAD_MAX;
        const size_t count = i % 100 < 60 ? rng_below(&rng, most + 1) : READ_PAYLOAD_MAX;
        read_fixture_deposit_bytes(fixture, NULL, i, payload, count, 100);
    }
    read_fixture_export_page(fixture, NULL, 0);
    for (;;) {
        assert_true(fixture->answer.exported.message_count > 0);
        for (size_t i = 0; i < fixture->answer.exported.message_count; i++) {
            assert_int_equal(read_fixture_number(&fixture->answer.exported.messages[i].id), ++seen);
        }
        if (fixture->answer.exported.next.data == NULL) {
            break;
        }
        check_page_is_full(fixture);
        export_next_page(fixture, 0);
    }
    assert_int_equal(seen, COUNT);
}
