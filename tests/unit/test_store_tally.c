/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a check asks of the store: sums that are of one moment among the operations, and pages of
 * all messages, each proved.
 */
#include "tests/lib/check.h"

#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000 };

static struct store_fixture fixture;

static void make_tally(struct store_op *op, struct persist_tally *tallies, size_t count)
{
    store_make_expire(op, 1, 1);
    op->op.kind = PERSIST_TALLY;
    op->op.tallies = tallies;
    op->op.tally_count = count;
}

static void tally(struct persist_tally *tallies, size_t count)
{
    struct store_op op;

    make_tally(&op, tallies, count);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
}

/* Deposits a message, and adds it to what is expected. */
static void deposit(uint32_t number, uint64_t epoch, struct persist_tally *expected)
{
    struct store_op op;
    uint32_t cardinality = 0;

    store_make_deposit(&fixture, &op, number, number, NEVER);
    op.op.message.epoch = epoch;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    for (size_t i = 0; i < STORE_FILTER_BYTES; i++) {
        expected->whole[i] |= op.filter[i];
        cardinality += (uint32_t)__builtin_popcount(op.filter[i]);
    }
    if (expected->shown == 0 || cardinality < expected->low) {
        expected->low = cardinality;
    }
    expected->high = cardinality > expected->high ? cardinality : expected->high;
    expected->shown++;
    expected->shown_bytes +=
        op.op.message.filter_bytes + op.op.message.media_type_bytes + op.op.message.payload_bytes;
}

static void assert_tally(const struct persist_tally *found, const struct persist_tally *expected)
{
    assert_int_equal(found->shown, expected->shown);
    assert_int_equal(found->shown_bytes, expected->shown_bytes);
    assert_int_equal(found->hidden, expected->hidden);
    assert_int_equal(found->strays, expected->strays);
    assert_int_equal(found->low, expected->low);
    assert_int_equal(found->high, expected->high);
    assert_memory_equal(found->whole, expected->whole, sizeof(found->whole));
}

/* By host and epoch; what is hidden or of another epoch is with epoch 0. */
TEST_ON(test_sums, store_setup, store_teardown, &fixture)
{
    struct persist_tally expected[2] = {{.epoch = 0}, {.epoch = 5}};
    struct persist_tally found[2] = {{.host = fixture.host}, {.host = fixture.host, .epoch = 5}};
    struct persist_tally elsewhere = {.host = fixture.host + 1};
    struct persist_tally nothing = {.shown = 0};
    struct persist_tally ignored = {.shown = 0};
    struct store_op op;

    tally(found, 2);
    assert_tally(&found[0], &nothing);
    for (uint32_t i = 1; i <= 40; i++) {
        deposit(i, i % 4 == 0 ? 5 : 0, &expected[i % 4 == 0]);
    }
    deposit(41, 6, &ignored); /* nobody asks for that epoch */
    deposit(42, 0, &ignored);
    store_make_moderate(&fixture, &op, 42, 42, PERSIST_HIDDEN, 1, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    expected[0].hidden = 1;
    expected[0].strays = 1;
    tally(found, 2);
    assert_tally(&found[0], &expected[0]);
    assert_tally(&found[1], &expected[1]);
    tally(&elsewhere, 1);
    assert_tally(&elsewhere, &nothing);
}

/* Among operations that are submitted at once it has those before it, and none after. */
TEST_ON(test_moment, store_setup, store_teardown, &fixture)
{
    enum { BEFORE = 37, AFTER = 23, COUNT = BEFORE + 1 + AFTER };
    static struct store_op ops[COUNT];
    struct persist_tally found = {.host = fixture.host};

    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == BEFORE) {
            make_tally(&ops[i], &found, 1);
        } else {
            store_make_deposit(&fixture, &ops[i], i, 1, NEVER);
            ops[i].op.message.epoch = 0;
        }
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, COUNT);
    assert_int_equal(found.shown, BEFORE);
    assert_int_equal(ops[BEFORE].done, ops[BEFORE - 1].done + 1);
    assert_int_equal(ops[BEFORE].done, ops[BEFORE + 1].done - 1);
    tally(&found, 1);
    assert_int_equal(found.shown, BEFORE + AFTER);
}

/* All pages of 3: states go to states[], -1 for a damaged one; how many there were. */
static size_t read_pages(int *states, size_t room)
{
    struct persist_entry entries[3];
    int64_t after = 0;
    size_t seen = 0;
    bool more = true;

    while (more) {
        struct persist_read read = {.kind = PERSIST_READ_CHECK,
                                    .entries = entries,
                                    .entry_count = 3,
                                    .page_after = after,
                                    .page_bytes_limit = 1024 * 1024};
        store_read(&fixture, &read);
        assert_false(read.failed);
        for (size_t i = 0; i < read.entry_count; i++) {
            assert_true(seen < room && entries[i].message.seq > after);
            after = entries[i].message.seq;
            states[seen++] = entries[i].damaged ? -1 : (int)entries[i].message.state;
            assert_true(entries[i].damaged || entries[i].message.filter_bytes > 0);
        }
        assert_int_equal(read.page_last, after);
        more = read.page_more;
        assert_true(!more || read.entry_count == 3);
        fixture.persist->interface->read_release(fixture.persist, &read);
    }
    return seen;
}

/* Hidden ones are on the pages; a row that was changed ends nothing, and is called damaged. */
TEST_ON(test_pages, store_setup, store_teardown, &fixture)
{
    int states[16];
    struct store_op op;

    assert_int_equal(read_pages(states, 16), 0);
    for (uint32_t i = 1; i <= 9; i++) {
        assert_int_equal(store_deposit(&fixture, i, i, NEVER), PERSIST_APPLIED);
    }
    store_make_moderate(&fixture, &op, 2, 2, PERSIST_HIDDEN, 1, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_alter(&fixture, "UPDATE message SET payload = x'00' WHERE seq = 4");
    store_alter(&fixture, "UPDATE message SET id = x'0102' WHERE seq = 9");
    assert_int_equal(read_pages(states, 16), 9);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(states[i], i == 3 || i == 8 ? -1 : i == 1 ? PERSIST_HIDDEN : 0);
    }
}
