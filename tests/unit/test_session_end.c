/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sessions end: answers that cannot be given, drops while others work, ends of either side, and
 * deadlines. Deadlines are passed by handing session_tick a later time.
 */
#include <signal.h>

#include "daemon/watch/watch.h"
#include "tests/lib/check.h"
#include "tests/unit/session_fixture.h"

enum { LINGER_MS = 2000 };

/* --- answers that cannot be given ------------------------------------------------------------- */

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct server_fixture *fixture, session_fixture_setup, session_fixture_teardown)

/* An answer over the frame limit is an error that says so; the session goes on. */
FIXTURE_TEST(answers_over_a_frame_are_refused)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    session_fixture_respond_bytes(session, 64 * 1024);
    server_fixture_turn(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 6, HEARSAY_CODE_TOO_LARGE,
                                 "does not fit a frame of 65536 bytes");
    assert_int_equal(session->state, SESSION_OPEN);
    session_fixture_leave(fixture, &peer);
}

/* Without memory for an answer or a request the session is dropped: no answer is silently missing.
 */
FIXTURE_TEST(no_memory_drops_the_session)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    block_pool_clear(&fixture->server.sessions.buffers); /* so that it has to ask again */
    fail_alloc_arm(&fixture->alloc, 1);
    fixture->alloc.fail_from_then = true;
    session_fixture_respond_bytes(session, 60000);
    assert_int_equal(session->state, SESSION_CLOSED);
    fail_alloc_arm(&fixture->alloc, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* Whichever request for memory fails while a request is read: the session is dropped, and nothing
 * of the request happens; or it has them all, and is served. */
FIXTURE_TEST(no_memory_for_a_request)
{
    struct arena *arena = &fixture->server.sessions.decode_arena;
    size_t failed = 0;

    for (bool served = false; !served; failed++) {
        struct peer peer;
        server_fixture_greet(fixture, &peer);
        block_pool_clear(&fixture->server.sessions.buffers); /* so that it has to ask again */
        arena_deinit(arena);
        arena_init(arena, &fixture->alloc.alloc, 4 * LIMIT_FRAME_BYTES_MAX);
        session_fixture_put_deposits(&peer, 1);
        session_fixture_send_all(fixture, &peer);
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
    const struct hearsay_request *query = server_fixture_query(50, 1);
    struct hearsay_request request = {.id = query->id, .kind = HEARSAY_REQUEST_WATCH};

    request.watch.query = query->query;
    request.watch.query.k = 0;
    request.watch.after_seq = UINT64_MAX;
    handler_handle(fixture->server.service, &session->client, &request);
    assert_true(watch_is_watching(&session->client));
}

/* A push that drops its client: who pushes still has the client, its watches and its sender when
 * the call returns; the loop's next turn ends them. */
FIXTURE_TEST(a_push_that_drops_leaves_its_caller_valid)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    watch_all(fixture, session);
    const struct watcher *watcher = session->client.watcher;
    const struct watch_counts *counts = &fixture->server.service->watch->counts;
    while (session->state == SESSION_OPEN) {
        session_fixture_respond_bytes(session, 60000);
    }
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_ptr_equal(session->client.watcher, watcher);
    assert_true(watch_is_watching(&session->client)); /* reads the watcher's memory */
    assert_int_equal(counts->watches, 1);
    assert_false(session->client.events->has_room(&session->client));
    assert_false(session->client.events->queued(&session->client, 1));
    session->client.events->drop(&session->client, HEARSAY_CODE_INTERNAL, "once more");
    server_fixture_turn(fixture, NULL);
    assert_int_equal(counts->watches, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* The end of the last request of a session whose stream is closed: the session is still there when
 * the handler gets back to its caller. */
FIXTURE_TEST(the_last_work_does_not_free_its_session)
{
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
FIXTURE_TEST(a_write_that_fails_leaves_its_caller_valid)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    watch_all(fixture, session);
    peer_deinit(&peer);
    session_fixture_respond_bytes(session, 60000);
    assert_int_equal(session->state, SESSION_OPEN);
    session_flush(session);
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_true(watch_is_watching(&session->client));
    server_fixture_await_sessions(fixture, 0);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Who has sent its end still gets all answers, and then ours. */
FIXTURE_TEST(half_close_is_answered)
{
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    session_fixture_put_deposits(&peer, 20); /* more than are taken at a time */
    peer_put(&peer, server_fixture_query(3, 1));
    session_fixture_send_all(fixture, &peer);
    peer_shut_down(&peer);
    for (uint64_t id = 100; id < 120;) {
        const uint32_t taken = id < 116 ? 8 : 4;
        session_fixture_await_work(fixture, taken);
        while (fixture->server.service->working > 0) {
            fake_persist_commit(fixture->persist);
        }
        for (uint32_t i = 0; i < taken; i++) {
            if (id == 116 && i == 0) { /* overtakes those that wait for the store */
                session_fixture_expect(fixture, &peer, 3, HEARSAY_RESPONSE_RESULTS);
            }
            session_fixture_expect(fixture, &peer, id++, HEARSAY_RESPONSE_DEPOSITED);
        }
    }
    session_fixture_expect_end(fixture, &peer);
    server_fixture_await_sessions(fixture, 0); /* by itself: both have ended */
    peer_deinit(&peer);
}

/* An end in the midst of a frame is an end like any other. */
FIXTURE_TEST(half_close_within_a_frame)
{
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    peer_put_ping(&peer, 2);
    peer_put_bytes(&peer, "\0\0\0\7ab", 6);
    session_fixture_send_all(fixture, &peer);
    peer_shut_down(&peer);
    session_fixture_expect(fixture, &peer, 2, HEARSAY_RESPONSE_PONG);
    session_fixture_expect_end(fixture, &peer);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

/* A client that is gone while its requests are under way: they are done, and the session is freed
 * when the last one is over, not before. */
FIXTURE_TEST(client_gone_before_its_answers)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    session_fixture_put_deposits(&peer, 5);
    session_fixture_send_all(fixture, &peer);
    session_fixture_await_work(fixture, 5);
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
FIXTURE_TEST(work_ends_before_the_stream_is_closed)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    session_fixture_put_deposits(&peer, 5);
    session_fixture_send_all(fixture, &peer);
    session_fixture_await_work(fixture, 5);
    session_close(session);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->server.sessions.count, 1);
    assert_int_equal(session->client.work_count, 0);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

FIXTURE_TEST(answer_to_a_client_that_left)
{
    struct peer peer;

    server_fixture_greet(fixture, &peer);
    session_fixture_put_deposits(&peer, 3);
    session_fixture_send_all(fixture, &peer);
    session_fixture_await_work(fixture, 3);
    peer_deinit(&peer);
    server_fixture_turn(fixture, NULL);
    fake_persist_commit(fixture->persist);
    server_fixture_await_sessions(fixture, 0);
    assert_int_equal(fake_persist_count(fixture->persist), 3);
}

/* The server stops: what was received is answered, and then the stream ends. */
FIXTURE_TEST(stop_answers_what_was_received)
{
    struct peer busy;
    struct peer idle;

    server_fixture_connect(fixture, &idle);
    server_fixture_greet(fixture, &busy);
    session_fixture_put_deposits(&busy, 12); /* some are under way, some are buffered */
    session_fixture_send_all(fixture, &busy);
    session_fixture_await_work(fixture, 8);
    sessions_stop(&fixture->server.sessions);
    session_fixture_expect_end(fixture, &idle);
    fake_persist_commit(fixture->persist);
    session_fixture_await_work(fixture, 4);
    fake_persist_commit(fixture->persist);
    for (uint64_t id = 100; id < 112; id++) {
        session_fixture_expect(fixture, &busy, id, HEARSAY_RESPONSE_DEPOSITED);
    }
    session_fixture_expect_end(fixture, &busy);
    sessions_stop(&fixture->server.sessions); /* ending already: harmless */
    session_resume(fixture->server.sessions.first);
    session_fixture_leave(fixture, &busy);
    session_fixture_leave(fixture, &idle);
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
TEST(an_end_is_noticed_by_those_that_wait)
{
    ends_while_it_waits_for_its_turn(false);
    ends_while_it_waits_for_its_turn(true);
}

/* A peer that does not end after our end is not waited for longer than two seconds. */
FIXTURE_TEST(lingering_has_a_deadline)
{
    struct peer peer;
    struct session *session = server_fixture_greet(fixture, &peer);

    peer_put_bytes(&peer, "\0\0\0\0", 4);
    session_fixture_send_all(fixture, &peer);
    session_fixture_expect_error(fixture, &peer, 0, HEARSAY_CODE_MALFORMED, "length zero");
    session_fixture_expect_end(fixture, &peer);
    peer_put_ping(&peer, 3); /* thrown away */
    session_fixture_send_all(fixture, &peer);
    server_fixture_turn(fixture, NULL);
    session_tick(session, session->since_ms + LINGER_MS - 1);
    assert_int_equal(session->state, SESSION_ENDING);
    session_tick(session, session->since_ms + LINGER_MS);
    assert_int_equal(session->state, SESSION_CLOSED);
    server_fixture_await_sessions(fixture, 0);
    peer_deinit(&peer);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
