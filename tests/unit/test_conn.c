/* SPDX-License-Identifier: Apache-2.0 */
/* The client's protocol state: what a server may say, in which order, cut in any way. */
#include "client/net/conn.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_server.h"

static const struct conn_hello hello = {.agent = "test/1"};

struct fixture {
    struct fail_alloc fail;
    struct conn conn;
    struct arena arena;
    struct bytes stream; /* what the server sends */
};

static void fixture_init(struct fixture *fixture)
{
    fail_alloc_init(&fixture->fail);
    conn_init(&fixture->conn, &fixture->fail.alloc);
    arena_init(&fixture->arena, &fixture->fail.alloc, CONN_DECODE_BYTES);
    bytes_init(&fixture->stream, alloc_system());
}

static void fixture_deinit(struct fixture *fixture)
{
    conn_deinit(&fixture->conn);
    arena_deinit(&fixture->arena);
    bytes_deinit(&fixture->stream);
    assert_int_equal(fixture->fail.live_blocks, 0);
}

/* Hands over up to `count` bytes of the stream. */
static int feed(struct fixture *fixture, size_t count)
{
    uint8_t *room = NULL;
    size_t room_bytes = 0;
    int status = conn_room(&fixture->conn, &room, &room_bytes, NULL);
    if (status != HEARSAY_OK) {
        return status;
    }
    count = count < room_bytes ? count : room_bytes;
    count = count < fixture->stream.count ? count : fixture->stream.count;
    memcpy(room, fixture->stream.data, count);
    bytes_consume(&fixture->stream, count);
    conn_filled(&fixture->conn, count);
    return HEARSAY_OK;
}

/* The next reply, with the stream handed over `step` bytes at a time. */
static int take(struct fixture *fixture, size_t step, struct hearsay_response *out,
                struct hearsay_error *error)
{
    for (;;) {
        arena_reset(&fixture->arena);
        int status = conn_next(&fixture->conn, &fixture->arena, out, error);
        if (status != CONN_MORE || fixture->stream.count == 0) {
            return status;
        }
        status = feed(fixture, step);
        if (status != HEARSAY_OK) {
            return status;
        }
    }
}

static void put_welcome(struct fixture *fixture, unsigned requests_in_flight)
{
    struct hearsay_response response = {.id = 1, .kind = HEARSAY_RESPONSE_WELCOME};
    response.welcome = fake_welcome(requests_in_flight);
    fake_encode(&response, &fixture->stream);
}

static void put_pong(struct fixture *fixture, uint64_t id)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_PONG};
    response.pong.now_ms = (int64_t)id;
    fake_encode(&response, &fixture->stream);
}

static void greet(struct fixture *fixture, unsigned requests_in_flight)
{
    struct hearsay_response response;
    assert_int_equal(conn_greet(&fixture->conn, &hello, NULL), 0);
    put_welcome(fixture, requests_in_flight);
    assert_int_equal(take(fixture, 1000, &response, NULL), 0);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_WELCOME);
    assert_int_equal(fixture->conn.state, CONN_READY);
}

static uint64_t submit_ping(struct fixture *fixture)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    uint64_t ticket = 0;
    assert_int_equal(conn_submit(&fixture->conn, &request, &ticket, NULL), 0);
    return ticket;
}

/* Replies reach whoever asked, in the order of arrival, wherever the stream is cut. */
TEST(test_split_everywhere)
{
    for (size_t step = 1; step < 60; step++) {
        struct fixture fixture;
        fixture_init(&fixture);
        greet(&fixture, 8);
        uint64_t first = submit_ping(&fixture);
        uint64_t second = submit_ping(&fixture);
        uint64_t third = submit_ping(&fixture);
        put_pong(&fixture, third);
        put_pong(&fixture, first);
        put_pong(&fixture, second);
        struct hearsay_response response;
        const uint64_t order[] = {third, first, second};
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(take(&fixture, step, &response, NULL), 0);
            assert_int_equal(response.id, order[i]);
            assert_int_equal(response.pong.now_ms, (int64_t)order[i]);
        }
        assert_int_equal(conn_in_flight(&fixture.conn), 0);
        assert_int_equal(take(&fixture, step, &response, NULL), CONN_MORE);
        fixture_deinit(&fixture);
    }
}

/* A connection that waits has no buffer: the last answer, with its texts, does not stay. */
TEST(test_waiting_frees_input)
{
    struct fixture fixture;
    struct hearsay_response response;

    fixture_init(&fixture);
    greet(&fixture, 8);
    put_pong(&fixture, submit_ping(&fixture));
    assert_int_equal(take(&fixture, 1000, &response, NULL), 0);
    assert_int_equal(take(&fixture, 1000, &response, NULL), CONN_MORE);
    assert_null(fixture.conn.input.buffer);
    fixture_deinit(&fixture);
}

