/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a host, and their states applied at another store: what a replica has is what the
 * owner has, whatever happened there, and all of it once more changes nothing.
 */
#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/files.h"
#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000, PLACES = 256, PAGE_BYTES = 1 << 20 };

static struct store_fixture owner;
static struct store_fixture copy;

static enum persist_outcome replicate(struct store_fixture *fixture, bool on)
{
    struct store_op op;

    store_make_expire(&op, 1, 1); /* for `done` and the time */
    op.op.kind = PERSIST_REPLICATE;
    op.op.message.host = fixture->host;
    op.op.replicate = on;
    return store_do(fixture, &op);
}

static int setup(void **state)
{
    (void)state;
    store_fixture_init(&owner);
    store_fixture_init(&copy);
    store_open(&owner);
    store_open(&copy);
    assert_int_equal(replicate(&owner, true), PERSIST_APPLIED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_fixture_deinit(&copy);
    store_fixture_deinit(&owner);
    return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static void make_open_deposit(struct store_op *op, uint32_t number, int64_t now_ms)
{
    store_make_deposit(&owner, op, number, now_ms, NEVER + number);
    op->op.message.epoch = 0;
}

static enum persist_outcome deposit(uint32_t number, int64_t now_ms)
{
    struct store_op op;

    make_open_deposit(&op, number, now_ms);
    return store_do(&owner, &op);
}

static enum persist_outcome moderate(uint32_t number, int64_t deposited_ms,
                                     enum persist_state state, uint32_t reports)
{
    struct store_op op;

    store_make_moderate(&owner, &op, number, deposited_ms, state, reports,
                        reports > 0 ? "1 secret words" : NULL);
    return store_do(&owner, &op);
}

static enum persist_outcome take_away(enum persist_kind kind, uint32_t number, int64_t now_ms,
                                      int64_t destroy_ms)
{
    struct store_op op;

    store_make_withdraw(&owner, &op, number, now_ms);
    op.op.kind = kind;
    op.op.message.destroy_ms = destroy_ms;
    return store_do(&owner, &op);
}

static enum persist_outcome rule(enum persist_kind kind, const char *value, int64_t now_ms)
{
    struct persist_rule rule = {.host = owner.host,
                                .kind = PERSIST_BAN_FILTER,
                                .value = (const uint8_t *)value,
                                .value_bytes = strlen(value),
                                .number = 7,
                                .created_ms = now_ms};
    struct store_op op;

    store_make_rule(&op, kind, &rule);
    op.op.now_ms = now_ms;
    return store_do(&owner, &op);
}

/* --- feeding ---------------------------------------------------------------------------------- */

struct page {
    struct persist_change changes[PLACES];
    struct persist_read read;
};

static void read_page(struct store_fixture *fixture, int64_t after, size_t places, size_t bytes,
                      struct page *page)
{
    memset(page, 0, sizeof(*page));
    page->read = (struct persist_read){.kind = PERSIST_READ_CHANGES,
                                       .changes = page->changes,
                                       .change_count = places,
                                       .page_host = fixture->host,
                                       .page_after = after,
                                       .page_bytes_limit = bytes};
    store_read(fixture, &page->read);
    assert_false(page->read.failed);
}

static void release(struct store_fixture *fixture, struct page *page)
{
    fixture->persist->interface->read_release(fixture->persist, &page->read);
}

/* Applies a change; the store's own copy of it stays as it is. */
static enum persist_outcome apply(struct store_fixture *fixture,
                                  const struct persist_change *change, enum persist_as as,
                                  int64_t now_ms)
{
    struct persist_rule rule = change->rule;
    struct store_op op;

    store_make_expire(&op, now_ms, 1);
    op.op.kind = PERSIST_APPLY;
    op.op.message = change->message;
    op.op.message.host = rule.host = fixture->host;
    op.op.change = change->kind;
    op.op.why = change->why;
    op.op.as = as;
    op.op.rule = change->kind == PERSIST_CHANGE_RULE ? &rule : NULL;
    return store_do(fixture, &op);
}

/* Applies all changes of the owner at the copy. How many changed something. */
static unsigned feed(int64_t *cursor, enum persist_as as, int64_t now_ms)
{
    unsigned changed = 0;
    struct page page;

    do {
        read_page(&owner, *cursor, 3, PAGE_BYTES, &page);
        for (size_t i = 0; i < page.read.change_count; i++) {
            const struct persist_change *change = &page.changes[i];
            assert_true(change->seq > *cursor);
            *cursor = change->seq;
            changed += apply(&copy, change, as, now_ms) == PERSIST_APPLIED;
        }
        assert_int_equal(*cursor, page.read.page_last);
        release(&owner, &page);
    } while (page.read.page_more);
    return changed;
}

/* --- comparing -------------------------------------------------------------------------------- */

struct states {
    struct {
        bool there;
        enum persist_state state;
        uint32_t reports;
        int64_t deposited_ms;
        int64_t expires_ms;
    } messages[PLACES];
    size_t rules;
};

static int note_message(void *context, const struct persist_message *message)
{
    struct states *states = context;
    struct persist_message plain = *message;

    uint32_t number = 0;
    memcpy(&number, message->id + 4, sizeof(number));
    plain.epoch = number % 3 == 0 ? UINT64_MAX - number : number; /* as store_check_message wants */
    assert_int_equal(store_check_message(&plain), number);
    assert_true(number < PLACES);
    if (message->destroy_ms == 0) { /* else it is removed, and gone for others */
        states->messages[number].there = true;
        states->messages[number].state = message->state;
        states->messages[number].reports = message->reports;
        states->messages[number].deposited_ms = message->deposited_ms;
        states->messages[number].expires_ms = message->expires_ms;
    }
    return 0;
}

static int note_rule(void *context, const struct persist_rule *rule)
{
    struct states *states = context;

    states->rules += 1 + (size_t)rule->value[0] * 256;
    return 0;
}

static void note_states(struct store_fixture *fixture, struct states *out)
{
    const struct persist_interface *interface = fixture->persist->interface;

    memset(out, 0, sizeof(*out));
    assert_int_equal(interface->replay(fixture->persist, note_message, out, fixture->reason), 0);
    assert_int_equal(interface->replay_rules(fixture->persist, note_rule, out, fixture->reason), 0);
}

/* The stores are opened again, since only start-up replays. */
static void assert_same(void)
{
    struct states here;
    struct states there;

    store_reopen(&owner);
    store_reopen(&copy);
    note_states(&owner, &here);
    note_states(&copy, &there);
    assert_memory_equal(&here, &there, sizeof(here));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void fill_owner(void)
{
    for (uint32_t i = 1; i <= 12; i++) {
        assert_int_equal(deposit(i, i), PERSIST_APPLIED);
    }
    assert_int_equal(moderate(2, 2, PERSIST_HIDDEN, 3), PERSIST_APPLIED);
    assert_int_equal(moderate(3, 3, PERSIST_SHOWN, 1), PERSIST_APPLIED);
    assert_int_equal(moderate(4, 4, PERSIST_HIDDEN, 3), PERSIST_APPLIED);
    assert_int_equal(moderate(4, 4, PERSIST_APPROVED, 0), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_WITHDRAW, 5, 20, 0), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_REMOVE, 6, 20, 0), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_WITHHOLD, 8, 20, 500), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_WITHHOLD, 9, 20, 0), PERSIST_APPLIED);
    assert_int_equal(rule(PERSIST_RULE_PUT, "a", 21), PERSIST_APPLIED);
    assert_int_equal(rule(PERSIST_RULE_PUT, "b", 22), PERSIST_APPLIED);
    assert_int_equal(rule(PERSIST_RULE_DROP, "a", 23), PERSIST_APPLIED);
}

