/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a host at the hub, with heads and outcomes that are the test's. */
#include "client/bridge/own/inner.h"

#include "tests/lib/check.h"

static struct {
    uint64_t expected_place; /* of the last write */
    unsigned writes;
    unsigned reads;
    unsigned rewound;
    unsigned fenced;
    unsigned restores;
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
    hub.restores++;
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

static int64_t clock_ms = 1000;

static int64_t now_ms(void *context)
{
    (void)context;
    return clock_ms;
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
    claim_begin(&world->claim, "v2:512/4", false, false, &nobody_before);
    assert_int_equal(hub.expected_place, place);
    world->claim.keeper.done(&world->claim, HEAD_REFUSED, &(struct head){.place = 0});
    assert_int_equal(hub.rewound, 1);
    assert_int_equal(hub.expected_place, 0);
    assert_int_equal(hub.restores, 0);
}

/* A store whose host has this head at the hub is restored. `before`: the one that was here. */
static void restore(struct world *world, const struct head *found, const struct cursor *before)
{
    memset(&hub, 0, sizeof(hub));
    *world = (struct world){.cursor = {.store_id = {1}, .term = 7}};
    assert_int_equal(uv_loop_init(&world->loop), 0);
    claim_init(&world->claim, &world->loop, NULL, "ap1", &world->cursor, &events, NULL);
    claim_begin(&world->claim, "v2:512/4", true, false, before);
    world->claim.keeper.done(&world->claim, HEAD_FOUND, found);
    assert_int_equal(hub.restores, 1);
    claim_restored(&world->claim);
    assert_int_equal(world->claim.state, CLAIM_WAITING);
    assert_int_equal(hub.reads, 1);
}

/* As if the interval of heads were over. */
static void write_next_head(struct world *world)
{
    world->claim.timer.timer_cb(&world->claim.timer);
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
TEST(test_a_lost_place_is_never_expected_again)
{
    const struct head other = {.place = 100, .store_id = {2}, .term = 8};
    struct world world;

    lose_the_head_at(&world, 100);
    world.claim.keeper.done(&world.claim, HEAD_FAILED, &(struct head){.error = "no answer"});
    claim_end(&world.claim);
    claim_begin(&world.claim, "v2:512/4", false, false, &nobody_before);
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
TEST(test_an_acknowledgement_that_was_lost)
{
    const struct head own = {.place = 1, .store_id = {1}, .term = 7};
    struct world world;

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

/*
 * A restored store takes over, and hearsayd goes away before the hub's acknowledgement comes. The
 * head that the bridge then finds is the store's own: a write that expects the one of before would
 * be refused again and again.
 */
TEST(test_a_taking_over_whose_acknowledgement_was_lost)
{
    const struct head before = {
        .place = 100, .store_id = {2}, .term = 8, .as_of_ms = 500, .profile = "v2:512/4"};
    const struct head own = {.place = 101, .store_id = {1}, .term = 9, .as_of_ms = 1000};
    struct world world;

    restore(&world, &before, &(struct cursor){.store_id = {2}, .term = 7, .head = 100});
    world.claim.keeper.done(&world.claim, HEAD_FOUND, &before);
    assert_int_equal(hub.expected_place, 100);
    claim_end(&world.claim);
    claim_begin(&world.claim, "v2:512/4", false, true, &nobody_before);
    world.claim.keeper.done(&world.claim, HEAD_FOUND, &own);
    assert_int_equal(hub.expected_place, 101);
    world.claim.keeper.done(&world.claim, HEAD_ACCEPTED, &(struct head){.place = 102});
    assert_int_equal(world.claim.state, CLAIM_OWNER);
    end(&world);
}

/*
 * The store that was here before is silent for sure if the head is its last one. A head of another
 * store may stand at the same place of a hub that was restored from a backup: that store may live,
 * so the new one waits for an interval, which is half a minute, before it looks again.
 */
TEST(test_only_the_store_of_before_is_silent_for_sure)
{
    const struct head head = {
        .place = 100, .store_id = {2}, .term = 8, .as_of_ms = 500, .profile = "v2:512/4"};
    struct world world;

    for (unsigned is_other = 0; is_other < 2; is_other++) {
        restore(&world, &head,
                &(struct cursor){.store_id = {is_other ? 9 : 2}, .term = 7, .head = 100});
        (void)uv_run(&world.loop, UV_RUN_NOWAIT);
        assert_int_equal(hub.reads, is_other ? 1 : 2);
        end(&world);
    }
}

/* A store is silent if its head is the same one after an interval, wherever it stands. */
TEST(test_who_is_silent)
{
    static const struct {
        struct head found;
        bool is_silent;
    } cases[] = {
        {{.place = 100, .store_id = {2}, .as_of_ms = 500}, true},
        {{.place = 40, .store_id = {2}, .as_of_ms = 500}, true},   /* another server's number */
        {{.place = 101, .store_id = {2}, .as_of_ms = 600}, false}, /* a new head */
        {{.place = 100, .store_id = {2}, .as_of_ms = 600}, false}, /* and the number given again */
        {{.place = 100, .store_id = {3}, .as_of_ms = 600}, false}, /* a third store's */
        {{.place = 101, .store_id = {3}, .as_of_ms = 500}, false},
    };
    const struct head head = {
        .place = 100, .store_id = {2}, .term = 8, .as_of_ms = 500, .profile = "v2:512/4"};
    struct world world;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        restore(&world, &head, &nobody_before);
        world.claim.keeper.done(&world.claim, HEAD_FOUND, &cases[i].found);
        assert_int_equal(hub.writes, cases[i].is_silent ? 1 : 0);
        assert_int_equal(world.claim.state, cases[i].is_silent ? CLAIM_LOOKING : CLAIM_WAITING);
        end(&world);
    }
}

/*
 * A machine with a copy of the data directory writes heads as the same store. Its heads have times
 * at which this bridge has written none, unlike a head of its own whose acknowledgement was lost.
 */
TEST(test_a_copy_of_the_store_is_told)
{
    const struct head own = {.place = 102, .store_id = {1}, .term = 7, .as_of_ms = 2000};
    const struct head copys = {.place = 104, .store_id = {1}, .term = 7, .as_of_ms = 2500};
    struct world world;
    struct claim *claim = &world.claim;

    lose_the_head_at(&world, 100);
    claim->keeper.done(claim, HEAD_ACCEPTED, &(struct head){.place = 101});
    clock_ms = 2000;
    write_next_head(&world);
    claim->keeper.done(claim, HEAD_FAILED, &(struct head){.error = "no answer"});
    clock_ms = 2300;
    write_next_head(&world);
    claim->keeper.done(claim, HEAD_REFUSED, &own);
    claim->keeper.done(claim, HEAD_FOUND, &own);
    claim->keeper.done(claim, HEAD_ACCEPTED, &(struct head){.place = 103});
    assert_string_equal(claim->error, "");
    clock_ms = 3000;
    for (unsigned i = 0; i < 2; i++) { /* the second time the copy is silent */
        write_next_head(&world);
        if (i == 0) {
            claim->keeper.done(claim, HEAD_REFUSED, &copys);
            claim->keeper.done(claim, HEAD_FOUND, &copys);
        }
        claim->keeper.done(claim, HEAD_ACCEPTED, &(struct head){.place = 105 + i});
        assert_int_equal(claim->state, CLAIM_OWNER);
        assert_int_equal(strstr(claim->error, "another machine publishes as this store") != NULL,
                         i == 0);
    }
    end(&world);
    clock_ms = 1000;
}
