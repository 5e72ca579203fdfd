/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers over a service with a store in memory, a clock that the test sets, and no loop.
 */
#include "core/filter/bloom.h"
#include "daemon/handler/inner.h"
#include "daemon/host/room.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"
#include "tests/lib/host_count.h"
#include "tests/lib/plain_request.h"
#include "tests/lib/rng.h"

#include <sodium.h>

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42}; /* takes every message back */
static uint8_t withdraw_hash[LIMIT_HASH_BYTES];       /* of every deposit */

/* --- fixture ---------------------------------------------------------------------------------- */

/* The client is a stranger, and nothing is cached. */
static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    fixture->client.is_local = false;
    fixture->client.is_administrator = false;
    fixture->clock.is_single = false;
    handler_fixture_set(fixture, "limits", "cache", "0");
    crypto_generichash(withdraw_hash, LIMIT_HASH_BYTES, token, sizeof(token), NULL, 0);
    handler_fixture_start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(((struct handler_fixture *)*state)->service->writing_bytes, 0);
    handler_fixture_free(*state);
    return 0;
}

static void advance(struct handler_fixture *fixture, int64_t ms)
{
    fake_clock_advance(&fixture->clock, ms);
}

/* A filter with ten bits set from `first` on: neighbours overlap. */
static void make_filter(unsigned first, uint8_t *out)
{
    memset(out, 0, HANDLER_FILTER_BYTES);
    for (unsigned p = first; p < first + 10; p++) {
        out[p / 8] |= (uint8_t)(1U << p % 8);
    }
}

/* Sends a deposit whose id begins with `number`, and whose filter begins at bit `number`. */
static void send_deposit(struct handler_fixture *fixture, uint8_t number, const char *text,
                         uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES] = {number};
    uint8_t filter[HANDLER_FILTER_BYTES];
    struct hearsay_request request = {.id = 1000U + number, .name = "deposit"};

    make_filter(number, filter);
    request.kind = HEARSAY_REQUEST_DEPOSIT;
    request.deposit = plain_deposit(id, filter, sizeof(filter), text);
    request.deposit.has_ttl_s = ttl_s > 0;
    request.deposit.ttl_s = ttl_s;
    request.deposit.withdraw_hash = (struct hearsay_bytes){withdraw_hash, LIMIT_HASH_BYTES};
    handler_handle(fixture->service, &fixture->client, &request);
}

static void deposit(struct handler_fixture *fixture, uint8_t number, const char *text,
                    uint32_t ttl_s)
{
    send_deposit(fixture, number, text, ttl_s);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_DEPOSITED);
}

static void send_query(struct handler_fixture *fixture, unsigned first, uint32_t k,
                       bool with_payload)
{
    uint8_t filter[HANDLER_FILTER_BYTES];
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request = {.id = 77, .name = "query", .kind = HEARSAY_REQUEST_QUERY};

    make_filter(first, filter);
    request.query = plain_query(&part, 1, k);
    request.query.with_payload = with_payload;
    handler_handle(fixture->service, &fixture->client, &request);
}

/* What the latest answer has, which must be results. */
static const struct hearsay_results *results(const struct handler_fixture *fixture)
{
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_RESULTS);
    assert_true(fixture->answer.results.exact);
    return &fixture->answer.results;
}

static void expect_text(const struct handler_fixture *fixture, const char *text)
{
    const struct hearsay_bytes *payload = &results(fixture)->results[0].payload;

    assert_int_equal(payload->count, strlen(text));
    assert_memory_equal(payload->data, text, strlen(text));
}

/* The latest answer must be an error, with a sentence. */
static enum hearsay_code refusal(const struct handler_fixture *fixture)
{
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_ERROR);
    assert_true(strlen(fixture->answer.error.message) > 10);
    return fixture->answer.error.code;
}

static void withdraw(struct handler_fixture *fixture, uint8_t number)
{
    const uint8_t id[MESSAGE_ID_BYTES] = {number};
    const struct hearsay_request request = {
        .id = 5,
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = {id, sizeof(id)}, .token = {token, sizeof(token)}},
    };

    handler_handle(fixture->service, &fixture->client, &request);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_WITHDRAWN);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* An acknowledgement, and the message's place in answers, follow the commit. */
