/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers in the store: there is no answer without its parent, over withdrawals, removals, expiry,
 * evictions and restarts; and no copy is told of one.
 */
#include "tests/lib/check.h"

#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000 };

static struct store_fixture fixture;

static int setup(void **state)
{
    (void)state;
    store_fixture_init(&fixture);
    store_open(&fixture);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_fixture_deinit(&fixture);
    return 0;
}

/* Deposits message `number` in epoch 0; parent 0: it answers none. */
static void make(struct store_op *op, uint32_t number, uint32_t parent, int64_t now_ms,
                 int64_t expires_ms)
{
    struct store_op other;

    store_make_deposit(&fixture, op, number, now_ms, expires_ms);
    op->op.message.epoch = 0;
    if (parent != 0) {
        store_make_deposit(&fixture, &other, parent, 0, NEVER);
        op->op.message.is_answer = true;
        memcpy(op->op.message.answers, other.op.message.id, MESSAGE_ID_BYTES);
    }
}

static enum persist_outcome deposit(uint32_t number, uint32_t parent, int64_t now_ms,
                                    int64_t expires_ms)
{
    struct store_op op;

    make(&op, number, parent, now_ms, expires_ms);
    return store_do(&fixture, &op);
}

/* What is replayed: all of epoch 0, which the messages of the fixture are not. */
struct replayed {
    const uint32_t *expected;
    size_t count;
    size_t seen;
};

static int on_replayed(void *context, const struct persist_message *message)
{
    struct replayed *replayed = context;
    struct store_op op;

    assert_true(replayed->seen < replayed->count);
    store_make_deposit(&fixture, &op, replayed->expected[replayed->seen++], 0, NEVER);
    assert_memory_equal(message->id, op.op.message.id, MESSAGE_ID_BYTES);
    return 0;
}

static int on_any(void *context, const struct persist_message *message)
{
    (void)context;
    (void)message;
    return 0;
}

/* The store replays exactly these messages, in this order. */
static void assert_replays(const uint32_t *expected, size_t count)
{
    struct replayed replayed = {expected, count, 0};

    assert_int_equal(
        fixture.persist->interface->replay(fixture.persist, on_replayed, &replayed, fixture.reason),
        0);
    assert_int_equal(replayed.seen, count);
}

static int64_t count_answers(void)
{
    return store_read_number(&fixture, "SELECT count(*) FROM message WHERE answers IS NOT NULL");
}

/* Which messages have an answer: stored ones, of the same epoch, that are no answers. */
TEST_WITH(test_parents, setup, teardown)
{
    struct store_op op;

    assert_int_equal(deposit(1, 0, 10, 500), PERSIST_APPLIED);
    assert_int_equal(deposit(2, 9, 11, NEVER), PERSIST_NO_PARENT);
    assert_int_equal(deposit(2, 2, 11, NEVER), PERSIST_NO_PARENT); /* itself */
    make(&op, 2, 1, 11, NEVER);
    op.op.message.epoch = 7;
    assert_int_equal(store_do(&fixture, &op), PERSIST_NO_PARENT);
    make(&op, 2, 1, 11, NEVER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.message.expires_ms, 500); /* its parent's */
    assert_int_equal(deposit(3, 1, 12, 300), PERSIST_APPLIED);
    assert_int_equal(deposit(4, 2, 12, NEVER), PERSIST_NO_PARENT); /* of an answer */
    store_reopen(&fixture);
    assert_int_equal(deposit(2, 1, 13, NEVER), PERSIST_DUPLICATE);
    assert_int_equal(deposit(2, 3, 13, NEVER), PERSIST_CONFLICT);
    assert_int_equal(deposit(2, 0, 13, NEVER), PERSIST_CONFLICT);
    assert_int_equal(deposit(5, 1, 500, NEVER), PERSIST_NO_PARENT); /* expired, and stored */
    assert_replays((const uint32_t[]){1, 2, 3}, 3);
}

/* Whoever deletes a message deletes its answers, in the same transaction, and only those. */
TEST_WITH(test_answers_go_along, setup, teardown)
{
    struct store_op op;

    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(deposit(i, 0, 10, i == 3 ? 500 : NEVER), PERSIST_APPLIED);
        assert_int_equal(deposit(10 + i, i, 11, NEVER), PERSIST_APPLIED);
        assert_int_equal(deposit(15 + i, i, 12, NEVER), PERSIST_APPLIED);
    }
    store_make_moderate(&fixture, &op, 16, 12, PERSIST_HIDDEN, 1, "5why"); /* has a row more */
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 1, 20), PERSIST_APPLIED);
    assert_replays((const uint32_t[]){2, 12, 17, 3, 13, 18}, 6);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM moderation"), 0);
    assert_int_equal(deposit(11, 1, 21, NEVER), PERSIST_NO_PARENT);
    store_reopen(&fixture);
    assert_int_equal(store_withdraw(&fixture, 17, 22), PERSIST_APPLIED); /* an answer alone */
    store_make_withdraw(&fixture, &op, 2, 23);
    op.op.kind = PERSIST_REMOVE;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_replays((const uint32_t[]){3, 13, 18}, 3);
    store_make_expire(&op, 500, 1); /* one message at a time */
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_make_expire(&op, 500, PERSIST_EXPIRE_MAX);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_replays(NULL, 0);
    assert_int_equal(count_answers(), 0);
}

