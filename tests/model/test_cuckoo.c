/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cuckoo filter against a plain set of ids, through random comings and goings and rebuilds: an
 * id that is there is always found, others within the computed bound, and whatever fails changes
 * nothing.
 */
#include "core/filter/cuckoo.h"

#include <math.h>
#include <sodium.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { ID_BYTES = 16, FIRST = 40, HELD_MAX = 4000 };

/* SipHash-2-4, keyed: what the filter is meant to be used with. */
static uint64_t sip_hash(const void *context, const uint8_t *id)
{
    uint8_t out[crypto_shorthash_BYTES];
    uint64_t hash;

    (void)crypto_shorthash(out, id, ID_BYTES, context); /* cannot fail */
    memcpy(&hash, out, sizeof hash);
    return hash;
}

struct world {
    struct rng rng;
    uint8_t key[crypto_shorthash_KEYBYTES];
    uint8_t ids[HELD_MAX][ID_BYTES];
    uint32_t count;
    uint32_t at; /* of the walk over them */
    struct fail_alloc alloc;
    struct cuckoo cuckoo;
};
static struct world world;

static void make_id(uint8_t *out)
{
    for (size_t i = 0; i < ID_BYTES; i += 8) {
        const uint64_t number = rng_next(&world.rng);

        memcpy(out + i, &number, 8);
    }
}

static void ids_rewind(void *context)
{
    ((struct world *)context)->at = 0;
}

static const uint8_t *ids_next(void *context)
{
    struct world *all = context;

    return all->at < all->count ? all->ids[all->at++] : NULL;
}

static const struct cuckoo_ids all_ids = {ids_rewind, ids_next, &world};

static int begin_world(uint32_t capacity)
{
    memset(&world, 0, sizeof world);
    rng_init(&world.rng);
    for (size_t i = 0; i < sizeof world.key; i++) {
        world.key[i] = (uint8_t)rng_next(&world.rng);
    }
    fail_alloc_init(&world.alloc);
    return cuckoo_init(&world.cuckoo, &world.alloc.alloc, sip_hash, world.key, capacity);
}

static void check_all(void)
{
    assert_int_equal(world.cuckoo.count, world.count);
    for (uint32_t i = 0; i < world.count; i++) {
        assert_true(cuckoo_has(&world.cuckoo, world.ids[i]));
    }
}

/* One more id; when the filter is full it grows by a rebuild, which may fail for want of memory. */
static void come(void)
{
    uint8_t *id = world.ids[world.count];

    make_id(id);
    if (cuckoo_insert(&world.cuckoo, id) == 0) {
        world.count++;
        return;
    }
    check_all();
    fail_alloc_arm(&world.alloc, 1);
    assert_int_equal(cuckoo_rebuild(&world.cuckoo, &all_ids, world.count * 2), -ERR_NOMEM);
    check_all();
    fail_alloc_arm(&world.alloc, 0);
    uint32_t room = world.count / 4 + 1;
    do { /* now and then a filter is full by chance: then it grows more */
        assert_true(room <= 4 * (world.count + 4));
        assert_int_equal(cuckoo_rebuild(&world.cuckoo, &all_ids, world.count + room), 0);
        check_all();
        room *= 2;
    } while (cuckoo_insert(&world.cuckoo, id) != 0);
    world.count++;
}

static void go(void)
{
    const uint32_t i = rng_below(&world.rng, world.count);

    assert_true(cuckoo_remove(&world.cuckoo, world.ids[i]));
    world.count--;
    memmove(world.ids[i], world.ids[world.count], ID_BYTES);
}

TEST(test_comings_and_goings)
{
    assert_int_equal(begin_world(FIRST), 0);
    for (uint32_t step = 0; step < 60000; step++) {
        const uint32_t percent = step / 6000 % 2 == 0 ? 65 : 35;

        if (world.count == 0 || (world.count < HELD_MAX && rng_chance(&world.rng, percent))) {
            come();
        } else {
            go();
        }
        if (step % 97 == 0) {
            check_all();
        }
    }
    while (world.count > 0) {
        go();
    }
    for (size_t w = 0; w < world.alloc.live_bytes / 8; w++) {
        assert_true(world.cuckoo.words[w] == 0); /* nothing is left of anybody */
    }
    cuckoo_deinit(&world.cuckoo);
    assert_int_equal(world.alloc.live_blocks, 0);
}

