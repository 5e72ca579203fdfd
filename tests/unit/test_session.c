/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on a real loop and real sockets, over a store in memory that commits when the test says
 * so. Deadlines are passed by handing session_tick a later time.
 */
#include "daemon/net/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "daemon/net/server.h"
#include "daemon/watch/watch.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

enum { LINGER_MS = 2000, STUCK_MS = 30 * 1000, TRANSCRIPT_MAX = 16 * 1024 };

/* --- fixture ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct server_fixture *fixture = server_fixture_new();

    fixture->config.limits.requests_in_flight = 8;
    server_fixture_start(fixture, true);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    server_fixture_free(*state);
    return 0;
}

static void send_all(struct server_fixture *fixture, struct peer *peer)
{
    peer_send(peer, &fixture->server.loop.uv);
}

static void expect(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                   enum msg_response_kind kind)
{
    struct msg_response response;

    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    assert_int_equal(response.kind, kind);
}

static void expect_error(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                         enum msg_error_code code, const char *sentence)
{
    struct msg_response response;

    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    assert_int_equal(response.kind, MSG_RESPONSE_ERROR);
    assert_int_equal(response.error.code, code);
    if (strstr(response.error.message, sentence) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", response.error.message, sentence);
    }
}

static void expect_end(struct server_fixture *fixture, struct peer *peer)
{
    peer_await_end(peer, &fixture->server.loop.uv);
    assert_false(peer->was_reset);
}

/* The client closes, and the session goes without a trace. */
static void leave(struct server_fixture *fixture, struct peer *peer)
{
    const size_t count = fixture->server.sessions.count;

    peer_deinit(peer);
    server_fixture_await_sessions(fixture, count - 1);
}

static void put_deposits(struct peer *peer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        peer_put(peer, server_fixture_deposit(100 + i, (uint8_t)(i + 1)));
    }
}

static void await_work(struct server_fixture *fixture, uint32_t count)
{
    while (fixture->server.service->working < count) {
        server_fixture_turn(fixture, NULL);
    }
    assert_int_equal(fixture->server.service->working, count);
}

static const struct msg_response pong = {.id = 5, .kind = MSG_RESPONSE_PONG};

/* Bytes of answers that the client does not read, put there as a handler would; < 64 KiB. */
static void respond_bytes(struct session *session, size_t count)
{
    static const uint8_t payload[64 * 1024];
    static const uint8_t id[MESSAGE_ID_BYTES] = {1};
    const struct msg_response got = {
        .id = 6,
        .kind = MSG_RESPONSE_GOT,
        .got = {.id = {id, sizeof(id)},
                .media_type = {"text/plain", 10},
                .payload = {payload, count}},
    };

    session->client.events->respond(&session->client, &got);
}

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
    send_all(fixture, &peer);
    do {
        server_fixture_turn(fixture, NULL); /* the first part is read by itself */
    } while (unread_bytes(session) > 0);
    peer_put_bytes(&peer, said->data + split, said->count - split);
    send_all(fixture, &peer);
    while ((count = recv(peer.fd, out_heard + heard, TRANSCRIPT_MAX - heard, MSG_DONTWAIT)) != 0) {
        heard += count > 0 ? (size_t)count : 0;
        assert_true(heard < TRANSCRIPT_MAX);
        if (count < 0) {
            server_fixture_turn(fixture, &peer);
        }
    }
    leave(fixture, &peer);
    return heard;
}