TEST_OF(deposit_shows_after_commit_only, struct handler_fixture *fixture, setup, teardown)
{
    send_deposit(fixture, 1, "hello", 0);
    assert_int_equal(fixture->answers, 0);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 0);

    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_DEPOSITED);
    assert_true(fixture->answer.deposited.expires_ms == fixture->clock.wall_ms + 24 * 3600 * 1000);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 1);
}

/* A failed commit gives STORAGE, changes nothing, and the next deposit works. */
TEST_OF(failed_commit_changes_nothing, struct handler_fixture *fixture, setup, teardown)
{
    fake_persist_fail_next(fixture->persist);
    send_deposit(fixture, 1, "lost", 0);
    fake_persist_commit(fixture->persist);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_STORAGE);
    assert_int_equal(fixture->service->usage.messages, 0);
    assert_int_equal(fixture->service->usage.bytes, 0);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 0);
    deposit(fixture, 1, "kept", 0);
}

/* Deposits that wait for the store count against the quota, or a burst would pass it. */
TEST_OF(waiting_deposits_count_against_quota, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->hosts[0].config.messages_max = 2;
    send_deposit(fixture, 1, "a", 0);
    send_deposit(fixture, 2, "b", 0);
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);
    fake_persist_commit(fixture->persist);
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);

    send_deposit(fixture, 1, "a", 0); /* a duplicate takes no room: it is answered as ever */
    fake_persist_commit(fixture->persist);
    assert_true(fixture->answer.deposited.duplicate);
    assert_int_equal(fixture->service->usage.messages, 2);
}

/* A full host says when its next message goes, unless the new one would not fit even then. */
TEST_OF(a_full_host_says_until_when, struct handler_fixture *fixture, setup, teardown)
{
    struct host *host = &fixture->service->hosts[0];

    host->config.messages_max = 2;
    send_deposit(fixture, 1, "a", 3600);
    send_deposit(fixture, 2, "b", 60);
    send_deposit(fixture, 3, "c", 0); /* nothing is stored yet that could expire */
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);
    assert_int_equal(fixture->answer.error.retry_after_ms, 0);
    fake_persist_commit(fixture->persist);
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(fixture->answer.error.retry_after_ms, 60 * 1000 + ROOM_SWEEP_MS);
    fixture->clock.wall_ms += 50 * 1000;
    fixture->clock.monotonic_ms += 50 * 1000;
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(fixture->answer.error.retry_after_ms, 10 * 1000 + ROOM_SWEEP_MS);
    withdraw(fixture, 2);
    deposit(fixture, 3, "c", 1000);
    fixture->clock.wall_ms += ROOM_SWEEP_MS;
    fixture->clock.monotonic_ms += ROOM_SWEEP_MS;
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(fixture->answer.error.retry_after_ms, 1000 * 1000);
    host->config.bytes_max = 20; /* a filter alone is larger */
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);
    assert_int_equal(fixture->answer.error.retry_after_ms, 0);
}

/* A full host makes room as it is told to; what went is gone from the index, and told to nobody. */
TEST_OF(the_oldest_make_room, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->hosts[0].config.messages_max = 2;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    deposit(fixture, 1, "a", 0);
    deposit(fixture, 2, "b", 100);
    deposit(fixture, 3, "c", 0);
    assert_int_equal(fixture->service->usage.messages, 2);
    assert_int_equal(fake_persist_count(fixture->persist), 2);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 2);
    assert_int_equal(results(fixture)->results[0].id.data[0], 2);
    assert_int_equal(results(fixture)->results[1].id.data[0], 3);
    assert_int_equal(fixture->service->leaving.messages, 0);
    deposit(fixture, 1, "a", 0); /* its id is as good as any */
}

/* The caps of all hosts together have messages of the host go that is deposited to. */
TEST_OF(room_for_all_is_made_by_one, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->config.limits.bytes = 200; /* of one message: 64 + 10 + 1 */
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_SOONEST;
    deposit(fixture, 1, "a", 50);
    deposit(fixture, 2, "b", 40);
    deposit(fixture, 3, "c", 60);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 2);
    assert_int_equal(results(fixture)->results[0].id.data[0], 1);
    assert_int_equal(results(fixture)->results[1].id.data[0], 3);
}

