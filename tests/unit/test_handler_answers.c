/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: who may answer what, that they are beside the list of messages, and that they go, hide
 * and come back with the message that they answer.
 */
#include "tests/lib/check.h"

#include "core/base/err.h"
#include "tests/lib/handler_fixture.h"

enum { LONG_S = 3600 };

static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "hide_after", "2");
    handler_fixture_set(fixture, "host default", "remove_after", "1h");
    handler_fixture_start(fixture);
    *state = fixture;
    return 0;
}

/* Nothing in memory differs from the store. */
static void check_all(struct handler_fixture *fixture)
{
    const struct hearsay_request request = {
        .id = 9, .name = "check", .kind = HEARSAY_REQUEST_CHECK};

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_CHECKED);
    assert_int_equal(fixture->answer.checked.problem_count, 0);
}

static int teardown(void **state)
{
    check_all(*state);
    handler_fixture_free(*state);
    return 0;
}

static const uint8_t *id_of(uint8_t number)
{
    static uint8_t id[MESSAGE_ID_BYTES];

    id[0] = number;
    return id;
}

/* The request is static. `parent` 0: an ordinary message. */
static struct hearsay_request *make(uint8_t number, uint8_t parent)
{
    static struct hearsay_request request;
    static uint8_t id[MESSAGE_ID_BYTES];

    request = *handler_fixture_deposit(number, "text", LONG_S);
    id[0] = parent;
    if (parent != 0) {
        request.deposit.answers = (struct hearsay_bytes){id, sizeof(id)};
    }
    return &request;
}

static void deposit(struct handler_fixture *fixture, uint8_t number, uint8_t parent)
{
    assert_int_equal(handler_fixture_do(fixture, make(number, parent)), HEARSAY_RESPONSE_DEPOSITED);
    fake_clock_advance(&fixture->clock, 10);
}

static enum hearsay_response_kind about(struct handler_fixture *fixture,
                                        enum hearsay_request_kind kind, uint8_t number)
{
    return handler_fixture_do(fixture, handler_fixture_about(kind, number));
}

static struct hearsay_request query_of(uint8_t parent, uint32_t k)
{
    return (struct hearsay_request){.id = 7,
                                    .name = "query",
                                    .kind = HEARSAY_REQUEST_QUERY,
                                    .query = {.k = k,
                                              .since_ms = INT64_MIN,
                                              .until_ms = INT64_MAX,
                                              .max_distance_ppm = LIMIT_DISTANCE_PPM,
                                              .metric = HEARSAY_METRIC_PHI,
                                              .order = HEARSAY_ORDER_SIMILARITY,
                                              .scope = HEARSAY_SCOPE_HERE,
                                              .with_payload = true,
                                              .answers = {id_of(parent), MESSAGE_ID_BYTES}}};
}

/* The answers to a message are these, in this order; "" none. */
static void assert_answers(struct handler_fixture *fixture, uint8_t parent, const char *numbers)
{
    const struct hearsay_request request = query_of(parent, 100);
    const struct hearsay_results *results = &fixture->answer.results;

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results->result_count, strlen(numbers));
    for (size_t i = 0; i < results->result_count; i++) {
        assert_int_equal(results->results[i].id.data[0], numbers[i] - '0');
        assert_int_equal(results->results[i].payload.count, 4);
        assert_int_equal(results->results[i].distance_ppm, 0);
    }
    assert_true(results->exact && results->complete);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_GET, parent), HEARSAY_RESPONSE_GOT);
    assert_int_equal(fixture->answer.got.answer_count, strlen(numbers));
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Oldest first, with a limit and times; not found by queries, counted in the result of the message.
 */
TEST_WITH(test_lists, setup, teardown)
{
    struct handler_fixture *fixture = *state;

    deposit(fixture, 1, 0);
    deposit(fixture, 2, 0);
    deposit(fixture, 5, 1);
    int64_t second_ms = fixture->clock.wall_ms;
    deposit(fixture, 3, 1);
    deposit(fixture, 4, 1);
    assert_answers(fixture, 1, "534");
    assert_answers(fixture, 2, "");
    assert_int_equal(about(fixture, HEARSAY_REQUEST_GET, 3), HEARSAY_RESPONSE_GOT);
    assert_memory_equal(fixture->answer.got.answers.data, id_of(1), MESSAGE_ID_BYTES);
    assert_true(handler_fixture_finds(fixture, 1)); /* the query's results are the last but one */
    struct hearsay_request request = query_of(1, 2);
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(fixture->answer.results.result_count, 2);
    request.query.since_ms = second_ms;
    request.query.until_ms = second_ms + 10;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(fixture->answer.results.result_count, 1);
    assert_int_equal(fixture->answer.results.results[0].id.data[0], 3);
    const struct hearsay_request summary = {
        .id = 8, .name = "summary", .kind = HEARSAY_REQUEST_SUMMARY};
    assert_int_equal(handler_fixture_do(fixture, &summary), HEARSAY_RESPONSE_SUMMARIZED);
    assert_int_equal(fixture->answer.summarized.count, 2);
}

