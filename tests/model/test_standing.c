/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standing queries against a plain list of them, with every kernel: random queries come and go,
 * and each message must fit exactly those that it fits one by one, each once, by its best part.
 */
#include "core/standing/inner.h"

#include "core/filter/bloom.h"
#include "core/profile/phi.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

enum {
    QUERIES_MAX = 1200, /* more than a node of groups */
    PARTS_MAX = 3,
    PLACES = 60,
    BATCH_MAX = 90, /* more than are matched at a time */
    WORDS_MAX = PROFILE_WORDS_MAX
};

struct asked {
    struct standing_query *query; /* NULL: none */
    struct standing_part parts[PARTS_MAX];
    uint64_t filters[PARTS_MAX][WORDS_MAX];
    uint64_t contains[PARTS_MAX][WORDS_MAX];
    struct standing_terms terms;
    uint32_t found; /* times, for the message being checked */
};

struct message {
    uint64_t filter[WORDS_MAX];
    struct standing_deposit deposit;
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct profile profile;
    struct standing *standing;
    uint64_t places[PLACES][WORDS_MAX];
    struct asked asked[QUERIES_MAX];
    uint32_t count;
    struct message messages[BATCH_MAX];
};

static struct world world; /* too large for a stack */

/* ---- the reference ---- */

/* tests/model/test_phi.c compares phi_similarity with the formula. */
static struct similarity plain_phi(const uint64_t *asking, const uint64_t *other, uint32_t overlap)
{
    struct phi_query query;

    phi_ask(&query, &world.profile, asking);
    return phi_similarity(&query, other, overlap);
}

static struct similarity plain_rank(const struct asked *asked, uint32_t p,
                                    const struct message *message, struct standing_hit *out)
{
    const uint64_t *a = asked->filters[p];
    const uint64_t *b = message->filter;

    *out = (struct standing_hit){.query = asked->query, .part = p};
    for (uint32_t s = 0; s < world.profile.section_count; s++) {
        const struct profile_section *section = &world.profile.sections[s];
        const uint32_t in_a = bloom_union_count_range(a, a, section->first_bit, section->bits);
        const uint32_t in_b = bloom_union_count_range(b, b, section->first_bit, section->bits);
        const uint32_t either = bloom_union_count_range(a, b, section->first_bit, section->bits);

        out->intersection += in_a + in_b - either;
        out->union_count += either;
    }
    out->rank = asked->terms.metric == INDEX_METRIC_PHI ? plain_phi(a, b, out->intersection)
                : out->union_count == 0                 ? (struct similarity){1, 1}
                                        : (struct similarity){out->intersection, out->union_count};
    return out->rank;
}

static bool plain_within(struct similarity rank, uint32_t ppm)
{
    return (uint64_t)(rank.all - rank.shared) * 1000000 <= (uint64_t)ppm * rank.all;
}

/* Whether the query is within the reach of the message. With the metric phi this is judged as if
 * the message were the query: the sections in which the message has bits count. */
static bool plain_reached(const struct asked *asked, const struct standing_hit *hit,
                          const struct message *message)
{
    struct similarity rank = hit->rank;

    if (asked->terms.metric == INDEX_METRIC_PHI) {
        rank = plain_phi(message->filter, asked->filters[hit->part], hit->intersection);
    }
    return plain_within(rank, message->deposit.reach_ppm);
}

static bool plain_contains(const struct asked *asked, uint32_t p, const struct message *message)
{
    for (size_t w = 0; asked->parts[p].contains != NULL && w < bloom_words(world.profile.bits);
         w++) {
        if ((message->filter[w] & asked->contains[p][w]) != asked->contains[p][w]) {
            return false;
        }
    }
    return true;
}

/* Whether a message fits a query, and by which part. */
static bool plain_fits(const struct asked *asked, const struct message *message,
                       struct standing_hit *out)
{
    struct similarity best = {0, 1};
    bool fits = false;

    for (uint32_t p = 0; p < asked->terms.part_count; p++) {
        struct standing_hit hit;
        const struct similarity rank = plain_rank(asked, p, message, &hit);

        if (asked->parts[p].scope == message->deposit.scope && plain_contains(asked, p, message) &&
            plain_within(rank, asked->terms.max_distance_ppm) &&
            plain_reached(asked, &hit, message) &&
            (!fits || (uint64_t)rank.shared * best.all > (uint64_t)best.shared * rank.all)) {
            *out = hit;
            best = rank;
            fits = true;
        }
    }
    return fits;
}