/* Many that wait for the store at once: each makes its own room, also by those that wait. */
TEST_OF(waiting_deposits_make_room, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->hosts[0].config.messages_max = 3;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    for (uint8_t i = 1; i <= 10; i++) {
        send_deposit(fixture, i, "x", 0);
    }
    assert_int_equal(fixture->answers, 0);
    assert_int_equal(fake_persist_commit(fixture->persist), 10);
    assert_int_equal(fixture->answers, 10);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->service->usage.messages, 3);
    send_query(fixture, 10, 5, false);
    assert_int_equal(results(fixture)->result_count, 3);
    assert_int_equal(results(fixture)->results[0].id.data[0], 10);
    assert_int_equal(results(fixture)->results[2].id.data[0], 8);
}

/* When the store fails, nobody has gone, and no promise is left. */
TEST_OF(a_failed_commit_evicts_nobody, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->hosts[0].config.messages_max = 1;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    deposit(fixture, 1, "a", 0);
    fake_persist_fail_next(fixture->persist);
    send_deposit(fixture, 2, "b", 0);
    fake_persist_commit(fixture->persist);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_STORAGE);
    assert_int_equal(fixture->service->leaving.messages, 0);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 1);
}

/* What is larger than the whole cap, or would displace too many, is refused. */
TEST_OF(some_make_no_room, struct handler_fixture *fixture, setup, teardown)
{
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    fixture->service->hosts[0].config.bytes_max = 100;
    send_deposit(fixture, 1, "0123456789012345678901234567890123456789", 0);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);
    fixture->service->hosts[0].config.bytes_max = 100000;
    for (uint8_t i = 0; i < 100; i++) {
        send_deposit(fixture, i, "x", 0);
        fake_persist_commit(fixture->persist);
    }
    fixture->service->hosts[0].config.messages_max = 35; /* as after a reload */
    send_deposit(fixture, 200, "x", 0);
    assert_int_equal(refusal(fixture), HEARSAY_CODE_QUOTA);
    assert_int_equal(fixture->service->usage.messages, 100);
}

/*
 * Random deposits, withdrawals, failures and expiry on a full host, with commits in between: when
 * nothing waits, index, store and account agree, and no cap is passed.
 */
TEST_OF(random_deposits_keep_to_the_caps, struct handler_fixture *fixture, setup, teardown)
{
    struct service *service = fixture->service;
    struct host *host = &service->hosts[0];
    struct rng rng;

    rng_init(&rng);
    host->config.messages_max = 12;
    host->config.bytes_max = 1300;
    for (int step = 0; step < 4000; step++) {
        static const char text[] = "some text of a length that is drawn anew for each message";
        const uint8_t number = (uint8_t)rng_below(&rng, 60);

        host->config.evict = rng_chance(&rng, 50) ? CONFIG_EVICT_OLDEST : CONFIG_EVICT_SOONEST;
        if (rng_chance(&rng, 70)) { /* the text follows from the number: mostly duplicates */
            send_deposit(fixture, number, text + number % 57, 1 + rng_below(&rng, 50));
        } else if (rng_chance(&rng, 20)) {
            fake_persist_fail_next(fixture->persist);
        } else if (rng_chance(&rng, 30)) {
            advance(fixture, 1 + rng_below(&rng, 3000));
            service_sweep(service);
        }
        if (rng_chance(&rng, 30)) {
            fake_persist_commit(fixture->persist);
            assert_int_equal(host->leaving.messages, 0);
            assert_int_equal(host->leaving.bytes, 0);
            assert_int_equal(service->leaving.bytes, 0);
            assert_true(host->usage.messages <= 12 && host->usage.bytes <= 1300);
            assert_int_equal(host->usage.messages, service->usage.messages);
            assert_int_equal(host->usage.bytes, service->usage.bytes);
            assert_int_equal(host->usage.messages, host_count(host));
            assert_int_equal(fake_persist_count(fixture->persist), host_count(host));
        }
    }
    fake_persist_commit(fixture->persist);
}

