/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of client/bridge/ask that know neighbours: a circle of them, and rounds of queries
 * before neighbours that are made up here. */
#include "client/bridge/ask/inner.h"
#include "core/base/alloc.h"
#include "core/base/expiry.h"
#include "core/filter/bloom.h"
#include "core/filter/distance.h"
#include "proto/codec/letter.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"
#include "tests/lib/rng.h"

enum { BITS = 512, WORDS = BITS / 64, BYTES = BITS / 8 };
#define PROFILE "v2:512/4"

static struct rng rng;

struct stored {
    uint8_t bytes[BYTES];
};

/* --- neighbours and rounds -------------------------------------------------------------------- */

enum { PEERS = 40, MESSAGES = 12, K = 5 };

/* How a neighbour behaves. */
enum manner { HONEST, ABSENT, MUTE, REFUSING, RESTORING, LYING, MANNERS };

struct message {
    uint8_t id[LIMIT_ID_BYTES];
    uint64_t filter[WORDS];
    int64_t deposited_ms;
};

struct neighbour {
    enum manner manner;
    struct message messages[MESSAGES];
    uint32_t count;
};

static struct neighbour neighbours[PEERS];
static struct circle *circle;

/* What was sent and not answered. */
static struct {
    uint32_t peers[PEERS];
    uint32_t count;
    struct hearsay_query query; /* of the last letter; borrows from query_arena */
    struct arena arena;
    bool is_done;
    bool has_results;
    struct hearsay_results results; /* numbers only */
    uint32_t found;
    uint8_t ids[K][LIMIT_ID_BYTES];
    char hosts[K][BRIDGE_NAME_BYTES];
} fake;

static bool fake_send(void *context, struct round *round, uint32_t peer, const void *data,
                      size_t size)
{
    struct msg_letter letter;
    struct msg_error error;

    (void)context;
    (void)round;
    if (neighbours[peer].manner == ABSENT) {
        return false;
    }
    arena_reset(&fake.arena);
    assert_int_equal(letter_decode(data, size, &fake.arena, &letter, &error), 0);
    assert_int_equal(letter.kind, MSG_LETTER_PEER_QUERY);
    assert_null(letter.peer_query.query.host.text);
    fake.query = letter.peer_query.query;
    fake.peers[fake.count++] = peer;
    return true;
}

static void fake_done(void *context, struct round *round, const struct hearsay_results *results)
{
    (void)context;
    (void)round;
    assert_false(fake.is_done);
    fake.is_done = true;
    fake.has_results = results != NULL;
    if (results != NULL) {
        fake.results = *results;
        fake.found = (uint32_t)results->result_count;
        for (uint32_t i = 0; i < fake.found; i++) {
            memcpy(fake.ids[i], results->results[i].id.data, LIMIT_ID_BYTES);
            (void)snprintf(fake.hosts[i], BRIDGE_NAME_BYTES, "%s", results->results[i].host.text);
            assert_int_equal(results->results[i].filter.count, BYTES);
        }
    }
}

static const struct round_events fake_events = {fake_send, fake_done};

/* A peer's word without messages: a delta. */
static struct msg_peer_summary make_word(uint64_t seq)
{
    static const uint8_t store_id[LIMIT_ID_BYTES] = {1};

    return (struct msg_peer_summary){.store_id = {store_id, LIMIT_ID_BYTES},
                                     .seq = seq,
                                     .newest_ms = INT64_MIN,
                                     .profile = {PROFILE, sizeof(PROFILE) - 1}};
}

/* What hearsayd asks of the hood: 10 seconds of patience. */
static struct hearsay_ask make_ask(uint64_t id, const struct hearsay_query_part *part, uint32_t k,
                                   uint32_t peers_max)
{
    struct hearsay_ask ask = {
        .ask_id = id, .query = plain_query(part, 1, k), .peers_max = peers_max};

    ask.query.wait_ms = 10000;
    return ask;
}

