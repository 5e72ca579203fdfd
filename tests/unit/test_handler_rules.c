/* SPDX-License-Identifier: Apache-2.0 */
/* Ban, Unban, Bans and Accept: what is in force, from when on, and what refuses a deposit. */
#include "tests/lib/check.h"

#include <sodium.h>
#include <time.h>

#include "tests/lib/handler_fixture.h"

enum { LONG_S = 3600 };

static uint8_t hash_of_rude[LIMIT_HASH_BYTES];

static int setup(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    (void)setenv("TZ", "UTC", 1); /* schedules are by local time */
    (void)crypto_generichash(hash_of_rude, sizeof(hash_of_rude), (const uint8_t *)"rude", 4, NULL,
                             0);
    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "accept_schedule", "08:10-08:20 closed");
    handler_fixture_start(fixture);
    *state = fixture;
    return 0;
}

static struct hearsay_request ban_request(enum hearsay_request_kind kind)
{
    struct hearsay_request request = {.id = 5, .kind = kind};

    request.name = kind == HEARSAY_REQUEST_BAN ? "ban" : "unban";
    *(kind == HEARSAY_REQUEST_BAN ? &request.ban.payload_hash : &request.unban.payload_hash) =
        (struct hearsay_bytes){hash_of_rude, LIMIT_HASH_BYTES};
    return request;
}

static struct hearsay_request accept_request(const char *mode)
{
    struct hearsay_request request = {.id = 6, .name = "accept", .kind = HEARSAY_REQUEST_ACCEPT};

    if (mode != NULL) {
        request.accept.mode = (struct hearsay_text){mode, strlen(mode)};
    }
    return request;
}

static bool takes(struct handler_fixture *fixture, uint8_t number, const char *text)
{
    const enum hearsay_response_kind kind =
        handler_fixture_do(fixture, handler_fixture_deposit(number, text, LONG_S));

    assert_true(kind == HEARSAY_RESPONSE_DEPOSITED ||
                fixture->answer.error.code == HEARSAY_CODE_FORBIDDEN);
    return kind == HEARSAY_RESPONSE_DEPOSITED;
}

static const struct hearsay_accepting *accept_mode(struct handler_fixture *fixture,
                                                   const char *mode)
{
    const struct hearsay_request request = accept_request(mode);

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_ACCEPTING);
    return &fixture->answer.accepting;
}

/* --- bans ------------------------------------------------------------------------------------- */

/* A ban is in force when it is stored; what is there stays, and may be sent again. */
TEST_OF(payloads, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request ban = ban_request(HEARSAY_REQUEST_BAN);
    const struct hearsay_request unban = ban_request(HEARSAY_REQUEST_UNBAN);

    assert_true(takes(fixture, 1, "rude"));
    handler_fixture_ask(fixture, &ban);
    handler_fixture_ask(fixture, handler_fixture_deposit(2, "rude", LONG_S)); /* not yet */
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_DEPOSITED);
    assert_false(takes(fixture, 3, "rude"));
    assert_string_equal(fixture->answer.error.field, "payload");
    assert_true(takes(fixture, 3, "fine"));
    assert_true(takes(fixture, 1, "rude"));
    assert_true(fixture->answer.deposited.duplicate);
    assert_int_equal(handler_fixture_do(fixture, &unban), HEARSAY_RESPONSE_UNBANNED);
    assert_true(takes(fixture, 4, "rude"));
    assert_int_equal(handler_fixture_refused(fixture, &unban), HEARSAY_CODE_NOT_FOUND);
}

