/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage and memory that fail at every possible place. Each operation is either applied, and found
 * again, or failed, and without a trace; and when the storage works again, so does the store.
 */
#include "tests/lib/check.h"

#include "tests/lib/fault_vfs.h"
#include "tests/lib/store_fixture.h"

enum {
    BEFORE = 12,  /* messages 1 .. are there before anything fails */
    DEPOSITS = 9, /* 101 .. are deposited meanwhile */
    OPS = DEPOSITS + 3,
    EXPIRING = 3,  /* 1 .. 3 expire meanwhile */
    WITHDRAWN = 5, /* is withdrawn meanwhile */
    SOON = 1000,
    LATER = 2000,
    SWEEP_MAX = 100000
};

struct fault_case {
    const char *name;
    unsigned kinds;
    unsigned times;
};

/* What is to be in the store: bounds, since a failed operation may not have been applied. */
struct expectation {
    bool there[256];
};

static void prepare(struct store_fixture *fixture, struct expectation *expected,
                    uint32_t scrub_after_ms)
{
    struct store_op *ops = calloc(BEFORE, sizeof(*ops));

    assert_non_null(ops);
    memset(expected, 0, sizeof(*expected));
    store_fixture_init(fixture);
    fixture->options.scrub_after_ms = scrub_after_ms;
    store_open(fixture);
    for (uint32_t i = 0; i < BEFORE; i++) {
        store_make_deposit(fixture, &ops[i], i + 1, 10, i < EXPIRING ? SOON : LATER);
        store_submit(fixture, &ops[i]);
        expected->there[i + 1] = true;
    }
    store_await(fixture, ops, BEFORE);
    free(ops);
}

/* Several deposits, a withdrawal, an expiry and a deposit more, all queued at once or one by one.
 */
static void work(struct store_fixture *fixture, struct store_op *ops, struct expectation *expected,
                 bool is_alone)
{
    for (uint32_t i = 0; i < DEPOSITS; i++) {
        store_make_deposit(fixture, &ops[i], 101 + i, 20, LATER);
    }
    store_make_withdraw(fixture, &ops[DEPOSITS], WITHDRAWN, 20);
    store_make_expire(&ops[DEPOSITS + 1], SOON, 100);
    store_make_deposit(fixture, &ops[DEPOSITS + 2], 101 + DEPOSITS, SOON, LATER);
    for (uint32_t i = 0; i < OPS; i++) {
        store_submit(fixture, &ops[i]);
        store_await(fixture, &ops[i], is_alone);
    }
    store_await(fixture, ops, OPS);

    for (uint32_t i = 0; i < OPS; i++) {
        bool applied = ops[i].op.outcome == PERSIST_APPLIED;

        assert_true(applied || ops[i].op.outcome == PERSIST_FAILED);
        assert_true(applied || ops[i].op.reason != NULL);
        if (ops[i].op.kind == PERSIST_DEPOSIT) {
            expected->there[i < DEPOSITS ? 101 + i : 101 + DEPOSITS] = applied;
        }
    }
    if (ops[DEPOSITS].op.outcome == PERSIST_APPLIED) {
        expected->there[WITHDRAWN] = false;
    }
    if (ops[DEPOSITS + 1].op.outcome == PERSIST_APPLIED) {
        assert_int_equal(ops[DEPOSITS + 1].op.removed_count, EXPIRING);
        for (uint32_t i = 1; i <= EXPIRING; i++) {
            expected->there[i] = false;
        }
    } else {
        assert_int_equal(ops[DEPOSITS + 1].op.removed_count, 0);
    }
}

static void assert_holds(struct store_fixture *fixture, const struct expectation *expected,
                         const char *when)
{
    uint32_t numbers[256];
    bool found[256] = {false};
    int count = store_replay(fixture, numbers, 256);

    if (count < 0) {
        fail_msg("%s: %s", when, fixture->reason);
    }
    for (int i = 0; i < count; i++) {
        found[numbers[i]] = true;
    }
    for (uint32_t i = 0; i < 256; i++) {
        if (found[i] != expected->there[i]) {
            fail_msg("%s: message %u %s", when, i, found[i] ? "is there" : "is missing");
        }
    }
}

