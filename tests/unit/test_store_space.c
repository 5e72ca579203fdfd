/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage that fills up: deposits end while there is enough left for deleting; withdrawal, expiry
 * and removal work; deposits come back by themselves; nothing that was acknowledged is lost. On a
 * file system with a budget of bytes (pass_vfs.h).
 */
#include "daemon/store/space.h"

#include <inttypes.h>

#include "daemon/store/log.h"
#include "daemon/store/schema.h"
#include "daemon/system/log.h"
#include "tests/lib/check.h"
#include "tests/lib/pass_vfs.h"
#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

enum {
    NUMBERS_MAX = 300000,
    QUEUE_MAX = 2500, /* operations submitted at once */
    PAYLOAD_MAX = 1000 * 1000,
    NOW = 10,
    SOON = 1000,
    LATER = 1000000,
    KIB = 1024,
    MIB = 1024 * KIB
};

/* What is known of each message: NOTHING was acknowledged, or it is there, or it is gone. */
enum fate { NOTHING, THERE, GONE };

static struct world {
    struct store_fixture fixture;
    struct rng rng;
    enum fate fates[NUMBERS_MAX];
    uint32_t next;
    size_t payload_bytes;
    uint8_t payload[PAYLOAD_MAX];
    struct store_op ops[QUEUE_MAX];
    unsigned outcomes[PERSIST_FAILED + 1]; /* of the last operations */
} world;

/* --- work ------------------------------------------------------------------------------------- */

static void begin(uint64_t log_bytes, int64_t budget, size_t payload_bytes)
{
    memset(world.fates, 0, sizeof(world.fates));
    world.next = 1;
    world.payload_bytes = payload_bytes;
    store_fixture_init(&world.fixture);
    world.fixture.options.log_bytes = log_bytes;
    world.fixture.options.free_bytes = pass_budget_free;
    pass_budget_set(budget);
    store_open(&world.fixture);
}

static void end(void)
{
    store_fixture_deinit(&world.fixture);
    pass_budget_set(-1);
}

static void submit_all(size_t count)
{
    memset(world.outcomes, 0, sizeof(world.outcomes));
    for (size_t i = 0; i < count; i++) {
        store_submit(&world.fixture, &world.ops[i]);
    }
    store_await(&world.fixture, world.ops, count);
    for (size_t i = 0; i < count; i++) {
        world.outcomes[world.ops[i].op.outcome]++;
    }
}

static uint32_t number_of(const uint8_t *id)
{
    uint32_t number;

    memcpy(&number, id + 4, sizeof(number));
    return number;
}

static void deposit_many(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct persist_message *message = &world.ops[i].op.message;

        while (world.next % 7 == 0) { /* those have no token */
            world.next++;
        }
        assert_true(world.next < NUMBERS_MAX);
        store_make_deposit(&world.fixture, &world.ops[i], world.next++, NOW, SOON);
        message->payload = world.payload;
        message->payload_bytes = world.payload_bytes;
    }
    submit_all(count);
    for (size_t i = 0; i < count; i++) {
        if (world.ops[i].op.outcome == PERSIST_APPLIED) {
            world.fates[number_of(world.ops[i].op.message.id)] = THERE;
        }
    }
}

/* Deposits until some are refused. */
static void fill(size_t queue)
{
    do {
        deposit_many(queue);
        assert_int_equal(world.outcomes[PERSIST_APPLIED] + world.outcomes[PERSIST_NO_SPACE], queue);
    } while (world.outcomes[PERSIST_NO_SPACE] == 0);
}

/* Some message that is there, beginning the search at a random one; 0: there is none. */
static uint32_t some_message(void)
{
    const uint32_t from = rng_below(&world.rng, world.next);

    for (uint32_t i = 0; i < world.next; i++) {
        const uint32_t number = (from + i) % world.next;

        if (world.fates[number] == THERE) {
            return number;
        }
    }
    return 0;
}

