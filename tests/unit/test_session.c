/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sessions read and answer: frames, Hello, and bounds. Deadlines are passed by handing
 * session_tick a later time.
 */
#include <signal.h>
#include <sys/ioctl.h>

#include "tests/lib/check.h"
#include "tests/unit/session_fixture.h"

enum { STUCK_MS = 30 * 1000, TRANSCRIPT_MAX = 16 * 1024 };

static const struct hearsay_response pong = {.id = 5, .kind = HEARSAY_RESPONSE_PONG};

/* --- frames ----------------------------------------------------------------------------------- */

static void put_conversation(struct peer *peer)
{
    peer_put_hello(peer);
    peer_put_ping(peer, 2);
    peer_put(peer, server_fixture_query(3, 1));
    peer_put_hello(peer); /* INVALID: once is enough */
    peer_put_ping(peer, 4);
    peer_put_bytes(peer, "\0\0\0\2\xff\xff", 6); /* malformed: the end */
    peer_put_ping(peer, 5);
}

/* What the kernel holds for a session; 0 when its stream is closed. */
static int unread_bytes(const struct session *session)
{
    uv_os_fd_t descriptor = -1;
    int count = 0;

    if (uv_fileno(&session->transport.uv.handle, &descriptor) == 0) {
        assert_int_equal(ioctl(descriptor, FIONREAD, &count), 0);
    }
    return count;
}

/* Everything that the server says to the bytes, which are sent in two parts. */
static size_t talk(struct server_fixture *fixture, const struct bytes *said, size_t split,
                   uint8_t *out_heard)
{
    struct peer peer;
    size_t heard = 0;
    ssize_t count;
    struct session *session = server_fixture_connect(fixture, &peer);

    /* Random, and part of what it hears. */
    memset(session->client.resume_token, 7, sizeof(session->client.resume_token));
    peer_put_bytes(&peer, said->data, split);
    session_fixture_send_all(fixture, &peer);
    do {
        server_fixture_turn(fixture, NULL); /* the first part is read by itself */
    } while (unread_bytes(session) > 0);
    peer_put_bytes(&peer, said->data + split, said->count - split);
    session_fixture_send_all(fixture, &peer);
    while ((count = recv(peer.fd, out_heard + heard, TRANSCRIPT_MAX - heard, MSG_DONTWAIT)) != 0) {
        heard += count > 0 ? (size_t)count : 0;
        assert_true(heard < TRANSCRIPT_MAX);
        if (count < 0) {
            server_fixture_turn(fixture, &peer);
        }
    }
    session_fixture_leave(fixture, &peer);
    return heard;
}

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct server_fixture *fixture, session_fixture_setup, session_fixture_teardown)

/* Wherever the stream is cut into reads, the answers are the same. */
FIXTURE_TEST(frames_may_be_split_anywhere)
{
    static uint8_t whole[TRANSCRIPT_MAX];
    static uint8_t heard[TRANSCRIPT_MAX];
    struct peer source;

    peer_init(&source, -1); /* only to encode with */
    put_conversation(&source);
    const size_t count = talk(fixture, &source.output, source.output.count, whole);
    assert_true(count > 200);
    for (size_t split = 1; split < source.output.count; split++) {
        assert_int_equal(talk(fixture, &source.output, split, heard), count);
        assert_memory_equal(heard, whole, count);
    }
    peer_deinit(&source);
}

/* Also when each byte comes by itself. */
FIXTURE_TEST(bytes_may_come_one_by_one)
{
    struct peer peer;
    struct session *session = server_fixture_connect(fixture, &peer);
    struct peer source;

    peer_init(&source, -1);
    put_conversation(&source);
    for (size_t i = 0; i < source.output.count; i++) {
        peer_put_bytes(&peer, source.output.data + i, 1);
        session_fixture_send_all(fixture, &peer);
        if (session->state == SESSION_NEW || session->state == SESSION_OPEN) {
            server_fixture_turn(fixture, NULL);
        }
    }
    session_fixture_expect(fixture, &peer, 1, HEARSAY_RESPONSE_WELCOME);
    session_fixture_expect(fixture, &peer, 2, HEARSAY_RESPONSE_PONG);
    session_fixture_expect(fixture, &peer, 3, HEARSAY_RESPONSE_RESULTS);
    session_fixture_expect_error(fixture, &peer, 1, HEARSAY_CODE_INVALID, "Hello is sent once");
    session_fixture_expect(fixture, &peer, 4, HEARSAY_RESPONSE_PONG);
    session_fixture_expect_error(fixture, &peer, 0, HEARSAY_CODE_MALFORMED, "");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);
    peer_deinit(&source);
}