/* Full to the last place: what does not fit is refused, and those that are there stay. */
TEST(test_full_changes_nothing)
{
    for (uint32_t capacity = 1; capacity <= 400; capacity += 57) {
        uint32_t refused = 0;

        assert_int_equal(begin_world(capacity), 0);
        uint64_t *before = malloc(world.alloc.live_bytes);
        assert_non_null(before);
        while (refused < 20 && world.count < HELD_MAX) {
            make_id(world.ids[world.count]);
            memcpy(before, world.cuckoo.words, world.alloc.live_bytes);
            if (cuckoo_insert(&world.cuckoo, world.ids[world.count]) == 0) {
                world.count++;
                continue;
            }
            refused++;
            assert_memory_equal(before, world.cuckoo.words, world.alloc.live_bytes);
            check_all();
        }
        assert_int_equal(refused, 20);
        assert_true(world.count >= capacity * 9 / 10);
        free(before);
        cuckoo_deinit(&world.cuckoo);
    }
}

/* The same id again and again: at most 8 places, refused after that, and each comes out again. */
TEST(test_same_id)
{
    const uint8_t id[ID_BYTES] = {1, 2, 3};
    uint32_t put = 0;

    assert_int_equal(begin_world(1000), 0);
    while (cuckoo_insert(&world.cuckoo, id) == 0) {
        put++;
    }
    assert_in_range(put, 4, 8); /* 4 where both buckets are one */
    for (; put > 0; put--) {
        assert_true(cuckoo_has(&world.cuckoo, id));
        assert_true(cuckoo_remove(&world.cuckoo, id));
    }
    assert_false(cuckoo_has(&world.cuckoo, id));
    assert_false(cuckoo_remove(&world.cuckoo, id));
    cuckoo_deinit(&world.cuckoo);
}

/* A rebuild into too little is refused and changes nothing. */
TEST(test_rebuild_into_too_little)
{
    assert_int_equal(begin_world(1000), 0);
    while (world.count < 900) {
        come();
    }
    assert_int_equal(cuckoo_rebuild(&world.cuckoo, &all_ids, 100), CUCKOO_FULL);
    check_all();
    assert_int_equal(cuckoo_rebuild(&world.cuckoo, &all_ids, 900), 0);
    check_all();
    cuckoo_deinit(&world.cuckoo);
    assert_int_equal(world.alloc.live_blocks, 0);
}

/* How many of the ids 0, 1, 2 .. size - 1 the filter takes before it is full. */
static uint32_t fill_to(uint32_t size)
{
    uint8_t id[ID_BYTES] = {0};
    uint32_t put = 0;

    for (; put < size; put++) {
        memcpy(id, &put, sizeof put);
        if (cuckoo_insert(&world.cuckoo, id) != 0) {
            break;
        }
    }
    return put;
}

/*
 * The figures: at the load it is sized for (95 %) an entry takes at most 14 bits and at most 0.2 %
 * of other ids are taken for one, for any number of entries. A small filter is sometimes full one
 * or two entries early, because the places of few ids are spread unevenly; its owner then makes a
 * larger one.
 */
TEST(test_figures)
{
    static const uint32_t sizes[] = {1000, 10007, 100000, 1000000};
    enum { PROBES = 1000000 };

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t wrong = 0;
        uint8_t id[ID_BYTES] = {0};

        assert_int_equal(begin_world(sizes[s]), 0);
        const uint32_t put = fill_to(sizes[s]);
        assert_in_range(put, sizes[s] - sizes[s] / 100, sizes[s]);
        for (uint32_t i = 0; i < put; i++) {
            memcpy(id, &i, sizeof i);
            assert_true(cuckoo_has(&world.cuckoo, id));
        }
        id[ID_BYTES - 1] = 1;
        for (uint32_t i = 0; i < PROBES; i++) {
            memcpy(id, &i, sizeof i);
            wrong += cuckoo_has(&world.cuckoo, id) ? 1 : 0;
        }
        const uint64_t millibits = (uint64_t)world.alloc.live_bytes * 8 * 1000 / world.cuckoo.count;
        print_message("%7u ids: %u.%03u bits each, %u of a million others taken for one\n",
                      (unsigned)sizes[s], (unsigned)(millibits / 1000),
                      (unsigned)(millibits % 1000), (unsigned)wrong);
        assert_true(millibits <= 14000);
        assert_true((double)wrong <= 8.0 / 8191 * PROBES + 6 * sqrt(8.0 / 8191 * PROBES));
        assert_true(wrong <= PROBES / 500);
        cuckoo_deinit(&world.cuckoo);
    }
}

TEST(test_no_memory)
{
    struct fail_alloc fail;
    struct cuckoo cuckoo;

    fail_alloc_init(&fail);
    fail_alloc_arm(&fail, 1);
    assert_int_equal(cuckoo_init(&cuckoo, &fail.alloc, sip_hash, world.key, 100), -ERR_NOMEM);
    cuckoo_deinit(&cuckoo);
    assert_int_equal(fail.live_blocks, 0);
}
