/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campus_ask: a query around here, as the bridges of the asker and of its peers carry it out.
 * Query and answers go through the codec; the peers search their own trees.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/sim/campus.h"

/* A query under way, and what is true of it. */
struct around {
    struct c_asker *asker;
    struct hood_search *search;
    struct index_query query;
    struct index_part parts[PARTS_MAX];
    uint64_t filters[PARTS_MAX][WORDS];
    uint64_t wanted[PARTS_MAX][WORDS];
    struct hood_query hood_query;
    struct c_truth truth;
    struct c_heard heard[HOSTS]; /* when it began */
    bool is_asked[HOSTS];
    uint32_t asked;
    uint32_t silent;
    bool is_partial; /* a peer that answered was restoring */
};

static struct around around;

/* --- what is asked ---------------------------------------------------------------------------- */

static void make_query(struct c_asker *asker)
{
    static const uint32_t limits[] = {500000, 800000, 800000, 800000, DISTANCE_ONE_PPM};
    struct rng *rng = &campus.rng;
    struct index_query *query = &around.query;
    const int64_t now_ms = host_now_ms(&campus.hosts[asker->host]);

    *query = (struct index_query){
        .parts = around.parts,
        .part_count = 1 + (rng_chance(rng, 10) ? 1 : 0),
        .k = rng_chance(rng, 60) ? 10 : 1 + rng_below(rng, K_MAX),
        .max_distance_ppm = limits[rng_below(rng, 5)],
        .since_ms = rng_chance(rng, 10) ? now_ms - rng_below(rng, HOUR_MS) : INT64_MIN,
        .until_ms = rng_chance(rng, 5) ? now_ms - rng_below(rng, HOUR_MS) : INT64_MAX,
        .metric = rng_chance(rng, 60) ? INDEX_METRIC_PHI : INDEX_METRIC_BITS};
    if (query->until_ms <= query->since_ms) {
        query->until_ms = INT64_MAX;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        uint32_t where = rng_chance(rng, 85) ? asker->host : rng_below(rng, HOSTS);

        host_context(where, around.filters[p]);
        around.parts[p] = (struct index_part){.filter = around.filters[p]};
        if (rng_chance(rng, 10)) {
            host_label(where, around.wanted[p]);
            around.parts[p].contains = around.wanted[p];
        }
    }
}

/* The nearest of a host's own messages: its daemon's answer. */
static struct index_search *search_host(uint32_t number, const struct index_query *query)
{
    struct index_part parts[PARTS_MAX];
    struct index_query own = *query;
    struct index_search *search = NULL;

    memcpy(parts, query->parts, query->part_count * sizeof(*parts));
    for (uint32_t p = 0; p < query->part_count; p++) {
        parts[p].index = campus.hosts[number].index;
    }
    own.parts = parts;
    SIM_CHECK(index_search_new(alloc_system(), &own, &search) == 0);
    while (index_search_step(search, UINT64_MAX, host_now_ms(&campus.hosts[number])) != 0) {
    }
    return search;
}

/* Results as hood_found; the filters are copied. Leaves out what is below the floor. */
static uint32_t describe_results(uint32_t number, struct index_search *search,
                                 struct similarity floor, struct hood_found *out,
                                 uint64_t (*filters)[WORDS])
{
    uint32_t count = 0;
    uint32_t used = 0;
    const struct nearest_candidate *results = index_search_results(search, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (similarity_compare(results[i].rank, floor) < 0) {
            continue;
        }
        SIM_CHECK(index_find(campus.hosts[number].index, results[i].item.id, NULL, filters[used]) ==
                  0);
        out[used] = (struct hood_found){.deposited_ms = results[i].item.deposited_ms,
                                        .filter = filters[used]};
        memcpy(out[used].id, results[i].item.id, sizeof(out[used].id));
        used++;
    }
    return used;
}

/* Half the time the asker's own messages are offered, else only their floor is known. */
static void begin_search(struct c_asker *asker)
{
    static uint64_t filters[K_MAX][WORDS];
    struct hood_found found[K_MAX];
    struct index_search *own = search_host(asker->host, &around.query);
    uint32_t count = describe_results(asker->host, own, (struct similarity){0, 1}, found, filters);
    uint32_t own_count = 0;
    const struct nearest_candidate *results = index_search_results(own, &own_count);
    bool has_floor = rng_chance(&campus.rng, 50);

    around.hood_query = (struct hood_query){
        .query = &around.query,
        .floor = has_floor && own_count == around.query.k ? results[own_count - 1].rank
                                                          : (struct similarity){0, 1},
        .peers_max = rng_chance(&campus.rng, 3) ? rng_below(&campus.rng, 9) : UINT32_MAX,
        .max_staleness_ms =
            rng_chance(&campus.rng, 3) ? 1000 + rng_below(&campus.rng, 60000) : UINT64_MAX,
        .now_ms = campus.now_ms};
    struct hood_query asked = around.hood_query;
    if (campus.fault == FAULT_SKIP &&
        similarity_compare(asked.floor, (struct similarity){1, 2}) < 0) {
        asked.floor = (struct similarity){1, 2}; /* peers are skipped whose bound is below a half */
    }
    SIM_CHECK(hood_search_new(asker->hood, &asked, &around.search) == 0);
    if (!has_floor) {
        hood_search_offer_home(around.search, found, count);
        for (uint32_t i = 0; i < count; i++) {
            truth_add(&around.truth, found[i].id, found[i].filter, found[i].deposited_ms,
                      HOOD_HOME);
        }
    }
    index_search_free(own);
}

