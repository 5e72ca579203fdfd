/* SPDX-License-Identifier: Apache-2.0 */
/* Check: finds what is wrong in memory, and nothing where all is well, whatever goes on. */
#include "tests/lib/check.h"

#include "tests/lib/handler_fixture.h"

enum { LONG_S = 3600 };

static const struct hearsay_request check_request = {
    .id = 9, .name = "check", .kind = HEARSAY_REQUEST_CHECK};

static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "hide_after", "1");
    handler_fixture_set(fixture, "host default", "remove_after", "0");
    handler_fixture_set(fixture, "host default", "epoch_length", "1h");
    handler_fixture_start(fixture);
    for (uint8_t i = 1; i <= 5; i++) {
        assert_int_equal(handler_fixture_do(fixture, handler_fixture_deposit(i, "text", i * 60U)),
                         HEARSAY_RESPONSE_DEPOSITED);
    }
    assert_int_equal(handler_fixture_do(fixture, handler_fixture_about(HEARSAY_REQUEST_REPORT, 2)),
                     HEARSAY_RESPONSE_REPORT_TAKEN);
    *state = fixture;
    return 0;
}

static const struct hearsay_checked *check(struct handler_fixture *fixture)
{
    assert_int_equal(handler_fixture_do(fixture, &check_request), HEARSAY_RESPONSE_CHECKED);
    assert_false(fixture->service->checking);
    return &fixture->answer.checked;
}

/* One problem is found, and a word of its sentence. */
static void assert_finds(struct handler_fixture *fixture, const char *words)
{
    const struct hearsay_checked *checked = check(fixture);

    assert_true(checked->problem_count >= 1);
    assert_non_null(strstr(checked->problems[0].text, words));
}

TEST_OF(all_is_well, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    assert_int_equal(check(fixture)->problem_count, 0);
    assert_int_equal(fixture->answer.checked.messages, 5);
    fixture->clock.wall_ms += 150 * 1000; /* two have expired, one of them hidden */
    assert_int_equal(check(fixture)->problem_count, 0);
    assert_int_equal(fixture->service->usage.messages, 3); /* and are swept for it */
}

TEST_OF(counters_that_are_wrong, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    struct host *host = &fixture->service->hosts[0];

    host->usage.messages++;
    fixture->service->usage.messages++;
    assert_finds(fixture, "in the store, 6 (");
    host->usage.messages--;
    assert_finds(fixture, "all hosts together");
    fixture->service->usage.messages--;
    host->epochs[0]->summary.count++;
    assert_finds(fixture, "summary");
    host->epochs[0]->summary.count--;
    assert_int_equal(check(fixture)->problem_count, 0);
}

TEST_OF(messages_that_are_wrong, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    struct host *host = &fixture->service->hosts[0];
    uint8_t id[MESSAGE_ID_BYTES] = {2};
    struct moderated *known = moderation_find(&host->moderation, id);

    known->reports++;
    assert_finds(fixture, "its reports");
    known->reports--;
    known->expires_ms++;
    assert_finds(fixture, "its times");
    known->expires_ms--;
    known->destroy_ms++;
    assert_finds(fixture, "its times");
    known->destroy_ms--;
    known->state = PERSIST_SHOWN;
    assert_finds(fixture, "the store hides it");
    known->state = PERSIST_HIDDEN;
    assert_int_equal(check(fixture)->problem_count, 0);
    id[0] = 4;
    assert_int_equal(host_remove(host, id, NULL), 0);
    assert_finds(fixture, "no index");
}

/* A message that comes or goes while it is being read is no problem. */
TEST_OF(while_messages_come_and_go, struct handler_fixture *fixture, setup,
        handler_fixture_tear_down)
{
    handler_fixture_ask(fixture, &check_request);
    fake_persist_carry_out_reads(fixture->persist); /* the page has all five */
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_REMOVE, 1));
    handler_fixture_ask(fixture, handler_fixture_deposit(6, "text", LONG_S));
    (void)fake_persist_commit(fixture->persist);
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_RESTORE, 2));
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_CHECKED);
    assert_int_equal(fixture->answer.checked.problem_count, 0);
    assert_int_equal(fixture->service->usage.messages, 5);
}

TEST_OF(one_at_a_time, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    handler_fixture_ask(fixture, &check_request);
    handler_fixture_ask(fixture, &check_request);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_RATE_LIMITED);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_CHECKED);
    assert_int_equal(check(fixture)->problem_count, 0);
}

/* A store that cannot be read, or not written, is told as that; and checking may begin again. */
TEST_OF(failing_storage, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(handler_fixture_refused(fixture, &check_request), HEARSAY_CODE_STORAGE);
    handler_fixture_ask(fixture, &check_request);
    while (fake_persist_answer_reads(fixture->persist) > 0) {
    }
    fake_persist_fail_next(fixture->persist); /* the removal of what has expired */
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_STORAGE);
    assert_int_equal(check(fixture)->problem_count, 0);
}

/* It ends when the service stops, or when nobody waits for it any more. */
TEST_OF(ends_early, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    handler_fixture_ask(fixture, &check_request);
    fixture->client.is_gone = true;
    (void)handler_fixture_settle(fixture);
    assert_false(fixture->service->checking);
    fixture->client.is_gone = false;
    handler_fixture_ask(fixture, &check_request);
    service_stop(fixture->service);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_SHUTTING_DOWN);
    assert_false(fixture->service->checking);
}

TEST_OF(memory_and_rights, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    enum hearsay_response_kind kind = HEARSAY_RESPONSE_ERROR;

    for (size_t n = 1; kind == HEARSAY_RESPONSE_ERROR; n++) {
        assert_true(n < 100);
        fail_alloc_arm(&fixture->alloc, n);
        kind = handler_fixture_do(fixture, &check_request);
        fail_alloc_arm(&fixture->alloc, 0);
        assert_true(kind == HEARSAY_RESPONSE_CHECKED ||
                    fixture->answer.error.code == HEARSAY_CODE_INTERNAL);
        assert_false(fixture->service->checking);
    }
    fixture->client.is_administrator = false;
    assert_int_equal(handler_fixture_refused(fixture, &check_request), HEARSAY_CODE_FORBIDDEN);
}