static void name_peer(uint32_t peer, char *out)
{
    (void)snprintf(out, BRIDGE_NAME_BYTES, "p%u", (unsigned)peer);
}

/* A neighbour tells what it has: one group for each message. */
static void tell_neighbour(uint32_t peer)
{
    static const uint8_t store_id[LIMIT_ID_BYTES] = {1};
    struct neighbour *neighbour = &neighbours[peer];
    struct hearsay_summary_group groups[MESSAGES];
    static struct stored stored[MESSAGES];
    char name[BRIDGE_NAME_BYTES];

    for (uint32_t i = 0; i < neighbour->count; i++) {
        uint32_t set_bits = bloom_cardinality(neighbour->messages[i].filter, WORDS);

        bloom_store(neighbour->messages[i].filter, BITS, stored[i].bytes);
        groups[i] =
            (struct hearsay_summary_group){.union_filter = {stored[i].bytes, BYTES},
                                           .least = {set_bits},
                                           .least_count = 1,
                                           .most = {set_bits},
                                           .most_count = 1,
                                           .newest_ms = neighbour->messages[i].deposited_ms};
    }
    struct msg_peer_summary word = {.store_id = {store_id, LIMIT_ID_BYTES},
                                    .seq = 5,
                                    .as_of_ms = 900,
                                    .newest_ms = INT64_MIN,
                                    .full = true,
                                    .profile = {PROFILE, sizeof(PROFILE) - 1},
                                    .groups = groups,
                                    .group_count = neighbour->count};
    name_peer(peer, name);
    assert_true(circle_hear(circle, name, &word, 950, 1));
    assert_string_equal(circle->peers[peer].host, name);
    assert_false(circle->peers[peer].is_other);
}

/* A world: messages of a few places, so that neighbours have similar ones. */
static void make_world(uint32_t odd_percent)
{
    uint64_t places[8][WORDS];

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    for (int i = 0; i < 8; i++) {
        rng_filter(&rng, BITS, 8, places[i]);
    }
    for (uint32_t p = 0; p < PEERS; p++) {
        struct neighbour *neighbour = &neighbours[p];

        neighbour->manner = rng_chance(&rng, odd_percent)
                                ? (enum manner)(1 + rng_below(&rng, MANNERS - 1))
                                : HONEST;
        neighbour->count = rng_below(&rng, MESSAGES + 1);
        for (uint32_t i = 0; i < neighbour->count; i++) {
            struct message *message = &neighbour->messages[i];

            memcpy(message->filter, places[rng_below(&rng, 8)], sizeof(message->filter));
            for (int bit = 0; bit < 12; bit++) {
                bloom_set(message->filter, rng_below(&rng, BITS));
            }
            for (int b = 0; b < LIMIT_ID_BYTES; b++) {
                message->id[b] = (uint8_t)rng_next(&rng);
            }
            message->deposited_ms = rng_below(&rng, 900);
        }
        tell_neighbour(p);
    }
}

static struct similarity rank_of(const uint64_t *asked, const struct message *message)
{
    return similarity_of(bloom_intersection_count(asked, message->filter, WORDS),
                         bloom_union_count(asked, message->filter, WORDS));
}

static uint32_t count_better(const struct neighbour *neighbour, const uint64_t *asked,
                             const struct message *message)
{
    uint32_t better = 0;

    for (uint32_t i = 0; i < neighbour->count; i++) {
        better +=
            similarity_compare(rank_of(asked, &neighbour->messages[i]), rank_of(asked, message)) > 0
                ? 1
                : 0;
    }
    return better;
}

