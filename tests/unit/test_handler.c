/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers over a service with a store in memory, a clock that the test sets, and no loop.
 */
#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"
#include "daemon/host/room.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"
#include "tests/lib/host_count.h"
#include "tests/lib/rng.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ANSWERS_MAX = 64, RESULTS_MAX = 128, FILTER_BYTES = 64 };

/* What is remembered of a response. */
struct reply {
    uint64_t id;
    enum hearsay_response_kind kind;
    enum msg_error_code code;
    uint64_t retry_after_ms;
    char field[64];
    bool duplicate;
    int64_t expires_ms;
    size_t result_count;
    uint8_t ids[RESULTS_MAX];      /* first bytes */
    bool has_payload[RESULTS_MAX]; /* of the result */
    bool payload_omitted;          /* from the first result */
    uint64_t comparisons;
    char text[64]; /* payload of the first result, or of Got */
};

struct fixture {
    struct requester client; /* first */
    struct config config;
    struct persist *persist;
    struct service *service;
    struct fake_clock clock;
    struct reply answers[ANSWERS_MAX];
    size_t answer_count;
    size_t ended_count;
    uint8_t withdraw_hash[LIMIT_HASH_BYTES]; /* of every deposit */
};

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42}; /* takes every message back */

/* --- fixture ---------------------------------------------------------------------------------- */

static void remember_payload(struct reply *answer, const struct hearsay_bytes *payload)
{
    const size_t count =
        payload->count < sizeof(answer->text) - 1 ? payload->count : sizeof(answer->text) - 1;

    memcpy(answer->text, payload->data, count);
}

static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    struct fixture *fixture = (struct fixture *)(void *)client;
    struct reply *answer = &fixture->answers[fixture->answer_count++];

    assert_true(fixture->answer_count <= ANSWERS_MAX);
    memset(answer, 0, sizeof(*answer));
    answer->id = response->id;
    answer->kind = response->kind;
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        answer->code = response->error.code;
        answer->retry_after_ms = response->error.retry_after_ms;
        memcpy(answer->field, response->error.field, sizeof(answer->field));
        assert_true(strlen(response->error.message) > 10); /* a sentence, always */
    } else if (response->kind == HEARSAY_RESPONSE_DEPOSITED) {
        answer->duplicate = response->deposited.duplicate;
        answer->expires_ms = response->deposited.expires_ms;
    } else if (response->kind == HEARSAY_RESPONSE_RESULTS) {
        answer->result_count = response->results.result_count;
        answer->comparisons = response->results.comparisons;
        assert_true(response->results.exact);
        for (size_t i = 0; i < answer->result_count; i++) {
            answer->ids[i] = response->results.results[i].id.data[0];
            answer->has_payload[i] = response->results.results[i].payload.data != NULL;
        }
        if (answer->result_count > 0) {
            answer->payload_omitted = response->results.results[0].payload_omitted;
        }
        if (answer->result_count > 0 && answer->has_payload[0]) {
            remember_payload(answer, &response->results.results[0].payload);
        }
    } else if (response->kind == HEARSAY_RESPONSE_GOT) {
        remember_payload(answer, &response->got.payload);
    }
}