/* Wherever the stream is cut into reads, the answers are the same. */
static void frames_may_be_split_anywhere(void **state)
{
    struct server_fixture *fixture = *state;
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
static void bytes_may_come_one_by_one(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_connect(fixture, &peer);
    struct peer source;

    peer_init(&source, -1);
    put_conversation(&source);
    for (size_t i = 0; i < source.output.count; i++) {
        peer_put_bytes(&peer, source.output.data + i, 1);
        send_all(fixture, &peer);
        if (session->state == SESSION_NEW || session->state == SESSION_OPEN) {
            server_fixture_turn(fixture, NULL);
        }
    }
    expect(fixture, &peer, 1, MSG_RESPONSE_WELCOME);
    expect(fixture, &peer, 2, MSG_RESPONSE_PONG);
    expect(fixture, &peer, 3, MSG_RESPONSE_RESULTS);
    expect_error(fixture, &peer, 1, MSG_INVALID, "Hello is sent once");
    expect(fixture, &peer, 4, MSG_RESPONSE_PONG);
    expect_error(fixture, &peer, 0, MSG_MALFORMED, "");
    expect_end(fixture, &peer);
    leave(fixture, &peer);
    peer_deinit(&source);
}

/* More frames in one read than a turn takes are all answered, in order. */
static void many_frames_in_one_read(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    for (uint64_t id = 2; id < 1000; id++) {
        peer_put_ping(&peer, id);
    }
    send_all(fixture, &peer);
    for (uint64_t id = 2; id < 1000; id++) {
        expect(fixture, &peer, id, MSG_RESPONSE_PONG);
    }
    leave(fixture, &peer);
}

/* What cannot be read any further is said, and is the end; what follows is not looked at. */
static void broken_streams_end(void **state)
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
    struct server_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct peer peer;
        server_fixture_greet(fixture, &peer);
        peer_put_ping(&peer, 2);
        peer_put_bytes(&peer, broken[i].bytes, broken[i].count);
        peer_put_ping(&peer, 3);
        send_all(fixture, &peer);
        expect(fixture, &peer, 2, MSG_RESPONSE_PONG);
        expect_error(fixture, &peer, 0, MSG_MALFORMED, broken[i].sentence);
        expect_end(fixture, &peer);
        leave(fixture, &peer);
    }
}

/* A request whose fields are wrong is answered, and the next one is served. */
static void wrong_fields_do_not_end_it(void **state)
{
    struct server_fixture *fixture = *state;
    const struct msg_request no_id = {.id = 7, .kind = MSG_REQUEST_GET};
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    peer_put(&peer, &no_id);
    peer_put_ping(&peer, 8);
    send_all(fixture, &peer);
    expect_error(fixture, &peer, 7, MSG_INVALID, "");
    expect(fixture, &peer, 8, MSG_RESPONSE_PONG);
    leave(fixture, &peer);
}

/* --- hello ------------------------------------------------------------------------------------ */

static void nothing_is_served_before_hello(void **state)
{
    struct server_fixture *fixture = *state;
    const struct msg_request no_id = {.id = 7, .kind = MSG_REQUEST_GET};
    const struct msg_request future = {
        .id = 9, .kind = MSG_REQUEST_HELLO, .hello = {.versions = {77}, .version_count = 1}};
    struct peer peer;

    server_fixture_connect(fixture, &peer);
    peer_put_ping(&peer, 2);
    peer_put_hello(&peer);
    send_all(fixture, &peer);
    expect_error(fixture, &peer, 2, MSG_INVALID, "must be Hello");
    expect_end(fixture, &peer);
    leave(fixture, &peer);

    server_fixture_connect(fixture, &peer);
    peer_put(&peer, &no_id); /* not even a wrong one */
    peer_put_hello(&peer);
    send_all(fixture, &peer);
    expect_error(fixture, &peer, 7, MSG_INVALID, "");
    expect_end(fixture, &peer);
    leave(fixture, &peer);

    server_fixture_connect(fixture, &peer);
    peer_put(&peer, &future);
    peer_put_ping(&peer, 2);
    send_all(fixture, &peer);
    expect_error(fixture, &peer, 9, MSG_UNSUPPORTED_VERSION, "version 1 is");
    expect_end(fixture, &peer);
    leave(fixture, &peer);
}

/* Who does not say Hello in time is told so and ended, half a Hello or not. */
static void hello_has_a_deadline(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_connect(fixture, &peer);
    const int64_t since_ms = session->since_ms;

    peer_put_bytes(&peer, "\0\0\0\7", 4);
    send_all(fixture, &peer);
    server_fixture_turn(fixture, NULL);
    session_tick(session, since_ms + 9999);
    assert_int_equal(session->state, SESSION_NEW);
    session_tick(session, since_ms + 10000);
    assert_int_equal(session->state, SESSION_ENDING);
    server_fixture_turn(fixture, &peer);
    expect_error(fixture, &peer, 0, MSG_INVALID, "no Hello came in time");
    expect_end(fixture, &peer);
    leave(fixture, &peer);
}

