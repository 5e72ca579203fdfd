/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches over a service with a store in memory, a clock that the test sets, and no loop: what is
 * queued and pushed when, what is caught up, and in what order.
 */
#include "daemon/watch/watch.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/handler/handler.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_persist.h"

enum {
    FILTER_BYTES = 64,
    CLIENTS = 4,
    PUSHES_MAX = 8192,
    PAGE = 64,           /* messages read at a time for one watch: watch_parts.h */
    READS = 4,           /* pages under way: the same */
    TURN_DEPOSITS = 2048 /* matched in one turn: watch.c */
};

struct test_client {
    struct requester client; /* first */
    struct fixture *fixture;
    uint32_t room; /* pushes that it takes before it has no more */
    size_t queued; /* bytes, as it was told last */
    size_t queued_max;
    enum msg_error_code dropped;   /* 0: it was not */
    enum msg_response_kind answer; /* the last one */
    enum msg_error_code refusal;
    uint64_t watch_id;
    uint64_t watching_seq;
    size_t count; /* pushes */
    uint64_t seqs[PUSHES_MAX];
    uint64_t watches[PUSHES_MAX];
    uint8_t numbers[PUSHES_MAX]; /* first bytes of ids */
    bool has_payload[PUSHES_MAX];
};

struct fixture {
    struct fail_alloc alloc;
    struct config config;
    struct persist *persist;
    struct service *service;
    struct test_client clients[CLIENTS]; /* the last one deposits */
    int64_t wall_ms;
    uint32_t deposits;
};

/* --- fixture ---------------------------------------------------------------------------------- */

static void note_push(struct test_client *client, const struct msg_match *match)
{
    assert_true(client->count < PUSHES_MAX);
    assert_true(client->room > 0);
    client->room--;
    client->seqs[client->count] = match->seq;
    client->watches[client->count] = match->watch_id;
    client->numbers[client->count] = match->result.id.data[0];
    client->has_payload[client->count] = match->result.payload.data != NULL;
    if (client->has_payload[client->count]) { /* each message's payload is its id's first byte */
        assert_int_equal(match->result.payload.count, 1);
        assert_int_equal(match->result.payload.data[0], match->result.id.data[0]);
    }
    client->count++;
}

static void on_respond(struct requester *handler, const struct msg_response *response)
{
    struct test_client *client = (struct test_client *)(void *)handler;

    if (handler->is_gone) {
        return;
    }
    if (response->kind == MSG_RESPONSE_MATCH) {
        note_push(client, &response->match);
        return;
    }
    client->answer = response->kind;
    if (response->kind == MSG_RESPONSE_WATCHING) {
        client->watch_id = response->watching.watch_id;
        client->watching_seq = response->watching.seq;
    } else if (response->kind == MSG_RESPONSE_ERROR) {
        client->refusal = response->error.code;
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client; /* it is the fixture's, and stays */
}

static unsigned room_asked; /* how often a client was asked for room */

static bool on_has_room(const struct requester *client)
{
    room_asked++;
    return ((const struct test_client *)(const void *)client)->room > 0;
}

/* As a session does: its watches go at once. */
static void leave(struct test_client *client)
{
    client->client.is_gone = true;
    watch_client_gone(client->fixture->service, &client->client);
}

static bool on_queued(struct requester *handler, size_t bytes)
{
    struct test_client *client = (struct test_client *)(void *)handler;

    client->queued = bytes;
    if (bytes > client->queued_max) {
        client->dropped = MSG_QUOTA;
        leave(client);
    }
    return !handler->is_gone;
}

static void on_drop(struct requester *handler, enum msg_error_code code, const char *sentence)
{
    struct test_client *client = (struct test_client *)(void *)handler;

    assert_true(strlen(sentence) > 10);
    client->dropped = code;
    leave(client);
}

static const struct requester_events events = {
    .respond = on_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
};

static void read_clocks(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    const struct fixture *fixture = context;

    *out_wall_ms = fixture->wall_ms;
    *out_monotonic_ms = fixture->wall_ms;
}

static void client_init(struct fixture *fixture, struct test_client *client)
{
    memset(client, 0, sizeof(*client));
    client->client.events = &events;
    client->fixture = fixture;
    client->room = PUSHES_MAX;
    client->queued_max = SIZE_MAX;
}

static int setup_with(void **state, const char *cache)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char reason[CONFIG_REASON_BYTES];

    assert_non_null(fixture);
    fixture->wall_ms = INT64_C(1800000000000);
    config_defaults(&fixture->config);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    assert_int_equal(config_set(&fixture->config, "test", "limits", "cache", cache, reason), 0);
    assert_int_equal(
        config_set(&fixture->config, "test", "limits", "watches_per_session", "8", reason), 0);
    assert_int_equal(config_set(&fixture->config, "test", "limits", "watches", "10", reason), 0);
    assert_int_equal(config_finish(&fixture->config, reason), 0);
    fail_alloc_init(&fixture->alloc);
    fixture->persist = fake_persist_new();
    const struct service_options options = {
        .alloc = &fixture->alloc.alloc,
        .config = &fixture->config,
        .persist = fixture->persist,
        .hash_seed = 7,
        .read_clocks = read_clocks,
        .clock_context = fixture,
    };
    assert_int_equal(handler_open(&options, &fixture->service, reason), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        client_init(fixture, &fixture->clients[i]);
    }
    *state = fixture;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, "1M");
}

