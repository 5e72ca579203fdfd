/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store, and what each operation on messages does. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "tests/lib/pass_vfs.h"
#include "tests/lib/store_fixture.h"

enum { SOON = 1000, LATER = 2000, NEVER = 1000000 };

static struct store_fixture fixture;

/* --- opening ---------------------------------------------------------------------------------- */

TEST_ON(test_new_and_reopened, store_setup, store_teardown, &fixture)
{
    struct persist_info first;
    struct persist_info second;
    const uint32_t expected[] = {3, 1, 2};

    fixture.persist->interface->info(fixture.persist, &first);
    assert_int_equal(first.clock_ms, 0);
    assert_false(first.relaxed);
    assert_int_equal(store_deposit(&fixture, 3, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 1, 20, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 15, NEVER), PERSIST_APPLIED);
    fixture.options.relaxed = true;
    store_reopen(&fixture);
    fixture.persist->interface->info(fixture.persist, &second);
    assert_memory_equal(first.store_id, second.store_id, sizeof(first.store_id));
    assert_int_equal(second.clock_ms, 20); /* the latest, not the last */
    assert_true(second.relaxed);
    store_assert_replays(&fixture, expected, 3);
    fixture.options.relaxed = false;
}

TEST_ON(test_clock_is_saved_alone, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    struct persist_info info;

    store_make_expire(&op, INT64_C(1700000000123), 1);
    op.op.kind = PERSIST_CLOCK;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_reopen(&fixture);
    fixture.persist->interface->info(fixture.persist, &info);
    assert_true(info.clock_ms == INT64_C(1700000000123));
}

/* Both times of a message, which is looked for by its number. */
static void assert_times(uint32_t number, int64_t deposited_ms, int64_t expires_ms)
{
    char sql[128];

    (void)snprintf(sql, sizeof(sql),
                   "SELECT deposited_ms FROM message ORDER BY seq LIMIT 1"
                   " OFFSET %u",
                   number - 1);
    assert_true(store_read_number(&fixture, sql) == deposited_ms);
    (void)snprintf(sql, sizeof(sql),
                   "SELECT expires_ms FROM message ORDER BY seq LIMIT 1"
                   " OFFSET %u",
                   number - 1);
    assert_true(store_read_number(&fixture, sql) == expires_ms);
}

/* The clock is set: what came from shift_from_ms on moves, and the marks of what has gone. */
TEST_ON(test_clock_is_set, store_setup, store_teardown, &fixture)
{
    const uint32_t all[] = {1, 2, 3};
    struct store_op op;
    struct persist_info info;

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 20, LATER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 3, 30, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 4, 30, SOON), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 4, 40), PERSIST_APPLIED);
    store_make_expire(&op, 5050, 1);
    op.op.kind = PERSIST_SHIFT;
    op.op.message.seq = 1;
    op.op.shift_from_ms = 20;
    op.op.shift_ms = 5000;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_times(1, 10, NEVER);
    assert_times(2, 5020, LATER + 5000);
    assert_times(3, 5030, NEVER + 5000);
    /* The same again, as after a commit that failed but is in the file: nothing moves twice. */
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_times(2, 5020, LATER + 5000);
    assert_times(3, 5030, NEVER + 5000);
    assert_int_equal(store_deposit(&fixture, 4, SOON + 4999, NEVER), PERSIST_GONE);
    store_reopen(&fixture);
    fixture.persist->interface->info(fixture.persist, &info);
    assert_int_equal(info.clock_ms, 5050);
    store_assert_replays(&fixture, all, 3); /* their checksums are right */
    assert_int_equal(store_deposit(&fixture, 4, SOON + 5000, NEVER), PERSIST_APPLIED);
}

static uv_mutex_t submitting;

/* The writer asks for the free storage before it takes a batch: here it waits for the whole one. */
static uint64_t wait_for_all(const char *path)
{
    (void)path;
    uv_mutex_lock(&submitting);
    uv_mutex_unlock(&submitting);
    return UINT64_MAX;
}

/* What is submitted right behind the setting of the clock sees the times that have moved. */
TEST_ON(test_the_clock_is_set_before_others, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 3 };
    const uint32_t gone[] = {1};
    const uint32_t left[] = {2, 3, 4};
    struct store_op *ops = calloc(COUNT, sizeof(*ops));

    assert_non_null(ops);
    assert_int_equal(uv_mutex_init(&submitting), 0);
    store_close(&fixture);
    fixture.options.free_bytes = wait_for_all;
    store_open(&fixture);
    assert_int_equal(store_deposit(&fixture, 1, 10, LATER), PERSIST_APPLIED); /* does not move */
    assert_int_equal(store_deposit(&fixture, 2, 20, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 3, 20, SOON + 1), PERSIST_APPLIED);
    store_make_expire(&ops[0], 5050, 1);
    ops[0].op.kind = PERSIST_SHIFT;
    ops[0].op.message.seq = 1;
    ops[0].op.shift_from_ms = 20;
    ops[0].op.shift_ms = 5000;
    store_make_expire(&ops[1], SOON, 4);
    store_make_deposit(&fixture, &ops[2], 4, SOON, NEVER);
    ops[2].op.evict = PERSIST_EVICT_SOONEST;
    ops[2].op.evict_messages = 1;
    ops[2].op.removed = ops[2].removed;
    ops[2].op.limit = 4;
    uv_mutex_lock(&submitting);
    for (size_t i = 0; i < COUNT; i++) {
        store_submit(&fixture, &ops[i]);
    }
    uv_mutex_unlock(&submitting);
    store_await(&fixture, ops, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(ops[i].op.outcome, PERSIST_APPLIED);
    }
    store_assert_removed(&ops[1], NULL, 0);
    store_assert_removed(&ops[2], gone, 1);
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, 3);
    store_close(&fixture);
    fixture.options.free_bytes = NULL;
    uv_mutex_destroy(&submitting);
    free(ops);
}

