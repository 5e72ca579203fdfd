/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of operators at a copy of a host: the copy keeps each of them in effect, whatever the
 * owner says and however often the copy starts, until the owner has told that it knows the
 * decision.
 */
#include "tests/lib/check.h"
#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000, PLACES = 16, PAGE_BYTES = 1 << 20 };

static struct store_fixture owner;
static struct store_fixture copy;

struct page {
    struct persist_change changes[PLACES];
    struct persist_read read;
};

static void replicate(struct store_fixture *fixture)
{
    struct store_op op;

    store_make_expire(&op, 1, 1); /* for `done` and the time */
    op.op.kind = PERSIST_REPLICATE;
    op.op.message.host = fixture->host;
    op.op.replicate = true;
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
}

static int setup(void **state)
{
    (void)state;
    store_fixture_init(&owner);
    store_fixture_init(&copy);
    store_open(&owner);
    store_open(&copy);
    replicate(&owner);
    replicate(&copy);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_fixture_deinit(&copy);
    store_fixture_deinit(&owner);
    return 0;
}

/* --- reading and applying --------------------------------------------------------------------- */

static void read_page(struct store_fixture *fixture, bool only_waiting, struct page *page)
{
    memset(page, 0, sizeof(*page));
    page->read = (struct persist_read){.kind = PERSIST_READ_CHANGES,
                                       .changes = page->changes,
                                       .change_count = PLACES,
                                       .only_waiting = only_waiting,
                                       .page_host = fixture->host,
                                       .page_bytes_limit = PAGE_BYTES};
    store_read(fixture, &page->read);
    assert_false(page->read.failed);
}

static void release(struct store_fixture *fixture, struct page *page)
{
    fixture->persist->interface->read_release(fixture->persist, &page->read);
}

static enum persist_outcome apply(struct store_fixture *fixture,
                                  const struct persist_change *change, enum persist_as as,
                                  int64_t now_ms, enum persist_verdict *out_verdict)
{
    struct persist_rule rule = change->rule;
    struct store_op op;

    store_make_expire(&op, now_ms, 1);
    op.op.kind = PERSIST_APPLY;
    op.op.message = change->message;
    op.op.message.host = rule.host = fixture->host;
    op.op.change = change->kind;
    op.op.why = change->why;
    op.op.as = as;
    op.op.decision_id = change->decision_id;
    op.op.rule = change->kind == PERSIST_CHANGE_RULE ? &rule : NULL;
    enum persist_outcome outcome = store_do(fixture, &op);
    *out_verdict = op.op.verdict;
    return outcome;
}

/* Applies all that the owner says at the copy, as after each start. Returns the last verdict. */
static enum persist_verdict feed(int64_t now_ms)
{
    enum persist_verdict last = PERSIST_NO_VERDICT;
    struct page page;

    read_page(&owner, false, &page);
    for (size_t i = 0; i < page.read.change_count; i++) {
        enum persist_verdict verdict;

        (void)apply(&copy, &page.changes[i], PERSIST_AS_REPLICA, now_ms, &verdict);
        last = verdict != PERSIST_NO_VERDICT ? verdict : last;
    }
    release(&owner, &page);
    return last;
}

/* Applies what waits at the owner, twice: the second time there is nothing to do. */
static void tell_owner(int64_t now_ms)
{
    struct page page;

    read_page(&copy, true, &page);
    for (size_t i = 0; i < page.read.change_count; i++) {
        enum persist_verdict verdict;

        (void)apply(&owner, &page.changes[i], PERSIST_AS_OPERATOR, now_ms, &verdict);
        assert_int_equal(apply(&owner, &page.changes[i], PERSIST_AS_OPERATOR, now_ms, &verdict),
                         PERSIST_DUPLICATE);
    }
    release(&copy, &page);
}

static uint32_t count_waiting(int64_t *out_since_ms)
{
    struct page page;

    read_page(&copy, true, &page);
    assert_int_equal(page.read.waiting, page.read.change_count);
    *out_since_ms = page.read.waiting_since_ms;
    release(&copy, &page);
    return page.read.waiting;
}

static void assert_waiting(uint32_t count, int64_t since_ms)
{
    int64_t since;

    assert_int_equal(count_waiting(&since), count);
    assert_int_equal(since, since_ms);
}

/* The state of message 1 at a store; -1: it is not there, or is gone for others. */
static int state_at(struct store_fixture *fixture)
{
    struct page page;
    int state = -1;

    read_page(fixture, false, &page);
    for (size_t i = 0; i < page.read.change_count; i++) {
        if (page.changes[i].kind == PERSIST_CHANGE_MESSAGE) {
            state = (int)page.changes[i].message.state;
        }
    }
    release(fixture, &page);
    return state;
}