static int setup_uncached(void **state)
{
    return setup_with(state, "0");
}

/* Nothing may be left of watches whose clients have gone, also while reads were under way. */
static int teardown(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < CLIENTS; i++) {
        if (!fixture->clients[i].client.is_gone) {
            leave(&fixture->clients[i]);
        }
    }
    while (fake_persist_commit(fixture->persist) + fake_persist_answer_reads(fixture->persist) >
           0) {
    }
    assert_int_equal(fixture->service->working, 0);
    assert_int_equal(fixture->service->watch->counts.watches, 0);
    assert_int_equal(fixture->service->watch->counts.matches, 0);
    assert_int_equal(fixture->service->watch->counts.bytes, 0);
    assert_null(fixture->service->watch->watchers);
    assert_null(fixture->service->watch->ready);
    assert_null(fixture->service->watch->catching);
    handler_close(fixture->service);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

/* --- what the tests do ------------------------------------------------------------------------ */

/* Contexts of different places have nothing in common. */
static const uint8_t *filter_of(unsigned place)
{
    static uint8_t filter[FILTER_BYTES];

    memset(filter, 0, sizeof(filter));
    filter[place] = 0xff;
    filter[place + 1] = 0x03;
    return filter;
}

/* Deposits in a place; each with another id, whose first byte is the payload, too. */
static void deposit_for(struct fixture *fixture, unsigned place, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES] = {0};
    const uint32_t number = ++fixture->deposits;
    struct msg_request request = {.id = 9, .name = "deposit", .kind = MSG_REQUEST_DEPOSIT};

    id[0] = (uint8_t)number;
    memcpy(id + 1, &number, sizeof(number));
    request.deposit = (struct msg_deposit){
        .id = {id, sizeof(id)},
        .filter = {filter_of(place), FILTER_BYTES},
        .media_type = {"text/plain", 10},
        .payload = {id, 1},
        .has_ttl = true,
        .ttl_s = ttl_s,
        .reach_ppm = LIMIT_DISTANCE_PPM,
    };
    handler_handle(fixture->service, &fixture->clients[CLIENTS - 1].client, &request);
}

static void deposit(struct fixture *fixture, unsigned place, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        deposit_for(fixture, place, 3600);
    }
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->clients[CLIENTS - 1].answer,
                     count > 0 ? (int)MSG_RESPONSE_DEPOSITED : 0);
}

enum { NOW = -1 }; /* only what comes from now on */