/* The results of a query say how many answers a message has, and have no answer among them. */
TEST_WITH(test_results, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    struct hearsay_query_part part = {.filter = make(1, 0)->deposit.filter};
    struct hearsay_request query = query_of(1, 10);
    const struct hearsay_results *results = &fixture->answer.results;

    query.query.answers = (struct hearsay_bytes){NULL, 0};
    query.query.parts = &part;
    query.query.part_count = 1;
    deposit(fixture, 1, 0);
    deposit(fixture, 2, 1);
    deposit(fixture, 3, 1);
    part.filter = make(1, 0)->deposit.filter;
    assert_int_equal(handler_fixture_do(fixture, &query), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results->result_count, 1);
    assert_int_equal(results->results[0].answer_count, 2);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 2), HEARSAY_RESPONSE_HIDDEN);
    part.filter = make(1, 0)->deposit.filter;
    assert_int_equal(handler_fixture_do(fixture, &query), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(results->results[0].answer_count, 1);
}

/* --- refusals --------------------------------------------------------------------------------- */

TEST_WITH(test_refusals, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    struct hearsay_query_part part = {0};
    struct hearsay_request request;

    deposit(fixture, 1, 0);
    deposit(fixture, 2, 1);
    assert_int_equal(handler_fixture_refused(fixture, make(3, 9)), HEARSAY_CODE_NOT_FOUND);
    assert_string_equal(fixture->answer.error.field, "answers");
    assert_int_equal(handler_fixture_refused(fixture, make(3, 3)), HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(handler_fixture_refused(fixture, make(3, 2)), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, "answers");
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 1), HEARSAY_RESPONSE_HIDDEN);
    assert_int_equal(handler_fixture_refused(fixture, make(3, 1)), HEARSAY_CODE_NOT_FOUND);
    request = query_of(1, 10);
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(handler_fixture_do(fixture, make(2, 1)), HEARSAY_RESPONSE_DEPOSITED);
    assert_true(fixture->answer.deposited.duplicate); /* sent again after a lost answer */
    request = query_of(1, 10);
    request.query.parts = &part;
    request.query.part_count = 1;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, "parts");
    request = query_of(1, 10);
    request.query.scope = HEARSAY_SCOPE_HOOD;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, "scope");
}

/* As many answers as one query can read; hidden ones do not count. */
TEST_WITH(test_most, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    struct answer answer = {.is_shown = true, .item.expires_ms = INT64_MAX};
    struct answers *answers = &fixture->service->hosts[0].answers;
    uint32_t most = fixture->service->config.limits.k_max;

    deposit(fixture, 1, 0);
    answer.parent[0] = 1;
    for (uint32_t i = 0; i < most; i++) {
        memcpy(answer.item.id + 4, &i, sizeof(i));
        assert_int_equal(answers_put(answers, &answer), 0);
    }
    assert_int_equal(handler_fixture_refused(fixture, make(2, 1)), HEARSAY_CODE_QUOTA);
    answers_find(answers, answer.item.id)->is_shown = false;
    deposit(fixture, 2, 1);
    assert_int_equal(handler_fixture_refused(fixture, make(3, 1)), HEARSAY_CODE_QUOTA);
    for (uint32_t i = 0; i < most; i++) {
        memcpy(answer.item.id + 4, &i, sizeof(i));
        assert_true(answers_remove(answers, answer.item.id, NULL));
    }
    deposit(fixture, 3, 1);
}