/* --- deciding --------------------------------------------------------------------------------- */

static void deposit(int64_t now_ms)
{
    struct store_op op;

    store_make_deposit(&owner, &op, 1, now_ms, NEVER);
    op.op.message.epoch = 0;
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
}

/* Decides about message 1, at the copy or at the owner. destroy_ms: 0, or when a removal ends. */
static void decide(struct store_fixture *fixture, enum persist_state state, int64_t now_ms,
                   int64_t destroy_ms)
{
    struct persist_decision decision = {.host = fixture->host,
                                        .time_ms = now_ms,
                                        .act = "act",
                                        .has_id = true,
                                        .waits = fixture == &copy};
    struct store_op op;

    store_make_moderate(fixture, &op, 1, 1, state, 0, NULL);
    op.op.kind = state == PERSIST_WITHHELD ? PERSIST_WITHHOLD : PERSIST_MODERATE;
    op.op.now_ms = now_ms;
    op.op.message.destroy_ms = destroy_ms;
    op.op.decision = &decision;
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
}

static void decide_rule(struct store_fixture *fixture, enum persist_kind kind, int64_t now_ms)
{
    struct persist_decision decision = {
        .host = fixture->host, .time_ms = now_ms, .act = "act", .waits = fixture == &copy};
    struct persist_rule rule = {.host = fixture->host,
                                .kind = PERSIST_BAN_FILTER,
                                .value = (const uint8_t *)"a",
                                .value_bytes = 1,
                                .created_ms = now_ms};
    struct store_op op;

    store_make_rule(&op, kind, &rule);
    op.op.now_ms = now_ms;
    op.op.decision = &decision;
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
}

/* Whether the ban is in force. */
static bool is_banned(struct store_fixture *fixture)
{
    struct page page;
    bool is_in_force = false;

    read_page(fixture, false, &page);
    for (size_t i = 0; i < page.read.change_count; i++) {
        if (page.changes[i].kind == PERSIST_CHANGE_RULE) {
            is_in_force = !page.changes[i].rule.dropped;
        }
    }
    release(fixture, &page);
    return is_in_force;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Hidden at the copy: the owner's state hides nothing, and shows nothing, until it names the
 * decision. The copy starts again in between. */
TEST_WITH(test_hidden, setup, teardown)
{
    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 0);
    assert_int_equal(feed(4), PERSIST_NO_VERDICT);
    assert_int_equal(state_at(&copy), PERSIST_WITHHELD);
    store_reopen(&copy);
    assert_int_equal(feed(5), PERSIST_NO_VERDICT);
    assert_int_equal(state_at(&copy), PERSIST_WITHHELD);
    assert_waiting(1, 3);
    tell_owner(6);
    assert_waiting(1, 3); /* not yet confirmed */
    store_reopen(&owner);
    assert_int_equal(feed(7), PERSIST_KEPT);
    assert_int_equal(state_at(&copy), PERSIST_WITHHELD);
    assert_waiting(0, 0);
}

/* The same state at the owner confirms nothing: its operator has made it before. */
TEST_WITH(test_same_state_is_no_confirmation, setup, teardown)
{
    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 0);
    decide(&owner, PERSIST_WITHHELD, 4, 0);
    assert_int_equal(feed(5), PERSIST_NO_VERDICT);
    assert_waiting(1, 3);
    tell_owner(6);
    assert_int_equal(feed(7), PERSIST_KEPT);
    assert_waiting(0, 0);
}

/* Only the last one of several decisions waits, and the name of an earlier one does not end it. */
TEST_WITH(test_decided_again, setup, teardown)
{
    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 0);
    tell_owner(4);
    decide(&copy, PERSIST_APPROVED, 5, 0);
    assert_int_equal(feed(6), PERSIST_NO_VERDICT);
    assert_int_equal(state_at(&copy), PERSIST_APPROVED);
    assert_waiting(1, 5);
    tell_owner(7);
    assert_int_equal(feed(8), PERSIST_KEPT);
    assert_int_equal(state_at(&copy), PERSIST_APPROVED);
    assert_waiting(0, 0);
}

/* The owner takes note, and decides otherwise. Its state holds, and the copy can say so. */
TEST_WITH(test_not_kept, setup, teardown)
{
    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 0);
    tell_owner(4);
    decide(&owner, PERSIST_APPROVED, 5, 0);
    assert_int_equal(feed(6), PERSIST_NOT_KEPT);
    assert_int_equal(state_at(&copy), PERSIST_APPROVED);
    assert_waiting(0, 0);
}