static void watch_place(struct fixture *fixture, struct test_client *client, unsigned place,
                        int64_t after_seq, bool with_payload)
{
    const struct msg_query_part part = {.filter = {filter_of(place), FILTER_BYTES}};
    struct msg_request request = {.id = 5, .name = "watch", .kind = MSG_REQUEST_WATCH};

    request.watch.query = (struct msg_query){
        .parts = &part,
        .part_count = 1,
        .max_distance_ppm = 500000,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .metric = MSG_METRIC_BITS,
        .order = MSG_ORDER_SIMILARITY,
        .with_payload = with_payload,
    };
    request.watch.after_seq = after_seq == NOW ? UINT64_MAX : (uint64_t)after_seq;
    client->answer = MSG_RESPONSE_PONG;
    handler_handle(fixture->service, &client->client, &request);
}

static void watch(struct fixture *fixture, struct test_client *client, int64_t after_seq)
{
    watch_place(fixture, client, 1, after_seq, false);
    assert_int_equal(client->answer, MSG_RESPONSE_WATCHING);
}

/* Turns, and reads answered, until there is nothing more to do. */
static void settle(struct fixture *fixture)
{
    watch_tick(fixture->service);
    do {
        watch_turn(fixture->service);
    } while (fake_persist_answer_reads(fixture->persist) > 0 || watch_is_due(fixture->service));
}

/* Pushes are those of messages `first` .. in order, each once. */
static void expect(const struct test_client *client, uint64_t first, size_t count)
{
    assert_int_equal(client->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(client->seqs[i], first + i);
        assert_int_equal(client->numbers[i], (uint8_t)(first + i));
    }
}

/* --- pushes ----------------------------------------------------------------------------------- */

/* More than one batch: all in order, once; what fits nobody is pushed to nobody. */
static void test_in_order_once(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch(fixture, client, NOW);
    deposit(fixture, 1, 150);
    deposit(fixture, 30, 20);
    assert_int_equal(client->count, 0); /* not before its turn */
    assert_true(watch_is_due(fixture->service));
    assert_true(watch_waiting_bytes(fixture->service) > 170 * FILTER_BYTES);
    watch_turn(fixture->service);
    expect(client, 1, 150);
    assert_false(watch_is_due(fixture->service));
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    watch_turn(fixture->service);
    assert_int_equal(client->count, 150);
    assert_int_equal(fixture->service->watch->counts.pushed, 150);
}

/* What comes while nobody watches is not kept to be matched. */
static void test_nobody_watches(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, 10);
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    watch(fixture, client, NOW);
    deposit(fixture, 1, 10);
    leave(client);
    assert_true(watch_waiting_bytes(fixture->service) > 0);
    watch_turn(fixture->service); /* nobody is there any more */
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    assert_int_equal(client->count, 0);
}

/* A message that came before a watch, in the same turn, is not pushed to it: live_after. */
static void test_not_what_came_before(void **state)
{
    struct fixture *fixture = *state;

    watch(fixture, &fixture->clients[0], NOW);
    deposit(fixture, 1, 3);
    watch(fixture, &fixture->clients[1], NOW);
    assert_int_equal(fixture->clients[1].watching_seq, 3);
    deposit(fixture, 1, 2);
    watch_turn(fixture->service);
    expect(&fixture->clients[0], 1, 5);
    expect(&fixture->clients[1], 4, 2);
}