/* A filter and those within the distance, inclusive; banned again it has the new distance. */
TEST_OF(filters, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    uint8_t filter[HANDLER_FILTER_BYTES];
    struct hearsay_request ban = ban_request(HEARSAY_REQUEST_BAN);

    memcpy(filter, handler_fixture_deposit(10, "", LONG_S)->deposit.filter.data, sizeof(filter));
    ban.ban.payload_hash = (struct hearsay_bytes){NULL, 0};
    ban.ban.filter = (struct hearsay_bytes){filter, sizeof(filter)};
    assert_int_equal(handler_fixture_do(fixture, &ban), HEARSAY_RESPONSE_BANNED);
    assert_false(takes(fixture, 10, "text"));
    assert_string_equal(fixture->answer.error.field, "filter");
    assert_true(takes(fixture, 11, "text")); /* 9 of 11 bits are the same: 2/11 away */
    ban.ban.max_distance_ppm = 333333;
    assert_int_equal(handler_fixture_do(fixture, &ban), HEARSAY_RESPONSE_BANNED);
    assert_false(takes(fixture, 9, "text"));
    assert_true(takes(fixture, 12, "text")); /* 8 of 12: a third, which is more */
    ban.ban.max_distance_ppm = 333334;
    assert_int_equal(handler_fixture_do(fixture, &ban), HEARSAY_RESPONSE_BANNED);
    assert_false(takes(fixture, 8, "text"));
    assert_int_equal(fixture->service->hosts[0].rules.ban_count, 1);
    ban.ban.filter.count--;
    assert_int_equal(handler_fixture_refused(fixture, &ban), HEARSAY_CODE_PROFILE_MISMATCH);
}

TEST_OF(exactly_one_thing_is_banned, struct handler_fixture *fixture, setup,
        handler_fixture_tear_down)
{
    struct hearsay_request ban = ban_request(HEARSAY_REQUEST_BAN);

    ban.ban.filter = handler_fixture_deposit(1, "", LONG_S)->deposit.filter;
    assert_int_equal(handler_fixture_refused(fixture, &ban), HEARSAY_CODE_INVALID);
    ban.ban.filter = ban.ban.payload_hash = (struct hearsay_bytes){NULL, 0};
    assert_int_equal(handler_fixture_refused(fixture, &ban), HEARSAY_CODE_INVALID);
}

/* As many as fit a frame, on from where one says; a host has a thousand. */
TEST_OF(lists_of_bans, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    struct rules *rules = &fixture->service->hosts[0].rules;
    const struct hearsay_request ban = ban_request(HEARSAY_REQUEST_BAN);
    struct hearsay_request bans = {.id = 7, .name = "bans", .kind = HEARSAY_REQUEST_BANS};
    uint8_t value[LIMIT_FILTER_BYTES] = {0};
    uint32_t seen = 0;

    while (rules->ban_count < LIMIT_BANS) {
        memcpy(value, &rules->ban_count, sizeof(rules->ban_count));
        const struct persist_rule rule = {.kind = PERSIST_BAN_FILTER,
                                          .value = value,
                                          .value_bytes = HANDLER_FILTER_BYTES,
                                          .number = rules->ban_count};
        assert_int_equal(rules_put(rules, &rule), 0);
    }
    assert_int_equal(handler_fixture_refused(fixture, &ban), HEARSAY_CODE_QUOTA);
    do {
        bans.bans.skip = seen;
        assert_int_equal(handler_fixture_do(fixture, &bans), HEARSAY_RESPONSE_BAN_LIST);
        for (size_t i = 0; i < fixture->answer.ban_list.ban_count; i++) {
            assert_int_equal(fixture->answer.ban_list.bans[i].max_distance_ppm, seen++);
        }
    } while (fixture->answer.ban_list.more);
    assert_int_equal(seen, LIMIT_BANS);
    assert_true(bans.bans.skip > 0); /* they did not fit one frame */
    bans.bans.skip = seen + 1;
    assert_int_equal(handler_fixture_do(fixture, &bans), HEARSAY_RESPONSE_BAN_LIST);
    assert_int_equal(fixture->answer.ban_list.ban_count, 0);
}

/* --- which deposits are taken ----------------------------------------------------------------- */

TEST_OF(modes, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request wrong = accept_request("ajar");

    assert_string_equal(accept_mode(fixture, NULL)->mode.text, "open");
    assert_string_equal(accept_mode(fixture, NULL)->source.text, "configuration");
    assert_true(takes(fixture, 1, "text"));
    assert_string_equal(accept_mode(fixture, "review")->mode.text, "review");
    assert_string_equal(fixture->answer.accepting.source.text, "operator");
    assert_true(takes(fixture, 2, "text"));
    assert_true(fixture->answer.deposited.held);
    assert_false(handler_fixture_finds(fixture, 2));
    assert_string_equal(accept_mode(fixture, "closed")->mode.text, "closed");
    assert_false(takes(fixture, 3, "text"));
    assert_int_equal(fixture->answer.error.retry_after_ms, 0); /* nobody knows */
    assert_true(takes(fixture, 1, "text"));                    /* is there already */
    assert_int_equal(handler_fixture_refused(fixture, &wrong), HEARSAY_CODE_INVALID);
    assert_string_equal(accept_mode(fixture, "auto")->source.text, "configuration");
    assert_true(takes(fixture, 3, "text"));
}