/* Withdraws so many that are there, picked at random. Returns how many were withdrawn. */
static unsigned withdraw_many(size_t count)
{
    size_t used = 0;

    while (used < count) {
        const uint32_t number = some_message();

        if (number == 0) {
            break;
        }
        store_make_withdraw(&world.fixture, &world.ops[used++], number, NOW);
        world.fates[number] = GONE; /* so that it is not picked again */
    }
    submit_all(used);
    for (size_t i = 0; i < used; i++) {
        if (world.ops[i].op.outcome == PERSIST_FAILED) {
            world.fates[number_of(world.ops[i].op.message.id)] = THERE;
        } else {
            assert_int_equal(world.ops[i].op.outcome, PERSIST_APPLIED);
        }
    }
    return world.outcomes[PERSIST_APPLIED];
}

/* Expires everything. Returns how many messages went. */
static unsigned expire_all(void)
{
    struct store_op *op = &world.ops[0];
    unsigned count = 0;

    do {
        store_make_expire(op, SOON, PERSIST_EXPIRE_MAX);
        submit_all(1);
        assert_int_equal(op->op.outcome, PERSIST_APPLIED);
        for (uint32_t i = 0; i < op->op.removed_count; i++) {
            world.fates[number_of(op->op.removed[i].id)] = GONE;
        }
        count += op->op.removed_count;
    } while (op->op.removed_count == op->op.limit);
    return count;
}

/* --- what must hold --------------------------------------------------------------------------- */

static int find_message(void *context, const struct persist_message *message)
{
    bool *found = context;

    found[number_of(message->id)] = true;
    return 0;
}

/* Everything that was acknowledged is there, and nothing that is gone. Opens the store again. */
static void assert_holds(void)
{
    static bool found[NUMBERS_MAX];
    struct persist *persist;

    store_close(&world.fixture);
    store_open(&world.fixture);
    persist = world.fixture.persist;
    memset(found, 0, sizeof(found));
    assert_int_equal(persist->interface->replay(persist, find_message, found, world.fixture.reason),
                     0);
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        if (found[i] != (world.fates[i] == THERE)) {
            fail_msg("message %" PRIu32 " %s", i, found[i] ? "is there" : "is lost");
        }
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static const struct {
    uint64_t log_bytes;
    int64_t budget;
    size_t payload_bytes;
    size_t queue; /* deposits at once */
} cases[] = {
    {1 * MIB, 14 * MIB, 200, 1},           {1 * MIB, 14 * MIB, 200, QUEUE_MAX},
    {2 * MIB, 14 * MIB, 4096, 50},         {256 * KIB, 3 * MIB, 200, 7},
    {256 * KIB, 4 * MIB, 60000, 3},        {8 * MIB, 14 * MIB, 20, QUEUE_MAX},
    {256 * KIB, 12 * MIB, PAYLOAD_MAX, 1}, {1 * MIB, 9 * MIB, 0, 100},
};

TEST(test_a_full_storage)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i += rng_is_brief() ? 4 : 1) {
        begin(cases[i].log_bytes, cases[i].budget, cases[i].payload_bytes);
        for (unsigned round = 0; round < 2; round++) {
            fill(cases[i].queue);
            assert_non_null(world.ops[cases[i].queue - 1].op.reason);
            const uint32_t kept = some_message();
            assert_int_not_equal(kept, 0);
            assert_holds();

            /* What is there already is acknowledged again. */
            store_make_deposit(&world.fixture, &world.ops[0], kept, NOW, SOON);
            world.ops[0].op.message.payload = world.payload;
            world.ops[0].op.message.payload_bytes = world.payload_bytes;
            submit_all(1);
            assert_int_equal(world.outcomes[PERSIST_DUPLICATE], 1);

            const unsigned count = round == 0 ? 5 : QUEUE_MAX;
            const unsigned gone = withdraw_many(count);
            assert_int_equal(world.outcomes[PERSIST_FAILED], 0);
            assert_true(gone > 0);
            assert_holds();
            (void)expire_all();
            assert_int_equal(some_message(), 0);
            assert_holds();
            deposit_many(1);
            assert_int_equal(world.outcomes[PERSIST_APPLIED], 1);
        }
        assert_holds();
        end();
    }
}