/* One turn matches a bounded number, and each client has its share of what is sent. */
static void test_bounded_turns(void **state)
{
    struct fixture *fixture = *state;

    watch(fixture, &fixture->clients[0], NOW);
    watch(fixture, &fixture->clients[1], NOW);
    for (unsigned i = 0; i < 30; i++) {
        deposit(fixture, 1, 100);
    }
    watch_turn(fixture->service);
    assert_int_equal(fixture->clients[0].count, TURN_DEPOSITS);
    assert_int_equal(fixture->clients[1].count, TURN_DEPOSITS);
    assert_int_equal(fixture->service->watch->counts.pending, 3000 - TURN_DEPOSITS);
    assert_true(watch_is_due(fixture->service));
    settle(fixture);
    expect(&fixture->clients[0], 1, 3000);
    expect(&fixture->clients[1], 1, 3000);
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Without room a match waits, counted as what it will be; with some, so many are pushed. */
static void test_room(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch(fixture, client, NOW);
    client->room = 0;
    deposit(fixture, 1, 25);
    settle(fixture);
    assert_int_equal(client->count, 0);
    assert_int_equal(fixture->service->watch->counts.matches, 25);
    assert_true(client->queued > 25 * 50);
    assert_int_equal(fixture->service->watch->counts.bytes, client->queued);
    client->room = 10;
    assert_true(watch_client_has_room(fixture->service, &client->client));
    settle(fixture);
    expect(client, 1, 10);
    assert_int_equal(fixture->service->watch->counts.matches, 15);
    deposit(fixture, 1, 1); /* behind the others */
    client->room = 100;
    assert_true(watch_client_has_room(fixture->service, &client->client));
    settle(fixture);
    expect(client, 1, 26);
    assert_int_equal(client->queued, 0);
}

/* What expires while it waits is left out, and counted. */
static void test_gone_while_waiting(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch(fixture, client, NOW);
    client->room = 0;
    deposit_for(fixture, 1, 3600);
    deposit_for(fixture, 1, 5);
    deposit_for(fixture, 1, 3600);
    (void)fake_persist_commit(fixture->persist);
    settle(fixture);
    fixture->wall_ms += 6000;
    client->room = 10;
    (void)watch_client_has_room(fixture->service, &client->client);
    settle(fixture);
    assert_int_equal(client->count, 2);
    assert_int_equal(client->seqs[0], 1);
    assert_int_equal(client->seqs[1], 3);
    assert_int_equal(fixture->service->watch->counts.left_out, 1);
}

/* Who lets too much gather is dropped, once; the other one misses nothing. */
static void test_too_much(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *slow = &fixture->clients[0];

    watch(fixture, slow, NOW);
    watch_place(fixture, slow, 30, NOW, false);
    watch(fixture, &fixture->clients[1], NOW);
    slow->room = 0;
    slow->queued_max = 2000;
    deposit(fixture, 1, 5);
    settle(fixture);
    assert_int_equal(slow->dropped, 0);
    deposit(fixture, 1, 40);
    settle(fixture);
    assert_int_equal(slow->dropped, MSG_QUOTA);
    assert_int_equal(slow->count, 0);
    expect(&fixture->clients[1], 1, 45);
    assert_int_equal(fixture->service->watch->counts.watches, 1);
    assert_int_equal(fixture->service->watch->counts.matches, 0);
}

/* Without memory for a match its client is dropped: nothing may be missing. */
static void test_no_memory_for_a_match(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch(fixture, client, NOW);
    deposit(fixture, 1, 3);
    fail_alloc_arm(&fixture->alloc, 2); /* the second match */
    watch_turn(fixture->service);
    fail_alloc_arm(&fixture->alloc, 0);
    assert_int_equal(client->dropped, MSG_INTERNAL);
    assert_int_equal(fixture->service->watch->counts.failed, 1);
    assert_int_equal(client->count, 0);
}

/* After Unwatch nothing of it is pushed, and the client's other watch goes on. */
static void test_unwatch(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch(fixture, client, NOW);
    const uint64_t first = client->watch_id;
    watch(fixture, client, NOW);
    const uint64_t second = client->watch_id;
    assert_true(first != second);
    client->room = 0;
    deposit(fixture, 1, 4);
    settle(fixture);
    assert_int_equal(fixture->service->watch->counts.matches, 8);
    assert_false(watch_end(fixture->service, &fixture->clients[1].client, first));
    assert_true(watch_end(fixture->service, &client->client, first));
    assert_false(watch_end(fixture->service, &client->client, first));
    client->room = 100;
    (void)watch_client_has_room(fixture->service, &client->client);
    settle(fixture);
    expect(client, 1, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(client->watches[i], second);
    }
}

/* Limits count filters, of a session and of all. */
static void test_limits(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 8; i++) {
        watch(fixture, &fixture->clients[0], NOW);
    }
    watch_place(fixture, &fixture->clients[0], 1, NOW, false);
    assert_int_equal(fixture->clients[0].answer, MSG_RESPONSE_ERROR);
    assert_int_equal(fixture->clients[0].refusal, MSG_QUOTA);
    watch(fixture, &fixture->clients[1], NOW);
    watch(fixture, &fixture->clients[1], NOW);
    watch_place(fixture, &fixture->clients[1], 1, NOW, false);
    assert_int_equal(fixture->clients[1].refusal, MSG_QUOTA);
    leave(&fixture->clients[0]);
    watch(fixture, &fixture->clients[1], NOW);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* From the cache, or read some at a time: the right ones, in order. */
static void test_payloads(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch_place(fixture, client, 1, NOW, true);
    deposit(fixture, 1, 40);
    settle(fixture);
    expect(client, 1, 40);
    for (size_t i = 0; i < 40; i++) {
        assert_true(client->has_payload[i]);
    }
}

/* The client goes while payloads are read: nothing comes back to it. */
static void test_gone_while_payloads_are_read(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch_place(fixture, client, 1, NOW, true);
    deposit(fixture, 1, 5);
    watch_turn(fixture->service);
    assert_int_equal(client->client.work_count, 1); /* a read is under way */
    leave(client);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(client->count, 0);
    assert_int_equal(client->client.work_count, 0);
}

/* Reading fails: they are pushed without, as Get may have more luck. */
static void test_payloads_that_cannot_be_read(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    watch_place(fixture, client, 1, NOW, true);
    deposit(fixture, 1, 5);
    watch_turn(fixture->service);
    fake_persist_fail_reads(fixture->persist);
    settle(fixture);
    expect(client, 1, 5);
    assert_false(client->has_payload[0]);
    assert_int_equal(client->dropped, 0);
}

/* --- catching up ------------------------------------------------------------------------------ */

/* Pages of what came before, then what came meanwhile, in order, each once. */
static void test_catch_up(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, 2 * PAGE + 10);
    watch(fixture, client, 3);
    assert_int_equal(client->watching_seq, 2 * PAGE + 10);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 1);
    deposit(fixture, 1, 5); /* newer than the watch: they come when the rest has been read */
    watch_turn(fixture->service);
    assert_int_equal(client->count, 0);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    watch_turn(fixture->service);
    expect(client, 4, PAGE);
    deposit(fixture, 1, 5);
    settle(fixture);
    expect(client, 4, 2 * PAGE + 10 + 10 - 3);
    assert_null(fixture->service->watch->catching);
    deposit(fixture, 1, 1);
    settle(fixture);
    expect(client, 4, 2 * PAGE + 10 + 11 - 3);
}

