/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator hides and removes, and the list of decisions, in the store: a removal can be
 * undone until its time has come, then no byte of the message is left; a decision is there exactly
 * when its operation is.
 */
#include "tests/lib/check.h"

#include <sodium.h>

#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000, DESTROYED = 5000 };

static struct store_fixture fixture;
static struct persist_decision decision;

/* Destroy_ms 0: the message is hidden. */
static enum persist_outcome withhold(struct store_op *op, uint32_t number, int64_t now_ms,
                                     int64_t destroy_ms)
{
    store_make_withdraw(&fixture, op, number, now_ms);
    decision = (struct persist_decision){.host = fixture.host,
                                         .time_ms = now_ms,
                                         .has_id = true,
                                         .kind = 4,
                                         .reason = "an advert",
                                         .uid = 1000};
    (void)snprintf(decision.act, sizeof(decision.act), "%s", destroy_ms != 0 ? "remove" : "hide");
    memcpy(decision.id, op->op.message.id, MESSAGE_ID_BYTES);
    op->op.kind = PERSIST_WITHHOLD;
    op->op.message.destroy_ms = destroy_ms;
    op->op.decision = &decision;
    return store_do(&fixture, op);
}

static enum persist_outcome restore(uint32_t number, int64_t deposited_ms, int64_t now_ms)
{
    struct store_op op;

    store_make_moderate(&fixture, &op, number, deposited_ms, PERSIST_APPROVED, 0, NULL);
    op.op.now_ms = now_ms;
    (void)snprintf(decision.act, sizeof(decision.act), "restore");
    op.op.decision = &decision;
    return store_do(&fixture, &op);
}

static uint32_t expire(int64_t now_ms)
{
    struct store_op op;

    store_make_expire(&op, now_ms, PERSIST_EXPIRE_MAX);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    return op.op.removed_count;
}

static size_t read_decisions(uint64_t before, struct persist_decision *out, size_t room,
                             bool *out_more)
{
    struct persist_read read = {.kind = PERSIST_READ_DECISIONS,
                                .page_host = fixture.host,
                                .decisions = out,
                                .decision_count = room,
                                .decisions_before = before};

    store_read(&fixture, &read);
    assert_false(read.failed);
    fixture.persist->interface->read_release(fixture.persist, &read);
    *out_more = read.page_more;
    return read.decision_count;
}

/* --- undo ------------------------------------------------------------------------------------- */

/* Hidden or removed, over restarts; its id is refused while it is removed, and then no more. */
TEST_ON(test_undo, store_setup, store_teardown, &fixture)
{
    struct store_op op;

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 9, 20, DESTROYED), PERSIST_NOT_FOUND);
    assert_int_equal(withhold(&op, 1, 20, 0), PERSIST_APPLIED);
    assert_int_equal(op.op.message.state, PERSIST_WITHHELD);
    assert_int_equal(op.op.message.deposited_ms, 10);
    assert_int_equal(store_deposit(&fixture, 1, 21, NEVER), PERSIST_DUPLICATE);
    assert_int_equal(withhold(&op, 1, 30, DESTROYED), PERSIST_APPLIED);
    store_reopen(&fixture);
    assert_int_equal(store_deposit(&fixture, 1, 31, NEVER), PERSIST_GONE);
    assert_int_equal(withhold(&op, 1, 40, 2 * DESTROYED), PERSIST_APPLIED); /* nothing changes */
    assert_int_equal(op.op.message.destroy_ms, DESTROYED);
    assert_int_equal(op.op.message.expires_ms, NEVER);
    assert_int_equal(withhold(&op, 1, 41, 0), PERSIST_FORBIDDEN);
    assert_int_equal(expire(DESTROYED - 1), 0);
    assert_int_equal(restore(1, 10, DESTROYED - 1), PERSIST_APPLIED);
    store_reopen(&fixture);
    assert_int_equal(store_deposit(&fixture, 1, DESTROYED, NEVER), PERSIST_DUPLICATE);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM tombstone"), 0);
    assert_int_equal(expire(2 * DESTROYED), 0);
}

