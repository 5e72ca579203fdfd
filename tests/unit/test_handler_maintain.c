/* SPDX-License-Identifier: Apache-2.0 */
/* Backup and Compact: one at a time, answered when the store has done it. */
#include "tests/lib/check.h"

#include "tests/lib/handler_fixture.h"

static struct hearsay_request request_of(enum hearsay_request_kind kind, const char *path)
{
    struct hearsay_request request = {.id = 5, .kind = kind};

    request.name = kind == HEARSAY_REQUEST_BACKUP ? "backup" : "compact";
    if (path != NULL) {
        request.backup.path = (struct hearsay_text){path, strlen(path)};
    }
    return request;
}

static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    handler_fixture_start(fixture);
    *state = fixture;
    return 0;
}

TEST_OF(answered_when_it_is_done, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request backup = request_of(HEARSAY_REQUEST_BACKUP, "/nowhere/copy");
    const struct hearsay_request compact = request_of(HEARSAY_REQUEST_COMPACT, NULL);

    handler_fixture_ask(fixture, &backup);
    assert_int_equal(fixture->answers, 0);
    assert_int_equal(fixture->service->working, 1);
    handler_fixture_ask(fixture, &compact);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_RATE_LIMITED);
    handler_fixture_ask(fixture, &backup);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_RATE_LIMITED);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_BACKED_UP);
    assert_int_equal(handler_fixture_do(fixture, &compact), HEARSAY_RESPONSE_COMPACTED);
    assert_int_equal(handler_fixture_do(fixture, &backup), HEARSAY_RESPONSE_BACKED_UP);
}

TEST_OF(failures_are_told, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request relative = request_of(HEARSAY_REQUEST_BACKUP, "copy");
    const struct hearsay_request backup = request_of(HEARSAY_REQUEST_BACKUP, "/nowhere/copy");
    const struct hearsay_request compact = request_of(HEARSAY_REQUEST_COMPACT, NULL);

    assert_int_equal(handler_fixture_refused(fixture, &relative), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, "path");
    fake_persist_fail_next(fixture->persist);
    handler_fixture_ask(fixture, &compact);
    size_t answer_bytes = fixture->client.answer_bytes; /* that are kept for the answer */
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(strlen(fixture->answer.error.message), LIMIT_ERROR_BYTES);
    assert_true(answer_bytes > LIMIT_ERROR_BYTES);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_STORAGE);
    fake_persist_fail_next(fixture->persist);
    handler_fixture_ask(fixture, &backup);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_STORAGE);
    assert_int_equal(handler_fixture_do(fixture, &backup), HEARSAY_RESPONSE_BACKED_UP);
}

/* The client may go: what is under way comes to its end, and is nobody's. */
TEST_OF(client_goes, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request compact = request_of(HEARSAY_REQUEST_COMPACT, NULL);

    handler_fixture_ask(fixture, &compact);
    fixture->client.is_gone = true;
    (void)handler_fixture_settle(fixture);
    assert_int_equal(fixture->client.work_count, 0);
}

TEST_OF(memory_and_rights, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request requests[] = {request_of(HEARSAY_REQUEST_BACKUP, "/nowhere/copy"),
                                               request_of(HEARSAY_REQUEST_COMPACT, NULL)};

    for (size_t i = 0; i < 2; i++) {
        fail_alloc_arm(&fixture->alloc, 1);
        assert_int_equal(handler_fixture_refused(fixture, &requests[i]), HEARSAY_CODE_INTERNAL);
        fail_alloc_arm(&fixture->alloc, 0);
        fixture->client.is_administrator = false;
        assert_int_equal(handler_fixture_refused(fixture, &requests[i]), HEARSAY_CODE_FORBIDDEN);
        assert_string_equal(fixture->answer.error.field, requests[i].name);
        fixture->client.is_administrator = true;
    }
}