/* A position that is the newest, or of a store that was set back since: there is nothing to read.
 */
static void test_nothing_to_catch_up(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, 3);
    watch(fixture, &fixture->clients[0], 3);
    watch(fixture, &fixture->clients[1], 1000);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 0);
    deposit(fixture, 1, 2);
    settle(fixture);
    expect(&fixture->clients[0], 4, 2);
    expect(&fixture->clients[1], 4, 2);
}

/* A page is read only when there is room for it: the client's queue is empty. */
static void test_catch_up_waits_for_room(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, 2 * PAGE);
    client->room = 0;
    watch(fixture, client, 0);
    settle(fixture);
    assert_int_equal(fixture->service->watch->reads, 0);
    client->room = 5;
    (void)watch_client_has_room(fixture->service, &client->client);
    settle(fixture);
    expect(client, 1, 5);
    assert_int_equal(fixture->service->watch->counts.matches, PAGE - 5); /* one page, no more */
    client->room = PUSHES_MAX;
    (void)watch_client_has_room(fixture->service, &client->client);
    settle(fixture);
    expect(client, 1, 2 * PAGE);
}

/* Lets limits hold for a client: one token a second, `burst` at most. */
static void limit(struct fixture *fixture, struct test_client *client, uint32_t burst)
{
    const struct sender_address address = {.kind = SENDER_IPV6_ON_LINK, .bytes = {0xfd}};
    struct sender_limits *limits = &fixture->service->sender_limits;

    limits->rates[SENDER_QUERY] = (struct bucket_rate){.per_minute = 60, .burst = burst};
    assert_int_equal(senders_enter(fixture->service->senders, &address, limits, fixture->wall_ms,
                                   &client->client.sender),
                     0);
}

