/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/sqlite.h"

#include "tests/lib/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/fault_vfs.h"
#include "tests/lib/pass_vfs.h"
#include "tests/lib/store_fixture.h"

enum { SOON = 1000, LATER = 2000, NEVER = 1000000 };

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

static void reopen(void)
{
    store_close(&fixture);
    store_open(&fixture);
}

static void assert_replays(const uint32_t *expected, size_t count)
{
    uint32_t numbers[64];

    assert_int_equal(store_replay(&fixture, numbers, 64), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], expected[i]);
    }
}

static struct persist_sqlite_counters counters(void)
{
    struct persist_sqlite_counters counters;

    persist_sqlite_count(fixture.persist, &counters);
    return counters;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void test_new_and_reopened(void **state)
{
    struct persist_info first;
    struct persist_info second;
    const uint32_t expected[] = {3, 1, 2};

    (void)state;
    fixture.persist->interface->info(fixture.persist, &first);
    assert_int_equal(first.clock_ms, 0);
    assert_false(first.relaxed);
    assert_int_equal(store_deposit(&fixture, 3, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 1, 20, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 15, NEVER), PERSIST_APPLIED);
    fixture.options.relaxed = true;
    reopen();
    fixture.persist->interface->info(fixture.persist, &second);
    assert_memory_equal(first.store_id, second.store_id, sizeof(first.store_id));
    assert_int_equal(second.clock_ms, 20); /* the latest, not the last */
    assert_true(second.relaxed);
    assert_replays(expected, 3);
    fixture.options.relaxed = false;
}

static void test_clock_is_saved_alone(void **state)
{
    struct store_op op;
    struct persist_info info;

    (void)state;
    store_make_expire(&op, INT64_C(1700000000123), 1);
    op.op.kind = PERSIST_CLOCK;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    reopen();
    fixture.persist->interface->info(fixture.persist, &info);
    assert_true(info.clock_ms == INT64_C(1700000000123));
}

static void test_hosts_and_profiles(void **state)
{
    char profile[256] = "";
    uint32_t again;
    uint32_t other;

    (void)state;
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v1:256/2",
                                                          &other, profile, fixture.reason),
                     0);
    assert_int_not_equal(other, fixture.host);
    /* Without messages it takes another profile. */
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v1:1024/4",
                                                          &again, profile, fixture.reason),
                     0);
    assert_int_equal(again, other);
    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    reopen();
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v1:1024/4",
                                                          &again, profile, fixture.reason),
                     0);
    assert_int_equal(again, other);
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "default", "v1:256/4",
                                                          &again, profile, fixture.reason),
                     PERSIST_PROFILE_CHANGED);
    assert_string_equal(profile, "v1:512/4");
}

/* --- operations ------------------------------------------------------------------------------- */

static void test_duplicates_and_conflicts(void **state)
{
    struct store_op op;

    (void)state;
    assert_int_equal(store_deposit(&fixture, 5, 10, SOON), PERSIST_APPLIED);
    /* The same again, at another time: what is stored counts. */
    store_make_deposit(&fixture, &op, 5, 99, NEVER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_DUPLICATE);
    assert_int_equal(op.op.message.deposited_ms, 10);
    assert_int_equal(op.op.message.expires_ms, SOON);
    /* Each part of the content makes it another message. */
    for (int part = 0; part < 8; part++) {
        struct persist_message *message = &op.op.message;

        store_make_deposit(&fixture, &op, 5, 99, NEVER);
        message->epoch += part == 0;
        op.filter[3] ^= part == 1;
        message->media_type_bytes -= part == 2;
        op.payload[0] ^= part == 3;
        message->payload_bytes += part == 4;
        message->reach_ppm += part == 5;
        message->withdraw_hash[31] ^= part == 6;
        message->can_withdraw ^= part == 7;
        assert_int_equal(store_do(&fixture, &op), PERSIST_CONFLICT);
        assert_int_equal(message->deposited_ms, 99);
    }
    /* Another host's ids are others. */
    store_make_deposit(&fixture, &op, 5, 99, NEVER);
    op.op.message.host++;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
}