/* Expired messages are gone from answers at once, and from quota and store with the sweep. */
TEST_OF(sweep_gives_room_back, struct handler_fixture *fixture, setup, teardown)
{
    deposit(fixture, 1, "short", 1);
    deposit(fixture, 2, "long", 100);
    advance(fixture, 1000);
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 1);
    assert_int_equal(fixture->service->usage.messages, 2);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->service->usage.messages, 1);
    assert_int_equal(fake_persist_count(fixture->persist), 1);
    assert_int_equal(index_count(fixture->service->hosts[0].epochs[0]->index), 1);
}

/* More expired messages than a slice holds go in several, without being asked again. */
TEST_OF(sweep_goes_on_by_itself, struct handler_fixture *fixture, setup, teardown)
{
    size_t commits = 0;

    for (unsigned i = 0; i < PERSIST_EXPIRE_MAX + 50; i++) {
        uint8_t id[MESSAGE_ID_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        uint8_t filter[HANDLER_FILTER_BYTES];
        make_filter(i % 256, filter);
        struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_DEPOSIT};
        request.deposit = plain_deposit(id, filter, sizeof(filter), "x");
        request.deposit.has_ttl_s = true;
        request.deposit.ttl_s = 1;
        handler_handle(fixture->service, &fixture->client, &request);
        fake_persist_commit(fixture->persist);
    }
    advance(fixture, 2000);
    service_sweep(fixture->service);
    while (fake_persist_commit(fixture->persist) > 0) {
        commits++;
    }
    assert_int_equal(commits, 2);
    assert_int_equal(fixture->service->usage.messages, 0);
    assert_int_equal(fixture->service->usage.bytes, 0);
}

/* An id that is used again after its message expired, before the sweep, is a new message. */
TEST_OF(expired_id_is_free_again, struct handler_fixture *fixture, setup, teardown)
{
    deposit(fixture, 1, "old", 1);
    advance(fixture, 5000);
    deposit(fixture, 1, "new", 100);
    assert_false(fixture->answer.deposited.duplicate);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, true);
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(results(fixture)->result_count, 1);
    expect_text(fixture, "new");
}

/* A message withdrawn between search and reading is not in the answer; the next one is. */
TEST_OF(answer_is_right_when_a_message_goes_meanwhile, struct handler_fixture *fixture, setup,
        teardown)
{
    deposit(fixture, 1, "first", 0);
    deposit(fixture, 2, "second", 0);
    send_query(fixture, 1, 1, true); /* its payload is being read now */

    withdraw(fixture, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1); /* finds it gone */
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results(fixture)->result_count, 1);
    expect_text(fixture, "second");
}

/* Messages that go as fast as they are read do not keep a query from its answer. */
TEST_OF(answer_comes_though_messages_keep_going, struct handler_fixture *fixture, setup, teardown)
{
    uint8_t number = 1;

    for (uint8_t i = 1; i < 20; i++) {
        deposit(fixture, i, "gone soon", 0);
    }
    send_query(fixture, 1, 1, true);
    do {
        withdraw(fixture, number++); /* the one that is being read */
        assert_true(number < 20);
        assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    } while (fixture->answer.kind == HEARSAY_RESPONSE_WITHDRAWN);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results(fixture)->result_count, 1);
    assert_null(results(fixture)->results[0].payload.data);
    assert_true(results(fixture)->results[0].payload_omitted);
}

/* More messages than a new search compares before it queues. */
enum { LONG_SEARCH = 80000 };

/* A message that is only in memory, and not in the store. */
static void put(struct host *host, const struct index_item *item, const uint64_t *filter)
{
    assert_int_equal(index_insert(host->epochs[0]->index, item, filter), 0);
    summary_add(&host->epochs[0]->summary, filter);
}

/* So many that a search is long; the filters are all alike. */
static void put_many(struct host *host)
{
    const uint64_t filter[8] = {1};

    for (uint32_t i = 0; i < LONG_SEARCH; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = 1000000 - i};
        memcpy(item.id, &i, sizeof(i));
        put(host, &item, filter);
    }
}