/* The client's end gives its sender back. */
static void leave_limited(struct test_client *client)
{
    struct sender *sender = client->client.sender;

    leave(client);
    client->client.sender = NULL;
    senders_leave(sender);
}

/*
 * Each page costs a token, so that reading all of a store by a watch takes no fewer than asking for
 * it would. Without tokens catching up pauses, and goes on when there are some; a quarter of the
 * burst is left to what the client asks meanwhile.
 */
static void test_pages_cost_tokens(void **state)
{
    enum { BURST = 12, FIRST = BURST - 1 - BURST / 4, PAGES = FIRST + 4 };
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];
    const struct msg_request get = {.id = 6, .name = "summary", .kind = MSG_REQUEST_SUMMARY};

    deposit(fixture, 1, PAGES * PAGE);
    limit(fixture, client, BURST);
    watch(fixture, client, 0); /* costs one */
    settle(fixture);
    expect(client, 1, FIRST * PAGE);
    assert_false(watch_is_due(fixture->service)); /* nothing turns until a token is there */
    for (int i = 0; i < BURST / 4; i++) {
        handler_handle(fixture->service, &client->client, &get);
        assert_int_equal(client->answer, MSG_RESPONSE_SUMMARIZED);
    }
    handler_handle(fixture->service, &client->client, &get);
    assert_int_equal(client->answer, MSG_RESPONSE_ERROR);
    assert_int_equal(client->refusal, MSG_RATE_LIMITED);
    settle(fixture);
    expect(client, 1, FIRST * PAGE);

    fixture->wall_ms += (BURST / 4) * 1000; /* these are left again */
    settle(fixture);
    expect(client, 1, FIRST * PAGE);
    for (size_t page = FIRST + 1; page <= PAGES; page++) {
        fixture->wall_ms += 1000;
        settle(fixture);
        expect(client, 1, page * PAGE);
    }
    assert_null(fixture->service->watch->catching);
    deposit(fixture, 1, 1); /* what comes now is free */
    settle(fixture);
    expect(client, 1, PAGES * PAGE + 1);
    leave_limited(client);
}

/* A turn does not look at watches that cannot go on, as there may be thousands of them. */
static void test_turns_pass_over_paused_watches(void **state)
{
    enum { BURST = 12, WATCHES = 8 };
    struct fixture *fixture = *state;
    struct test_client *poor = &fixture->clients[0];
    struct test_client *slow = &fixture->clients[1];

    deposit(fixture, 1, PAGE);
    limit(fixture, poor, BURST);
    for (int i = 0; i < WATCHES; i++) {
        watch(fixture, poor, 0);
    }
    slow->room = 0;
    watch(fixture, slow, 0);
    settle(fixture);
    room_asked = 0;
    for (int turn = 0; turn < 10; turn++) {
        watch_turn(fixture->service);
    }
    assert_int_equal(room_asked, 0);
    slow->room = PUSHES_MAX;
    (void)watch_client_has_room(fixture->service, &slow->client);
    fixture->wall_ms += 60 * 1000;
    settle(fixture);
    expect(slow, 1, PAGE);
    assert_int_equal(poor->count, WATCHES * PAGE);
    leave_limited(poor);
}

