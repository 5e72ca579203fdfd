/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the index infers about phi, against phi itself: random filters, also very full ones, and
 * groups of filters like one another.
 */
#include "core/profile/phi.h"

#include "core/bits/bits.h"
#include "core/filter/bloom.h"
#include "core/index/engine.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

enum { WORDS = PROFILE_WORDS_MAX, GROUP = 8, ROUNDS = 20000 };

static const char *const profiles[] = {
    "v2:64/4",
    "v2:512/4",
    "v2:wifi=362/2,place=53/7,any=97/4",
    "v2:wifi=320/2,place=79/8,any=113/3",
    "v2:a=1/1,b=2/1,c=3/1,d=58/2",
    ("v2:a=4/1,b=4/1,c=4/1,d=4/1,e=4/1,f=4/1,g=4/1,h=4/1,i=4/1,j=4/1,k=4/1,l=4/1,m=4/1,n=4/1,o=4/1,"
     "p=4/1"),
    "v2:4096/4",
};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

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

/* phi_counted refuses exactly what is below, and else says what phi is. */
static void check_counted(const struct profile *profile, const struct phi_query *query,
                          const uint16_t *counts, uint32_t overlap, uint32_t least,
                          struct similarity phi)
{
    uint16_t asked[PROFILE_SECTIONS_MAX] = {0};
    uint32_t asked_spreads[PROFILE_SECTIONS_MAX];
    uint32_t spreads[PROFILE_SECTIONS_MAX];
    struct similarity found = phi;

    for (uint32_t s = 0; s < query->count; s++) {
        asked[query->sections[s].number] = (uint16_t)query->sections[s].set;
    }
    phi_size(profile, asked, asked_spreads);
    phi_size(profile, counts, spreads);
    bool reached = phi_counted(profile, (struct phi_sized){asked, asked_spreads},
                               (struct phi_sized){counts, spreads}, overlap, least, &found);
    assert_true(reached == (phi.shared >= least));
    assert_true(found.shared == phi.shared && found.all == phi.all);
}

/* phi_reaches refuses only what is below, and else says the same as phi_similarity. */
static void check_reaches(struct rng *rng, const struct profile *profile,
                          const struct phi_query *query, const uint64_t *message, uint32_t overlap)
{
    struct similarity phi = phi_similarity(query, message, overlap);
    uint32_t near = phi.shared / 4096 + rng_below(rng, 3);
    uint32_t least = rng_chance(rng, 50)                   ? rng_below(rng, PHI_ONE + 1)
                     : rng_chance(rng, 50) && near <= 4096 ? near * 4096
                                                           : phi.shared;
    struct similarity found = {0, 0};
    uint16_t counts[PROFILE_SECTIONS_MAX];

    phi_count(profile, message, counts);
    if (phi_reaches(query, counts, overlap, least, &found)) {
        assert_true(found.shared == phi.shared && found.all == phi.all);
    } else {
        assert_true(phi.shared < least);
    }
    check_counted(profile, query, counts, overlap, least, phi);
}

/* A block of messages as `scan` takes it, and what phi says. */
struct block {
    uint64_t words[WORDS * BITS_BLOCK];
    uint16_t counts[PROFILE_SECTIONS_MAX * BITS_BLOCK];
    uint32_t overlaps[BITS_BLOCK];
    uint32_t floors[BITS_BLOCK];
};

static void put_message(struct block *block, size_t lane, const struct profile *profile,
                        const uint64_t *filter, const uint64_t *message)
{
    size_t words = bloom_words(profile->bits);
    uint16_t counts[PROFILE_SECTIONS_MAX];

    for (size_t w = 0; w < words; w++) {
        block->words[w * BITS_BLOCK + lane] = message[w];
    }
    phi_count(profile, message, counts);
    counts[0] = (uint16_t)bloom_cardinality(message, words);
    for (uint32_t s = 0; s < profile->section_count; s++) {
        block->counts[s * BITS_BLOCK + lane] = counts[s];
    }
    block->overlaps[lane] = bloom_intersection_count(filter, message, words);
}