/* By the clock, unless the operator has decided; who is refused is told for how long. */
TEST_OF(schedules, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    const int64_t minute_ms = 60 * 1000;
    const int64_t midnight_ms = (fixture->clock.wall_ms / day_ms + 1) * day_ms;

    fixture->clock.wall_ms = midnight_ms + (8 * 60 + 10) * minute_ms - 1;
    assert_true(takes(fixture, 1, "text"));
    fixture->clock.wall_ms += 1 + minute_ms;
    assert_false(takes(fixture, 2, "text"));
    assert_int_equal(fixture->answer.error.retry_after_ms, 9 * minute_ms);
    const struct hearsay_accepting *accepting = accept_mode(fixture, NULL);
    assert_string_equal(accepting->source.text, "schedule");
    assert_int_equal(accepting->until_ms, midnight_ms + (8 * 60 + 20) * minute_ms);
    assert_string_equal(accept_mode(fixture, "open")->source.text, "operator");
    assert_true(takes(fixture, 2, "text"));
    assert_string_equal(accept_mode(fixture, "auto")->mode.text, "closed");
    fixture->clock.wall_ms += 9 * minute_ms;
    assert_true(takes(fixture, 3, "text"));
}

/*
 * The told end is right on the days on which the local time is set forward and back: a mode lasts
 * an hour less or more, ends in the hour that is left out, or holds twice.
 */
TEST_OF(daylight_saving, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    enum { MARCH = 1806192000, OCTOBER = 1824940800 }; /* midnight UTC, 28 March and 31 October */
    static const struct {
        int64_t now_s;
        uint32_t from, to; /* minutes */
        uint32_t end;      /* in so many minutes */
    } cases[] = {
        {MARCH, 22 * 60, 6 * 60, 4 * 60},          /* at 1:00 CET until 6:00 CEST */
        {MARCH, 22 * 60, 2 * 60 + 30, 60},         /* there is no 2:30: until 3:00 CEST */
        {MARCH, 2 * 60, 3 * 60, 24 * 60},          /* there is no 2:00: until tomorrow's */
        {OCTOBER, 22 * 60, 6 * 60, 5 * 60},        /* at 2:00 CEST until 6:00 CET */
        {OCTOBER, 2 * 60 + 30, 4 * 60, 30},        /* until 2:30 CEST */
        {OCTOBER + 2400, 2 * 60 + 30, 4 * 60, 20}, /* at 2:40 CEST until 2:00 CET */
        {OCTOBER + 3600, 2 * 60 + 30, 4 * 60, 30}, /* at 2:00 CET until 2:30 CET */
        {OCTOBER + 6000, 2 * 60 + 30, 4 * 60, 80}, /* at 2:40 CET until 4:00 CET */
    };
    struct config_host *config = &fixture->service->hosts[0].config;

    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        config->schedule[0].from = (uint16_t)cases[i].from;
        config->schedule[0].to = (uint16_t)cases[i].to;
        fixture->clock.wall_ms = cases[i].now_s * 1000;
        assert_int_equal(accept_mode(fixture, NULL)->until_ms,
                         (cases[i].now_s + 60 * cases[i].end) * 1000);
    }
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    tzset();
}

/* --- notices ---------------------------------------------------------------------------------- */

static struct hearsay_request notice_request(const char *text, int64_t until_ms, uint32_t drop)
{
    struct hearsay_request request = {.id = 8, .name = "notice", .kind = HEARSAY_REQUEST_NOTICE};

    request.notice.text = (struct hearsay_text){text, text == NULL ? 0 : strlen(text)};
    request.notice.until_ms = until_ms;
    request.notice.drop = drop;
    return request;
}