/* Every place, and a sample of them where there are thousands. */
static unsigned next_place(unsigned nth)
{
    return nth + 1 + nth / 20;
}

/* One round: the n-th call fails. Whether any did. */
static bool fail_nth(const struct fault_case *fault, unsigned nth, bool is_alone)
{
    struct store_op *ops = calloc(OPS, sizeof(*ops));
    struct expectation expected;
    struct store_fixture fixture;
    struct store_fixture crashed;
    bool failed;

    assert_non_null(ops);
    /* Where the files are copied, nothing may go on by itself meanwhile. */
    prepare(&fixture, &expected, fault->times == 1 ? 0 : 1);
    store_fixture_init(&crashed);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    work(&fixture, ops, &expected, is_alone);
    failed = fault_vfs_disarm();
    /* As if the power went now. A sync that failed for good may leave a commit in the log. */
    if (fault->times == 1) {
        store_fixture_copy(&crashed, &fixture);
        store_open(&crashed);
        assert_holds(&crashed, &expected, "after a crash");
    }
    expected.there[150] = true;
    assert_int_equal(store_deposit(&fixture, 150, SOON, LATER), PERSIST_APPLIED);
    store_close(&fixture);
    store_open(&fixture);
    assert_holds(&fixture, &expected, "after closing");
    store_fixture_deinit(&crashed);
    store_fixture_deinit(&fixture);
    free(ops);
    return failed;
}

static const struct fault_case cases[] = {
    {"storage full once", FAULT_WRITE, 1},
    {"storage full", FAULT_WRITE, FAULT_FOR_EVER},
    {"write error once", FAULT_WRITE_ERROR, 1},
    {"write error", FAULT_WRITE_ERROR, FAULT_FOR_EVER},
    {"sync error once", FAULT_SYNC, 1},
    {"sync error", FAULT_SYNC, FAULT_FOR_EVER},
    {"truncate error", FAULT_TRUNCATE, FAULT_FOR_EVER},
    {"read error once", FAULT_READ, 1},
    {"read error", FAULT_READ, FAULT_FOR_EVER},
    {"everything at once",
     FAULT_WRITE_ERROR | FAULT_SYNC | FAULT_TRUNCATE | FAULT_READ | FAULT_OPEN, FAULT_FOR_EVER},
    {"no memory once", FAULT_MEMORY, 1},
    {"no memory three times", FAULT_MEMORY, 3},
    {"no memory", FAULT_MEMORY, FAULT_FOR_EVER},
};

static void sweep(const struct fault_case *fault, bool is_alone)
{
    unsigned nth = 1;

    while (fail_nth(fault, nth, is_alone)) {
        nth = next_place(nth);
        assert_true(nth < SWEEP_MAX);
    }
    print_message("%s: sweep ended at %u\n", fault->name, nth);
}

TEST(test_operations)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sweep(&cases[i], false);
    }
}

/*
 * Each operation has a commit of its own. When there is no memory to load the marks of withdrawn
 * messages, SQLite ends the transaction.
 */
TEST(test_operations_one_by_one)
{
    const struct fault_case no_memory = {"no memory once, one by one", FAULT_MEMORY, 1};

    sweep(&no_memory, true);
}

/* Opening fails with a reason, or not at all; the next attempt succeeds and finds everything. */
static bool fail_opening(const struct fault_case *fault, unsigned nth, bool is_new)
{
    struct expectation expected = {{false}};
    struct store_fixture fixture;
    bool failed;
    int code;

    if (is_new) {
        store_fixture_init(&fixture);
    } else {
        prepare(&fixture, &expected, 0);
        store_close(&fixture);
    }
    fixture.reason[0] = '\0';
    fault_vfs_arm(fault->kinds, nth, fault->times);
    code = store_try_open(&fixture);
    failed = fault_vfs_disarm();
    assert_true(code <= 0);
    if (code != 0) {
        assert_true(strlen(fixture.reason) > 20);
    }
    if (fixture.persist != NULL) {
        store_close(&fixture);
    }
    store_open(&fixture);
    assert_holds(&fixture, &expected, fault->name);
    store_fixture_deinit(&fixture);
    return failed;
}

