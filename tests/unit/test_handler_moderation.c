/* SPDX-License-Identifier: Apache-2.0 */
/* Report, Remove, Restore and Reported: what they change, when, and what remains when they fail. */
#include "daemon/watch/watch.h"
#include "tests/lib/host_count.h"
#include "tests/unit/moderated_fixture.h"

static enum hearsay_code refused(struct handler_fixture *fixture, enum hearsay_request_kind kind,
                                 uint8_t number)
{
    return handler_fixture_refused(fixture, handler_fixture_about(kind, number));
}

static enum hearsay_response_kind report(struct handler_fixture *fixture, uint8_t number,
                                         uint32_t sender)
{
    fixture->client.sender_tag = sender;
    return about(fixture, HEARSAY_REQUEST_REPORT, number);
}

static void hide(struct handler_fixture *fixture, uint8_t number)
{
    assert_int_equal(report(fixture, number, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(report(fixture, number, 2), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_false(handler_fixture_finds(fixture, number));
}

static const struct hearsay_reported_list *list(struct handler_fixture *fixture, bool pending,
                                                uint32_t limit)
{
    const struct hearsay_request request = {.id = 3000,
                                            .name = "reported",
                                            .kind = HEARSAY_REQUEST_REPORTED,
                                            .reported = {.pending = pending, .limit = limit}};

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORTED_LIST);
    return &fixture->answer.reported_list;
}

static uint64_t usage(const struct handler_fixture *fixture)
{
    const struct service *service = fixture->service;

    assert_int_equal(service->usage.messages, service->hosts[0].usage.messages);
    assert_int_equal(service->usage.bytes, service->hosts[0].usage.bytes);
    return service->usage.messages;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* The second sender's report hides it, when it is stored and not before; it still counts. */
MODERATED_TEST(reports_hide_when_they_are_stored)
{
    deposit(fixture, 1, "rude");
    deposit(fixture, 2, "fine");
    assert_int_equal(report(fixture, 1, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(report(fixture, 1, 1), HEARSAY_RESPONSE_REPORT_TAKEN); /* counts once */
    assert_true(handler_fixture_finds(fixture, 1));
    fixture->client.sender_tag = 2;
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_REPORT, 1));
    assert_non_null(service_host(fixture->service, NULL));
    assert_int_equal(host_count(&fixture->service->hosts[0]), 2);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(host_count(&fixture->service->hosts[0]), 1);
    assert_false(handler_fixture_finds(fixture, 1));
    assert_true(handler_fixture_finds(fixture, 2));
    assert_int_equal(usage(fixture), 2);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_REPORT, 1), HEARSAY_CODE_NOT_FOUND);
}

/* What could not be stored does not count, and its sender may report again. */
MODERATED_TEST(a_failed_report_does_not_count)
{
    deposit(fixture, 1, "rude");
    fixture->client.sender_tag = 1;
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_REPORT, 1), HEARSAY_CODE_STORAGE);
    assert_int_equal(list(fixture, false, 0)->total, 0);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 1),
                     HEARSAY_CODE_INVALID); /* there is nothing to be restored */
    assert_int_equal(report(fixture, 1, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(list(fixture, false, 0)->messages[0].reports, 1);
    fake_persist_fail_next(fixture->persist);
    fixture->client.sender_tag = 2;
    (void)refused(fixture, HEARSAY_REQUEST_REPORT, 1);
    assert_true(handler_fixture_finds(fixture, 1));
    assert_int_equal(list(fixture, false, 0)->messages[0].reports, 1);
    assert_false(fixture->answer.reported_list.messages[0].hidden);
    assert_int_equal(report(fixture, 1, 2), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_false(handler_fixture_finds(fixture, 1));
}

/* A message that goes while its report is on its way leaves nothing behind, nor does the next. */
MODERATED_TEST(reports_of_what_goes_meanwhile)
{
    deposit(fixture, 1, "rude");
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_REMOVE, 1));
    fixture->client.sender_tag = 1;
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_REPORT, 1));
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(fixture->service->hosts[0].moderation.count, 0);
    assert_int_equal(usage(fixture), 0);
}

/* Nothing bounds the grave kinds, but the log is told once they have hidden more than others may.
 */
