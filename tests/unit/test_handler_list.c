/* SPDX-License-Identifier: Apache-2.0 */
/* Reported with the field `all`: all messages of a host, page by page, the newest first. */
#include "tests/unit/moderated_fixture.h"

static void report(struct handler_fixture *fixture, uint8_t number, uint32_t sender)
{
    struct hearsay_request request = *handler_fixture_about(HEARSAY_REQUEST_REPORT, number);

    fixture->client.sender_tag = sender;
    request.report.kind = HEARSAY_REPORT_SPAM;
    request.report.reason = (struct hearsay_text){"why", 3};
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORT_TAKEN);
}

static void hide(struct handler_fixture *fixture, uint8_t number)
{
    report(fixture, number, 1);
    report(fixture, number, 2);
    assert_false(handler_fixture_finds(fixture, number));
}

static struct hearsay_request request_all(uint32_t limit, const uint8_t *cursor, size_t bytes)
{
    return (struct hearsay_request){
        .id = 3002,
        .name = "reported",
        .kind = HEARSAY_REQUEST_REPORTED,
        .reported = {.all = true, .limit = limit, .after = {cursor, cursor == NULL ? 0 : bytes}}};
}

/* Reads the page of a cursor, and replaces the cursor by that of the older or the newer page. */
static const struct hearsay_reported_list *turn_page(struct handler_fixture *fixture,
                                                     uint32_t limit, uint8_t *cursor, size_t *bytes,
                                                     bool newer)
{
    const struct hearsay_reported_list *found = &fixture->answer.reported_list;
    const struct hearsay_request request = request_all(limit, *bytes > 0 ? cursor : NULL, *bytes);

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORTED_LIST);
    const struct hearsay_bytes *next = newer ? &found->previous : &found->next;
    assert_true(next->count <= LIMIT_CURSOR_BYTES);
    if (next->count > 0) {
        memcpy(cursor, next->data, next->count);
    }
    *bytes = next->count;
    return found;
}

static void expect_page(const struct hearsay_reported_list *found, const char *numbers)
{
    assert_int_equal(found->message_count, strlen(numbers));
    for (size_t i = 0; i < found->message_count; i++) {
        assert_int_equal(found->messages[i].id.data[0], numbers[i] - '0');
    }
}

/* Newest first, whatever their state, but removed and expired ones; with what is known of each. */
MODERATED_TEST(all_are_listed)
{
    uint8_t cursor[LIMIT_CURSOR_BYTES];
    size_t bytes = 0;

    expect_page(turn_page(fixture, 0, cursor, &bytes, false), "");
    assert_int_equal(bytes, 0);
    fixture->service->hosts[0].config.remove_after_s = 60;
    for (uint8_t i = 1; i <= 6; i++) {
        deposit(fixture, i, "text");
    }
    report(fixture, 2, 1);
    hide(fixture, 3);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 4), HEARSAY_RESPONSE_HIDDEN);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 5), HEARSAY_RESPONSE_REMOVED);
    fixture->service->hosts[0].rules.has_accept = true;
    fixture->service->hosts[0].rules.accept = ACCEPT_REVIEW;
    deposit(fixture, 7, "held");
    const struct hearsay_reported_list *found = turn_page(fixture, 0, cursor, &bytes, false);
    expect_page(found, "764321");
    assert_int_equal(bytes, 0);
    assert_int_equal(found->total, 0);
    assert_true(found->messages[0].pending && found->messages[0].hidden);
    assert_true(found->messages[2].hidden && !found->messages[2].pending);
    assert_true(found->messages[3].hidden && found->messages[3].reports == 2);
    assert_true(!found->messages[4].hidden && found->messages[4].reports == 1);
    assert_int_equal(found->messages[4].reason_count, 1);
    assert_int_equal(found->messages[4].reasons[0].kind, HEARSAY_REPORT_SPAM);
    assert_true(!found->messages[5].hidden && found->messages[5].payload.count == 4);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 3), HEARSAY_RESPONSE_RESTORED);
    expect_page(turn_page(fixture, 0, cursor, &bytes, false), "376421"); /* it counts as new */
    fixture->clock.wall_ms += INT64_C(1000) * LONG_S;
    expect_page(turn_page(fixture, 0, cursor, &bytes, false), "");
}

/* A page stays where it is while messages come and go, and the way back leads past the same ones.
 */