TEST_ON(test_hosts_and_profiles, store_setup, store_teardown, &fixture)
{
    char profile[256] = "";
    uint32_t again;
    uint32_t other;

    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v2:256/2",
                                                          &other, profile, fixture.reason),
                     0);
    assert_int_not_equal(other, fixture.host);
    /* Without messages it takes another profile. */
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v2:1024/4",
                                                          &again, profile, fixture.reason),
                     0);
    assert_int_equal(again, other);
    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    store_reopen(&fixture);
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "cafe", "v2:1024/4",
                                                          &again, profile, fixture.reason),
                     0);
    assert_int_equal(again, other);
    assert_int_equal(fixture.persist->interface->add_host(fixture.persist, "default", "v2:256/4",
                                                          &again, profile, fixture.reason),
                     PERSIST_PROFILE_CHANGED);
    assert_string_equal(profile, "v2:512/4");
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
TEST_ON(test_the_index_of_the_log, store_setup, store_teardown, &fixture)
{
    char shared[STORE_PATH_BYTES + 32];

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    (void)snprintf(shared, sizeof(shared), "%s-shm", fixture.file);
    assert_int_equal(access(shared, F_OK) == 0, !pass_refuses_maps());
    assert_int_equal(are_others_locked_out(fixture.file), pass_refuses_maps());
    store_close(&fixture);
    assert_false(are_others_locked_out(fixture.file));
}

/* --- operations ------------------------------------------------------------------------------- */

TEST_ON(test_duplicates_and_conflicts, store_setup, store_teardown, &fixture)
{
    struct store_op op;

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

TEST_ON(test_an_expired_message_is_replaced, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    const uint32_t expected[] = {6, 5};

    assert_int_equal(store_deposit(&fixture, 5, 10, SOON), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 6, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 5, SOON - 1, LATER), PERSIST_DUPLICATE);
    store_make_deposit(&fixture, &op, 5, SOON, LATER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.message.expires_ms, LATER);
    assert_int_equal(store_deposit(&fixture, 5, SOON, LATER), PERSIST_DUPLICATE);
    store_assert_replays(&fixture, expected, 2); /* in the order of their present deposits */
}

TEST_ON(test_withdraw, store_setup, store_teardown, &fixture)
{
    struct store_op op;

    assert_int_equal(store_deposit(&fixture, 5, 10, SOON), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 5, 20);
    op.op.message.withdraw_hash[0] ^= 1;
    assert_int_equal(store_do(&fixture, &op), PERSIST_FORBIDDEN);
    store_make_withdraw(&fixture, &op, 5, 20);
    op.op.message.host++;
    assert_int_equal(store_do(&fixture, &op), PERSIST_NOT_FOUND);
    assert_int_equal(store_withdraw(&fixture, 5, 20), PERSIST_APPLIED);
    assert_int_equal(store_withdraw(&fixture, 5, 20), PERSIST_NOT_FOUND);
    store_assert_replays(&fixture, NULL, 0);
    /* Until it would have expired nobody brings it back, not after a restart either. */
    assert_int_equal(store_deposit(&fixture, 5, SOON - 1, LATER), PERSIST_GONE);
    store_reopen(&fixture);
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
TEST_ON(test_marks_are_bounded, store_setup, store_teardown, &fixture)
{
    enum { MARKS = 20 };

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

TEST_ON(test_expiry_in_slices, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    bool seen[10] = {false};
    const uint32_t expected[] = {10, 11, 12};

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
    store_assert_replays(&fixture, expected, 3);
    /* Expiry leaves no mark: the same message may come again. */
    assert_int_equal(store_deposit(&fixture, 3, SOON + 6, LATER), PERSIST_APPLIED);
}

TEST_ON(test_marks_expire_in_slices, store_setup, store_teardown, &fixture)
{
    struct store_op op;

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

TEST_ON(test_largest_and_smallest_values, store_setup, store_teardown, &fixture)
{
    struct store_op op;
    struct persist_entry entry;
    struct persist_read read = {.kind = PERSIST_READ_PAYLOADS, .entries = &entry, .entry_count = 1};
    uint8_t *payload = malloc(1024 * 1024);

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

/* The size of the pages follows from `bytes_max` when the database is made, and stays. */
TEST_ON(test_pages_of_a_small_store, store_setup, store_teardown, &fixture)
{
    struct store_fixture small;
    const uint32_t expected[] = {1, 2};

    assert_int_equal(store_read_number(&fixture, "PRAGMA page_size"), 4096);
    store_fixture_init(&small);
    small.options.bytes_max = 16 << 20;
    store_open(&small);
    assert_int_equal(store_deposit(&small, 1, 10, NEVER), PERSIST_APPLIED);
    small.options.bytes_max = 17 << 20;
    store_reopen(&small);
    assert_int_equal(store_deposit(&small, 2, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(store_read_number(&small, "PRAGMA page_size"), 1024);
    store_assert_replays(&small, expected, 2);
    store_fixture_deinit(&small);
}

/* After a start SQLite does not keep the pages of all messages in its cache. */
TEST_ON(test_a_start_leaves_no_pages, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 2000, BYTES = 400 };
    static struct store_op ops[COUNT];
    static uint32_t numbers[COUNT];

    for (uint32_t i = 0; i < COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i + 1, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    store_await(&fixture, ops, COUNT);
    store_reopen(&fixture);
    assert_int_equal(store_replay(&fixture, numbers, COUNT), COUNT);
    assert_in_range(sqlite3_memory_used(), 0, COUNT * BYTES / 2);
}
