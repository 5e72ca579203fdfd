/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a deposit evicts: chosen ones (persist_op.chosen), and those the store finds. */
#include "tests/lib/check.h"

#include "tests/lib/store_fixture.h"

enum { SOON = 1000, NEVER = 1000000, CHOSEN_MAX = 3 };

static struct store_fixture fixture;

/* --- chosen messages -------------------------------------------------------------------------- */

static void put_id(uint32_t number, uint8_t *out_id)
{
    struct store_op op;

    store_make_deposit(&fixture, &op, number, 0, NEVER);
    memcpy(out_id, op.op.message.id, MESSAGE_ID_BYTES);
}

/* Deposits `number`; the chosen ones go with it, and `messages` of the oldest besides. */
static enum persist_outcome deposit(struct store_op *op, uint32_t number, const uint32_t *chosen,
                                    uint32_t count, uint64_t messages)
{
    uint8_t ids[CHOSEN_MAX * MESSAGE_ID_BYTES];

    for (uint32_t i = 0; i < count; i++) {
        put_id(chosen[i], ids + i * MESSAGE_ID_BYTES);
    }
    store_make_deposit(&fixture, op, number, 100, NEVER);
    op->op.chosen = ids;
    op->op.chosen_count = count;
    op->op.evict = messages > 0 ? PERSIST_EVICT_OLDEST : PERSIST_EVICT_NONE;
    op->op.evict_messages = messages;
    op->op.removed = op->removed;
    op->op.limit = 4;
    return store_do(&fixture, op);
}

static void fill(uint32_t count)
{
    for (uint32_t number = 1; number <= count; number++) {
        assert_int_equal(store_deposit(&fixture, number, 10, NEVER), PERSIST_APPLIED);
    }
}

/* They go wherever they stand; one that is not there is passed over. */
TEST_ON(chosen_ones_go, store_setup, store_teardown, &fixture)
{
    const uint32_t chosen[] = {4, 9, 2};
    const uint32_t gone[] = {4, 2};
    const uint32_t left[] = {1, 3, 5, 6};
    struct store_op op;

    fill(5);
    assert_int_equal(deposit(&op, 6, chosen, 3, 0), PERSIST_APPLIED);
    store_assert_removed(&op, gone, 2);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 4);
}

/* Those that the store finds are others. */
TEST_ON(others_go_besides, store_setup, store_teardown, &fixture)
{
    const uint32_t chosen[] = {1, 3};
    const uint32_t gone[] = {1, 3, 2, 4};
    const uint32_t left[] = {5, 6};
    struct store_op op;

    fill(5);
    assert_int_equal(deposit(&op, 6, chosen, 2, 2), PERSIST_APPLIED);
    store_assert_removed(&op, gone, 4);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 2);
}

/* Where others cannot make the room that is asked for, nothing goes. */
TEST_ON(none_goes_for_a_deposit_that_is_refused, store_setup, store_teardown, &fixture)
{
    const uint32_t chosen[] = {1, 2};
    const uint32_t left[] = {1, 2, 3};
    struct store_op op;

    fill(3);
    assert_int_equal(deposit(&op, 6, chosen, 2, 2), PERSIST_FULL);
    assert_int_equal(op.op.removed_count, 0);
    assert_int_equal(deposit(&op, 2, chosen, 1, 0), PERSIST_DUPLICATE);
    assert_int_equal(op.op.removed_count, 0);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 3);
}

/* A deposit does not delete itself. */
TEST_ON(a_deposit_stays, store_setup, store_teardown, &fixture)
{
    const uint32_t chosen[] = {6, 1};
    const uint32_t gone[] = {1};
    const uint32_t left[] = {2, 6};
    struct store_op op;

    fill(2);
    assert_int_equal(deposit(&op, 6, chosen, 2, 0), PERSIST_APPLIED);
    store_assert_removed(&op, gone, 1);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 2);
}

/* --- messages that the store finds -------------------------------------------------------------
 */

