/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes and Apply, without a loop: who is served, what waits for a change and how the wait ends,
 * and what happens when each allocation fails.
 */
#include "daemon/watch/feed.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"

enum { FIRST = 1, WAIT_MS = 500, HOUR_MS = 3600000 };

static const struct hearsay_text owner = {"default", 7};
static const struct hearsay_text copy = {"copy", 4};

static struct handler_fixture *fixture;

static int setup(void **state)
{
    (void)state;
    fixture = handler_fixture_new();
    config_add_host(&fixture->config, "default");
    config_add_host(&fixture->config, "copy");
    handler_fixture_set(fixture, "host default", "replicate", "yes");
    handler_fixture_set(fixture, "host copy", "role", "replica");
    handler_fixture_set(fixture, "host copy", "messages", "2");
    handler_fixture_start(fixture);
    fixture->client.is_administrator = false;
    fixture->client.is_bridge = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    handler_fixture_free(fixture);
    return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static struct hearsay_request changes_after(uint64_t after, uint32_t wait_ms)
{
    return (struct hearsay_request){.id = 7,
                                    .name = "changes",
                                    .kind = HEARSAY_REQUEST_CHANGES,
                                    .changes = {.host = owner, .after = after, .wait_ms = wait_ms}};
}

static void deposit(uint8_t number)
{
    fixture->client.is_bridge = false;
    assert_int_equal(handler_fixture_do(fixture, handler_fixture_deposit(number, "x", 3600)),
                     HEARSAY_RESPONSE_DEPOSITED);
    fixture->client.is_bridge = true;
}

/* A message as its owner has it. The filter is the one of a deposit of this number. */
static struct hearsay_change message_of(uint8_t number)
{
    static uint8_t ids[256][MESSAGE_ID_BYTES];
    static uint8_t filters[256][HANDLER_FILTER_BYTES];
    const struct hearsay_deposit *like = &handler_fixture_deposit(number, "x", 3600)->deposit;
    const int64_t now_ms = service_now_ms(fixture->service);

    memcpy(ids[number], like->id.data, MESSAGE_ID_BYTES);
    memcpy(filters[number], like->filter.data, HANDLER_FILTER_BYTES);
    return (struct hearsay_change){
        .has_message = true,
        .message = {.id = {ids[number], MESSAGE_ID_BYTES},
                    .filter = {filters[number], HANDLER_FILTER_BYTES},
                    .payload = {(const uint8_t *)"x", 1},
                    .deposited_ms = now_ms,
                    .expires_ms = now_ms + HOUR_MS,
                    .reach_ppm = LIMIT_DISTANCE_PPM},
    };
}

static struct hearsay_request apply_of(const struct hearsay_change *changes, size_t count)
{
    return (struct hearsay_request){
        .id = 8,
        .name = "apply",
        .kind = HEARSAY_REQUEST_APPLY,
        .apply = {
            .host = copy, .changes = changes, .change_count = count, .as = HEARSAY_AS_REPLICA}};
}

/* A turn of the loop, as far as waits are concerned. */
static void turn(void)
{
    feed_turn(fixture->service);
    (void)handler_fixture_settle(fixture);
}

/* --- Changes ---------------------------------------------------------------------------------- */

/* It is answered when a change is there, when its time is over, and when the service stops. */
TEST_WITH(a_wait_ends, setup, teardown)
{
    struct hearsay_request request = changes_after(0, WAIT_MS);

    handler_fixture_ask(fixture, &request);
    (void)handler_fixture_settle(fixture);
    turn();
    assert_int_equal(fixture->answers, 0);
    deposit(FIRST);
    turn();
    assert_int_equal(fixture->answers, 2);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_CHANGED);
    assert_int_equal(fixture->answer.changed.change_count, 1);
    const uint64_t next = fixture->answer.changed.next;

    request = changes_after(next, WAIT_MS);
    handler_fixture_ask(fixture, &request);
    (void)handler_fixture_settle(fixture);
    fake_clock_advance(&fixture->clock, WAIT_MS - 1);
    turn();
    assert_int_equal(fixture->answers, 2);
    fake_clock_advance(&fixture->clock, 1);
    turn();
    assert_int_equal(fixture->answers, 3);
    assert_int_equal(fixture->answer.changed.change_count, 0);
    assert_int_equal(fixture->answer.changed.next, next);

    fake_clock_advance(&fixture->clock, 1);
    request = changes_after(next, WAIT_MS);
    handler_fixture_ask(fixture, &request);
    (void)handler_fixture_settle(fixture);
    fixture->service->stopping = true;
    turn();
    assert_int_equal(fixture->answers, 4);
}

