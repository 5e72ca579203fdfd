/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: what is queued and pushed when, in what order, with which payloads, and what bounds it.
 */
#include "daemon/watch/watch.h"

#include "tests/lib/check.h"
#include "tests/unit/watch_fixture.h"

enum {
    TURN_DEPOSITS = 2048 /* matched in one turn: daemon/watch/watch.c */
};

/* --- pushes ----------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct watch_fixture *fixture, watch_fixture_setup, watch_fixture_teardown)

/* More than one batch: all in order, once; what fits nobody is pushed to nobody. */
FIXTURE_TEST(test_in_order_once)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    watch_fixture_deposit(fixture, 1, 150);
    watch_fixture_deposit(fixture, 30, 20);
    assert_int_equal(client->count, 0); /* not before its turn */
    assert_true(watch_is_due(fixture->service));
    assert_true(watch_waiting_bytes(fixture->service) > 170 * WATCH_FIXTURE_FILTER_BYTES);
    watch_turn(fixture->service);
    watch_fixture_expect(client, 1, 150);
    assert_false(watch_is_due(fixture->service));
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    watch_turn(fixture->service);
    assert_int_equal(client->count, 150);
    assert_int_equal(fixture->service->watch->counts.pushed, 150);
}

/* What comes while nobody watches is not kept to be matched. */
FIXTURE_TEST(test_nobody_watches)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_deposit(fixture, 1, 10);
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    watch_fixture_deposit(fixture, 1, 10);
    watch_fixture_leave(client);
    assert_true(watch_waiting_bytes(fixture->service) > 0);
    watch_turn(fixture->service); /* nobody is there any more */
    assert_int_equal(watch_waiting_bytes(fixture->service), 0);
    assert_int_equal(client->count, 0);
}

/* A message that came before a watch, in the same turn, is not pushed to it: live_after. */
FIXTURE_TEST(test_not_what_came_before)
{
    watch_fixture_watch(fixture, &fixture->clients[0], WATCH_FIXTURE_NOW);
    watch_fixture_deposit(fixture, 1, 3);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
    assert_int_equal(fixture->clients[1].watching_seq, 3);
    watch_fixture_deposit(fixture, 1, 2);
    watch_turn(fixture->service);
    watch_fixture_expect(&fixture->clients[0], 1, 5);
    watch_fixture_expect(&fixture->clients[1], 4, 2);
}

/* One turn matches a bounded number, and each client has its share of what is sent. */
FIXTURE_TEST(test_bounded_turns)
{
    watch_fixture_watch(fixture, &fixture->clients[0], WATCH_FIXTURE_NOW);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
    for (unsigned i = 0; i < 30; i++) {
        watch_fixture_deposit(fixture, 1, 100);
    }
    watch_turn(fixture->service);
    assert_int_equal(fixture->clients[0].count, TURN_DEPOSITS);
    assert_int_equal(fixture->clients[1].count, TURN_DEPOSITS);
    assert_int_equal(fixture->service->watch->counts.pending, 3000 - TURN_DEPOSITS);
    assert_true(watch_is_due(fixture->service));
    watch_fixture_settle(fixture);
    watch_fixture_expect(&fixture->clients[0], 1, 3000);
    watch_fixture_expect(&fixture->clients[1], 1, 3000);
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Without room a match waits, counted as what it will be; with some, so many are pushed. */
FIXTURE_TEST(test_room)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    client->room = 0;
    watch_fixture_deposit(fixture, 1, 25);
    watch_fixture_settle(fixture);
    assert_int_equal(client->count, 0);
    assert_int_equal(fixture->service->watch->counts.matches, 25);
    assert_true(client->queued > 25 * 50);
    assert_int_equal(fixture->service->watch->counts.bytes, client->queued);
    client->room = 10;
    assert_true(watch_client_has_room(fixture->service, &client->client));
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 10);
    assert_int_equal(fixture->service->watch->counts.matches, 15);
    watch_fixture_deposit(fixture, 1, 1); /* behind the others */
    client->room = 100;
    assert_true(watch_client_has_room(fixture->service, &client->client));
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 26);
    assert_int_equal(client->queued, 0);
}

/* What expires while it waits is left out, and counted. */
FIXTURE_TEST(test_gone_while_waiting)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    client->room = 0;
    watch_fixture_deposit_for(fixture, 1, 3600);
    watch_fixture_deposit_for(fixture, 1, 5);
    watch_fixture_deposit_for(fixture, 1, 3600);
    (void)fake_persist_commit(fixture->persist);
    watch_fixture_settle(fixture);
    fixture->clock.wall_ms += 6000;
    client->room = 10;
    (void)watch_client_has_room(fixture->service, &client->client);
    watch_fixture_settle(fixture);
    assert_int_equal(client->count, 2);
    assert_int_equal(client->seqs[0], 1);
    assert_int_equal(client->seqs[1], 3);
    assert_int_equal(fixture->service->watch->counts.left_out, 1);
}