/* x and v of struct bits_phi, by their definition. */
static void plain_sums(const struct bits_phi *phi, const struct block *block, size_t lane,
                       int64_t *out_x, int64_t *out_v)
{
    int64_t x = ((int64_t)block->overlaps[lane] << BITS_SIZED_SHIFT) + phi->slack;
    int64_t v = 0;
    int64_t first = block->counts[lane];

    for (uint32_t s = phi->count; s-- > 0;) {
        const struct bits_sized *section = &phi->sections[s];
        int64_t set = s > 0 ? block->counts[s * BITS_BLOCK + lane] : first;

        first -= set;
        x -= set * section->chance;
        v += set * (section->whole - set * section->loss);
    }
    *out_x = x > 0 ? x >> phi->shift : 0;
    *out_v = v > 0 ? v >> phi->shift : 0;
    assert_true(*out_x <= INT16_MAX && *out_v <= INT16_MAX);
}

/* A floor for a block: of one of its messages, about it, or any. */
static uint32_t some_floor(struct rng *rng, const struct block *block)
{
    uint32_t floor = block->floors[rng_below(rng, BITS_BLOCK)];

    floor = rng_chance(rng, 30) ? floor + floor / (1 + rng_below(rng, 100)) : floor;
    floor = rng_chance(rng, 10) ? rng_below(rng, (1 << PHI_FLOOR_SHIFT) + 1) : floor;
    return floor < 1 << PHI_FLOOR_SHIFT ? floor : 1 << PHI_FLOOR_SHIFT;
}

/* sift keeps the messages that pass, whichever words it reads, and no others if it reads all. */
static void check_sift(const struct bits_kernels *kernels, const struct bits_scan *scan,
                       const struct bits_list *list, uint32_t expected)
{
    for (size_t first = 0; first <= scan->words; first++) {
        const struct bits_part part = {.first = first, .end = scan->words};
        struct bits_place place = {.lanes = UINT8_MAX};

        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            uint32_t rest = 0;

            for (size_t w = 0; w < first; w++) {
                uint64_t both = scan->query[w] & list->blocks[w * BITS_BLOCK + lane];

                rest += bloom_cardinality(&both, 1);
            }
            place.rest = rest > place.rest ? (uint8_t)rest : place.rest;
        }
        size_t kept = kernels->sift(scan, list, part, &place, 1);
        assert_true(kept == (place.lanes != 0));
        assert_int_equal(place.lanes & expected, expected);
        assert_true(first > 0 || place.lanes == expected);
    }
}

/* The kernels say what their definition says; `sifts`: the query has bounds. Returns how many
 * messages pass. */
static uint32_t check_kernels(const struct bits_kernels *kernels, const struct bits_scan *scan,
                              const struct block *block, bool sifts)
{
    const struct bits_factor least = bits_factor(scan->phi, scan->floor);
    const struct bits_place place = {.reach = UINT16_MAX, .lanes = UINT8_MAX};
    const struct bits_list list = {
        .blocks = block->words, .cardinalities = block->counts, .places = &place, .count = 1};
    uint32_t overlaps[BITS_BLOCK];
    uint16_t floors[BITS_BLOCK];
    uint64_t product = (uint64_t)scan->floor * scan->phi->scale; /* in 2^-23 */
    uint64_t needed = scan->floor == 0 ? 0 : product == 0 ? 1 : (product - 1) / (1 << 23) + 1;
    uint32_t expected = 0;
    uint32_t lanes = 0;

    kernels->phi_floors(scan, block->overlaps, block->counts, floors);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        int64_t x = 0;
        int64_t v = 0;

        plain_sums(scan->phi, block, lane, &x, &v);
        expected |=
            (uint32_t)(x * x >= (v * least.factor) >> least.down && block->overlaps[lane] >= needed)
            << lane;
        int64_t whole = v * scan->phi->scale;
        int64_t highest = block->overlaps[lane] == 0 ? 0
                          : whole == 0               ? 1 << PHI_FLOOR_SHIFT
                                                     : (x * x << (scan->phi->shift + 8)) / whole;
        assert_true(floors[lane] >=
                    (highest < 1 << PHI_FLOOR_SHIFT ? highest : 1 << PHI_FLOOR_SHIFT));
        assert_true(floors[lane] <= highest + (block->overlaps[lane] > 0 ? 2 : 0));
        assert_true(floors[lane] <= 1 << PHI_FLOOR_SHIFT);
        assert_true(floors[lane] >= block->floors[lane]);
        assert_true(block->floors[lane] < scan->floor || (expected >> lane & 1) != 0);
    }
    assert_int_equal(kernels->scan(scan, block->words, block->counts, 1, overlaps, &lanes),
                     expected == 0);
    assert_true(expected == 0 || lanes == expected);
    assert_int_equal(kernels->scan_listed(scan, &list, 0, overlaps, &lanes), expected == 0);
    assert_true(expected == 0 || lanes == expected);
    if (sifts) {
        check_sift(kernels, scan, &list, expected);
    }
    for (size_t lane = 0; expected != 0 && lane < BITS_BLOCK; lane++) {
        assert_int_equal(overlaps[lane], block->overlaps[lane]);
    }
    return bloom_cardinality(&(uint64_t){expected}, 1);
}