MODERATED_TEST(many_grave_reports_are_told)
{
    const struct hide_rate *rate = &fixture->service->hosts[0].grave_rate;

    for (uint8_t number = 1; number <= 6; number++) {
        deposit(fixture, number, "nice");
    }
    for (uint8_t number = 1; number <= 6; number++) {
        for (uint32_t sender = 1; sender <= 2; sender++) {
            struct hearsay_request request = *handler_fixture_about(HEARSAY_REQUEST_REPORT, number);
            fixture->client.sender_tag = sender;
            request.report.kind = HEARSAY_REPORT_ILLEGAL;
            assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORT_TAKEN);
        }
        assert_false(handler_fixture_finds(fixture, number));
        assert_int_equal(rate->count, number < 3 ? number : 3); /* as many as others may hide */
        assert_int_equal(rate->was_told, number > 3);
    }
}

/* Reports a message with a reason of `length` bytes. Returns the length of the newest one kept. */
static size_t report_at_length(struct handler_fixture *fixture, uint8_t number, uint32_t sender,
                               size_t length)
{
    static char text[LIMIT_REASON_BYTES];
    struct hearsay_request request = *handler_fixture_about(HEARSAY_REQUEST_REPORT, number);

    memset(text, 'r', sizeof(text));
    fixture->client.sender_tag = sender;
    request.report.kind = HEARSAY_REPORT_SPAM;
    request.report.reason = (struct hearsay_text){text, length};
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORT_TAKEN);
    const struct hearsay_reported_message *message = &list(fixture, false, 0)->messages[0];
    assert_int_equal(message->reports, sender);
    assert_int_equal(message->reason_count, sender);
    assert_int_equal(message->reasons[sender - 1].kind, HEARSAY_REPORT_SPAM);
    return message->reasons[sender - 1].text.length;
}

/* A 16th of the host's bytes is kept of the reasons. What comes besides counts, without its text.
 */
TEST(reasons_are_bounded)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "hide_after", "0");
    handler_fixture_set(fixture, "host default", "bytes", "32K");
    handler_fixture_start(fixture);
    deposit(fixture, 1, "rude");
    assert_int_equal(report_at_length(fixture, 1, 1, 1000), 1000);
    fake_persist_fail_next(fixture->persist);
    fixture->client.sender_tag = 2;
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_REPORT, 1), HEARSAY_CODE_STORAGE);
    assert_int_equal(report_at_length(fixture, 1, 2, 1000), 1000);
    assert_int_equal(report_at_length(fixture, 1, 3, 1000), 0);
    assert_int_equal(report_at_length(fixture, 1, 4, 48), 48);
    handler_close(fixture->service);
    handler_fixture_start(fixture); /* what is stored counts after a restart */
    assert_int_equal(report_at_length(fixture, 1, 5, 1), 0);
    assert_int_equal(fixture->service->hosts[0].moderation.texts_bytes, 2048);
    fixture->clock.wall_ms += INT64_C(1000) * LONG_S;
    service_sweep(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    deposit(fixture, 2, "ruder"); /* with the message its reasons have gone */
    assert_int_equal(report_at_length(fixture, 2, 1, 1000), 1000);
    handler_fixture_free(fixture);
}

/* Reports that do not count fill half of that: one device does not take the texts of all others. */
TEST(reasons_of_one_sender_leave_room)
{
    static const uint32_t senders[] = {1, 1, 1, 1, 2, 3, 4};
    static const uint32_t kept[] = {500, 1000, 1000, 1000, 1500, 2000, 2000};
    struct handler_fixture *fixture = handler_fixture_new();
    char text[500];

    memset(text, 'r', sizeof(text));
    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "hide_after", "0");
    handler_fixture_set(fixture, "host default", "hide_per_hour", "1");
    handler_fixture_set(fixture, "host default", "bytes", "32K");
    handler_fixture_start(fixture);
    for (uint8_t i = 0; i < 7; i++) {
        deposit(fixture, i, "rude");
        struct hearsay_request request = *handler_fixture_about(HEARSAY_REQUEST_REPORT, i);
        request.report.kind = HEARSAY_REPORT_SPAM;
        request.report.reason = (struct hearsay_text){text, sizeof(text)};
        fixture->client.sender_tag = senders[i];
        assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORT_TAKEN);
        assert_int_equal(fixture->service->hosts[0].moderation.texts_bytes, kept[i]);
    }
    handler_fixture_free(fixture);
}

/* --- restore ---------------------------------------------------------------------------------- */

