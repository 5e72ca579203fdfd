/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives way when something has run out: what counts, who is who, and which thing goes. */
#include "core/base/fair.h"

#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { THINGS = 32 };

/* Things that run out, in the order in which they came. */
struct list {
    struct fail_alloc alloc;
    struct fair_table table;
    struct thing {
        struct fair_holder *holder; /* NULL: nothing is here */
        unsigned rank;
        uint64_t age;
    } things[THINGS];
};

static void list_init(struct list *list)
{
    *list = (struct list){0};
    fail_alloc_init(&list->alloc);
}

static struct fair_key key_of(uint64_t number)
{
    return (struct fair_key){{1, number, ~number}};
}

/* Puts a thing of a sender at the first free place. `network` 0: it has none. */
static struct thing *list_add(struct list *list, uint64_t sender, uint64_t network)
{
    struct fair_key key = key_of(sender);
    struct fair_key wide = key_of(network);
    struct thing *thing = list->things;

    while (thing->holder != NULL) {
        thing++;
    }
    *thing = (struct thing){0};
    thing->holder = fair_enter(&list->table, &list->alloc.alloc, &key, network != 0 ? &wide : NULL);
    return thing;
}

static void list_drop(struct list *list, struct thing *thing)
{
    fair_leave(&list->table, &list->alloc.alloc, thing->holder);
    thing->holder = NULL;
}

static void list_end(struct list *list)
{
    for (int i = 0; i < THINGS; i++) {
        if (list->things[i].holder != NULL) {
            list_drop(list, &list->things[i]);
        }
    }
    assert_null(list->table.first);
    assert_int_equal(list->alloc.live_blocks, 0);
}

static int set_up(void **state)
{
    static struct list list;

    list_init(&list);
    *state = &list;
    return 0;
}

static int tear_down(void **state)
{
    list_end(*state);
    return 0;
}

#define LIST_TEST(name) TEST_OF(name, struct list *list, set_up, tear_down)

/* Returns the thing that gives way to `newcomer`, which is in the list. NULL: none. */
static struct thing *victim_of(struct list *list, const struct thing *newcomer)
{
    struct fair_choice choice = {.newcomer = fair_share(newcomer->holder)};

    for (struct thing *thing = list->things; thing < list->things + THINGS; thing++) {
        if (thing != newcomer && thing->holder != NULL) {
            fair_consider(&choice, &(struct fair_candidate){.thing = thing,
                                                            .share = fair_share(thing->holder),
                                                            .rank = thing->rank,
                                                            .age = thing->age});
        }
    }
    return choice.victim.thing;
}

/* --- counting --------------------------------------------------------------------------------- */

LIST_TEST(things_are_counted_by_sender_and_network)
{
    struct thing *first = list_add(list, 1, 9);
    struct thing *second = list_add(list, 1, 9);
    struct thing *other = list_add(list, 2, 9);
    struct thing *alone = list_add(list, 3, 0);

    assert_ptr_equal(first->holder, second->holder);
    assert_ptr_not_equal(first->holder, other->holder);
    assert_int_equal(fair_share(first->holder).held, 2);
    assert_int_equal(fair_share(first->holder).by_network, 3);
    assert_int_equal(fair_share(other->holder).held, 1);
    assert_int_equal(fair_share(other->holder).by_network, 3);
    assert_int_equal(fair_share(alone->holder).by_network, 1);
    list_drop(list, first);
    assert_int_equal(fair_share(second->holder).held, 1);
    assert_int_equal(fair_share(other->holder).by_network, 2);
}

/* A network and a sender may have the same name. Each word of a name counts. */
LIST_TEST(a_name_is_of_a_sender_or_of_a_network)
{
    struct fair_key keys[] = {{{1, 2, 3}}, {{4, 2, 3}}, {{1, 4, 3}}, {{1, 2, 4}}};
    struct fair_holder *holders[4];

    for (int i = 0; i < 4; i++) {
        holders[i] = fair_enter(&list->table, &list->alloc.alloc, &keys[i], &keys[0]);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fair_share(holders[i]).held, 1);
        assert_int_equal(fair_share(holders[i]).by_network, 4 - i);
        fair_leave(&list->table, &list->alloc.alloc, holders[i]);
    }
}

/* One device can have an IPv4 address and addresses of several networks. */
LIST_TEST(a_sender_stays_in_its_network)
{
    struct thing *thing = list_add(list, 1, 8);
    (void)list_add(list, 1, 9);
    (void)list_add(list, 1, 0);
    assert_int_equal(fair_share(thing->holder).held, 3);
    assert_int_equal(fair_share(thing->holder).by_network, 3);
}

LIST_TEST(nobody_is_counted_without_memory)
{
    struct fair_key sender = key_of(1);
    struct fair_key network = key_of(9);

    for (size_t n = 1; n <= 2; n++) {
        fail_alloc_arm(&list->alloc, n);
        assert_null(fair_enter(&list->table, &list->alloc.alloc, &sender, &network));
        assert_null(list->table.first);
    }
    fail_alloc_arm(&list->alloc, 0);
    fair_leave(&list->table, &list->alloc.alloc, NULL);
    assert_int_equal(fair_share(NULL).held, 0);
}

/* --- the victim ------------------------------------------------------------------------------- */

