/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rule each of searches over peers: ties, times, silent peers, faulty ones, lies, lost words,
 * memory that runs out.
 */
#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/group_of_all.h"
#include "tests/lib/plain_query.h"
#include "tests/model/hood_world.h"

struct fixture {
    struct world world;
    struct index_part part;
    uint64_t filter[WORDS_MAX];
    struct index_query index_query;
    struct hood_query query;
};

/* A small hood, and a query for the context of a place. */
static struct fixture *setup(uint32_t peers, uint32_t k)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    rng_init(&fixture.world.rng);
    hood_world_begin(&fixture.world, "v2:512/4", 8);
    for (uint32_t p = 0; p < fixture.world.peer_count; p++) {
        groups_deinit(&fixture.world.peers[p].groups);
    }
    memset(fixture.world.peers, 0, sizeof fixture.world.peers);
    fixture.world.peer_count = peers;
    for (uint32_t p = 0; p < peers; p++) {
        assert_int_equal(
            groups_init(&fixture.world.peers[p].groups, alloc_system(), &fixture.world.profile, 8),
            0);
    }
    memcpy(fixture.filter, fixture.world.places[0], sizeof fixture.filter);
    fixture.part.filter = fixture.filter;
    fixture.index_query = plain_index_query(&fixture.part, 1, k);
    fixture.index_query.max_distance_ppm = 800000;
    fixture.query = (struct hood_query){.query = &fixture.index_query,
                                        .floor = {0, 1},
                                        .peers_max = UINT32_MAX,
                                        .max_staleness_ms = UINT64_MAX,
                                        .now_ms = NOW_MS};
    return &fixture;
}

/* A message with the context of a place. */
static void put_at(struct world *world, uint32_t p, uint32_t place, int64_t deposited_ms)
{
    struct peer *peer = &world->peers[p];
    struct message *message = &peer->messages[peer->count++];

    memset(message, 0, sizeof *message);
    message->id[0] = (uint8_t)peer->count;
    memcpy(message->filter, world->places[place], sizeof message->filter);
    message->deposited_ms = deposited_ms;
    peer->seq++;
    groups_add(&peer->groups, message->filter, deposited_ms);
}

/* A message of the query's own context. */
static void put_near(struct world *world, uint32_t p, int64_t deposited_ms)
{
    put_at(world, p, 0, deposited_ms);
}

/* One of the ties is newer: the wave after must bring it. One is older: it is not asked for. */
TEST(test_ties_are_by_time)
{
    struct fixture *fixture = setup(20, 1);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    uint32_t count = 0;

    for (uint32_t p = 0; p < 20; p++) {
        put_near(world, p, p == 13 ? 9 : (int64_t)p % 3);
    }
    hood_world_tell(world);
    struct hood_outcome outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(count, 1);
    assert_int_equal(got[0].source, 13);
    assert_int_equal(outcome.peers_asked, HOOD_WAVE_FIRST);
    assert_true(outcome.is_complete);
    hood_world_end(world);
}

/* A message that the told groups cover is newer than they say: the keepalive says how new. */
TEST(test_covered_message_is_newer)
{
    struct fixture *fixture = setup(20, 1);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    uint32_t count = 0;

    for (uint32_t p = 0; p < 20; p++) {
        put_near(world, p, p < 8 ? 5 : 1);
    }
    hood_world_tell(world);
    put_near(world, 19, 7);
    struct hood_word keepalive = {
        .store_id = {1}, .seq = 2, .after = 1, .as_of_ms = NOW_MS, .newest_ms = 7};
    assert_int_equal(hood_learn(world->hood, 19, &keepalive, NOW_MS), 0);
    (void)hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(got[0].source, 19);
    assert_int_equal(got[0].item.deposited_ms, 7);
    hood_world_end(world);
}

TEST(test_as_of_is_the_oldest_skipped)
{
    struct fixture *fixture = setup(3, 1);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    uint32_t count = 0;

    put_near(world, 0, 5);
    for (uint32_t p = 0; p < 3; p++) {
        struct hood_word word = hood_world_full(&world->peers[p]);

        word.as_of_ms = NOW_MS - (p == 1   ? 700
                                  : p == 0 ? 9000
                                           : -50000); /* 2: its clock is wrong */
        assert_int_equal(hood_learn(world->hood, p, &word, NOW_MS - 100 * p), 0);
    }
    struct hood_outcome outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(outcome.peers_asked, 1);
    assert_true(outcome.as_of_ms == NOW_MS - 700);
    fixture->query.max_staleness_ms = 699;
    outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(outcome.peers_asked, 2);
    assert_true(outcome.as_of_ms == NOW_MS - 200);
    fixture->query.max_staleness_ms = 0;
    outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(outcome.peers_asked, 3);
    assert_true(outcome.as_of_ms == NOW_MS);
    hood_world_end(world);
}

