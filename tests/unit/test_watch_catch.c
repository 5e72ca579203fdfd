/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches that catch up with what was deposited before: in what order, at what cost, and what else
 * goes on meanwhile.
 */
#include "daemon/watch/watch.h"

#include "tests/lib/check.h"
#include "tests/unit/watch_fixture.h"

enum {
    PAGE = 64, /* messages read at a time for one watch: daemon/watch/inner.h */
    READS = 4, /* pages under way: the same */
};

/* --- catching up ------------------------------------------------------------------------------ */

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct watch_fixture *fixture, watch_fixture_setup, watch_fixture_teardown)

/* Pages of what came before, then what came meanwhile, in order, each once. */
FIXTURE_TEST(test_catch_up)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 2 * PAGE + 10);
    watch_fixture_watch(fixture, client, 3);
    assert_int_equal(client->watching_seq, 2 * PAGE + 10);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 1);
    watch_fixture_deposit(fixture, 1,
                          5); /* newer than the watch: they come when the rest has been read */
    watch_turn(fixture->service);
    assert_int_equal(client->count, 0);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    watch_turn(fixture->service);
    watch_fixture_expect(client, 4, PAGE);
    watch_fixture_deposit(fixture, 1, 5);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 4, 2 * PAGE + 10 + 10 - 3);
    assert_null(fixture->service->watch->catching);
    watch_fixture_deposit(fixture, 1, 1);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 4, 2 * PAGE + 10 + 11 - 3);
}

/* A position that is the newest, or of a store that was set back since: there is nothing to read.
 */
FIXTURE_TEST(test_nothing_to_catch_up)
{
    watch_fixture_deposit(fixture, 1, 3);
    watch_fixture_watch(fixture, &fixture->clients[0], 3);
    watch_fixture_watch(fixture, &fixture->clients[1], 1000);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 0);
    watch_fixture_deposit(fixture, 1, 2);
    watch_fixture_settle(fixture);
    watch_fixture_expect(&fixture->clients[0], 4, 2);
    watch_fixture_expect(&fixture->clients[1], 4, 2);
}

/* A page is read only when there is room for it: the client's queue is empty. */
FIXTURE_TEST(test_catch_up_waits_for_room)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 2 * PAGE);
    client->room = 0;
    watch_fixture_watch(fixture, client, 0);
    watch_fixture_settle(fixture);
    assert_int_equal(fixture->service->watch->reads, 0);
    client->room = 5;
    (void)watch_client_has_room(fixture->service, &client->client);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 5);
    assert_int_equal(fixture->service->watch->counts.matches, PAGE - 5); /* one page, no more */
    client->room = WATCH_FIXTURE_PUSHES_MAX;
    (void)watch_client_has_room(fixture->service, &client->client);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 2 * PAGE);
}

/* Lets limits hold for a client: one token a second, `burst` at most. */
static void limit(struct watch_fixture *fixture, struct watch_client *client, uint32_t burst)
{
    const struct sender_address address = {.kind = SENDER_IPV6_ON_LINK, .bytes = {0xfd}};
    struct sender_limits *limits = &fixture->service->sender_limits;

    limits->rates[SENDER_QUERY] = (struct bucket_rate){.per_minute = 60, .burst = burst};
    assert_int_equal(senders_enter(fixture->service->senders, &address, limits,
                                   fixture->clock.wall_ms, &client->client.sender),
                     0);
}

/* The client's end gives its sender back. */
static void leave_limited(struct watch_client *client)
{
    struct sender *sender = client->client.sender;

    watch_fixture_leave(client);
    client->client.sender = NULL;
    senders_leave(sender);
}

/*
 * Each page costs a token, so that reading all of a store by a watch takes no fewer than asking for
 * it would. Without tokens catching up pauses, and goes on when there are some; a quarter of the
 * burst is left to what the client asks meanwhile.
 */