/* The k best of the neighbour, best first, as its bridge answers. */
static void answer_query(struct round *round, uint32_t peer, const uint64_t *asked)
{
    static const uint8_t store_id[LIMIT_ID_BYTES] = {1};
    const struct neighbour *neighbour = &neighbours[peer];
    static struct stored stored[MESSAGES];
    struct hearsay_result results[MESSAGES + 1];
    struct msg_peer_results answer = {
        .store_id = {store_id, LIMIT_ID_BYTES},
        .seq = 5,
        .has_results = neighbour->manner != REFUSING,
        .results = {.results = results, .complete = neighbour->manner != RESTORING}};
    size_t count = 0;

    for (uint32_t n = 0; n < K * neighbour->count && count < K; n++) {
        const struct message *message = &neighbour->messages[n % neighbour->count];

        if (count_better(neighbour, asked, message) != n / neighbour->count) {
            continue;
        }
        bloom_store(message->filter, BITS, stored[count].bytes);
        results[count] = (struct hearsay_result){.id = {message->id, LIMIT_ID_BYTES},
                                                 .deposited_ms = message->deposited_ms,
                                                 .expires_ms = message->deposited_ms + 1000,
                                                 .filter = {stored[count].bytes, BYTES}};
        if (neighbour->manner == LYING) {
            results[count].filter.count = rng_chance(&rng, 50) ? BYTES - 8 : BYTES;
            results[count].distance_ppm = 0;
            memset(stored[count].bytes, rng_chance(&rng, 50) ? 0xff : 0, BYTES / 2);
        }
        count++;
    }
    answer.results.result_count = count;
    round_take(round, peer, &answer, 2000);
}

/* The best of all honest neighbours, by comparing with each. Of equals the sets may differ, so only
 * similarities are compared. */
static void check_against_all(const uint64_t *asked)
{
    uint64_t best[K] = {0};
    uint64_t got[K] = {0};
    uint32_t total = 0;

    for (uint32_t p = 0; p < PEERS; p++) {
        for (uint32_t i = 0; i < neighbours[p].count; i++) {
            struct similarity rank = rank_of(asked, &neighbours[p].messages[i]);
            uint64_t value = ((uint64_t)rank.shared << 32) / rank.all;

            total++;
            for (int k = 0; k < K; k++) {
                if (value > best[k]) {
                    uint64_t lower = best[k];

                    best[k] = value;
                    value = lower;
                }
            }
            for (uint32_t r = 0; r < fake.found; r++) {
                char name[BRIDGE_NAME_BYTES];

                name_peer(p, name);
                if (memcmp(fake.ids[r], neighbours[p].messages[i].id, LIMIT_ID_BYTES) == 0) {
                    got[r] = ((uint64_t)rank.shared << 32) / rank.all;
                    assert_string_equal(fake.hosts[r], name);
                }
            }
        }
    }
    assert_int_equal(fake.found, total < K ? total : K);
    assert_memory_equal(got, best, sizeof(best));
}