TEST(test_silent_and_partial_peers_show)
{
    struct fixture *fixture = setup(3, 5);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    struct hood_search *search = NULL;
    struct hood_answer nothing = {.store_id = {1}, .seq = 1};
    const uint32_t *peers = NULL;
    uint32_t count = 0;

    put_near(world, 0, 5);
    put_near(world, 1, 5);
    hood_world_tell(world);
    world->peers[1].is_silent = true;
    struct hood_outcome outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(count, 1);
    assert_int_equal(outcome.peers_asked, 2);
    assert_int_equal(outcome.peers_silent, 1);
    assert_false(outcome.is_complete);
    fixture->query.peers_max = 1;
    outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(outcome.peers_asked, 1);
    assert_int_equal(outcome.peers_silent, 0);
    assert_false(outcome.is_complete);
    /* a peer that is restoring its messages says so; and an answer too late is ignored */
    fixture->query.peers_max = 2;
    assert_int_equal(hood_search_new(world->hood, &fixture->query, &search), 0);
    assert_int_equal(hood_search_next(search, &peers), 2);
    assert_int_equal(hood_search_answer(search, 2, &nothing), 2);
    assert_int_equal(hood_search_answer(search, 0, &nothing), 1);
    assert_int_equal(hood_search_answer(search, 0, &nothing), 1);
    nothing.is_complete = true;
    assert_int_equal(hood_search_answer(search, 1, &nothing), 0);
    assert_int_equal(hood_search_next(search, &peers), 0);
    (void)hood_search_results(search, &count, &outcome);
    assert_int_equal(count, 0);
    assert_false(outcome.is_complete);
    assert_int_equal(outcome.peers_silent, 0);
    hood_search_free(search);
    hood_world_end(world);
}

/* Offers one answer of peer 0 to a new search. */
static void answer_once(struct fixture *fixture, const struct hood_answer *reply, uint32_t *count)
{
    struct hood_search *search = NULL;
    struct hood_outcome outcome;
    const uint32_t *peers = NULL;

    assert_int_equal(hood_search_new(fixture->world.hood, &fixture->query, &search), 0);
    assert_true(hood_search_next(search, &peers) > 0);
    (void)hood_search_answer(search, 0, reply);
    (void)hood_search_results(search, count, &outcome);
    hood_search_free(search);
}

TEST(test_answers_are_held_against_the_summary)
{
    struct fixture *fixture = setup(2, 5);
    struct world *world = &fixture->world;
    struct hood_found found = {.id = {1}, .filter = world->places[0]};
    struct hood_answer reply = {
        .store_id = {1}, .seq = 2, .is_complete = true, .found = &found, .found_count = 1};
    uint32_t count = 0;

    put_near(world, 0, 5);
    put_near(world, 0, 6);
    hood_world_tell(world);
    answer_once(fixture, &reply, &count);
    assert_int_equal(count, 1);
    assert_false(hood_is_faulty(world->hood, 0));
    /* a message that the summary does not cover: new, or a fault if nothing is new */
    uint64_t other[WORDS_MAX];
    bloom_union(other, world->places[0], world->places[1], world->words);
    found.filter = other;
    reply.seq = 3;
    answer_once(fixture, &reply, &count);
    assert_false(hood_is_faulty(world->hood, 0));
    reply.seq = 2;
    answer_once(fixture, &reply, &count);
    assert_true(hood_is_faulty(world->hood, 0));
    assert_true(hood_knows(world->hood, 0));
    hood_world_tell(world);
    assert_false(hood_is_faulty(world->hood, 0));
    /* a store that has gone back, or another one */
    reply.seq = 1;
    answer_once(fixture, &reply, &count);
    assert_false(hood_knows(world->hood, 0));
    hood_world_tell(world);
    reply.seq = 2;
    reply.store_id[15] = 1;
    answer_once(fixture, &reply, &count);
    assert_false(hood_knows(world->hood, 0));
    answer_once(fixture, &reply, &count); /* a void summary is no reason to blame the peer */
    assert_false(hood_is_faulty(world->hood, 0));
    hood_world_end(world);
}