/* A message that has a floor passes it in every table of kernels, and few others do. */
TEST(test_scans)
{
    static struct block block;
    struct rng rng;
    uint32_t passed = 0;
    uint32_t reached = 0;

    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct profile profile = profile_of(profiles[round % PROFILES]);
        struct index_probe probe = {.profile = &profile, .part_bits = profile.bits};
        struct index_query query = {.metric = INDEX_METRIC_PHI};
        uint64_t filter[WORDS];
        uint64_t message[WORDS];

        make_filter(&rng, &profile, NULL, 0, filter);
        probe.query = &query;
        probe.filter = filter;
        index_probe_ask_phi(&probe);
        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            make_filter(&rng, &profile, filter, rng_below(&rng, 101), message);
            put_message(&block, lane, &profile, filter, message);
            block.floors[lane] =
                phi_floor(phi_similarity(&probe.phi, message, block.overlaps[lane]));
            check_reaches(&rng, &profile, &probe.phi, message, block.overlaps[lane]);
        }
        struct bits_scan scan = index_probe_scan(&probe, BITS_BLOCK);
        scan.floor = some_floor(&rng, &block);
        bool sifts =
            phi_has_bound(&probe.phi) && bloom_cardinality(filter, scan.words) <= UINT8_MAX;
        for (enum bits_level level = BITS_SCALAR; level <= BITS_BEST; level++) {
            if (bits_table(level) != NULL) {
                uint32_t found = check_kernels(bits_table(level), &scan, &block, sifts);

                passed += level == BITS_SCALAR && scan.floor > 0 ? found : 0;
            }
        }
        for (size_t lane = 0; scan.floor > 0 && lane < BITS_BLOCK; lane++) {
            reached += block.floors[lane] >= scan.floor;
        }
    }
    print_message("%u messages pass a floor above 0, and %u have it\n", passed, reached);
    assert_true(reached > ROUNDS && passed < reached + reached / 20);
}

/* A stride of lanes, of which only the first is used. */
struct lanes {
    uint8_t least[BITS_STRIDE];
    uint8_t most[BITS_STRIDE];
    uint8_t overlaps[BITS_STRIDE];
};

/* Fills lane 0 with what a group of messages has in a section. */
static struct bits_section make_lane(const struct phi_section *asked, const uint64_t *filter,
                                     uint64_t (*messages)[WORDS], uint32_t count, struct lanes *out)
{
    uint64_t whole[WORDS] = {0};

    out->least[0] = UINT8_MAX;
    out->most[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t set =
            bloom_union_count_range(messages[i], messages[i], asked->first_bit, asked->bits);
        uint8_t byte = set < UINT8_MAX ? (uint8_t)set : UINT8_MAX;

        out->least[0] = byte < out->least[0] ? byte : out->least[0];
        out->most[0] = byte > out->most[0] ? byte : out->most[0];
        bloom_union(whole, whole, messages[i], WORDS);
    }
    bloom_intersection(whole, whole, filter, WORDS);
    out->overlaps[0] =
        (uint8_t)bloom_union_count_range(whole, whole, asked->first_bit, asked->bits);
    return (struct bits_section){out->least, out->most, out->overlaps, asked->bits, asked->set};
}

