/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of withdrawn ids, through the store's operations: whatever is deposited, withdrawn,
 * expired, committed and rolled back, an id that is marked is refused, and others hardly ever cost
 * a look at the database.
 */
#include "daemon/store/database.h"

#include "tests/lib/check.h"

#include "daemon/store/ops.h"
#include "daemon/store/schema.h"
#include "daemon/store/statement.h"
#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

enum { NUMBERS = 6000, TRANSACTIONS = 1500, OPS_MAX = 60, MARKS_MAX = 20000 };

/* What the database holds of each message: when it expires, and until when its id is refused. */
struct model {
    int64_t expires_ms[NUMBERS]; /* 0: it is not there */
    int64_t marked_ms[NUMBERS];  /* 0: it is not marked */
};

struct world {
    struct rng rng;
    struct store_fixture fixture;
    struct store_database database;
    struct model committed;
    struct model now;
    struct store_numbers *numbers;
    int64_t now_ms;
    uint64_t asked;  /* deposits of ids that are not marked */
    uint64_t looked; /* of those: that looked for a mark */
};
static struct world world;

static void open_database(sqlite3 *db, int64_t marks_max)
{
    const char *detail;

    assert_int_equal(store_numbers_load(world.numbers, db, &detail), SQLITE_OK);
    assert_int_equal(store_database_init(&world.database, db, world.numbers, marks_max), SQLITE_OK);
}

static void begin_world(int64_t marks_max)
{
    char reason[PERSIST_REASON_BYTES];
    sqlite3 *db = NULL;

    memset(&world, 0, sizeof(world));
    world.numbers = store_numbers_new();
    assert_non_null(world.numbers);
    rng_init(&world.rng);
    store_fixture_init(&world.fixture);
    store_open(&world.fixture); /* makes the host */
    store_close(&world.fixture);
    world.now_ms = 1000;
    assert_int_equal(store_schema_open(world.fixture.file, STORE_USE_WRITER_RELAXED,
                                       STORE_PAGE_BYTES, &db, reason),
                     0);
    open_database(db, marks_max);
}

static void end_world(void)
{
    store_schema_close_last(store_database_deinit(&world.database));
    store_numbers_free(world.numbers);
    store_fixture_deinit(&world.fixture);
}

/* As after a restart. */
static void reopen(int64_t marks_max)
{
    char reason[PERSIST_REASON_BYTES];
    sqlite3 *db = NULL;

    store_schema_close_last(store_database_deinit(&world.database));
    assert_int_equal(store_schema_open(world.fixture.file, STORE_USE_WRITER_RELAXED,
                                       STORE_PAGE_BYTES, &db, reason),
                     0);
    open_database(db, marks_max);
}

/* The fixture's messages whose numbers are multiples of 7 cannot be withdrawn. */
static uint32_t number_of(uint32_t n)
{
    return n / 6 * 7 + 1 + n % 6;
}

static enum persist_outcome apply(struct store_op *op)
{
    struct store_times times;

    assert_int_equal(store_ops_apply(&world.database, &op->op, &times), SQLITE_OK);
    assert_int_equal(store_database_flush(&world.database), SQLITE_OK); /* op is used again */
    return op->op.outcome;
}

static void deposit(uint32_t n)
{
    static struct store_op op;
    const int64_t expires_ms = world.now_ms + 1 + rng_below(&world.rng, 1000);
    const bool marked = world.now.marked_ms[n] > world.now_ms;
    const bool there = world.now.expires_ms[n] > world.now_ms;

    store_make_deposit(&world.fixture, &op, number_of(n), world.now_ms, expires_ms);
    if (!marked && world.database.state.tombstones > 0) {
        world.asked++;
        world.looked +=
            store_marks_may_have(&world.database.marks, world.fixture.host, op.op.message.id) ? 1
                                                                                              : 0;
    }
    assert_int_equal(apply(&op), marked  ? PERSIST_GONE
                                 : there ? PERSIST_DUPLICATE
                                         : PERSIST_APPLIED);
    if (!marked && !there) {
        world.now.expires_ms[n] = expires_ms;
    }
}

static void withdraw(uint32_t n)
{
    static struct store_op op;
    const bool there = world.now.expires_ms[n] > world.now_ms;

    store_make_withdraw(&world.fixture, &op, number_of(n), world.now_ms);
    assert_int_equal(apply(&op), there ? PERSIST_APPLIED : PERSIST_NOT_FOUND);
    if (there) {
        world.now.marked_ms[n] = world.now.expires_ms[n];
        world.now.expires_ms[n] = 0;
    }
}

/* Some of what is over goes from the database; which of it, nobody can tell by the outcomes. */
static void expire(void)
{
    static struct store_op op;

    store_make_expire(&op, world.now_ms, PERSIST_EXPIRE_MAX);
    assert_int_equal(apply(&op), PERSIST_APPLIED);
}