/* More frames in one read than a turn takes are all answered, in order. */
FIXTURE_TEST(many_frames_in_one_read)
{
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    for (uint64_t id = 2; id < 1000; id++) {
        peer_put_ping(&peer, id);
    }
    session_fixture_send_all(fixture, &peer);
    for (uint64_t id = 2; id < 1000; id++) {
        session_fixture_expect(fixture, &peer, id, HEARSAY_RESPONSE_PONG);
    }
    session_fixture_leave(fixture, &peer);
}

/* What cannot be read any further is said, and is the end; what follows is not looked at. */
FIXTURE_TEST(broken_streams_end)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *sentence;
    } broken[] = {
        {"\0\0\0\0", 4, "length zero"},
        {"\0\1\0\1", 4, "65537 bytes; at most 65536"},
        {"\xff\xff\xff\xff", 4, "4294967295 bytes; at most 65536"},
        {"\0\0\0\1\xff", 5, ""},
    };

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct peer peer;
        server_fixture_greet(fixture, &peer);
        peer_put_ping(&peer, 2);
        peer_put_bytes(&peer, broken[i].bytes, broken[i].count);
        peer_put_ping(&peer, 3);
        session_fixture_send_all(fixture, &peer);
        session_fixture_expect(fixture, &peer, 2, HEARSAY_RESPONSE_PONG);
        session_fixture_expect_error(fixture, &peer, 0, HEARSAY_CODE_MALFORMED, broken[i].sentence);
        session_fixture_expect_end(fixture, &peer);
        session_fixture_leave(fixture, &peer);
    }
}

/* A request whose fields are wrong is answered, and the next one is served. */
FIXTURE_TEST(wrong_fields_do_not_end_it)
{
    const struct hearsay_request no_id = {.id = 7, .kind = HEARSAY_REQUEST_GET};
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    peer_put(&peer, &no_id);
    peer_put_ping(&peer, 8);
    session_fixture_send_all(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 7, HEARSAY_CODE_INVALID, "");
    session_fixture_expect(fixture, &peer, 8, HEARSAY_RESPONSE_PONG);
    session_fixture_leave(fixture, &peer);
}

/* --- hello ------------------------------------------------------------------------------------ */

FIXTURE_TEST(nothing_is_served_before_hello)
{
    const struct hearsay_request no_id = {.id = 7, .kind = HEARSAY_REQUEST_GET};
    const struct hearsay_request future = {
        .id = 9, .kind = HEARSAY_REQUEST_HELLO, .hello = {.versions = {77}, .version_count = 1}};
    struct peer peer;

    server_fixture_connect(fixture, &peer);
    peer_put_ping(&peer, 2);
    peer_put_hello(&peer);
    session_fixture_send_all(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 2, HEARSAY_CODE_INVALID, "must be Hello");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);

    server_fixture_connect(fixture, &peer);
    peer_put(&peer, &no_id); /* not even a wrong one */
    peer_put_hello(&peer);
    session_fixture_send_all(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 7, HEARSAY_CODE_INVALID, "");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);

    server_fixture_connect(fixture, &peer);
    peer_put(&peer, &future);
    peer_put_ping(&peer, 2);
    session_fixture_send_all(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 9, HEARSAY_CODE_UNSUPPORTED_VERSION,
                                 "version 1 is");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);
}

/* Who does not say Hello in time is told so and ended, half a Hello or not. */
FIXTURE_TEST(hello_has_a_deadline)
{
    struct peer peer;
    struct session *session = server_fixture_connect(fixture, &peer);
    const int64_t since_ms = session->since_ms;

    peer_put_bytes(&peer, "\0\0\0\7", 4);
    session_fixture_send_all(fixture, &peer);
    server_fixture_turn(fixture, NULL);
    session_tick(session, since_ms + 9999);
    assert_int_equal(session->state, SESSION_NEW);
    session_tick(session, since_ms + 10000);
    assert_int_equal(session->state, SESSION_ENDING);
    server_fixture_turn(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 0, HEARSAY_CODE_INVALID,
                                 "no Hello came within 10s");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);
}