static void test_an_expired_message_is_replaced(void **state)
{
    struct store_op op;
    const uint32_t expected[] = {6, 5};

    (void)state;
    assert_int_equal(store_deposit(&fixture, 5, 10, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 6, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, SOON - 1, LATER), PERSIST_DUPLICATE);
    store_make_deposit(&fixture, &op, 5, SOON, LATER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.message.expires_ms, LATER);
    assert_int_equal(store_deposit(&fixture, 5, SOON, LATER), PERSIST_DUPLICATE);
    assert_replays(expected, 2); /* in the order of their present deposits */
}

static void test_withdraw(void **state)
{
    struct store_op op;

    (void)state;
    assert_int_equal(store_deposit(&fixture, 5, 10, SOON), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 5, 20);
    op.op.message.withdraw_hash[0] ^= 1;
    assert_int_equal(store_do(&fixture, &op), PERSIST_FORBIDDEN);
    store_make_withdraw(&fixture, &op, 5, 20);
    op.op.message.host++;
    assert_int_equal(store_do(&fixture, &op), PERSIST_NOT_FOUND);
    assert_int_equal(store_withdraw(&fixture, 5, 20), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 5, 20), PERSIST_NOT_FOUND);
    assert_replays(NULL, 0);
    /* Until it would have expired nobody brings it back, not after a restart either. */
    assert_int_equal(store_deposit(&fixture, 5, SOON - 1, LATER), PERSIST_GONE);
    reopen();
    assert_int_equal(store_deposit(&fixture, 5, SOON - 1, LATER), PERSIST_GONE);
    assert_int_equal(store_deposit(&fixture, 6, SOON - 1, LATER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, SOON, LATER), PERSIST_APPLIED);
    /* The old mark is still there, and renewed. */
    assert_int_equal(store_withdraw(&fixture, 5, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, LATER - 1, LATER), PERSIST_GONE);
    /* No token was left with this one (7 is a multiple of 7); an expired one is not there. */
    assert_int_equal(store_deposit(&fixture, 7, SOON, LATER), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 7, SOON), PERSIST_FORBIDDEN);
    assert_int_equal(store_withdraw(&fixture, 7, LATER), PERSIST_NOT_FOUND);
}

/* Depositing and withdrawing without end must not grow the file without end. */
static void test_marks_are_bounded(void **state)
{
    enum { MARKS = 20 };

    (void)state;
    store_close(&fixture);
    fixture.options.marks_max = MARKS;
    store_open(&fixture);
    fixture.options.marks_max = 0;
    for (uint32_t i = 0; i < 5 * MARKS; i++) {
        const uint32_t number = i * 7 + 1; /* multiples of 7 have no token */
        assert_int_equal(store_deposit(&fixture, number, 10, SOON + i), PERSIST_APPLIED);
        assert_int_equal(store_withdraw(&fixture, number, 20), PERSIST_APPLIED);
    }
    unsigned refused = 0;
    for (uint32_t i = 0; i < 5 * MARKS; i++) {
        refused += store_deposit(&fixture, i * 7 + 1, 30, SOON + i) == PERSIST_GONE;
    }
    assert_in_range(refused, MARKS - MARKS / 10, MARKS);
    /* The latest to end is the last to go. */
    assert_int_equal(store_deposit(&fixture, (5 * MARKS - 1) * 7 + 1, 30, LATER), PERSIST_GONE);
}