/* A client that has gone gets nothing, and holds nothing. */
TEST_WITH(who_goes_waits_no_more, setup, teardown)
{
    struct hearsay_request request = changes_after(0, WAIT_MS);

    handler_fixture_ask(fixture, &request);
    (void)handler_fixture_settle(fixture);
    assert_int_equal(fixture->client.work_count, 1);
    fixture->client.is_gone = true;
    fixture->service->feed.has_news = true;
    turn();
    assert_int_equal(fixture->client.work_count, 0);
    fixture->client.is_gone = false;
}

/* Each allocation fails: an error, and nothing is held. */
TEST_WITH(changes_without_memory, setup, teardown)
{
    const struct hearsay_request request = changes_after(0, 0);

    deposit(FIRST);
    for (size_t n = 1;; n++) {
        const size_t blocks = fixture->alloc.live_blocks;

        fail_alloc_arm(&fixture->alloc, n);
        const enum hearsay_response_kind kind = handler_fixture_do(fixture, &request);
        const bool failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        assert_int_equal(kind, failed ? HEARSAY_RESPONSE_ERROR : HEARSAY_RESPONSE_CHANGED);
        if (!failed) {
            assert_int_equal(fixture->answer.changed.change_count, 1);
            break;
        }
        assert_int_equal(fixture->answer.error.code, HEARSAY_CODE_INTERNAL);
        assert_true(fixture->alloc.live_blocks <= blocks + 1); /* the arena keeps its memory */
    }
}

/* --- Apply ------------------------------------------------------------------------------------ */

/* What has no room is left out and counted; the rest is there, and the usage counts it once. */
TEST_WITH(what_fits_is_applied, setup, teardown)
{
    const struct hearsay_change changes[] = {message_of(1), message_of(2), message_of(3)};
    const struct hearsay_request request = apply_of(changes, 3);
    const struct host *host = &fixture->service->hosts[1];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_APPLIED);
        assert_int_equal(fixture->answer.applied.changed, i == 0 ? 2 : 0);
        assert_int_equal(fixture->answer.applied.no_room, 1);
        assert_int_equal(host->usage.messages, 2);
        assert_int_equal(host->waiting.messages, 0);
        assert_true(host_has(host, changes[0].message.id.data, 0));
        assert_true(host_has(host, changes[1].message.id.data, 0));
        assert_false(host_has(host, changes[2].message.id.data, 0));
    }
}

/* What has expired takes no room, though no sweep has come; nor does what the request takes away,
 * wherever it says so, and however often. A message that has expired needs none. */
TEST_WITH(what_goes_makes_room, setup, teardown)
{
    struct hearsay_change changes[] = {message_of(1), message_of(2), message_of(3), message_of(4)};
    const struct host *host = &fixture->service->hosts[1];
    struct hearsay_change gone = {.has_gone = true};

    changes[0].message.expires_ms = changes[0].message.deposited_ms + 1;
    const struct hearsay_request first = apply_of(changes, 2);
    assert_int_equal(handler_fixture_do(fixture, &first), HEARSAY_RESPONSE_APPLIED);
    fake_clock_advance(&fixture->clock, 2);
    assert_int_equal(host->usage.messages, 2);
    const struct hearsay_request second =
        apply_of((struct hearsay_change[]){changes[0], changes[2]}, 2);
    assert_int_equal(handler_fixture_do(fixture, &second), HEARSAY_RESPONSE_APPLIED);
    assert_int_equal(fixture->answer.applied.changed, 1);
    assert_int_equal(fixture->answer.applied.no_room, 0);
    assert_true(host_has(host, changes[2].message.id.data, 0));
    gone.gone = (struct hearsay_gone){.id = changes[1].message.id,
                                      .until_ms = changes[1].message.expires_ms,
                                      .why = HEARSAY_WAS_EVICTED};
    const struct hearsay_change fifth = message_of(5);
    const struct hearsay_request third =
        apply_of((struct hearsay_change[]){changes[3], fifth, gone, gone}, 4);
    assert_int_equal(handler_fixture_do(fixture, &third), HEARSAY_RESPONSE_APPLIED);
    assert_int_equal(fixture->answer.applied.changed, 2);
    assert_int_equal(fixture->answer.applied.no_room, 1);
    assert_true(host_has(host, changes[3].message.id.data, 0));
    assert_false(host_has(host, fifth.message.id.data, 0));
    assert_int_equal(host->usage.messages, 2);
    assert_int_equal(host->waiting.messages, 0);
}