/* An idle session ends; one that waits for an answer is not idle, and 0 is never. */
static void idle_sessions_end(void **state)
{
    struct server_fixture *fixture = *state;
    struct config_limits *limits = &fixture->server.service->config.limits;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    limits->idle_timeout_s = 60;
    put_deposits(&peer, 1);
    send_all(fixture, &peer);
    await_work(fixture, 1);
    session_tick(session, session->activity_ms + 60 * 1000);
    assert_int_equal(session->state, SESSION_OPEN);
    fake_persist_commit(fixture->persist);
    expect(fixture, &peer, 100, MSG_RESPONSE_DEPOSITED);
    session_tick(session, session->activity_ms + 60 * 1000 - 1);
    assert_int_equal(session->state, SESSION_OPEN);
    limits->idle_timeout_s = 0;
    session_tick(session, session->activity_ms + 60 * 1000);
    assert_int_equal(session->state, SESSION_OPEN);
    limits->idle_timeout_s = 60;
    session_tick(session, session->activity_ms + 60 * 1000);
    server_fixture_turn(fixture, &peer);
    expect_error(fixture, &peer, 0, MSG_INVALID, "nothing was asked for too long");
    expect_end(fixture, &peer);
    leave(fixture, &peer);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Beyond the requests in flight no more are read; as answers go out, the others have their turn. */
static void requests_in_flight_are_bounded(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);
    uint64_t id = 100;

    put_deposits(&peer, 30);
    send_all(fixture, &peer);
    while (id < 130) {
        const uint64_t left = 130 - id;
        const uint32_t taken = left < 8 ? (uint32_t)left : 8;
        await_work(fixture, taken);
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT); /* takes no more */
        assert_int_equal(session->client.work_count, taken);
        assert_true(taken < 8 || !session->transport.reading);
        assert_int_equal(fake_persist_commit(fixture->persist), taken);
        for (uint32_t i = 0; i < taken; i++) {
            expect(fixture, &peer, id++, MSG_RESPONSE_DEPOSITED);
        }
    }
    assert_int_equal(fake_persist_count(fixture->persist), 30);
    leave(fixture, &peer);
}

/* While too much waits for the store nobody's requests are taken; then they are. */
static void congestion_holds_all_clients(void **state)
{
    struct server_fixture *fixture = *state;
    struct service *service = fixture->server.service;
    const size_t congested = 16 * 1024 * 1024;
    struct msg_response response;
    struct peer peers[2];

    server_fixture_greet(fixture, &peers[0]);
    server_fixture_greet(fixture, &peers[1]);
    service->writing_bytes += congested; /* as operations that wait would */
    for (unsigned i = 0; i < 2; i++) {
        peer_put_ping(&peers[i], 2);
        send_all(fixture, &peers[i]);
    }
    while (!fixture->server.sessions.was_congested ||
           fixture->server.sessions.first->transport.reading ||
           fixture->server.sessions.first->next->transport.reading) {
        server_fixture_turn(fixture, NULL);
    }
    assert_false(peer_take(&peers[0], &response));
    assert_false(peer_take(&peers[1], &response));
    service->writing_bytes -= congested;
    loop_wake(&fixture->server.loop); /* in the daemon an operation's end does so */
    for (unsigned i = 0; i < 2; i++) {
        expect(fixture, &peers[i], 2, MSG_RESPONSE_PONG);
    }
    leave(fixture, &peers[1]);
    leave(fixture, &peers[0]);
}

/* A client that does not read is asked no more, and nothing of it is lost when it reads again. */
static void unread_answers_stop_the_requests(void **state)
{
    struct server_fixture *fixture = *state;
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
            send_all(fixture, &peer);
        }
        server_fixture_turn(fixture, NULL);
        assert_true(transport_output_bytes(&session->transport) <= cap);
    }
    while (next < asked) {
        expect(fixture, &peer, next++, MSG_RESPONSE_PONG);
    }
    assert_int_equal(session->state, SESSION_OPEN);
    leave(fixture, &peer);
}