static void run_round(uint32_t odd_percent)
{
    uint64_t asked[WORDS];
    struct stored stored;
    int64_t now = 2000;

    make_world(odd_percent);
    memset(&fake, 0, sizeof(fake));
    arena_init(&fake.arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    memcpy(asked, neighbours[0].messages[0].filter, sizeof(asked));
    bloom_set(asked, 1);
    bloom_store(asked, BITS, stored.bytes);
    struct hearsay_query_part part = {.filter = {stored.bytes, BYTES}};
    struct hearsay_ask ask = make_ask(1, &part, K, 4096);
    ask.query.host = (struct hearsay_text){"here", 4};
    struct round *round = round_new(circle, &ask, 65536, &fake_events, NULL, now);

    assert_non_null(round);
    round_begin(round, 1000, now);
    while (!fake.is_done) {
        uint32_t asked_peers[PEERS];
        uint32_t count = fake.count;

        memcpy(asked_peers, fake.peers, sizeof(asked_peers));
        fake.count = 0;
        for (uint32_t i = 0; i < count && !fake.is_done; i++) {
            if (neighbours[asked_peers[i]].manner != MUTE) {
                answer_query(round, asked_peers[i], asked);
            }
        }
        if (!fake.is_done && fake.count == 0) { /* only those that stay mute are left */
            now = round_due_ms(round);
            round_tick(round, now - 1);
            assert_true(!fake.is_done && fake.count == 0);
            round_tick(round, now);
        }
    }
    assert_true(fake.has_results);
    assert_int_equal(fake.results.peers, PEERS);
    assert_true(fake.results.peers_silent <= fake.results.peers_asked);
    assert_true(round_waves(round) <= 4);
    if (odd_percent == 0) {
        assert_true(fake.results.complete);
    }
    for (uint32_t p = 0; p < PEERS; p++) { /* the inventions of a liar stay the liar's */
        neighbours[p].count = neighbours[p].manner == LYING ? 0 : neighbours[p].count;
    }
    if (fake.results.complete && odd_percent == 0) {
        check_against_all(asked);
    }
    round_free(round);
    circle_free(circle);
    arena_deinit(&fake.arena);
}

TEST(test_rounds_are_exact)
{
    for (int i = 0; i < 200; i++) {
        run_round(0);
    }
}

/* Absent, mute, refusing and lying neighbours: a round ends, and says what is missing. */
TEST(test_rounds_end)
{
    for (int i = 0; i < 200; i++) {
        run_round(30);
        for (uint32_t p = 0; p < PEERS; p++) {
            neighbours[p].manner = HONEST;
        }
    }
}

/* Of a later version: neighbours would drop the query. */
TEST(test_a_metric_that_is_not_known)
{
    struct stored stored = {.bytes = {1}};
    struct hearsay_query_part part = {.filter = {stored.bytes, BYTES}};
    struct hearsay_ask ask = make_ask(1, &part, K, 4096);

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    ask.query.metric = (enum hearsay_metric)9;
    assert_null(round_new(circle, &ask, 65536, &fake_events, NULL, 2000));
    circle_free(circle);
}

TEST(test_a_circle_has_room_for_some)
{
    struct msg_peer_summary word = make_word(0);
    word.full = true;
    char name[BRIDGE_NAME_BYTES];

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    for (uint32_t p = 0; p < CIRCLE_PEERS_MAX; p++) {
        name_peer(p, name);
        word.profile.text = p % 2 == 0 ? PROFILE : "v2:256/4";
        assert_true(circle_hear(circle, name, &word, 0, 5000));
    }
    assert_false(circle_hear(circle, "late", &word, 0, 5000));
    assert_int_equal(hood_count(circle->hood), CIRCLE_PEERS_MAX / 2);
    assert_int_equal(circle->other_count, CIRCLE_PEERS_MAX / 2);
    assert_true(circle->peers[1].is_other);
    word.profile.text = PROFILE; /* it has changed its profile, and its first words are lost */
    word.full = false;
    word.after = 3;
    assert_true(circle_hear(circle, "p1", &word, 0, 5000));
    assert_int_equal(circle->other_count, CIRCLE_PEERS_MAX / 2 - 1);
    assert_string_equal(circle_next_void(circle, 6000), "p1");
    assert_null(circle_next_void(circle, 6000 + CIRCLE_ASK_MS - 1));
    assert_string_equal(circle_next_void(circle, 6000 + CIRCLE_ASK_MS), "p1");
    assert_null(circle_next_void(circle, 6000 + 3 * CIRCLE_ASK_MS - 1));
    assert_null(circle_next_void(circle, 5000 + (int64_t)CIRCLE_GONE_MS + 1));
    assert_int_equal(hood_count(circle->hood), 0); /* all were silent for a day */
    assert_int_equal(circle->other_count, 0);
    assert_true(circle_hear(circle, "late", &word, 0, 5000));
    circle_free(circle);
}

/* The clock of the words is one second behind the loop's. */
enum { WORDS_BEHIND_MS = 1000 };

static void hear_empty(const char *host, int64_t monotonic_ms, bool has_room)
{
    struct msg_peer_summary word = make_word(5);
    word.as_of_ms = monotonic_ms - WORDS_BEHIND_MS;
    word.full = true;

    assert_int_equal(circle_hear(circle, host, &word, word.as_of_ms, monotonic_ms), has_room);
}

/* A round of a circle whose peers have no messages. Its answer is in fake.results. The caller frees
 * it. */
static struct round *begin_at(int64_t monotonic_ms, uint64_t max_staleness_ms)
{
    struct stored stored = {.bytes = {1}};
    struct hearsay_query_part part = {.filter = {stored.bytes, BYTES}};
    struct hearsay_ask ask = make_ask(1, &part, K, 4096);
    ask.query.max_staleness_ms = max_staleness_ms;
    struct round *round = round_new(circle, &ask, 65536, &fake_events, NULL, monotonic_ms);

    memset(&fake, 0, sizeof(fake));
    arena_init(&fake.arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    assert_non_null(round);
    round_begin(round, monotonic_ms - WORDS_BEHIND_MS, monotonic_ms);
    return round;
}

static void end_round(struct round *round)
{
    round_free(round);
    arena_deinit(&fake.arena);
}

/* The same, of which no peer is asked. */
static void ask_at(int64_t monotonic_ms, uint64_t max_staleness_ms)
{
    struct round *round = begin_at(monotonic_ms, max_staleness_ms);

    assert_true(fake.is_done && fake.has_results);
    end_round(round);
}

static void ask_empty(uint32_t peers, uint32_t skipped)
{
    ask_at(2000, UINT64_MAX);
    assert_int_equal(fake.results.peers, peers);
    assert_int_equal(fake.results.peers_asked, 0);
    assert_int_equal(fake.results.peers_skipped, skipped);
    assert_int_equal(fake.results.complete, skipped == 0);
    assert_int_equal(fake.results.exact, skipped == 0);
}

/* A hood that has more hosts than a circle has room for: answers count the others, and are not
 * complete, for as long as the others are there. */
TEST(test_a_hood_that_is_too_large)
{
    enum { MORE = 43 };
    const int64_t later_ms = 1000 + (int64_t)CIRCLE_GONE_MS;
    char name[BRIDGE_NAME_BYTES];

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    for (uint32_t p = 0; p < CIRCLE_PEERS_MAX; p++) {
        name_peer(p, name);
        hear_empty(name, p == 7 ? 1000 : 3000, true);
    }
    ask_empty(CIRCLE_PEERS_MAX, 0);
    for (uint32_t p = 0; p < 2 * MORE; p++) { /* each twice */
        name_peer(CIRCLE_PEERS_MAX + p / 2, name);
        hear_empty(name, p / 2 == 1 ? 1000 : 3000, false);
    }
    ask_empty(CIRCLE_PEERS_MAX + MORE, MORE);
    /* One of those within and one of those without have gone: another one gets the place. */
    assert_null(circle_next_void(circle, later_ms + 1));
    assert_int_equal(circle->skipped_count, MORE - 1);
    name_peer(CIRCLE_PEERS_MAX, name);
    hear_empty(name, later_ms + 1, true);
    ask_empty(CIRCLE_PEERS_MAX + MORE - 2, MORE - 2);
    for (uint32_t p = 0; p < 2 * CIRCLE_SKIPPED_MAX; p++) { /* the count has a bound */
        name_peer(1000 + p, name);
        hear_empty(name, later_ms + 1, false);
    }
    assert_int_equal(circle->skipped_count, CIRCLE_SKIPPED_MAX);
    circle_free(circle);
}

/* How often a peer is asked for its full word from begin_ms on, for an hour. */
static int count_requests(int64_t begin_ms)
{
    int count = 0;

    for (int64_t at = begin_ms; at < begin_ms + 60 * 60 * 1000; at += 500) {
        count += circle_next_void(circle, at) != NULL ? 1 : 0;
    }
    return count;
}

/* A peer whose full word never comes is asked less and less often; after a right word soon again.
 */
TEST(test_a_peer_that_stays_void)
{
    struct msg_peer_summary word = make_word(4);
    word.after = 3;
    const int64_t hour_ms = 60 * 60 * 1000;

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    assert_true(circle_hear(circle, "p0", &word, 0, 1000));
    assert_in_range(count_requests(1000), 60, 66);
    word.full = true;
    assert_true(circle_hear(circle, "p0", &word, 0, hour_ms));
    assert_null(circle_next_void(circle, 2 * hour_ms));
    word.full = false; /* a lost word */
    word.seq = 9;
    word.after = 8;
    assert_true(circle_hear(circle, "p0", &word, 0, 2 * hour_ms));
    assert_string_equal(circle_next_void(circle, 2 * hour_ms), "p0");
    assert_null(circle_next_void(circle, 2 * hour_ms + CIRCLE_ASK_MS - 1));
    assert_string_equal(circle_next_void(circle, 2 * hour_ms + CIRCLE_ASK_MS), "p0");
    circle_free(circle);
}

/* A bridge that has begun asks all peers at once, and waits for their answers before it names one.
 */
TEST(test_a_circle_that_begins)
{
    struct msg_peer_summary word = make_word(4);
    word.after = 3;

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    circle_join(circle, 1000);
    assert_false(circle_asks_again(circle, 1000 + CIRCLE_AGAIN_MS - 1));
    assert_true(circle_asks_again(circle, 1000 + CIRCLE_AGAIN_MS));
    assert_false(circle_asks_again(circle, 2000 + CIRCLE_AGAIN_MS));
    assert_true(circle_hear(circle, "p0", &word, 0, 1100)); /* it is there: a keepalive */
    assert_int_equal(hood_count(circle->hood), 1);
    assert_false(hood_knows(circle->hood, 0));
    assert_null(circle_next_void(circle, 1000 + CIRCLE_HOLD_MS - 1));
    assert_string_equal(circle_next_void(circle, 1000 + CIRCLE_HOLD_MS), "p0");
    circle_free(circle);
}

/* Asks at this time, and checks that the answer is complete as of the other one; 0: that it is not
 * complete. */
static void check_answer(int64_t monotonic_ms, int64_t as_of_ms)
{
    ask_at(monotonic_ms, UINT64_MAX);
    assert_int_equal(fake.results.complete, as_of_ms != 0);
    if (as_of_ms != 0) {
        assert_int_equal(fake.results.as_of_ms, as_of_ms - WORDS_BEHIND_MS);
    }
}

/* A circle that has lost the hub does not hear of new hosts. So after it has joined the hub again,
 * its answers are complete as of the last word before, until all hosts have had the time to tell
 * something. A circle that has only begun has no such time. */
TEST(test_a_circle_that_joins_again)
{
    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    circle_join(circle, 1000);
    hear_empty("p0", 1500, true);
    check_answer(2000, 0);
    circle_part(circle, 2500); /* too soon: there may have been others */
    circle_join(circle, 3000);
    check_answer(7999, 0);
    check_answer(8000, 1500); /* p0 is not asked: as of its last word */
    hear_empty("p0", 9000, true);
    circle_part(circle, 10000);
    circle_join(circle, 11000);
    hear_empty("p0", 12000, true);
    check_answer(12500, 9000);
    ask_at(12500, 3500);
    assert_true(fake.results.complete);
    ask_at(12500, 3499); /* for whom this is too old */
    assert_false(fake.results.complete);
    circle_part(circle, 13000); /* while hosts tell that they are there */
    circle_join(circle, 14000);
    hear_empty("p0", 14500, true);
    check_answer(18999, 9000);
    check_answer(19000, 14500);
    circle_free(circle);
}

/* A neighbour that was silent is awaited briefly by the next query, and as any other when it has
 * answered. */
TEST(test_a_silent_peer_is_awaited_briefly)
{
    static const uint8_t store_id[LIMIT_ID_BYTES] = {1};
    const struct msg_peer_results answer = {.store_id = {store_id, LIMIT_ID_BYTES},
                                            .seq = 5,
                                            .has_results = true,
                                            .results = {.complete = true}};
    struct round *round;

    assert_int_equal(circle_new("campus", PROFILE, &circle), 0);
    hear_empty("p0", 1500, true);
    round = begin_at(2000, 0);
    assert_int_equal(round_due_ms(round), 2000 + ROUND_WAVE_MS);
    round_tick(round, 2000 + ROUND_WAVE_MS);
    assert_true(fake.is_done && !fake.results.complete);
    end_round(round);
    round = begin_at(2300, 0); /* silent once more */
    assert_int_equal(round_due_ms(round), 2300 + ROUND_SILENT_MS);
    round_tick(round, 2300 + ROUND_SILENT_MS);
    assert_true(fake.is_done && !fake.results.complete);
    assert_int_equal(fake.results.peers_silent, 1);
    end_round(round);
    round = begin_at(2400, 0);
    assert_false(fake.is_done);
    round_take(round, 0, &answer, 2410);
    assert_true(fake.is_done && fake.results.complete);
    end_round(round);
    round = begin_at(2500, 0);
    assert_int_equal(round_due_ms(round), 2500 + ROUND_WAVE_MS);
    end_round(round);
    circle_free(circle);
}

/* What becomes of an answer that is too long for a frame. */
static struct {
    size_t frame_bytes;
    uint32_t count;
    uint32_t omitted;
    bool is_complete;
} framed;

static void framed_done(void *context, struct round *round, const struct hearsay_results *results)
{
    struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_ANSWERED};
    struct bytes bytes;

    (void)context;
    assert_non_null(results);
    request.answered.ask_id = round_ask_id(round);
    request.answered.has_results = true;
    request.answered.results = *results;
    bytes_init(&bytes, alloc_system());
    assert_int_equal(codec_encode_request(&request, framed.frame_bytes, &bytes), 0);
    framed.count = (uint32_t)results->result_count;
    framed.omitted = 0;
    for (uint32_t i = 0; i < framed.count; i++) {
        framed.omitted += results->results[i].payload_omitted ? 1 : 0;
        assert_true(results->results[i].payload_omitted ==
                    (results->results[i].media_type.text == NULL));
    }
    framed.is_complete = results->complete;
    bytes_deinit(&bytes);
}

static bool framed_send(void *context, struct round *round, uint32_t peer, const void *data,
                        size_t size)
{
    (void)context;
    (void)round;
    (void)peer;
    (void)data;
    (void)size;
    return true;
}

/* One neighbour has LIMIT_RESULTS messages with long types, and payloads of some bytes. */
static void run_framed(uint32_t k, size_t frame_bytes, size_t payload_bytes)
{
    static const struct round_events events = {framed_send, framed_done};
    static const uint8_t store_id[LIMIT_ID_BYTES] = {1};
    static uint8_t ids[LIMIT_RESULTS][LIMIT_ID_BYTES];
    static struct hearsay_result results[LIMIT_RESULTS];
    static char type[LIMIT_MEDIA_TYPE_BYTES + 1];
    static uint8_t payload[4096];
    uint64_t bits[WORDS];
    struct stored filter;
    struct hearsay_query_part part = {.filter = {filter.bytes, BYTES}};
    struct hearsay_ask ask = make_ask(UINT64_MAX, &part, k, 64);
    ask.query.host = (struct hearsay_text){"here", 4};
    ask.query.with_payload = true;

    rng_filter(&rng, BITS, 5, bits);
    bloom_store(bits, BITS, filter.bytes);
    memset(type, 'a', sizeof(type) - 1);
    make_world(0);
    for (uint32_t p = 1; p < PEERS; p++) {
        hood_drop(circle->hood, p);
    }
    neighbours[0].count = 0;
    tell_neighbour(0);
    for (uint32_t i = 0; i < k; i++) {
        memcpy(ids[i], &i, sizeof(i));
        results[i] = (struct hearsay_result){.id = {ids[i], LIMIT_ID_BYTES},
                                             .deposited_ms = 1700000000000,
                                             .expires_ms = 1700000000001,
                                             .media_type = {type, LIMIT_MEDIA_TYPE_BYTES},
                                             .payload = {payload, payload_bytes},
                                             .filter = {filter.bytes, BYTES}};
    }
    framed.frame_bytes = frame_bytes;
    ask.query.max_staleness_ms = 0; /* so the neighbour is asked, whatever it has told */
    struct round *round = round_new(circle, &ask, frame_bytes, &events, NULL, 2000);
    struct msg_peer_results answer = {
        .store_id = {store_id, LIMIT_ID_BYTES},
        .seq = 5,
        .has_results = true,
        .results = {.results = results, .result_count = k, .complete = true}};

    assert_non_null(round);
    round_begin(round, 1000, 2000);
    round_take(round, 0, &answer, 2001);
    round_free(round);
    circle_free(circle);
}

/* The largest answers fit the smallest and the largest frame; what is left out shows. */
TEST(test_the_largest_answers_fit)
{
    run_framed(LIMIT_RESULTS, LIMIT_FRAME_BYTES_DEFAULT, 100);
    assert_in_range(framed.count, 450, LIMIT_RESULTS - 1);
    assert_false(framed.is_complete);
    assert_in_range(framed.omitted, framed.count - 2, framed.count);
    run_framed(LIMIT_RESULTS, LIMIT_FRAME_BYTES_MIN, 0);
    assert_in_range(framed.count, 20, 40);
    assert_false(framed.is_complete);
    run_framed(LIMIT_RESULTS, LIMIT_FRAME_BYTES_MAX, 4096);
    assert_int_equal(framed.count, LIMIT_RESULTS);
    assert_true(framed.is_complete);
    assert_in_range(framed.omitted, 700, 850);
    run_framed(400, LIMIT_FRAME_BYTES_DEFAULT, 100); /* 400 results of 256 bytes are 100 KB */
    assert_int_equal(framed.count, 400);
    assert_true(framed.is_complete);
    assert_in_range(framed.omitted, 300, 380);
}

TEST(test_times_that_no_message_has_are_left_out)
{
    static const struct {
        int64_t deposited_ms;
        int64_t expires_ms;
        bool fits;
    } times[] = {
        {0, 1, true},
        {1, 1, false},
        {2, 1, false},
        {-1, 1, false},
        {INT64_MIN, INT64_MAX, false},
        {INT64_MAX - 1, INT64_MAX, false},
        {MESSAGE_TIME_MAX_MS - 1, MESSAGE_TIME_MAX_MS, true},
        {MESSAGE_TIME_MAX_MS - 1, MESSAGE_TIME_MAX_MS + 1, false},
        {5, 5 + MESSAGE_LIFE_MAX_MS, true},
        {5, 6 + MESSAGE_LIFE_MAX_MS, false},
    };
    static const uint8_t id[LIMIT_ID_BYTES] = {1};
    static const uint8_t filter[BYTES] = {1};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct hearsay_result result = {.id = {id, LIMIT_ID_BYTES},
                                        .filter = {filter, BYTES},
                                        .deposited_ms = times[i].deposited_ms,
                                        .expires_ms = times[i].expires_ms};
        struct hearsay_results results = {.results = &result, .result_count = 1};
        struct kept *kept = kept_new(&results, 1, BITS, 0, "ap1", 0);

        assert_non_null(kept);
        assert_int_equal(kept->count, times[i].fits);
        free(kept);
    }
}

int main(void)
{
    rng_init(&rng);
    return check_run(NULL, NULL);
}