/* --- rules ------------------------------------------------------------------------------------ */

/* A notice with one letter as its text; numbered as if it were the first one. */
static struct hearsay_change notice_of(char letter, bool dropped)
{
    static uint8_t values[128][2];
    uint8_t *value = values[(uint8_t)letter];

    value[1] = (uint8_t)letter; /* after the end of the language, which is not said */
    return (struct hearsay_change){.has_rule = true,
                                   .rule = {.kind = PERSIST_NOTICE,
                                            .value = {value, 2},
                                            .number = 1,
                                            .created_ms = service_now_ms(fixture->service),
                                            .until_ms = dropped ? INT64_MAX / 1000000 : 0,
                                            .dropped = dropped}};
}

/* Applies notices: a capital letter drops that of the small one. */
static void apply_notices(struct hearsay_text host, enum hearsay_apply_as as, const char *letters)
{
    struct hearsay_change changes[16];
    size_t count = strlen(letters);

    for (size_t i = 0; i < count; i++) {
        bool dropped = letters[i] < 'a';

        changes[i] = notice_of(dropped ? (char)(letters[i] - 'A' + 'a') : letters[i], dropped);
    }
    struct hearsay_request request = apply_of(changes, count);
    request.apply.host = host;
    request.apply.as = as;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_APPLIED);
}

/* The notices of the host, in no order, without those whose letters are in `letters`. */
static void check_notices(const struct host *host, const char *letters)
{
    uint32_t numbers = 0;

    assert_int_equal(host->rules.notice_count, strlen(letters));
    for (size_t i = 0; i < host->rules.notice_count; i++) {
        assert_non_null(strchr(letters, host->rules.notices[i]->value[1]));
        numbers |= 1U << host->rules.notices[i]->number;
    }
    assert_int_equal(numbers, (2U << host->rules.notice_count) - 2);
}

/* A notice has room that an earlier or a later change of the same request drops. A copy that has no
 * room for one says so, and gets it again later. */
TEST_WITH(dropped_notices_make_room, setup, teardown)
{
    const struct host *host = &fixture->service->hosts[1];

    apply_notices(copy, HEARSAY_AS_REPLICA, "abcde");
    apply_notices(copy, HEARSAY_AS_REPLICA, "AfgB");
    assert_int_equal(fixture->answer.applied.changed, 4);
    assert_int_equal(fixture->answer.applied.no_room, 0);
    check_notices(host, "cdefg");
    apply_notices(copy, HEARSAY_AS_REPLICA, "hC");
    check_notices(host, "defgh");
    apply_notices(copy, HEARSAY_AS_REPLICA, "ijJ"); /* j has come and gone */
    assert_int_equal(fixture->answer.applied.no_room, 1);
    assert_int_equal(fixture->answer.applied.conflicts, 0);
    check_notices(host, "defgh");
}

static void ask_as_operator(const struct hearsay_request *request)
{
    fixture->client.is_administrator = true;
    handler_fixture_ask(fixture, request);
    fixture->client.is_administrator = false;
}

/* Notices of an operator and of the bridge that wait for the store at the same time have different
 * numbers, and are no more than five. */
