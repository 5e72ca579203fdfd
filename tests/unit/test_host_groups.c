/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of a host's messages: made in slices while messages come and go, they cover each
 * message; they are made anew when half has gone, and without memory later.
 */
#include "core/base/err.h"
#include "core/summary/groups.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"
#include "tests/lib/rng.h"

enum { WORDS = HANDLER_FILTER_BYTES / 8, LIMIT = 8, SLICE = 256, LONG_MS = 1000000 };

static struct handler_fixture *fixture;
static struct host *host;
static struct rng rng;
static uint32_t last; /* number of the message that came last */

static void begin_with(const char *limit)
{
    fixture = handler_fixture_new();
    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "summary_groups", limit);
    handler_fixture_start(fixture);
    host = &fixture->service->hosts[0];
    last = 0;
}

static int setup(void **state)
{
    (void)state;
    begin_with("8");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    handler_fixture_free(fixture);
    return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

static void make_id(uint32_t number, uint8_t *out_id)
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    memcpy(out_id, &number, sizeof(number));
}

/* Adds messages, as after a deposit. */
static void add(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t filter[HANDLER_FILTER_BYTES] = {0};

        last++;
        struct persist_message message = {.filter = filter,
                                          .filter_bytes = sizeof(filter),
                                          .deposited_ms = last,
                                          .expires_ms = last + LONG_MS,
                                          .reach_ppm = LIMIT_DISTANCE_PPM};

        make_id(last, message.id);
        for (int bit = 0; bit < 12; bit++) {
            const uint64_t at = rng_below(&rng, 8 * HANDLER_FILTER_BYTES);
            filter[at / 8] |= (uint8_t)(1U << at % 8);
        }
        assert_int_equal(host_admit(host, &message), 0);
    }
}

/* Takes away the messages from `first` to `end`, without the latter. */
static void take(uint32_t first, uint32_t end)
{
    for (uint32_t number = first; number < end; number++) {
        uint8_t id[MESSAGE_ID_BYTES];

        make_id(number, id);
        assert_int_equal(host_remove(host, id, NULL), 0);
    }
}

/* Whether the groups cover the messages from `first` to `end`, and each has a newest time that is
 * right. */
static void expect_cover(uint32_t first, uint32_t end)
{
    const struct groups *groups = host_groups_now(host);

    assert_non_null(groups);
    assert_in_range(groups->count, 1, groups->limit);
    for (uint32_t number = first; number < end; number++) {
        uint64_t filter[WORDS];
        struct index_item item;
        uint8_t id[MESSAGE_ID_BYTES];
        bool is_covered = false;

        make_id(number, id);
        assert_int_equal(host_find(host, id, NULL, &item, filter), 0);
        for (uint32_t i = 0; i < groups->count; i++) {
            is_covered =
                is_covered || (groups_cover(&groups->list[i], 1, &host->config.profile, filter) &&
                               groups->list[i].newest_ms >= item.deposited_ms);
        }
        assert_true(is_covered);
    }
}

/* How many turns it takes until there is nothing to do. */
static unsigned finish(void)
{
    unsigned turns = 1;

    for (; host_groups_turn(fixture->service); turns++) {
        assert_true(turns < 1000);
    }
    return turns;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Nobody has groups who was not asked for them. */
TEST_WITH(groups_are_made_when_asked_for, setup, teardown)
{
    add(3 * SLICE + 1);
    assert_false(host_groups_turn(fixture->service));
    assert_null(host_groups_now(host));
    assert_int_equal(host_groups_want(host), HOST_GROUPS_LATER);
    assert_null(host_groups_now(host));
    assert_in_range(finish(), 4, 6); /* 256 messages a turn */
    assert_int_equal(host_groups_want(host), 0);
    expect_cover(1, last + 1);
    assert_int_equal(host_groups_now(host)->came, 3 * SLICE + 1);
    assert_false(host_groups_turn(fixture->service));
    add(10);
    expect_cover(1, last + 1);
}

/* What comes and goes while the groups are made is in them, or may be. */
TEST_WITH(messages_come_and_go_meanwhile, setup, teardown)
{
    uint32_t first = 1;

    add(2 * SLICE);
    assert_int_equal(host_groups_want(host), HOST_GROUPS_LATER);
    while (host_groups_turn(fixture->service)) {
        add(5);
        take(first, first + 3);
        first += 3;
        assert_true(last < 10000);
    }
    expect_cover(first, last + 1);
}

/* When half of the messages have gone, the groups are made anew, of those that are left. */
TEST_WITH(stale_groups_are_made_anew, setup, teardown)
{
    add(100);
    (void)host_groups_want(host);
    (void)finish();
    take(1, 50);
    assert_int_equal(finish(), 1);
    assert_int_equal(host_groups_now(host)->came, 100);
    take(50, 51);
    (void)finish();
    assert_int_equal(host_groups_now(host)->came, 50);
    assert_int_equal(host_groups_now(host)->gone, 0);
    expect_cover(51, last + 1);
}

/* The clock is corrected: the times of groups go on with those of the messages. */
TEST_WITH(times_are_moved, setup, teardown)
{
    add(2 * SLICE);
    (void)host_groups_want(host);
    assert_true(host_groups_turn(fixture->service));
    host_shift(host, 2 * SLICE, 0, LONG_MS); /* while they are made */
    (void)finish();
    expect_cover(1, last + 1);
    host_shift(host, 2 * SLICE, 0, LONG_MS);
    expect_cover(1, last + 1);
}

/* Another number of groups: they are made anew. 0: they stay as they are, and nobody is told. */
TEST_WITH(the_number_may_change, setup, teardown)
{
    add(50);
    (void)host_groups_want(host);
    (void)finish();
    assert_int_equal(host_groups_now(host)->limit, LIMIT);
    host->config.summary_groups = 3;
    assert_int_equal(host_groups_want(host), HOST_GROUPS_LATER);
    (void)finish();
    assert_int_equal(host_groups_now(host)->limit, 3);
    expect_cover(1, last + 1);
    host->config.summary_groups = 0;
    take(1, 40);
    assert_false(host_groups_turn(fixture->service));
}

/* Each allocation fails once: a later turn tries again, and nothing is lost. */
TEST_WITH(memory_that_runs_out, setup, teardown)
{
    add(SLICE + 10);
    fail_alloc_arm(&fixture->alloc, 1);
    assert_int_equal(host_groups_want(host), -ERR_NOMEM);
    fail_alloc_arm(&fixture->alloc, 0);
    assert_int_equal(host_groups_want(host), HOST_GROUPS_LATER);
    for (size_t n = 1;; n++) {
        const size_t before = fixture->alloc.live_blocks;

        fail_alloc_arm(&fixture->alloc, n);
        const bool is_making = host_groups_turn(fixture->service);
        const bool failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        if (!failed) {
            assert_true(is_making);
            break;
        }
        assert_false(is_making);
        assert_int_equal(fixture->alloc.live_blocks, before);
    }
    (void)finish();
    expect_cover(1, last + 1);
}

int main(void)
{
    rng_init(&rng);
    return check_run(NULL, NULL);
}