TEST_WITH(test_copy_is_the_same, setup, teardown)
{
    int64_t cursor = 0;
    int64_t again = 0;

    fill_owner();
    assert_true(feed(&cursor, PERSIST_AS_REPLICA, 30) > 0);
    assert_same();
    assert_int_equal(feed(&again, PERSIST_AS_REPLICA, 30), 0);
    assert_int_equal(again, cursor);
    /* What was removed is shown again, and what was hidden is, too. */
    assert_int_equal(moderate(8, 8, PERSIST_APPROVED, 0), PERSIST_APPLIED);
    assert_int_equal(moderate(9, 9, PERSIST_APPROVED, 0), PERSIST_APPLIED);
    assert_int_equal(rule(PERSIST_RULE_PUT, "a", 24), PERSIST_APPLIED);
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, 30), 3);
    assert_same();
    again = 0;
    assert_int_equal(feed(&again, PERSIST_AS_REPLICA, 30), 0);
}

/* What an owner that was wiped gets back is what it had; what is gone is refused. */
TEST_WITH(test_restore, setup, teardown)
{
    int64_t cursor = 0;
    struct store_op op;

    fill_owner();
    assert_true(feed(&cursor, PERSIST_AS_RESTORE, 30) > 0);
    assert_same();
    for (uint32_t number = 5; number <= 6; number++) {
        make_open_deposit(&op, number, 31);
        op.op.message.host = copy.host;
        assert_int_equal(store_do(&copy, &op), PERSIST_GONE);
    }
    cursor = 0;
    assert_int_equal(feed(&cursor, PERSIST_AS_RESTORE, 30), 0);
}