static void check_hit(const struct standing_hit *hit, const struct standing_hit *expected)
{
    assert_ptr_equal(hit->query, expected->query);
    assert_int_equal(hit->part, expected->part);
    assert_int_equal(hit->intersection, expected->intersection);
    assert_int_equal(hit->union_count, expected->union_count);
    assert_int_equal(hit->rank.shared, expected->rank.shared);
    assert_int_equal(hit->rank.all, expected->rank.all);
}

/* ---- what is made up ---- */

/* Perhaps takes the bits of some sections out of a filter, or fills a section. */
static void cut_sections(uint64_t *filter)
{
    uint32_t count = world.profile.section_count;
    uint32_t kept = rng_chance(&world.rng, 60) ? UINT32_MAX : rng_below(&world.rng, 1U << count);
    uint32_t full = rng_chance(&world.rng, 97) ? UINT32_MAX : rng_below(&world.rng, count);

    for (uint32_t s = 0; s < count && count > 1; s++) {
        const struct profile_section *section = &world.profile.sections[s];

        for (uint32_t p = section->first_bit; p < section->first_bit + section->bits; p++) {
            uint64_t bit = UINT64_C(1) << p % 64;

            filter[p / 64] = s == full              ? filter[p / 64] | bit
                             : (kept >> s & 1) == 0 ? filter[p / 64] & ~bit
                                                    : filter[p / 64];
        }
    }
}

/* A context: of some place, with bits of its own and some missing; or nothing, or anything. */
static void make_context(uint64_t *out)
{
    struct rng *rng = &world.rng;
    const uint32_t words = (uint32_t)bloom_words(world.profile.bits);
    uint64_t some[WORDS_MAX];

    if (rng_chance(rng, 3)) {
        rng_filter(rng, world.profile.bits, rng_chance(rng, 50) ? 0 : 100, out);
        return;
    }
    if (rng_chance(rng, 10)) {
        rng_filter(rng, world.profile.bits, rng_below(rng, 101), out);
        return;
    }
    rng_filter(rng, world.profile.bits, 50 + rng_below(rng, 50), some);
    bloom_intersection(out, world.places[rng_below(rng, PLACES)], some, words);
    rng_filter(rng, world.profile.bits, rng_below(rng, 6), some);
    bloom_union(out, out, some, words);
}

static void make_filter(uint64_t *out)
{
    make_context(out);
    cut_sections(out);
}

/* Bits that a filter has, or nearly. */
static void make_contains(const uint64_t *filter, uint64_t *out)
{
    uint64_t some[WORDS_MAX];

    if (rng_chance(&world.rng, 5)) {
        memset(out, 0, WORDS_MAX * sizeof *out);
        return;
    }
    rng_filter(&world.rng, world.profile.bits, 1 + rng_below(&world.rng, 10), some);
    bloom_intersection(out, rng_chance(&world.rng, 80) ? filter : some, some,
                       bloom_words(world.profile.bits));
}

static uint32_t make_radius(void)
{
    static const uint32_t edges[] = {0, 1, 500000, 999999, 1000000};

    return rng_chance(&world.rng, 20) ? edges[rng_below(&world.rng, 5)]
                                      : rng_below(&world.rng, 1000001);
}

static void make_asked(struct asked *asked)
{
    struct rng *rng = &world.rng;

    memset(asked, 0, sizeof *asked);
    asked->terms = (struct standing_terms){
        .parts = asked->parts,
        .part_count = rng_chance(rng, 70) ? 1 : 1 + rng_below(rng, PARTS_MAX),
        .max_distance_ppm = make_radius(),
        .metric = rng_chance(rng, 50) ? INDEX_METRIC_BITS : INDEX_METRIC_PHI,
        .owner = asked,
    };
    for (uint32_t p = 0; p < asked->terms.part_count; p++) {
        make_filter(asked->filters[p]);
        asked->parts[p].filter = asked->filters[p];
        asked->parts[p].scope = rng_chance(rng, 85) ? 0 : rng_below(rng, 3);
        if (rng_chance(rng, 30)) {
            make_contains(asked->filters[p], asked->contains[p]);
            asked->parts[p].contains = asked->contains[p];
        }
    }
}

