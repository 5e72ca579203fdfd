/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries that wait for a bridge: which bridge gets them, in which turn, how each wait ends, and
 * what the sender pays. The clock stands still until the test moves it.
 */
#include "daemon/watch/asks.h"

#include <sodium.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"

enum { PATIENCE_MS = 1000, CLIENTS = 40, WAITS = ASKS_MAX + 1, BURST = 100 };

/* A bridge or a phone. */
struct client {
    struct requester requester; /* first */
    unsigned asked;
    bool is_busy; /* it takes no pushes now */
    struct hearsay_ask last;
};

static struct handler_fixture *fixture;
static struct service *service;
static struct client bridge;
static struct client other; /* another bridge */
static struct client phones[CLIENTS];
static struct ask_wait waits[WAITS];
static bool write_fails;

/* --- clients ---------------------------------------------------------------------------------- */

static void on_respond(struct requester *requester, const struct hearsay_response *response)
{
    struct client *client = (struct client *)(void *)requester;

    assert_int_equal(response->kind, HEARSAY_RESPONSE_ASK);
    client->asked++;
    client->last = response->ask;
}

static void on_work_ended(struct requester *requester)
{
    (void)requester;
}

static bool on_has_room(const struct requester *requester)
{
    return !((const struct client *)(const void *)requester)->is_busy;
}

static const struct requester_events events = {
    .respond = on_respond, .work_ended = on_work_ended, .has_room = on_has_room};

static bool write_query(struct ask_wait *wait, struct hearsay_query *out_query)
{
    *out_query = (struct hearsay_query){.k = (uint32_t)(wait - waits) + 1};
    return !write_fails;
}

static int setup(void **state)
{
    (void)state;
    fixture = handler_fixture_new();
    config_add_host(&fixture->config, "lobby");
    config_add_host(&fixture->config, "alone");
    handler_fixture_set(fixture, "host lobby", "hood", "campus");
    handler_fixture_set(fixture, "limits", "query_burst", "100");
    handler_fixture_set(fixture, "limits", "queries_per_minute", "60");
    handler_fixture_start(fixture);
    service = fixture->service;
    memset(&bridge, 0, sizeof(bridge));
    memset(&other, 0, sizeof(other));
    memset(phones, 0, sizeof(phones));
    memset(waits, 0, sizeof(waits));
    bridge.requester.events = other.requester.events = &events;
    for (size_t i = 0; i < CLIENTS; i++) {
        phones[i].requester.events = &events;
    }
    write_fails = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_null(asks_over(service));
    assert_int_equal(service->asks.count, 0);
    handler_fixture_free(fixture);
    return 0;
}

static void serve(struct client *client, const char *hood)
{
    const struct hearsay_text hoods[] = {{hood, strlen(hood)}};

    assert_int_equal(asks_serve(service, &client->requester, hoods, 1), 0);
}

/* Gives a phone the limits of an address. */
static void limit(struct client *phone, uint8_t number)
{
    struct sender_address address = {.kind = SENDER_IPV4, .bytes = {192, 0, 2, number}};

    assert_int_equal(senders_enter(service->senders, &address, &service->sender_limits,
                                   service_monotonic_ms(service), &phone->requester.sender),
                     0);
}

static void leave(struct client *client)
{
    client->requester.is_gone = true;
    asks_client_gone(service, &client->requester);
    if (client->requester.sender != NULL) {
        senders_leave(client->requester.sender);
        client->requester.sender = NULL;
    }
}

/* --- waits ------------------------------------------------------------------------------------ */

static bool begin(size_t wait, struct client *phone)
{
    waits[wait] = (struct ask_wait){.service = service,
                                    .client = &phone->requester,
                                    .sender = phone->requester.sender,
                                    .host = &service->hosts[0],
                                    .until_ms = service_monotonic_ms(service) + PATIENCE_MS,
                                    .write = write_query};
    return asks_begin(&waits[wait]);
}

static struct ask_wait *answer(struct client *client, uint64_t ask_id, uint32_t peers,
                               uint32_t peers_asked)
{
    struct hearsay_answered answered = {.ask_id = ask_id, .has_results = true};

    answered.results.peers = peers;
    answered.results.peers_asked = peers_asked;
    return asks_answered(service, &client->requester, &answered);
}

/* How many query tokens the phone has: takes them all, and gives them back. */
static uint32_t tokens_of(struct sender *sender)
{
    int64_t now_ms = service_monotonic_ms(service);
    uint32_t count =
        sender_take_most(sender, SENDER_QUERY, &service->sender_limits, UINT32_MAX, now_ms);

    sender_give(sender, SENDER_QUERY, &service->sender_limits, count, now_ms);
    return count;
}

/* --- the way of an ask ------------------------------------------------------------------------ */

