/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renewals of a tree against a list that knows nothing of them: messages come, go, and come again
 * with other content in every phase, renewals are dropped in every phase, and searches that began
 * before, meanwhile or after have the list's answer at the moment of their last step. The long part
 * runs in one go here, as on another thread.
 */
#include "core/filter/bloom.h"
#include "core/index/inner.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/model/some_metric.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { IDS = 6000, WORDS = 2, BITS = 128, SEARCHES = 4, PLACES = 40 };

enum phase { PHASE_NONE, PHASE_COPY, PHASE_ARRANGE, PHASE_FOLLOW, PHASE_COUNT };

struct under_way {
    struct index_search *search; /* NULL: none */
    struct index_query query;
    struct index_part part;
    uint64_t filter[WORDS];
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct index *list;
    struct index *tree;
    bool is_there[IDS];
    bool unlike; /* all messages have another reach */
    uint32_t count;
    uint32_t least; /* messages, about, between which the number goes up and down */
    uint32_t most;
    uint32_t fanout;
    bool grows;
    int64_t now_ms;
    struct renewal *renewal;
    enum phase phase;
    struct under_way searches[SEARCHES];
    uint32_t finished[PHASE_COUNT]; /* searches, by the phase in which they ended */
    uint32_t exchanged_under;       /* searches during an exchange */
    uint32_t renewed;
    uint32_t dropped[PHASE_COUNT];
    uint32_t changed[PHASE_COUNT]; /* messages */
    uint32_t since_begun;          /* the same, of the renewal under way */
};

static struct world world; /* too large for a stack */

static const struct profile profile = {
    .bits = BITS, .section_count = 1, .sections = {{.bits = BITS, .hashes = 2}}};

/* ---- messages ---- */

static void make_filter(uint64_t *out)
{
    struct rng *rng = &world.rng;
    uint32_t place = rng_below(rng, PLACES);

    memset(out, 0, WORDS * sizeof *out);
    for (uint32_t i = 0; i < 12; i++) {
        if (rng_chance(rng, 75)) {
            bloom_set(out, (place * 37 + i * (2 * place + 3)) % BITS);
        }
    }
    bloom_set(out, rng_below(rng, BITS));
}

static struct index_item make_item(uint32_t id)
{
    struct rng *rng = &world.rng;
    struct index_item item = {
        .deposited_ms = world.now_ms - rng_below(rng, 10),
        .expires_ms = rng_chance(rng, 80) ? INT64_MAX : world.now_ms + rng_below(rng, 3000),
        .reach_ppm = rng_chance(rng, 80) ? DISTANCE_ONE_PPM : rng_below(rng, DISTANCE_ONE_PPM),
        .bytes = rng_below(rng, 1000),
        .sender = rng_below(rng, 8),
    };

    if (world.unlike) {
        item.reach_ppm = id;
    }

    memcpy(item.id, &id, sizeof id);
    return item;
}

static void insert_id(uint32_t id)
{
    struct index_item item = make_item(id);
    uint64_t filter[WORDS];

    make_filter(filter);
    assert_int_equal(index_insert(world.list, &item, filter), 0);
    assert_int_equal(index_insert(world.tree, &item, filter), 0);
    world.is_there[id] = true;
    world.count++;
}

static void remove_id(uint32_t id)
{
    struct index_item item = make_item(id);

    assert_int_equal(index_remove(world.list, item.id, NULL), 0);
    assert_int_equal(index_remove(world.tree, item.id, NULL), 0);
    world.is_there[id] = false;
    world.count--;
}

static void change_some(void)
{
    struct rng *rng = &world.rng;

    world.grows = world.grows ? world.count < world.most : world.count <= world.least;
    for (uint32_t left = rng_below(rng, 8); left > 0; left--) {
        uint32_t id = rng_below(rng, world.most + world.most / 4);

        world.changed[world.phase]++;
        world.since_begun++;
        if (world.is_there[id] && rng_chance(rng, 30)) { /* other content under the same id */
            remove_id(id);
            insert_id(id);
        } else if (world.is_there[id] && rng_chance(rng, world.grows ? 20 : 80)) {
            remove_id(id);
        } else if (!world.is_there[id] && rng_chance(rng, world.grows ? 80 : 20)) {
            insert_id(id);
        }
    }
}