/* What was decided about a message at the copy first, and comes to the owner later, holds. */
TEST_WITH(test_late, setup, teardown)
{
    deposit(1);
    decide(&owner, PERSIST_WITHHELD, 2, 0);
    (void)feed(3);
    decide(&copy, PERSIST_APPROVED, 4, 0);
    decide(&owner, PERSIST_APPROVED, 5, 0);
    decide(&owner, PERSIST_WITHHELD, 6, 0);
    tell_owner(7);
    assert_int_equal(state_at(&owner), PERSIST_APPROVED);
    assert_int_equal(feed(8), PERSIST_KEPT);
    assert_waiting(0, 0);
}

/* Removed at the copy: not even a message that the owner has approved comes back. */
TEST_WITH(test_removed, setup, teardown)
{
    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 500);
    decide(&owner, PERSIST_APPROVED, 4, 0);
    assert_int_equal(feed(5), PERSIST_NO_VERDICT);
    assert_int_equal(state_at(&copy), -1);
    assert_waiting(1, 3);
    tell_owner(6);
    assert_int_equal(state_at(&owner), -1);
    assert_int_equal(feed(7), PERSIST_KEPT);
    assert_waiting(0, 0);
}

/* Shown at the copy, and gone at the owner. */
TEST_WITH(test_shown_and_gone, setup, teardown)
{
    struct store_op op;

    deposit(1);
    decide(&owner, PERSIST_WITHHELD, 2, 0);
    (void)feed(3);
    decide(&copy, PERSIST_APPROVED, 4, 0);
    assert_int_equal(feed(5), PERSIST_NO_VERDICT);
    assert_int_equal(state_at(&copy), PERSIST_APPROVED);
    store_make_withdraw(&owner, &op, 1, 6);
    op.op.kind = PERSIST_REMOVE;
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    assert_int_equal(feed(7), PERSIST_NOT_KEPT);
    assert_int_equal(state_at(&copy), -1);
    assert_waiting(0, 0);
}

TEST_WITH(test_rules, setup, teardown)
{
    decide_rule(&copy, PERSIST_RULE_PUT, 3);
    decide_rule(&owner, PERSIST_RULE_PUT, 4);
    decide_rule(&owner, PERSIST_RULE_DROP, 5); /* newer, and does not know of the copy's */
    assert_int_equal(feed(6), PERSIST_NO_VERDICT);
    assert_true(is_banned(&copy));
    assert_waiting(1, 3);
    tell_owner(7);
    assert_int_equal(feed(8), PERSIST_NOT_KEPT); /* the later decision holds */
    assert_false(is_banned(&copy));
    assert_waiting(0, 0);
    decide_rule(&copy, PERSIST_RULE_PUT, 9);
    tell_owner(10);
    assert_int_equal(feed(11), PERSIST_KEPT);
    decide_rule(&copy, PERSIST_RULE_DROP, 12);
    tell_owner(13);
    assert_int_equal(feed(14), PERSIST_KEPT);
    assert_false(is_banned(&owner));
    assert_false(is_banned(&copy));
    assert_waiting(0, 0);
}

/* An older decision that arrives late changes nothing; the same number after a backup was put back
 * does. */
TEST_WITH(test_numbers_of_a_copy, setup, teardown)
{
    struct persist_change late = {.kind = PERSIST_CHANGE_MESSAGE};
    enum persist_verdict verdict;
    struct page page;

    deposit(1);
    read_page(&owner, false, &page);
    late.message = page.changes[0].message;
    late.message.state = PERSIST_WITHHELD;
    late.decision_id = (struct persist_decision_id){.store_id = "copy", .number = 9, .time_ms = 20};
    assert_int_equal(apply(&owner, &late, PERSIST_AS_OPERATOR, 30, &verdict), PERSIST_APPLIED);
    late.message.state = PERSIST_APPROVED;
    late.decision_id = (struct persist_decision_id){.store_id = "copy", .number = 8, .time_ms = 19};
    assert_int_equal(apply(&owner, &late, PERSIST_AS_OPERATOR, 31, &verdict), PERSIST_DUPLICATE);
    late.decision_id.time_ms = 21;
    assert_int_equal(apply(&owner, &late, PERSIST_AS_OPERATOR, 32, &verdict), PERSIST_APPLIED);
    release(&owner, &page);
    assert_int_equal(state_at(&owner), PERSIST_APPROVED);
}

/* What waits ends with its message. */
TEST_WITH(test_expiry, setup, teardown)
{
    struct store_op op;

    deposit(1);
    (void)feed(2);
    decide(&copy, PERSIST_WITHHELD, 3, 0);
    store_make_expire(&op, NEVER, 1);
    assert_int_equal(store_do(&copy, &op), PERSIST_APPLIED);
    assert_waiting(0, 0);
}
