/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/model/hood_world.h"

#include "core/filter/bloom.h"
#include "tests/lib/profile_of.h"

/* --- the world -------------------------------------------------------------------------------- */

void hood_world_filter(struct world *world, uint32_t place, uint64_t *out)
{
    uint64_t noise[WORDS_MAX] = {0};

    rng_filter(&world->rng, world->profile.bits, 80, out);
    rng_filter(&world->rng, world->profile.bits, rng_below(&world->rng, 3), noise);
    bloom_intersection(out, out, world->places[place], world->words);
    bloom_union(out, out, noise, world->words);
}

static void make_message(struct world *world, uint32_t place, struct message *out)
{
    memset(out, 0, sizeof *out);
    out->id[0] = (uint8_t)rng_below(&world->rng, 256);
    out->id[1] = (uint8_t)rng_below(&world->rng, 40); /* the same ones at several peers */
    out->deposited_ms = rng_below(&world->rng, 6);
    if (rng_chance(&world->rng, 40)) { /* ties */
        memcpy(out->filter, world->places[place], sizeof out->filter);
    } else {
        hood_world_filter(world, place, out->filter);
    }
}

static bool has_id(const struct peer *peer, const uint8_t *id)
{
    for (uint32_t i = 0; i < peer->count; i++) {
        if (memcmp(peer->messages[i].id, id, MESSAGE_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void hood_world_deposit(struct world *world, uint32_t number)
{
    struct peer *peer = &world->peers[number];
    struct message *message = &peer->messages[peer->count];
    /* most peers have their own places, some have all */
    uint32_t place = number % 8 == 0 ? rng_below(&world->rng, PLACES)
                                     : (number + rng_below(&world->rng, 2)) % PLACES;

    do {
        make_message(world, place, message);
    } while (has_id(peer, message->id));
    peer->count++;
    peer->seq++;
    groups_add(&peer->groups, message->filter, message->deposited_ms);
}

struct hood_word hood_world_full(const struct peer *peer)
{
    return (struct hood_word){.store_id = {1},
                              .seq = peer->seq,
                              .as_of_ms = NOW_MS,
                              .newest_ms = INT64_MIN,
                              .is_full = true,
                              .groups = peer->groups.list,
                              .group_count = peer->groups.count};
}

void hood_world_begin(struct world *world, const char *text, uint32_t limit)
{
    world->profile = profile_of(text);
    world->words = bloom_words(world->profile.bits);
    struct hood_options options = {
        .alloc = alloc_system(), .profile = &world->profile, .kernels = bits_select(BITS_BEST)};
    assert_int_equal(hood_new(&options, PEERS, &world->hood), 0);
    memset(world->places, 0, sizeof world->places);
    for (uint32_t p = 0; p < PLACES; p++) {
        rng_filter(&world->rng, world->profile.bits, 6, world->places[p]);
    }
    world->peer_count = 1 + rng_below(&world->rng, PEERS);
    memset(world->peers, 0, sizeof world->peers);
    for (uint32_t p = 0; p < world->peer_count; p++) {
        struct peer *peer = &world->peers[p];

        assert_int_equal(groups_init(&peer->groups, alloc_system(), &world->profile, limit), 0);
        for (uint32_t i = rng_below(&world->rng, MESSAGES_MAX - 5); i > 0; i--) {
            hood_world_deposit(world, p);
        }
    }
}

void hood_world_tell(struct world *world)
{
    for (uint32_t p = 0; p < world->peer_count; p++) {
        struct hood_word word = hood_world_full(&world->peers[p]);

        assert_int_equal(hood_learn(world->hood, p, &word, NOW_MS), 0);
    }
}

void hood_world_end(struct world *world)
{
    for (uint32_t p = 0; p < world->peer_count; p++) {
        groups_deinit(&world->peers[p].groups);
    }
    hood_free(world->hood);
}

/* --- brute force ------------------------------------------------------------------------------ */

static struct similarity rank_of(const struct world *world, enum index_metric metric,
                                 const uint64_t *a, const uint64_t *b)
{
    struct phi_query phi;

    if (metric == INDEX_METRIC_BITS) {
        return similarity_of(bloom_intersection_count(a, b, world->words),
                             bloom_union_count(a, b, world->words));
    }
    phi_ask(&phi, &world->profile, a);
    return phi_similarity(&phi, b, bloom_intersection_count(a, b, world->words));
}

/* The message as a candidate; false: it does not fit the query. */
static bool fit(const struct world *world, const struct index_query *query,
                const struct message *message, uint32_t source, struct nearest_candidate *out)
{
    bool fits = false;

    *out = (struct nearest_candidate){.source = source};
    memcpy(out->item.id, message->id, sizeof out->item.id);
    out->item.deposited_ms = message->deposited_ms;
    if (message->deposited_ms < query->since_ms || message->deposited_ms >= query->until_ms) {
        return false;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        const struct index_part *part = &query->parts[p];
        struct similarity similarity = rank_of(world, query->metric, part->filter, message->filter);

        if ((part->contains != NULL &&
             !bloom_is_subset(part->contains, message->filter, world->words)) ||
            !distance_within(similarity, query->max_distance_ppm)) {
            continue;
        }
        if (!fits || similarity_compare(similarity, out->similarity) > 0) {
            out->similarity = similarity;
            out->rank = index_rank(query->order, similarity);
        }
        fits = true;
    }
    return fits;
}

static int compare_candidates(const void *a, const void *b)
{
    return nearest_compare(a, b);
}

/* The best of some peers' messages, at or above a floor; returns how many, at most k. */
uint32_t hood_world_best(const struct world *world, const struct index_query *query,
                         struct similarity floor, uint32_t first, uint32_t end,
                         struct nearest_candidate *out)
{
    static struct nearest_candidate all[PEERS * MESSAGES_MAX];
    uint32_t count = 0;

    for (uint32_t p = first; p < end; p++) {
        for (uint32_t i = 0; i < world->peers[p].count && !world->peers[p].is_silent; i++) {
            struct nearest_candidate *candidate = &all[count];

            if (fit(world, query, &world->peers[p].messages[i], p, candidate) &&
                similarity_compare(candidate->rank, floor) >= 0) {
                candidate->item.bytes = i; /* which message */
                count++;
            }
        }
    }
    qsort(all, count, sizeof all[0], compare_candidates);
    count = count < query->k ? count : query->k;
    memcpy(out, all, count * sizeof all[0]);
    return count;
}

/* --- asking ----------------------------------------------------------------------------------- */

static void answer(struct world *world, struct hood_search *search, const struct index_query *query,
                   uint32_t p)
{
    struct nearest_candidate best[K_MAX];
    struct hood_found found[K_MAX];
    const struct peer *peer = &world->peers[p];
    /* the floor goes to the peer as a number of the protocol */
    struct similarity floor = similarity_of_floor(similarity_floor(hood_search_floor(search)));
    uint32_t count = hood_world_best(world, query, floor, p, p + 1, best);
    struct hood_answer reply = {.store_id = {1},
                                .seq = peer->seq,
                                .is_complete = true,
                                .found = found,
                                .found_count = count};

    for (uint32_t i = 0; i < count; i++) {
        const struct message *message = &peer->messages[best[i].item.bytes];

        found[i].deposited_ms = message->deposited_ms;
        found[i].filter = message->filter;
        memcpy(found[i].id, message->id, sizeof found[i].id);
    }
    (void)hood_search_answer(search, p, &reply);
}

struct hood_outcome hood_world_ask(struct world *world, const struct hood_query *query,
                                   struct nearest_candidate *out, uint32_t *out_count)
{
    struct hood_search *search = NULL;
    struct hood_outcome outcome;
    const uint32_t *peers = NULL;
    uint32_t wave = HOOD_WAVE_FIRST;
    uint32_t count;

    assert_int_equal(hood_search_new(world->hood, query, &search), 0);
    while ((count = hood_search_next(search, &peers)) > 0) {
        assert_true(count <= wave);
        wave *= 2;
        for (uint32_t i = 0; i < count; i++) {
            if (!world->peers[peers[i]].is_silent) {
                answer(world, search, query->query, peers[i]);
            }
        }
    }
    const struct nearest_candidate *results = hood_search_results(search, out_count, &outcome);
    memcpy(out, results, *out_count * sizeof *out);
    hood_search_free(search);
    return outcome;
}
