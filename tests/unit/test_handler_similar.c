/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Similar: one at a time, in pieces of work; each end of a request gives everything back. The
 * groups themselves are in tests/model/test_similar.c and tests/integration/test_similar.py.
 */
#include "tests/lib/check.h"

#include "core/base/err.h"
#include "daemon/handler/similar.h"
#include "tests/lib/handler_fixture.h"

enum { EQUAL = 5, MESSAGES = 8 };

static struct hearsay_request request_of(uint32_t limit)
{
    return (struct hearsay_request){
        .id = 5, .name = "similar", .kind = HEARSAY_REQUEST_SIMILAR, .similar = {.limit = limit}};
}

/* EQUAL messages with one filter, the others with a filter each. */
static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();
    uint8_t filter[HANDLER_FILTER_BYTES] = {1, 2, 3};

    handler_fixture_start(fixture);
    for (uint8_t i = 1; i <= MESSAGES; i++) {
        struct hearsay_request request = *handler_fixture_deposit(i, "text", 3600);

        if (i <= EQUAL) {
            request.deposit.filter = (struct hearsay_bytes){filter, sizeof(filter)};
        }
        assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_DEPOSITED);
        fixture->clock.wall_ms++;
        fixture->clock.monotonic_ms++;
    }
    *state = fixture;
    return 0;
}

/* Runs the request, one piece of work in each call. Returns the number of calls. */
static unsigned run(struct handler_fixture *fixture)
{
    unsigned calls = 1;

    while (handler_run_similar(fixture->service, 0)) {
        calls++;
        assert_true(calls < 1000);
    }
    return calls;
}

TEST_OF(finds_the_flood, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);
    const struct hearsay_similar_list *list = &fixture->answer.similar_list;

    assert_false(handler_run_similar(fixture->service, UINT64_MAX)); /* there is none */
    size_t answers = fixture->answers;
    handler_fixture_ask(fixture, &request);
    assert_int_equal(fixture->answers, answers);
    assert_true(run(fixture) > 2); /* begins, finds, answers: a turn of the loop each */
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_SIMILAR_LIST);
    assert_int_equal(list->messages, MESSAGES);
    assert_int_equal(list->total, 1);
    assert_int_equal(list->group_count, 1);
    assert_int_equal(list->groups[0].count, EQUAL);
    assert_int_equal(list->groups[0].oldest.data[0], 1);
    assert_int_equal(list->groups[0].newest.data[0], EQUAL);
    assert_true(list->groups[0].oldest_ms < list->groups[0].newest_ms);
    assert_int_equal(fixture->service->hosts[0].epochs[0]->walks, 0);
}

/* While it runs, others are served, and a second one has to wait. */
TEST_OF(one_at_a_time, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);

    handler_fixture_ask(fixture, &request);
    assert_true(handler_run_similar(fixture->service, 0));
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_RATE_LIMITED);
    assert_true(handler_fixture_finds(fixture, 7));
    assert_int_equal(handler_fixture_do(fixture, handler_fixture_about(HEARSAY_REQUEST_REMOVE, 8)),
                     HEARSAY_RESPONSE_REMOVED);
    assert_true(run(fixture) > 1);
    assert_int_equal(fixture->answer.similar_list.groups[0].count, EQUAL);
}

/* A message that has expired, or that is hidden, does not count. */
TEST_OF(what_is_not_found_does_not_count, struct handler_fixture *fixture, setup,
        handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);

    assert_int_equal(handler_fixture_do(fixture, handler_fixture_about(HEARSAY_REQUEST_HIDE, 1)),
                     HEARSAY_RESPONSE_HIDDEN);
    handler_fixture_ask(fixture, &request);
    (void)run(fixture);
    assert_int_equal(fixture->answer.similar_list.groups[0].count, EQUAL - 1);
    assert_int_equal(fixture->answer.similar_list.groups[0].oldest.data[0], 2);
    fixture->clock.wall_ms += 3600 * 1000;
    fixture->clock.monotonic_ms += 3600 * 1000;
    handler_fixture_ask(fixture, &request);
    (void)run(fixture);
    assert_int_equal(fixture->answer.similar_list.messages, 0);
    assert_int_equal(fixture->answer.similar_list.group_count, 0);
}

/* The times of messages move while groups are found: all begins again. */
TEST_OF(clock_moves, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);
    struct host *host = &fixture->service->hosts[0];

    handler_fixture_ask(fixture, &request);
    assert_true(handler_run_similar(fixture->service, 0));
    assert_int_equal(host->epochs[0]->walks, 1); /* no rebuild now */
    int64_t before_ms = service_now_ms(fixture->service);
    host_shift(host, before_ms, INT64_MIN, 1000);
    (void)run(fixture);
    assert_int_equal(fixture->answer.similar_list.messages, MESSAGES);
    assert_int_equal(fixture->answer.similar_list.groups[0].count, EQUAL);
    host_shift(host, before_ms, INT64_MIN, -1000);
}

/* The request ends at any piece of work: the client goes, or the server stops. */
TEST_OF(ends_early, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);
    bool ran_out = false;

    for (unsigned calls = 0; !ran_out; calls++) {
        handler_fixture_ask(fixture, &request);
        for (unsigned i = 0; i < calls && !ran_out; i++) {
            ran_out = !handler_run_similar(fixture->service, 0);
        }
        fixture->client.is_gone = true;
        assert_false(handler_run_similar(fixture->service, 0));
        fixture->client.is_gone = false;
        assert_int_equal(fixture->client.work_count, 0);
        assert_int_equal(fixture->service->hosts[0].epochs[0]->users, 0);
        assert_int_equal(fixture->service->hosts[0].epochs[0]->walks, 0);
    }
    /* A client that closes its connection only ends its side, as the server sees it. */
    handler_fixture_ask(fixture, &request);
    assert_true(handler_run_similar(fixture->service, 0));
    fixture->client.has_ended = true;
    assert_false(handler_run_similar(fixture->service, 0));
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_INVALID);
    assert_int_equal(fixture->client.work_count, 0);
    fixture->client.has_ended = false;
    handler_fixture_ask(fixture, &request);
    assert_true(handler_run_similar(fixture->service, 0));
    fixture->service->stopping = true;
    assert_false(handler_run_similar(fixture->service, 0));
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_SHUTTING_DOWN);
}

/* Each allocation fails: the request is answered, and nothing stays. */
TEST_OF(memory_and_rights, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request request = request_of(0);
    size_t n = 0;

    do {
        fail_alloc_arm(&fixture->alloc, ++n);
        handler_fixture_ask(fixture, &request);
        (void)run(fixture);
        assert_int_equal(fixture->service->working, 0);
        if (fixture->answer.kind == HEARSAY_RESPONSE_ERROR) {
            assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_INTERNAL);
        }
    } while (fixture->answer.kind == HEARSAY_RESPONSE_ERROR);
    assert_true(n > 8);
    fail_alloc_arm(&fixture->alloc, 0);
    fixture->client.is_administrator = false;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_FORBIDDEN);
    assert_string_equal(fixture->answer.error.field, "similar");
}