/* ---- searches ---- */

static void begin_search(struct under_way *it)
{
    struct rng *rng = &world.rng;

    make_filter(it->filter);
    it->part = (struct index_part){.index = world.tree, .filter = it->filter};
    it->query = (struct index_query){
        .parts = &it->part,
        .part_count = 1,
        .k = 1 + rng_below(rng, 20),
        .max_distance_ppm = rng_chance(rng, 80) ? DISTANCE_ONE_PPM : 600000,
        .since_ms = rng_chance(rng, 80) ? INT64_MIN : world.now_ms - 40,
        .until_ms = INT64_MAX,
        .metric = some_metric(rng),
        .order = some_order(rng),
        .sender_share = rng_chance(rng, 60) ? 0 : 1 + rng_below(rng, 4),
    };
    assert_int_equal(index_search_new(&world.alloc.alloc, &it->query, &it->search), 0);
}

static void check_answer(struct under_way *it)
{
    struct index_search *reference = NULL;
    uint32_t count = 0;
    uint32_t expected_count = 0;

    it->part.index = world.list;
    assert_int_equal(index_search_new(&world.alloc.alloc, &it->query, &reference), 0);
    assert_int_equal(index_search_step(reference, UINT64_MAX, world.now_ms), 0);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    const struct nearest_candidate *found = index_search_results(it->search, &count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
        assert_int_equal(found[i].item.deposited_ms, expected[i].item.deposited_ms);
        assert_int_equal(found[i].item.bytes, expected[i].item.bytes);
        assert_int_equal(found[i].intersection, expected[i].intersection);
        assert_int_equal(found[i].union_count, expected[i].union_count);
    }
    assert_true(index_search_is_exact(it->search));
    assert_int_equal(index_search_is_capped(it->search), index_search_is_capped(reference));
    index_search_free(reference);
    index_search_free(it->search);
    it->search = NULL;
    world.finished[world.phase]++;
}

static void search_on(void)
{
    struct under_way *it = &world.searches[rng_below(&world.rng, SEARCHES)];

    if (it->search == NULL) {
        begin_search(it);
    } else if (index_search_step(it->search, 1 + rng_below(&world.rng, 200), world.now_ms) == 0) {
        check_answer(it);
    }
}

static uint32_t searches_under_way(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SEARCHES; i++) {
        count += world.searches[i].search != NULL;
    }
    return count;
}

/* ---- renewals ---- */

static bool is_wanted(void *context)
{
    uint32_t *left = context;

    return (*left)-- == 0;
}

static void end_renewal(void)
{
    renewal_detach(world.renewal);
    renewal_free(world.renewal);
    world.renewal = NULL;
    world.phase = PHASE_NONE;
    assert_null(check_index(world.tree));
    assert_int_equal(index_count(world.tree), world.count);
}

static void check_renewed(void)
{
    struct index_wear wear;

    index_wear(world.tree, &wear);
    assert_in_range(wear.unarranged, 0,
                    2 * world.since_begun + 4096 /* one node, if it is all there is */);
    world.renewed++;
    world.exchanged_under += searches_under_way();
    end_renewal();
}

/* The next piece of what a renewal consists of. */
static void renew_on(void)
{
    struct rng *rng = &world.rng;
    uint32_t left = rng_below(rng, 40);
    int rc;
    const struct index_stop stop = {is_wanted, &left};

    /* Copying takes a step a node, of which there may be many. */
    if (world.phase != PHASE_NONE && rng_below(rng, 40 + 2 * world.count / world.fanout) == 0) {
        world.dropped[world.phase]++;
        end_renewal();
        return;
    }
    switch (world.phase) {
    case PHASE_NONE:
        assert_int_equal(renewal_begin(world.tree, &world.renewal), 0);
        world.phase = PHASE_COPY;
        world.since_begun = 0;
        break;
    case PHASE_COPY:
        rc = renewal_copy(world.renewal);
        if (rc == RENEWAL_FULL) {
            assert_int_equal(renewal_take(world.renewal, NULL), 0);
        }
        world.phase = rc == 0 ? PHASE_ARRANGE : PHASE_COPY;
        break;
    case PHASE_ARRANGE:
        if (renewal_arrange(world.renewal, rng_chance(rng, 70) ? NULL : &stop) == 0) {
            world.phase = PHASE_FOLLOW;
        } else {
            world.dropped[PHASE_ARRANGE]++;
            end_renewal();
        }
        break;
    default:
        if (renewal_follow(world.renewal, 1 + rng_below(rng, 30)) == 0) {
            check_renewed();
        }
    }
}