MODERATED_TEST(restored_is_shown_for_good)
{
    deposit(fixture, 1, "fine");
    deposit(fixture, 2, "fine, too");
    hide(fixture, 1);
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_RESTORE, 1));
    (void)fake_persist_answer_reads(fixture->persist);
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_STORAGE);
    assert_false(handler_fixture_finds(fixture, 1));
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_CODE_STORAGE);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_RESPONSE_RESTORED);
    assert_true(handler_fixture_finds(fixture, 1));
    assert_int_equal(report(fixture, 1, 3), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(report(fixture, 1, 4), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_true(handler_fixture_finds(fixture, 1)); /* the operator has decided */
    assert_int_equal(usage(fixture), 2);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 2), HEARSAY_CODE_INVALID);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 9), HEARSAY_CODE_NOT_FOUND);
}

/* It expires after it was read to be shown, and before that is stored: nothing of it counts. */
MODERATED_TEST(expires_while_it_is_restored)
{
    deposit(fixture, 1, "fine");
    hide(fixture, 1);
    handler_fixture_ask(fixture, handler_fixture_about(HEARSAY_REQUEST_RESTORE, 1));
    fixture->clock.wall_ms += INT64_C(1000) * LONG_S;
    service_sweep(fixture->service);
    (void)fake_persist_answer_reads(fixture->persist);
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(usage(fixture), 0);
    assert_int_equal(fixture->service->usage.bytes, 0);
    assert_int_equal(fixture->service->hosts[0].moderation.count, 0);
}

/* --- remove ----------------------------------------------------------------------------------- */

MODERATED_TEST(removed_is_gone)
{
    deposit(fixture, 1, "rude");
    deposit(fixture, 2, "ruder");
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_REMOVE, 1), HEARSAY_CODE_STORAGE);
    assert_true(handler_fixture_finds(fixture, 1));
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 1), HEARSAY_RESPONSE_REMOVED);
    assert_false(handler_fixture_finds(fixture, 1));
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_REMOVE, 1), HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(handler_fixture_refused(fixture, handler_fixture_deposit(1, "rude", LONG_S)),
                     HEARSAY_CODE_ALREADY_EXISTS);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, 1), HEARSAY_CODE_REMOVED);
    hide(fixture, 2);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, 2), HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(usage(fixture), 1);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 2), HEARSAY_RESPONSE_REMOVED);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, 2), HEARSAY_CODE_REMOVED);
    assert_int_equal(usage(fixture), 0);
}

MODERATED_TEST(removed_and_banned)
{
    struct hearsay_request request;
    uint8_t value[LIMIT_HASH_BYTES] = {0};
    const struct persist_rule rule = {
        .kind = PERSIST_BAN_PAYLOAD, .value = value, .value_bytes = sizeof(value)};

    deposit(fixture, 1, "rude");
    request = *handler_fixture_about(HEARSAY_REQUEST_REMOVE, 1);
    request.remove.ban = true;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REMOVED);
    assert_int_equal(handler_fixture_refused(fixture, handler_fixture_deposit(2, "rude", LONG_S)),
                     HEARSAY_CODE_FORBIDDEN);
    assert_string_equal(fixture->answer.error.field, "payload");
    deposit(fixture, 3, "fine");

    for (uint32_t i = 1; fixture->service->hosts[0].rules.ban_count < LIMIT_BANS; i++) {
        memcpy(value, &i, sizeof(i));
        assert_int_equal(rules_put(&fixture->service->hosts[0].rules, &rule), 0);
    }
    request = *handler_fixture_about(HEARSAY_REQUEST_REMOVE, 3);
    request.remove.ban = true;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_QUOTA);
    assert_true(handler_fixture_finds(fixture, 3));
}

/* --- undo ------------------------------------------------------------------------------------- */

static const struct hearsay_reported_list *withheld(struct handler_fixture *fixture)
{
    const struct hearsay_request request = {.id = 3001,
                                            .name = "reported",
                                            .kind = HEARSAY_REQUEST_REPORTED,
                                            .reported = {.withheld = true}};

    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REPORTED_LIST);
    return &fixture->answer.reported_list;
}