static void on_work_ended(struct requester *client)
{
    ((struct fixture *)(void *)client)->ended_count++;
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

static void start(struct fixture *fixture)
{
    char reason[CONFIG_REASON_BYTES];
    struct service_options options = fake_clock_options(&fixture->clock);

    options.alloc = alloc_system();
    options.config = &fixture->config;
    options.persist = fixture->persist;
    assert_int_equal(handler_open(&options, &fixture->service, reason), 0);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char reason[CONFIG_REASON_BYTES];

    assert_non_null(fixture);
    fixture->client.events = &events;
    fake_clock_init(&fixture->clock);
    config_defaults(&fixture->config);
    snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    assert_int_equal(config_set(&fixture->config, "test", "limits", "cache", "0", reason), 0);
    assert_int_equal(config_finish(&fixture->config, reason), 0);
    crypto_generichash(fixture->withdraw_hash, LIMIT_HASH_BYTES, token, sizeof(token), NULL, 0);
    fixture->persist = fake_persist_new();
    start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(fixture->client.work_count, 0);
    assert_int_equal(fixture->client.work_bytes, 0);
    assert_int_equal(fixture->service->working, 0);
    assert_int_equal(fixture->service->writing_bytes, 0);
    handler_close(fixture->service);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

static void advance(struct fixture *fixture, int64_t ms)
{
    fake_clock_advance(&fixture->clock, ms);
}

/* A filter with ten bits set from `first` on: neighbours overlap. */
static void make_filter(unsigned first, uint8_t *out)
{
    memset(out, 0, FILTER_BYTES);
    for (unsigned p = first; p < first + 10; p++) {
        out[p / 8] |= (uint8_t)(1U << p % 8);
    }
}

/* Sends a deposit whose id begins with `number`, and whose filter begins at bit `number`. */
static void send_deposit(struct fixture *fixture, uint8_t number, const char *text, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES] = {number};
    uint8_t filter[FILTER_BYTES];
    struct hearsay_request request = {.id = 1000U + number, .name = "deposit"};

    make_filter(number, filter);
    request.kind = HEARSAY_REQUEST_DEPOSIT;
    request.deposit = (struct hearsay_deposit){
        .id = {id, sizeof(id)},
        .filter = {filter, sizeof(filter)},
        .media_type = {"text/plain", 10},
        .payload = {(const uint8_t *)text, strlen(text)},
        .has_ttl_s = ttl_s > 0,
        .ttl_s = ttl_s,
        .reach_ppm = 1000000,
        .withdraw_hash = {fixture->withdraw_hash, LIMIT_HASH_BYTES},
    };
    handler_handle(fixture->service, &fixture->client, &request);
}

static void deposit(struct fixture *fixture, uint8_t number, const char *text, uint32_t ttl_s)
{
    send_deposit(fixture, number, text, ttl_s);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answers[fixture->answer_count - 1].kind, HEARSAY_RESPONSE_DEPOSITED);
}

static void send_query(struct fixture *fixture, unsigned first, uint32_t k, bool with_payload)
{
    uint8_t filter[FILTER_BYTES];
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request = {.id = 77, .name = "query", .kind = HEARSAY_REQUEST_QUERY};

    make_filter(first, filter);
    request.query = (struct hearsay_query){
        .k = k,
        .parts = &part,
        .part_count = 1,
        .max_distance_ppm = 1000000,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .metric = HEARSAY_METRIC_BITS,
        .order = HEARSAY_ORDER_SIMILARITY,
        .scope = HEARSAY_SCOPE_HERE,
        .with_payload = with_payload,
    };
    handler_handle(fixture->service, &fixture->client, &request);
}

static struct reply *last_answer(struct fixture *fixture)
{
    assert_true(fixture->answer_count > 0);
    return &fixture->answers[fixture->answer_count - 1];
}

static void withdraw(struct fixture *fixture, uint8_t number)
{
    const uint8_t id[MESSAGE_ID_BYTES] = {number};
    const struct hearsay_request request = {
        .id = 5,
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = {id, sizeof(id)}, .token = {token, sizeof(token)}},
    };

    handler_handle(fixture->service, &fixture->client, &request);
    fake_persist_commit(fixture->persist);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_WITHDRAWN);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* An acknowledgement, and the message's place in answers, follow the commit. */
static void deposit_shows_after_commit_only(void **state)
{
    struct fixture *fixture = *state;

    send_deposit(fixture, 1, "hello", 0);
    assert_int_equal(fixture->answer_count, 0);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 0);

    fake_persist_commit(fixture->persist);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_DEPOSITED);
    assert_true(last_answer(fixture)->expires_ms == fixture->clock.wall_ms + 24 * 3600 * 1000);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 1);
}

/* A failed commit gives STORAGE, changes nothing, and the next deposit works. */
static void failed_commit_changes_nothing(void **state)
{
    struct fixture *fixture = *state;

    fake_persist_fail_next(fixture->persist);
    send_deposit(fixture, 1, "lost", 0);
    fake_persist_commit(fixture->persist);
    assert_int_equal(last_answer(fixture)->code, MSG_STORAGE);
    assert_int_equal(fixture->service->usage.messages, 0);
    assert_int_equal(fixture->service->usage.bytes, 0);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 0);
    deposit(fixture, 1, "kept", 0);
}

/* Deposits that wait for the store count against the quota, or a burst would pass it. */
static void waiting_deposits_count_against_quota(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->hosts[0].config.messages_max = 2;
    send_deposit(fixture, 1, "a", 0);
    send_deposit(fixture, 2, "b", 0);
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);
    fake_persist_commit(fixture->persist);
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);

    send_deposit(fixture, 1, "a", 0); /* a duplicate takes no room: it is answered as ever */
    fake_persist_commit(fixture->persist);
    assert_true(last_answer(fixture)->duplicate);
    assert_int_equal(fixture->service->usage.messages, 2);
}