/* ---- runs ---- */

static void begin_world(uint32_t fanout)
{
    struct rng rng = world.rng;

    memset(&world, 0, sizeof world);
    world.rng = rng;
    world.now_ms = 1000;
    world.fanout = fanout;
    fail_alloc_init(&world.alloc);
    const struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
        .hash_seed = rng_next(&world.rng),
    };
    assert_int_equal(index_new(&list_engine, &options, &world.list), 0);
    assert_int_equal(index_new(small_tree_engine(fanout), &options, &world.tree), 0);
}

static void end_world(void)
{
    if (world.renewal != NULL) {
        end_renewal();
    }
    for (uint32_t i = 0; i < SEARCHES; i++) {
        struct under_way *it = &world.searches[i];

        if (it->search != NULL) {
            assert_int_equal(index_search_step(it->search, UINT64_MAX, world.now_ms), 0);
            check_answer(it);
        }
    }
    assert_int_equal(world.alloc.live_bytes, index_bytes(world.tree) + index_bytes(world.list));
    index_free(world.tree);
    index_free(world.list);
    assert_int_equal(world.alloc.live_blocks, 0);
}

static void run(uint32_t fanout, uint32_t most, uint32_t turns)
{
    begin_world(fanout);
    world.most = most;
    world.least = most / 3;
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t event = rng_below(&world.rng, 100);

        if (event < 50) {
            change_some();
        } else if (event < 85) {
            search_on();
        } else if (world.phase != PHASE_NONE || rng_chance(&world.rng, 20)) {
            renew_on();
        }
        world.now_ms += rng_chance(&world.rng, 10);
    }
    printf("fanout %u, up to %u messages: %u renewed, %u + %u + %u dropped; searches %u, and "
           "%u, %u, %u while renewing; %u under way at exchanges\n",
           fanout, most, world.renewed, world.dropped[PHASE_COPY], world.dropped[PHASE_ARRANGE],
           world.dropped[PHASE_FOLLOW], world.finished[PHASE_NONE], world.finished[PHASE_COPY],
           world.finished[PHASE_ARRANGE], world.finished[PHASE_FOLLOW], world.exchanged_under);
    assert_true(world.renewed > 5 && world.exchanged_under > 5);
    for (uint32_t phase = 0; phase < PHASE_COUNT; phase++) {
        assert_true(world.finished[phase] > 0 && world.changed[phase] > 0);
    }
    end_world();
}

TEST(test_small_nodes)
{
    static const uint32_t fanouts[] = {2, 3, 8, 40};

    rng_init(&world.rng);
    for (size_t i = 0; i < sizeof fanouts / sizeof fanouts[0]; i++) {
        run(fanouts[i], 60 + rng_below(&world.rng, 900), 30000);
    }
}

TEST(test_few_messages)
{
    rng_init(&world.rng);
    run(2, 8, 20000);
}

TEST(test_nodes_as_they_are)
{
    rng_init(&world.rng);
    run(512, 4700, 40000);
}

/* ---- rules of their own ---- */

static void fill(uint32_t count)
{
    for (uint32_t id = 0; id < count; id++) {
        insert_id(id);
    }
}

static void copy_all(void)
{
    int rc = RENEWAL_MORE;

    while (rc == RENEWAL_MORE) {
        rc = renewal_copy(world.renewal);
        if (rc == RENEWAL_FULL) {
            assert_int_equal(renewal_take(world.renewal, NULL), 0);
            rc = RENEWAL_MORE;
        }
    }
    assert_int_equal(rc, 0);
}