/* --- a peer answers --------------------------------------------------------------------------- */

/* What a liar makes of its answer. */
static uint32_t twist_answer(struct c_host *host, struct hood_found *found,
                             uint64_t (*filters)[WORDS], uint32_t count, struct hood_answer *answer)
{
    struct rng *rng = &campus.rng;

    if (host->lie == LIE_GOES_BACK && rng_chance(rng, 30)) {
        answer->seq -= answer->seq < 3 ? answer->seq : 3;
        answer->store_id[0] ^= (uint8_t)rng_below(rng, 2);
    }
    if (host->lie != LIE_INVENTS && host->lie != LIE_TWISTS) {
        return count;
    }
    for (uint32_t i = rng_below(rng, K_MAX); i > 0 && count < ANSWER_MAX; i--) {
        struct hood_found *lie = &found[count];

        if (host->lie == LIE_TWISTS && count > 0 && rng_chance(rng, 50)) {
            *lie = found[rng_below(rng, count)];
            lie->deposited_ms += rng_chance(rng, 50) ? 0 : INT64_C(1) << 40;
        } else {
            host_context(rng_below(rng, HOSTS), filters[count]);
            *lie = (struct hood_found){.deposited_ms = (int64_t)(rng_next(rng) >> 2),
                                       .filter = filters[count]};
            memset(lie->id, (int)rng_below(rng, 256), sizeof(lie->id));
        }
        count++;
    }
    return count;
}

/* What is true of an honest answer is all that the host has; of a liar's, what it said. */
static void add_truth(uint32_t number, const struct hood_found *found, uint32_t count,
                      struct similarity floor)
{
    if (campus.hosts[number].lie == LIE_NONE) {
        truth_add_host(&around.truth, number, floor);
        return;
    }
    for (uint32_t i = 0; i < count && i < around.query.k; i++) {
        truth_add(&around.truth, found[i].id, found[i].filter, found[i].deposited_ms, number);
    }
}

static void answer_query(uint32_t number, const struct bytes *query_frame, struct arena *arena)
{
    static uint64_t filters[ANSWER_MAX][WORDS];
    static uint64_t asked[2 * PARTS_MAX][WORDS];
    struct hood_found found[ANSWER_MAX];
    struct c_host *host = &campus.hosts[number];
    struct index_part parts[PARTS_MAX];
    struct index_query query;
    struct similarity floor;
    struct hood_answer answer = {.seq = host->seq,
                                 .is_complete = campus.now_ms >= host->restoring_until_ms};
    struct bytes frame;

    bytes_init(&frame, alloc_system());
    wire_decode_query(query_frame, arena, &query, parts, asked, &floor);
    struct index_search *search = search_host(number, &query);
    memcpy(answer.store_id, host->store_id, sizeof(answer.store_id));
    uint32_t count = describe_results(number, search, floor, found, filters);
    count = twist_answer(host, found, filters, count, &answer);
    index_search_free(search);
    wire_encode_answer(found, count, &answer, &frame);
    answer.found = found;
    answer.found_count = wire_decode_answer(&frame, arena, found, &answer);
    if (campus.fault == FAULT_MERGE && answer.found_count > 1 && rng_chance(&campus.rng, 5)) {
        answer.found_count--;
    }
    add_truth(number, found, answer.found_count, floor);
    around.is_partial = around.is_partial || !answer.is_complete;
    (void)hood_search_answer(around.search, number, &answer);
    bytes_deinit(&frame);
    arena_reset(arena);
}

/* --- waves ------------------------------------------------------------------------------------ */

/* The asker cannot tell why: the peer is off, or it or the asker has no uplink. */
static bool is_reached(const struct c_asker *asker, uint32_t number)
{
    const struct c_host *host = &campus.hosts[number];

    return !host_is_cut(host) && !host_is_cut(&campus.hosts[asker->host]) &&
           campus.now_ms >= host->silent_until_ms;
}

static void after_answer(struct c_asker *asker, uint32_t number)
{
    const bool is_honest = campus.hosts[number].lie == LIE_NONE;

    if (hood_is_faulty(asker->hood, number)) {
        SIM_EXPECT(!is_honest, "host %u is honest, and was found faulty", number);
        campus.sums.faulty++;
    }
    if (asker->heard[number].is_known && !hood_knows(asker->hood, number)) {
        SIM_EXPECT(!is_honest || memcmp(asker->heard[number].store_id,
                                        campus.hosts[number].store_id, HOOD_STORE_ID_BYTES) != 0,
                   "host %u is honest, and its summary became void", number);
        asker->heard[number].is_known = false;
        campus.hosts[number].has_to_tell = true;
        campus.sums.voids++;
    }
}