/* From its time on it cannot be restored, and the next expiry destroys it; its mark stays. */
TEST_ON(test_destruction, store_setup, store_teardown, &fixture)
{
    struct store_op op;

    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(store_deposit(&fixture, i, i, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(withhold(&op, 2, 20, DESTROYED), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 3, 20, 0), PERSIST_APPLIED);
    assert_int_equal(restore(2, 2, DESTROYED), PERSIST_NOT_FOUND);
    assert_int_equal(withhold(&op, 2, DESTROYED, DESTROYED + 1), PERSIST_NOT_FOUND);
    store_reopen(&fixture); /* a restart in between */
    assert_int_equal(expire(DESTROYED), 1);
    assert_int_equal(expire(DESTROYED), 0);
    store_assert_replays(&fixture, (const uint32_t[]){1, 3}, 2);
    assert_int_equal(store_deposit(&fixture, 2, DESTROYED, NEVER), PERSIST_GONE);
    assert_int_equal(withhold(&op, 1, 20, DESTROYED), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 1, 21), PERSIST_APPLIED); /* by its author: at once */
    store_assert_replays(&fixture, (const uint32_t[]){3}, 1);
}

/* No byte of a destroyed message is in a file after the next scrub. */
TEST_ON(test_nothing_is_left, store_setup, store_teardown, &fixture)
{
    struct store_op deposit;
    struct store_op op;
    const struct persist_message *message = &deposit.op.message;

    fixture.options.scrub_after_ms = 1;
    store_reopen(&fixture);
    store_make_deposit(&fixture, &deposit, 1, 1, NEVER);
    deposit.op.message.payload_bytes = STORE_PAYLOAD_BYTES;
    assert_int_equal(store_do(&fixture, &deposit), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 1, 20, DESTROYED), PERSIST_APPLIED);
    assert_true(store_files_have(&fixture, message->payload, 16));
    assert_int_equal(expire(DESTROYED), 1);
    store_await_scrub(&fixture, DESTROYED);
    assert_false(store_files_have(&fixture, message->payload, 16));
    assert_false(store_files_have(&fixture, message->payload + message->payload_bytes - 16, 16));
    assert_false(store_files_have(&fixture, deposit.filter, STORE_FILTER_BYTES));
}

/*
 * The clock is set forward: what is left until the destruction stays, and so do the times since; of
 * what was done before, nothing moves. A removal that was submitted before keeps its whole time.
 */
TEST_ON(test_shift, store_setup, store_teardown, &fixture)
{
    struct persist_decision list[4];
    struct store_op op;
    bool more = false;

    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(withhold(&op, 2, 14, DESTROYED + 7000 - 1), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 1, 20, DESTROYED), PERSIST_APPLIED);
    memset(&op, 0, sizeof(op));
    store_make_expire(&op, 7100, 1);
    op.op.kind = PERSIST_SHIFT;
    op.op.shift_from_ms = 15;
    op.op.shift_ms = 7000;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 3, 90, 91), PERSIST_APPLIED);
    assert_int_equal(op.op.message.destroy_ms, 7101);
    store_reopen(&fixture);
    assert_int_equal(read_decisions(9, list, 4, &more), 3);
    assert_int_equal(list[1].time_ms, 7020);
    assert_int_equal(list[2].time_ms, 14);
    assert_int_equal(expire(7100), 0);
    assert_int_equal(expire(7101), 1);
    assert_int_equal(expire(DESTROYED + 6999), 1);
    assert_int_equal(expire(DESTROYED + 7000), 1);
    assert_int_equal(expire(2 * DESTROYED + 7000), 0);
}

/* A row of `moderation` that is not as it was written: nothing is concluded from it. */
TEST_ON(test_damaged_row, store_setup, store_teardown, &fixture)
{
    struct persist_entry entry;
    struct persist_read read = {.kind = PERSIST_READ_CHECK,
                                .entries = &entry,
                                .entry_count = 1,
                                .page_bytes_limit = 1024 * 1024};
    struct store_op op;

    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(withhold(&op, 1, 20, DESTROYED), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 2, 20, 0), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 3, 20, DESTROYED), PERSIST_APPLIED);
    store_alter(&fixture, "UPDATE moderation SET destroy_ms = destroy_ms + 9 WHERE seq <= 2");
    store_read(&fixture, &read); /* hearsay admin check sees it */
    assert_int_equal(entry.message.destroy_ms, DESTROYED + 9);
    fixture.persist->interface->read_release(fixture.persist, &read);
    assert_int_equal(restore(1, 10, 21), PERSIST_FAILED);
    assert_int_equal(withhold(&op, 1, 21, 0), PERSIST_FAILED);
    assert_int_equal(store_deposit(&fixture, 2, 21, NEVER), PERSIST_FAILED);
    memset(&op, 0, sizeof(op));
    store_make_expire(&op, 7100, 1);
    op.op.kind = PERSIST_SHIFT;
    op.op.shift_from_ms = 15;
    op.op.shift_ms = 7000;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(store_read_number(&fixture, "SELECT min(destroy_ms) FROM moderation"), 9);
    assert_int_equal(store_read_number(&fixture, "SELECT max(destroy_ms) FROM moderation"),
                     DESTROYED + 7000);
    assert_int_equal(restore(3, 10, 7101), PERSIST_APPLIED);
}