/* An idle session ends; one that waits for an answer is not idle, and 0 is never. */
FIXTURE_TEST(idle_sessions_end)
{
    struct config *config = &fixture->server.service->config;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    config->idle_timeout_s = 60;
    session_fixture_put_deposits(&peer, 1);
    session_fixture_send_all(fixture, &peer);
    session_fixture_await_work(fixture, 1);
    session_tick(session, session->activity_ms + 60 * 1000);
    assert_int_equal(session->state, SESSION_OPEN);
    fake_persist_commit(fixture->persist);
    session_fixture_expect(fixture, &peer, 100, HEARSAY_RESPONSE_DEPOSITED);
    session_tick(session, session->activity_ms + 60 * 1000 - 1);
    assert_int_equal(session->state, SESSION_OPEN);
    config->idle_timeout_s = 0;
    session_tick(session, session->activity_ms + 60 * 1000);
    assert_int_equal(session->state, SESSION_OPEN);
    config->idle_timeout_s = 60;
    session_tick(session, session->activity_ms + 60 * 1000);
    server_fixture_turn(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 0, HEARSAY_CODE_INVALID,
                                 "no request, such as Ping, came within 1m");
    session_fixture_expect_end(fixture, &peer);
    session_fixture_leave(fixture, &peer);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Beyond the requests in flight no more are read; as answers go out, the others have their turn. */
FIXTURE_TEST(requests_in_flight_are_bounded)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);
    uint64_t id = 100;

    session_fixture_put_deposits(&peer, 30);
    session_fixture_send_all(fixture, &peer);
    while (id < 130) {
        const uint64_t left = 130 - id;
        const uint32_t taken = left < 8 ? (uint32_t)left : 8;
        session_fixture_await_work(fixture, taken);
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT); /* takes no more */
        assert_int_equal(session->client.work_count, taken);
        assert_true(taken < 8 || !session->transport.reading);
        assert_int_equal(fake_persist_commit(fixture->persist), taken);
        for (uint32_t i = 0; i < taken; i++) {
            session_fixture_expect(fixture, &peer, id++, HEARSAY_RESPONSE_DEPOSITED);
        }
    }
    assert_int_equal(fake_persist_count(fixture->persist), 30);
    session_fixture_leave(fixture, &peer);
}

/* While the clock is set nobody's requests are taken; then they are. */
FIXTURE_TEST(a_clock_that_is_set_holds_all_clients)
{
    struct service *service = fixture->server.service;
    struct hearsay_response response;
    struct peer peers[2];

    server_fixture_greet(fixture, &peers[0]);
    server_fixture_greet(fixture, &peers[1]);
    service->is_setting_clock = true;
    for (unsigned i = 0; i < 2; i++) {
        peer_put_ping(&peers[i], 2);
        session_fixture_send_all(fixture, &peers[i]);
    }
    while (!fixture->server.sessions.has_congested ||
           fixture->server.sessions.first->transport.reading ||
           fixture->server.sessions.first->next->transport.reading) {
        server_fixture_turn(fixture, NULL);
    }
    assert_false(peer_take(&peers[0], &response));
    assert_false(peer_take(&peers[1], &response));
    service->is_setting_clock = false;
    loop_wake(&fixture->server.loop); /* in the daemon an operation's end does so */
    for (unsigned i = 0; i < 2; i++) {
        session_fixture_expect(fixture, &peers[i], 2, HEARSAY_RESPONSE_PONG);
    }
    session_fixture_leave(fixture, &peers[1]);
    session_fixture_leave(fixture, &peers[0]);
}

/* While much waits for the store, a client waits that has a part in it, and no other. */
FIXTURE_TEST(who_waits_for_the_store_takes_turns)
{
    struct service *service = fixture->server.service;
    const size_t congested = 16 * 1024 * 1024;
    struct hearsay_response response;
    struct peer writer;
    struct peer reader;

    struct session *session = server_fixture_greet(fixture, &writer);
    server_fixture_greet(fixture, &reader);
    service->writing_bytes += congested; /* as operations that wait would */
    session->client.writes++;
    peer_put_ping(&writer, 2);
    session_fixture_send_all(fixture, &writer);
    while (!session->is_congested || session->transport.reading) {
        server_fixture_turn(fixture, NULL);
    }
    for (uint64_t id = 2; id < 6; id++) {
        peer_put_ping(&reader, id);
        session_fixture_send_all(fixture, &reader);
        session_fixture_expect(fixture, &reader, id, HEARSAY_RESPONSE_PONG);
    }
    assert_false(peer_take(&writer, &response));
    session->client.writes--;
    loop_wake(&fixture->server.loop); /* in the daemon an operation's end does so */
    session_fixture_expect(fixture, &writer, 2, HEARSAY_RESPONSE_PONG);
    service->writing_bytes -= congested;
    session_fixture_leave(fixture, &reader);
    session_fixture_leave(fixture, &writer);
}

/* A client that does not read is asked no more, and nothing of it is lost when it reads again. */
FIXTURE_TEST(unread_answers_stop_the_requests)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);
    const uint64_t cap = fixture->config.limits.session_output_bytes;
    uint64_t next = 2;
    uint64_t asked = 2;

    /* Results take more than their query: the server's output fills, then the client's. */
    while (session->transport.reading || session->entry.is_ready ||
           transport_output_bytes(&session->transport) < cap / 4) {
        if (session->transport.reading && asked < 100000) {
            for (unsigned i = 0; i < 1000; i++) {
                peer_put_ping(&peer, asked++);
            }
            session_fixture_send_all(fixture, &peer);
        }
        server_fixture_turn(fixture, NULL);
        assert_true(transport_output_bytes(&session->transport) <= cap);
    }
    while (next < asked) {
        session_fixture_expect(fixture, &peer, next++, HEARSAY_RESPONSE_PONG);
    }
    assert_int_equal(session->state, SESSION_OPEN);
    session_fixture_leave(fixture, &peer);
}