/* What does not fit the query is dropped, the same id counts once, and only k messages count. */
TEST(test_lies_are_dropped)
{
    struct fixture *fixture = setup(1, 3);
    struct world *world = &fixture->world;
    uint64_t far[WORDS_MAX] = {0};
    struct hood_found found[5] = {{.id = {1}, .filter = far},
                                  {.id = {2}, .filter = world->places[0], .deposited_ms = 10},
                                  {.id = {2}, .filter = world->places[0], .deposited_ms = 10},
                                  {.id = {3}, .filter = world->places[0]},
                                  {.id = {4}, .filter = world->places[0]}};
    struct hood_answer reply = {
        .store_id = {1}, .seq = 9, .is_complete = true, .found = found, .found_count = 5};
    uint32_t count = 0;

    put_near(world, 0, 5);
    hood_world_tell(world);
    bloom_set(far, 3);
    answer_once(fixture, &reply, &count);
    assert_int_equal(count, 1);
    fixture->index_query.until_ms = 10;
    answer_once(fixture, &reply, &count);
    assert_int_equal(count, 0);
    fixture->index_query.until_ms = INT64_MAX;
    uint64_t wanted[WORDS_MAX];
    memset(wanted, 0xff, sizeof wanted);
    fixture->part.contains = wanted;
    struct hood_word word = hood_world_full(&world->peers[0]);
    struct group all = group_of_all(&world->profile, wanted, 0);
    word.groups = &all;
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), 0);
    answer_once(fixture, &reply, &count);
    assert_int_equal(count, 0);
    hood_world_end(world);
}

/* All ones: asked first at the beginning, last after 32 times in vain, and never left out. */
TEST(test_all_ones_is_asked_last)
{
    struct fixture *fixture = setup(12, 1);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    struct hood_search *search = NULL;
    const uint32_t *peers = NULL;
    uint64_t ones[WORDS_MAX];
    struct group all = group_of_all(&world->profile, ones, 99);
    uint32_t count = 0;

    memset(ones, 0xff, sizeof ones);
    for (uint32_t p = 1; p < 12; p++) {
        put_near(world, p, p == 5 ? 20 : 5);
    }
    hood_world_tell(world);
    struct hood_word word = hood_world_full(&world->peers[0]);
    word.groups = &all;
    word.group_count = 1;
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), 0);
    for (int i = 0; i < HOOD_VAIN; i++) {
        assert_int_equal(hood_search_new(world->hood, &fixture->query, &search), 0);
        assert_true(hood_search_next(search, &peers) == HOOD_WAVE_FIRST && peers[0] == 0);
        hood_search_free(search);
        (void)hood_world_ask(world, &fixture->query, got, &count);
        assert_int_equal(got[0].source, 5);
    }
    assert_int_equal(hood_search_new(world->hood, &fixture->query, &search), 0);
    assert_int_equal(hood_search_next(search, &peers), HOOD_WAVE_FIRST);
    assert_int_equal(peers[0], 5);
    hood_search_free(search);
    struct hood_outcome outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_true(outcome.is_complete);
    assert_int_equal(got[0].source, 5);
    hood_world_end(world);
}

TEST(test_words)
{
    struct fixture *fixture = setup(2, 3);
    struct world *world = &fixture->world;
    struct group own = group_of_all(&world->profile, world->places[1], 0);
    struct group many[HOOD_GROUPS_MAX + 1];
    struct hood_word word;

    put_near(world, 0, 1);
    word = hood_world_full(&world->peers[0]);
    word.is_full = false;
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), HOOD_VOID); /* nothing before it */
    assert_int_equal(hood_count(world->hood), 1);
    word = hood_world_full(&world->peers[0]);
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), 0);
    struct hood_word delta = {.store_id = {1}, .seq = 4, .after = 1, .groups = &own};
    delta.group_count = 1;
    assert_int_equal(hood_learn(world->hood, 0, &delta, NOW_MS), 0);
    assert_int_equal(hood_learn(world->hood, 0, &delta, NOW_MS), HOOD_LATE);
    delta.after = 3;
    delta.seq = 5;
    assert_int_equal(hood_learn(world->hood, 0, &delta, NOW_MS), HOOD_VOID);
    delta.after = 5;
    assert_int_equal(hood_learn(world->hood, 0, &delta, NOW_MS), HOOD_VOID); /* it stays void */
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), 0);
    delta.after = 1;
    delta.store_id[0] = 2;
    assert_int_equal(hood_learn(world->hood, 0, &delta, NOW_MS), HOOD_VOID);
    for (uint32_t i = 0; i <= HOOD_GROUPS_MAX; i++) {
        many[i] = own;
    }
    word.groups = many;
    word.group_count = HOOD_GROUPS_MAX;
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), 0);
    word.group_count++;
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), HOOD_VOID);
    word.group_count = 2;
    many[1].ranges[0] = (struct group_range){513, 600};
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), HOOD_VOID);
    many[1].ranges[0] = (struct group_range){12, 11};
    assert_int_equal(hood_learn(world->hood, 0, &word, NOW_MS), HOOD_VOID);
    assert_true(hood_bytes(world->hood) > HOOD_GROUPS_MAX * 64);
    hood_drop(world->hood, 0);
    hood_drop(world->hood, 0);
    assert_int_equal(hood_count(world->hood), 0);
    hood_world_end(world);
}