/* --- decisions -------------------------------------------------------------------------------- */

/* What changes something is recorded, over restarts; what changes nothing is not. */
TEST_ON(test_decisions, store_setup, store_teardown, &fixture)
{
    struct persist_rule ban = {.host = fixture.host, .kind = PERSIST_BAN_PAYLOAD, .created_ms = 9};
    static const char *const acts[] = {"ban", "remove", "restore", "hide"};
    struct persist_decision list[8];
    struct store_op op;
    bool more = false;

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    store_make_moderate(&fixture, &op, 1, 10, PERSIST_SHOWN, 3, NULL); /* reports are none */
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 1, 20, 0), PERSIST_APPLIED);
    assert_int_equal(withhold(&op, 1, 21, 0), PERSIST_APPLIED);
    assert_int_equal(restore(1, 10, 22), PERSIST_APPLIED);
    assert_int_equal(restore(1, 10, 23), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 1, 24);
    (void)snprintf(decision.act, sizeof(decision.act), "remove");
    op.op.kind = PERSIST_WITHHOLD;
    op.op.message.destroy_ms = DESTROYED;
    op.op.rule = &ban;
    op.op.decision = &decision;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    char handle[9]; /* the ban's; why the message went stands with its removal */
    (void)sodium_bin2hex(handle, sizeof(handle), op.op.payload_hash, 4);
    store_reopen(&fixture);
    assert_int_equal(read_decisions(99, list, 8, &more), 4);
    assert_false(more);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(list[i].act, acts[i]);
        assert_int_equal(list[i].number, 4 - i);
        assert_int_equal(list[i].reports, i == 0 ? 0 : 3);
        assert_string_equal(list[i].reason, i == 0 ? handle : "an advert");
        assert_memory_equal(list[i].id, op.op.message.id, MESSAGE_ID_BYTES);
    }
    assert_int_equal(read_decisions(4, list, 2, &more), 2);
    assert_true(more);
    assert_int_equal(list[1].number, 2);
    store_alter(&fixture, "PRAGMA quick_check");
}

/* The oldest ones leave: beyond 10,000, and by their time. */
TEST_ON(test_decisions_leave, store_setup, store_teardown, &fixture)
{
    struct persist_rule rule = {
        .host = fixture.host, .kind = PERSIST_ACCEPT, .value = (const uint8_t *)""};
    struct persist_decision list[2];
    struct store_op *ops = calloc(PERSIST_DECISIONS_KEPT + 5, sizeof(*ops));
    bool more = false;

    assert_non_null(ops);
    decision = (struct persist_decision){.host = fixture.host, .time_ms = 50, .act = "accept-auto"};
    for (uint32_t i = 0; i < PERSIST_DECISIONS_KEPT + 5; i++) {
        store_make_rule(&ops[i], PERSIST_RULE_PUT, &rule);
        ops[i].op.decision = &decision;
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, PERSIST_DECISIONS_KEPT + 5);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM decision"),
                     PERSIST_DECISIONS_KEPT);
    assert_int_equal(read_decisions(INT64_MAX, list, 1, &more), 1);
    assert_int_equal(list[0].number, PERSIST_DECISIONS_KEPT + 5);
    store_make_expire(ops, 60, 1);
    ops->op.decided_before_ms = 50;
    assert_int_equal(store_do(&fixture, ops), PERSIST_APPLIED);
    assert_int_equal(read_decisions(INT64_MAX, list, 1, &more), 1);
    store_make_expire(ops, 60, 200); /* no more than `limit` in one transaction */
    ops->op.decided_before_ms = 51;
    assert_int_equal(store_do(&fixture, ops), PERSIST_APPLIED);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM decision"),
                     PERSIST_DECISIONS_KEPT - 200);
    free(ops);
}