/* What is known of a group of messages in each section of the profile. */
static void range_group(const struct profile *profile, const uint64_t *filter,
                        uint64_t (*messages)[WORDS], uint32_t count, struct phi_range *out)
{
    uint64_t whole[WORDS] = {0};

    for (uint32_t i = 0; i < count; i++) {
        bloom_union(whole, whole, messages[i], WORDS);
    }
    bloom_intersection(whole, whole, filter, WORDS);
    for (uint32_t s = 0; s < profile->section_count; s++) {
        uint32_t first = profile->sections[s].first_bit;
        uint32_t bits = profile->sections[s].bits;

        out[s] =
            (struct phi_range){UINT32_MAX, 0, bloom_union_count_range(whole, whole, first, bits)};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t set = bloom_union_count_range(messages[i], messages[i], first, bits);

            out[s].least = set < out[s].least ? set : out[s].least;
            out[s].most = set > out[s].most ? set : out[s].most;
        }
    }
}

/* phi_bound says that the best of a group may be there, and refuses only what is above the best.
 * Returns whether the bound is close. */
static bool check_bound(struct rng *rng, const struct phi_query *query,
                        const struct phi_range *ranges, uint32_t best)
{
    uint32_t least = rng_chance(rng, 30)   ? best
                     : rng_chance(rng, 30) ? rng_below(rng, PHI_ONE + 1)
                                           : best - best % 4096;
    struct similarity bound = {0, 0};
    struct similarity again = {0, 0};

    assert_true(phi_bound(query, ranges, 0, &bound));
    assert_true(bound.all == PHI_ONE && bound.shared >= best && bound.shared <= PHI_ONE);
    if (phi_bound(query, ranges, least, &again)) {
        assert_true(again.shared == bound.shared && again.all == bound.all);
    } else {
        assert_true(best < least);
    }
    return bound.shared < PHI_ONE && bound.shared <= best + best / 16 + PHI_ONE / 256;
}

/* No message of a group is above the bounds of the group: docs/notes/tree.md has the proof. */
TEST(test_bounds)
{
    const struct bits_kernels *kernels = bits_select(BITS_BEST);
    static uint64_t messages[GROUP][WORDS];
    static struct lanes lanes[PROFILE_SECTIONS_MAX];
    struct rng rng;
    uint32_t bounded = 0;
    uint32_t close = 0;
    uint32_t close_ranges = 0;

    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct profile profile = profile_of(profiles[round % PROFILES]);
        struct phi_range ranges[PROFILE_SECTIONS_MAX];
        uint32_t best = 0;
        uint32_t count = 1 + rng_below(&rng, GROUP);
        uint32_t keep = 50 + rng_below(&rng, 51);
        struct phi_query query;
        uint64_t filter[WORDS];
        uint64_t place[WORDS];
        struct bits_section sections[PROFILE_SECTIONS_MAX];
        uint16_t reach[BITS_STRIDE];
        uint32_t highest = 0;

        make_filter(&rng, &profile, NULL, 0, place);
        make_filter(&rng, &profile, place, rng_chance(&rng, 50) ? keep : 0, filter);
        phi_ask(&query, &profile, filter);
        for (uint32_t i = 0; i < count; i++) {
            make_filter(&rng, &profile, place, keep, messages[i]);
            struct similarity phi = phi_of(&query, &profile, filter, messages[i]);
            uint32_t floor = phi_floor(phi);
            highest = floor > highest ? floor : highest;
            best = phi.shared > best ? phi.shared : best;
        }
        range_group(&profile, filter, messages, count, ranges);
        close_ranges += check_bound(&rng, &query, ranges, best);
        if (query.count == 0 || !phi_has_bound(&query) ||
            bloom_cardinality(filter, bloom_words(profile.bits)) > UINT8_MAX) {
            continue;
        }
        for (uint32_t s = 0; s < query.count; s++) {
            sections[s] = make_lane(&query.sections[s], filter, messages, count, &lanes[s]);
        }
        kernels->bound_phi(sections, query.count, query.spread, 0, 1, reach);
        assert_true(reach[0] >= 1 && reach[0] - 1u >= highest);
        assert_true(reach[0] > 1 || highest == 0);
        bounded += reach[0] - 1u < 1u << PHI_FLOOR_SHIFT;
        close += reach[0] - 1u <= highest + highest / 4 + 8;
    }
    print_message("%u groups have a bound, and %u a close one\n", bounded, close);
    assert_true(bounded > ROUNDS / 2 && close > ROUNDS / 20);
    print_message("%u groups have a close bound by their ranges\n", close_ranges);
    assert_true(close_ranges > ROUNDS / 20);
}

