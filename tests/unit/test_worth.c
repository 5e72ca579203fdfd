/* SPDX-License-Identifier: Apache-2.0 */
/* When a rebuild is worth its work, by made-up counters. */
#include "core/index/worth.h"

#include "tests/lib/check.h"

enum { MANY = 100000 };

struct fixture {
    struct worth worth;
    struct worth_counts counts;
};

static void set_up(struct fixture *fixture, size_t messages, size_t worn)
{
    *fixture = (struct fixture){.counts = {.messages = messages, .worn = worn}};
}

static void come(struct fixture *fixture, size_t messages)
{
    fixture->counts.messages += messages;
    fixture->counts.worn += messages;
}

/* Searches that compare all worn messages and a share of the arranged ones. */
static void ask(struct fixture *fixture, uint64_t searches, uint64_t arranged_percent)
{
    struct worth_counts *counts = &fixture->counts;
    uint64_t arranged = counts->messages - counts->worn;

    counts->searches += searches;
    counts->comparisons += searches * (counts->worn + arranged * arranged_percent / 100);
}

static bool look(struct fixture *fixture)
{
    worth_look(&fixture->worth, &fixture->counts);
    return worth_is_due(&fixture->worth, &fixture->counts);
}

static void rebuild(struct fixture *fixture)
{
    struct worth_counts begun = fixture->counts;

    fixture->counts.worn = 0;
    worth_rebuilt(&fixture->worth, &begun, &fixture->counts);
}

/* The same, while `messages` came. */
static void rebuild_meanwhile(struct fixture *fixture, size_t messages)
{
    struct worth_counts begun = fixture->counts;

    fixture->counts.worn = 0;
    come(fixture, messages);
    worth_rebuilt(&fixture->worth, &begun, &fixture->counts);
}

/* The first rebuild begins at once, except where one node has all messages. */
TEST(the_first_one_is_due_at_once)
{
    struct fixture fixture;

    set_up(&fixture, WORTH_MESSAGES_LEAST, WORTH_MESSAGES_LEAST);
    assert_false(look(&fixture));
    come(&fixture, 1);
    assert_true(look(&fixture));
    rebuild(&fixture);
    assert_false(look(&fixture));
}

/* Without queries a quarter of all messages has to be worn. */
TEST(worn_messages_count)
{
    struct fixture fixture;

    set_up(&fixture, MANY, 0);
    come(&fixture, MANY / 3 - 2);
    assert_false(look(&fixture));
    assert_false(look(&fixture)); /* waiting does not make it due */
    come(&fixture, 3);
    assert_true(look(&fixture));
}

/* Queries pay for a rebuild: 1,000 worn messages among 100,000 after 200,000 queries. */
TEST(queries_count)
{
    struct fixture fixture;
    uint64_t asked = 0;

    set_up(&fixture, MANY, 0);
    ask(&fixture, WORTH_OBSERVED, 5);
    assert_false(look(&fixture));
    come(&fixture, 1000);
    while (!look(&fixture)) {
        ask(&fixture, 1000, 5);
        asked += 1000;
        assert_in_range(asked, 0, 1000000);
    }
    assert_in_range(asked, 190000, 210000);
}

/* However expensive queries are: they force no rebuild of an index in which nothing changes. */
TEST(queries_alone_force_nothing)
{
    struct fixture fixture;

    set_up(&fixture, MANY, 0);
    ask(&fixture, WORTH_OBSERVED, 5);
    assert_false(look(&fixture));
    for (uint32_t i = 0; i < 1000; i++) {
        ask(&fixture, 100000, 100);
        assert_false(look(&fixture));
    }
}

/*
 * Whatever clients do, the messages that are arranged are bounded by what they did: a peer that
 * deposits, removes and asks as it likes forces no rebuilds without end.
 */
TEST(the_work_is_bounded)
{
    struct fixture fixture;
    uint64_t arranged = 0;
    uint64_t changes = 0;
    uint64_t compared = 0;

    set_up(&fixture, 2 * WORTH_MESSAGES_LEAST, 0);
    for (uint32_t i = 0; i < 100000; i++) {
        fixture.counts.worn += i % 3; /* some come, as many go */
        changes += i % 3;
        ask(&fixture, i % 2, 100);
        compared += i % 2 * fixture.counts.worn;
        if (look(&fixture)) {
            arranged += fixture.counts.messages;
            changes += i % 700;
            rebuild_meanwhile(&fixture, i % 700);
        }
    }
    assert_true(arranged > 0);
    assert_in_range(arranged, 1, WORTH_SHARE * changes + compared / WORTH_COMPARISONS);
}

/* Where most arranged messages are compared anyway, a rebuild begins later, but it begins. */
TEST(little_use_is_worth_less)
{
    struct fixture fixture;

    set_up(&fixture, MANY, 0);
    ask(&fixture, WORTH_OBSERVED, 100);
    assert_false(look(&fixture));
    come(&fixture, MANY / 2);
    assert_false(look(&fixture));
    come(&fixture, MANY / 2);
    assert_true(look(&fixture));
    rebuild(&fixture); /* it helped: this is learnt */
    ask(&fixture, WORTH_OBSERVED, 10);
    assert_false(look(&fixture));
    come(&fixture, MANY);
    assert_true(look(&fixture));
}

/*
 * A burst is arranged to its end without a query: what came during a rebuild is arranged by one
 * more, which the burst has paid for. A few that came stay as they are.
 */
TEST(a_burst_is_arranged_to_its_end)
{
    struct fixture fixture;

    set_up(&fixture, 0, 0);
    come(&fixture, MANY * 17 / 20);
    assert_true(look(&fixture));
    rebuild_meanwhile(&fixture, MANY * 3 / 20);
    assert_true(look(&fixture));
    rebuild(&fixture);
    assert_false(look(&fixture));
    come(&fixture, MANY / 5); /* nothing is left of what was paid */
    assert_false(look(&fixture));

    set_up(&fixture, 0, 0);
    come(&fixture, MANY);
    assert_true(look(&fixture));
    rebuild_meanwhile(&fixture, MANY / WORTH_FEW - 1);
    assert_false(look(&fixture));
}

/*
 * Queries that compare much come first after a rebuild, and then others that compare little. The
 * worn messages cost the latter most of their time, which is seen.
 */
TEST(a_kind_of_queries_hides_no_other)
{
    struct fixture fixture;
    uint64_t asked = 0;

    set_up(&fixture, MANY, 0);
    ask(&fixture, WORTH_OBSERVED, 80);
    assert_false(look(&fixture));
    come(&fixture, MANY / 6);
    while (!look(&fixture)) {
        ask(&fixture, 1000, 10);
        asked += 1000;
        assert_in_range(asked, 0, 20000);
    }
    assert_in_range(asked, 2000, 20000);
}