/* The rule itself: every mark of the database is in the filter. */
static void check_marks(void)
{
    static struct store_op op;

    for (uint32_t n = 0; n < NUMBERS; n++) {
        if (world.now.marked_ms[n] > world.now_ms) {
            store_make_withdraw(&world.fixture, &op, number_of(n), world.now_ms);
            assert_true(
                store_marks_may_have(&world.database.marks, world.fixture.host, op.op.message.id));
        }
    }
}

static void transaction(void)
{
    struct rng *rng = &world.rng;

    assert_int_equal(store_database_begin(&world.database), SQLITE_OK);
    for (uint32_t count = 1 + rng_below(rng, OPS_MAX); count > 0; count--) {
        const uint32_t kind = rng_below(rng, 100);

        if (kind < 55) {
            deposit(rng_below(rng, NUMBERS));
        } else if (kind < 98) {
            withdraw(rng_below(rng, NUMBERS));
        } else {
            expire();
        }
    }
    if (rng_chance(rng, 15)) {
        assert_int_equal(store_database_rollback(&world.database), SQLITE_OK);
        world.now = world.committed;
    } else {
        assert_int_equal(store_database_commit(&world.database), SQLITE_OK);
        world.committed = world.now;
    }
    world.now_ms += rng_below(rng, 3);
}

TEST(test_marked_ids_are_refused)
{
    uint32_t largest = 0;

    begin_world(MARKS_MAX);
    for (int t = 0; t < TRANSACTIONS; t++) {
        transaction();
        largest = world.database.marks.filter.bucket_count > largest
                      ? world.database.marks.filter.bucket_count
                      : largest;
        if (t % 50 == 0) {
            check_marks();
        }
        if (t % 400 == 399) {
            reopen(MARKS_MAX);
        }
    }
    check_marks();
    print_message("%u of %u deposits of ids that were not marked looked for a mark; at most %u "
                  "buckets\n",
                  (unsigned)world.looked, (unsigned)world.asked, (unsigned)largest);
    assert_true(world.asked > 10000);
    assert_true(largest > 1024 / 4 + 200); /* it has grown */
    assert_true(world.looked * 10 <
                world.asked); /* what a rollback left behind, and marks that are over */
    end_world();
}

/* Without failures at most 0.2 % of new ids cost a look. */
TEST(test_new_ids_need_no_look)
{
    static struct store_op op;
    enum { MARKED = 4000, NEW = 20000 };
    uint32_t looked = 0;

    begin_world(MARKS_MAX);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t n = 0; n < MARKED; n += OPS_MAX) {
            assert_int_equal(store_database_begin(&world.database), SQLITE_OK);
            for (uint32_t i = n; i < n + OPS_MAX && i < MARKED; i++) {
                if (pass == 0) {
                    deposit(i);
                } else {
                    withdraw(i);
                }
            }
            assert_int_equal(store_database_commit(&world.database), SQLITE_OK);
        }
    }
    reopen(MARKS_MAX);
    assert_int_equal(store_database_begin(&world.database), SQLITE_OK);
    assert_true(world.database.marks.usable);
    check_marks();
    for (uint32_t n = 0; n < NEW; n++) {
        store_make_withdraw(&world.fixture, &op, number_of(NUMBERS + n), world.now_ms);
        looked += store_marks_may_have(&world.database.marks, world.fixture.host, op.op.message.id)
                      ? 1
                      : 0;
    }
    print_message("%u of %u new ids look for a mark, among %u marks\n", (unsigned)looked,
                  (unsigned)NEW, (unsigned)MARKED);
    assert_true(looked <= NEW / 500);
    /* Another host's ids are others. */
    store_make_withdraw(&world.fixture, &op, 1, world.now_ms);
    assert_true(store_marks_may_have(&world.database.marks, world.fixture.host, op.op.message.id));
    looked = 0;
    for (uint32_t host = 1000; host < 1100; host++) {
        looked += store_marks_may_have(&world.database.marks, host, op.op.message.id) ? 1 : 0;
    }
    assert_true(looked < 10);
    assert_int_equal(store_database_rollback(&world.database), SQLITE_OK);
    end_world();
}

/* Over the cap the marks that end soonest go, from the database first and from the filter later. */
TEST(test_cap)
{
    begin_world(100);
    for (uint32_t n = 0; n < 2000; n += 40) {
        assert_int_equal(store_database_begin(&world.database), SQLITE_OK);
        for (uint32_t i = n; i < n + 40; i++) {
            deposit(i);
            withdraw(i);
        }
        assert_int_equal(store_database_commit(&world.database), SQLITE_OK);
        assert_true(world.database.state.tombstones <= 100);
    }
    end_world();
}

/* --- the filter alone, on a table of its own ----------------------------------------------------
 */

static void make_number_id(uint32_t number, uint8_t *out)
{
    memset(out, 0, MESSAGE_ID_BYTES);
    for (size_t i = 0; i < sizeof(number); i++) {
        out[i] = (uint8_t)(number >> (8 * i));
    }
}