/* Who has most answers below a message makes room for the others, unless nothing may go. */
TEST(most_of_a_few_senders)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "evict", "oldest");
    handler_fixture_start(fixture);
    struct answers *answers = &fixture->service->hosts[0].answers;
    deposit(fixture, 1, 0);
    for (uint8_t i = 0; i < 100; i++) {
        fixture->client.sender_tag = 1 + i / 25U;
        fixture->clock.wall_ms++;
        deposit(fixture, 100 + i, 1);
    }
    for (uint8_t i = 0; i < 5; i++) { /* the oldest of each sender, and again of the first one */
        fixture->client.sender_tag = 5U + i;
        deposit(fixture, 10 + i, 1);
        assert_null(answers_find(answers, id_of((uint8_t)(i < 4 ? 100 + 25 * i : 101))));
        assert_int_equal(answers_of(answers, id_of(1))->count, 100);
    }
    fixture->client.sender_tag = 3; /* it has left 24, and one sender 23 */
    handler_fixture_ask(fixture, make(20, 1));
    fixture->client.sender_tag = 10;
    handler_fixture_ask(fixture, make(21, 1)); /* the other one waits still */
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(answers_of(answers, id_of(1))->count, 100);
    for (uint8_t i = 0; i < 5; i++) {
        assert_non_null(answers_find(answers, id_of(10 + i)));
    }
    check_all(fixture);
    handler_fixture_free(fixture);
}

/* A sender that does not wait until an answer is stored may leave as many as one that waits. */
TEST_WITH(answers_that_wait_count, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    const struct answers *answers = &fixture->service->hosts[0].answers;

    deposit(fixture, 1, 0);
    deposit(fixture, 2, 0);
    for (uint8_t i = 0; i < 60; i++) {
        fixture->client.sender_tag = 1;
        handler_fixture_ask(fixture, make(100 + i, 1));
    }
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_QUOTA);
    handler_fixture_ask(fixture, make(200, 2)); /* the answers to another message are others */
    fixture->client.sender_tag = 2;
    handler_fixture_ask(fixture, make(201, 1));
    (void)handler_fixture_settle(fixture);
    assert_int_equal(answers_count_of(answers, id_of(1), 1), 30); /* 30 % of k */
    assert_int_equal(answers_count_of(answers, id_of(1), 2), 1);
    assert_int_equal(answers_count_of(answers, id_of(2), 1), 1);
    assert_null(answers->waiting);
}

/* An answer that leaves for its sender's share is not picked to make room below its parent, too. */
TEST(an_answer_leaves_once)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "evict", "oldest");
    handler_fixture_set(fixture, "host default", "messages", "64"); /* 4 of one address */
    handler_fixture_set(fixture, "limits", "k", "4");
    handler_fixture_set(fixture, "limits", "sender_share", "100%");
    handler_fixture_start(fixture);
    struct answers *answers = &fixture->service->hosts[0].answers;
    deposit(fixture, 1, 0);
    fixture->client.sender_tag = 1;
    for (uint8_t i = 0; i < 4; i++) {
        deposit(fixture, 10 + i, 1);
    }
    handler_fixture_ask(fixture, make(20, 0)); /* for it the sender's oldest, 10, leaves */
    fixture->client.sender_tag = 2;
    handler_fixture_ask(fixture, make(21, 1));
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_DEPOSITED);
    assert_null(answers_find(answers, id_of(10)));
    assert_null(answers_find(answers, id_of(11)));
    assert_int_equal(answers_of(answers, id_of(1))->count, 3);
    check_all(fixture);
    handler_fixture_free(fixture);
}

/* --- with the parent -------------------------------------------------------------------------- */

TEST_WITH(test_hidden_and_restored, setup, teardown)
{
    static const enum hearsay_request_kind kinds[] = {HEARSAY_REQUEST_HIDE, HEARSAY_REQUEST_REMOVE};
    struct handler_fixture *fixture = *state;

    deposit(fixture, 1, 0);
    deposit(fixture, 2, 1);
    deposit(fixture, 3, 1);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 3), HEARSAY_RESPONSE_HIDDEN);
    for (size_t i = 0; i < 2; i++) {
        (void)about(fixture, kinds[i], 1);
        assert_int_not_equal(fixture->answer.kind, HEARSAY_RESPONSE_ERROR);
        assert_int_equal(
            handler_fixture_refused(fixture, handler_fixture_about(HEARSAY_REQUEST_GET, 2)),
            HEARSAY_CODE_NOT_FOUND);
        assert_int_equal(
            handler_fixture_refused(fixture, handler_fixture_about(HEARSAY_REQUEST_REPORT, 2)),
            HEARSAY_CODE_NOT_FOUND);
        check_all(fixture);
        assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_RESPONSE_RESTORED);
        assert_answers(fixture, 1, "2"); /* what was hidden by itself stays so */
    }
    (void)about(fixture, HEARSAY_REQUEST_HIDE, 1);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 2), HEARSAY_RESPONSE_REMOVED);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 2), HEARSAY_RESPONSE_RESTORED);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_RESPONSE_RESTORED);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 3), HEARSAY_RESPONSE_RESTORED);
    assert_answers(fixture, 1, "23");
}

