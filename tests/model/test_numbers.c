/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of messages in memory against a plain array: transactions of random additions and
 * removals, committed or rolled back. After each the memory must find every message by its id, no
 * removed one, and the messages in the order in which they expire; also within a transaction.
 */
#include "daemon/store/numbers.h"

#include <sodium.h>

#include "core/index/nearest.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { HOSTS = 2, IDS = 6000, SEQUENCES = 4, TRANSACTIONS = 400, OPERATIONS_MAX = 60 };

/* The message that a host has under an id; seq 0: none. */
struct plain {
    int64_t seq;
    int64_t expires_ms;
};

struct world {
    struct rng *rng;
    struct store_numbers *numbers;
    struct plain now[HOSTS][IDS];
    struct plain before[HOSTS][IDS]; /* the transaction */
    int64_t next_seq;
};

static void make_id(uint32_t number, uint8_t out[MESSAGE_ID_BYTES])
{
    memset(out, 7, MESSAGE_ID_BYTES);
    memcpy(out, &number, sizeof(number));
}

/* Whether the memory has the number for the id: it may have others, too, but not this one twice. */
static bool has_number(const struct world *world, uint32_t host, uint32_t number, int64_t seq)
{
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t found = 0;
    bool has = false;

    make_id(number, id);
    while ((found = store_numbers_next(world->numbers, host, id, found)) != 0) {
        has = has || found == seq;
    }
    return has;
}

static void add_message(struct world *world, uint32_t host, uint32_t number)
{
    struct plain *plain = &world->now[host][number];
    uint8_t id[MESSAGE_ID_BYTES];

    make_id(number, id);
    *plain = (struct plain){world->next_seq++, rng_below(world->rng, 5000)};
    assert_int_equal(store_numbers_add(world->numbers, host, id, plain->seq, plain->expires_ms),
                     SQLITE_OK);
}

static void remove_message(struct world *world, uint32_t host, uint32_t number)
{
    struct plain *plain = &world->now[host][number];
    uint8_t id[MESSAGE_ID_BYTES];

    make_id(number, id);
    assert_int_equal(store_numbers_remove(world->numbers, host, id, plain->seq), SQLITE_OK);
    assert_int_equal(store_numbers_remove(world->numbers, host, id, plain->seq), SQLITE_CORRUPT);
    assert_false(has_number(world, host, number, plain->seq));
    plain->seq = 0;
}

static const struct plain *plain_soonest(const struct world *world, uint32_t host)
{
    const struct plain *soonest = NULL;

    for (uint32_t i = 0; i < IDS; i++) {
        const struct plain *one = &world->now[host][i];

        if (one->seq != 0 &&
            (soonest == NULL || one->expires_ms < soonest->expires_ms ||
             (one->expires_ms == soonest->expires_ms && one->seq < soonest->seq))) {
            soonest = one;
        }
    }
    return soonest;
}

/* What expires soonest, and that the first entries of the order ascend. */
static void check_soonest(const struct world *world, uint32_t host)
{
    const struct plain *expected = plain_soonest(world, host);
    struct store_soon last = {INT64_MIN, 0};
    struct store_soon soon = {0, 0};
    int rc = store_numbers_soonest(world->numbers, host, 0, &soon);

    assert_int_equal(rc, expected == NULL ? SQLITE_DONE : SQLITE_ROW);
    if (expected != NULL) {
        assert_true(soon.seq == expected->seq && soon.expires_ms == expected->expires_ms);
    }
    for (size_t place = 0; place < 300 && rc == SQLITE_ROW; place++) {
        rc = store_numbers_soonest(world->numbers, host, place, &soon);
        assert_true(rc == SQLITE_DONE || soon.expires_ms > last.expires_ms ||
                    (soon.expires_ms == last.expires_ms && soon.seq > last.seq));
        last = soon;
    }
}