/* Nothing is held for a watch that catches up slowly, however much comes meanwhile. */
static void test_a_slow_watch_holds_nothing(void **state)
{
    enum { BURST = 4, ROUNDS = 40, EACH = 32 };
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, 6 * PAGE);
    limit(fixture, client, BURST);
    watch(fixture, client, 0);
    for (int round = 0; round < ROUNDS; round++) { /* half of what a page a second takes */
        deposit(fixture, 1, EACH);
        settle(fixture);
        assert_int_equal(fixture->service->watch->counts.matches, 0);
        fixture->wall_ms += 1000;
    }
    settle(fixture);
    expect(client, 1, 6 * PAGE + ROUNDS * EACH);
    assert_null(fixture->service->watch->catching);
    leave_limited(client);
}

/* Some pages at a time, in turn, until all have theirs. */
static void test_few_reads_at_a_time(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, PAGE + 1);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned w = 0; w < 4; w++) {
            watch(fixture, &fixture->clients[i], 0);
        }
    }
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, READS);
    settle(fixture);
    assert_int_equal(fixture->service->watch->reads, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct test_client *client = &fixture->clients[i];

        assert_int_equal(client->count, 4 * (PAGE + 1));
        for (size_t p = 0; p < client->count; p++) { /* each watch for itself in order, once */
            uint64_t before = 0;

            for (size_t q = 0; q < p; q++) {
                before = client->watches[q] == client->watches[p] ? client->seqs[q] : before;
            }
            assert_int_equal(client->seqs[p], before + 1);
        }
    }
}

/* Unwatch while its page is read, and a client that goes then: nothing of it is pushed. */
static void test_gone_while_a_page_is_read(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, 5);
    watch(fixture, client, 0);
    watch(fixture, &fixture->clients[1], 0);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 2);
    assert_true(watch_end(fixture->service, &client->client, client->watch_id));
    leave(&fixture->clients[1]);
    settle(fixture);
    assert_int_equal(client->count, 0);
    assert_int_equal(fixture->clients[1].count, 0);
    assert_int_equal(fixture->service->watch->reads, 0);
}

/* What cannot be read might be missing: the client is dropped, told, and has not been pushed what
 * comes later; when it comes again, after what it saw, it gets all of it. */
static void test_a_page_that_cannot_be_read(void **state)
{
    struct fixture *fixture = *state;
    struct test_client *client = &fixture->clients[0];

    deposit(fixture, 1, PAGE + 5);
    watch(fixture, client, 0);
    watch_turn(fixture->service);
    (void)fake_persist_answer_reads(fixture->persist);
    watch_turn(fixture->service); /* pushes the first page, and reads the second */
    if (fixture->service->watch->reads == 0) {
        watch_turn(fixture->service);
    }
    expect(client, 1, PAGE);
    deposit(fixture, 1, 2);
    fake_persist_fail_reads(fixture->persist);
    settle(fixture);
    assert_int_equal(client->dropped, MSG_STORAGE);
    assert_int_equal(fixture->service->watch->counts.failed, 1);
    expect(client, 1, PAGE);
    struct test_client *again = &fixture->clients[1];
    watch(fixture, again, (int64_t)client->seqs[client->count - 1]);
    settle(fixture);
    expect(again, PAGE + 1, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_watches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_what_came_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounded_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gone_while_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_much, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory_for_a_match, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unwatch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        {"test_payloads_from_the_cache", test_payloads, setup, teardown, NULL},
        {"test_payloads_from_the_store", test_payloads, setup_uncached, teardown, NULL},
        cmocka_unit_test_setup_teardown(test_gone_while_payloads_are_read, setup_uncached,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_payloads_that_cannot_be_read, setup_uncached,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_catch_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_catch_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_catch_up_waits_for_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_cost_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_turns_pass_over_paused_watches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_slow_watch_holds_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_few_reads_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gone_while_a_page_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_cannot_be_read, setup, teardown),
    };

    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