/* In review mode an answer waits as a message does. */
TEST_WITH(test_review, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    const struct hearsay_request review = {.id = 6,
                                           .name = "accept",
                                           .kind = HEARSAY_REQUEST_ACCEPT,
                                           .accept = {.mode = {"review", 6}}};

    deposit(fixture, 1, 0);
    assert_int_equal(handler_fixture_do(fixture, &review), HEARSAY_RESPONSE_ACCEPTING);
    deposit(fixture, 2, 1);
    assert_true(fixture->answer.deposited.held);
    assert_answers(fixture, 1, "");
    const struct hearsay_request pending = {.id = 6,
                                            .name = "reported",
                                            .kind = HEARSAY_REQUEST_REPORTED,
                                            .reported = {.pending = true}};
    assert_int_equal(handler_fixture_do(fixture, &pending), HEARSAY_RESPONSE_REPORTED_LIST);
    assert_int_equal(fixture->answer.reported_list.message_count, 1);
    assert_memory_equal(fixture->answer.reported_list.messages[0].answers.data, id_of(1),
                        MESSAGE_ID_BYTES);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 2), HEARSAY_RESPONSE_RESTORED);
    assert_answers(fixture, 1, "2");
}

/* Reports hide an answer alone; and what is exported has the answers that can be read. */
TEST_WITH(test_reports_and_export, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    const struct hearsay_request export = {
        .id = 6, .name = "export", .kind = HEARSAY_REQUEST_EXPORT};
    const struct hearsay_exported *exported = &fixture->answer.exported;

    deposit(fixture, 1, 0);
    deposit(fixture, 2, 1);
    deposit(fixture, 3, 1);
    for (uint32_t sender = 1; sender <= 2; sender++) {
        fixture->client.sender_tag = sender;
        assert_int_equal(about(fixture, HEARSAY_REQUEST_REPORT, 2), HEARSAY_RESPONSE_REPORT_TAKEN);
    }
    assert_answers(fixture, 1, "3");
    assert_int_equal(handler_fixture_do(fixture, &export), HEARSAY_RESPONSE_EXPORTED);
    assert_int_equal(exported->message_count, 2);
    assert_int_equal(exported->messages[0].answers.count, 0);
    assert_memory_equal(exported->messages[1].answers.data, id_of(1), MESSAGE_ID_BYTES);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 1), HEARSAY_RESPONSE_HIDDEN);
    assert_int_equal(handler_fixture_do(fixture, &export), HEARSAY_RESPONSE_EXPORTED);
    assert_int_equal(exported->message_count, 0);
}

/* Without memory at any place an answer is in memory and counted, or refused. */
TEST_WITH(test_no_memory, setup, teardown)
{
    struct handler_fixture *fixture = *state;
    bool is_over = false;

    deposit(fixture, 1, 0);
    for (size_t n = 1; !is_over; n++) {
        fail_alloc_arm(&fixture->alloc, n);
        is_over = handler_fixture_do(fixture, make(2, 1)) == HEARSAY_RESPONSE_DEPOSITED &&
                  fixture->alloc.requests < n;
        if (!is_over && fixture->answer.kind == HEARSAY_RESPONSE_DEPOSITED) {
            fail_alloc_arm(&fixture->alloc, 0);
            assert_answers(fixture, 1, "2");
        }
    }
    fail_alloc_arm(&fixture->alloc, 0);
    is_over = false;
    for (size_t n = 1; !is_over; n++) {
        const struct hearsay_request request = query_of(1, 100);

        fail_alloc_arm(&fixture->alloc, n);
        is_over = handler_fixture_do(fixture, &request) == HEARSAY_RESPONSE_RESULTS &&
                  fixture->alloc.requests < n;
    }
    fail_alloc_arm(&fixture->alloc, 0);
    assert_answers(fixture, 1, "2");
}