/* ---- one step each ---- */

static void check_structure(void)
{
    const char *wrong = check_standing(world.standing);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}

static void add_one(void)
{
    struct asked *asked = &world.asked[world.count];

    make_asked(asked);
    assert_int_equal(standing_query_new(world.standing, &asked->terms, &asked->query), 0);
    assert_ptr_equal(standing_owner(asked->query), asked);
    assert_int_equal(standing_insert(world.standing, asked->query), 0);
    world.count++;
}

/* The last one takes its place here: its owner is told anew by being asked anew. */
static void remove_one(void)
{
    struct asked *asked = &world.asked[rng_below(&world.rng, world.count)];

    standing_query_free(world.standing, asked->query);
    world.count--;
    if (asked != &world.asked[world.count]) {
        struct asked *last = &world.asked[world.count];

        standing_query_free(world.standing, last->query);
        *asked = *last;
        asked->terms.parts = asked->parts;
        asked->terms.owner = asked;
        for (uint32_t p = 0; p < asked->terms.part_count; p++) {
            asked->parts[p].filter = asked->filters[p];
            asked->parts[p].contains = last->parts[p].contains != NULL ? asked->contains[p] : NULL;
        }
        assert_int_equal(standing_query_new(world.standing, &asked->terms, &asked->query), 0);
        assert_int_equal(standing_insert(world.standing, asked->query), 0);
    }
}

/* All hits of one message, against the list. */
static void check_message(const struct message *message, uint32_t number,
                          const struct standing_hit *hits, size_t count)
{
    struct standing_hit expected;
    size_t wanted = 0;

    for (uint32_t i = 0; i < world.count; i++) {
        world.asked[i].found = 0;
    }
    for (size_t h = 0; h < count; h++) {
        struct asked *asked = standing_owner(hits[h].query);

        assert_int_equal(hits[h].deposit, number);
        assert_int_equal(asked->found++, 0);
        assert_true(plain_fits(asked, message, &expected));
        check_hit(&hits[h], &expected);
    }
    for (uint32_t i = 0; i < world.count; i++) {
        const bool fits = plain_fits(&world.asked[i], message, &expected);

        wanted += fits;
        if (fits && world.asked[i].found == 0) {
            fail_msg("a query of %u parts, bound %u, was not found",
                     world.asked[i].terms.part_count, world.asked[i].terms.max_distance_ppm);
        }
    }
    assert_int_equal(count, wanted);
}

static void check_single(const struct message *message)
{
    struct asked *asked = &world.asked[rng_below(&world.rng, world.count)];
    struct standing_hit expected;
    struct standing_hit hit;
    const bool fits = plain_fits(asked, message, &expected);

    assert_int_equal(standing_fits(world.standing, asked->query, &message->deposit, &hit), fits);
    if (fits) {
        check_hit(&hit, &expected);
        assert_int_equal(hit.deposit, 0);
    }
}

static void match_some(void)
{
    const uint32_t count = 1 + rng_below(&world.rng, rng_chance(&world.rng, 10) ? BATCH_MAX : 6);
    struct standing_deposit deposits[BATCH_MAX];

    for (uint32_t i = 0; i < count; i++) {
        struct message *message = &world.messages[i];

        make_filter(message->filter);
        message->deposit = (struct standing_deposit){
            .filter = message->filter,
            .scope = rng_chance(&world.rng, 85) ? 0 : rng_below(&world.rng, 3),
            .reach_ppm = rng_chance(&world.rng, 70) ? 1000000 : make_radius(),
        };
        deposits[i] = message->deposit;
    }
    for (uint32_t done = 0; done < count;) {
        const struct standing_hit *hits = NULL;
        size_t hit_count = 0;
        const uint32_t matched =
            standing_match(world.standing, deposits + done, count - done, &hits, &hit_count);

        assert_true(matched >= 1 && matched <= count - done);
        for (uint32_t i = 0; i < matched; i++) {
            size_t end = 0;

            while (end < hit_count && hits[end].deposit == i) {
                end++;
            }
            check_message(&world.messages[done + i], i, hits, end);
            hits += end;
            hit_count -= end;
        }
        assert_int_equal(hit_count, 0);
        done += matched;
    }
    if (world.count > 0) {
        check_single(&world.messages[0]);
    }
}

