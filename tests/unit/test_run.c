/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of numbers and fresh numbers against a plain array: numbers are loaded, added, removed,
 * rolled back and merged; after each step every search must find what the array has. Hashes are few
 * in half of the worlds, so that many numbers have the same hash. One half of the worlds never has
 * memory for buckets.
 */
#include "daemon/store/numbers.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { WORLDS = 24, STEPS = 40, NUMBERS_MAX = 12000, ADDED_MAX = 200, ASKED = 60 };

struct plain {
    uint32_t hash;
    int64_t seq;
    bool is_gone;
};

struct world {
    struct rng *rng;
    bool has_buckets;
    bool has_few_hashes;
    struct store_run run;
    struct store_fresh fresh;
    struct plain plain[NUMBERS_MAX];
    size_t count;
    int64_t next_seq;
};

static struct world world;

/* Few hashes: at both ends of the range. */
static uint32_t make_hash(void)
{
    uint32_t hash = rng_below(world.rng, STORE_HASH_MASK + 1);

    if (!world.has_few_hashes) {
        return hash;
    }
    return hash % 2 == 0 ? hash % 50 : STORE_HASH_MASK - hash % 50;
}

/* As after an allocation that failed. */
static void lose_buckets(void)
{
    if (!world.has_buckets) {
        free(world.run.starts);
        world.run.starts = NULL;
        world.run.bucket_bits = 0;
    }
}

static struct store_number note_number(void)
{
    const struct plain plain = {make_hash(), world.next_seq++, false};

    world.plain[world.count++] = plain;
    return store_number_make(plain.hash, plain.seq, 1000);
}

static struct store_number *find_number(const struct plain *plain)
{
    struct store_number *old = store_run_find(&world.run, plain->hash, plain->seq);
    struct store_number *fresh = store_fresh_find(&world.fresh, plain->hash, plain->seq);

    assert_true((old == NULL) != (fresh == NULL)); /* one of them has the number */
    return old != NULL ? old : fresh;
}

static void load_numbers(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(store_run_make_room(&world.run));
        world.run.items[world.run.count++] = note_number();
    }
    store_run_sort(&world.run);
    lose_buckets();
}

static void add_numbers(void)
{
    for (uint32_t i = rng_below(world.rng, ADDED_MAX); i > 0; i--) {
        const struct store_number number = note_number();
        assert_true(store_fresh_add(&world.fresh, &number));
    }
}

static void remove_numbers(void)
{
    for (uint32_t i = world.count == 0 ? 0 : rng_below(world.rng, 30); i > 0; i--) {
        struct plain *plain = &world.plain[rng_below(world.rng, (uint32_t)world.count)];

        find_number(plain)->high |= STORE_NUMBER_GONE;
        plain->is_gone = true;
    }
}

static void merge_numbers(void)
{
    size_t kept = 0;

    if (rng_chance(world.rng, 50)) {
        store_run_sweep(&world.run);
        store_fresh_sweep(&world.fresh, true, INT64_MAX);
        for (size_t i = 0; i < world.count; i++) {
            if (!world.plain[i].is_gone) {
                world.plain[kept++] = world.plain[i];
            }
        }
        world.count = kept;
    }
    assert_true(store_run_merge(&world.run, &world.fresh));
    lose_buckets();
    assert_int_equal(world.fresh.count, 0);
    assert_int_equal(world.run.count, world.count);
}

static int64_t plain_next(uint32_t hash, int64_t after, bool with_gone)
{
    int64_t best = INT64_MAX;

    for (size_t i = 0; i < world.count; i++) {
        const struct plain *plain = &world.plain[i];

        if (plain->hash == hash && plain->seq > after && plain->seq < best &&
            (with_gone || !plain->is_gone)) {
            best = plain->seq;
        }
    }
    return best;
}

static void check_searches(void)
{
    for (int i = 0; i < ASKED; i++) {
        const struct plain *plain =
            world.count == 0 ? NULL : &world.plain[rng_below(world.rng, (uint32_t)world.count)];
        const bool is_known = plain != NULL && rng_chance(world.rng, 70);
        const uint32_t hash = is_known ? plain->hash : make_hash();
        const int64_t after = is_known ? plain->seq - rng_below(world.rng, 2) : 0;
        const bool with_gone = rng_chance(world.rng, 50);

        int64_t best = store_run_next(&world.run, hash, after, with_gone, INT64_MAX);
        best = store_fresh_next(&world.fresh, hash, after, with_gone, best);
        assert_int_equal(best, plain_next(hash, after, with_gone));
        if (plain != NULL) {
            assert_int_equal(store_number_is_gone(find_number(plain)), plain->is_gone);
        }
    }
}

static void run_world(struct rng *rng, unsigned number)
{
    memset(&world, 0, sizeof(world));
    world.rng = rng;
    world.has_buckets = number % 2 == 0;
    world.has_few_hashes = number / 2 % 2 == 0;
    world.next_seq = 1;
    load_numbers(number % 3 == 0 ? 0 : rng_below(rng, 3000));
    for (int step = 0; step < STEPS; step++) {
        const int64_t first = world.next_seq;
        const size_t before = world.count;

        add_numbers();
        check_searches();
        if (rng_chance(rng, 20)) { /* the transaction is rolled back */
            store_fresh_sweep(&world.fresh, false, first);
            world.count = before;
        }
        remove_numbers();
        check_searches();
        if (rng_chance(rng, 30)) {
            merge_numbers();
            check_searches();
        }
    }
    store_run_deinit(&world.run);
    store_fresh_deinit(&world.fresh);
}

TEST(test_against_a_plain_array)
{
    struct rng rng;

    rng_init(&rng);
    for (unsigned number = 0; number < WORLDS; number++) {
        run_world(&rng, number);
    }
}
