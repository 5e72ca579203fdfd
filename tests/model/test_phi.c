/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the index infers about phi, against phi itself: random filters, also very full ones, and
 * groups of filters like one another.
 */
#include "core/profile/phi.h"

#include <stdio.h>
#include <string.h>

#include "core/bits/bits.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { WORDS = PROFILE_WORDS_MAX, GROUP = 8, ROUNDS = 20000 };

static const char *const profiles[] = {
    "v1:64/4",
    "v1:512/4",
    "v1:wifi=320/2,any=192/3",
    "v1:wifi=320/2,place=79/8,any=113/3",
    "v1:a=1/1,b=2/1,c=3/1,d=58/2",
    "v1:a=4/1,b=4/1,c=4/1,d=4/1,e=4/1,f=4/1,g=4/1,h=4/1,i=4/1,j=4/1,k=4/1,l=4/1,m=4/1,n=4/1,o=4/1,"
    "p=4/1",
    "v1:4096/4",
};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

static struct profile make_profile(const char *text)
{
    struct profile profile;
    const char *reason = NULL;

    assert_int_equal(profile_parse(text, strlen(text), &profile, &reason), 0);
    return profile;
}

/* Sections without bits, with a few, or with most of them. Bits of `like` are kept with a chance.
 */
static void make_filter(struct rng *rng, const struct profile *profile, const uint64_t *like,
                        uint32_t keep, uint64_t *out)
{
    memset(out, 0, WORDS * sizeof *out);
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t usual = section->bits > 1000 ? 3 : 1 + rng_below(rng, 30);
        uint32_t percent = rng_chance(rng, 25)  ? 0
                           : rng_chance(rng, 4) ? rng_below(rng, 101)
                                                : usual;

        for (uint32_t p = section->first_bit; p < section->first_bit + section->bits; p++) {
            bool kept = like != NULL && bloom_test(like, p) && rng_chance(rng, keep);

            if (kept || (like != NULL ? rng_chance(rng, percent / 4) : rng_chance(rng, percent))) {
                bloom_set(out, p);
            }
        }
    }
}

static struct similarity phi_of(const struct phi_query *query, const struct profile *profile,
                                const uint64_t *filter, const uint64_t *message)
{
    return phi_similarity(query, message,
                          bloom_intersection_count(filter, message, bloom_words(profile->bits)));
}

/* phi_reaches refuses only what is below, and else says the same as phi_similarity. */
static void check_reaches(struct rng *rng, const struct phi_query *query, const uint64_t *message,
                          uint32_t overlap)
{
    struct similarity phi = phi_similarity(query, message, overlap);
    uint32_t near = phi.shared / 4096 + rng_below(rng, 3);
    uint32_t least = rng_chance(rng, 50)                   ? rng_below(rng, PHI_ONE + 1)
                     : rng_chance(rng, 50) && near <= 4096 ? near * 4096
                                                           : phi.shared;
    struct similarity found = {0, 0};

    if (phi_reaches(query, message, overlap, least, &found)) {
        assert_true(found.shared == phi.shared && found.all == phi.all);
    } else {
        assert_true(phi.shared < least);
    }
}

/* A message that reaches a floor shares as many bits with the query as phi_overlap_floor says. */
static void test_overlaps(void **state)
{
    struct rng rng;
    uint32_t above = 0;

    (void)state;
    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct profile profile = make_profile(profiles[round % PROFILES]);
        size_t words = bloom_words(profile.bits);
        struct phi_query query;
        uint64_t filter[WORDS];
        uint64_t message[WORDS];

        make_filter(&rng, &profile, NULL, 0, filter);
        make_filter(&rng, &profile, filter, rng_below(&rng, 101), message);
        phi_ask(&query, &profile, filter);
        uint64_t overlap = bloom_intersection_count(filter, message, words);
        uint32_t floor = phi_floor(phi_similarity(&query, message, (uint32_t)overlap));
        uint32_t needed = phi_overlap_floor(&query, floor);
        assert_true(floor <= 1u << PHI_FLOOR_SHIFT && needed <= floor);
        assert_true(overlap << PHI_FLOOR_SHIFT >=
                    (uint64_t)needed * bloom_cardinality(filter, words));
        above += needed > 0;
        check_reaches(&rng, &query, message, (uint32_t)overlap);
    }
    print_message("%u of %d floors rule out something\n", above, ROUNDS);
    assert_true(above > ROUNDS / 4);
}

