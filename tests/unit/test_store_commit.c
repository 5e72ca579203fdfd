/* SPDX-License-Identifier: Apache-2.0 */
/* Commits: their order, what shares one, what leaves the files, and the end of a store. */
#include <dirent.h>
#include <unistd.h>

#include "daemon/store/log.h"
#include "daemon/store/thread/inner.h"
#include "tests/lib/check.h"
#include "tests/lib/fault_vfs.h"
#include "tests/lib/store_fixture.h"

enum { SOON = 1000, NEVER = 1000000 };

static struct store_fixture fixture;

/* --- order and groups ------------------------------------------------------------------------- */

TEST_ON(test_callbacks_come_in_order, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 5000 };
    struct store_op *ops = calloc(COUNT, sizeof(*ops));

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

TEST_ON(test_what_waits_for_a_commit_shares_the_next, store_setup, store_teardown, &fixture)
{
    enum { COUNT = STORE_BATCH_OPS };
    struct store_op *ops = calloc(COUNT + 1, sizeof(*ops));
    uint64_t before = store_count(&fixture).transactions;

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
    assert_int_equal(store_count(&fixture).transactions - before, 2);
    assert_int_equal(store_count(&fixture).operations, COUNT + 1);
    free(ops);
}

/*
 * The store puts several messages of a transaction into the table at once. Later operations of the
 * transaction must see messages that wait for this: a duplicate, a conflict, a withdrawal, a
 * deposit that evicts, and an expiry. The database has the rows in the end.
 */
TEST_ON(test_operations_see_messages_that_wait, store_setup, store_teardown, &fixture)
{
    enum {
        PLAIN = 11,
        DUPLICATE = PLAIN,
        CONFLICT,
        WITHDRAW,
        AGAIN,
        CHOSEN,
        EVICTING,
        SHORT,
        EXPIRE,
        OPS
    };
    static struct store_op ops[OPS];
    const uint32_t evicted[] = {30, 0};
    const uint32_t left[] = {1, 2, 3, 4, 6, 7, 8, 9, 10, 31};

    for (uint32_t i = 0; i < PLAIN; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
    }
    store_make_deposit(&fixture, &ops[DUPLICATE], 10, 10, NEVER);
    store_make_deposit(&fixture, &ops[CONFLICT], 8, 10, NEVER);
    ops[CONFLICT].op.message.payload_bytes--;
    store_make_withdraw(&fixture, &ops[WITHDRAW], 5, 10);
    store_make_deposit(&fixture, &ops[AGAIN], 5, 10, NEVER);
    store_make_deposit(&fixture, &ops[CHOSEN], 30, 10, NEVER);
    store_make_deposit(&fixture, &ops[EVICTING], 31, 10, NEVER);
    ops[EVICTING].op.chosen = ops[CHOSEN].op.message.id;
    ops[EVICTING].op.chosen_count = 1;
    ops[EVICTING].op.evict = PERSIST_EVICT_OLDEST;
    ops[EVICTING].op.evict_messages = 1;
    ops[EVICTING].op.removed = ops[EVICTING].removed;
    ops[EVICTING].op.limit = 2;
    store_make_deposit(&fixture, &ops[SHORT], 32, 10, SOON);
    store_make_expire(&ops[EXPIRE], SOON, 100);

    const uint64_t before = store_count(&fixture).transactions;
    fault_vfs_hold_sync();
    store_submit(&fixture, &ops[0]);
    fault_vfs_await_held();
    for (uint32_t i = 1; i < OPS; i++) {
        store_submit(&fixture, &ops[i]);
    }
    fault_vfs_let_go();
    store_await(&fixture, ops, OPS);
    assert_int_equal(store_count(&fixture).transactions - before, 2);
    for (uint32_t i = 0; i < OPS; i++) {
        const enum persist_outcome outcome = i == DUPLICATE  ? PERSIST_DUPLICATE
                                             : i == CONFLICT ? PERSIST_CONFLICT
                                             : i == AGAIN    ? PERSIST_GONE
                                                             : PERSIST_APPLIED;
        assert_int_equal(ops[i].op.outcome, outcome);
    }
    store_assert_removed(&ops[EVICTING], evicted, 2);
    assert_int_equal(ops[EXPIRE].op.removed_count, 1);
    assert_memory_equal(ops[EXPIRE].removed[0].id, ops[SHORT].op.message.id, MESSAGE_ID_BYTES);
    store_assert_replays(&fixture, left, sizeof(left) / sizeof(*left));
    store_reopen(&fixture);
    store_assert_replays(&fixture, left, sizeof(left) / sizeof(*left));
}