/* A search over more messages than one step looks at goes on in turns, and ends right. */
TEST_OF(long_search_goes_in_steps, struct handler_fixture *fixture, setup, teardown)
{
    struct host *host = &fixture->service->hosts[0];
    uint64_t filter[8] = {0};

    for (uint32_t i = 0; i < LONG_SEARCH; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = 1000000};
        memcpy(item.id, &i, sizeof(i));
        memset(filter, 0, sizeof(filter));
        bloom_set(filter, 200 + i % 300);
        bloom_set(filter, 200 + i / 300); /* few are equal */
        put(host, &item, filter);
    }
    send_query(fixture, 0, 3, false);
    assert_int_equal(fixture->answers, 0);
    assert_int_equal(fixture->client.searches, 1);
    deposit(fixture, 0, "came while it was searching", 0);
    unsigned turns = 0;
    while (handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX)) {
        turns++;
    }
    assert_true(turns > 0);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results(fixture)->result_count, 3);
    assert_int_equal(fixture->client.searches, 0);
    assert_int_equal(fixture->ended, 2);
}

/* However many ask, few searches run at a time; the others wait, and all are answered. */
TEST_OF(few_searches_run_at_a_time, struct handler_fixture *fixture, setup, teardown)
{
    size_t most = 0;

    put_many(&fixture->service->hosts[0]);
    for (unsigned i = 0; i < 40; i++) {
        send_query(fixture, i, 3, false);
    }
    assert_int_equal(fixture->client.searches, 40);
    while (handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX)) {
        const size_t under_way = handler_searches_under_way(fixture->service);
        most = under_way > most ? under_way : most;
    }
    assert_int_equal(most, 1); /* of one client */
    assert_int_equal(fixture->answers, 40);
    assert_int_equal(fixture->ended, 40);
}

/* Searches of a client that has gone are dropped. */
TEST_OF(search_of_a_gone_client_ends, struct handler_fixture *fixture, setup, teardown)
{
    put_many(&fixture->service->hosts[0]);
    send_query(fixture, 0, 3, false);
    fixture->client.is_gone = true;
    assert_false(handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX));
    assert_int_equal(fixture->answers, 0);
    assert_int_equal(fixture->ended, 1);
}

/* After a restart the same messages are there, expired ones are not shown. */
TEST_OF(restart_loads_what_was_stored, struct handler_fixture *fixture, setup, teardown)
{
    deposit(fixture, 1, "stays", 100);
    deposit(fixture, 2, "goes", 1);
    handler_close(fixture->service);
    advance(fixture, 2000);
    handler_fixture_start(fixture);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, true);
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(results(fixture)->result_count, 1);
    expect_text(fixture, "stays");
}

/* The clock going backwards neither brings messages back nor lets them live for ever. */
TEST_OF(clock_never_runs_backwards, struct handler_fixture *fixture, setup, teardown)
{
    deposit(fixture, 1, "an hour", 3600);
    fixture->clock.wall_ms -= INT64_C(86400000) * 365;
    assert_false(service_clock_trusted(fixture->service));
    fixture->clock.monotonic_ms += 3600 * 1000;
    send_query(fixture, 1, 5, false);
    assert_int_equal(results(fixture)->result_count, 0);
}

/* A request of the schema without a handler is refused: no client can make the daemon call NULL. */
TEST_OF(request_without_handler_is_refused, struct handler_fixture *fixture, setup, teardown)
{
    static const int kinds[] = {HEARSAY_REQUEST_PING + 1, HEARSAY_REQUEST_SIMILAR + 1, 1000};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct hearsay_request request = {
            .id = 1, .name = "new", .kind = (enum hearsay_request_kind)kinds[i]};

        assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_UNSUPPORTED);
    }
}

static bool has_name(const struct hearsay_text *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].text, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Each request of the schema has a row in handler.c, and the requests of a client fit Welcome. */
TEST(every_request_is_served)
{
    enum { KINDS = 256, EXTENSIONS = 3 };
    const struct requester roles[] = {{.is_administrator = true}, {.is_bridge = true}};
    struct hearsay_text names[2][KINDS];
    size_t counts[2];

    for (size_t i = 0; i < 2; i++) {
        counts[i] = handler_list_requests(&roles[i], names[i]);
        assert_true(counts[i] + EXTENSIONS <= LIMIT_CAPABILITIES);
    }
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        const char *name = codec_request_name((enum hearsay_request_kind)kind);
        if (name != NULL && !has_name(names[0], counts[0], name) &&
            !has_name(names[1], counts[1], name)) {
            fail_msg("nothing serves the request %s: add a row for it to requests[] of "
                     "daemon/handler/handler.c",
                     name);
        }
    }
}
