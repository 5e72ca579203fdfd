/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a deposit has chosen to go with it: persist_op.chosen. */
#include "daemon/store/sqlite.h"

#include "tests/lib/check.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault_vfs.h"
#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000, CHOSEN_MAX = 3 };

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

static void assert_removed(const struct store_op *op, const uint32_t *numbers, size_t count)
{
    uint8_t id[MESSAGE_ID_BYTES];

    assert_int_equal(op->op.removed_count, count);
    for (size_t i = 0; i < count; i++) {
        put_id(numbers[i], id);
        assert_memory_equal(op->removed[i].id, id, MESSAGE_ID_BYTES);
        assert_int_equal(op->removed[i].host, fixture.host);
    }
}

static void assert_replays(const uint32_t *expected, size_t count)
{
    uint32_t numbers[16];

    store_close(&fixture);
    store_open(&fixture);
    assert_int_equal(store_replay(&fixture, numbers, 16), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], expected[i]);
    }
}

static void fill(uint32_t count)
{
    for (uint32_t number = 1; number <= count; number++) {
        assert_int_equal(store_deposit(&fixture, number, 10, NEVER), PERSIST_APPLIED);
    }
}

/* They go wherever they stand; one that is not there is passed over. */
static void chosen_ones_go(void **state)
{
    const uint32_t chosen[] = {4, 9, 2};
    const uint32_t gone[] = {4, 2};
    const uint32_t left[] = {1, 3, 5, 6};
    struct store_op op;
    (void)state;

    fill(5);
    assert_int_equal(deposit(&op, 6, chosen, 3, 0), PERSIST_APPLIED);
    assert_removed(&op, gone, 2);
    assert_replays(left, 4);
}

/* Those that the store finds are others. */
static void others_go_besides(void **state)
{
    const uint32_t chosen[] = {1, 3};
    const uint32_t gone[] = {1, 3, 2, 4};
    const uint32_t left[] = {5, 6};
    struct store_op op;
    (void)state;

    fill(5);
    assert_int_equal(deposit(&op, 6, chosen, 2, 2), PERSIST_APPLIED);
    assert_removed(&op, gone, 4);
    assert_replays(left, 2);
}

/* Where others cannot make the room that is asked for, nothing goes. */
static void none_goes_for_a_deposit_that_is_refused(void **state)
{
    const uint32_t chosen[] = {1, 2};
    const uint32_t left[] = {1, 2, 3};
    struct store_op op;
    (void)state;

    fill(3);
    assert_int_equal(deposit(&op, 6, chosen, 2, 2), PERSIST_FULL);
    assert_int_equal(op.op.removed_count, 0);
    assert_int_equal(deposit(&op, 2, chosen, 1, 0), PERSIST_DUPLICATE);
    assert_int_equal(op.op.removed_count, 0);
    assert_replays(left, 3);
}

/* A deposit does not delete itself. */
static void a_deposit_stays(void **state)
{
    const uint32_t chosen[] = {6, 1};
    const uint32_t gone[] = {1};
    const uint32_t left[] = {2, 6};
    struct store_op op;
    (void)state;

    fill(2);
    assert_int_equal(deposit(&op, 6, chosen, 2, 0), PERSIST_APPLIED);
    assert_removed(&op, gone, 1);
    assert_replays(left, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chosen_ones_go),
        TEST(others_go_besides),
        TEST(none_goes_for_a_deposit_that_is_refused),
        TEST(a_deposit_stays),
    };

    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