/* Expires the soonest one, or adds or moves or removes a message. */
static void one_operation(struct world *world, bool fills)
{
    const uint32_t host = rng_below(world->rng, HOSTS);
    const uint32_t number = rng_below(world->rng, IDS);
    struct plain *plain = &world->now[host][number];
    struct store_soon soon;

    if (rng_chance(world->rng, 20) &&
        store_numbers_soonest(world->numbers, host, rng_below(world->rng, 3), &soon) ==
            SQLITE_ROW) {
        for (uint32_t i = 0; i < IDS; i++) {
            if (world->now[host][i].seq == soon.seq) {
                remove_message(world, host, i);
                return;
            }
        }
        fail_msg("no message has seq %lld", (long long)soon.seq);
    }
    if (plain->seq == 0) {
        add_message(world, host, number);
        return;
    }
    if (!fills || rng_chance(world->rng, 20)) {
        remove_message(world, host, number);
    }
    if (plain->seq == 0 && rng_chance(world->rng, 50)) {
        add_message(world, host, number); /* with another number */
    }
}

static void check_all(const struct world *world)
{
    uint8_t id[MESSAGE_ID_BYTES];

    for (uint32_t host = 0; host < HOSTS; host++) {
        unsigned others = 0;

        for (uint32_t i = 0; i < IDS; i++) {
            const int64_t seq = world->now[host][i].seq;

            make_id(i, id);
            assert_true(seq == 0 || has_number(world, host, i, seq));
            others += seq == 0 && store_numbers_next(world->numbers, host, id, 0) != 0;
        }
        assert_true(others <= 3); /* by chance: 29 bits */
        check_soonest(world, host);
    }
}

static void one_transaction(struct world *world, bool fills)
{
    const uint32_t count = 1 + rng_below(world->rng, OPERATIONS_MAX);
    const int64_t first = world->next_seq;

    memcpy(world->before, world->now, sizeof(world->now));
    for (uint32_t i = 0; i < count; i++) {
        one_operation(world, fills);
    }
    if (rng_chance(world->rng, 10)) {
        check_soonest(world, rng_below(world->rng, HOSTS));
    }
    if (rng_chance(world->rng, 30)) {
        store_numbers_rollback(world->numbers, first);
        memcpy(world->now, world->before, sizeof(world->now));
        world->next_seq = first;
    } else {
        store_numbers_commit(world->numbers);
    }
}

TEST(test_numbers)
{
    static struct world world;
    struct rng rng;

    rng_init(&rng);
    for (unsigned i = 0; i < SEQUENCES; i++) {
        memset(&world, 0, sizeof(world));
        world.rng = &rng;
        world.next_seq = 1;
        world.numbers = store_numbers_new();
        assert_non_null(world.numbers);
        for (unsigned t = 0; t < TRANSACTIONS; t++) {
            one_transaction(&world, t < TRANSACTIONS / 2);
            if (t % 40 == 39) {
                check_all(&world);
            }
        }
        store_numbers_free(world.numbers);
    }
}

/* A load that fails, here because of an id of two bytes, leaves the numbers as they were. */
TEST(test_a_failed_load_changes_nothing)
{
    struct store_numbers *numbers = store_numbers_new();
    const char *detail = NULL;
    uint8_t id[MESSAGE_ID_BYTES];
    sqlite3 *db = NULL;

    assert_non_null(numbers);
    make_id(5, id);
    assert_int_equal(store_numbers_add(numbers, 1, id, 7, 1000), SQLITE_OK);
    store_numbers_commit(numbers);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE message (seq, host_id, id, expires_ms);"
                                  "INSERT INTO message VALUES (1, 1, x'0102', 5)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(store_numbers_load(numbers, db, &detail), SQLITE_CORRUPT);
    assert_non_null(detail);
    assert_int_equal(store_numbers_next(numbers, 1, id, 0), 7);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    store_numbers_free(numbers);
}

int main(void)
{
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
