/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a host at the hub, with heads and outcomes that are the test's. */
#include "client/bridge/own/claim.h"

#include <string.h>

#include "tests/lib/check.h"

static struct {
    uint64_t expected_place; /* of the last write */
    unsigned writes;
    unsigned reads;
    unsigned rewound;
    unsigned fenced;
} hub;

bool __wrap_head_write(struct head_keeper *keeper, const struct head *head, const char *profile,
                       uint64_t last_place);
bool __wrap_head_read(struct head_keeper *keeper);
void __wrap_wire_forget(struct wire *wire, const void *context);

bool __wrap_head_write(struct head_keeper *keeper, const struct head *head, const char *profile,
                       uint64_t last_place)
{
    (void)keeper;
    (void)head;
    (void)profile;
    hub.expected_place = last_place;
    hub.writes++;
    return true;
}

bool __wrap_head_read(struct head_keeper *keeper)
{
    (void)keeper;
    hub.reads++;
    return true;
}

void __wrap_wire_forget(struct wire *wire, const void *context)
{
    (void)wire;
    (void)context;
}

static void on_restore(void *context, enum claim_copies copies, bool is_again)
{
    (void)context;
    (void)copies;
    (void)is_again;
    fail_msg("nothing is to be restored here");
}

static void on_owned(void *context)
{
    (void)context;
}

static void on_fenced(void *context)
{
    (void)context;
    hub.fenced++;
}

static void on_rewound(void *context)
{
    (void)context;
    hub.rewound++;
}

static int64_t now_ms(void *context)
{
    (void)context;
    return 1000;
}

static const struct claim_events events = {.restore = on_restore,
                                           .owned = on_owned,
                                           .fenced = on_fenced,
                                           .rewound = on_rewound,
                                           .now_ms = now_ms};
static const struct cursor nobody_before;

struct world {
    uv_loop_t loop;
    struct cursor cursor;
    struct claim claim;
};

/* An owner whose head stands at this place, and is not at the hub any more. */
static void lose_the_head_at(struct world *world, uint64_t place)
{
    memset(&hub, 0, sizeof(hub));
    *world = (struct world){.cursor = {.store_id = {1}, .seq = 5, .term = 7, .head = place}};
    assert_int_equal(uv_loop_init(&world->loop), 0);
    claim_init(&world->claim, &world->loop, NULL, "ap1", &world->cursor, &events, NULL);
    claim_begin(&world->claim, "v1:512/4", false, false, &nobody_before);
    assert_int_equal(hub.expected_place, place);
    world->claim.keeper.done(&world->claim, HEAD_REFUSED, &(struct head){.place = 0});
    assert_int_equal(hub.rewound, 1);
    assert_int_equal(hub.expected_place, 0);
}

static void end(struct world *world)
{
    claim_stop(&world->claim);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

/*
 * A hub that was restored from a backup gives its numbers again. So a head of another store may
 * come to stand where this store's lost one stood; a write that expects it there would be accepted,
 * and two stores would publish.
 */
static void test_a_lost_place_is_never_expected_again(void **state)
{
    const struct head other = {.place = 100, .store_id = {2}, .term = 8};
    struct world world;

    (void)state;
    lose_the_head_at(&world, 100);
    world.claim.keeper.done(&world.claim, HEAD_FAILED, &(struct head){.error = "no answer"});
    claim_end(&world.claim);
    claim_begin(&world.claim, "v1:512/4", false, false, &nobody_before);
    assert_int_equal(hub.expected_place, CURSOR_HEAD_LOST);
    world.claim.keeper.done(&world.claim, HEAD_REFUSED, &other);
    assert_int_equal(hub.reads, 1);
    world.claim.keeper.done(&world.claim, HEAD_FOUND, &other);
    assert_int_equal(world.claim.state, CLAIM_FENCED);
    assert_int_equal(hub.fenced, 1);
    end(&world);
}

/* The head was accepted, but its acknowledgement was lost: nothing is published once more for that.
 */
static void test_an_acknowledgement_that_was_lost(void **state)
{
    const struct head own = {.place = 1, .store_id = {1}, .term = 7};
    struct world world;

    (void)state;
    lose_the_head_at(&world, 100);
    world.claim.keeper.done(&world.claim, HEAD_REFUSED, &own);
    world.claim.keeper.done(&world.claim, HEAD_FOUND, &own);
    assert_int_equal(hub.rewound, 1);
    assert_int_equal(hub.expected_place, 1);
    world.claim.keeper.done(&world.claim, HEAD_ACCEPTED, &(struct head){.place = 2});
    assert_int_equal(world.claim.state, CLAIM_OWNER);
    assert_int_equal(world.cursor.head, 2);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_place_is_never_expected_again),
        cmocka_unit_test(test_an_acknowledgement_that_was_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