/* A peer leaves while it is asked, and another gets its number. */
TEST(test_peer_leaves_while_asked)
{
    struct fixture *fixture = setup(1, 3);
    struct world *world = &fixture->world;
    struct hood_search *search = NULL;
    const uint32_t *peers = NULL;
    struct hood_answer reply = {.store_id = {7}, .seq = 1, .is_complete = true};

    put_near(world, 0, 1);
    hood_world_tell(world);
    assert_int_equal(hood_search_new(world->hood, &fixture->query, &search), 0);
    assert_int_equal(hood_search_next(search, &peers), 1);
    hood_drop(world->hood, 0);
    hood_world_tell(world);
    assert_int_equal(hood_search_answer(search, 0, &reply), 0);
    assert_true(hood_knows(world->hood, 0));
    hood_search_free(search);
    hood_world_end(world);
}

/* By phi peers are left out as by bits; but a query with more than half of the bits has no bound,
 * so that everybody is asked. */
TEST(test_phi_leaves_peers_out_by_a_bound_only)
{
    struct fixture *fixture = setup(20, 1);
    struct world *world = &fixture->world;
    struct nearest_candidate got[K_MAX];
    uint32_t count = 0;

    fixture->index_query.metric = INDEX_METRIC_PHI;
    fixture->index_query.max_distance_ppm = DISTANCE_ONE_PPM;
    for (uint32_t p = 0; p < 20; p++) {
        put_at(world, p, p == 13 ? 0 : p % 9 + 1, 1);
    }
    hood_world_tell(world);
    struct hood_outcome outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(count, 1);
    assert_int_equal(got[0].source, 13);
    assert_int_equal(got[0].rank.shared, PHI_ONE);
    assert_int_equal(outcome.peers_asked, HOOD_WAVE_FIRST);
    for (uint32_t bit = 0; bit < 300; bit++) {
        bloom_set(fixture->filter, bit);
    }
    outcome = hood_world_ask(world, &fixture->query, got, &count);
    assert_int_equal(outcome.peers_asked, 20);
    assert_true(outcome.is_complete);
    hood_world_end(world);
}

TEST(test_memory_runs_out)
{
    struct fixture *fixture = setup(2, 3);
    struct world *world = &fixture->world;
    struct fail_alloc fail;
    struct hood_options options = {
        .alloc = &fail.alloc, .profile = &world->profile, .kernels = bits_select(BITS_BEST)};
    struct hood_search *search = NULL;
    struct hood *hood = NULL;

    put_near(world, 0, 1);
    fail_alloc_init(&fail);
    for (size_t n = 1; n <= 2; n++) {
        fail_alloc_arm(&fail, n);
        assert_int_equal(hood_new(&options, 2, &hood), -ERR_NOMEM);
        assert_int_equal(fail.live_blocks, 0);
    }
    fail_alloc_arm(&fail, 0);
    assert_int_equal(hood_new(&options, 2, &hood), 0);
    struct hood_word word = hood_world_full(&world->peers[0]);
    for (size_t n = 1; n <= 3; n++) {
        fail_alloc_arm(&fail, n == 1 ? 1 : 2);
        int rc = hood_learn(hood, 0, &word, NOW_MS);
        assert_int_equal(rc, HOOD_VOID);
        assert_false(hood_knows(hood, 0));
    }
    fail_alloc_arm(&fail, 0);
    assert_int_equal(hood_learn(hood, 0, &word, NOW_MS), 0);
    size_t blocks = fail.live_blocks;
    int rc = -ERR_NOMEM;
    for (size_t n = 1; rc != 0; n++) {
        fail_alloc_arm(&fail, n);
        rc = hood_search_new(hood, &fixture->query, &search);
        assert_true(rc == 0 || (rc == -ERR_NOMEM && fail.live_blocks == blocks));
    }
    hood_search_free(search);
    hood_free(hood);
    assert_int_equal(fail.live_blocks, 0);
    hood_free(NULL);
    hood_search_free(NULL);
    hood_world_end(world);
}