static void test_expiry_in_slices(void **state)
{
    struct store_op op;
    bool seen[10] = {false};
    const uint32_t expected[] = {10, 11, 12};

    (void)state;
    for (uint32_t i = 0; i < 13; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, i < 10 ? SOON + i % 3 : LATER),
                         PERSIST_APPLIED);
    }
    store_make_expire(&op, SOON - 1, 4);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, 0);
    for (uint32_t round = 0; round < 3; round++) {
        store_make_expire(&op, SOON + 5, 4);
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
        assert_int_equal(op.op.removed_count, round < 2 ? 4 : 2);
        for (uint32_t i = 0; i < op.op.removed_count; i++) {
            uint32_t number;

            memcpy(&number, op.removed[i].id + 4, sizeof(number));
            assert_true(number < 10 && !seen[number]);
            seen[number] = true;
            assert_int_equal(op.removed[i].host, fixture.host);
            assert_true(op.removed[i].epoch == (number % 3 == 0 ? UINT64_MAX - number : number));
        }
    }
    assert_replays(expected, 3);
    /* Expiry leaves no mark: the same message may come again. */
    assert_int_equal(store_deposit(&fixture, 3, SOON + 6, LATER), PERSIST_APPLIED);
}

/* --- making room ------------------------------------------------------------------------------ */

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

static void assert_removed(const struct store_op *op, const uint32_t *numbers, size_t count)
{
    struct store_op expected;

    assert_int_equal(op->op.removed_count, count);
    for (size_t i = 0; i < count; i++) {
        store_make_deposit(&fixture, &expected, numbers[i], 0, NEVER);
        assert_memory_equal(op->removed[i].id, expected.op.message.id, MESSAGE_ID_BYTES);
        assert_int_equal(op->removed[i].host, op->op.message.host);
    }
}

static size_t message_bytes(uint32_t number)
{
    struct store_op op;

    store_make_deposit(&fixture, &op, number, 0, NEVER);
    return op.op.message.filter_bytes + op.op.message.media_type_bytes +
           op.op.message.payload_bytes;
}

/* As many go as are asked for, in messages and in bytes, in one transaction with the deposit. */
static void test_evicts_the_oldest(void **state)
{
    struct store_op op;
    const uint32_t first[] = {3};
    const uint32_t next[] = {1, 2};
    const uint32_t left[] = {5, 6, 7};

    (void)state;
    assert_int_equal(store_deposit(&fixture, 3, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 1, 20, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 15, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, 15, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 6, NEVER, PERSIST_EVICT_OLDEST, 1, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 7, NEVER, PERSIST_EVICT_OLDEST, 0,
                                      message_bytes(1) + 1),
                     PERSIST_APPLIED);
    assert_removed(&op, next, 2);
    reopen();
    assert_replays(left, 3);
    /* What went may come again. */
    assert_int_equal(store_deposit(&fixture, 3, 30, NEVER), PERSIST_APPLIED);
}

/* Who came with an eviction of its own, and expires first, is the next to go. */
static void test_evicts_who_came_last(void **state)
{
    struct store_op op;
    const uint32_t first[] = {1};
    const uint32_t next[] = {3};

    (void)state;
    assert_int_equal(store_deposit(&fixture, 1, 10, SOON + 20), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, SOON + 30), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 3, SOON + 10, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 4, SOON + 40, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, next, 1);
}

static void test_evicts_what_expires_first(void **state)
{
    struct store_op op;
    const uint32_t first[] = {2};
    const uint32_t next[] = {6};
    const uint32_t last[] = {8, 3};

    (void)state;
    assert_int_equal(store_deposit(&fixture, 1, 10, 900), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, 500), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 3, 10, 700), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 6, 600, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, first, 1);
    assert_int_equal(deposit_evicting(&op, fixture.host, 7, 950, PERSIST_EVICT_SOONEST, 1, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, next, 1);
    /* One that came since and expires before all that were there. */
    assert_int_equal(store_deposit(&fixture, 8, 110, 550), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, 100, PERSIST_EVICT_SOONEST, 2, 0),
                     PERSIST_APPLIED);
    assert_removed(&op, last, 2);
}

/* Other hosts' messages stay, older or not; and if not enough can go, nothing happens. */
static void test_evicts_of_its_host_only(void **state)
{
    struct store_op op;
    char profile[256] = "";
    uint32_t cafe;
    const uint32_t gone[] = {3};
    const uint32_t left[] = {1, 4};

    (void)state;
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v1:512/4",
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
    assert_removed(&op, gone, 1);
    reopen();
    assert_replays(left, 2);
}