TEST(test_opening)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int is_new = 0; is_new < 2; is_new++) {
            unsigned nth = 1;

            while (fail_opening(&cases[i], nth, is_new != 0)) {
                nth = next_place(nth);
                assert_true(nth < SWEEP_MAX);
            }
            print_message("%s while opening%s: sweep ended at %u\n", cases[i].name,
                          is_new != 0 ? " a new one" : "", nth);
        }
    }
}

/* A failed read says so, and the next one is answered. */
TEST(test_reading)
{
    static const struct fault_case faults[] = {
        {"", FAULT_READ | FAULT_OPEN | FAULT_MEMORY, 1},
        {"", FAULT_READ | FAULT_OPEN | FAULT_MEMORY, FAULT_FOR_EVER},
    };

    for (unsigned i = 0; i < 2; i++) {
        bool failed = true;

        for (unsigned nth = 1; failed; nth = next_place(nth)) {
            struct persist_entry entries[BEFORE];
            struct persist_read page = {.kind = PERSIST_READ_PAGE,
                                        .entries = entries,
                                        .entry_count = BEFORE,
                                        .page_bytes_limit = 1000000};
            struct expectation expected;
            struct store_fixture fixture;

            prepare(&fixture, &expected, 0);
            page.page_host = fixture.host;
            fault_vfs_arm(faults[i].kinds, nth, faults[i].times);
            store_read(&fixture, &page);
            failed = fault_vfs_disarm();
            assert_true(page.failed ? page.reason != NULL && page.entry_count == 0
                                    : page.entry_count == BEFORE);
            fixture.persist->interface->read_release(fixture.persist, &page);
            page.entry_count = BEFORE;
            store_read(&fixture, &page);
            assert_false(page.failed);
            assert_int_equal(page.entry_count, BEFORE);
            fixture.persist->interface->read_release(fixture.persist, &page);
            store_fixture_deinit(&fixture);
            assert_true(nth < SWEEP_MAX);
        }
    }
}

/* One deposit that does not fit must not take the others of its batch with it. */
TEST(test_one_too_large_for_the_space)
{
    enum { COUNT = 80, LARGE = 40 };
    struct store_op *ops = calloc(COUNT + 1, sizeof(*ops));
    struct store_fixture fixture;
    unsigned failed = 0;

    assert_non_null(ops);
    store_fixture_init(&fixture);
    store_open(&fixture);
    for (uint32_t i = 0; i <= COUNT; i++) {
        store_make_deposit(&fixture, &ops[i], i, 10, LATER);
    }
    fault_vfs_hold_sync();
    store_submit(&fixture, &ops[COUNT]);
    fault_vfs_await_held();
    for (uint32_t i = 0; i < COUNT; i++) {
        store_submit(&fixture, &ops[i]);
    }
    /* Some writes of the one large transaction succeed, its next fails, and those after succeed:
       as if there were space for less. */
    fault_vfs_arm(FAULT_WRITE, 10, 1);
    fault_vfs_let_go();
    store_await(&fixture, ops, COUNT + 1);
    assert_true(fault_vfs_disarm());
    for (uint32_t i = 0; i <= COUNT; i++) {
        failed += ops[i].op.outcome != PERSIST_APPLIED;
    }
    assert_int_equal(failed, 0);
    store_fixture_deinit(&fixture);
    free(ops);
}

int main(void)
{
    fault_vfs_install();
    fault_vfs_skip_syncs(); /* the machine that runs the test stays on */
    return check_run(NULL, NULL);
}