/* A full host says when its next message goes, unless the new one would not fit even then. */
static void a_full_host_says_until_when(void **state)
{
    struct fixture *fixture = *state;
    struct host *host = &fixture->service->hosts[0];

    host->config.messages_max = 2;
    send_deposit(fixture, 1, "a", 3600);
    send_deposit(fixture, 2, "b", 60);
    send_deposit(fixture, 3, "c", 0); /* nothing is stored yet that could expire */
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);
    assert_int_equal(last_answer(fixture)->retry_after_ms, 0);
    fake_persist_commit(fixture->persist);
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(last_answer(fixture)->retry_after_ms, 60 * 1000 + ROOM_SWEEP_MS);
    fixture->clock.wall_ms += 50 * 1000;
    fixture->clock.monotonic_ms += 50 * 1000;
    send_deposit(fixture, 3, "c", 0);
    assert_int_equal(last_answer(fixture)->retry_after_ms, 10 * 1000 + ROOM_SWEEP_MS);
    withdraw(fixture, 2);
    deposit(fixture, 3, "c", 1000);
    fixture->clock.wall_ms += ROOM_SWEEP_MS;
    fixture->clock.monotonic_ms += ROOM_SWEEP_MS;
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(last_answer(fixture)->retry_after_ms, 1000 * 1000);
    host->config.bytes_max = 20; /* a filter alone is larger */
    send_deposit(fixture, 4, "d", 0);
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);
    assert_int_equal(last_answer(fixture)->retry_after_ms, 0);
}

/* A full host makes room as it is told to; what went is gone from the index, and told to nobody. */
static void the_oldest_make_room(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->hosts[0].config.messages_max = 2;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    deposit(fixture, 1, "a", 0);
    deposit(fixture, 2, "b", 100);
    deposit(fixture, 3, "c", 0);
    assert_int_equal(fixture->service->usage.messages, 2);
    assert_int_equal(fake_persist_count(fixture->persist), 2);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 2);
    assert_int_equal(last_answer(fixture)->ids[0], 2);
    assert_int_equal(last_answer(fixture)->ids[1], 3);
    assert_int_equal(fixture->service->leaving.messages, 0);
    deposit(fixture, 1, "a", 0); /* its id is as good as any */
}

/* The caps of all hosts together have messages of the host go that is deposited to. */
static void room_for_all_is_made_by_one(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->config.limits.bytes_max = 200; /* of one message: 64 + 10 + 1 */
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_SOONEST;
    deposit(fixture, 1, "a", 50);
    deposit(fixture, 2, "b", 40);
    deposit(fixture, 3, "c", 60);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 2);
    assert_int_equal(last_answer(fixture)->ids[0], 1);
    assert_int_equal(last_answer(fixture)->ids[1], 3);
}

/* Many that wait for the store at once: each makes its own room, also by those that wait. */
static void waiting_deposits_make_room(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->hosts[0].config.messages_max = 3;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    for (uint8_t i = 1; i <= 10; i++) {
        send_deposit(fixture, i, "x", 0);
    }
    assert_int_equal(fixture->answer_count, 0);
    assert_int_equal(fake_persist_commit(fixture->persist), 10);
    assert_int_equal(fixture->answer_count, 10);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->service->usage.messages, 3);
    send_query(fixture, 10, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 3);
    assert_int_equal(last_answer(fixture)->ids[0], 10);
    assert_int_equal(last_answer(fixture)->ids[2], 8);
}

/* When the store fails, nobody has gone, and no promise is left. */
static void a_failed_commit_evicts_nobody(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->hosts[0].config.messages_max = 1;
    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    deposit(fixture, 1, "a", 0);
    fake_persist_fail_next(fixture->persist);
    send_deposit(fixture, 2, "b", 0);
    fake_persist_commit(fixture->persist);
    assert_int_equal(last_answer(fixture)->code, MSG_STORAGE);
    assert_int_equal(fixture->service->leaving.messages, 0);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 1);
}

/* What is larger than the whole cap, or would displace too many, is refused. */
static void some_make_no_room(void **state)
{
    struct fixture *fixture = *state;

    fixture->service->hosts[0].config.evict = CONFIG_EVICT_OLDEST;
    fixture->service->hosts[0].config.bytes_max = 100;
    send_deposit(fixture, 1, "0123456789012345678901234567890123456789", 0);
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);
    fixture->service->hosts[0].config.bytes_max = 100000;
    for (uint8_t i = 0; i < 100; i++) {
        send_deposit(fixture, i, "x", 0);
        fake_persist_commit(fixture->persist);
        fixture->answer_count = 0;
    }
    fixture->service->hosts[0].config.messages_max = 35; /* as after a reload */
    send_deposit(fixture, 200, "x", 0);
    assert_int_equal(last_answer(fixture)->code, MSG_QUOTA);
    assert_int_equal(fixture->service->usage.messages, 100);
}