/* At the bound the client is dropped, at once and without more ado. */
FIXTURE_TEST(slow_readers_are_dropped_at_the_bound)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);
    const uint64_t cap = fixture->config.limits.session_output_bytes;
    size_t before = 0;

    while (session->state == SESSION_OPEN) {
        before = transport_output_bytes(&session->transport);
        assert_true(before <= cap);
        session_fixture_respond_bytes(session, 60000);
    }
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_true(before + 61000 > cap); /* not before it was due */
    assert_true(session->client.is_gone);
    assert_int_equal(fixture->server.sessions.output_bytes, 0);
    session->client.events->respond(&session->client, &pong); /* nobody is there: nothing happens */
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* When all output together is over its cap, the one that holds the most goes. */
FIXTURE_TEST(the_slowest_is_dropped_at_the_common_bound)
{
    struct config *config = &fixture->server.service->config;
    struct peer peers[3];
    struct session *sessions[3];

    for (unsigned i = 0; i < 3; i++) {
        sessions[i] = server_fixture_greet(fixture, &peers[i]);
    }
    config->output_bytes = 150000;
    session_fixture_respond_bytes(sessions[0], 20000);
    session_fixture_respond_bytes(sessions[1], 50000);
    session_fixture_respond_bytes(sessions[1], 50000);
    assert_int_equal(sessions[1]->state, SESSION_OPEN);
    session_fixture_respond_bytes(sessions[2], 40000);
    assert_int_equal(sessions[1]->state, SESSION_CLOSED);
    assert_int_equal(sessions[0]->state, SESSION_OPEN);
    assert_int_equal(sessions[2]->state, SESSION_OPEN);
    assert_in_range(fixture->server.sessions.output_bytes, 60000, 61000);
    session_fixture_expect(fixture, &peers[0], 6, HEARSAY_RESPONSE_GOT);
    session_fixture_expect(fixture, &peers[2], 6, HEARSAY_RESPONSE_GOT);
    assert_int_equal(fixture->server.sessions.output_bytes, 0);
    server_fixture_await_sessions(fixture, 2);
    peer_deinit(&peers[1]);
    session_fixture_leave(fixture, &peers[0]);
    session_fixture_leave(fixture, &peers[2]);
}

/* Output that the peer takes nothing of has a deadline, although it is below the bound. */
FIXTURE_TEST(stuck_output_has_a_deadline)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    while (!session->transport.write_active) {
        session_fixture_respond_bytes(session, 60000);
        session_flush(session);
    }
    session_tick(session, session->transport.progress_ms + STUCK_MS);
    assert_int_equal(session->state, SESSION_OPEN);
    session_tick(session, session->transport.progress_ms + STUCK_MS + 1);
    assert_int_equal(session->state, SESSION_CLOSED);
    session_tick(session, session->transport.progress_ms + STUCK_MS + 2); /* harmless */
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* Connections over the limit are told so; far over it they are closed without a word. */
FIXTURE_TEST(sessions_are_bounded)
{
    struct hearsay_limits *limits = &fixture->server.service->config.limits;
    struct hearsay_response response;
    struct peer peers[70];
    unsigned count = 0;

    limits->sessions = 1;
    server_fixture_greet(fixture, &peers[count++]);
    while (count < 65) {
        server_fixture_connect(fixture, &peers[count]);
        assert_true(peer_await(&peers[count], &fixture->server.loop.uv, &response));
        assert_int_equal(response.error.code, HEARSAY_CODE_RATE_LIMITED);
        assert_true(response.error.retry_after_ms > 0);
        session_fixture_expect_end(fixture, &peers[count]); /* they stay, and take no more */
        count++;
    }
    server_fixture_connect(fixture, &peers[count]);
    session_fixture_expect_end(fixture, &peers[count]);
    server_fixture_await_sessions(fixture, 65);
    peer_put_ping(&peers[0], 2); /* who was here first is still served */
    session_fixture_send_all(fixture, &peers[0]);
    session_fixture_expect(fixture, &peers[0], 2, HEARSAY_RESPONSE_PONG);
    for (unsigned i = 0; i <= count; i++) {
        peer_deinit(&peers[i]);
    }
    server_fixture_await_sessions(fixture, 0);
    server_fixture_greet(fixture, &peers[0]); /* there is room again */
    session_fixture_leave(fixture, &peers[0]);
}

/* --- who is it -------------------------------------------------------------------------------- */

/* Our own user over the Unix socket is the administrator. */
FIXTURE_TEST(own_user_is_the_administrator)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    assert_true(session->client.is_administrator);
    session_fixture_leave(fixture, &peer);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