FIXTURE_TEST(test_pages_cost_tokens)
{
    enum { BURST = 12, FIRST = BURST - 1 - BURST / 4, PAGES = FIRST + 4 };
    struct watch_client *client = &fixture->clients[0];
    const struct hearsay_request get = {
        .id = 6, .name = "summary", .kind = HEARSAY_REQUEST_SUMMARY};

    watch_fixture_deposit(fixture, 1, PAGES * PAGE);
    limit(fixture, client, BURST);
    watch_fixture_watch(fixture, client, 0); /* costs one */
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, FIRST * PAGE);
    assert_false(watch_is_due(fixture->service)); /* nothing turns until a token is there */
    for (int i = 0; i < BURST / 4; i++) {
        handler_handle(fixture->service, &client->client, &get);
        assert_int_equal(client->answer, HEARSAY_RESPONSE_SUMMARIZED);
    }
    handler_handle(fixture->service, &client->client, &get);
    assert_int_equal(client->answer, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(client->refusal, HEARSAY_CODE_RATE_LIMITED);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, FIRST * PAGE);

    fixture->clock.wall_ms += (BURST / 4) * 1000; /* these are left again */
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, FIRST * PAGE);
    for (size_t page = FIRST + 1; page <= PAGES; page++) {
        fixture->clock.wall_ms += 1000;
        watch_fixture_settle(fixture);
        watch_fixture_expect(client, 1, page * PAGE);
    }
    assert_null(fixture->service->watch->catching);
    watch_fixture_deposit(fixture, 1, 1); /* what comes now is free */
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, PAGES * PAGE + 1);
    leave_limited(client);
}

/* A turn does not look at watches that cannot go on, as there may be thousands of them. */
FIXTURE_TEST(test_turns_pass_over_paused_watches)
{
    enum { BURST = 12, WATCHES = 8 };
    struct watch_client *poor = &fixture->clients[0];
    struct watch_client *slow = &fixture->clients[1];

    watch_fixture_deposit(fixture, 1, PAGE);
    limit(fixture, poor, BURST);
    for (int i = 0; i < WATCHES; i++) {
        watch_fixture_watch(fixture, poor, 0);
    }
    slow->room = 0;
    watch_fixture_watch(fixture, slow, 0);
    watch_fixture_settle(fixture);
    watch_fixture_room_asked = 0;
    for (int turn = 0; turn < 10; turn++) {
        watch_turn(fixture->service);
    }
    assert_int_equal(watch_fixture_room_asked, 0);
    slow->room = WATCH_FIXTURE_PUSHES_MAX;
    (void)watch_client_has_room(fixture->service, &slow->client);
    fixture->clock.wall_ms += 60 * 1000;
    watch_fixture_settle(fixture);
    watch_fixture_expect(slow, 1, PAGE);
    assert_int_equal(poor->count, WATCHES * PAGE);
    leave_limited(poor);
}

/* Nothing is held for a watch that catches up slowly, however much comes meanwhile. */
FIXTURE_TEST(test_a_slow_watch_holds_nothing)
{
    enum { BURST = 4, ROUNDS = 40, EACH = 32 };
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 6 * PAGE);
    limit(fixture, client, BURST);
    watch_fixture_watch(fixture, client, 0);
    for (int round = 0; round < ROUNDS; round++) { /* half of what a page a second takes */
        watch_fixture_deposit(fixture, 1, EACH);
        watch_fixture_settle(fixture);
        assert_int_equal(fixture->service->watch->counts.matches, 0);
        fixture->clock.wall_ms += 1000;
    }
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 6 * PAGE + ROUNDS * EACH);
    assert_null(fixture->service->watch->catching);
    leave_limited(client);
}

/* Some pages at a time, in turn, until all have theirs. */
FIXTURE_TEST(test_few_reads_at_a_time)
{
    watch_fixture_deposit(fixture, 1, PAGE + 1);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned w = 0; w < 4; w++) {
            watch_fixture_watch(fixture, &fixture->clients[i], 0);
        }
    }
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, READS);
    watch_fixture_settle(fixture);
    assert_int_equal(fixture->service->watch->reads, 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct watch_client *client = &fixture->clients[i];

        assert_int_equal(client->count, 4 * (PAGE + 1));
        for (size_t p = 0; p < client->count; p++) { /* each watch for itself in order, once */
            uint64_t before = 0;

            for (size_t q = 0; q < p; q++) {
                before = client->watches[q] == client->watches[p] ? client->seqs[q] : before;
            }
            assert_int_equal(client->seqs[p], before + 1);
        }
    }
}