/*
 * Random deposits, withdrawals, failures and expiry on a full host, with commits in between: when
 * nothing waits, index, store and account agree, and no cap is passed.
 */
static void random_deposits_keep_to_the_caps(void **state)
{
    struct fixture *fixture = *state;
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
            fixture->answer_count = 0;
            assert_int_equal(host->leaving.messages, 0);
            assert_int_equal(host->leaving.bytes, 0);
            assert_int_equal(service->leaving.bytes, 0);
            assert_true(host->usage.messages <= 12 && host->usage.bytes <= 1300);
            assert_int_equal(host->usage.messages, service->usage.messages);
            assert_int_equal(host->usage.bytes, service->usage.bytes);
            assert_int_equal(host->usage.messages, host_count(host));
            assert_int_equal(fake_persist_count(fixture->persist), host_count(host));
        }
        if (fixture->answer_count > ANSWERS_MAX / 2) {
            fixture->answer_count = 0;
        }
    }
    fake_persist_commit(fixture->persist);
}

/* Expired messages are gone from answers at once, and from quota and store with the sweep. */
static void sweep_gives_room_back(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "short", 1);
    deposit(fixture, 2, "long", 100);
    advance(fixture, 1000);
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 1);
    assert_int_equal(fixture->service->usage.messages, 2);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->service->usage.messages, 1);
    assert_int_equal(fake_persist_count(fixture->persist), 1);
    assert_int_equal(index_count(fixture->service->hosts[0].epochs[0]->index), 1);
}

/* More expired messages than a slice holds go in several, without being asked again. */
static void sweep_goes_on_by_itself(void **state)
{
    struct fixture *fixture = *state;
    size_t commits = 0;

    for (unsigned i = 0; i < PERSIST_EXPIRE_MAX + 50; i++) {
        uint8_t id[MESSAGE_ID_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        uint8_t filter[FILTER_BYTES];
        make_filter(i % 256, filter);
        struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_DEPOSIT};
        request.deposit = (struct hearsay_deposit){.id = {id, sizeof(id)},
                                                   .filter = {filter, sizeof(filter)},
                                                   .media_type = {"text/plain", 10},
                                                   .payload = {(const uint8_t *)"x", 1},
                                                   .has_ttl_s = true,
                                                   .ttl_s = 1,
                                                   .reach_ppm = 1000000};
        handler_handle(fixture->service, &fixture->client, &request);
        fake_persist_commit(fixture->persist);
        fixture->answer_count = 0;
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
static void expired_id_is_free_again(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "old", 1);
    advance(fixture, 5000);
    deposit(fixture, 1, "new", 100);
    assert_false(last_answer(fixture)->duplicate);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, true);
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(last_answer(fixture)->result_count, 1);
    assert_string_equal(last_answer(fixture)->text, "new");
}

/* A message withdrawn between search and reading is not in the answer; the next one is. */
static void answer_is_right_when_a_message_goes_meanwhile(void **state)
{
    struct fixture *fixture = *state;
    deposit(fixture, 1, "first", 0);
    deposit(fixture, 2, "second", 0);
    send_query(fixture, 1, 1, true); /* its payload is being read now */

    withdraw(fixture, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1); /* finds it gone */
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(last_answer(fixture)->result_count, 1);
    assert_string_equal(last_answer(fixture)->text, "second");
}

/* Messages that go as fast as they are read do not keep a query from its answer. */
static void answer_comes_though_messages_keep_going(void **state)
{
    struct fixture *fixture = *state;
    uint8_t number = 1;

    for (uint8_t i = 1; i < 20; i++) {
        deposit(fixture, i, "gone soon", 0);
    }
    send_query(fixture, 1, 1, true);
    do {
        withdraw(fixture, number++); /* the one that is being read */
        assert_true(number < 20);
        assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    } while (last_answer(fixture)->kind == HEARSAY_RESPONSE_WITHDRAWN);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(last_answer(fixture)->result_count, 1);
    assert_false(last_answer(fixture)->has_payload[0]);
    assert_true(last_answer(fixture)->payload_omitted);
}