/* Deposits that wait behind one that does not fit are not refused when there is room again. */
TEST(test_deposits_come_back_with_room)
{
    begin(1 * MIB, 6 * MIB, 200);
    fill(20);
    pass_budget_set(8 * MIB);
    deposit_many(20);
    assert_int_equal(world.outcomes[PERSIST_APPLIED], 20);
    assert_holds();
    end();
}

/* Other programs take all that is left: what fails is told, and nothing is stuck afterwards. */
TEST(test_others_fill_the_storage)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i += rng_is_brief() ? 4 : 1) {
        begin(cases[i].log_bytes, cases[i].budget, cases[i].payload_bytes);
        fill(cases[i].queue);
        pass_budget_set(0);
        (void)withdraw_many(10);
        deposit_many(3);
        assert_int_equal(world.outcomes[PERSIST_APPLIED], 0);
        pass_budget_set(STORE_SPACE_MARGIN + (int64_t)cases[i].log_bytes);
        (void)withdraw_many(10);
        assert_int_equal(world.outcomes[PERSIST_FAILED], 0);
        (void)expire_all();
        assert_holds();
        pass_budget_set(cases[i].budget);
        deposit_many(1);
        assert_int_equal(world.outcomes[PERSIST_APPLIED], 1);
        assert_holds();
        end();
    }
}

/* Others come and go at random, and the storage does not say what is free (a quota, for one). */
TEST(test_a_budget_that_changes)
{
    for (unsigned i = 0; i < 12; i++) {
        const bool is_silent = i % 2 == 1;

        begin(256 * KIB, 6 * MIB, 1 + rng_below(&world.rng, 9000));
        if (is_silent) {
            store_close(&world.fixture);
            world.fixture.options.free_bytes = NULL; /* that of the real file system */
            store_open(&world.fixture);
        }
        for (unsigned step = 0; step < 60; step++) {
            if (rng_chance(&world.rng, 20)) {
                pass_budget_set(rng_below(&world.rng, 6 * MIB));
            }
            if (rng_chance(&world.rng, 60)) {
                deposit_many(1 + rng_below(&world.rng, 100));
            } else {
                (void)withdraw_many(1 + rng_below(&world.rng, 60));
            }
        }
        pass_budget_set(6 * MIB);
        (void)withdraw_many(50);
        assert_int_equal(world.outcomes[PERSIST_FAILED], 0);
        (void)expire_all();
        assert_holds();
        end();
    }
}

/* Pages of a transaction that failed are cut off; those of commits stay. */
TEST(test_a_failed_transaction_leaves_nothing)
{
    struct store_log_scan scan;
    int64_t left;

    begin(8 * MIB, 30 * MIB, 4000);
    world.fixture.options.free_bytes = NULL;
    store_close(&world.fixture);
    store_open(&world.fixture);
    deposit_many(10);
    pass_budget_set(2 * MIB);
    left = (int64_t)pass_budget_free(NULL);
    deposit_many(QUEUE_MAX); /* does not fit as one transaction */
    assert_true(world.outcomes[PERSIST_FAILED] > 0);
    deposit_many(1); /* the cut comes after the failure was told, and before this */
    assert_int_equal(store_log_scan(world.fixture.file, &scan), 0);
    assert_true(scan.file_bytes >= scan.valid_bytes);
    assert_int_equal(scan.lost_commits, 0);
    assert_true((int64_t)pass_budget_free(NULL) <= left);
    assert_holds();
    end();
}