/* A deposit that is not stored anew displaces nobody. */
static void test_duplicates_evict_nothing(void **state)
{
    struct store_op op;
    const uint32_t left[] = {1, 2};

    (void)state;
    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(deposit_evicting(&op, fixture.host, 2, NEVER, PERSIST_EVICT_OLDEST, 1, 0),
                     PERSIST_DUPLICATE);
    assert_int_equal(op.op.removed_count, 0);
    assert_replays(left, 2);
}

/* No more than the caller has room to be told of. */
static void test_evicts_no_more_than_its_limit(void **state)
{
    struct store_op op;

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, NEVER, PERSIST_EVICT_OLDEST, 5, 0),
                     PERSIST_FULL);
    assert_int_equal(deposit_evicting(&op, fixture.host, 9, NEVER, PERSIST_EVICT_OLDEST, 4, 0),
                     PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, 4);
}

static void test_marks_expire_in_slices(void **state)
{
    struct store_op op;

    (void)state;
    for (uint32_t i = 1; i < 7; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, SOON), PERSIST_APPLIED);
        assert_int_equal(store_withdraw(&fixture, i, 10), PERSIST_APPLIED);
    }
    for (int round = 0; round < 3; round++) {
        assert_int_equal(store_deposit(&fixture, 6, 20, LATER), PERSIST_GONE);
        store_make_expire(&op, SOON, 2);
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
        assert_int_equal(op.op.removed_count, 0); /* marks are not messages */
    }
    /* Now they are gone for a clock that is behind, too. */
    assert_int_equal(store_deposit(&fixture, 6, 20, LATER), PERSIST_APPLIED);
}

static void test_largest_and_smallest_values(void **state)
{
    struct store_op op;
    struct persist_entry entry;
    struct persist_read read = {.kind = PERSIST_READ_PAYLOADS, .entries = &entry, .entry_count = 1};
    uint8_t *payload = malloc(1024 * 1024);

    (void)state;
    assert_non_null(payload);
    memset(payload, 0xa5, 1024 * 1024);
    store_make_deposit(&fixture, &op, 1, 1, INT64_MAX);
    op.op.message.payload = payload;
    op.op.message.payload_bytes = 1024 * 1024;
    op.op.message.epoch = UINT64_MAX;
    op.op.message.reach_ppm = UINT32_MAX;
    op.op.message.media_type = NULL;
    op.op.message.media_type_bytes = 0;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    entry.message = op.op.message;
    store_read(&fixture, &read);
    assert_true(entry.found);
    assert_true(entry.message.epoch == UINT64_MAX && entry.message.reach_ppm == UINT32_MAX);
    assert_int_equal(entry.message.media_type_bytes, 0);
    assert_int_equal(entry.message.payload_bytes, 1024 * 1024);
    assert_memory_equal(entry.message.payload, payload, 1024 * 1024);
    fixture.persist->interface->read_release(fixture.persist, &read);

    store_make_deposit(&fixture, &op, 2, 1, 1);
    op.op.message.payload = NULL;
    op.op.message.payload_bytes = 0;
    op.op.message.filter = NULL;
    op.op.message.filter_bytes = 0;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    free(payload);
}

/* --- order and groups ------------------------------------------------------------------------- */

static void test_callbacks_come_in_order(void **state)
{
    enum { COUNT = 5000 };
    struct store_op *ops = calloc(COUNT, sizeof(*ops));

    (void)state;
    assert_non_null(ops);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i % 10 == 9) {
            store_make_withdraw(&fixture, &ops[i], i - 1, 10);
        } else {
            store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
        }
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i > 0) {
            assert_int_equal(ops[i].done, ops[i - 1].done + 1);
        }
        /* Each operation sees what the one before it did. */
        assert_int_equal(ops[i].op.outcome,
                         i % 10 == 9 && (i - 1) % 7 == 0 ? PERSIST_FORBIDDEN : PERSIST_APPLIED);
    }
    free(ops);
}

