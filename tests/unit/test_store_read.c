/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: payloads by id, pages in order, and the replay at the start. */
#include <signal.h>

#include "core/base/err.h"
#include "daemon/system/early_signals.h"
#include "tests/lib/check.h"
#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000 };

static struct store_fixture fixture;

/* --- reading ---------------------------------------------------------------------------------- */

TEST_ON(test_reads_payloads, store_setup, store_teardown, &fixture)
{
    struct persist_entry entries[4];
    struct persist_read read = {
        .kind = PERSIST_READ_PAYLOADS, .entries = entries, .entry_count = 4};
    const uint32_t wanted[] = {4, 77, 1, 2};
    struct store_op op;

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

static void read_some(size_t count)
{
    struct persist_entry entries[400];
    struct persist_read read = {.kind = PERSIST_READ_PAGE,
                                .entries = entries,
                                .entry_count = count,
                                .page_host = fixture.host,
                                .page_bytes_limit = 1 << 20};

    store_read(&fixture, &read);
    assert_int_equal(read.entry_count, count);
    fixture.persist->interface->read_release(fixture.persist, &read);
}

/* What was read does not stay in SQLite's cache: its message may be gone by then. */
TEST_ON(test_cache_is_freed, store_setup, store_teardown, &fixture)
{
    enum { SPARE = 32 * 1024, TRIES = 100000 };

    store_close(&fixture);
    fixture.options.scrub_after_ms = 1;
    store_open(&fixture);
    for (uint32_t i = 0; i < 400; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    read_some(1); /* opens the connection */
    const uint64_t before = store_count(&fixture).memory_bytes;
    read_some(400);
    for (int i = 0; store_count(&fixture).memory_bytes > before + SPARE; i++) {
        assert_true(i < TRIES);
        read_some(1);
    }
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

TEST_ON(test_pages_in_order, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t expected[] = {9, 3, 100, 5, 1, 120, 121, 0};
    const uint32_t other[] = {3};

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

/* --- the list of all messages ----------------------------------------------------------------- */

/* The number of a message of the list. */
static uint32_t number_of(const struct persist_entry *entry)
{
    struct store_op op;

    for (uint32_t number = 0; number < 16; number++) {
        store_make_deposit(&fixture, &op, number, 10, NEVER);
        if (memcmp(entry->message.id, op.op.message.id, MESSAGE_ID_BYTES) == 0) {
            assert_int_equal(entry->message.payload_bytes, op.op.message.payload_bytes);
            assert_memory_equal(entry->message.payload, op.op.message.payload,
                                op.op.message.payload_bytes);
            assert_int_equal(entry->message.filter_bytes, 0);
            assert_true(entry->found && !entry->omitted);
            return number;
        }
    }
    fail_msg("a message that was not deposited");
    return 0;
}

/* Reads pages from one end to the other, `most` messages and `bytes` bytes each at most. */
static void assert_list(bool newer, int64_t now_ms, const uint32_t *expected, size_t count,
                        size_t most, size_t bytes)
{
    struct persist_entry entries[16];
    int64_t after = newer ? 0 : INT64_MAX;
    size_t seen = 0;

    for (bool more = true; more;) {
        struct persist_read read = {.kind = PERSIST_READ_LIST,
                                    .entries = entries,
                                    .entry_count = most,
                                    .page_host = fixture.host,
                                    .page_after = after,
                                    .page_newer = newer,
                                    .page_now_ms = now_ms,
                                    .page_bytes_limit = bytes};

        store_read(&fixture, &read);
        assert_false(read.failed);
        assert_true(read.entry_count > 0 || count == 0);
        for (size_t i = 0; i < read.entry_count; i++) {
            assert_true(seen < count);
            assert_int_equal(number_of(&entries[i]), expected[seen]);
            assert_int_equal(entries[i].reasons_bytes, expected[seen] == 2 ? 5 : 0);
            seen++;
        }
        assert_true(newer ? read.page_last >= after : read.page_last <= after);
        after = read.page_last;
        more = read.page_more;
        fixture.persist->interface->read_release(fixture.persist, &read);
    }
    assert_int_equal(seen, count);
}

/* Both ways, hidden and pending ones, with reasons; without removed and expired ones, and without
 * those of other hosts. What is shown again counts as new. */
TEST_ON(test_lists_all, store_setup, store_teardown, &fixture)
{
    static const uint32_t down[] = {6, 5, 3, 2, 0};
    static const uint32_t up[] = {0, 2, 3, 5, 6};
    static const uint32_t shown[] = {2, 6, 5, 3, 0};
    struct store_op op;

    assert_list(false, 100, NULL, 0, 3, 1000);
    for (uint32_t i = 0; i < 7; i++) {
        store_make_deposit(&fixture, &op, i, 10, i == 4 ? 100 : NEVER);
        op.op.message.state = i == 3 ? PERSIST_PENDING : PERSIST_SHOWN;
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
        store_make_deposit(&fixture, &op, 15, 10, NEVER);
        op.op.message.host++;
        assert_int_equal(store_do(&fixture, &op), i == 0 ? PERSIST_APPLIED : PERSIST_DUPLICATE);
    }
    store_make_moderate(&fixture, &op, 2, 10, PERSIST_HIDDEN, 1, "4why");
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_make_deposit(&fixture, &op, 1, 10, NEVER);
    op.op.kind = PERSIST_WITHHOLD;
    op.op.message.destroy_ms = 5000;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    for (size_t most = 1; most <= 6; most++) {
        assert_list(false, 100, down, 5, most, 1 << 20);
        assert_list(true, 100, up, 5, most, 1 << 20);
        assert_list(false, 100, down, 5, most, 60); /* as the bytes allow */
        assert_list(true, 100, up, 5, most, 0);     /* one at a time */
    }
    store_make_moderate(&fixture, &op, 2, 10, PERSIST_APPROVED, 0, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_list(false, 100, shown, 5, 3, 1 << 20);
    assert_list(false, NEVER, NULL, 0, 3, 1 << 20);
}

/* --- the replay ------------------------------------------------------------------------------- */

static int visit_two(void *context, const struct persist_message *message)
{
    unsigned *count = context;

    (void)message;
    return ++*count == 2 ? -77 : 0;
}

TEST_ON(test_replay_stops_when_told, store_setup, store_teardown, &fixture)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(store_deposit(&fixture, i, 10, NEVER), PERSIST_APPLIED);
    }
    store_reopen(&fixture);
    assert_int_equal(
        fixture.persist->interface->replay(fixture.persist, visit_two, &count, fixture.reason),
        -77);
    assert_int_equal(count, 2);
    assert_int_equal(store_deposit(&fixture, 6, 10, NEVER), PERSIST_APPLIED);
}

/*
 * A stop ends the check of the database and the reading of its messages, long before their end. A
 * new start has everything.
 */
TEST_ON(test_a_stop_ends_the_start, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 2500 }; /* some steps of SQLite's machine for each */
    static uint32_t numbers[COUNT];
    static struct store_op ops[COUNT];

    for (uint32_t i = 0; i < COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, COUNT);
    store_close(&fixture);
    early_signals_catch();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(store_try_open(&fixture), -ERR_STORAGE);
    assert_true(early_signals_take(SIGTERM));
    assert_false(early_signals_stop());
    store_open(&fixture);
    assert_int_equal(raise(SIGINT), 0);
    unsigned count = 10; /* visit_two does not end it */
    assert_int_equal(
        fixture.persist->interface->replay(fixture.persist, visit_two, &count, fixture.reason),
        -ERR_STORAGE);
    assert_in_range(count, 10, 10 + COUNT - 1);
    assert_true(early_signals_take(SIGINT));
    store_reopen(&fixture);
    assert_int_equal(store_replay(&fixture, numbers, COUNT), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(numbers[i], i);
    }
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
}

/* --- what the operator has removed ------------------------------------------------------------ */

struct removals {
    uint32_t count;
    struct persist_message last;
};

static int visit_removed(void *context, const struct persist_message *message)
{
    struct removals *removals = context;

    removals->count++;
    removals->last = *message;
    return 0;
}

static struct removals replay_removed(void)
{
    struct removals removals = {.count = 0};

    assert_int_equal(fixture.persist->interface->replay_removed(fixture.persist, visit_removed,
                                                                &removals, fixture.reason),
                     0);
    return removals;
}

/* Who removed a message is kept until the message would have expired; of a withdrawn one nothing.
 */
TEST_ON(test_removed_is_told, store_setup, store_teardown, &fixture)
{
    struct removals removals;
    struct store_op op;
    struct store_op expiry;

    assert_int_equal(store_deposit(&fixture, 1, 1, 500), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 1, 500), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 1, 10), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 2, 10);
    op.op.kind = PERSIST_REMOVE;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_true(op.op.message.expires_ms == 500);
    store_reopen(&fixture);
    removals = replay_removed();
    assert_int_equal(removals.count, 1);
    assert_int_equal(removals.last.host, fixture.host);
    assert_memory_equal(removals.last.id, op.op.message.id, MESSAGE_ID_BYTES);
    assert_true(removals.last.expires_ms == 500);
    store_make_expire(&expiry, 500, 10);
    assert_int_equal(store_do(&fixture, &expiry), PERSIST_APPLIED);
    store_reopen(&fixture);
    assert_int_equal(replay_removed().count, 0);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM tombstone"), 0);
}