/* At the bound the client is dropped, at once and without more ado. */
static void slow_readers_are_dropped_at_the_bound(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);
    const uint64_t cap = fixture->config.limits.session_output_bytes;
    size_t before = 0;

    while (session->state == SESSION_OPEN) {
        before = transport_output_bytes(&session->transport);
        assert_true(before <= cap);
        respond_bytes(session, 60000);
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
static void the_slowest_is_dropped_at_the_common_bound(void **state)
{
    struct server_fixture *fixture = *state;
    struct config_limits *limits = &fixture->server.service->config.limits;
    struct peer peers[3];
    struct session *sessions[3];

    for (unsigned i = 0; i < 3; i++) {
        sessions[i] = server_fixture_greet(fixture, &peers[i]);
    }
    limits->output_bytes = 150000;
    respond_bytes(sessions[0], 20000);
    respond_bytes(sessions[1], 50000);
    respond_bytes(sessions[1], 50000);
    assert_int_equal(sessions[1]->state, SESSION_OPEN);
    respond_bytes(sessions[2], 40000);
    assert_int_equal(sessions[1]->state, SESSION_CLOSED);
    assert_int_equal(sessions[0]->state, SESSION_OPEN);
    assert_int_equal(sessions[2]->state, SESSION_OPEN);
    assert_in_range(fixture->server.sessions.output_bytes, 60000, 61000);
    expect(fixture, &peers[0], 6, MSG_RESPONSE_GOT);
    expect(fixture, &peers[2], 6, MSG_RESPONSE_GOT);
    assert_int_equal(fixture->server.sessions.output_bytes, 0);
    server_fixture_await_sessions(fixture, 2);
    peer_deinit(&peers[1]);
    leave(fixture, &peers[0]);
    leave(fixture, &peers[2]);
}

/* Output that the peer takes nothing of has a deadline, although it is below the bound. */
static void stuck_output_has_a_deadline(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    while (!session->transport.write_active) {
        respond_bytes(session, 60000);
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
static void sessions_are_bounded(void **state)
{
    struct server_fixture *fixture = *state;
    struct config_limits *limits = &fixture->server.service->config.limits;
    struct msg_response response;
    struct peer peers[70];
    unsigned count = 0;

    limits->sessions_max = 1;
    server_fixture_greet(fixture, &peers[count++]);
    while (count < 65) {
        server_fixture_connect(fixture, &peers[count]);
        assert_true(peer_await(&peers[count], &fixture->server.loop.uv, &response));
        assert_int_equal(response.error.code, MSG_RATE_LIMITED);
        assert_true(response.error.retry_after_ms > 0);
        expect_end(fixture, &peers[count]); /* they stay, and take no more */
        count++;
    }
    server_fixture_connect(fixture, &peers[count]);
    expect_end(fixture, &peers[count]);
    server_fixture_await_sessions(fixture, 65);
    peer_put_ping(&peers[0], 2); /* who was here first is still served */
    send_all(fixture, &peers[0]);
    expect(fixture, &peers[0], 2, MSG_RESPONSE_PONG);
    for (unsigned i = 0; i <= count; i++) {
        peer_deinit(&peers[i]);
    }
    server_fixture_await_sessions(fixture, 0);
    server_fixture_greet(fixture, &peers[0]); /* there is room again */
    leave(fixture, &peers[0]);
}

/* --- answers that cannot be given ------------------------------------------------------------- */

/* An answer over the frame limit is an error that says so; the session goes on. */
static void answers_over_a_frame_are_refused(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    respond_bytes(session, 64 * 1024);
    server_fixture_turn(fixture, &peer);
    expect_error(fixture, &peer, 6, MSG_TOO_LARGE, "does not fit a frame of 65536 bytes");
    assert_int_equal(session->state, SESSION_OPEN);
    leave(fixture, &peer);
}

/* Without memory for an answer or a request the session is dropped: no answer is silently missing.
 */
static void no_memory_drops_the_session(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    fail_alloc_arm(&fixture->alloc, 1);
    fixture->alloc.fail_from_then = true;
    respond_bytes(session, 60000);
    assert_int_equal(session->state, SESSION_CLOSED);
    fail_alloc_arm(&fixture->alloc, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* Whichever request for memory fails while a request is read: the session is dropped, and nothing
 * of the request happens; or it has them all, and is served. */
static void no_memory_for_a_request(void **state)
{
    struct server_fixture *fixture = *state;
    struct arena *arena = &fixture->server.sessions.decode_arena;
    size_t failed = 0;

    for (bool served = false; !served; failed++) {
        struct peer peer;
        server_fixture_greet(fixture, &peer);
        arena_deinit(arena); /* so that it has to ask again */
        arena_init(arena, &fixture->alloc.alloc, 4 * LIMIT_FRAME_BYTES_MAX);
        put_deposits(&peer, 1);
        send_all(fixture, &peer);
        fail_alloc_arm(&fixture->alloc, failed + 1);
        do {
            server_fixture_turn(fixture, NULL);
        } while (fixture->server.sessions.count > 0 && fixture->server.service->working == 0);
        served = fixture->server.service->working == 1;
        assert_int_equal(fixture->server.sessions.count, served ? 1 : 0);
        fail_alloc_arm(&fixture->alloc, 0);
        peer_deinit(&peer);
        fake_persist_commit(fixture->persist);
        server_fixture_await_sessions(fixture, 0);
    }
    assert_true(failed > 2); /* the buffer, the arena */
    assert_int_equal(fake_persist_count(fixture->persist), 1);
}

/* --- drops ------------------------------------------------------------------------------------ */

static void watch_all(struct server_fixture *fixture, struct session *session)
{
    const struct msg_request *query = server_fixture_query(50, 1);
    struct msg_request request = {.id = query->id, .kind = MSG_REQUEST_WATCH};

    request.watch.query = query->query;
    request.watch.query.k = 0;
    request.watch.after_seq = UINT64_MAX;
    handler_handle(fixture->server.service, &session->client, &request);
    assert_true(watch_is_watching(&session->client));
}

/* A push that drops its client: who pushes still has the client, its watches and its sender when
 * the call returns; the loop's next turn ends them. */
static void a_push_that_drops_leaves_its_caller_valid(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    watch_all(fixture, session);
    const struct watcher *watcher = session->client.watcher;
    const struct watch_counts *counts = &fixture->server.service->watch->counts;
    while (session->state == SESSION_OPEN) {
        respond_bytes(session, 60000);
    }
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_ptr_equal(session->client.watcher, watcher);
    assert_true(watch_is_watching(&session->client)); /* reads the watcher's memory */
    assert_int_equal(counts->watches, 1);
    assert_false(session->client.events->has_room(&session->client));
    assert_false(session->client.events->queued(&session->client, 1));
    session->client.events->drop(&session->client, MSG_INTERNAL, "once more");
    server_fixture_turn(fixture, NULL);
    assert_int_equal(counts->watches, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* The end of the last request of a session whose stream is closed: the session is still there when
 * the handler gets back to its caller. */
static void the_last_work_does_not_free_its_session(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    requester_work_begin(&session->client, 100, 100);
    session_close(session);
    while (!session->stream_closed) {
        server_fixture_turn(fixture, NULL);
    }
    server_fixture_turn(fixture, NULL);
    assert_int_equal(fixture->server.sessions.count, 1);
    requester_work_end(&session->client, 100, 100);
    assert_int_equal(fixture->server.sessions.count, 1);
    assert_int_equal(session->client.work_count, 0); /* reads the session's memory */
    server_fixture_turn(fixture, NULL);
    assert_int_equal(fixture->server.sessions.count, 0);
    peer_deinit(&peer);
}

/* A write that fails, as the client has reset the connection, drops the session within
 * session_flush, which goes on with it. */
static void a_write_that_fails_leaves_its_caller_valid(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    watch_all(fixture, session);
    peer_deinit(&peer);
    respond_bytes(session, 60000);
    assert_int_equal(session->state, SESSION_OPEN);
    session_flush(session);
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_true(watch_is_watching(&session->client));
    server_fixture_await_sessions(fixture, 0);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Who has sent its end still gets all answers, and then ours. */
static void half_close_is_answered(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    put_deposits(&peer, 20); /* more than are taken at a time */
    peer_put(&peer, server_fixture_query(3, 1));
    send_all(fixture, &peer);
    peer_shut_down(&peer);
    for (uint64_t id = 100; id < 120;) {
        const uint32_t taken = id < 116 ? 8 : 4;
        await_work(fixture, taken);
        while (fixture->server.service->working > 0) {
            fake_persist_commit(fixture->persist);
        }
        for (uint32_t i = 0; i < taken; i++) {
            if (id == 116 && i == 0) { /* overtakes those that wait for the store */
                expect(fixture, &peer, 3, MSG_RESPONSE_RESULTS);
            }
            expect(fixture, &peer, id++, MSG_RESPONSE_DEPOSITED);
        }
    }
    expect_end(fixture, &peer);
    server_fixture_await_sessions(fixture, 0); /* by itself: both have ended */
    peer_deinit(&peer);
}

/* An end in the midst of a frame is an end like any other. */
static void half_close_within_a_frame(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    peer_put_ping(&peer, 2);
    peer_put_bytes(&peer, "\0\0\0\7ab", 6);
    send_all(fixture, &peer);
    peer_shut_down(&peer);
    expect(fixture, &peer, 2, MSG_RESPONSE_PONG);
    expect_end(fixture, &peer);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* A client that is gone while its requests are under way: they are done, and the session is freed
 * when the last one is over, not before. */
static void client_gone_before_its_answers(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    put_deposits(&peer, 5);
    send_all(fixture, &peer);
    await_work(fixture, 5);
    session_close(session);
    session_close(session);
    while (!session->stream_closed) {
        server_fixture_turn(fixture, NULL);
    }
    assert_int_equal(fixture->server.sessions.count, 1);
    assert_int_equal(session->client.work_count, 5);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->server.sessions.count, 1);
    server_fixture_turn(fixture, NULL);
    assert_int_equal(fixture->server.sessions.count, 0);
    assert_int_equal(fake_persist_count(fixture->persist), 5);
    peer_deinit(&peer);
}

/* The other order: the work is over while the stream is still closing. */
static void work_ends_before_the_stream_is_closed(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    put_deposits(&peer, 5);
    send_all(fixture, &peer);
    await_work(fixture, 5);
    session_close(session);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->server.sessions.count, 1);
    assert_int_equal(session->client.work_count, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

static void answer_to_a_client_that_left(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    put_deposits(&peer, 3);
    send_all(fixture, &peer);
    await_work(fixture, 3);
    peer_deinit(&peer);
    server_fixture_turn(fixture, NULL);
    fake_persist_commit(fixture->persist);
    server_fixture_await_sessions(fixture, 0);
    assert_int_equal(fake_persist_count(fixture->persist), 3);
}

/* The server stops: what was received is answered, and then the stream ends. */
static void stop_answers_what_was_received(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer busy;
    struct peer idle;

    server_fixture_connect(fixture, &idle);
    server_fixture_greet(fixture, &busy);
    put_deposits(&busy, 12); /* some are under way, some are buffered */
    send_all(fixture, &busy);
    await_work(fixture, 8);
    sessions_stop(&fixture->server.sessions);
    expect_end(fixture, &idle);
    fake_persist_commit(fixture->persist);
    await_work(fixture, 4);
    fake_persist_commit(fixture->persist);
    for (uint64_t id = 100; id < 112; id++) {
        expect(fixture, &busy, id, MSG_RESPONSE_DEPOSITED);
    }
    expect_end(fixture, &busy);
    sessions_stop(&fixture->server.sessions); /* ending already: harmless */
    session_resume(fixture->server.sessions.first);
    leave(fixture, &busy);
    leave(fixture, &idle);
}

static uint64_t stand_still(void *context)
{
    (void)context;
    return UINT64_C(1000000000);
}

static void ends_while_it_waits_for_its_turn(bool is_stopping)
{
    static const uint8_t malformed[20000];
    struct server_fixture *fixture = server_fixture_new();
    struct peer peer;

    server_fixture_start(fixture, true);
    struct session *session = server_fixture_greet(fixture, &peer);
    for (uint64_t id = 2; id < 80; id++) {
        peer_put(&peer, server_fixture_query(id, 1));
    }
    if (!is_stopping) {
        peer_put_bytes(&peer, malformed, sizeof(malformed));
    }
    fixture->server.service->read_ns = stand_still; /* so that all is done in one slice */
    fixture->server.loop.spent_ns = UINT64_MAX / 2; /* others had the turn */
    peer_send(&peer, &fixture->server.loop.uv);
    if (is_stopping) {
        sessions_stop(&fixture->server.sessions);
    }
    while (session->state != SESSION_ENDING || session->entry.is_ready) {
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
    }
    peer_shut_down(&peer);
    server_fixture_await_sessions(fixture, 0); /* no tick, so no deadline */
    fixture->server.sessions.is_stopping = false;
    peer_deinit(&peer);
    server_fixture_free(fixture);
}

/* It goes on to listen for the peer's end, although it is on the list of those with requests. */
static void an_end_is_noticed_by_those_that_wait(void **state)
{
    (void)state;
    ends_while_it_waits_for_its_turn(false);
    ends_while_it_waits_for_its_turn(true);
}

/* A peer that does not end after our end is not waited for longer than two seconds. */
static void lingering_has_a_deadline(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    peer_put_bytes(&peer, "\0\0\0\0", 4);
    send_all(fixture, &peer);
    expect_error(fixture, &peer, 0, MSG_MALFORMED, "length zero");
    expect_end(fixture, &peer);
    peer_put_ping(&peer, 3); /* thrown away */
    send_all(fixture, &peer);
    server_fixture_turn(fixture, NULL);
    session_tick(session, session->since_ms + LINGER_MS - 1);
    assert_int_equal(session->state, SESSION_ENDING);
    session_tick(session, session->since_ms + LINGER_MS);
    assert_int_equal(session->state, SESSION_CLOSED);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* --- who is it -------------------------------------------------------------------------------- */

/* Our own user over the Unix socket is the administrator. */
static void own_user_is_the_administrator(void **state)
{
    struct server_fixture *fixture = *state;
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    assert_true(session->client.is_administrator);
    leave(fixture, &peer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(frames_may_be_split_anywhere),
        TEST(bytes_may_come_one_by_one),
        TEST(many_frames_in_one_read),
        TEST(broken_streams_end),
        TEST(wrong_fields_do_not_end_it),
        TEST(nothing_is_served_before_hello),
        TEST(hello_has_a_deadline),
        TEST(idle_sessions_end),
        TEST(requests_in_flight_are_bounded),
        TEST(congestion_holds_all_clients),
        TEST(unread_answers_stop_the_requests),
        TEST(slow_readers_are_dropped_at_the_bound),
        TEST(the_slowest_is_dropped_at_the_common_bound),
        TEST(stuck_output_has_a_deadline),
        TEST(sessions_are_bounded),
        TEST(answers_over_a_frame_are_refused),
        TEST(no_memory_drops_the_session),
        TEST(no_memory_for_a_request),
        TEST(a_push_that_drops_leaves_its_caller_valid),
        TEST(the_last_work_does_not_free_its_session),
        TEST(a_write_that_fails_leaves_its_caller_valid),
        TEST(half_close_is_answered),
        TEST(half_close_within_a_frame),
        TEST(client_gone_before_its_answers),
        TEST(work_ends_before_the_stream_is_closed),
        TEST(answer_to_a_client_that_left),
        TEST(stop_answers_what_was_received),
        cmocka_unit_test(an_end_is_noticed_by_those_that_wait),
        TEST(lingering_has_a_deadline),
        TEST(own_user_is_the_administrator),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