/* Some parts are moved, perhaps without memory for it. */
static void arrange_some(void)
{
    fail_alloc_arm(&world.alloc, rng_below(&world.rng, 4)); /* 0: nothing fails */
    (void)standing_arrange(world.standing, rng_below(&world.rng, 100));
    fail_alloc_arm(&world.alloc, 0);
}

/* ---- worlds ---- */

static void begin(const char *profile, const struct bits_kernels *kernels)
{
    const struct standing_options options = {
        .alloc = &world.alloc.alloc,
        .profile = &world.profile,
        .kernels = kernels,
    };

    fail_alloc_init(&world.alloc);
    world.profile = profile_of(profile);
    assert_int_equal(standing_new(&options, &world.standing), 0);
    for (uint32_t i = 0; i < PLACES; i++) {
        rng_filter(&world.rng, world.profile.bits, 10 + rng_below(&world.rng, 15), world.places[i]);
    }
    world.count = 0;
}

static void end(void)
{
    while (world.count > 0) {
        standing_query_free(world.standing, world.asked[--world.count].query);
        if (world.count % 256 == 0) {
            check_structure();
        }
    }
    assert_int_equal(standing_count(world.standing), 0);
    standing_free(world.standing);
    assert_int_equal(world.alloc.live_bytes, 0);
}

/* Grows to `most` queries and shrinks again, twice, with messages all the time. */
static void live(uint32_t most)
{
    for (uint32_t wave = 0; wave < 2; wave++) {
        while (world.count < most) {
            for (uint32_t i = 0; i < 1 + most / 12; i++) {
                if (world.count < most && (world.count == 0 || rng_chance(&world.rng, 80))) {
                    add_one();
                } else if (world.count > 0) {
                    remove_one();
                }
            }
            arrange_some();
            check_structure();
            match_some();
        }
        while (world.count > most / 5) {
            for (uint32_t i = 0; i < 1 + most / 8 && world.count > 0; i++) {
                remove_one();
            }
            arrange_some();
            check_structure();
            match_some();
        }
    }
}

static void run_kernels(const char *profile, uint32_t most)
{
    for (int level = BITS_SCALAR; level <= BITS_AVX512; level++) {
        const struct bits_kernels *kernels = bits_table((enum bits_level)level);

        if (kernels != NULL) {
            printf("%s, %s\n", profile, kernels->name);
            begin(profile, kernels);
            live(most);
            end();
        }
    }
}

TEST(test_few_bits)
{
    run_kernels("v2:64/2", 150);
}

TEST(test_usual)
{
    run_kernels("v2:512/4", 300);
}

TEST(test_sections)
{
    run_kernels("v2:wifi=256/2,topic=64/2,any=64/1", 200);
}

/* Different sections that are asked for may share a class; one section has a bit only. */
TEST(test_many_sections)
{
    run_kernels("v2:wifi=100/2,topic=60/2,geo=63/1,time=32/1,any=1/1", 250);
}

TEST(test_many_bits)
{
    run_kernels("v2:4096/4", 60);
}

/* More groups than one node has, with the best kernels only. */
TEST(test_nodes)
{
    begin("v2:256/4", bits_select(BITS_BEST));
    live(QUERIES_MAX);
    end();
}

/* Everybody wants everything: more hits than there is room for in a batch. */
TEST(test_all_fit)
{
    begin("v2:64/2", bits_select(BITS_BEST));
    for (uint32_t i = 0; i < 300; i++) {
        add_one();
        standing_query_free(world.standing, world.asked[i].query);
        world.asked[i].terms.max_distance_ppm = 1000000;
        world.asked[i].terms.part_count = 1;
        world.asked[i].parts[0].contains = NULL;
        world.asked[i].parts[0].scope = 0;
        assert_int_equal(
            standing_query_new(world.standing, &world.asked[i].terms, &world.asked[i].query), 0);
        assert_int_equal(standing_insert(world.standing, world.asked[i].query), 0);
    }
    for (uint32_t i = 0; i < 20; i++) {
        match_some();
    }
    end();
}