static void test_what_waits_for_a_commit_shares_the_next(void **state)
{
    enum { COUNT = 1000 };
    struct store_op *ops = calloc(COUNT + 1, sizeof(*ops));
    uint64_t before = counters().transactions;

    (void)state;
    assert_non_null(ops);
    for (uint32_t i = 0; i <= COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
    }
    fault_vfs_hold_sync();
    store_submit(&fixture, &ops[0]);
    fault_vfs_await_held(); /* the first commit is at its sync */
    for (uint32_t i = 1; i <= COUNT; i++) {
        store_submit(&fixture, &ops[i]);
    }
    (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
    assert_int_equal(ops[0].done, 0); /* nothing is acknowledged before it is on storage */
    fault_vfs_let_go();
    store_await(&fixture, ops, COUNT + 1);
    assert_int_equal(counters().transactions - before, 2);
    assert_int_equal(counters().operations, COUNT + 1);
    free(ops);
}

static void test_close_commits_what_was_submitted(void **state)
{
    enum { COUNT = 3000 };
    struct store_op *ops = calloc(COUNT, sizeof(*ops));
    uint32_t *numbers = calloc(COUNT, sizeof(*numbers));
    char log[STORE_PATH_BYTES + 32];

    (void)state;
    assert_true(ops != NULL && numbers != NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    store_close(&fixture);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_not_equal(ops[i].done, 0);
        assert_int_equal(ops[i].op.outcome, PERSIST_APPLIED);
    }
    /* It is one file again. */
    (void)snprintf(log, sizeof(log), "%s-wal", fixture.file);
    assert_null(fopen(log, "rb"));
    store_open(&fixture);
    assert_int_equal(store_replay(&fixture, numbers, COUNT), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(numbers[i], i);
    }
    free(numbers);
    free(ops);
}

/* Removed payloads must not lie about in the log, nor in the database's free pages. */
static void test_removed_bytes_are_gone(void **state)
{
    static const char secret[] = "nobody must ever find this again";
    struct store_op op;
    char bytes[65536];
    char log[STORE_PATH_BYTES + 32];
    const char *const files[] = {fixture.file, log};

    (void)state;
    store_close(&fixture);
    fixture.options.scrub_after_ms = 1;
    store_open(&fixture);
    for (uint32_t i = 0; i < 20; i++) {
        store_make_deposit(&fixture, &op, i * 7 + 1, 10, i % 2 == 0 ? SOON : NEVER);
        memcpy(op.payload, secret, sizeof(secret));
        op.op.message.payload_bytes = STORE_PAYLOAD_BYTES;
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    }
    for (uint32_t i = 1; i < 20; i += 2) {
        assert_int_equal(store_withdraw(&fixture, i * 7 + 1, 20), PERSIST_APPLIED);
    }
    store_make_expire(&op, SOON, 100);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, 10);
    /* The next scrub after this moment is one after the removal; waited for by working on. */
    for (uint64_t before = counters().scrubs, i = 1000; counters().scrubs < before + 2; i += 7) {
        assert_int_equal(store_deposit(&fixture, (uint32_t)i, SOON, LATER), PERSIST_APPLIED);
        assert_int_equal(store_withdraw(&fixture, (uint32_t)i, SOON), PERSIST_APPLIED);
    }
    (void)snprintf(log, sizeof(log), "%s-wal", fixture.file);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(files[i], "rb");
        size_t count = file == NULL ? 0 : fread(bytes, 1, sizeof(bytes), file);

        assert_null(memmem(bytes, count, secret, sizeof(secret)));
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    fixture.options.scrub_after_ms = 0;
}

/* --- gathering -------------------------------------------------------------------------------- */

static void note_job(struct persist_job *job)
{
    job->path = NULL;
}

/* Runs the loop until all of them are done. */
static void await_all(struct store_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (ops[i].done == 0) {
            (void)uv_run(&fixture.loop, UV_RUN_ONCE);
        }
        assert_int_equal(ops[i].op.outcome, PERSIST_APPLIED);
    }
}

/* Operations wait for one another for as long as they are told, share a commit then, and are
 * acknowledged after it. A whole batch, a job and the end do not wait. */