/* Fills lane 0 with what a group of messages has in a section. */
static void add_lane(const struct bits_kernels *kernels, const struct phi_section *asked,
                     const uint64_t *filter, uint64_t (*messages)[WORDS], uint32_t count,
                     struct bits_sums *sums, uint8_t *total)
{
    uint8_t least[BITS_STRIDE] = {UINT8_MAX};
    uint8_t most[BITS_STRIDE] = {0};
    uint8_t overlaps[BITS_STRIDE] = {0};
    uint64_t whole[WORDS] = {0};
    const struct bits_section section = {least, most, asked->bits, asked->set};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t set =
            bloom_union_count_range(messages[i], messages[i], asked->first_bit, asked->bits);
        uint8_t byte = set < UINT8_MAX ? (uint8_t)set : UINT8_MAX;

        least[0] = byte < least[0] ? byte : least[0];
        most[0] = byte > most[0] ? byte : most[0];
        bloom_union(whole, whole, messages[i], WORDS);
    }
    bloom_intersection(whole, whole, filter, WORDS);
    overlaps[0] = (uint8_t)bloom_union_count_range(whole, whole, asked->first_bit, asked->bits);
    *total = (uint8_t)(*total + overlaps[0]);
    kernels->add_section(&section, overlaps, 1, sums);
}

/* No message of a group is above the bound of the group: docs/notes/tree.md has the proof. */
static void test_bounds(void **state)
{
    const struct bits_kernels *kernels = bits_select(BITS_BEST);
    static uint64_t messages[GROUP][WORDS];
    static struct bits_sums sums;
    struct rng rng;
    uint32_t bounded = 0;
    uint32_t close = 0;

    (void)state;
    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct profile profile = make_profile(profiles[round % PROFILES]);
        uint32_t count = 1 + rng_below(&rng, GROUP);
        uint32_t keep = 50 + rng_below(&rng, 51);
        struct phi_query query;
        uint64_t filter[WORDS];
        uint64_t place[WORDS];
        uint8_t total[BITS_STRIDE] = {0};
        uint16_t reach[BITS_STRIDE];
        uint32_t highest = 0;

        make_filter(&rng, &profile, NULL, 0, place);
        make_filter(&rng, &profile, place, rng_chance(&rng, 50) ? keep : 0, filter);
        phi_ask(&query, &profile, filter);
        memset(&sums, 0, sizeof sums);
        sums.shared[0] = (int32_t)query.count;
        for (uint32_t i = 0; i < count; i++) {
            make_filter(&rng, &profile, place, keep, messages[i]);
            uint32_t floor = phi_floor(phi_of(&query, &profile, filter, messages[i]));
            highest = floor > highest ? floor : highest;
        }
        if (query.count == 0 || !phi_has_bound(&query) ||
            bloom_cardinality(filter, bloom_words(profile.bits)) > UINT8_MAX) {
            continue;
        }
        for (uint32_t s = 0; s < query.count; s++) {
            add_lane(kernels, &query.sections[s], filter, messages, count, &sums, &total[0]);
        }
        kernels->bound_sums(&sums, query.spread, 0, total, 1, reach);
        assert_true(reach[0] >= 1 && reach[0] - 1u >= highest);
        assert_true(reach[0] > 1 || highest == 0);
        bounded += reach[0] - 1u < 1u << PHI_FLOOR_SHIFT;
        close += reach[0] - 1u <= highest + highest / 4 + 8;
    }
    print_message("%u groups have a bound, and %u a close one\n", bounded, close);
    assert_true(bounded > ROUNDS / 2 && close > ROUNDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