/* Deposit and withdrawal of one transaction: the withdrawal takes what came before, and no more. */
TEST_WITH(test_one_transaction, setup, teardown)
{
    static struct store_op ops[4];

    assert_int_equal(deposit(1, 0, 10, NEVER), PERSIST_APPLIED);
    make(&ops[0], 2, 1, 11, NEVER);
    make(&ops[1], 3, 1, 11, NEVER);
    store_make_withdraw(&fixture, &ops[2], 1, 11);
    make(&ops[3], 4, 1, 11, NEVER);
    for (size_t i = 0; i < 4; i++) {
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, 4);
    assert_int_equal(ops[1].op.outcome, PERSIST_APPLIED);
    assert_int_equal(ops[2].op.outcome, PERSIST_APPLIED);
    assert_int_equal(ops[3].op.outcome, PERSIST_NO_PARENT);
    assert_replays(NULL, 0);
}

/* A removed message keeps its answers until it is destroyed; restored, it has them again. */
TEST_WITH(test_removal, setup, teardown)
{
    struct store_op op;

    assert_int_equal(deposit(1, 0, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit(2, 1, 11, NEVER), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 1, 20);
    op.op.kind = PERSIST_WITHHOLD;
    op.op.message.destroy_ms = 100;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_make_moderate(&fixture, &op, 1, 10, PERSIST_APPROVED, 0, NULL);
    op.op.now_ms = 30;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED); /* takes a new number */
    assert_int_equal(count_answers(), 1);
    store_make_withdraw(&fixture, &op, 1, 40);
    op.op.kind = PERSIST_WITHHOLD;
    op.op.message.destroy_ms = 100;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_make_expire(&op, 100, PERSIST_EXPIRE_MAX);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_replays(NULL, 0);
}

static enum persist_outcome evict(struct store_op *op, enum persist_evict how, uint32_t number,
                                  uint32_t parent, uint32_t messages)
{
    make(op, number, parent, 50, NEVER);
    op->op.evict = how;
    op->op.evict_messages = messages;
    op->op.removed = op->removed;
    op->op.limit = PERSIST_EXPIRE_MAX;
    return store_do(&fixture, op);
}

/* An answer evicts others, but not its own parent; a parent and its answers may go at once. */
TEST_WITH(test_eviction, setup, teardown)
{
    struct store_op op;

    for (uint32_t how = PERSIST_EVICT_OLDEST; how <= PERSIST_EVICT_SOONEST; how++) {
        uint32_t base = how * 100;
        for (uint32_t i = 1; i <= 2; i++) {
            assert_int_equal(deposit(base + i, 0, 10, 1000 + i), PERSIST_APPLIED);
            assert_int_equal(deposit(base + 10 + i, base + i, 11, NEVER), PERSIST_APPLIED);
        }
        assert_int_equal(evict(&op, how, base + 20, base + 1, 2), PERSIST_APPLIED);
        assert_int_equal(op.op.removed_count, 2);
        assert_int_equal(count_answers(), 1); /* with the parent 2 went the answer 12 */
        assert_int_equal(evict(&op, how, base + 30, 0, 2), PERSIST_APPLIED); /* 1 and 20 */
        assert_replays((const uint32_t[]){base + 30}, 1);
        assert_int_equal(store_withdraw(&fixture, base + 30, 60), PERSIST_APPLIED);
    }
}

/* Copies are not told of answers, nor of what becomes of them. */
TEST_WITH(test_copies, setup, teardown)
{
    struct persist_change changes[8];
    struct store_op op;

    store_make_withdraw(&fixture, &op, 1, 1);
    op.op.kind = PERSIST_REPLICATE;
    op.op.replicate = true;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(deposit(1, 0, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit(2, 1, 11, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit(3, 1, 11, NEVER), PERSIST_APPLIED);
    store_make_moderate(&fixture, &op, 2, 11, PERSIST_HIDDEN, 1, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 3, 12), PERSIST_APPLIED);
    struct persist_read read = {.kind = PERSIST_READ_CHANGES,
                                .page_host = fixture.host,
                                .changes = changes,
                                .change_count = 8,
                                .page_bytes_limit = 100000};
    store_read(&fixture, &read);
    assert_false(read.failed);
    assert_int_equal(read.change_count, 1);
    make(&op, 1, 0, 10, NEVER);
    assert_memory_equal(changes[0].message.id, op.op.message.id, MESSAGE_ID_BYTES);
    fixture.persist->interface->read_release(fixture.persist, &read);
}

#define CHANGE_INDEX(from, to)                                                                  \
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '" from "', '" to \
    "') WHERE name = 'message_by_answers'"

/* An index that lacks an answer is damage, and is refused: the answer would outlive its parent. */
TEST_WITH(test_damaged_index, setup, teardown)
{
    assert_int_equal(deposit(1, 0, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit(2, 1, 11, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit(3, 1, 11, NEVER), PERSIST_APPLIED);
    store_close(&fixture);
    store_alter(&fixture, CHANGE_INDEX("IS NOT NULL", "IS NULL"));
    store_alter(&fixture, "REINDEX message_by_answers");
    store_alter(&fixture, CHANGE_INDEX("IS NULL", "IS NOT NULL"));
    store_open(&fixture);
    assert_true(fixture.persist->interface->replay(fixture.persist, on_any, NULL, fixture.reason) <
                0);
    assert_non_null(strstr(fixture.reason, "the index of answers"));
}