/* Sent in the next turn, with the time that is left; answered once, by the bridge that has it. */
TEST_WITH(an_answer_ends_a_wait, setup, teardown)
{
    assert_false(asks_serves(service, &service->hosts[0]));
    assert_false(begin(0, &phones[0]));
    serve(&bridge, "campus");
    assert_true(asks_serves(service, &service->hosts[0]));
    assert_false(asks_serves(service, &service->hosts[1]));
    assert_int_equal(asks_next_ms(service), INT64_MAX);
    assert_true(begin(0, &phones[0]));
    assert_int_equal(asks_next_ms(service), INT64_MIN);
    fake_clock_advance(&fixture->clock, 300);
    asks_send(service);
    assert_int_equal(bridge.asked, 1);
    assert_int_equal(bridge.last.query.wait_ms, PATIENCE_MS - 300);
    assert_int_equal(bridge.last.query.k, 1);
    assert_int_equal(bridge.last.peers_max, ASKS_PEERS);
    assert_int_equal(asks_next_ms(service), waits[0].until_ms);
    serve(&other, "town");
    assert_null(answer(&other, bridge.last.ask_id, 1, 1));
    assert_null(answer(&bridge, bridge.last.ask_id + 1, 1, 1));
    assert_null(answer(&bridge, 0, 1, 1));
    assert_ptr_equal(answer(&bridge, bridge.last.ask_id, 1, 1), &waits[0]);
    assert_null(answer(&bridge, bridge.last.ask_id, 1, 1));
    leave(&other);
    leave(&bridge);
}

/* By its time; by a bridge that goes, or serves no more; by a phone that goes; by memory. */
TEST_WITH(a_wait_ends_without_an_answer, setup, teardown)
{
    serve(&bridge, "campus");
    assert_true(begin(0, &phones[0]));
    fake_clock_advance(&fixture->clock, PATIENCE_MS - 1);
    assert_null(asks_over(service));
    fake_clock_advance(&fixture->clock, 1);
    assert_ptr_equal(asks_over(service), &waits[0]);

    assert_true(begin(0, &phones[0]));
    assert_true(begin(1, &phones[1]));
    leave(&phones[1]);
    assert_ptr_equal(asks_over(service), &waits[1]);
    asks_send(service);
    leave(&bridge);
    assert_ptr_equal(asks_over(service), &waits[0]);
    assert_false(begin(0, &phones[0]));

    bridge.requester.is_gone = false;
    serve(&bridge, "campus");
    write_fails = true;
    assert_true(begin(0, &phones[0]));
    asks_send(service);
    assert_int_equal(asks_next_ms(service), INT64_MIN);
    assert_ptr_equal(asks_over(service), &waits[0]);
    assert_int_equal(service->asks.bridges->sent, 0);
    leave(&bridge);
}

/* A hood has one bridge: the one that said so last. Names may come twice. */
TEST_WITH(the_last_bridge_serves, setup, teardown)
{
    const struct hearsay_text twice[] = {{"campus", 6}, {"campus", 6}, {"town", 4}};

    serve(&bridge, "campus");
    assert_int_equal(asks_serve(service, &other.requester, twice, 3), 0);
    assert_true(begin(0, &phones[0]));
    asks_send(service);
    assert_int_equal(bridge.asked, 0);
    assert_int_equal(other.asked, 1);
    serve(&other, "town");
    assert_false(asks_serves(service, &service->hosts[0]));
    assert_ptr_equal(answer(&other, other.last.ask_id, 1, 0), &waits[0]); /* it was asked before */
    leave(&other);
    leave(&bridge);
}

/* --- bounds and turns ------------------------------------------------------------------------- */

/* So many at a bridge, so many of one sender, so many of all. If all wait, an unsent ask of whoever
 * has most ends for one of a sender with fewer, and it is none that was sent. */
TEST_WITH(asks_are_bounded, setup, teardown)
{
    size_t count = 0;

    serve(&bridge, "campus");
    for (; count < ASKS_OF_ONE; count++) {
        assert_true(begin(count, &phones[0]));
    }
    assert_false(begin(count, &phones[0]));
    for (size_t i = 1; count < ASKS_MAX; i++) {
        for (size_t n = 0; n < ASKS_OF_ONE && count < ASKS_MAX; n++, count++) {
            assert_true(begin(count, &phones[i]));
        }
    }
    asks_send(service);
    assert_int_equal(bridge.asked, ASKS_SENT);
    assert_true(begin(count, &phones[CLIENTS - 1]));
    const struct ask_wait *over = asks_over(service);
    assert_non_null(over);
    assert_int_equal(over->ask_id, 0);
    assert_ptr_not_equal(over->client, &phones[CLIENTS - 1].requester);
    assert_null(asks_over(service));
    assert_int_equal(service->asks.count, ASKS_MAX);
    assert_non_null(answer(&bridge, 1, 1, 0));
    bridge.is_busy = true;
    asks_send(service);
    assert_int_equal(bridge.asked, ASKS_SENT);
    bridge.is_busy = false;
    asks_send(service);
    assert_int_equal(bridge.asked, ASKS_SENT + 1);
    fake_clock_advance(&fixture->clock, PATIENCE_MS);
    for (count = 1; asks_over(service) != NULL; count++) {
    }
    assert_int_equal(count, ASKS_MAX);
    leave(&bridge);
}

