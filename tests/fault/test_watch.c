/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches while memory fails: a server in this process, over a store in memory, with a client that
 * watches and one that deposits. The n-th allocation of the server fails, for n = 1, 2, 3, ...,
 * once or from then on, while a watch begins and catches up, while deposits are pushed, and while
 * the watcher goes and comes again with its resume token; then all is well again. The watcher comes
 * again whenever it was dropped, after the last match that it saw: it is told of every message
 * once, in order, whatever failed, and nothing is left of it all. Only of one that was stored, but
 * not taken in, it need not be told when that is sent again; if it was there then, it was dropped,
 * with the reason.
 */
#include <poll.h>
#include <signal.h>

#include "daemon/watch/watch.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

enum {
    BEFORE = 6, /* messages that are there before anybody watches */
    LIVE = 5,   /* that come while it does */
    MISSED = 4, /* that come while it is away */
    MESSAGES = BEFORE + LIVE + MISSED,
    FRAME_IDS = 1000, /* of Watch, and of deposits from here on */
    ROUNDS_MAX = 60,  /* until all is well: one more is never needed */
    PLACES_MAX = 5000
};

struct client {
    struct peer peer;
    bool is_connected;
    bool is_greeted;
};

struct world {
    struct server_fixture *fixture;
    struct client watcher;
    struct client depositor;
    bool with_payload;
    bool asked; /* Watch was sent, and not answered yet */
    bool watching;
    uint64_t watch_id;
    uint64_t last_seq;
    uint8_t token[RESUME_TOKEN_BYTES];
    bool has_token;
    bool deposited[MESSAGES + 1]; /* acknowledged; by number, from 1 */
    bool pending[MESSAGES + 1];   /* sent, and not answered yet */
    bool seen[MESSAGES + 1];
    bool
        late[MESSAGES + 1]; /* refused, and yet stored: it was a duplicate when it was sent again */
    unsigned refusals[MESSAGES + 1]; /* of its deposit; and drops of the watcher by the last one */
    unsigned drops_before[MESSAGES + 1];
    bool was_watching[MESSAGES + 1]; /* at that moment */
    unsigned drops;                  /* of the watcher, by the server */
    unsigned told;                   /* reasons for them that Welcome gave */
};

/* --- clients ---------------------------------------------------------------------------------- */

static void put_hello(struct world *world, struct client *client)
{
    struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_HELLO};

    request.hello.versions[0] = 1;
    request.hello.version_count = 1;
    if (client == &world->watcher && world->has_token) {
        request.hello.resume_token = (struct hearsay_bytes){world->token, RESUME_TOKEN_BYTES};
    }
    peer_put(&client->peer, &request);
}

static void connect_client(struct world *world, struct client *client)
{
    peer_init(&client->peer, loop_connect_unix(world->fixture->path));
    assert_true(client->peer.fd >= 0);
    client->is_connected = true;
    client->is_greeted = false;
    put_hello(world, client);
}

/* A deposit failed, or its answer was lost. It may be stored, and yet not be there. */
static void note_refusal(struct world *world, uint8_t number)
{
    const struct hearsay_request *deposit = server_fixture_deposit(1, number);
    const struct host *host = service_host(world->fixture->server.service, NULL);

    world->pending[number] = false;
    if (host_find(host, deposit->deposit.id.data, NULL, NULL, NULL) != 0) {
        world->refusals[number]++;
        world->drops_before[number] = world->drops;
        world->was_watching[number] = world->watching;
    }
}

static void disconnect(struct world *world, struct client *client)
{
    if (!client->is_connected) {
        return;
    }
    peer_deinit(&client->peer);
    client->is_connected = false;
    if (client == &world->watcher) {
        world->watching = false;
        world->asked = false;
        return;
    }
    for (uint8_t number = 1; number <= MESSAGES; number++) {
        if (world->pending[number]) {
            note_refusal(world, number);
        }
    }
}

static void put_watch(struct world *world)
{
    struct hearsay_request request = *server_fixture_query(FRAME_IDS, 1);
    struct hearsay_query query = request.query;

    query.k = 0;
    query.with_payload = world->with_payload;
    request.kind = HEARSAY_REQUEST_WATCH;
    request.watch = (struct msg_watch){.query = query, .after_seq = world->last_seq};
    peer_put(&world->watcher.peer, &request);
    world->asked = true;
}

static void put_deposit(struct world *world, uint8_t number)
{
    peer_put(&world->depositor.peer, server_fixture_deposit(FRAME_IDS + number, number));
    world->pending[number] = true;
}

/* --- what comes ------------------------------------------------------------------------------- */