/* Hidden without an end, in a list of its own, and shown again. */
MODERATED_TEST(hiding_can_be_undone)
{
    deposit(fixture, 1, "rude");
    deposit(fixture, 2, "rude, too");
    assert_int_equal(report(fixture, 2, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    for (uint8_t i = 0; i < 4; i++) { /* done twice is done once */
        assert_int_equal(about(fixture, HEARSAY_REQUEST_HIDE, i % 2 + 1), HEARSAY_RESPONSE_HIDDEN);
    }
    for (uint8_t i = 1; i <= 2; i++) {
        assert_false(handler_fixture_finds(fixture, i));
        assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, i), HEARSAY_CODE_NOT_FOUND);
    }
    assert_int_equal(list(fixture, false, 0)->total, 0); /* it is decided */
    assert_int_equal(withheld(fixture)->message_count, 2);
    assert_int_equal(fixture->answer.reported_list.messages[0].reports, 1);
    assert_int_equal(fixture->answer.reported_list.messages[0].destroyed_ms, 0);
    assert_int_equal(usage(fixture), 2);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_RESPONSE_RESTORED);
    assert_true(handler_fixture_finds(fixture, 1));
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_HIDE, 9), HEARSAY_CODE_NOT_FOUND);
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_HIDE, 1), HEARSAY_CODE_STORAGE);
    assert_true(handler_fixture_finds(fixture, 1));
}

/* Removed: nobody sees it, it can be restored until its time, and the sweep destroys it then. */
MODERATED_TEST(removing_can_be_undone)
{
    struct hearsay_request request;

    fixture->service->hosts[0].config.remove_after_s = 60;
    deposit(fixture, 1, "rude");
    request = *handler_fixture_about(HEARSAY_REQUEST_REMOVE, 1);
    request.remove.ban = true;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_REMOVED);
        const int64_t destroyed_ms = fixture->answer.removed.destroyed_ms;
        assert_int_equal(withheld(fixture)->messages[0].destroyed_ms, destroyed_ms);
        fixture->clock.wall_ms += i == 0 ? 10000 : 0;
        fixture->clock.monotonic_ms += i == 0 ? 10000 : 0;
    }
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, 1), HEARSAY_CODE_REMOVED);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_HIDE, 1), HEARSAY_CODE_INVALID);
    assert_int_equal(about(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_RESPONSE_RESTORED);
    assert_int_equal(fixture->answer.restored.banned_hash.count, LIMIT_HASH_BYTES); /* it stays */
    assert_true(handler_fixture_finds(fixture, 1));
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 1), HEARSAY_RESPONSE_REMOVED);
    fixture->clock.wall_ms += 60000;
    fixture->clock.monotonic_ms += 60000;
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_CODE_NOT_FOUND);
    assert_int_equal(usage(fixture), 1);
    service_sweep(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(usage(fixture), 0);
    assert_int_equal(withheld(fixture)->message_count, 0);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_GET, 1), HEARSAY_CODE_REMOVED);
    assert_int_equal(refused(fixture, HEARSAY_REQUEST_RESTORE, 1), HEARSAY_CODE_NOT_FOUND);
}

/* A decision at a copy: the owner destroys the message as soon as it has heard of it. */
MODERATED_TEST(removing_at_a_copy_promises_no_undo)
{
    fixture->service->hosts[0].config.remove_after_s = 60;
    deposit(fixture, 1, "rude");
    fixture->service->hosts[0].config.is_replica = true;
    assert_int_equal(about(fixture, HEARSAY_REQUEST_REMOVE, 1), HEARSAY_RESPONSE_REMOVED);
    assert_int_equal(fixture->answer.removed.destroyed_ms, 0);
    fixture->service->hosts[0].config.is_replica = false;
}

/* --- lists ------------------------------------------------------------------------------------ */