/* A deposit of `number` that has others of its host go for it. */
static enum persist_outcome deposit_evicting(struct store_op *op, uint32_t host, uint32_t number,
                                             int64_t expires_ms, enum persist_evict order,
                                             uint64_t messages, uint64_t bytes)
{
    store_make_deposit(&fixture, op, number, 100, expires_ms);
    op->op.message.host = host;
    op->op.evict = order;
    op->op.evict_messages = messages;
    op->op.evict_bytes = bytes;
    op->op.removed = op->removed;
    op->op.limit = 4;
    return store_do(&fixture, op);
}

static size_t message_bytes(uint32_t number)
{
    struct store_op op;

    store_make_deposit(&fixture, &op, number, 0, NEVER);
    return op.op.message.filter_bytes + op.op.message.media_type_bytes +
           op.op.message.payload_bytes;
}

/* As many go as are asked for, in messages and in bytes, in one transaction with the deposit. */
TEST_ON(test_evicts_the_oldest, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t first[] = {3};
    const uint32_t next[] = {1, 2};
    const uint32_t left[] = {5, 6, 7};

    assert_int_equal(store_deposit(&fixture, 3, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 1, 20, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 15, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, 15, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 6, NEVER, PERSIST_EVICT_OLDEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 7, NEVER, PERSIST_EVICT_OLDEST, 0,
                                      message_bytes(1) + 1),
                     PERSIST_APPLIED);
    store_assert_removed(&op, next, 2);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 3);
    /* What went may come again. */
    assert_int_equal(store_deposit(&fixture, 3, 30, NEVER), PERSIST_APPLIED);
}

/* Who came with an eviction of its own, and expires first, is the next to go. */
TEST_ON(test_evicts_who_came_last, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t first[] = {1};
    const uint32_t next[] = {3};

    assert_int_equal(store_deposit(&fixture, 1, 10, SOON + 20), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, SOON + 30), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 3, SOON + 10, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 4, SOON + 40, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, next, 1);
}

TEST_ON(test_evicts_what_expires_first, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t first[] = {2};
    const uint32_t next[] = {6};
    const uint32_t last[] = {8, 3};

    assert_int_equal(store_deposit(&fixture, 1, 10, 900), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, 500), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 3, 10, 700), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 6, 600, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 7, 950, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, next, 1);
    /* One that came since and expires before all that were there. */
    assert_int_equal(store_deposit(&fixture, 8, 110, 550), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, 100, PERSIST_EVICT_SOONEST, 2, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, last, 2);
}

/* Other hosts' messages stay, older or not; and if not enough can go, nothing happens. */
TEST_ON(test_evicts_of_its_host_only, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    char profile[256] = "";
    uint32_t cafe;
    const uint32_t gone[] = {3};
    const uint32_t left[] = {1, 4};

    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v2:512/4",
                                                          &cafe, profile, fixture.reason),
                     0);
    assert_int_equal(store_deposit(&fixture, 1, 10, SOON), PERSIST_APPLIED);
    store_make_deposit(&fixture, &op, 3, 20, NEVER);
    op.op.message.host = cafe;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, cafe, 4, NEVER, PERSIST_EVICT_SOONEST, 2, 0),
                     PERSIST_FULL);
    assert_int_equal(op.op.removed_count, 0);
    assert_int_equal(deposit_evicting(&op, cafe, 4, NEVER, PERSIST_EVICT_OLDEST, 0, 1 << 20),
                     PERSIST_FULL);
    assert_int_equal(deposit_evicting(&op, cafe, 4, NEVER, PERSIST_EVICT_OLDEST, 1, 0),
                     PERSIST_APPLIED);
    store_assert_removed(&op, gone, 1);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 2);
}

/* A deposit that is not stored anew displaces nobody. */
TEST_ON(test_duplicates_evict_nothing, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t left[] = {1, 2};

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 2, NEVER, PERSIST_EVICT_OLDEST, 1, 0),
                     PERSIST_DUPLICATE);
    assert_int_equal(op.op.removed_count, 0);
    store_assert_replays(&fixture, left, 2);
}

/* No more than the caller has room to be told of. */
TEST_ON(test_evicts_no_more_than_its_limit, store_setup, store_teardown, &fixture)
{
    struct store_op op;

    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, NEVER, PERSIST_EVICT_OLDEST, 5, 0),
                     PERSIST_FULL);
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, NEVER, PERSIST_EVICT_OLDEST, 4, 0),
                     PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, 4);
}