/* A rule that is dropped and put again counts at the copy, whatever the clock does meanwhile. */
TEST_WITH(test_rule_again, setup, teardown)
{
    static const struct {
        enum persist_kind kind;
        int64_t now_ms;
    } decisions[] = {
        {PERSIST_RULE_PUT, 21}, {PERSIST_RULE_DROP, 23}, {PERSIST_RULE_PUT, 23},
        {PERSIST_RULE_PUT, 12}, {PERSIST_RULE_DROP, 11}, {PERSIST_RULE_PUT, 10},
        {PERSIST_RULE_PUT, 30},
    };
    int64_t cursor = 0;

    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        assert_int_equal(rule(decisions[i].kind, "a", decisions[i].now_ms), PERSIST_APPLIED);
        assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, decisions[i].now_ms), 1);
        assert_same();
    }
}

/* Makes a deposit of message `number`, for which the `count` oldest ones go. */
static void make_evicting_deposit(struct store_op *op, uint32_t number, int64_t now_ms,
                                  uint32_t count)
{
    make_open_deposit(op, number, now_ms);
    op->op.evict = PERSIST_EVICT_OLDEST;
    op->op.evict_messages = count;
    op->op.removed = op->removed;
    op->op.limit = PERSIST_EXPIRE_MAX;
}

/* An evicted message is gone at the copy, may come back, and then is told as stored only. */
TEST_WITH(test_eviction, setup, teardown)
{
    int64_t cursor = 0;
    struct store_op op;
    struct page page;

    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(deposit(i, i), PERSIST_APPLIED);
    }
    (void)feed(&cursor, PERSIST_AS_REPLICA, 10);
    make_evicting_deposit(&op, 5, 11, 2);
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    read_page(&owner, cursor, PLACES, PAGE_BYTES, &page);
    assert_int_equal(page.read.change_count, 3);
    assert_int_equal(page.changes[1].why, PERSIST_WHY_EVICTED);
    assert_int_equal(page.changes[2].kind, PERSIST_CHANGE_GONE);
    release(&owner, &page);
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, 12), 3);
    assert_same();
    assert_int_equal(deposit(1, 13), PERSIST_APPLIED);
    read_page(&owner, 0, PLACES, PAGE_BYTES, &page);
    assert_int_equal(page.read.change_count, 5); /* 3, 4, 5, 2 gone, 1 */
    release(&owner, &page);
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, 14), 1);
    assert_same();
}

static void deposit_for_oldest(uint32_t number, int64_t now_ms, uint32_t count)
{
    struct store_op op;

    make_evicting_deposit(&op, number, now_ms, count);
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, count);
}

static int64_t count_evicted(void)
{
    return store_read_number(&owner, "SELECT coalesce(sum(length(messages)), 0) / 32 FROM evicted");
}

static int64_t count_rows(void)
{
    return store_read_number(&owner, "SELECT count(*) FROM evicted");
}

/* Whether the feed tells the end of a message, and why. 0: it does not. */
static enum persist_why end_of(uint32_t number)
{
    enum persist_why why = 0;
    struct store_op op;
    struct page page;

    make_open_deposit(&op, number, 1);
    read_page(&owner, 0, PLACES, PAGE_BYTES, &page);
    for (size_t i = 0; i < page.read.change_count; i++) {
        const struct persist_change *change = &page.changes[i];

        if (change->kind == PERSIST_CHANGE_GONE &&
            memcmp(change->message.id, op.op.message.id, MESSAGE_ID_BYTES) == 0) {
            assert_int_equal(why, 0); /* once */
            why = change->why;
        }
    }
    release(&owner, &page);
    return why;
}