static bool fits(uint64_t free, uint64_t log_limit, uint64_t log_bytes, uint64_t log_pages,
                 uint64_t reusable_pages, uint64_t log, uint64_t growth)
{
    const struct store_space_need need = {.log = log, .growth = growth};
    struct store_space_room room;

    store_space_measure(free, log_limit, log_bytes, STORE_PAGE_BYTES, log_pages, &room);
    room.reusable = reusable_pages * STORE_PAGE_BYTES;
    return store_space_fits(&room, &need);
}

TEST(test_arithmetic)
{
    const struct persist_op deposit = {
        .kind = PERSIST_DEPOSIT,
        .message = {.payload_bytes = 4096 - 74, .filter_bytes = 64, .media_type_bytes = 10}};
    const struct persist_op expire = {.kind = PERSIST_EXPIRE, .limit = 3};
    struct store_space_need need = {.page_bytes = STORE_PAGE_BYTES, .log = 1, .growth = 2};
    struct store_space_need small = {.page_bytes = STORE_PAGE_BYTES_SMALL};
    char reason[PERSIST_REASON_BYTES];
    const uint64_t margin = STORE_SPACE_MARGIN;
    const uint64_t frame = STORE_PAGE_BYTES + STORE_LOG_FRAME_HEADER_BYTES;

    /* The log may still grow to its limit: that is kept, and may be used. */
    assert_true(fits(margin + MIB, MIB, 0, 0, 0, MIB, 0));
    assert_false(fits(margin + MIB, MIB, 0, 0, 0, MIB, 1));
    assert_false(fits(margin + MIB, MIB, 0, 0, 0, MIB + 1, 0));
    assert_true(fits(margin + MIB + 2, MIB, 0, 0, 0, MIB + 1, 1));
    /* A log that has its size already takes no more. */
    assert_true(fits(margin + 1, MIB, MIB, 0, 0, MIB, 1));
    assert_true(fits(margin + 1, MIB, 5 * MIB, 0, 0, 5 * MIB, 1));
    /* Pages in the log may have to be written into the database. */
    assert_false(fits(margin + 2 * frame, MIB, MIB, 2, 0, 0, 1));
    assert_true(fits(margin + 2 * frame + 1, MIB, MIB, 2, 0, MIB - 2 * frame, 1));
    /* Pages of the database that are not used come first, down to half of the margin. */
    assert_true(fits(margin / 2, MIB, MIB, 0, 2, MIB, 8192));
    assert_false(fits(margin / 2, MIB, MIB, 0, 2, MIB, 8193));
    assert_false(fits(margin / 2 - 1, MIB, MIB, 0, 2, 0, 0));
    assert_false(fits(0, MIB, 0, 0, 1000, 0, 0));
    assert_true(fits(UINT64_MAX, MIB, 0, 0, 0, 64 * MIB, 64 * MIB));
    store_space_add(&need, &deposit);
    assert_true(need.log == 1 + 4096 + 256 + 4 * frame && need.growth == 2 + 4096 + 512 + 4096);
    store_space_add(&small, &deposit);
    assert_true(small.log == 4096 + 256 + 4 * (1024 + 24) && small.growth == 4096 + 512 + 1024);
    need.log = 0;
    store_space_add(&need, &expire);
    assert_true(need.log == 3 * 8 * frame);

    assert_true(store_space_suffices("/x", 100, MIB, MIB, 5 * MIB, reason));
    assert_false(store_space_suffices("/x", 100000, 64 * MIB, 2 * MIB, 14 * MIB, reason));
    assert_non_null(strstr(reason, "/x has room for 14 MiB"));
    assert_non_null(strstr(reason, "lower `messages` or `bytes`"));
    assert_true(store_space_free("/") > 0);
    assert_true(store_space_free("/nowhere/at/all") == UINT64_MAX);
}

int main(void)
{
    rng_init(&world.rng);
    log_set_level(LOG_LEVEL_ERROR);
    pass_install_plain();
    return check_run(NULL, NULL);
}