/* Who lets too much gather is dropped, once; the other one misses nothing. */
FIXTURE_TEST(test_too_much)
{
    struct watch_client *slow = &fixture->clients[0];

    watch_fixture_watch(fixture, slow, WATCH_FIXTURE_NOW);
    watch_fixture_watch_place(fixture, slow, 30, WATCH_FIXTURE_NOW, false);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
    slow->room = 0;
    slow->queued_max = 2000;
    watch_fixture_deposit(fixture, 1, 5);
    watch_fixture_settle(fixture);
    assert_int_equal(slow->dropped, 0);
    watch_fixture_deposit(fixture, 1, 40);
    watch_fixture_settle(fixture);
    assert_int_equal(slow->dropped, HEARSAY_CODE_QUOTA);
    assert_int_equal(slow->count, 0);
    watch_fixture_expect(&fixture->clients[1], 1, 45);
    assert_int_equal(fixture->service->watch->counts.watches, 1);
    assert_int_equal(fixture->service->watch->counts.matches, 0);
}

/* Without memory for a match its client is dropped: nothing may be missing. */
FIXTURE_TEST(test_no_memory_for_a_match)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    watch_fixture_deposit(fixture, 1, 3);
    fail_alloc_arm(&fixture->alloc, 2); /* the second match */
    watch_turn(fixture->service);
    fail_alloc_arm(&fixture->alloc, 0);
    assert_int_equal(client->dropped, HEARSAY_CODE_INTERNAL);
    assert_int_equal(fixture->service->watch->counts.failed, 1);
    assert_int_equal(client->count, 0);
}

/*
 * The n-th request for memory fails when a deposit is committed; another one waits, behind one of a
 * host that nobody watches any more. The client has both in order, or is dropped. Returns whether
 * the deposit was matched at once.
 */
static bool is_matched_at_once(size_t n)
{
    void *state = NULL;

    assert_int_equal(watch_fixture_setup_two_hosts(&state), 0);
    struct watch_fixture *fixture = state;
    struct watch_client *client = &fixture->clients[0];
    struct watch_client *other = &fixture->clients[1];
    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    fixture->host = "hall";
    watch_fixture_watch(fixture, other, WATCH_FIXTURE_NOW);
    watch_fixture_deposit(fixture, 1, 1);
    assert_true(watch_end(fixture->service, &other->client, other->watch_id));
    fixture->host = "lobby";
    watch_fixture_deposit(fixture, 1, 1);
    watch_fixture_deposit_for(fixture, 1, 3600);
    fail_alloc_arm(&fixture->alloc, n);
    (void)fake_persist_commit(fixture->persist);
    fail_alloc_arm(&fixture->alloc, 0);
    bool at_once = watch_waiting_bytes(fixture->service) == 0;
    watch_fixture_settle(fixture);
    if (client->dropped == 0) {
        watch_fixture_expect(client, 2, 2);
    }
    assert_int_equal(watch_fixture_teardown(&state), 0);
    return at_once;
}

TEST(test_order_without_memory_to_wait)
{
    bool at_once = false;

    for (size_t n = 1; n <= 16; n++) {
        at_once = is_matched_at_once(n) || at_once;
    }
    assert_true(at_once);
}

/* The n-th request for memory fails when message 1 is committed. Returns whether it was stored, but
 * not indexed. */
static bool is_missed(struct watch_fixture *fixture, size_t n)
{
    struct watch_client *sender = &fixture->clients[WATCH_FIXTURE_CLIENTS - 1];

    watch_fixture_deposit_for(fixture, 1, 3600);
    fail_alloc_arm(&fixture->alloc, n);
    (void)fake_persist_commit(fixture->persist);
    fail_alloc_arm(&fixture->alloc, 0);
    return sender->answer == HEARSAY_RESPONSE_ERROR;
}

/*
 * A message was stored without memory to index it, and is deposited again. A watch that began
 * before that gets it, and so does one that begins behind it. If a later message has a number
 * already, the first client is dropped, and gets it when it resumes.
 */