/* An id that is stored again, or was withdrawn since, is not told as evicted. */
TEST_WITH(test_what_evicted_ids_become, setup, teardown)
{
    int64_t cursor = 0;

    assert_int_equal(deposit(1, 1), PERSIST_APPLIED);
    deposit_for_oldest(2, 2, 1);
    assert_int_equal(end_of(1), PERSIST_WHY_EVICTED);
    assert_int_equal(deposit(1, 3), PERSIST_APPLIED);
    assert_int_equal(end_of(1), 0);
    (void)feed(&cursor, PERSIST_AS_REPLICA, 4);
    assert_same();
    assert_int_equal(take_away(PERSIST_WITHDRAW, 1, 5, 0), PERSIST_APPLIED);
    assert_int_equal(end_of(1), PERSIST_WHY_WITHDRAWN);
    assert_int_equal(deposit(1, 6), PERSIST_GONE);
    store_reopen(&owner);
    assert_int_equal(end_of(1), PERSIST_WHY_WITHDRAWN);
    (void)feed(&cursor, PERSIST_AS_REPLICA, 7);
    assert_same();
    cursor = 0;
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, 7), 0); /* all of it again */
}

/* The copy hears of everything but the last state of message 1, which is stored again for a short
 * time only: message 3 lies between the eviction of the first deposit and the second one. */
static int64_t evict_and_store_briefly(void)
{
    int64_t cursor = 0;
    struct store_op op;
    struct page page;

    assert_int_equal(deposit(1, 1), PERSIST_APPLIED); /* until NEVER + 1 */
    (void)feed(&cursor, PERSIST_AS_REPLICA, 1);
    deposit_for_oldest(2, 2, 1);
    assert_int_equal(deposit(3, 3), PERSIST_APPLIED);
    make_open_deposit(&op, 1, 4);
    op.op.message.expires_ms = 50;
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    for (bool is_told = false; !is_told; release(&owner, &page)) { /* up to message 3 */
        read_page(&owner, cursor, 1, PAGE_BYTES, &page);
        assert_int_equal(page.read.change_count, 1);
        cursor = page.read.page_last;
        (void)apply(&copy, &page.changes[0], PERSIST_AS_REPLICA, 5);
        is_told = page.changes[0].message.deposited_ms == 3;
    }
    return cursor;
}

static void expire_both(int64_t now_ms)
{
    struct store_op op;

    store_make_expire(&op, now_ms, PERSIST_EXPIRE_MAX);
    (void)store_do(&owner, &op);
    store_make_expire(&op, now_ms, PERSIST_EXPIRE_MAX);
    (void)store_do(&copy, &op);
}

/*
 * If what is stored again ends before the eviction does, and before it is told, then the eviction
 * is all that tells a copy to drop the message it has: so it must not have been left out.
 */
TEST_WITH(test_an_evicted_id_is_stored_for_a_shorter_time, setup, teardown)
{
    int64_t cursor = evict_and_store_briefly();

    expire_both(60);
    (void)feed(&cursor, PERSIST_AS_REPLICA, 60);
    assert_same();
}

/* The same with a tombstone: it lasts no longer than the message that was withdrawn. */
TEST_WITH(test_an_evicted_id_is_withdrawn_for_a_shorter_time, setup, teardown)
{
    int64_t cursor;

    cursor = evict_and_store_briefly();
    assert_int_equal(take_away(PERSIST_WITHDRAW, 1, 6, 0), PERSIST_APPLIED);
    expire_both(60);
    (void)feed(&cursor, PERSIST_AS_REPLICA, 60);
    assert_same();
}