/* The server's bound is kept, and each reply makes room for one more. */
TEST(test_in_flight_bound)
{
    struct fixture fixture;
    fixture_init(&fixture);
    greet(&fixture, 3);
    uint64_t tickets[3];
    for (size_t i = 0; i < 3; i++) {
        tickets[i] = submit_ping(&fixture);
    }
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    uint64_t ticket = 0;
    assert_int_equal(conn_submit(&fixture.conn, &request, &ticket, NULL), CONN_FULL);
    /* One that is never answered stays in its place while many others come and go. */
    struct hearsay_response response;
    for (size_t i = 0; i < 100; i++) {
        put_pong(&fixture, tickets[1]);
        assert_int_equal(take(&fixture, 100, &response, NULL), 0);
        tickets[1] = submit_ping(&fixture);
        assert_int_not_equal(tickets[1], tickets[0]);
    }
    put_pong(&fixture, tickets[0]);
    assert_int_equal(take(&fixture, 100, &response, NULL), 0);
    assert_int_equal(response.id, tickets[0]);
    fixture_deinit(&fixture);
}

/* Unsent bytes are bounded, whatever the server allows to be in flight. */
TEST(test_output_bound)
{
    static const uint8_t payload[60000];
    struct fixture fixture;
    fixture_init(&fixture);
    greet(&fixture, 1000);
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_DEPOSIT};
    request.deposit.id.data = payload;
    request.deposit.id.count = 16;
    request.deposit.filter.data = payload;
    request.deposit.filter.count = 64;
    request.deposit.payload.data = payload;
    request.deposit.payload.count = sizeof(payload);
    uint64_t ticket = 0;
    int status = 0;
    size_t submitted = 0;
    while ((status = conn_submit(&fixture.conn, &request, &ticket, NULL)) == 0) {
        submitted++;
        assert_true(submitted < 1000);
    }
    assert_int_equal(status, CONN_FULL);
    size_t waiting = 0;
    (void)conn_output(&fixture.conn, &waiting);
    assert_in_range(waiting, CONN_OUTPUT_BYTES, CONN_OUTPUT_BYTES + 70000);
    while (waiting > 0) {
        conn_sent(&fixture.conn, waiting > 1000 ? 1000 : waiting);
        (void)conn_output(&fixture.conn, &waiting);
    }
    assert_int_equal(conn_submit(&fixture.conn, &request, &ticket, NULL), 0);
    /* And one that no frame holds is refused on the spot. */
    request.deposit.payload.count = 0;
    static const uint8_t large[70000];
    request.deposit.payload.data = large;
    request.deposit.payload.count = sizeof(large);
    struct hearsay_error error;
    assert_int_equal(conn_submit(&fixture.conn, &request, &ticket, &error), HEARSAY_ERR_ARGUMENT);
    fixture_deinit(&fixture);
}

/* An abandoned reply is dropped, and its place is free again. */
TEST(test_abandoned)
{
    struct fixture fixture;
    fixture_init(&fixture);
    greet(&fixture, 2);
    uint64_t first = submit_ping(&fixture);
    uint64_t second = submit_ping(&fixture);
    conn_abandon(&fixture.conn, first);
    conn_abandon(&fixture.conn, first);
    assert_int_equal(conn_in_flight(&fixture.conn), 1);
    put_pong(&fixture, first);
    put_pong(&fixture, second);
    struct hearsay_response response;
    assert_int_equal(take(&fixture, 7, &response, NULL), 0);
    assert_int_equal(response.id, second);
    assert_int_equal(conn_in_flight(&fixture.conn), 0);
    (void)submit_ping(&fixture);
    (void)submit_ping(&fixture);
    fixture_deinit(&fixture);
}

/* What no server of ours sends breaks the connection, for good, with the same words each time. */
static void check_broken(const uint8_t *bytes, size_t count, int expected)
{
    struct fixture fixture;
    fixture_init(&fixture);
    greet(&fixture, 8);
    (void)submit_ping(&fixture);
    assert_int_equal(bytes_append(&fixture.stream, bytes, count), 0);
    struct hearsay_response response;
    struct hearsay_error error;
    struct hearsay_error again;
    assert_int_equal(take(&fixture, 9, &response, &error), expected);
    assert_int_equal(fixture.conn.state, CONN_BROKEN);
    assert_string_not_equal(error.sentence, "");
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    uint64_t ticket = 0;
    assert_int_equal(conn_submit(&fixture.conn, &request, &ticket, &again), expected);
    assert_string_equal(again.sentence, error.sentence);
    assert_int_equal(conn_lose(&fixture.conn, 0, &again), expected);
    fixture_deinit(&fixture);
}

static void check_broken_by(const struct hearsay_response *response, int expected)
{
    struct bytes stream;
    bytes_init(&stream, alloc_system());
    fake_encode(response, &stream);
    check_broken(stream.data, stream.count, expected);
    bytes_deinit(&stream);
}

