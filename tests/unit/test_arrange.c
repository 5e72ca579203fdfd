/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When messages are arranged anew, and what happens to them meanwhile: with a clock that the test
 * sets, and a worker that works when the test says so.
 */
#include "daemon/host/arrange.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/plain_query.h"
#include "tests/lib/profile_of.h"
#include "tests/reference/check.h"

enum { BITS = 64, HOSTS = 2, SECOND_MS = 1000, MANY = 6000 };

/* Does nothing by itself. */
struct hand_worker {
    struct worker worker;
    struct long_work *work; /* waits; or NULL */
    unsigned submitted;
};

struct fixture {
    struct arrange arrange;
    struct hand_worker worker;
    struct fail_alloc alloc;
    struct config_host config;
    struct host hosts[HOSTS];
    uint32_t working;
    int64_t now_ms;
};

/* --- fixture ---------------------------------------------------------------------------------- */

static void keep_work(struct worker *worker, struct long_work *work)
{
    struct hand_worker *hand = (struct hand_worker *)worker;

    assert_null(hand->work);
    hand->work = work;
    hand->submitted++;
}

static void do_work(struct fixture *fixture)
{
    struct long_work *work = fixture->worker.work;

    assert_non_null(work);
    assert_int_equal(fixture->working, 1);
    work->run(work);
    fixture->worker.work = NULL;
    work->done(work);
}

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof(fixture));
    fail_alloc_init(&fixture.alloc);
    fixture.config = (struct config_host){.name = "default", .profile = profile_of("v2:64/2")};
    for (uint32_t h = 0; h < HOSTS; h++) {
        assert_int_equal(host_init(&fixture.hosts[h], &fixture.config, h + 1, &fixture.alloc.alloc,
                                   bits_select(BITS_SCALAR), 7),
                         0);
    }
    fixture.worker.worker.submit = keep_work;
    fixture.now_ms = 5000;
    arrange_init(&fixture.arrange, &fixture.worker.worker, &fixture.working);
    assert_false(arrange_tick(&fixture.arrange, fixture.hosts, HOSTS, fixture.now_ms));
    fixture.now_ms += 3600 * SECOND_MS; /* the worker has rested */
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    arrange_stop(&fixture->arrange);
    while (fixture->worker.work != NULL) {
        do_work(fixture);
    }
    assert_int_equal(fixture->working, 0);
    assert_int_equal(fixture->arrange.phase, ARRANGE_IDLE);
    for (uint32_t h = 0; h < HOSTS; h++) {
        assert_null(check_index(fixture->hosts[h].epochs[0]->index));
        assert_int_equal(fixture->hosts[h].epochs[0]->users, 0);
        host_deinit(&fixture->hosts[h]);
    }
    assert_int_equal(fixture->alloc.live_blocks, 0);
    return 0;
}

static struct index *index_of(struct fixture *fixture, uint32_t host)
{
    return fixture->hosts[host].epochs[0]->index;
}

static void make_id(uint32_t number, uint8_t *out_id)
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    memcpy(out_id, &number, sizeof(number));
}

/* One of 50 places, told apart by some bits each, and a bit or two of its own. */
static uint64_t filter_of(uint32_t number)
{
    uint64_t filter = UINT64_C(0x1f) << number % 50;

    return filter | UINT64_C(1) << number / 50 % 64;
}

static int admit(struct fixture *fixture, uint32_t host, uint32_t number)
{
    uint64_t filter = filter_of(number);
    uint8_t stored[BITS / 8];
    struct persist_message message = {
        .host = host + 1,
        .filter = stored,
        .filter_bytes = sizeof(stored),
        .deposited_ms = number,
        .expires_ms = INT64_MAX,
        .reach_ppm = DISTANCE_ONE_PPM - number % 100000, /* a slot of its own */
    };

    bloom_store(&filter, BITS, stored);
    make_id(number, message.id);
    return host_admit(&fixture->hosts[host], &message);
}

static void admit_many(struct fixture *fixture, uint32_t host, uint32_t first, uint32_t count)
{
    for (uint32_t number = first; number < first + count; number++) {
        assert_int_equal(admit(fixture, host, number), 0);
    }
}

static void remove_one(struct fixture *fixture, uint32_t host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];

    make_id(number, id);
    assert_int_equal(host_remove(&fixture->hosts[host], id, NULL), 0);
}

static bool holds(struct fixture *fixture, uint32_t host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t filter;

    make_id(number, id);
    return index_find(index_of(fixture, host), id, NULL, &filter) == 0 &&
           filter == filter_of(number);
}