MODERATED_TEST(pages_of_all_stay)
{
    uint8_t cursor[LIMIT_CURSOR_BYTES];
    uint8_t back[LIMIT_CURSOR_BYTES];
    size_t bytes = 0;
    size_t back_bytes;

    for (uint8_t i = 1; i <= 6; i++) {
        deposit(fixture, i, "text");
    }
    const struct hearsay_reported_list *found = turn_page(fixture, 2, cursor, &bytes, false);
    expect_page(found, "65");
    assert_int_equal(found->previous.count, 0);
    deposit(fixture, 7, "new");
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 5),
                     HEARSAY_RESPONSE_REMOVED); /* the cursor's */
    assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, 4), HEARSAY_RESPONSE_HIDDEN);
    found = turn_page(fixture, 2, cursor, &bytes, false);
    expect_page(found, "43");
    back_bytes = found->previous.count;
    memcpy(back, found->previous.data, back_bytes);
    expect_page(turn_page(fixture, 2, cursor, &bytes, false), "21");
    assert_int_equal(bytes, 0); /* these are the last ones */

    found = turn_page(fixture, 1, back, &back_bytes, true);
    expect_page(found, "6");
    memcpy(cursor, found->next.data, found->next.count);
    bytes = found->next.count;
    expect_page(turn_page(fixture, 1, cursor, &bytes, false), "4");
    expect_page(turn_page(fixture, 9, back, &back_bytes, true), "7");
    assert_int_equal(back_bytes, 0); /* nothing is newer */
    deposit(fixture, 8, "newer");
    deposit(fixture, 9, "newest");
    bytes = 0;
    found = turn_page(fixture, 3, cursor, &bytes, false);
    expect_page(found, "987");
    found = turn_page(fixture, 2, cursor, &bytes, false);
    expect_page(found, "64");
    memcpy(back, found->previous.data, found->previous.count);
    back_bytes = found->previous.count;
    expect_page(turn_page(fixture, 9, back, &back_bytes, true), "987"); /* newest first, too */
}

/* With pages whose messages have all gone, both ways lead on. */
MODERATED_TEST(empty_pages_of_all)
{
    uint8_t cursor[LIMIT_CURSOR_BYTES];
    size_t bytes = 0;

    for (uint8_t i = 1; i <= 4; i++) {
        deposit(fixture, i, "text");
    }
    expect_page(turn_page(fixture, 2, cursor, &bytes, false), "43");
    for (uint8_t i = 1; i <= 2; i++) {
        assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, i), HEARSAY_RESPONSE_REMOVED);
    }
    expect_page(turn_page(fixture, 2, cursor, &bytes, true), "");
    assert_int_equal(fixture->answer.reported_list.next.count, 0);
    for (uint8_t i = 3; i <= 4; i++) {
        assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, i), HEARSAY_RESPONSE_REMOVED);
    }
    expect_page(turn_page(fixture, 2, cursor, &bytes, false), "");
    assert_int_equal(fixture->answer.reported_list.previous.count, 0);
    deposit(fixture, 5, "text");
    expect_page(turn_page(fixture, 2, cursor, &bytes, false), "");
}

/* A cursor is what the list gave, and only the list of all messages has one. */
MODERATED_TEST(odd_cursors_are_refused)
{
    static const struct {
        const char *bytes;
        size_t count;
    } odd[] = {{"o", 1},
               {"x\0\0\0\0\0\0\0\1", 9},
               {"o\0\0\0\0\0\0\0\0", 9},
               {"n\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
               {"o\xff\xff\xff\xff\xff\xff\xff\xff", 9},
               {"o\0\0\0\0\0\0\0\1\0", 10}};

    deposit(fixture, 1, "text");
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct hearsay_request request =
            request_all(0, (const uint8_t *)odd[i].bytes, odd[i].count);
        assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_INVALID);
        assert_string_equal(fixture->answer.error.field, "after");
    }
    struct hearsay_request request = request_all(0, (const uint8_t *)"n\0\0\0\0\0\0\0\0", 9);
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORTED_LIST);
    expect_page(&fixture->answer.reported_list, "1");
    request.reported.all = false;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, "after");
    for (unsigned both = 0; both < 2; both++) {
        request = request_all(0, NULL, 0);
        request.reported.pending = both == 0;
        request.reported.withheld = both == 1;
        assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_INVALID);
        assert_string_equal(fixture->answer.error.field, "all");
    }
    fake_persist_fail_reads(fixture->persist);
    request = request_all(0, NULL, 0);
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_STORAGE);
    for (size_t n = 1, done = 0; done == 0; n++) {
        assert_true(n < 100);
        fail_alloc_arm(&fixture->alloc, n);
        done = handler_fixture_do(fixture, &request) == HEARSAY_RESPONSE_REPORTED_LIST;
        fail_alloc_arm(&fixture->alloc, 0);
        assert_true(done == 1 || fixture->answer.error.code == HEARSAY_CODE_INTERNAL);
    }
}