/* They go when they have expired, the first ones first, and when there are too many. */
TEST_WITH(test_how_long_evictions_are_told, setup, teardown)
{
    enum { MOST = 20 };
    struct store_op op;

    store_close(&owner);
    owner.options.marks_max = MOST;
    store_open(&owner);
    assert_int_equal(deposit(1, 1), PERSIST_APPLIED); /* message n expires at NEVER + n */
    for (uint32_t i = 2; i <= 6; i++) {
        deposit_for_oldest(i, i, 1);
    }
    assert_int_equal(count_evicted(), 5);
    store_make_expire(&op, NEVER + 2, 8);
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    assert_int_equal(count_evicted(), 3);
    assert_int_equal(end_of(2), 0);
    assert_int_equal(end_of(3), PERSIST_WHY_EVICTED);
    store_reopen(&owner);
    for (uint32_t i = 7; i < 7 + 3 * MOST; i++) {
        deposit_for_oldest(i, i, 1);
        assert_in_range(count_evicted(), 3, MOST);
    }
    assert_int_equal(end_of(7 + 3 * MOST - 2), PERSIST_WHY_EVICTED);
    assert_int_equal(end_of(7), 0);
    for (uint32_t i = 101; i <= 160; i++) {
        assert_int_equal(deposit(i, i), PERSIST_APPLIED);
    }
    deposit_for_oldest(200, 200, 60); /* more than it tells of, in one commit */
    assert_in_range(count_evicted(), MOST * 8 / 10, MOST);
    assert_int_equal(end_of(159), PERSIST_WHY_EVICTED);
    assert_int_equal(end_of(102), 0);
    store_reopen(&owner);
    deposit_for_oldest(201, 201, 1);
    assert_in_range(count_evicted(), MOST * 8 / 10, MOST);
    owner.options.marks_max = 0;
}

enum { MANY = 400 }; /* changes */

/* Fills `seqs` with the numbers of all changes. Returns how many there are. */
static size_t list_changes(int64_t seqs[MANY])
{
    size_t count = 0;
    struct page page;

    do {
        read_page(&owner, count == 0 ? 0 : seqs[count - 1], PLACES, PAGE_BYTES, &page);
        for (size_t i = 0; i < page.read.change_count; i++) {
            assert_true(count < MANY);
            assert_true(count == 0 || page.changes[i].seq > seqs[count - 1]);
            seqs[count++] = page.changes[i].seq;
        }
        release(&owner, &page);
    } while (page.read.page_more);
    return count;
}

/* Behind each number the feed goes on with the next change, also within a row of evictions. */
static void assert_goes_on_anywhere(void)
{
    int64_t seqs[MANY];
    const size_t count = list_changes(seqs);
    struct page page;

    for (size_t i = 0; i < count; i++) {
        const int64_t before = i == 0 ? 0 : seqs[i - 1];
        const int64_t cursors[] = {before, seqs[i] - 1};

        for (size_t j = 0; j < 2; j++) {
            read_page(&owner, cursors[j], 1, PAGE_BYTES, &page);
            assert_int_equal(page.read.change_count, 1);
            assert_int_equal(page.changes[0].seq, seqs[i]);
            assert_int_equal(page.read.page_last, seqs[i]);
            assert_int_equal(page.read.page_more, i + 1 < count);
            release(&owner, &page);
        }
    }
}

/* Evictions of one commit share rows, and are told one by one between the other changes. */
TEST_WITH(test_evictions_of_one_commit, setup, teardown)
{
    enum { STORED = 150, DEPOSITS = 40 };
    static struct store_op ops[DEPOSITS];
    struct store_op op;
    int64_t cursor = 0;

    for (uint32_t i = 1; i <= STORED; i++) {
        assert_int_equal(deposit(i, i), PERSIST_APPLIED);
    }
    (void)feed(&cursor, PERSIST_AS_REPLICA, STORED);
    assert_same();
    deposit_for_oldest(STORED + 1, STORED + 1, STORED);
    assert_int_equal(count_evicted(), STORED);
    assert_int_equal(count_rows(), 2);
    assert_goes_on_anywhere();
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, STORED + 1), STORED + 1);
    assert_same();
    for (uint32_t i = 0; i < DEPOSITS; i++) { /* each but the last one goes for the next one */
        make_evicting_deposit(&ops[i], STORED + 2 + i, STORED + 2 + i, 1);
        store_submit(&owner, &ops[i]);
    }
    store_await(&owner, ops, DEPOSITS);
    assert_int_equal(count_evicted(), STORED + DEPOSITS);
    store_reopen(&owner);
    assert_goes_on_anywhere();
    (void)feed(&cursor, PERSIST_AS_REPLICA, STORED + DEPOSITS + 2);
    assert_same();
    cursor = 0;
    assert_int_equal(feed(&cursor, PERSIST_AS_REPLICA, STORED + DEPOSITS + 2), 0);
    for (int64_t rows = count_rows(); rows > 0; rows--) { /* a row at a time, if `limit` is small */
        assert_int_equal(count_rows(), rows);
        store_make_expire(&op, 2 * NEVER, 1);
        assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    }
    assert_int_equal(count_rows(), 0);
}