static bool tick(struct fixture *fixture)
{
    fixture->now_ms += SECOND_MS;
    return arrange_tick(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
}

/* Nothing came since the last tick. */
static bool quiet_tick(struct fixture *fixture)
{
    (void)arrange_tick(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    return tick(fixture);
}

static void turn_while_busy(struct fixture *fixture)
{
    unsigned turns = 0;

    while (arrange_turn(&fixture->arrange, fixture->now_ms) ||
           fixture->arrange.phase == ARRANGE_TAKING) {
        assert_in_range(++turns, 1, 100000);
        if (fixture->arrange.phase == ARRANGE_TAKING) {
            do_work(fixture);
        }
    }
}

/* From its beginning to its end; the worker takes so long. */
static void go_through(struct fixture *fixture, int64_t took_ms)
{
    assert_int_equal(fixture->arrange.phase, ARRANGE_COPYING);
    turn_while_busy(fixture);
    assert_int_equal(fixture->arrange.phase, ARRANGE_ARRANGING);
    fixture->now_ms += took_ms;
    do_work(fixture);
    assert_int_equal(fixture->arrange.phase, ARRANGE_FOLLOWING);
    turn_while_busy(fixture);
    assert_int_equal(fixture->arrange.phase, ARRANGE_FREEING);
    do_work(fixture);
    assert_int_equal(fixture->arrange.phase, ARRANGE_IDLE);
}

static size_t unarranged(struct fixture *fixture, uint32_t host)
{
    struct index_wear wear;

    index_wear(index_of(fixture, host), &wear);
    return wear.unarranged;
}

/* --- when ------------------------------------------------------------------------------------- */

/* Few messages are one node, which is compared in order anyway. */
TEST_OF(few_messages_are_left_alone, struct fixture *fixture, setup, teardown)
{
    assert_false(quiet_tick(fixture));
    admit_many(fixture, 0, 0, 4096);
    assert_false(tick(fixture));
    assert_false(quiet_tick(fixture));
    admit_many(fixture, 0, 4096, 1);
    assert_true(quiet_tick(fixture));
    go_through(fixture, 10);
}

/* Without queries a quarter of all has to be new, however fast it came. */
TEST_OF(a_quarter_is_worth_it, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, 40000);
    assert_true(tick(fixture));
    go_through(fixture, 500);
    assert_int_equal(unarranged(fixture, 0), 0);
    assert_int_equal(fixture->arrange.figures.last_ms, 500);

    admit_many(fixture, 0, 40000, 13000);
    assert_false(tick(fixture));
    fixture->now_ms += 3600 * SECOND_MS;
    assert_false(quiet_tick(fixture)); /* waiting does not make it due */
    admit_many(fixture, 0, 53000, 400);
    assert_true(tick(fixture));
    go_through(fixture, 0);
    assert_int_equal(fixture->arrange.figures.done, 2);
}

static void search(struct fixture *fixture, uint32_t host, uint32_t wanted)
{
    const uint64_t filter = filter_of(wanted);
    const struct index_part part = {.index = index_of(fixture, host), .filter = &filter};
    const struct index_query query = plain_index_query(&part, 1, 5);
    struct index_search *search = NULL;

    assert_int_equal(index_search_new(&fixture->alloc.alloc, &query, &search), 0);
    while (index_search_step(search, 100000, 0) == INDEX_MORE) {
    }
    index_search_free(search);
}

/* What queries compare more than after the last rebuild pays for the next one. */
TEST_OF(queries_make_it_due, struct fixture *fixture, setup, teardown)
{
    uint32_t searches = 0;

    admit_many(fixture, 0, 0, 5000);
    assert_true(tick(fixture));
    go_through(fixture, 0);
    for (uint32_t i = 0; i < WORTH_OBSERVED; i++) {
        search(fixture, 0, i);
    }
    assert_false(tick(fixture));
    admit_many(fixture, 0, 5000, 1500);
    while (!tick(fixture)) {
        for (uint32_t i = 0; i < 100; i++) {
            search(fixture, 0, searches++);
        }
        assert_in_range(searches, 0, 200000);
    }
    assert_in_range(searches, 500, 200000);
    go_through(fixture, 0);
    for (uint32_t i = 0; i < 3000; i++) { /* nothing is new: no queries are worth a rebuild */
        search(fixture, 0, i);
    }
    assert_false(tick(fixture));
}

/* Where messages went, those that are left are arranged, too. */
TEST_OF(removals_count, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, 16000);
    assert_true(tick(fixture));
    go_through(fixture, 0);
    for (uint32_t number = 0; number < 5300; number++) {
        remove_one(fixture, 0, number * 2);
    }
    assert_false(quiet_tick(fixture)); /* they weigh a half */
    for (uint32_t number = 5300; number < 5400; number++) {
        remove_one(fixture, 0, number * 2);
    }
    assert_true(quiet_tick(fixture));
    go_through(fixture, 0);
    assert_int_equal(index_count(index_of(fixture, 0)), 10600);
}