static void ask_wave(struct c_asker *asker, const uint32_t *peers, uint32_t count)
{
    struct bytes frame;
    struct arena arena;

    bytes_init(&frame, alloc_system());
    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    wire_encode_query(&around.query, hood_search_floor(around.search), &frame);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = peers[i];

        SIM_EXPECT(!around.is_asked[number] && number != asker->host, "host %u is asked twice",
                   number);
        around.is_asked[number] = true;
        around.asked++;
        if (is_reached(asker, number)) {
            answer_query(number, &frame, &arena);
            after_answer(asker, number);
        } else {
            around.silent++;
        }
    }
    arena_deinit(&arena);
    bytes_deinit(&frame);
    campus.sums.waves++;
}

/* Messages come while a query is under way, at peers that were asked and at others. */
static void let_time_pass(void)
{
    if (rng_chance(&campus.rng, 20)) {
        campus.now_ms += 1 + rng_below(&campus.rng, 40);
        for (uint32_t i = rng_below(&campus.rng, 4); i > 0; i--) {
            host_deposit(rng_below(&campus.rng, HOSTS));
        }
        hub_deliver();
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

static void check_skipped(const struct nearest_candidate *results, uint32_t count,
                          const struct hood_outcome *outcome)
{
    int64_t as_of_ms = around.hood_query.now_ms;

    for (uint32_t h = 0; h < HOSTS; h++) {
        const struct c_heard *heard = &around.heard[h];
        const struct c_host *host = &campus.hosts[h];

        if (around.is_asked[h] || !heard->is_met) {
            continue;
        }
        SIM_EXPECT(heard->is_known, "host %u was skipped, but its summary is void", h);
        SIM_EXPECT(around.hood_query.now_ms - heard->as_of_ms <= 0 ||
                       (uint64_t)(around.hood_query.now_ms - heard->as_of_ms) <=
                           around.hood_query.max_staleness_ms,
                   "host %u was skipped, but its summary is too old", h);
        as_of_ms = heard->as_of_ms < as_of_ms ? heard->as_of_ms : as_of_ms;
        if (host->lie != LIE_NONE ||
            memcmp(heard->store_id, host->store_id, sizeof(heard->store_id)) != 0) {
            continue; /* what it had before it was wiped is no more */
        }
        truth_check_skipped(&around.truth, h, heard->seq, results, count, around.hood_query.floor);
        for (uint32_t i = 0; i < host->count && !host->has_gone_back; i++) {
            SIM_EXPECT(host->messages[i].deposited_ms > outcome->as_of_ms ||
                           host->messages[i].seq <= heard->seq,
                       "host %u was skipped, but has a message from before as_of_ms", h);
        }
    }
    SIM_EQUAL(outcome->as_of_ms, as_of_ms);
}

/* Of a host that no word has come from nothing is known, not even that it is there. */
static uint32_t count_met(void)
{
    uint32_t count = 0;

    for (uint32_t h = 0; h < HOSTS; h++) {
        count += around.heard[h].is_met ? 1 : 0;
    }
    return count;
}

static void check_outcome(const struct nearest_candidate *results, uint32_t count,
                          const struct hood_outcome *outcome)
{
    const bool is_limited = around.asked == around.hood_query.peers_max;

    truth_check(&around.truth, results, count);
    SIM_EQUAL(outcome->peers, count_met());
    SIM_EQUAL(outcome->peers_asked, around.asked);
    SIM_EQUAL(outcome->peers_silent, around.silent);
    SIM_CHECK(around.asked <= around.hood_query.peers_max);
    if (is_limited && !outcome->is_complete) {
        campus.sums.limited++; /* nothing is promised about those left out */
        return;
    }
    SIM_EQUAL(outcome->is_complete, around.silent == 0 && !around.is_partial);
    check_skipped(results, count, outcome);
    campus.sums.incomplete += outcome->is_complete ? 0 : 1;
    campus.sums.stale += around.hood_query.max_staleness_ms != UINT64_MAX ? 1 : 0;
}

void ask_around(struct c_asker *asker)
{
    const uint32_t *peers = NULL;
    struct hood_outcome outcome;
    uint32_t count;

    around.asker = asker;
    around.asked = around.silent = 0;
    around.is_partial = false;
    memset(around.is_asked, 0, sizeof(around.is_asked));
    memcpy(around.heard, asker->heard, sizeof(around.heard));
    make_query(asker);
    truth_begin(&around.truth, &around.query);
    begin_search(asker);
    while ((count = hood_search_next(around.search, &peers)) > 0) {
        uint32_t wave[HOSTS];

        memcpy(wave, peers, count * sizeof(*wave));
        ask_wave(asker, wave, count);
        let_time_pass();
    }
    const struct nearest_candidate *results = hood_search_results(around.search, &count, &outcome);
    check_outcome(results, count, &outcome);
    hood_search_free(around.search);
    campus.sums.queries++;
    campus.sums.asked += around.asked;
    campus.sums.silent += around.silent;
    campus.sums.results += count;
}

void ask_deinit(void)
{
    truth_deinit(&around.truth);
}
