/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches over peers against brute force over all messages. The rules: an answer is exact over all
 * peers, asked or skipped; a skipped peer's summary speaks for all of its messages; what does not
 * answer shows; a lost word is noticed; and a peer that lies changes nothing at other peers.
 */
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/model/hood_world.h"

enum { WORLDS = 60, QUERIES = 30 };

static void check_same(const struct nearest_candidate *got, uint32_t got_count,
                       const struct nearest_candidate *right, uint32_t count)
{
    assert_int_equal(got_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(similarity_compare(got[i].rank, right[i].rank), 0);
        assert_int_equal(similarity_compare(got[i].similarity, right[i].similarity), 0);
        assert_true(got[i].item.deposited_ms == right[i].item.deposited_ms);
        assert_memory_equal(got[i].item.id, right[i].item.id, MESSAGE_ID_BYTES);
    }
}

static void make_query(struct world *world, struct index_query *query, struct index_part *parts,
                       uint64_t (*filters)[WORDS_MAX])
{
    static const uint32_t limits[] = {400000, 800000, DISTANCE_ONE_PPM, DISTANCE_ONE_PPM};
    struct rng *rng = &world->rng;

    *query = (struct index_query){
        .parts = parts,
        .part_count = 1 + (rng_chance(rng, 30) ? rng_below(rng, PARTS_MAX) : 0),
        .k = 1 + rng_below(rng, K_MAX),
        .max_distance_ppm = limits[rng_below(rng, 4)],
        .since_ms = rng_chance(rng, 20) ? (int64_t)rng_below(rng, 7) : INT64_MIN,
        .until_ms = rng_chance(rng, 20) ? (int64_t)rng_below(rng, 7) : INT64_MAX,
        .metric = rng_chance(rng, 60) ? INDEX_METRIC_PHI : INDEX_METRIC_BITS,
        .order = rng_chance(rng, 30) ? INDEX_ORDER_NEWEST : INDEX_ORDER_SIMILARITY,
    };
    for (uint32_t p = 0; p < query->part_count; p++) {
        uint64_t *wanted = filters[PARTS_MAX + p];

        hood_world_filter(world, rng_below(rng, PLACES), filters[p]);
        parts[p] = (struct index_part){.filter = filters[p]};
        if (rng_chance(rng, 15)) { /* bits of a message of the place, more or less */
            rng_filter(rng, world->profile.bits, 10, wanted);
            bloom_intersection(wanted, wanted, filters[p], world->words);
            parts[p].contains = wanted;
        }
    }
}

/* A query, held against brute force. Half the time a floor is the k-th best of peer 0 alone. */
static void check_query(struct world *world)
{
    struct nearest_candidate got[K_MAX];
    struct nearest_candidate right[K_MAX];
    struct index_part parts[PARTS_MAX];
    uint64_t filters[2 * PARTS_MAX][WORDS_MAX] = {{0}};
    struct index_query index_query;
    struct hood_query query = {.query = &index_query,
                               .floor = {0, 1},
                               .peers_max = UINT32_MAX,
                               .max_staleness_ms = UINT64_MAX,
                               .now_ms = NOW_MS};
    uint32_t got_count = 0;

    make_query(world, &index_query, parts, filters);
    if (index_query.order == INDEX_ORDER_SIMILARITY && rng_chance(&world->rng, 50) &&
        hood_world_best(world, &index_query, query.floor, 0, 1, got) == index_query.k) {
        query.floor = got[index_query.k - 1].rank;
    }
    uint32_t count = hood_world_best(world, &index_query, query.floor, 0, world->peer_count, right);
    struct hood_outcome outcome = hood_world_ask(world, &query, got, &got_count);
    check_same(got, got_count, right, count);
    assert_int_equal(outcome.peers, world->peer_count);
    assert_int_equal(outcome.peers_silent == 0, outcome.is_complete);
    world->queries++;
    world->asked += outcome.peers_asked;
    world->peers_sum += outcome.peers;
}

/* --- exactness -------------------------------------------------------------------------------- */

/* What the peer has told so far. */
struct told {
    uint64_t seq;
    int64_t newest_ms; /* of covered messages since the last word */
    struct group groups[MESSAGES_MAX];
    uint32_t count;
};

/* A peer commits a message, and says so as a bridge does: by a group of its own if the groups that
 * it has told do not cover the message. Words are lost at times. */
static void commit_and_tell(struct world *world, uint32_t p, struct told *told)
{
    struct peer *peer = &world->peers[p];

    hood_world_deposit(world, p);
    const struct message *message = &peer->messages[peer->count - 1];
    struct group own = groups_one(&world->profile, message->filter, message->deposited_ms);
    bool is_covered = groups_cover(peer->groups.list, 0, &world->profile, message->filter) ||
                      groups_cover(told->groups, told->count, &world->profile, message->filter);
    struct hood_word word = {.store_id = {1},
                             .seq = peer->seq,
                             .after = told->seq,
                             .as_of_ms = NOW_MS,
                             .newest_ms = is_covered ? message->deposited_ms : INT64_MIN,
                             .groups = &own,
                             .group_count = is_covered ? 0 : 1};
    if (!is_covered) {
        told->groups[told->count++] = own;
    }
    told->seq = peer->seq;
    if (rng_chance(&world->rng, 80)) {
        (void)hood_learn(world->hood, p, &word, NOW_MS);
        if (rng_chance(&world->rng, 20)) { /* once more changes nothing */
            int rc = hood_learn(world->hood, p, &word, NOW_MS);
            assert_true(rc == (hood_knows(world->hood, p) ? HOOD_LATE : HOOD_VOID));
        }
    } else { /* lost: the keepalive after it shows that */
        word.after = word.seq;
        word.newest_ms = INT64_MIN;
        word.group_count = 0;
        assert_int_equal(hood_learn(world->hood, p, &word, NOW_MS), HOOD_VOID);
        assert_false(hood_knows(world->hood, p));
    }
}

static void live(struct world *world)
{
    static struct told told[PEERS];

    hood_world_tell(world);
    for (uint32_t p = 0; p < world->peer_count; p++) {
        told[p] = (struct told){.seq = world->peers[p].seq};
    }
    for (uint32_t i = 0; i < QUERIES; i++) {
        uint32_t p = rng_below(&world->rng, world->peer_count);

        if (world->peers[p].count < MESSAGES_MAX && i >= QUERIES / 2) {
            commit_and_tell(world, p, &told[p]);
        }
        if (rng_chance(&world->rng, 10)) {
            world->peers[p].is_silent = !world->peers[p].is_silent;
        }
        check_query(world);
    }
    for (uint32_t p = 0; p < world->peer_count; p++) {
        assert_false(hood_is_faulty(world->hood, p));
    }
}

TEST(test_exact_over_all_peers)
{
    static const char *const texts[] = {"v2:512/4", "v2:256/2", "v2:wifi=480/2,any=32/1"};
    static const uint32_t limits[] = {1, 3, 8, 24};
    static struct world world;

    rng_init(&world.rng);
    for (uint32_t i = 0; i < WORLDS; i++) {
        hood_world_begin(&world, texts[i % 3], limits[rng_below(&world.rng, 4)]);
        live(&world);
        hood_world_end(&world);
    }
    /* else the test would not see that the bounds rule out anything */
    assert_true(world.asked * 2 < world.peers_sum);
}