TEST_WITH(waiting_notices_have_numbers, setup, teardown)
{
    const struct host *host = &fixture->service->hosts[1];
    const struct hearsay_change changes[] = {notice_of('b', false), notice_of('c', false)};
    struct hearsay_request own = {.id = 9, .name = "notice", .kind = HEARSAY_REQUEST_NOTICE};
    struct hearsay_request others = apply_of(changes, 2);

    own.notice.host = copy;
    own.notice.text = (struct hearsay_text){"a", 1};
    ask_as_operator(&own);
    handler_fixture_ask(fixture, &others);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_APPLIED);
    check_notices(host, "abc");
    apply_notices(copy, HEARSAY_AS_REPLICA, "d");
    own.notice.text.text = "e";
    ask_as_operator(&own);
    const struct hearsay_change sixth = notice_of('f', false);
    others = apply_of(&sixth, 1);
    handler_fixture_ask(fixture, &others); /* answered at once */
    assert_int_equal(fixture->answer.applied.no_room, 1);
    assert_int_equal(handler_fixture_settle(fixture), HEARSAY_RESPONSE_NOTICED);
    check_notices(host, "abcde");
}

/* What an operator at a copy has put in the place of another notice has room at the owner, too. A
 * notice without room is not refused: which other decisions of the operator come later, nobody
 * knows. */
TEST_WITH(decided_notices_have_room, setup, teardown)
{
    const struct host *host = &fixture->service->hosts[0];

    apply_notices(owner, HEARSAY_AS_OPERATOR, "abcde");
    apply_notices(owner, HEARSAY_AS_OPERATOR, "AfBg");
    check_notices(host, "cdefg");
    apply_notices(owner, HEARSAY_AS_OPERATOR, "h");
    assert_int_equal(fixture->answer.applied.no_room, 1);
    check_notices(host, "cdefg");
    apply_notices(owner, HEARSAY_AS_OPERATOR, "C");
    apply_notices(owner, HEARSAY_AS_OPERATOR, "h");
    assert_int_equal(fixture->answer.applied.no_room, 0);
    check_notices(host, "defgh");
}

/* Each allocation fails: an error, or a message that the next start finds; the usage is right. */
TEST_WITH(apply_without_memory, setup, teardown)
{
    const struct host *host = &fixture->service->hosts[1];

    for (size_t n = 1;; n++) {
        const struct hearsay_change change = message_of(1);
        const struct hearsay_request request = apply_of(&change, 1);

        fail_alloc_arm(&fixture->alloc, n);
        const enum hearsay_response_kind kind = handler_fixture_do(fixture, &request);
        const bool failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        assert_int_equal(host->waiting.messages, 0);
        assert_true(kind == HEARSAY_RESPONSE_APPLIED ||
                    (failed && fixture->answer.error.code == HEARSAY_CODE_INTERNAL));
        if (kind == HEARSAY_RESPONSE_APPLIED) {
            assert_int_equal(fixture->answer.applied.changed, 1);
            assert_int_equal(host->usage.messages,
                             host_has(host, change.message.id.data, 0) ? 1 : 0);
            assert_true(failed || host_has(host, change.message.id.data, 0));
            break;
        }
        assert_int_equal(host->usage.messages, 0);
    }
}

/* --- who is served ---------------------------------------------------------------------------- */

/* Apply is for bridges, Changes also for administrators; neither for others. */
TEST_WITH(others_are_refused, setup, teardown)
{
    const struct hearsay_change change = message_of(1);
    const struct hearsay_request apply = apply_of(&change, 1);
    const struct hearsay_request changes = changes_after(0, 0);

    fixture->client.is_bridge = false;
    assert_int_equal(handler_fixture_refused(fixture, &apply), HEARSAY_CODE_UNSUPPORTED);
    assert_int_equal(handler_fixture_refused(fixture, &changes), HEARSAY_CODE_FORBIDDEN);
    fixture->client.is_administrator = true;
    assert_int_equal(handler_fixture_refused(fixture, &apply), HEARSAY_CODE_UNSUPPORTED);
    assert_int_equal(handler_fixture_do(fixture, &changes), HEARSAY_RESPONSE_CHANGED);
}