/* How many connections have the log open: the reader has none here, and the checkpointer perhaps.
 */
static unsigned count_log_users(void)
{
    const char suffix[] = "-wal";
    char path[STORE_PATH_BYTES + 32];
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const ssize_t length = readlinkat(dirfd(directory), entry->d_name, path, sizeof(path));
        const ssize_t tail = (ssize_t)strlen(suffix);
        count += length > tail && memcmp(path + length - tail, suffix, (size_t)tail) == 0;
    }
    assert_int_equal(closedir(directory), 0);
    return count;
}

/*
 * While deposits wait, the log is copied into the database before it has reached its limit. The
 * connection that does so has a page of the log in memory; a scrub closes it.
 */
TEST_ON(test_the_log_is_copied_while_deposits_wait, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 3000, PATIENCE_S = 60 };
    struct store_op *ops = calloc(COUNT, sizeof(*ops));
    const uint64_t until = uv_hrtime() + PATIENCE_S * UINT64_C(1000000000);

    assert_non_null(ops);
    store_close(&fixture);
    fixture.options.scrub_after_ms = 1;
    store_open(&fixture);
    const uint64_t before = store_count(&fixture).file_bytes;
    for (uint32_t i = 0; i < COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
    }
    fault_vfs_hold_sync();
    store_submit(&fixture, &ops[0]);
    fault_vfs_await_held(); /* the others wait; more than one batch */
    for (uint32_t i = 1; i < COUNT; i++) {
        store_submit(&fixture, &ops[i]);
    }
    fault_vfs_let_go();
    store_await(&fixture, ops, COUNT);
    while (store_count(&fixture).file_bytes < before + COUNT * STORE_PAYLOAD_BYTES / 2) {
        (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
        assert_true(uv_hrtime() < until);
    }
    assert_in_range(store_count(&fixture).log_bytes, COUNT * STORE_PAYLOAD_BYTES, STORE_LOG_BYTES);
    assert_int_equal(count_log_users(), 2);
    assert_int_equal(store_withdraw(&fixture, 1, 11), PERSIST_APPLIED);
    while (store_count(&fixture).scrubs == 0) {
        (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
        assert_true(uv_hrtime() < until);
    }
    assert_int_equal(count_log_users(), 1);
    store_reopen(&fixture);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM message"), COUNT - 1);
    fixture.options.scrub_after_ms = 0;
    free(ops);
}

TEST_ON(test_close_commits_what_was_submitted, store_setup, store_teardown, &fixture)
{
    enum { COUNT = 3000 };
    struct store_op *ops = calloc(COUNT, sizeof(*ops));
    uint32_t *numbers = calloc(COUNT, sizeof(*numbers));
    char log[STORE_PATH_BYTES + 32];

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
TEST_ON(test_removed_bytes_are_gone, store_setup, store_teardown, &fixture)
{
    static const char secret[] = "nobody must ever find this again";
    struct store_op op;

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
    store_await_scrub(&fixture, SOON);
    assert_false(store_files_have(&fixture, secret, sizeof(secret)));
}

/* The log of a daemon that was killed may have such bytes. */
TEST_ON(test_a_log_from_before_is_scrubbed, store_setup, store_teardown, &fixture)
{
    static struct store_fixture killed;
    uint32_t number = 1;

    assert_int_equal(store_deposit(&fixture, number, 10, NEVER), PERSIST_APPLIED);
    store_fixture_init(&killed);
    store_fixture_copy(&killed, &fixture);
    killed.options.scrub_after_ms = 1;
    store_open(&killed);
    while (store_count(&killed).scrubs == 0) {
        assert_int_equal(store_deposit(&killed, ++number, 10, NEVER), PERSIST_APPLIED);
    }
    store_fixture_deinit(&killed);
}

/* To make the log longer anew costs more writes than the deposits themselves. */
TEST_ON(test_an_empty_log_is_left_alone, store_setup, store_teardown, &fixture)
{
    fixture.options.scrub_after_ms = 1;
    store_reopen(&fixture);
    uint64_t until = uv_hrtime() + UINT64_C(20) * 1000 * 1000;
    for (uint32_t number = 1; number < 4 || uv_hrtime() < until; number++) {
        assert_int_equal(store_deposit(&fixture, number, 10, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(store_count(&fixture).scrubs, 0);
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
TEST_ON(test_operations_gather, store_setup, store_teardown, &fixture)
{
    enum { HOUR_MS = 3600 * 1000, BATCH = STORE_BATCH_OPS };
    struct store_op *ops = calloc(BATCH, sizeof(*ops));
    struct persist_job job = {.kind = PERSIST_COMPACT, .path = "", .done = note_job};
    const uint64_t began = uv_hrtime();
    uint64_t before;

    assert_non_null(ops);
    store_close(&fixture);
    fixture.options.gather_ms = 20;
    store_open(&fixture);
    before = store_count(&fixture).transactions;
    for (uint32_t i = 0; i < 3; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    await_all(ops, 3);
    assert_true(uv_hrtime() - began >= 20 * 1000 * 1000);
    assert_in_range(store_count(&fixture).transactions - before, 1,
                    3); /* we may have been held up between */
    store_close(&fixture);

    fixture.options.gather_ms = HOUR_MS;
    store_open(&fixture);
    before = store_count(&fixture).transactions;
    for (uint32_t i = 0; i < BATCH; i++) {
        store_make_deposit(&fixture, &ops[i], 100 + i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    await_all(ops, BATCH);
    assert_int_equal(store_count(&fixture).transactions - before, 1);
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
    assert_int_equal(store_count(&fixture).transactions - before, 2);
    store_make_deposit(&fixture, &ops[0], 6000, 10, NEVER);
    ops[0].done = 0;
    store_submit(&fixture, &ops[0]);
    store_close(&fixture);
    assert_true(ops[0].done != 0 && ops[0].op.outcome == PERSIST_APPLIED);
    assert_true(uv_hrtime() - began < (uint64_t)HOUR_MS * 1000 * 1000);
    fixture.options.gather_ms = 0;
    free(ops);
}

/*
 * After a large batch the writer waits until half as many operations wait, and they share a commit.
 * A job and the end do not wait.
 */
TEST_ON(test_half_of_the_usual_batch_is_awaited, store_setup, store_teardown, &fixture)
{
    enum { USUAL = 400, HALF = USUAL / 2, HOUR_S = 3600 };
    struct store_op *ops = calloc(USUAL, sizeof(*ops));
    struct persist_job job = {.kind = PERSIST_COMPACT, .path = "", .done = note_job};
    const uint64_t began = uv_hrtime();
    uint64_t before;

    assert_non_null(ops);
    store_close(&fixture);
    fixture.options.group_us = HOUR_S * 1000u * 1000u;
    store_open(&fixture);
    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED); /* waits for none */
    fault_vfs_hold_sync();
    store_make_deposit(&fixture, &ops[0], 2, 10, NEVER);
    store_submit(&fixture, &ops[0]);
    fault_vfs_await_held();
    for (uint32_t i = 1; i < USUAL; i++) {
        store_make_deposit(&fixture, &ops[i], 100 + i, 10, NEVER);
        store_submit(&fixture, &ops[i]);
    }
    fault_vfs_let_go();
    await_all(ops, USUAL); /* the second commit has USUAL - 1 operations */
    before = store_count(&fixture).transactions;
    for (uint32_t i = 0; i < HALF; i++) {
        store_make_deposit(&fixture, &ops[i], 1000 + i, 10, NEVER);
        ops[i].done = 0;
        store_submit(&fixture, &ops[i]);
    }
    await_all(ops, HALF - 1); /* half of an odd number, rounded down */
    assert_int_equal(store_count(&fixture).transactions - before, 1);
    assert_true(fixture.persist->interface->begin_job(fixture.persist, &job));
    while (job.path != NULL) {
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    }
    await_all(ops, HALF);
    store_make_deposit(&fixture, &ops[0], 6000, 10, NEVER);
    ops[0].done = 0;
    store_submit(&fixture, &ops[0]);
    store_close(&fixture);
    assert_true(ops[0].done != 0 && ops[0].op.outcome == PERSIST_APPLIED);
    assert_true(uv_hrtime() - began < HOUR_S * UINT64_C(1000000000));
    fixture.options.group_us = 0;
    free(ops);
}

int main(void)
{
    fault_vfs_install();
    return check_run(NULL, NULL);
}