LIST_TEST(an_empty_list_has_no_victim)
{
    assert_null(victim_of(list, list_add(list, 1, 9)));
}

LIST_TEST(who_has_most_gives_way_whatever_it_does)
{
    struct thing *idle = list_add(list, 1, 0);
    struct thing *old = list_add(list, 2, 0);
    struct thing *most = list_add(list, 2, 0);
    idle->rank = 5;
    idle->age = 1000;
    old->age = 7;
    most->age = 8;
    assert_ptr_equal(victim_of(list, list_add(list, 3, 0)), most);
}

LIST_TEST(who_alone_has_everything_loses_its_own)
{
    for (uint64_t i = 0; i < THINGS - 1; i++) {
        list_add(list, 1, 9)->age = i;
    }
    assert_ptr_equal(victim_of(list, list_add(list, 1, 9)), &list->things[THINGS - 2]);
}

/* A sender with two that wants a third gets none of one that has two. */
LIST_TEST(nobody_gives_way_to_who_would_have_more)
{
    struct thing *own = list_add(list, 1, 0);
    (void)list_add(list, 1, 0);
    for (uint64_t sender = 2; sender < 8; sender++) {
        list_add(list, sender, 0)->rank = 9;
        list_add(list, sender, 0)->rank = 9;
    }
    own->age = 1;
    struct thing *newcomer = list_add(list, 1, 0);
    assert_ptr_equal(victim_of(list, newcomer), own);

    /* And if its own may not be dropped, it gets no place. */
    struct fair_choice choice = {.newcomer = fair_share(newcomer->holder)};
    for (int i = 3; i < 14; i++) {
        fair_consider(&choice,
                      &(struct fair_candidate){.thing = &list->things[i],
                                               .share = fair_share(list->things[i].holder)});
    }
    assert_null(choice.victim.thing);
}

/* At equal shares a sender changes its own things, not those of others. */
LIST_TEST(own_things_go_first_among_equals)
{
    struct thing *own = list_add(list, 1, 0);
    list_add(list, 2, 0)->rank = 9;
    list_add(list, 2, 0)->rank = 9;
    assert_ptr_equal(victim_of(list, list_add(list, 1, 0)), own);
}

LIST_TEST(a_first_thing_always_finds_a_victim)
{
    for (uint64_t sender = 1; sender < THINGS; sender++) {
        struct thing *thing = list_add(list, sender, 0);
        thing->rank = sender == 8 || sender == 20;
        thing->age = 100 - sender;
    }
    assert_ptr_equal(victim_of(list, list_add(list, 99, 0)), &list->things[7]);
}

/* One device takes an address of its /64 for each thing. */
LIST_TEST(a_network_of_many_senders_gives_way)
{
    struct thing *honest = list_add(list, 1, 0);
    honest->rank = 9;
    for (uint64_t sender = 2; sender < THINGS - 1; sender++) {
        (void)list_add(list, sender, 9);
    }
    struct thing *newcomer = list_add(list, 50, 0);
    assert_ptr_equal(victim_of(list, newcomer), &list->things[1]);
    list_drop(list, newcomer);
    /* Also to a newcomer of the same network, and never does who has less. */
    assert_ptr_equal(victim_of(list, list_add(list, 51, 9)), &list->things[1]);
}

LIST_TEST(equal_candidates_go_in_their_order)
{
    struct thing *first = list_add(list, 1, 0);
    struct thing *second = list_add(list, 2, 0);
    struct thing *newcomer = list_add(list, 3, 0);
    assert_ptr_equal(victim_of(list, newcomer), first);
    second->age = 1;
    assert_ptr_equal(victim_of(list, newcomer), second);
    first->rank = 1;
    assert_ptr_equal(victim_of(list, newcomer), first);
}

/* Holders that are not known have nothing. They do not give way, and are not one another's. */
LIST_TEST(an_unknown_holder_keeps_its_place)
{
    int thing = 0;

    struct fair_choice choice = {.newcomer = fair_share(list_add(list, 1, 0)->holder)};
    fair_consider(&choice, &(struct fair_candidate){.thing = &thing});
    assert_null(choice.victim.thing);
}

/* --- what follows ----------------------------------------------------------------------------- */

/*
 * Senders come and go at random, one of them takes all that it can get, and the list stays full.
 * Nobody is ever turned away, and whoever wants its share gets it and keeps it.
 */
LIST_TEST(one_who_takes_all_gets_a_share)
{
    enum { HOSTILE = 99, HONEST = 7 };
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < THINGS - 1; i++) {
        (void)list_add(list, HOSTILE, 0);
    }
    for (int round = 0; round < 2000; round++) {
        uint64_t sender = rng_chance(&rng, 50) ? HOSTILE : rng_below(&rng, HONEST);
        struct thing *newcomer = list_add(list, sender, 0);
        struct thing *victim = victim_of(list, newcomer);

        assert_non_null(victim);
        struct fair_share theirs = fair_share(victim->holder);
        struct fair_share ours = fair_share(newcomer->holder);
        assert_true(theirs.holder == ours.holder || theirs.held >= ours.held);
        if (round > 1000) { /* by then the shares have settled */
            assert_true(theirs.held <= (THINGS + HONEST) / (HONEST + 1) + 1);
        }
        list_drop(list, victim);
    }
}