/*
 * Queries that have nothing in common have a group each. Such a group has memory for one part only:
 * less than for eight filters, which are a block.
 */
TEST(test_memory_of_one)
{
    enum { ALONE = 512, BLOCK_BYTES = 512 / 8 * BITS_BLOCK };

    begin("v2:512/4", bits_select(BITS_BEST));
    const size_t empty = standing_bytes(world.standing);
    for (uint32_t i = 0; i < ALONE; i++) {
        struct asked *asked = &world.asked[world.count++];

        memset(asked, 0, sizeof *asked);
        rng_filter(&world.rng, 512, 10, asked->filters[0]);
        asked->parts[0].filter = asked->filters[0];
        asked->terms = (struct standing_terms){.parts = asked->parts,
                                               .part_count = 1,
                                               .max_distance_ppm = 772500,
                                               .metric = INDEX_METRIC_PHI,
                                               .owner = asked};
        assert_int_equal(standing_query_new(world.standing, &asked->terms, &asked->query), 0);
        assert_int_equal(standing_insert(world.standing, asked->query), 0);
    }
    const size_t each = (standing_bytes(world.standing) - empty) / ALONE;
    printf("%zu bytes a query\n", each);
    assert_true(each < BLOCK_BYTES + 100);
    for (uint32_t i = 0; i < 20; i++) {
        match_some();
    }
    check_structure();
    end();
}

/* A part of all that can be seen in one place; two such have little more than half in common. */
static void make_alike(uint64_t *out)
{
    uint64_t some[WORDS_MAX];

    rng_filter(&world.rng, world.profile.bits, 60, some);
    bloom_intersection(out, world.places[0], some, bloom_words(world.profile.bits));
}

static void ask_alike(void)
{
    struct asked *asked = &world.asked[world.count++];

    memset(asked, 0, sizeof *asked);
    make_alike(asked->filters[0]);
    asked->parts[0].filter = asked->filters[0];
    asked->terms = (struct standing_terms){
        .parts = asked->parts, .part_count = 1, .max_distance_ppm = 200000, .owner = asked};
    assert_int_equal(standing_query_new(world.standing, &asked->terms, &asked->query), 0);
    assert_int_equal(standing_insert(world.standing, asked->query), 0);
}

/* Messages that are like all that is asked for, and fit next to nothing of it. Parts compared with
 * one. */
static double match_alike(uint32_t count)
{
    const uint64_t before = world.standing->compared;

    for (uint32_t i = 0; i < count; i++) {
        struct message message = {.deposit = {.reach_ppm = 1000000}};
        const struct standing_hit *hits = NULL;
        size_t hit_count = 0;

        if (i % 512 == 0) { /* but this one does */
            memcpy(message.filter, world.asked[i % world.count].filters[0], sizeof message.filter);
        } else {
            make_alike(message.filter);
        }
        message.deposit.filter = message.filter;
        assert_int_equal(standing_match(world.standing, &message.deposit, 1, &hits, &hit_count), 1);
        if (i % 64 == 0) {
            check_message(&message, 0, hits, hit_count);
            assert_true(i % 512 != 0 || hit_count > 0);
        }
    }
    return (double)(world.standing->compared - before) / count;
}

/* Where all contexts are alike, wide groups rule nothing out: they are made narrower, until hardly
 * anything is compared in vain. */
TEST(test_alike)
{
    enum { ALIKE = 600, MESSAGES = 5000, ROUNDS = 8 };

    begin("v2:512/4", bits_select(BITS_BEST));
    rng_filter(&world.rng, 512, 25, world.places[0]);
    while (world.count < ALIKE) {
        ask_alike();
    }
    const double first = match_alike(64);
    assert_true(first > ALIKE / 4);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        while (standing_arrange(world.standing, 50)) {
            check_structure();
        }
        (void)match_alike(MESSAGES);
    }
    while (standing_arrange(world.standing, 50)) {
    }
    assert_true(match_alike(1024) < first / 8);
    check_structure();
    end();
}

static int seed_once(void **state)
{
    (void)state;
    rng_init(&world.rng);
    return 0;
}

int main(void)
{
    return check_run(seed_once, NULL);
}