/* Each sender has its turn, however many another one asks. */
TEST_WITH(senders_take_turns, setup, teardown)
{
    serve(&bridge, "campus");
    limit(&phones[0], 1);
    limit(&phones[1], 1); /* the same address */
    limit(&phones[2], 2);
    bridge.is_busy = true;
    for (size_t i = 0; i < 6; i++) {
        assert_true(begin(i, &phones[i % 2]));
    }
    assert_true(begin(6, &phones[2]));
    bridge.is_busy = false;
    service->asks.has_news = true;
    waits[0].bridge->sent = ASKS_SENT - 2; /* room for two */
    asks_send(service);
    assert_int_equal(bridge.asked, 2);
    assert_int_equal(bridge.last.query.k, 7);
    waits[0].bridge->sent = 2;
    fake_clock_advance(&fixture->clock, PATIENCE_MS);
    while (asks_over(service) != NULL) {
    }
    for (size_t i = 0; i < 3; i++) {
        leave(&phones[i]);
    }
    leave(&bridge);
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* What was asked is paid, the rest comes back: by an answer, by silence, and for who has gone. */
TEST_WITH(peers_are_paid, setup, teardown)
{
    serve(&bridge, "campus");
    limit(&phones[0], 1);
    struct sender *sender = phones[0].requester.sender;

    assert_true(begin(0, &phones[0]));
    assert_int_equal(tokens_of(sender), BURST);
    asks_send(service);
    assert_int_equal(bridge.last.peers_max, ASKS_FREE + ASKS_PAID);
    assert_int_equal(tokens_of(sender), BURST - ASKS_PAID);
    assert_non_null(answer(&bridge, bridge.last.ask_id, 20, 18));
    assert_int_equal(tokens_of(sender), BURST - 10);
    assert_true(begin(0, &phones[0]));
    asks_send(service);
    assert_int_equal(bridge.last.peers_max, 20); /* as many as there were */
    assert_non_null(answer(&bridge, bridge.last.ask_id, 20, 3));
    assert_int_equal(tokens_of(sender), BURST - 10);
    assert_true(begin(0, &phones[0]));
    asks_send(service);
    fake_clock_advance(&fixture->clock, PATIENCE_MS); /* a token comes meanwhile */
    assert_non_null(asks_over(service));
    assert_int_equal(tokens_of(sender), BURST - 9);

    assert_true(begin(0, &phones[0]));
    asks_send(service);
    leave(&phones[0]);
    assert_null(asks_over(service));
    senders_tidy(service->senders, &service->sender_limits, INT64_MAX);
    limit(&phones[1], 1);
    assert_ptr_equal(phones[1].requester.sender, sender);
    assert_int_equal(tokens_of(sender), BURST - 9 - 12);
    assert_ptr_equal(answer(&bridge, bridge.last.ask_id, 20, 13), &waits[0]);
    assert_int_equal(tokens_of(sender), BURST - 9 - 5);
    leave(&phones[1]);
    leave(&bridge);
}

/* One that takes no more than eight peers holds no tokens: it ends with its client. */
TEST_WITH(who_paid_nothing_waits_for_nothing, setup, teardown)
{
    serve(&bridge, "campus");
    limit(&phones[0], 1);
    service->asks.bridges->peers = ASKS_FREE;
    assert_true(begin(0, &phones[0]));
    asks_send(service);
    assert_int_equal(bridge.last.peers_max, ASKS_FREE);
    leave(&phones[0]);
    assert_ptr_equal(asks_over(service), &waits[0]);
    assert_null(answer(&bridge, bridge.last.ask_id, 8, 8));
    leave(&bridge);
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST_WITH(without_memory_nobody_serves, setup, teardown)
{
    const struct hearsay_text hood[] = {{"campus", 6}};

    fail_alloc_arm(&fixture->alloc, 1);
    assert_int_equal(asks_serve(service, &bridge.requester, hood, 1), -ERR_NOMEM);
    assert_false(asks_serves(service, &service->hosts[0]));
    serve(&bridge, "campus"); /* the end of the service forgets it */
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    return check_run(NULL, NULL);
}