TEST(test_broken)
{
    static const uint8_t empty[] = {0, 0, 0, 0};
    static const uint8_t oversize[] = {0, 1, 0, 1, 8};
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};
    static const uint8_t garbage[] = {0, 0, 0, 3, 0xff, 0xff, 0xff};
    check_broken(empty, sizeof(empty), HEARSAY_ERR_PROTOCOL);
    check_broken(oversize, sizeof(oversize), HEARSAY_ERR_PROTOCOL);
    check_broken(huge, sizeof(huge), HEARSAY_ERR_PROTOCOL);
    check_broken(garbage, sizeof(garbage), HEARSAY_ERR_PROTOCOL);
    struct hearsay_response response = {.id = 99, .kind = HEARSAY_RESPONSE_PONG};
    check_broken_by(&response, HEARSAY_ERR_PROTOCOL); /* nobody asked */
    response = fake_deposited(2, false);
    check_broken_by(&response, HEARSAY_ERR_PROTOCOL); /* not to a ping */
    response = fake_error(0, HEARSAY_CODE_SHUTTING_DOWN, 0);
    check_broken_by(&response, HEARSAY_ERR_REFUSED); /* about the whole connection */
}

/* A refusal of one request is a reply like any other. */
TEST(test_error_reply)
{
    struct fixture fixture;
    fixture_init(&fixture);
    greet(&fixture, 8);
    uint64_t ticket = submit_ping(&fixture);
    struct hearsay_response refusal = fake_error(ticket, HEARSAY_CODE_RATE_LIMITED, 250);
    fake_encode(&refusal, &fixture.stream);
    struct hearsay_response response;
    assert_int_equal(take(&fixture, 3, &response, NULL), 0);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(response.error.retry_after_ms, 250);
    assert_int_equal(fixture.conn.state, CONN_READY);
    fixture_deinit(&fixture);
}

/* What may come instead of a Welcome. */
static void check_greeting(const struct hearsay_response *response, int expected)
{
    struct fixture fixture;
    fixture_init(&fixture);
    assert_int_equal(conn_greet(&fixture.conn, &hello, NULL), 0);
    fake_encode(response, &fixture.stream);
    struct hearsay_response got;
    struct hearsay_error error;
    assert_int_equal(take(&fixture, 5, &got, &error), expected);
    assert_int_equal(fixture.conn.state, CONN_BROKEN);
    fixture_deinit(&fixture);
}

TEST(test_greetings)
{
    struct hearsay_response response = fake_error(1, HEARSAY_CODE_UNSUPPORTED_VERSION, 0);
    check_greeting(&response, HEARSAY_ERR_REFUSED);
    response = (struct hearsay_response){.id = 1, .kind = HEARSAY_RESPONSE_PONG};
    check_greeting(&response, HEARSAY_ERR_PROTOCOL);
    response = (struct hearsay_response){.id = 7, .kind = HEARSAY_RESPONSE_WELCOME};
    response.welcome = fake_welcome(4);
    check_greeting(&response, HEARSAY_ERR_PROTOCOL);
    response.id = 1;
    response.welcome.version = 2;
    check_greeting(&response, HEARSAY_ERR_PROTOCOL);
    response.welcome = fake_welcome(4);
    response.welcome.host_count = 0;
    check_greeting(&response, HEARSAY_ERR_PROTOCOL);
}

/* The end of the stream, between frames and within one. */
TEST(test_lost)
{
    struct fixture fixture;
    struct hearsay_error error;
    struct hearsay_response response;
    fixture_init(&fixture);
    greet(&fixture, 8);
    (void)submit_ping(&fixture);
    put_pong(&fixture, 2);
    fixture.stream.count--;
    assert_int_equal(take(&fixture, 100, &response, &error), CONN_MORE);
    assert_int_equal(conn_lose(&fixture.conn, 0, &error), HEARSAY_ERR_LOST);
    assert_non_null(strstr(error.sentence, "in the middle"));
    fixture_deinit(&fixture);
}

/* With the n-th allocation failing each step can be tried again, and nothing leaks. */
TEST(test_allocations)
{
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct fixture fixture;
        struct hearsay_response response;
        fixture_init(&fixture);
        fail_alloc_arm(&fixture.fail, n);
        failed = false;
        int status = conn_greet(&fixture.conn, &hello, NULL);
        if (status == HEARSAY_ERR_NOMEM) {
            failed = true;
            status = conn_greet(&fixture.conn, &hello, NULL);
        }
        assert_int_equal(status, 0);
        put_welcome(&fixture, 8);
        while ((status = take(&fixture, 50, &response, NULL)) == HEARSAY_ERR_NOMEM) {
            failed = true;
        }
        assert_int_equal(status, 0);
        struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
        uint64_t ticket = 0;
        while ((status = conn_submit(&fixture.conn, &request, &ticket, NULL)) ==
               HEARSAY_ERR_NOMEM) {
            failed = true;
        }
        assert_int_equal(status, 0);
        put_pong(&fixture, ticket);
        while ((status = take(&fixture, 50, &response, NULL)) == HEARSAY_ERR_NOMEM) {
            failed = true;
        }
        assert_int_equal(status, 0);
        assert_int_equal(response.id, ticket);
        fixture_deinit(&fixture);
        assert_true(n < 1000);
    }
}