static void take_match(struct world *world, const struct hearsay_match *match)
{
    const uint8_t number = match->result.id.data[0];

    assert_true(world->watching);
    assert_int_equal(match->watch_id, world->watch_id);
    assert_true(match->seq > world->last_seq);
    assert_true(number >= 1 && number <= MESSAGES);
    assert_false(world->seen[number]);
    world->seen[number] = true;
    world->last_seq = match->seq;
    if (!world->with_payload) {
        assert_null(match->result.payload.data);
        return;
    }
    if (!match->result.payload_omitted) {
        assert_int_equal(match->result.payload.count,
                         server_fixture_deposit(1, number)->deposit.payload.count);
        assert_memory_equal(match->result.payload.data, "the second window", 17);
    }
}

static void take_welcome(struct world *world, struct client *client,
                         const struct hearsay_response *response)
{
    client->is_greeted = true;
    if (client != &world->watcher) {
        return;
    }
    assert_int_equal(response->welcome.resume_token.count, RESUME_TOKEN_BYTES);
    memcpy(world->token, response->welcome.resume_token.data, RESUME_TOKEN_BYTES);
    world->has_token = true;
    world->told += response->welcome.has_dropped;
}

static void take_deposited(struct world *world, uint8_t number, bool duplicate)
{
    world->pending[number] = false;
    world->deposited[number] = true;
    world->late[number] = duplicate && world->refusals[number] > 0;
}

static bool is_excused(const struct hearsay_response *response)
{
    return response->error.code == HEARSAY_CODE_INTERNAL ||
           response->error.code == HEARSAY_CODE_STORAGE;
}

static void take_response(struct world *world, struct client *client,
                          const struct hearsay_response *response)
{
    switch (response->kind) {
    case HEARSAY_RESPONSE_WELCOME:
        take_welcome(world, client, response);
        break;
    case HEARSAY_RESPONSE_WATCHING:
        assert_true(client == &world->watcher && world->asked);
        world->asked = false;
        world->watching = true;
        world->watch_id = response->watching.watch_id;
        break;
    case HEARSAY_RESPONSE_MATCH:
        assert_ptr_equal(client, &world->watcher);
        take_match(world, &response->match);
        break;
    case HEARSAY_RESPONSE_DEPOSITED:
        take_deposited(world, (uint8_t)(response->id - FRAME_IDS), response->deposited.duplicate);
        break;
    case HEARSAY_RESPONSE_ERROR:
        if (!is_excused(response)) {
            fail_msg("code %d: %s", (int)response->error.code, response->error.message);
        }
        if (response->id == FRAME_IDS) {
            world->asked = false;
        } else if (response->id > FRAME_IDS) {
            note_refusal(world, (uint8_t)(response->id - FRAME_IDS));
        }
        break;
    default:
        fail_msg("a response of kind %d", (int)response->kind);
    }
}