/* Of other hosts, epochs and hosts without changes there is nothing; a page keeps its bytes. */
TEST_WITH(test_what_is_told, setup, teardown)
{
    struct page page;

    assert_int_equal(store_deposit(&owner, 13, 1, NEVER), PERSIST_APPLIED); /* of an epoch */
    assert_int_equal(store_withdraw(&owner, 13, 2), PERSIST_APPLIED);
    read_page(&owner, 0, PLACES, PAGE_BYTES, &page);
    assert_int_equal(page.read.change_count, 0);
    assert_false(page.read.page_more);
    release(&owner, &page);
    fill_owner();
    read_page(&owner, 0, PLACES, 1, &page); /* one at a time, at least */
    assert_int_equal(page.read.change_count, 1);
    assert_true(page.read.page_more);
    release(&owner, &page);
    owner.host++;
    read_page(&owner, 0, PLACES, PAGE_BYTES, &page);
    assert_int_equal(page.read.change_count, 0);
    release(&owner, &page);
    owner.host--;
    assert_int_equal(replicate(&owner, true), PERSIST_DUPLICATE);
    assert_int_equal(replicate(&owner, false), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_WITHDRAW, 10, 40, 0), PERSIST_APPLIED);
    assert_int_equal(take_away(PERSIST_REMOVE, 11, 40, 0), PERSIST_APPLIED);
    assert_int_equal(moderate(12, 12, PERSIST_HIDDEN, 2), PERSIST_APPLIED);
    assert_int_equal(rule(PERSIST_RULE_PUT, "c", 41), PERSIST_APPLIED);
    assert_int_equal(store_read_number(&owner, "SELECT count(*) FROM tombstone WHERE seq > 0"), 3);
    store_reopen(&owner);
    assert_int_equal(replicate(&owner, true), PERSIST_APPLIED);
    store_reopen(&owner);
    assert_int_equal(replicate(&owner, true), PERSIST_DUPLICATE);
    int64_t cursor = 0;
    (void)feed(&cursor, PERSIST_AS_REPLICA, 42);
    assert_same();
}

/* If an applied message has a stored id and other content, the stored message stays. */
TEST_WITH(test_conflict, setup, teardown)
{
    struct persist_change change = {.kind = PERSIST_CHANGE_MESSAGE};
    struct store_op op;
    struct page page;

    make_open_deposit(&op, 1, 1);
    op.op.message.sender = 77;
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    op.op.message.reach_ppm++;
    change.message = op.op.message;
    assert_int_equal(apply(&owner, &change, PERSIST_AS_REPLICA, 2), PERSIST_CONFLICT);
    assert_int_equal(apply(&owner, &change, PERSIST_AS_RESTORE, 2), PERSIST_CONFLICT);
    read_page(&owner, 0, PLACES, PAGE_BYTES, &page);
    assert_int_equal(page.read.change_count, 1);
    assert_int_equal(page.changes[0].message.sender, 0);
    assert_int_equal(page.changes[0].message.reach_ppm, op.op.message.reach_ppm - 1);
    release(&owner, &page);
}

/* An operator elsewhere hides, shows and removes; what is not stored is not made. */
TEST_WITH(test_operator, setup, teardown)
{
    struct persist_change change = {.kind = PERSIST_CHANGE_MESSAGE};
    struct store_op op;

    make_open_deposit(&op, 1, 1);
    change.message = op.op.message;
    change.message.state = PERSIST_WITHHELD;
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_DUPLICATE);
    assert_int_equal(store_do(&owner, &op), PERSIST_APPLIED);
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_APPLIED);
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_DUPLICATE);
    change.message.state = PERSIST_APPROVED;
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_APPLIED);
    change.kind = PERSIST_CHANGE_GONE;
    change.why = PERSIST_WHY_REMOVED;
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_APPLIED);
    assert_int_equal(apply(&owner, &change, PERSIST_AS_OPERATOR, 2), PERSIST_DUPLICATE);
    assert_int_equal(store_do(&owner, &op), PERSIST_GONE);
}