/* In force when it is stored, until its end. */
TEST_OF(notices, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const int64_t until_ms = fixture->clock.wall_ms + 1000;
    const struct hearsay_request list = notice_request(NULL, 0, 0);
    const struct hearsay_request first = notice_request("one", until_ms, 0);
    const struct hearsay_request second = notice_request("two", 0, 0);
    const struct hearsay_request late = notice_request("late", fixture->clock.wall_ms, 0);
    const struct hearsay_request drop = notice_request(NULL, 0, 2);

    assert_false(fixture->service->clock.holds);
    handler_fixture_ask(fixture, &first);
    assert_true(fixture->service->clock.holds); /* the notice moves with the clock */
    assert_int_equal(fixture->service->hosts[0].rules.notice_count, 0); /* not yet */
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_NOTICED);
    assert_int_equal(handler_fixture_refused(fixture, &late), HEARSAY_CODE_INVALID);
    assert_int_equal(handler_fixture_do(fixture, &second), HEARSAY_RESPONSE_NOTICED);
    assert_int_equal(fixture->answer.noticed.notice_count, 2);
    assert_string_equal(fixture->answer.noticed.notices[0].text.text, "one");
    assert_true(fixture->answer.noticed.notices[0].until_ms == until_ms);
    assert_null(fixture->answer.noticed.notices[0].lang.text);
    fixture->clock.wall_ms = until_ms - 1;
    assert_int_equal(handler_fixture_do(fixture, &list), HEARSAY_RESPONSE_NOTICED);
    assert_int_equal(fixture->answer.noticed.notice_count, 2);
    fixture->clock.wall_ms = until_ms;
    assert_int_equal(handler_fixture_do(fixture, &list), HEARSAY_RESPONSE_NOTICED);
    assert_int_equal(fixture->answer.noticed.notice_count, 1);
    assert_int_equal(fixture->answer.noticed.notices[0].number, 2);
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(handler_fixture_refused(fixture, &drop), HEARSAY_CODE_STORAGE);
    assert_int_equal(handler_fixture_do(fixture, &drop), HEARSAY_RESPONSE_NOTICED);
    assert_int_equal(fixture->answer.noticed.notice_count, 0);
}

/* --- what fails ------------------------------------------------------------------------------- */

TEST_OF(failing_storage_changes_nothing, struct handler_fixture *fixture, setup,
        handler_fixture_tear_down)
{
    const struct hearsay_request requests[] = {
        ban_request(HEARSAY_REQUEST_BAN),
        accept_request("closed"),
        notice_request("text", 0, 0),
    };

    for (size_t i = 0; i < 3; i++) {
        fake_persist_fail_next(fixture->persist);
        assert_int_equal(handler_fixture_refused(fixture, &requests[i]), HEARSAY_CODE_STORAGE);
        assert_int_equal(fixture->answer.error.retry_after_ms, 5000);
    }
    assert_true(takes(fixture, 1, "rude"));
    assert_int_equal(handler_fixture_do(fixture, &requests[0]), HEARSAY_RESPONSE_BANNED);
    fake_persist_fail_next(fixture->persist);
    const struct hearsay_request unban = ban_request(HEARSAY_REQUEST_UNBAN);
    assert_int_equal(handler_fixture_refused(fixture, &unban), HEARSAY_CODE_STORAGE);
    assert_false(takes(fixture, 2, "rude"));
}

TEST_OF(memory_and_rights, struct handler_fixture *fixture, setup, handler_fixture_tear_down)
{
    const struct hearsay_request bans = {.id = 7, .name = "bans", .kind = HEARSAY_REQUEST_BANS};
    const struct hearsay_request requests[] = {
        ban_request(HEARSAY_REQUEST_BAN), bans, accept_request("review"),
        ban_request(HEARSAY_REQUEST_UNBAN), notice_request("text", 0, 0)};

    for (size_t i = 0; i < 5; i++) {
        enum hearsay_response_kind kind = HEARSAY_RESPONSE_ERROR;
        for (size_t n = 1; kind == HEARSAY_RESPONSE_ERROR; n++) {
            assert_true(n < 100);
            fail_alloc_arm(&fixture->alloc, n);
            kind = handler_fixture_do(fixture, &requests[i]);
            fail_alloc_arm(&fixture->alloc, 0);
            assert_true(kind != HEARSAY_RESPONSE_ERROR ||
                        fixture->answer.error.code == HEARSAY_CODE_INTERNAL);
        }
    }
    fixture->client.is_administrator = false;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(handler_fixture_refused(fixture, &requests[i]), HEARSAY_CODE_FORBIDDEN);
        assert_string_equal(fixture->answer.error.field, requests[i].name);
    }
}