/* One at a time: the one first that has the most to be arranged. */
TEST_OF(hosts_take_turns, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, 5000);
    admit_many(fixture, 1, 0, 6000);
    assert_true(tick(fixture));
    turn_while_busy(fixture);
    assert_false(tick(fixture));
    do_work(fixture);
    assert_true(tick(fixture)); /* what is left of the same one */
    turn_while_busy(fixture);
    assert_int_equal(unarranged(fixture, 0), 5000);
    assert_int_equal(unarranged(fixture, 1), 0);
    assert_false(quiet_tick(fixture)); /* the worker still frees */
    do_work(fixture);
    fixture->now_ms += 3600 * SECOND_MS;
    assert_true(quiet_tick(fixture));
    go_through(fixture, 0);
    assert_int_equal(unarranged(fixture, 0), 0);
}

TEST_OF(without_a_worker_nothing_happens, struct fixture *fixture, setup, teardown)
{
    arrange_init(&fixture->arrange, NULL, &fixture->working);
    admit_many(fixture, 0, 0, MANY);
    assert_false(quiet_tick(fixture));
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    assert_int_equal(fixture->arrange.phase, ARRANGE_IDLE);
    arrange_loaded(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    assert_false(arrange_is_active(&fixture->arrange));
}

/* --- loaded at the start ---------------------------------------------------------------------- */

/* Whether message `one` is a better answer than `other`: nearer, or as near and newer. */
static bool is_better(uint64_t query, uint32_t one, uint32_t other)
{
    const uint64_t filters[] = {filter_of(one), filter_of(other)};
    uint32_t shared[2];
    uint32_t either[2];

    for (size_t i = 0; i < 2; i++) {
        shared[i] = bloom_intersection_count(&query, &filters[i], 1);
        either[i] = bloom_union_count(&query, &filters[i], 1);
    }
    const uint32_t left = shared[0] * either[1];
    const uint32_t right = shared[1] * either[0];
    return left != right ? left > right : one > other;
}

/* The nearest messages to some filters are those that a plain list of all would give. */
static void check_answers(struct fixture *fixture, uint32_t host, uint32_t count, uint32_t wanted)
{
    enum { K = 5 };
    const uint64_t filter = filter_of(wanted);
    const struct index_part part = {.index = index_of(fixture, host), .filter = &filter};
    const struct index_query query = plain_index_query(&part, 1, K);
    struct index_search *search = NULL;
    uint32_t best[K];
    uint32_t found = 0;
    uint32_t held = 0;

    for (uint32_t number = 0; number < count; number++) {
        uint32_t place = held;

        while (place > 0 && is_better(filter, number, best[place - 1])) {
            place--;
        }
        if (place < K) {
            held += held < K;
            memmove(&best[place + 1], &best[place], (held - place - 1) * sizeof(best[0]));
            best[place] = number;
        }
    }
    assert_int_equal(index_search_new(&fixture->alloc.alloc, &query, &search), 0);
    while (index_search_step(search, 1000, 0) == INDEX_MORE) {
    }
    const struct nearest_candidate *results = index_search_results(search, &found);
    assert_int_equal(found, held);
    assert_true(index_search_is_exact(search));
    for (uint32_t i = 0; i < found; i++) {
        assert_int_equal(results[i].item.deposited_ms, best[i]);
    }
    index_search_free(search);
}

/*
 * What a start loads is arranged from the first turn on, one index after another, the largest
 * first, however few messages there are; before that turn nothing is. Answers
 * are exact at every moment.
 */
TEST_OF(loaded_messages_are_arranged, struct fixture *fixture, setup, teardown)
{
    enum { FEW = 300 };
    unsigned turns = 0;

    arrange_init(&fixture->arrange, &fixture->worker.worker, &fixture->working);
    admit_many(fixture, 0, 0, FEW);
    admit_many(fixture, 1, 0, MANY);
    arrange_loaded(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    assert_int_equal(unarranged(fixture, 0), FEW);
    assert_int_equal(unarranged(fixture, 1), MANY);
    assert_int_equal(index_height(index_of(fixture, 1)), 3);
    assert_null(fixture->worker.work);
    while (arrange_is_active(&fixture->arrange)) {
        check_answers(fixture, 0, FEW, turns);
        check_answers(fixture, 1, MANY, turns);
        if (!arrange_turn(&fixture->arrange, fixture->now_ms) && fixture->worker.work != NULL) {
            do_work(fixture);
        }
        assert_int_equal(unarranged(fixture, 0), fixture->arrange.figures.done < 2 ? FEW : 0);
        assert_int_equal(unarranged(fixture, 1), fixture->arrange.figures.done < 1 ? MANY : 0);
        assert_in_range(++turns, 1, 1000);
    }
    check_answers(fixture, 0, FEW, turns);
    check_answers(fixture, 1, MANY, turns);
    assert_int_equal(fixture->arrange.figures.done, 2);
    assert_int_equal(fixture->worker.submitted, 4);
    admit_many(fixture, 0, FEW, FEW); /* from now on the usual rules hold */
    assert_false(quiet_tick(fixture));
    assert_int_equal(fixture->worker.submitted, 4);
}

/* Nothing was loaded: there is nothing to do. */
TEST_OF(nothing_loaded_is_nothing_to_do, struct fixture *fixture, setup, teardown)
{
    arrange_loaded(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    assert_false(arrange_is_active(&fixture->arrange));
}

/* Without memory for it the messages stay as they are, and a minute later it is tried again. */
TEST_OF(loading_may_fail, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, 100);
    arrange_loaded(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    fail_alloc_arm(&fixture->alloc, 1);
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    fail_alloc_arm(&fixture->alloc, 0);
    assert_int_equal(fixture->arrange.figures.failed, 1);
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    assert_int_equal(unarranged(fixture, 0), 100);
    assert_true(arrange_is_active(&fixture->arrange));
    fixture->now_ms += 61 * SECOND_MS;
    assert_true(quiet_tick(fixture));
    go_through(fixture, 0);
    assert_int_equal(unarranged(fixture, 0), 0);
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    assert_false(arrange_is_active(&fixture->arrange));
}

/* A daemon that stops meanwhile does not begin the next index. */
TEST_OF(stops_before_all_is_arranged, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, 100);
    admit_many(fixture, 1, 0, 200);
    arrange_loaded(&fixture->arrange, fixture->hosts, HOSTS, fixture->now_ms);
    assert_true(arrange_turn(&fixture->arrange, fixture->now_ms));
    turn_while_busy(fixture);
    arrange_stop(&fixture->arrange);
    do_work(fixture);
    do_work(fixture);
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    assert_false(quiet_tick(fixture));
    assert_false(arrange_is_active(&fixture->arrange));
    assert_int_equal(unarranged(fixture, 0), 100);
    assert_int_equal(unarranged(fixture, 1), 200);
}

/* --- meanwhile -------------------------------------------------------------------------------- */

/* A message comes, another one goes, and one comes back. */
static void change(struct fixture *fixture, uint32_t step)
{
    admit_many(fixture, 0, 10000 + step, 1);
    remove_one(fixture, 0, 2 * step);
    remove_one(fixture, 0, 2 * step + 1);
    admit_many(fixture, 0, 2 * step + 1, 1);
}

TEST_OF(changes_in_each_phase_are_kept, struct fixture *fixture, setup, teardown)
{
    uint32_t step = 0;

    admit_many(fixture, 0, 0, MANY);
    assert_true(tick(fixture));
    assert_int_not_equal(fixture->arrange.phase, ARRANGE_IDLE);
    assert_int_equal(fixture->hosts[0].epochs[0]->users, 1);
    for (change(fixture, step++); arrange_turn(&fixture->arrange, fixture->now_ms);) {
        change(fixture, step++);
    }
    for (uint32_t i = 0; i < 400; i++) {
        change(fixture, step++);
    }
    do_work(fixture);
    for (change(fixture, step++); arrange_turn(&fixture->arrange, fixture->now_ms);) {
        change(fixture, step++);
    }
    assert_int_equal(fixture->arrange.phase, ARRANGE_FREEING);
    assert_int_equal(fixture->hosts[0].epochs[0]->users, 0);
    change(fixture, step++);
    assert_true(step > 406);
    assert_null(check_index(index_of(fixture, 0)));
    assert_int_equal(index_count(index_of(fixture, 0)), MANY);
    for (uint32_t i = 0; i < step; i++) {
        assert_true(holds(fixture, 0, 10000 + i) && !holds(fixture, 0, 2 * i) &&
                    holds(fixture, 0, 2 * i + 1));
    }
    assert_in_range(unarranged(fixture, 0), 400, 2 * step);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Wherever it is: nothing of it is left but what the worker still has (see teardown). */
static void stop_at(struct fixture *fixture, enum arrange_phase phase)
{
    admit_many(fixture, 0, 0, MANY);
    assert_true(tick(fixture));
    if (phase != ARRANGE_COPYING) {
        turn_while_busy(fixture);
    }
    if (phase == ARRANGE_FOLLOWING || phase == ARRANGE_FREEING) {
        do_work(fixture);
    }
    if (phase == ARRANGE_FREEING) {
        turn_while_busy(fixture);
    }
    assert_int_equal(fixture->arrange.phase, phase);
    arrange_stop(&fixture->arrange);
    assert_int_equal(fixture->working, 1); /* it frees, at least */
    assert_false(arrange_turn(&fixture->arrange, fixture->now_ms));
    do_work(fixture);
    if (phase == ARRANGE_ARRANGING) {
        do_work(fixture);
    }
    assert_int_equal(fixture->working, 0);
    assert_int_equal(index_count(index_of(fixture, 0)), MANY);
    assert_int_equal(unarranged(fixture, 0), phase == ARRANGE_FREEING ? 0 : MANY);
    admit_many(fixture, 1, 0, MANY);
    assert_false(quiet_tick(fixture));
    assert_int_equal(fixture->arrange.figures.failed, 0);
}

TEST_WITH(stops_while_copying, setup, teardown)
{
    stop_at(*state, ARRANGE_COPYING);
}

TEST_WITH(stops_while_arranging, setup, teardown)
{
    stop_at(*state, ARRANGE_ARRANGING);
}

TEST_WITH(stops_while_following, setup, teardown)
{
    stop_at(*state, ARRANGE_FOLLOWING);
}

TEST_WITH(stops_while_freeing, setup, teardown)
{
    stop_at(*state, ARRANGE_FREEING);
}

/* --- failing ---------------------------------------------------------------------------------- */

/* Whichever allocation fails, messages are served on, and after a while it is tried again. */
TEST_OF(memory_may_fail, struct fixture *fixture, setup, teardown)
{
    bool failed = true;

    admit_many(fixture, 0, 0, 5000);
    for (uint32_t n = 1; failed; n++) {
        fail_alloc_arm(&fixture->alloc, n);
        (void)quiet_tick(fixture);
        turn_while_busy(fixture);
        while (fixture->worker.work != NULL) {
            do_work(fixture);
            turn_while_busy(fixture);
        }
        failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        assert_int_equal(fixture->arrange.phase, ARRANGE_IDLE);
        assert_null(check_index(index_of(fixture, 0)));
        assert_int_equal(index_count(index_of(fixture, 0)), 5000);
        assert_int_equal(fixture->hosts[0].epochs[0]->users, 0);
        assert_int_equal(fixture->arrange.figures.failed, failed ? n : n - 1);
        if (failed) {
            assert_int_equal(unarranged(fixture, 0), 5000);
            fixture->now_ms += 50 * SECOND_MS;
            assert_false(quiet_tick(fixture)); /* not so soon */
            fixture->now_ms += 3600 * SECOND_MS;
        }
    }
    assert_int_equal(unarranged(fixture, 0), 0);
    assert_int_equal(fixture->arrange.figures.done, 1);
    assert_true(fixture->arrange.figures.failed > 20);
}

/* So much comes and goes while the worker works that to bring it over would take too long. */
TEST_OF(too_much_may_change, struct fixture *fixture, setup, teardown)
{
    admit_many(fixture, 0, 0, MANY);
    assert_true(tick(fixture));
    turn_while_busy(fixture);
    for (uint32_t i = 0; i < 35000; i++) {
        admit_many(fixture, 0, MANY, 1);
        remove_one(fixture, 0, MANY);
    }
    do_work(fixture);
    turn_while_busy(fixture);
    do_work(fixture);
    assert_int_equal(fixture->arrange.figures.failed, 1);
    assert_int_equal(index_count(index_of(fixture, 0)), MANY);
    assert_true(tick(fixture)); /* a burst is over soon, and does not have to wait for a minute */
    go_through(fixture, 0);
    assert_int_equal(fixture->arrange.figures.done, 1);
}
