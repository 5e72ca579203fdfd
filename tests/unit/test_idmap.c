/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/idmap.h"

#include "core/base/err.h"
#include "core/index/nearest.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

enum { MANY = 3000 };

/* What the map's owner has: the ids by position, dense. */
struct owner {
    uint8_t ids[MANY][MESSAGE_ID_BYTES];
    uint32_t count;
};

static const uint8_t *id_at(const void *context, uint32_t position)
{
    const struct owner *owner = context;

    assert_true(position < owner->count);
    return owner->ids[position];
}

static void make_id(uint8_t *id, uint32_t number)
{
    memset(id, 0, MESSAGE_ID_BYTES);
    id[3] = (uint8_t)(number >> 8);
    id[9] = (uint8_t)(number & 0xff);
}

static void insert(struct owner *owner, struct idmap *map, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint32_t position = 0;

    make_id(id, number);
    if (owner->count == MANY || idmap_find(map, id, id_at, owner, &position)) {
        return;
    }
    assert_int_equal(idmap_reserve(map), 0);
    memcpy(owner->ids[owner->count], id, MESSAGE_ID_BYTES);
    idmap_insert(map, id, owner->count);
    owner->count++;
}

/* Takes one out and moves the last into its place, as the list does. */
static void remove_at(struct owner *owner, struct idmap *map, uint32_t position)
{
    uint32_t last = owner->count - 1;

    idmap_remove(map, owner->ids[position], position);
    if (position != last) {
        idmap_move(map, owner->ids[last], last, position);
        memcpy(owner->ids[position], owner->ids[last], MESSAGE_ID_BYTES);
    }
    owner->count = last;
}

static void check_all(const struct owner *owner, const struct idmap *map)
{
    const char *wrong = check_idmap(map);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    assert_int_equal(idmap_count(map), owner->count);
    for (uint32_t p = 0; p < owner->count; p++) {
        uint32_t position = UINT32_MAX;

        assert_true(idmap_find(map, owner->ids[p], id_at, owner, &position));
        assert_int_equal(position, p);
    }
}

/* Up and down several times, through every resize, checked all the way. */
TEST(test_random_operations)
{
    static struct owner owner;
    struct fail_alloc fail;
    struct idmap map;
    struct rng rng;

    rng_init(&rng);
    fail_alloc_init(&fail);
    idmap_init(&map, &fail.alloc, rng_next(&rng));
    owner.count = 0;
    for (uint32_t step = 0; step < 60000; step++) {
        uint32_t inserts = step / 10000 % 2 == 0 ? 75 : 25;

        if (owner.count == 0 || rng_chance(&rng, inserts)) {
            insert(&owner, &map, rng_below(&rng, 65536));
        } else {
            remove_at(&owner, &map, rng_below(&rng, owner.count));
        }
        if (step % 97 == 0) {
            check_all(&owner, &map);
            assert_int_equal(idmap_bytes(&map), fail.live_bytes);
        }
    }
    while (owner.count > 0) {
        remove_at(&owner, &map, 0);
    }
    check_all(&owner, &map);
    assert_true(idmap_bytes(&map) <= 64 * sizeof(struct idmap_slot));
    idmap_deinit(&map);
    assert_int_equal(fail.live_bytes, 0);
}

/* Without memory nothing can be added, but everything can be found and removed. */
TEST(test_no_memory)
{
    static struct owner owner;
    struct fail_alloc fail;
    struct idmap map;
    uint32_t refused = 0;

    fail_alloc_init(&fail);
    idmap_init(&map, &fail.alloc, 1);
    owner.count = 0;
    for (uint32_t number = 0; number < 1000; number++) {
        fail_alloc_arm(&fail, 1);
        if (idmap_reserve(&map) != 0) {
            refused++;
            check_all(&owner, &map);
            fail_alloc_arm(&fail, 0);
        }
        insert(&owner, &map, number);
    }
    assert_true(refused >= 6);
    fail.fail_from_then = true;
    fail_alloc_arm(&fail, 1);
    while (owner.count > 0) {
        remove_at(&owner, &map, owner.count / 2);
        if (owner.count % 50 == 0) {
            check_all(&owner, &map);
        }
    }
    idmap_deinit(&map);
    assert_int_equal(fail.live_bytes, 0);
}

TEST(test_empty)
{
    static struct owner owner;
    struct idmap map;
    uint8_t id[MESSAGE_ID_BYTES] = {0};
    uint32_t position = 7;

    idmap_init(&map, alloc_system(), 1);
    assert_false(idmap_find(&map, id, id_at, &owner, &position));
    assert_int_equal(position, 7);
    assert_int_equal(idmap_bytes(&map), 0);
    assert_null(check_idmap(&map));
    idmap_remove(&map, id, 0); /* nothing there: nothing done */
    idmap_deinit(&map);
}

/* A map that knows how many will come does not grow, and has few slots in vain. */
TEST(test_expected)
{
    static struct owner owner;
    struct fail_alloc fail;
    struct idmap map;

    fail_alloc_init(&fail);
    idmap_init(&map, &fail.alloc, 1);
    fail_alloc_arm(&fail, 1);
    assert_int_equal(idmap_expect(&map, MANY), -ERR_NOMEM);
    assert_int_equal(idmap_bytes(&map), 0);
    fail_alloc_arm(&fail, 0);
    assert_int_equal(idmap_expect(&map, MANY), 0);
    size_t bytes = idmap_bytes(&map);
    assert_in_range(bytes, 0, MANY * sizeof(struct idmap_slot) * 14 / 10);
    for (uint32_t i = 0; i < MANY; i++) {
        insert(&owner, &map, i);
    }
    assert_int_equal(owner.count, MANY);
    assert_int_equal(idmap_bytes(&map), bytes);
    assert_null(check_idmap(&map));
    idmap_deinit(&map);
    assert_int_equal(fail.live_bytes, 0);
}