static void renew_to_the_end(void)
{
    assert_int_equal(renewal_begin(world.tree, &world.renewal), 0);
    copy_all();
    assert_int_equal(renewal_arrange(world.renewal, NULL), 0);
    assert_int_equal(renewal_follow(world.renewal, 1), 0);
    end_renewal();
}

/* An index without messages is as good as any. */
TEST(test_nothing_to_copy)
{
    begin_world(512);
    renew_to_the_end();
    fill(10);
    renew_to_the_end();
    assert_int_equal(index_count(world.tree), 10);
    end_world();
}

/* What is left unarranged, and what was removed of the rest, is counted. */
TEST(test_wear)
{
    enum { COUNT = 5000 };
    struct index_wear wear;

    rng_init(&world.rng);
    begin_world(16);
    world.unlike = true; /* each message has a slot of its own */
    index_wear(world.list, &wear);
    assert_int_equal(wear.unarranged + wear.removed, 0);
    index_free(world.tree);
    const struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
    };
    assert_int_equal(index_new(small_tree_engine(16), &options, &world.tree), 0);
    fill(COUNT);
    index_wear(world.tree, &wear);
    assert_int_equal(wear.unarranged, COUNT);
    for (uint32_t id = 0; id < 100; id++) {
        remove_id(id);
    }
    index_wear(world.tree, &wear);
    assert_int_equal(wear.unarranged, COUNT - 100);
    assert_int_equal(wear.removed, 0);
    renew_to_the_end();
    index_wear(world.tree, &wear);
    assert_int_equal(wear.unarranged, 0);
    for (uint32_t id = 0; id < 50; id++) {
        insert_id(id);
        remove_id(1000 + id);
    }
    index_wear(world.tree, &wear);
    assert_int_equal(wear.removed, 50);
    assert_int_equal(wear.unarranged, 50);
    renew_to_the_end();
    index_wear(world.tree, &wear);
    assert_int_equal(wear.unarranged + wear.removed, 0);
    world.unlike = false;
    end_world();
}

/* More changes than there may be notes: the renewal says so, in whatever phase it is. */
TEST(test_overrun)
{
    enum { CHANGES = 65536 };

    rng_init(&world.rng);
    for (int phase = 0; phase < 2; phase++) {
        begin_world(512);
        fill(20);
        assert_int_equal(renewal_begin(world.tree, &world.renewal), 0);
        if (phase == 1) {
            assert_int_equal(renewal_copy(world.renewal), 0);
            assert_int_equal(renewal_arrange(world.renewal, NULL), 0);
        }
        for (uint32_t i = 0; i < CHANGES / 2; i++) {
            insert_id(30);
            remove_id(30);
        }
        assert_int_equal(world.tree->notes->count, CHANGES);
        insert_id(31);
        assert_int_equal(world.tree->notes->count, 0);
        assert_int_equal(phase == 1 ? renewal_follow(world.renewal, 1)
                                    : renewal_copy(world.renewal),
                         RENEWAL_OVERRUN);
        end_renewal();
        renew_to_the_end();
        assert_int_equal(index_count(world.tree), 21);
        end_world();
    }
}

/* Changes that come as fast as they are brought over do not keep a renewal from its end. */
TEST(test_follow_catches_up)
{
    enum { COUNT = 300 };

    rng_init(&world.rng);
    begin_world(16);
    fill(COUNT);
    assert_int_equal(renewal_begin(world.tree, &world.renewal), 0);
    copy_all();
    assert_int_equal(renewal_arrange(world.renewal, NULL), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        remove_id(i % COUNT);
        insert_id(i % COUNT);
    }
    uint32_t calls = 0;
    while (renewal_follow(world.renewal, 1) == RENEWAL_MORE) {
        for (uint32_t i = 0; i < 10; i++) {
            remove_id(i);
            insert_id(i);
        }
        assert_in_range(++calls, 1, 110); /* 2,000 to begin with; each call 40 of them, less 20 */
    }
    end_renewal();
    end_world();
}