static void put_mark(struct store_marks *marks, sqlite3 *db, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    char sql[160];

    make_number_id(number, id);
    (void)snprintf(sql, sizeof(sql), "INSERT INTO tombstone VALUES (1, x'%02x%02x%02x%02x%024d')",
                   id[0], id[1], id[2], id[3], 0);
    assert_int_equal(store_exec(db, sql), SQLITE_OK);
    store_marks_add(marks, db, 1, id);
}

/* Whether every mark of the table is in the filter. */
static void check_table(const struct store_marks *marks, sqlite3 *db, int expected)
{
    sqlite3_stmt *statement = NULL;
    int count = 0;

    assert_true(marks->usable);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT host_id, id FROM tombstone", -1, &statement, NULL),
        SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        assert_true(store_marks_may_have(marks, 1, sqlite3_column_blob(statement, 1)));
        count++;
    }
    assert_int_equal(count, expected);
    (void)sqlite3_finalize(statement);
}

/*
 * What a rolled back transaction took out stays in the filter, as it stays in the table: also when
 * the filter was loaded anew, and too small, within that transaction.
 */
TEST(test_rollback)
{
    static struct store_marks marks;
    uint8_t id[MESSAGE_ID_BYTES];
    sqlite3 *db = NULL;
    uint32_t number = 0;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(store_exec(db, "CREATE TABLE tombstone (host_id INTEGER, id BLOB)"),
                     SQLITE_OK);
    store_marks_init(&marks);
    store_marks_begin(&marks, db);
    while (number < 300) {
        put_mark(&marks, db, number++);
    }
    store_marks_commit(&marks);
    check_table(&marks, db, 300);
    for (int reload = 0; reload < 2; reload++) {
        const uint32_t buckets = marks.filter.bucket_count;

        assert_int_equal(store_exec(db, "BEGIN"), SQLITE_OK);
        store_marks_begin(&marks, db);
        assert_int_equal(store_exec(db, "DELETE FROM tombstone WHERE id < x'0a000000ff'"),
                         SQLITE_OK);
        for (uint32_t gone = 0; gone <= 10; gone++) {
            make_number_id(gone, id);
            store_marks_remove(&marks, 1, id);
        }
        while (reload == 1 && marks.filter.bucket_count == buckets) {
            put_mark(&marks, db, number++);
        }
        assert_int_equal(store_exec(db, "ROLLBACK"), SQLITE_OK);
        store_marks_rollback(&marks);
        store_marks_begin(&marks, db);
        check_table(&marks, db, 300);
        store_marks_commit(&marks);
    }
    assert_true(number > 1000); /* it was loaded anew */
    store_marks_begin(&marks, db);
    make_number_id(5, id);
    assert_int_equal(store_exec(db, "DELETE FROM tombstone WHERE hex(id) LIKE '05000000%'"),
                     SQLITE_OK);
    store_marks_remove(&marks, 1, id);
    assert_true(store_marks_may_have(&marks, 1, id));
    store_marks_commit(&marks);
    check_table(&marks, db, 299);
    store_marks_deinit(&marks);
    (void)sqlite3_close(db);
}

/* Where the marks cannot be read every id may be marked; and it is tried again later. */
TEST(test_unreadable)
{
    static struct store_marks marks;
    const uint8_t id[MESSAGE_ID_BYTES] = {9};
    sqlite3 *db = NULL;
    int begins = 0;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    store_marks_init(&marks);
    store_marks_begin(&marks, db); /* there is no such table */
    assert_false(marks.usable);
    assert_true(store_marks_may_have(&marks, 1, id));
    store_marks_add(&marks, db, 1, id);
    store_marks_remove(&marks, 1, id);
    store_marks_commit(&marks);
    assert_int_equal(store_exec(db, "CREATE TABLE tombstone (host_id INTEGER, id BLOB)"),
                     SQLITE_OK);
    for (; !marks.usable && begins < 5000; begins++) {
        assert_true(store_marks_may_have(&marks, 1, id));
        store_marks_begin(&marks, db);
    }
    assert_in_range(begins, 2, 2000);
    assert_false(store_marks_may_have(&marks, 1, id));
    store_marks_deinit(&marks);
    (void)sqlite3_close(db);
}

/* Memory that no free overwrites: see open_file in schema.c. Debian's SQLite has none, OpenWrt's
 * and the one of the row `musl` have it. */
TEST(test_no_value_stays_with_sqlite)
{
    int now = 0;
    int hits = -1;

    begin_world(100);
    for (uint32_t n = 0; n < 10; n++) {
        deposit(n);
    }
    assert_int_equal(
        sqlite3_db_status(world.database.db, SQLITE_DBSTATUS_LOOKASIDE_HIT, &now, &hits, 0),
        SQLITE_OK);
    assert_int_equal(hits, 0);
    end_world();
}