static void message_comes_again(size_t n, bool is_last, bool *out_missed)
{
    void *state = NULL;

    assert_int_equal(watch_fixture_setup(&state), 0);
    struct watch_fixture *fixture = state;
    if (is_missed(fixture, n)) {
        *out_missed = true;
        watch_fixture_watch(fixture, &fixture->clients[0], WATCH_FIXTURE_NOW);
        if (!is_last) {
            watch_fixture_deposit(fixture, 30, 1);
            fixture->deposits--;
        }
        fixture->deposits--; /* the same one again */
        watch_fixture_deposit(fixture, 1, 1);
        watch_fixture_watch(fixture, &fixture->clients[1], 0);
        watch_fixture_settle(fixture);
        watch_fixture_expect(&fixture->clients[1], 1, 1);
        if (is_last) {
            watch_fixture_expect(&fixture->clients[0], 1, 1);
        } else {
            assert_int_equal(fixture->clients[0].dropped, HEARSAY_CODE_INTERNAL);
            watch_fixture_watch(fixture, &fixture->clients[2],
                                (int64_t)fixture->clients[0].watching_seq);
            watch_fixture_settle(fixture);
            watch_fixture_expect(&fixture->clients[2], 1, 1);
        }
    }
    assert_int_equal(watch_fixture_teardown(&state), 0);
}

TEST(test_message_that_was_not_indexed)
{
    bool is_missed_once[2] = {false, false};

    for (size_t n = 1; n <= 16; n++) {
        message_comes_again(n, true, &is_missed_once[0]);
        message_comes_again(n, false, &is_missed_once[1]);
    }
    assert_true(is_missed_once[0] && is_missed_once[1]);
}

/* After Unwatch nothing of it is pushed, and the client's other watch goes on. */
FIXTURE_TEST(test_unwatch)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    const uint64_t first = client->watch_id;
    watch_fixture_watch(fixture, client, WATCH_FIXTURE_NOW);
    const uint64_t second = client->watch_id;
    assert_true(first != second);
    client->room = 0;
    watch_fixture_deposit(fixture, 1, 4);
    watch_fixture_settle(fixture);
    assert_int_equal(fixture->service->watch->counts.matches, 8);
    assert_false(watch_end(fixture->service, &fixture->clients[1].client, first));
    assert_true(watch_end(fixture->service, &client->client, first));
    assert_false(watch_end(fixture->service, &client->client, first));
    client->room = 100;
    (void)watch_client_has_room(fixture->service, &client->client);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(client->watches[i], second);
    }
}

/* Limits count filters, of a session and of all. */
FIXTURE_TEST(test_limits)
{
    for (unsigned i = 0; i < 8; i++) {
        watch_fixture_watch(fixture, &fixture->clients[0], WATCH_FIXTURE_NOW);
    }
    watch_fixture_watch_place(fixture, &fixture->clients[0], 1, WATCH_FIXTURE_NOW, false);
    assert_int_equal(fixture->clients[0].answer, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->clients[0].refusal, HEARSAY_CODE_QUOTA);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
    watch_fixture_watch_place(fixture, &fixture->clients[1], 1, WATCH_FIXTURE_NOW, false);
    assert_int_equal(fixture->clients[1].refusal, HEARSAY_CODE_QUOTA);
    watch_fixture_leave(&fixture->clients[0]);
    watch_fixture_watch(fixture, &fixture->clients[1], WATCH_FIXTURE_NOW);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* From the cache, or read some at a time: the right ones, in order. */
TEST_AGAIN(test_payloads_from_the_store, test_payloads, watch_fixture_setup_uncached,
           watch_fixture_teardown, NULL)
FIXTURE_TEST(test_payloads)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch_place(fixture, client, 1, WATCH_FIXTURE_NOW, true);
    watch_fixture_deposit(fixture, 1, 40);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 40);
    for (size_t i = 0; i < 40; i++) {
        assert_true(client->has_payload[i]);
    }
}

/* The client goes while payloads are read: nothing comes back to it. */
TEST_OF(test_gone_while_payloads_are_read, struct watch_fixture *fixture,
        watch_fixture_setup_uncached, watch_fixture_teardown)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch_place(fixture, client, 1, WATCH_FIXTURE_NOW, true);
    watch_fixture_deposit(fixture, 1, 5);
    watch_turn(fixture->service);
    assert_int_equal(client->client.work_count, 1); /* a read is under way */
    watch_fixture_leave(client);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(client->count, 0);
    assert_int_equal(client->client.work_count, 0);
}

/* Reading fails: they are pushed without, as Get may have more luck. */
TEST_OF(test_payloads_that_cannot_be_read, struct watch_fixture *fixture,
        watch_fixture_setup_uncached, watch_fixture_teardown)
{
    struct watch_client *client = &fixture->clients[0];

    watch_fixture_watch_place(fixture, client, 1, WATCH_FIXTURE_NOW, true);
    watch_fixture_deposit(fixture, 1, 5);
    watch_turn(fixture->service);
    fake_persist_fail_reads(fixture->persist);
    watch_fixture_settle(fixture);
    watch_fixture_expect(client, 1, 5);
    assert_false(client->has_payload[0]);
    assert_int_equal(client->dropped, 0);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