/* Whether anything came. */
static bool take_all(struct world *world, struct client *client)
{
    struct hearsay_response response;
    bool any = false;

    while (client->is_connected && peer_take(&client->peer, &response)) {
        take_response(world, client, &response);
        any = true;
    }
    if (client->is_connected && client->peer.ended) {
        world->drops += client == &world->watcher;
        disconnect(world, client);
        any = true;
    }
    return any;
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool is_quiet(uv_loop_t *loop)
{
    struct pollfd waited = {.fd = uv_backend_fd(loop), .events = POLLIN};

    return uv_backend_timeout(loop) != 0 && poll(&waited, 1, 0) == 0;
}

/* Until there is nothing more to do for anybody: all of it is in this process, so nothing has to be
 * waited for. */
static void settle(struct world *world)
{
    struct server_fixture *fixture = world->fixture;
    struct client *clients[] = {&world->watcher, &world->depositor};
    bool busy = true;

    while (busy) {
        for (unsigned i = 0; i < 2; i++) {
            if (clients[i]->is_connected && !clients[i]->peer.ended) {
                peer_send(&clients[i]->peer, &fixture->server.loop.uv);
            }
        }
        listener_retry(&fixture->server.listeners[0]);
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
        busy = fake_persist_commit(fixture->persist) > 0;
        busy = fake_persist_answer_reads(fixture->persist) > 0 || busy;
        watch_tick(fixture->server.service);
        busy = take_all(world, &world->watcher) || busy;
        busy = take_all(world, &world->depositor) || busy;
        busy = busy || fixture->server.loop.dirty != NULL || !is_quiet(&fixture->server.loop.uv);
    }
}

/* Does what is left to be done to have the first so many messages deposited, and watched for. */
static void strive(struct world *world, uint8_t messages, bool watches)
{
    if (!world->depositor.is_connected) {
        connect_client(world, &world->depositor);
    }
    for (uint8_t number = 1; number <= messages; number++) {
        if (!world->deposited[number] && !world->pending[number]) {
            put_deposit(world, number);
        }
    }
    if (watches && !world->watcher.is_connected) {
        connect_client(world, &world->watcher);
    }
    if (watches && !world->watching && !world->asked) {
        put_watch(world);
    }
    settle(world);
}

/* --- the story -------------------------------------------------------------------------------- */

static void begin(struct world *world, bool with_payload, bool has_cache)
{
    memset(world, 0, sizeof(*world));
    world->with_payload = with_payload;
    world->fixture = server_fixture_new();
    world->fixture->service_alloc = &world->fixture->alloc.alloc;
    if (!has_cache) {
        world->fixture->config.cache_bytes = 0;
    }
    server_fixture_start(world->fixture, true);
    strive(world, BEFORE, false);
    for (uint8_t number = 1; number <= BEFORE; number++) {
        assert_true(world->deposited[number]);
    }
}

static bool is_complete(const struct world *world)
{
    for (uint8_t number = 1; number <= MESSAGES; number++) {
        if (!world->deposited[number] || (!world->seen[number] && !world->late[number])) {
            return false;
        }
    }
    return world->watching;
}

/* Nobody who watched has missed anything without being told that something went wrong. */
static void check_told(const struct world *world)
{
    for (uint8_t number = 1; number <= MESSAGES; number++) {
        if (!world->seen[number] && world->was_watching[number]) {
            assert_true(world->drops > world->drops_before[number]);
        }
    }
}

/* What fails, fails in here. */
static void live(struct world *world)
{
    strive(world, BEFORE, true); /* catches up */
    strive(world, BEFORE + LIVE, true);
    disconnect(world, &world->watcher);
    strive(world, MESSAGES, false);
    strive(world, MESSAGES, true); /* resumes */
}

static void end(struct world *world)
{
    const struct hearsay_request unwatch = {
        .id = FRAME_IDS - 1,
        .kind = HEARSAY_REQUEST_UNWATCH,
        .unwatch = {.watch_id = world->watch_id},
    };
    struct hearsay_response response;

    peer_put(&world->watcher.peer, &unwatch);
    peer_send(&world->watcher.peer, &world->fixture->server.loop.uv);
    assert_true(peer_await(&world->watcher.peer, &world->fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_UNWATCHED);
    assert_int_equal(world->fixture->server.service->watch->filter_count, 0);
    disconnect(world, &world->watcher);
    disconnect(world, &world->depositor);
    server_fixture_free(world->fixture); /* nothing is left */
}

/* One round. Whether anything failed. */
static bool fail_at(size_t nth, bool from_then, bool with_payload, bool has_cache,
                    unsigned *out_drops, unsigned *out_told)
{
    struct world world;
    unsigned rounds = 0;

    begin(&world, with_payload, has_cache);
    world.fixture->alloc.fail_from_then = from_then;
    fail_alloc_arm(&world.fixture->alloc, nth);
    live(&world);
    const bool failed = world.fixture->alloc.requests >= nth;
    world.fixture->alloc.fail_from_then = false;
    fail_alloc_arm(&world.fixture->alloc, 0);
    for (; !is_complete(&world); rounds++) {
        if (rounds == ROUNDS_MAX) {
            fail_msg("place %zu: something is missing", nth);
        }
        strive(&world, MESSAGES, true);
    }
    assert_true(failed || rounds == 0);
    check_told(&world);
    *out_drops += world.drops;
    *out_told += world.told;
    end(&world);
    return failed;
}

static void sweep(bool from_then, bool with_payload, bool has_cache)
{
    unsigned drops = 0;
    unsigned told = 0;
    size_t nth = 1;

    while (fail_at(nth, from_then, with_payload, has_cache, &drops, &told)) {
        nth++;
        assert_true(nth < PLACES_MAX);
    }
    assert_true(nth > 50);
    assert_true(drops > 0); /* some of it ends a session */
    assert_true(told > 0);
    print_message("%zu places, the watcher was dropped %u times, and told why %u times\n", nth - 1,
                  drops, told);
}

TEST(test_once)
{
    sweep(false, false, true);
}

TEST(test_from_then_on)
{
    sweep(true, false, true);
}

TEST(test_payloads_from_the_cache)
{
    sweep(false, true, true);
}

TEST(test_payloads_from_the_store)
{
    sweep(false, true, false);
}

TEST(test_payloads_from_the_store_from_then_on)
{
    sweep(true, true, false);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as in main.c */
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