/* Unwatch while its page is read, and a client that goes then: nothing of it is pushed. */
FIXTURE_TEST(test_gone_while_a_page_is_read)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 5);
    watch_fixture_watch(fixture, client, 0);
    watch_fixture_watch(fixture, &fixture->clients[1], 0);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 2);
    assert_true(watch_end(fixture->service, &client->client, client->watch_id));
    watch_fixture_leave(&fixture->clients[1]);
    watch_fixture_settle(fixture);
    assert_int_equal(client->count, 0);
    assert_int_equal(fixture->clients[1].count, 0);
    assert_int_equal(fixture->service->watch->reads, 0);
}

/* A client that is gone, and is still to be freed, is not dropped once more. */
FIXTURE_TEST(test_a_failed_page_of_a_client_that_is_gone)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 3);
    watch_fixture_watch(fixture, client, 0);
    watch_turn(fixture->service);
    assert_int_equal(fixture->service->watch->reads, 1);
    client->client.is_gone = true;
    fake_persist_fail_reads(fixture->persist);
    (void)fake_persist_answer_reads(fixture->persist);
    assert_int_equal(fixture->service->watch->reads, 0);
    assert_int_equal(fixture->service->watch->counts.failed, 0);
    assert_int_equal(client->dropped, 0);
    client->client.is_gone = false;
    watch_fixture_leave(client);
}

/* What cannot be read might be missing: the client is dropped, told, and has not been pushed what
 * comes later; when it comes again, after what it saw, it gets all of it. */
FIXTURE_TEST(test_a_page_that_cannot_be_read)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, PAGE + 5);
    watch_fixture_watch(fixture, client, 0);
    watch_turn(fixture->service);
    (void)fake_persist_answer_reads(fixture->persist);
    watch_turn(fixture->service); /* pushes the first page, and reads the second */
    if (fixture->service->watch->reads == 0) {
        watch_turn(fixture->service);
    }
    watch_fixture_expect(client, 1, PAGE);
    watch_fixture_deposit(fixture, 1, 2);
    fake_persist_fail_reads(fixture->persist);
    watch_fixture_settle(fixture);
    assert_int_equal(client->dropped, HEARSAY_CODE_STORAGE);
    assert_int_equal(fixture->service->watch->counts.failed, 1);
    watch_fixture_expect(client, 1, PAGE);
    struct watch_client *again = &fixture->clients[1];
    watch_fixture_watch(fixture, again, (int64_t)client->seqs[client->count - 1]);
    watch_fixture_settle(fixture);
    watch_fixture_expect(again, PAGE + 1, 7);
}

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * A watch for the answers to a message gets those that are stored and those that come, wherever
 * they were written; other watches get no answers.
 */
FIXTURE_TEST(test_answers)
{
    static const uint8_t expected[] = {3, 5, 6};
    struct watch_client *client = &fixture->clients[0];
    struct watch_client *other = &fixture->clients[1];

    watch_fixture_deposit(fixture, 1, 2);
    watch_fixture_answer(fixture, 1, 1);
    watch_fixture_answer(fixture, 1, 2); /* to another message */
    (void)fake_persist_commit(fixture->persist);
    watch_fixture_watch(fixture, other, 0);
    watch_fixture_watch_answers(fixture, client, 1, 0, true);
    assert_int_equal(client->answer, HEARSAY_RESPONSE_WATCHING);
    watch_fixture_settle(fixture);
    watch_fixture_answer(fixture, 1, 1);
    watch_fixture_answer(fixture, 40, 1); /* its filter has nothing in common */
    watch_fixture_deposit(fixture, 1, 1);
    watch_fixture_settle(fixture);
    assert_int_equal(client->count, 3);
    for (size_t i = 0; i < client->count; i++) {
        assert_int_equal(client->numbers[i], expected[i]);
        assert_true(client->has_payload[i]);
    }
    assert_int_equal(other->count, 3); /* 1, 2 and 7 */
    assert_int_equal(other->numbers[2], 7);
    watch_fixture_watch_answers(fixture, other, 99, 0, true);
    assert_int_equal(other->refusal, HEARSAY_CODE_NOT_FOUND);
}

TEST_AGAIN(test_answers_uncached, test_answers, watch_fixture_setup_uncached,
           watch_fixture_teardown, NULL)

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