MODERATED_TEST(lists_are_in_order)
{
    for (uint8_t i = 1; i <= 4; i++) {
        deposit(fixture, i, "text");
        fixture->clock.wall_ms++;
    }
    fixture->service->hosts[0].rules.has_accept = true;
    fixture->service->hosts[0].rules.accept = ACCEPT_REVIEW;
    deposit(fixture, 5, "held");
    fixture->clock.wall_ms++;
    deposit(fixture, 6, "held, too");
    assert_int_equal(report(fixture, 3, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(report(fixture, 1, 1), HEARSAY_RESPONSE_REPORT_TAKEN);
    hide(fixture, 2);
    const struct hearsay_reported_list *found = list(fixture, false, 0);
    assert_int_equal(found->total, 3);
    assert_int_equal(found->message_count, 3);
    assert_int_equal(found->messages[0].id.data[0], 2); /* most reported, then newest */
    assert_int_equal(found->messages[1].id.data[0], 3);
    assert_int_equal(found->messages[2].id.data[0], 1);
    assert_true(found->messages[0].hidden && !found->messages[1].hidden);
    found = list(fixture, false, 1);
    assert_true(found->total == 3 && found->message_count == 1);
    found = list(fixture, true, 0);
    assert_int_equal(found->message_count, 2);
    assert_int_equal(found->messages[0].id.data[0], 5);
    assert_true(found->messages[0].pending && found->messages[0].hidden);
    fake_persist_fail_reads(fixture->persist);
    const struct hearsay_request request = {
        .id = 1, .name = "reported", .kind = HEARSAY_REQUEST_REPORTED};
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_STORAGE);
    fixture->clock.wall_ms += INT64_C(1000) * LONG_S; /* what has expired is not listed */
    assert_int_equal(list(fixture, true, 0)->total, 0);
}

/* --- who may, and memory ---------------------------------------------------------------------- */

MODERATED_TEST(only_the_operator_may)
{
    const enum hearsay_request_kind kinds[] = {HEARSAY_REQUEST_REMOVE, HEARSAY_REQUEST_RESTORE,
                                               HEARSAY_REQUEST_REPORTED, HEARSAY_REQUEST_HIDE,
                                               HEARSAY_REQUEST_DECISIONS};

    deposit(fixture, 1, "text");
    fixture->client.is_administrator = false;
    for (unsigned local = 0; local < 2; local++) {
        fixture->client.is_local = local;
        for (size_t i = 0; i < 5; i++) {
            struct hearsay_request request = *handler_fixture_about(kinds[i], 1);
            assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_FORBIDDEN);
        }
    }
    assert_true(handler_fixture_finds(fixture, 1));
}

/* Whichever request for memory fails, there is an answer, and the next try succeeds. */
MODERATED_TEST(memory_out_is_answered)
{
    const enum hearsay_request_kind kinds[] = {HEARSAY_REQUEST_REPORT, HEARSAY_REQUEST_REPORTED,
                                               HEARSAY_REQUEST_RESTORE, HEARSAY_REQUEST_REMOVE};

    deposit(fixture, 1, "text");
    for (size_t i = 0; i < 4; i++) {
        enum hearsay_response_kind kind = HEARSAY_RESPONSE_ERROR;
        fixture->client.sender_tag = 1;
        for (size_t n = 1; kind == HEARSAY_RESPONSE_ERROR; n++) {
            const struct hearsay_request request = *handler_fixture_about(kinds[i], 1);
            assert_true(n < 100);
            fail_alloc_arm(&fixture->alloc, n);
            kind = handler_fixture_do(fixture, &request);
            fail_alloc_arm(&fixture->alloc, 0);
            assert_true(kind != HEARSAY_RESPONSE_ERROR ||
                        fixture->answer.error.code == HEARSAY_CODE_INTERNAL);
        }
    }
    assert_int_equal(usage(fixture), 0);
}

/* Restores a message that waits for review, without memory for the n-th request. Returns whether it
 * is shown after the next start only. */
static bool is_shown_later(size_t n)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "accept", "review");
    handler_fixture_start(fixture);
    deposit(fixture, 1, "text");
    int64_t newest = fixture->service->watch->newest_seq;
    const struct hearsay_request request = *handler_fixture_about(HEARSAY_REQUEST_RESTORE, 1);
    fail_alloc_arm(&fixture->alloc, n);
    enum hearsay_response_kind kind = handler_fixture_do(fixture, &request);
    fail_alloc_arm(&fixture->alloc, 0);
    bool is_later = kind == HEARSAY_RESPONSE_ERROR &&
                    strstr(fixture->answer.error.message, "after its next start") != NULL;
    if (is_later) {
        assert_int_equal(fixture->service->watch->newest_seq, newest);
    }
    handler_fixture_free(fixture);
    return is_later;
}

/* A watch that begins before the next start is not told the number: it resumes before it. */
TEST(shown_later_has_no_number_yet)
{
    bool is_later = false;

    for (size_t n = 1; n <= 16; n++) {
        is_later = is_shown_later(n) || is_later;
    }
    assert_true(is_later);
}
