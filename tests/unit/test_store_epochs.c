/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs in the store: kept over a restart, proved by their checksums, gone for good. */
#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/store_fixture.h"

static struct store_fixture fixture;
static struct persist_epoch found[8];
static size_t found_count;

/* Epoch `number`, from 1 to 255: kept until 1000 times that. */
static struct persist_epoch make_epoch(uint8_t number)
{
    struct persist_epoch epoch = {
        .host = fixture.host,
        .number = (UINT64_C(1) << 62) + number,
        .starts_ms = number,
        .ends_ms = 100 * number,
        .kept_ms = 1000 * number,
    };

    memset(epoch.key, 0xa0 + number, sizeof(epoch.key));
    return epoch;
}

static void begin(const struct persist_epoch *epoch)
{
    struct store_op op;

    memset(&op, 0, sizeof(op));
    store_make_expire(&op, 1, 1); /* for what all operations have */
    op.op.kind = PERSIST_EPOCH;
    op.op.epoch = epoch;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
}

static void expire(int64_t now_ms)
{
    struct store_op op;

    store_make_expire(&op, now_ms, PERSIST_EXPIRE_MAX);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
}

static int visit(void *context, const struct persist_epoch *epoch)
{
    (void)context;
    assert_true(found_count < sizeof(found) / sizeof(found[0]));
    found[found_count++] = *epoch;
    return 0;
}

static int replay(void)
{
    found_count = 0;
    return fixture.persist->interface->replay_epochs(fixture.persist, visit, NULL, fixture.reason);
}

static void check_same(const struct persist_epoch *a, const struct persist_epoch *b)
{
    assert_int_equal(a->host, b->host);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->starts_ms, b->starts_ms);
    assert_int_equal(a->ends_ms, b->ends_ms);
    assert_int_equal(a->kept_ms, b->kept_ms);
    assert_memory_equal(a->key, b->key, sizeof(a->key));
}

TEST_ON(epochs_are_kept_in_order, store_setup, store_teardown, &fixture)
{
    const struct persist_epoch first = make_epoch(1);
    const struct persist_epoch second = make_epoch(2);
    const struct persist_epoch third = make_epoch(3);

    assert_int_equal(replay(), 0);
    assert_int_equal(found_count, 0);
    assert_int_equal(
        fixture.persist->interface->begin_epoch(fixture.persist, &second, fixture.reason), 0);
    begin(&third);
    begin(&first);
    begin(&first); /* done twice, it has the effect of once */
    store_reopen(&fixture);
    assert_int_equal(replay(), 0);
    assert_int_equal(found_count, 3);
    check_same(&found[0], &first);
    check_same(&found[1], &second);
    check_same(&found[2], &third);
}

TEST_ON(they_go_when_they_are_no_longer_kept, store_setup, store_teardown, &fixture)
{
    const struct persist_epoch first = make_epoch(1);
    const struct persist_epoch second = make_epoch(2);

    begin(&first);
    begin(&second);
    expire(999);
    store_reopen(&fixture);
    assert_int_equal(replay(), 0);
    assert_int_equal(found_count, 2);
    expire(1000);
    store_reopen(&fixture);
    assert_int_equal(replay(), 0);
    assert_int_equal(found_count, 1);
    check_same(&found[0], &second);
}

/* Not only forgotten: the key's bytes leave the database, and the log with the next scrub. */
TEST_ON(their_keys_leave_the_files, store_setup, store_teardown, &fixture)
{
    const struct persist_epoch epoch = make_epoch(1);

    store_close(&fixture);
    fixture.options.scrub_after_ms = 1;
    store_open(&fixture);
    begin(&epoch);
    assert_true(store_files_have(&fixture, epoch.key, sizeof(epoch.key)));
    expire(1000);
    store_await_scrub(&fixture, 1000);
    assert_false(store_files_have(&fixture, epoch.key, sizeof(epoch.key)));
}

TEST_ON(a_changed_row_is_found, store_setup, store_teardown, &fixture)
{
    const char *const changes[] = {
        "UPDATE epoch SET kept_ms = 7",
        "UPDATE epoch SET key = zeroblob(32)",
        "UPDATE epoch SET key = zeroblob(31)",
        "UPDATE epoch SET number = 0",
    };
    const struct persist_epoch epoch = make_epoch(1);

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        begin(&epoch);
        store_close(&fixture);
        store_alter(&fixture, changes[i]);
        assert_int_equal(store_try_open(&fixture), -ERR_DAMAGED);
        assert_non_null(strstr(fixture.reason, "an epoch's row"));
        store_alter(&fixture, "DELETE FROM epoch");
        store_open(&fixture);
    }
}