static void test_operations_gather(void **state)
{
    enum { HOUR_MS = 3600 * 1000, BATCH = 2048 };
    struct store_op *ops = calloc(BATCH, sizeof(*ops));
    struct persist_job job = {.kind = PERSIST_COMPACT, .path = "", .done = note_job};
    const uint64_t began = uv_hrtime();
    uint64_t before;

    (void)state;
    assert_non_null(ops);
    store_close(&fixture);
    fixture.options.gather_ms = 20;
    store_open(&fixture);
    before = counters().transactions;
    for (uint32_t i = 0; i < 3; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    await_all(ops, 3);
    assert_true(uv_hrtime() - began >= 20 * 1000 * 1000);
    assert_in_range(counters().transactions - before, 1, 3); /* we may have been held up between */
    store_close(&fixture);

    fixture.options.gather_ms = HOUR_MS;
    store_open(&fixture);
    before = counters().transactions;
    for (uint32_t i = 0; i < BATCH; i++) {
        store_make_deposit(&fixture, &ops[i], 100 + i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    await_all(ops, BATCH);
    assert_int_equal(counters().transactions - before, 1);
    for (uint32_t i = 0; i < 2; i++) {
        store_make_deposit(&fixture, &ops[i], 5000 + i, 10, NEVER);
        ops[i].done = 0;
        store_submit(&fixture, &ops[i]);
    }
    assert_true(fixture.persist->interface->begin_job(fixture.persist, &job));
    while (job.path != NULL) {
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    }
    await_all(ops, 2);
    assert_int_equal(counters().transactions - before, 2);
    store_make_deposit(&fixture, &ops[0], 6000, 10, NEVER);
    ops[0].done = 0;
    store_submit(&fixture, &ops[0]);
    store_close(&fixture);
    assert_true(ops[0].done != 0 && ops[0].op.outcome == PERSIST_APPLIED);
    assert_true(uv_hrtime() - began < (uint64_t)HOUR_MS * 1000 * 1000);
    fixture.options.gather_ms = 0;
    free(ops);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void test_reads_payloads(void **state)
{
    struct persist_entry entries[4];
    struct persist_read read = {
        .kind = PERSIST_READ_PAYLOADS, .entries = entries, .entry_count = 4};
    const uint32_t wanted[] = {4, 77, 1, 2};
    struct store_op op;

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(store_withdraw(&fixture, 2, 10), PERSIST_APPLIED);
    for (int i = 0; i < 4; i++) {
        store_make_deposit(&fixture, &op, wanted[i], 10, NEVER);
        memset(&entries[i], 0, sizeof(entries[i]));
        entries[i].message.host = fixture.host;
        memcpy(entries[i].message.id, op.op.message.id, MESSAGE_ID_BYTES);
    }
    store_read(&fixture, &read);
    assert_false(read.failed);
    assert_true(entries[0].found && entries[2].found);
    assert_false(entries[1].found || entries[3].found);
    assert_int_equal(store_check_message(&entries[0].message), 4);
    assert_int_equal(store_check_message(&entries[2].message), 1);
    assert_non_null(entries[0].message.payload);
    fixture.persist->interface->read_release(fixture.persist, &read);
    fixture.persist->interface->read_release(fixture.persist, &read); /* once more is fine */
}

/* Pages through host `host`, at most 3 messages and `bytes` bytes each. */
static void assert_pages(uint32_t host, const uint32_t *expected, size_t count, size_t bytes)
{
    struct persist_entry entries[3];
    int64_t after = 0;
    bool more = true;
    size_t seen = 0;

    while (more) {
        struct persist_read read = {.kind = PERSIST_READ_PAGE,
                                    .entries = entries,
                                    .entry_count = 3,
                                    .page_host = host,
                                    .page_after = after,
                                    .page_bytes_limit = bytes};
        size_t total = 0;

        store_read(&fixture, &read);
        assert_false(read.failed);
        assert_true(read.entry_count <= 3 && (read.entry_count > 0 || count == 0));
        for (size_t i = 0; i < read.entry_count; i++) {
            const struct persist_message *message = &entries[i].message;

            assert_true(seen < count);
            assert_int_equal(store_check_message(message), expected[seen]);
            seen++;
            total += message->payload_bytes + message->filter_bytes + message->media_type_bytes;
        }
        assert_true(read.entry_count <= 1 || total <= bytes);
        assert_true(read.page_last > after || read.entry_count == 0);
        after = read.page_last;
        more = read.page_more;
        fixture.persist->interface->read_release(fixture.persist, &read);
    }
    assert_int_equal(seen, count);
}

static void test_pages_in_order(void **state)
{
    struct store_op op;
    const uint32_t expected[] = {9, 3, 100, 5, 1, 120, 121, 0};
    const uint32_t other[] = {3};

    (void)state;
    assert_pages(fixture.host, NULL, 0, 1000);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(store_deposit(&fixture, expected[i], 10, NEVER), PERSIST_APPLIED);
        store_make_deposit(&fixture, &op, 3, 10, NEVER);
        op.op.message.host++;
        assert_int_equal(store_do(&fixture, &op), i == 0 ? PERSIST_APPLIED : PERSIST_DUPLICATE);
    }
    assert_pages(fixture.host, expected, 8, 1000000); /* three at a time */
    assert_pages(fixture.host, expected, 8, 270);     /* as the bytes allow */
    assert_pages(fixture.host, expected, 8, 0);       /* one at a time */
    assert_pages(fixture.host + 1, other, 1, 1000);
}

static int visit_two(void *context, const struct persist_message *message)
{
    unsigned *count = context;

    (void)message;
    return ++*count == 2 ? -77 : 0;
}

static void test_replay_stops_when_told(void **state)
{
    unsigned count = 0;

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    reopen();
    assert_int_equal(
        fixture.persist->interface->replay(fixture.persist, visit_two, &count, fixture.reason),
        -77);
    assert_int_equal(count, 2);
    assert_int_equal(store_deposit(&fixture, 6, 10, NEVER), PERSIST_APPLIED);
}

/* Whether another program may not even read the database: asked by a process without locks. */
static bool are_others_locked_out(const char *path)
{
    /* The bytes that SQLite locks for readers. */
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);

        _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 1;
}

/*
 * Where shared memory is refused, the index of the log is on the heap, and other programs have to
 * wait until the store is closed; elsewhere it is beside the database, and they may read.
 */
static void test_the_index_of_the_log(void **state)
{
    char shared[STORE_PATH_BYTES + 32];

    (void)state;
    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    (void)snprintf(shared, sizeof(shared), "%s-shm", fixture.file);
    assert_int_equal(access(shared, F_OK) == 0, !pass_refuses_maps());
    assert_int_equal(are_others_locked_out(fixture.file), pass_refuses_maps());
    store_close(&fixture);
    assert_false(are_others_locked_out(fixture.file));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new_and_reopened),
        TEST(test_clock_is_saved_alone),
        TEST(test_hosts_and_profiles),
        TEST(test_duplicates_and_conflicts),
        TEST(test_an_expired_message_is_replaced),
        TEST(test_withdraw),
        TEST(test_marks_are_bounded),
        TEST(test_expiry_in_slices),
        TEST(test_marks_expire_in_slices),
        TEST(test_evicts_the_oldest),
        TEST(test_evicts_who_came_last),
        TEST(test_evicts_what_expires_first),
        TEST(test_evicts_of_its_host_only),
        TEST(test_duplicates_evict_nothing),
        TEST(test_evicts_no_more_than_its_limit),
        TEST(test_largest_and_smallest_values),
        TEST(test_callbacks_come_in_order),
        TEST(test_what_waits_for_a_commit_shares_the_next),
        TEST(test_close_commits_what_was_submitted),
        TEST(test_removed_bytes_are_gone),
        TEST(test_operations_gather),
        TEST(test_reads_payloads),
        TEST(test_pages_in_order),
        TEST(test_replay_stops_when_told),
        TEST(test_the_index_of_the_log),
    };

    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
