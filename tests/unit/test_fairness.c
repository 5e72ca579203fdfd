/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that want much beside one that wants little, by a clock that moves with every look at
 * it: what counts is how long the modest one waits.
 */
#include "daemon/system/list.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

enum {
    GREEDY = 8,
    REQUESTS = 3000,    /* that each greedy one has sent before anything is answered */
    LOOK_NS = 2 * 1000, /* what a look at the clock takes: one a request */
    ARRIVAL_NS = 200 * 1000,
    /* A slice of one as its bytes come, the shares of those that wait and of the greedy ones, and
     * looks at the clock of all of them. */
    WAIT_NS = (100 + 200 + 100 + 100) * 1000
};

static uint64_t now_ns;
static uint64_t look_ns = LOOK_NS;
static const struct server *slow_server; /* which takes ARRIVAL_NS for each connection */
static uint64_t arrived;

static uint64_t read_ns(void *context)
{
    (void)context;
    now_ns += look_ns;
    if (slow_server != NULL) {
        now_ns += (slow_server->sessions.total - arrived) * ARRIVAL_NS;
        arrived = slow_server->sessions.total;
    }
    return now_ns;
}

static void ask_much(struct server_fixture *fixture, struct peer *greedy)
{
    for (uint64_t id = 2; id < 2 + REQUESTS; id++) {
        peer_put_ping(greedy, id);
    }
    /* Nobody is served meanwhile: it is in the socket's buffer, or waits to be sent. */
    const ssize_t sent = send(greedy->fd, greedy->output.data, greedy->output.count, MSG_NOSIGNAL);
    assert_true(sent > 0);
    bytes_consume(&greedy->output, (size_t)sent);
    (void)fixture;
}