/* Sets `count` bits from `first` on. */
static void set_run(uint64_t *filter, uint32_t first, uint32_t count)
{
    for (uint32_t bit = first; bit < first + count; bit++) {
        bloom_set(filter, bit);
    }
}

/* A message that shares as many bits as it can with a query whose bits begin each section. False:
 * the section has no room for its other bits. */
static bool make_nearest(const struct phi_query *query, const struct phi_range *ranges,
                         const uint32_t *counts, uint64_t *out)
{
    *out = 0;
    for (uint32_t s = 0; s < query->count; s++) {
        const struct phi_section *section = &query->sections[s];
        uint32_t shared = counts[s] < ranges[s].shared ? counts[s] : ranges[s].shared;

        if (counts[s] - shared > section->bits - section->set) {
            return false;
        }
        set_run(out, section->first_bit, shared);
        set_run(out, section->first_bit + section->set, counts[s] - shared);
    }
    return true;
}

/* Random ranges of two small sections: no message within them is above the bound, whatever its
 * numbers of set bits. All numbers are tried. */
static void check_small_sections(struct rng *rng, uint32_t *bounded, uint32_t *met)
{
    uint32_t bits[] = {2 + rng_below(rng, 29), 2 + rng_below(rng, 29)};
    struct phi_range ranges[3] = {{0}};
    struct phi_query query;
    uint64_t filter = 0;
    uint64_t message;
    char text[PROFILE_TEXT_MAX];
    uint32_t counts[2];
    uint32_t best = 0;
    struct similarity bound;

    (void)snprintf(text, sizeof text, "v2:a=%u/1,b=%u/1,c=%u/1", (unsigned)bits[0],
                   (unsigned)bits[1], (unsigned)(64 - bits[0] - bits[1]));
    const struct profile profile = profile_of(text);
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t set = 1 + rng_below(rng, (bits[s] + 1) / 2);

        set_run(&filter, profile.sections[s].first_bit, set);
        ranges[s].shared = rng_below(rng, set + 1);
        ranges[s].least = rng_below(rng, bits[s] / 2 + 1);
        ranges[s].most = ranges[s].least + rng_below(rng, bits[s] - ranges[s].least + 1);
    }
    phi_ask(&query, &profile, &filter);
    assert_true(phi_bound(&query, ranges, 0, &bound));
    for (counts[0] = ranges[0].least; counts[0] <= ranges[0].most; counts[0]++) {
        for (counts[1] = ranges[1].least; counts[1] <= ranges[1].most; counts[1]++) {
            if (make_nearest(&query, ranges, counts, &message)) {
                uint32_t phi = phi_of(&query, &profile, &filter, &message).shared;

                assert_true(phi <= bound.shared);
                best = phi > best ? phi : best;
            }
        }
    }
    *bounded += bound.shared > 0 && bound.shared < PHI_ONE ? 1 : 0;
    *met += bound.shared < PHI_ONE && best > 0 && bound.shared - best < PHI_ONE / 50 ? 1 : 0;
}

TEST(test_small_sections)
{
    struct rng rng;
    uint32_t bounded = 0;
    uint32_t met = 0;

    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        check_small_sections(&rng, &bounded, &met);
    }
    print_message("%u ranges have a bound, %u a message near it\n", bounded, met);
    assert_true(bounded > ROUNDS / 20 && met > bounded / 4);
}

/* The root is the largest number whose square is not above. */
static void check_root(uint64_t square)
{
    uint64_t root = phi_root(square);

    assert_true(root <= UINT32_MAX && root * root <= square);
    assert_true(root == UINT32_MAX || (root + 1) * (root + 1) > square);
}

TEST(test_roots)
{
    struct rng rng;

    rng_init(&rng);
    check_root(UINT64_MAX);
    for (uint64_t square = 0; square < 5000; square++) {
        check_root(square);
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t root = rng_next(&rng) >> (32 + rng_below(&rng, 32));

        check_root(rng_next(&rng) >> rng_below(&rng, 64));
        check_root(root * root);
        check_root(root * root - (root > 0));
    }
}