/* More messages than a new search compares before it queues. */
enum { LONG_SEARCH = 80000 };

/* A message that is only in memory, and not in the store. */
static void put(struct host *host, const struct index_item *item, const uint64_t *filter)
{
    assert_int_equal(index_insert(host->epochs[0]->index, item, filter), 0);
    summary_add(&host->epochs[0]->summary, filter);
}

/* A search over more messages than one step looks at goes on in turns, and ends right. */
static void long_search_goes_in_steps(void **state)
{
    struct fixture *fixture = *state;
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
    assert_int_equal(fixture->answer_count, 0);
    assert_int_equal(fixture->client.searches, 1);
    deposit(fixture, 0, "came while it was searching", 0);
    unsigned turns = 0;
    while (handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX)) {
        turns++;
    }
    assert_true(turns > 0);
    assert_int_equal(last_answer(fixture)->kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(last_answer(fixture)->result_count, 3);
    assert_int_equal(fixture->client.searches, 0);
    assert_int_equal(fixture->ended_count, 2);
}

/* However many ask, few searches run at a time; the others wait, and all are answered. */
static void few_searches_run_at_a_time(void **state)
{
    struct fixture *fixture = *state;
    struct host *host = &fixture->service->hosts[0];
    uint64_t filter[8] = {1};
    size_t most = 0;

    for (uint32_t i = 0; i < LONG_SEARCH; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = 1000000 - i};
        memcpy(item.id, &i, sizeof(i));
        put(host, &item, filter);
    }
    for (unsigned i = 0; i < 40; i++) {
        send_query(fixture, i, 3, false);
    }
    assert_int_equal(fixture->client.searches, 40);
    while (handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX)) {
        const size_t under_way = handler_searches_under_way(fixture->service);
        most = under_way > most ? under_way : most;
    }
    assert_int_equal(most, 1); /* of one client */
    assert_int_equal(fixture->answer_count, 40);
    assert_int_equal(fixture->ended_count, 40);
}

/* Searches of a client that has gone are dropped. */
static void search_of_a_gone_client_ends(void **state)
{
    struct fixture *fixture = *state;
    struct host *host = &fixture->service->hosts[0];
    uint64_t filter[8] = {1};

    for (uint32_t i = 0; i < LONG_SEARCH; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = 1000000 - i};
        memcpy(item.id, &i, sizeof(i));
        put(host, &item, filter);
    }
    send_query(fixture, 0, 3, false);
    fixture->client.is_gone = true;
    assert_false(handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX));
    assert_int_equal(fixture->answer_count, 0);
    assert_int_equal(fixture->ended_count, 1);
}

/* After a restart the same messages are there, expired ones are not shown. */
static void restart_loads_what_was_stored(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "stays", 100);
    deposit(fixture, 2, "goes", 1);
    handler_close(fixture->service);
    advance(fixture, 2000);
    start(fixture);
    assert_int_equal(fixture->service->usage.messages, 1);
    send_query(fixture, 1, 5, true);
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(last_answer(fixture)->result_count, 1);
    assert_string_equal(last_answer(fixture)->text, "stays");
}

/* The clock going backwards neither brings messages back nor lets them live for ever. */
static void clock_never_runs_backwards(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "an hour", 3600);
    fixture->clock.wall_ms -= INT64_C(86400000) * 365;
    assert_false(service_clock_trusted(fixture->service));
    fixture->clock.monotonic_ms += 3600 * 1000;
    send_query(fixture, 1, 5, false);
    assert_int_equal(last_answer(fixture)->result_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(deposit_shows_after_commit_only),
        TEST(failed_commit_changes_nothing),
        TEST(waiting_deposits_count_against_quota),
        TEST(a_full_host_says_until_when),
        TEST(the_oldest_make_room),
        TEST(room_for_all_is_made_by_one),
        TEST(waiting_deposits_make_room),
        TEST(a_failed_commit_evicts_nobody),
        TEST(some_make_no_room),
        TEST(random_deposits_keep_to_the_caps),
        TEST(sweep_gives_room_back),
        TEST(sweep_goes_on_by_itself),
        TEST(expired_id_is_free_again),
        TEST(answer_is_right_when_a_message_goes_meanwhile),
        TEST(answer_comes_though_messages_keep_going),
        TEST(long_search_goes_in_steps),
        TEST(few_searches_run_at_a_time),
        TEST(search_of_a_gone_client_ends),
        TEST(restart_loads_what_was_stored),
        TEST(clock_never_runs_backwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