/* Fake time from a ping to its answer. */
static uint64_t ping(struct server_fixture *fixture, struct peer *modest, uint64_t id)
{
    struct hearsay_response response;

    peer_put_ping(modest, id);
    peer_send(modest, &fixture->server.loop.uv);
    const uint64_t began_ns = now_ns;
    assert_true(peer_await(modest, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    return now_ns - began_ns;
}

static bool any_waits(const struct server_fixture *fixture)
{
    return fixture->server.loop.busy != NULL || fixture->server.loop.ready != NULL;
}

TEST(test_modest_sessions_do_not_wait_for_greedy_ones)
{
    static struct peer greedy[GREEDY];
    struct server_fixture *fixture = server_fixture_new();
    struct peer modest;
    uint64_t longest_ns = 0;
    uint64_t id = 2;

    server_fixture_start(fixture, true);
    for (int i = 0; i < GREEDY; i++) {
        (void)server_fixture_greet(fixture, &greedy[i]);
    }
    (void)server_fixture_greet(fixture, &modest);
    fixture->server.service->read_ns = read_ns;
    for (int i = 0; i < GREEDY; i++) {
        ask_much(fixture, &greedy[i]);
    }
    do { /* from the first one, when nobody knows yet who is greedy */
        const uint64_t took_ns = ping(fixture, &modest, id++);
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    } while (any_waits(fixture));
    assert_true(id > 20); /* there was something to wait for, for long */
    assert_true(longest_ns <= WAIT_NS);

    for (int i = 0; i < GREEDY; i++) {
        peer_deinit(&greedy[i]);
    }
    peer_deinit(&modest);
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

/* All that was asked is answered, in spite of it. */
TEST(test_greedy_sessions_get_all_their_answers)
{
    struct server_fixture *fixture = server_fixture_new();
    struct hearsay_response response;
    struct peer peer;

    server_fixture_start(fixture, true);
    const struct session *session = server_fixture_greet(fixture, &peer);
    fixture->server.service->read_ns = read_ns;
    ask_much(fixture, &peer);
    for (uint64_t id = 2; id < 2 + REQUESTS; id++) {
        if (peer.output.count > 0) {
            peer_send(&peer, &fixture->server.loop.uv);
        }
        assert_true(peer_await(&peer, &fixture->server.loop.uv, &response));
        assert_int_equal(response.id, id);
    }
    assert_true(session->spent.spent_ns > SESSION_SLICE_NS);

    /* After a while of little it is as any other. */
    now_ns += UINT64_C(1000) * 1000 * 1000;
    (void)ping(fixture, &peer, 2 + REQUESTS);
    assert_true(session->spent.spent_ns < SESSION_SLICE_NS);
    peer_deinit(&peer);
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

/* Whose other connections want much waits with these, even if it asks for little; others do not. */
TEST(test_connections_of_a_sender_share_its_time)
{
    struct server_fixture *fixture = server_fixture_new();
    struct hearsay_response response;
    struct peer greedy;
    struct peer sibling;

    server_fixture_start(fixture, true);
    fixture->server.listeners[0].config.limited = true;
    struct session *first = server_fixture_greet(fixture, &greedy);
    const struct session *second = server_fixture_greet(fixture, &sibling);
    assert_non_null(first->client.sender);
    assert_ptr_equal(first->client.sender, second->client.sender);
    fixture->server.service->read_ns = read_ns;
    ask_much(fixture, &greedy);
    while (!(first->entry.is_ready && first->entry.is_busy)) {
        server_fixture_turn(fixture, NULL);
    }
    peer_put_ping(&sibling, 2);
    peer_send(&sibling, &fixture->server.loop.uv);
    server_fixture_turn(fixture, NULL);
    assert_true(second->entry.is_ready && second->entry.is_busy);
    assert_true(peer_await(&sibling, &fixture->server.loop.uv, &response)); /* its turn comes */
    peer_deinit(&greedy);
    peer_deinit(&sibling);
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

static size_t held_bytes(const struct server_fixture *fixture)
{
    const struct session *session;
    size_t held = 0;

    DL_FOREACH (fixture->server.sessions.first, session) {
        held += session->transport.input.capacity;
    }
    return held;
}

/* What is read and not yet looked at is little, however many wait, and for how many turns. */
TEST(test_those_that_wait_hold_little)
{
    enum { MANY = 60, READ = 64 * 1024, LATER = 4 * 1024, MORE = 10 };
    static struct peer peers[MANY];
    static const struct session *sessions[MANY];
    struct server_fixture *fixture = server_fixture_new();
    struct hearsay_response response;
    int more = 0;

    server_fixture_start(fixture, true);
    for (int i = 0; i < MANY; i++) {
        sessions[i] = server_fixture_greet(fixture, &peers[i]);
    }
    fixture->server.service->read_ns = read_ns;
    look_ns = 150 * 1000; /* a request takes longer than there is time for */
    for (int i = 0; i < MANY; i++) {
        peer_put_ping(&peers[i], 2);
        peer_send(&peers[i], &fixture->server.loop.uv);
    }
    server_fixture_turn(fixture, NULL);
    assert_true(any_waits(fixture));
    assert_true(held_bytes(fixture) <= 2 * READ + MANY * LATER);
    for (int i = 0; i < MANY && more < MORE; i++) {
        if (sessions[i]->entry.is_ready && sessions[i]->transport.reading) { /* and it sends on */
            for (uint64_t id = 3; peers[i].output.count < READ; id++) {
                peer_put_ping(&peers[i], id);
            }
            peer_send(&peers[i], &fixture->server.loop.uv);
            server_fixture_turn(fixture, NULL);
            more++;
        }
    }
    assert_int_equal(more, MORE);
    assert_true(held_bytes(fixture) <= 4 * READ + MANY * LATER);
    look_ns = 0;
    for (int i = 0; i < MANY; i++) {
        assert_true(peer_await(&peers[i], &fixture->server.loop.uv, &response));
        peer_deinit(&peers[i]);
    }
    look_ns = LOOK_NS;
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

/* Many that come at once are taken a few a turn, so that those who are here go on; all are taken.
 */
TEST(test_connections_come_in_a_few_a_turn)
{
    enum { MANY = 30, A_TURN = 5 }; /* one more may come while the turn begins */
    static struct peer peers[MANY];
    struct server_fixture *fixture = server_fixture_new();

    server_fixture_start(fixture, true);
    for (int i = 0; i < MANY; i++) {
        peer_init(&peers[i], loop_connect_unix(fixture->path));
        assert_true(peers[i].fd >= 0);
    }
    size_t before = 0;
    while (fixture->server.sessions.count < MANY) {
        server_fixture_turn(fixture, NULL);
        assert_true(fixture->server.sessions.count <= before + A_TURN);
        before = fixture->server.sessions.count;
    }
    for (int i = 0; i < MANY; i++) {
        peer_deinit(&peers[i]);
    }
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

/*
 * Connections that take long get a quarter of the time, but for the first few; all are taken in the
 * end, and who is here is served meanwhile.
 */
TEST(test_connections_get_a_part_of_the_time)
{
    enum { MANY = 100, AT_ONCE = 4, SHARE = 4 };
    static struct peer peers[MANY];
    struct server_fixture *fixture = server_fixture_new();
    const struct server *server = &fixture->server;
    uint64_t longest_ns = 0;
    struct peer modest;
    uint64_t id = 2;

    server_fixture_start(fixture, true);
    (void)server_fixture_greet(fixture, &modest);
    for (int i = 0; i < MANY; i++) {
        peer_init(&peers[i], loop_connect_unix(fixture->path));
        assert_true(peers[i].fd >= 0);
    }
    fixture->server.service->read_ns = read_ns;
    slow_server = server;
    arrived = server->sessions.total;
    const uint64_t began_ns = now_ns;
    while (server->sessions.count < MANY + 1) {
        const uint64_t took_ns = ping(fixture, &modest, id++);
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    slow_server = NULL;
    assert_true(now_ns - began_ns >= (uint64_t)(MANY - AT_ONCE) * ARRIVAL_NS * SHARE);
    assert_true(longest_ns <= WAIT_NS + (uint64_t)AT_ONCE * ARRIVAL_NS);
    for (int i = 0; i < MANY; i++) {
        peer_deinit(&peers[i]);
    }
    peer_deinit(&modest);
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}

/* Turns until nothing moves the session any more but a tick. How often it was refused meanwhile. */
static size_t take_refusals(struct server_fixture *fixture, struct peer *peer, size_t *out_served)
{
    struct hearsay_response response;
    size_t refused = 0;

    for (int still = 0; still < 3; still++) { /* a turn reads, one acts, and one sends */
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
        while (peer_take(peer, &response)) {
            const bool is_refusal = response.kind == HEARSAY_RESPONSE_ERROR &&
                                    response.error.code == HEARSAY_CODE_RATE_LIMITED;
            refused += is_refusal ? 1 : 0;
            *out_served += is_refusal ? 0 : 1;
            still = 0;
        }
        still = any_waits(fixture) ? 0 : still;
    }
    return refused;
}

/* Who goes on asking although it is refused is read no further until the next second, over however
 * many connections; and the sooner the more it sends. */
TEST(test_who_is_over_its_rate_is_left_waiting)
{
    enum { SERVED = 5, ASKED = 500, A_SECOND = 128 + 1 }; /* the last one is one too many */
    struct server_fixture *fixture = server_fixture_new();
    struct peer peer;
    size_t served = 0;
    size_t refused = 0;
    int seconds = 0;

    fixture->config.limits.queries_per_minute = 1;
    fixture->config.limits.query_burst = SERVED + 1; /* the connection costs one */
    server_fixture_start(fixture, true);
    fixture->server.listeners[0].config.limited = true;
    struct session *session = server_fixture_greet(fixture, &peer);
    for (uint64_t id = 2; id < 2 + ASKED; id++) {
        struct hearsay_request request = {.id = id, .kind = HEARSAY_REQUEST_SUMMARY};
        peer_put(&peer, &request);
    }
    peer_send(&peer, &fixture->server.loop.uv);
    while (served + refused < ASKED) {
        const size_t now = take_refusals(fixture, &peer, &served);
        assert_true(now <= A_SECOND);
        refused += now;
        fixture->clock.wall_ms += 1000;
        session_tick(session, loop_now_ms(&fixture->server.loop));
        assert_true(++seconds < 100);
    }
    assert_int_equal(served, SERVED);
    assert_true(seconds >= ASKED / A_SECOND);
    peer_put_ping(&peer, 1000); /* which costs nothing */
    peer_send(&peer, &fixture->server.loop.uv);
    struct hearsay_response response;
    assert_true(peer_await(&peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_PONG);
    peer_deinit(&peer);
    server_fixture_await_sessions(fixture, 0);
    server_fixture_free(fixture);
}
