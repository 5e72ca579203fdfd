/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every table that runs here against the definitions, bit by bit: for each filter length of a
 * profile, random and extreme bits. Inputs end where their memory ends, so that a sanitizer sees a
 * read beyond; they begin one word, or half a vector, off what an allocator aligns to.
 */
#include "core/bits/bits.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { WORDS_MAX = 64, SHIFT_MAX = 3, BLOCKS = 5, MARK = 4711 };

static const enum bits_level levels[] = {BITS_SCALAR, BITS_NEON, BITS_AVX2, BITS_AVX512};
static const char *const level_names[] = {"scalar", "neon", "avx2", "avx512"};

/* What the bits of a trial look like. */
enum pattern { ZERO, ONE, SINGLE, ALL_BUT_ONE, SPARSE, HALF, FULL_QUERY, FULL_BLOCK, PATTERNS };

/* One query, some blocks and their cardinalities. */
struct trial {
    size_t words;
    size_t shift;            /* of the arrays, in words */
    uint64_t *query;         /* words */
    uint64_t *blocks;        /* BLOCKS blocks */
    uint16_t *cardinalities; /* of each filter */
    uint64_t *query_room;    /* the memory that they end with */
    uint64_t *blocks_room;
    uint16_t *cardinalities_room;
};

static void *room_of(size_t bytes)
{
    void *room = malloc(bytes);

    assert_non_null(room);
    return room;
}

static void begin_trial(struct trial *trial, size_t words, size_t shift)
{
    const size_t block_words = BLOCKS * BITS_BLOCK * words;

    trial->words = words;
    trial->shift = shift;
    trial->query_room = room_of((words + shift) * sizeof(uint64_t));
    trial->blocks_room = room_of((block_words + shift) * sizeof(uint64_t));
    trial->cardinalities_room = room_of((BLOCKS * BITS_BLOCK + shift) * sizeof(uint16_t));
    trial->query = trial->query_room + shift;
    trial->blocks = trial->blocks_room + shift;
    trial->cardinalities = trial->cardinalities_room + shift;
}

static void end_trial(struct trial *trial)
{
    free(trial->query_room);
    free(trial->blocks_room);
    free(trial->cardinalities_room);
}

/* ---- the definitions ---- */

static bool bit_of(const uint64_t *filter, size_t p, size_t stride)
{
    return (filter[p / 64 * stride] >> p % 64 & 1) != 0;
}

/* The first word of filter i of the blocks; the others follow BITS_BLOCK apart. */
static uint64_t *filter_of(const struct trial *trial, size_t i)
{
    return trial->blocks + i / BITS_BLOCK * BITS_BLOCK * trial->words + i % BITS_BLOCK;
}

static uint32_t plain_count(const uint64_t *a, const uint64_t *b, size_t words, size_t stride_a,
                            size_t stride_b)
{
    uint32_t count = 0;

    for (size_t p = 0; p < words * 64; p++) {
        count += bit_of(a, p, stride_a) && bit_of(b, p, stride_b);
    }
    return count;
}

static bool plain_contains(const uint64_t *filter, const uint64_t *query, size_t words)
{
    for (size_t p = 0; p < words * 64; p++) {
        if (bit_of(query, p, 1) && !bit_of(filter, p, BITS_BLOCK)) {
            return false;
        }
    }
    return true;
}

/* ---- bits ---- */

static void flip(uint64_t *filter, size_t p, size_t stride)
{
    filter[p / 64 * stride] ^= UINT64_C(1) << p % 64;
}

static void fill(struct trial *trial, struct rng *rng, enum pattern pattern)
{
    /* of a hundred bits, in query and blocks */
    static const uint32_t percents[PATTERNS][2] = {
        [ZERO] = {0, 0},    [ONE] = {100, 100}, [SINGLE] = {0, 0},       [ALL_BUT_ONE] = {100, 100},
        [SPARSE] = {2, 15}, [HALF] = {50, 50},  [FULL_QUERY] = {100, 5}, [FULL_BLOCK] = {5, 100},
    };
    const uint32_t bits = (uint32_t)trial->words * 64;

    rng_filter(rng, bits, percents[pattern][0], trial->query);
    rng_filter(rng, bits * BITS_BLOCK * BLOCKS, percents[pattern][1], trial->blocks);
    if (pattern == SINGLE || pattern == ALL_BUT_ONE) {
        const size_t p = rng_below(rng, bits);

        flip(trial->query, p, 1);
        for (size_t i = 0; i < BLOCKS * BITS_BLOCK; i++) { /* in some lanes the very same */
            flip(filter_of(trial, i), rng_chance(rng, 50) ? p : rng_below(rng, bits), BITS_BLOCK);
        }
    }
    for (size_t i = 0; i < BLOCKS * BITS_BLOCK; i++) {
        const uint64_t *filter = filter_of(trial, i);

        if (pattern == SPARSE && rng_chance(rng, 50)) { /* some supersets */
            for (size_t w = 0; w < trial->words; w++) {
                filter_of(trial, i)[w * BITS_BLOCK] |= trial->query[w];
            }
        }
        trial->cardinalities[i] =
            (uint16_t)plain_count(filter, filter, trial->words, BITS_BLOCK, BITS_BLOCK);
    }
}

/* ---- each kernel ---- */

static void check_rows(const struct bits_kernels *kernels, const struct trial *trial)
{
    uint32_t overlaps[BITS_BLOCK + 2] = {MARK};
    const uint32_t contained = kernels->supersets(trial->query, trial->blocks, trial->words);

    overlaps[BITS_BLOCK + 1] = MARK;
    kernels->overlaps(trial->query, trial->blocks, trial->words, overlaps + 1);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        const uint64_t *filter = filter_of(trial, lane);

        assert_int_equal(overlaps[lane + 1],
                         plain_count(trial->query, filter, trial->words, 1, BITS_BLOCK));
        assert_int_equal(contained >> lane & 1, plain_contains(filter, trial->query, trial->words));
    }
    assert_int_equal(contained >> BITS_BLOCK, 0);
    assert_int_equal(overlaps[0], MARK);
    assert_int_equal(overlaps[BITS_BLOCK + 1], MARK);
    assert_int_equal(kernels->cardinality(trial->query, trial->words),
                     plain_count(trial->query, trial->query, trial->words, 1, 1));
}

/* scan finds the first block with a lane that reaches the floor, and names all such lanes of it. */
static void check_scan(const struct bits_kernels *kernels, const struct trial *trial,
                       const uint32_t *counts, uint32_t base, uint32_t floor, size_t block_count)
{
    const struct bits_scan scan = {
        .query = trial->query, .words = trial->words, .base = base, .floor = floor};
    uint32_t overlaps[BITS_BLOCK + 1];
    uint32_t lanes = 0;
    uint32_t expected = 0;
    size_t block = 0;

    for (; block < block_count; block++) {
        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            const size_t i = block * BITS_BLOCK + lane;
            const uint64_t needed = ((uint64_t)base + trial->cardinalities[i]) * floor;

            expected |= (uint32_t)((uint64_t)counts[i] << BITS_FLOOR_SHIFT >= needed) << lane;
        }
        if (expected != 0) {
            break;
        }
    }
    overlaps[BITS_BLOCK] = MARK;
    assert_int_equal(
        kernels->scan(&scan, trial->blocks, trial->cardinalities, block_count, overlaps, &lanes),
        block);
    assert_int_equal(overlaps[BITS_BLOCK], MARK);
    if (block < block_count) {
        assert_int_equal(lanes, expected);
        assert_memory_equal(overlaps, counts + block * BITS_BLOCK, BITS_BLOCK * sizeof(uint32_t));
    }
}

/* The lanes of a place that scan_listed should name. */
static uint32_t plain_lanes(const struct trial *trial, const struct bits_list *list, size_t place,
                            const struct bits_scan *scan, const uint32_t *counts)
{
    const struct bits_place *it = &list->places[place];
    uint32_t lanes = 0;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        const size_t i = (size_t)it->block * BITS_BLOCK + lane;
        const uint64_t needed = ((uint64_t)scan->base + trial->cardinalities[i]) * scan->floor;
        const bool passes = it->reach > scan->floor && (it->lanes >> lane & 1) != 0 &&
                            (uint64_t)counts[i] << BITS_FLOOR_SHIFT >= needed &&
                            (list->contains == NULL ||
                             plain_contains(filter_of(trial, i), list->contains, trial->words));

        lanes |= (uint32_t)passes << lane;
    }
    return lanes;
}

/* scan_listed names the lanes of all places that pass, in order, each call the next place. */
static void check_listed(const struct bits_kernels *kernels, const struct trial *trial,
                         const uint32_t *counts, uint32_t base, uint32_t floor, struct rng *rng)
{
    enum { PLACES = 2 * BITS_AHEAD };
    const struct bits_scan scan = {
        .query = trial->query, .words = trial->words, .base = base, .floor = floor};
    struct bits_place places[PLACES];
    uint64_t wanted[WORDS_MAX];
    const struct bits_list list = {
        .blocks = trial->blocks,
        .cardinalities = trial->cardinalities,
        .contains = rng_below(rng, 2) == 0 ? NULL : wanted,
        .places = places,
        .count = rng_below(rng, PLACES + 1),
    };
    uint32_t overlaps[BITS_BLOCK + 1];
    size_t next = rng_below(rng, (uint32_t)list.count + 1);

    for (size_t w = 0; w < trial->words; w++) {
        wanted[w] = filter_of(trial, 0)[w * BITS_BLOCK] & UINT64_C(1) << rng_below(rng, 64);
    }
    for (size_t i = 0; i < PLACES; i++) {
        const uint32_t reach = floor + rng_below(rng, 4);

        places[i] = (struct bits_place){.block = (uint16_t)rng_below(rng, BLOCKS),
                                        .reach = (uint16_t)(reach > 0 ? reach - 1 : 0),
                                        .lanes = (uint8_t)rng_below(rng, 256)};
    }
    while (next < list.count) {
        uint32_t lanes = 0;
        size_t expected = next;

        while (expected < list.count && plain_lanes(trial, &list, expected, &scan, counts) == 0) {
            expected++;
        }
        overlaps[BITS_BLOCK] = MARK;
        next = kernels->scan_listed(&scan, &list, next, overlaps, &lanes);
        assert_int_equal(next, expected);
        assert_int_equal(overlaps[BITS_BLOCK], MARK);
        if (next < list.count) {
            assert_int_equal(lanes, plain_lanes(trial, &list, next, &scan, counts));
            assert_memory_equal(overlaps, counts + (size_t)places[next].block * BITS_BLOCK,
                                BITS_BLOCK * sizeof(uint32_t));
            next++;
        }
    }
}

/* The lanes that `sift` should leave in a place. */
static uint32_t lanes_left(const struct trial *trial, const struct bits_scan *scan,
                           struct bits_part part, const struct bits_place *place)
{
    uint32_t lanes = 0;

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        const size_t i = (size_t)place->block * BITS_BLOCK + lane;
        const uint64_t *filter = filter_of(trial, i) + part.first * BITS_BLOCK;
        const uint64_t most =
            plain_count(trial->query + part.first, filter, part.end - part.first, 1, BITS_BLOCK) +
            place->rest;
        const uint64_t needed = ((uint64_t)scan->base + trial->cardinalities[i]) * scan->floor;

        lanes |= (uint32_t)(most << BITS_FLOOR_SHIFT >= needed) << lane;
    }
    return lanes & place->lanes;
}

/* sift keeps the places in which a filter may pass, in order, and names these filters. */
static void check_sift(const struct bits_kernels *kernels, const struct trial *trial, uint32_t base,
                       uint32_t floor, struct rng *rng)
{
    enum { PLACES = 5, REST_MAX = 40 };
    const struct bits_scan scan = {
        .query = trial->query, .words = trial->words, .base = base, .floor = floor};
    const struct bits_list list = {.blocks = trial->blocks, .cardinalities = trial->cardinalities};
    const size_t first = rng_below(rng, (uint32_t)trial->words + 1);
    const struct bits_part part = {
        .first = first,
        .end = first + rng_below(rng, (uint32_t)(trial->words - first) + 1),
    };
    struct bits_place places[PLACES];
    struct bits_place expected[PLACES];
    size_t kept = 0;

    for (size_t i = 0; i < PLACES; i++) {
        places[i] = (struct bits_place){.block = (uint16_t)rng_below(rng, BLOCKS),
                                        .lanes = (uint8_t)rng_below(rng, 256),
                                        .rest = (uint8_t)rng_below(rng, REST_MAX)};
        expected[kept] = places[i];
        expected[kept].lanes = (uint8_t)lanes_left(trial, &scan, part, &places[i]);
        kept += expected[kept].lanes != 0;
    }
    assert_int_equal(kernels->sift(&scan, &list, part, places, PLACES), kept);
    for (size_t i = 0; i < kept; i++) {
        assert_int_equal(places[i].block, expected[i].block);
        assert_int_equal(places[i].lanes, expected[i].lanes);
        assert_int_equal(places[i].rest, expected[i].rest);
    }
}

/* Floors at the ends of their range, and about those at which one filter just passes. */
static void check_floors(const struct bits_kernels *kernels, const struct trial *trial,
                         struct rng *rng)
{
    enum { FLOOR_MAX = 1 << 15, SUM_MAX = 1 << 13 };
    const uint32_t bits = (uint32_t)trial->words * 64;
    const uint32_t bases[] = {0, 1, kernels->cardinality(trial->query, trial->words), bits,
                              SUM_MAX - bits};
    uint32_t counts[BLOCKS * BITS_BLOCK];

    for (size_t i = 0; i < BLOCKS * BITS_BLOCK; i++) {
        counts[i] = plain_count(trial->query, filter_of(trial, i), trial->words, 1, BITS_BLOCK);
    }
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        const uint32_t i = rng_below(rng, BLOCKS * BITS_BLOCK);
        const uint32_t sum = bases[b] + trial->cardinalities[i];
        const uint64_t edge = ((uint64_t)counts[i] << BITS_FLOOR_SHIFT) / (sum > 0 ? sum : 1);
        const uint64_t floors[] = {0,
                                   1,
                                   FLOOR_MAX / 3,
                                   FLOOR_MAX - 1,
                                   FLOOR_MAX,
                                   edge - 1,
                                   edge,
                                   edge + 1,
                                   rng_below(rng, FLOOR_MAX)};

        for (size_t f = 0; f < sizeof floors / sizeof floors[0]; f++) {
            if (floors[f] <= FLOOR_MAX) { /* edge - 1 may have wrapped */
                check_scan(kernels, trial, counts, bases[b], (uint32_t)floors[f], f % (BLOCKS + 1));
                check_scan(kernels, trial, counts, bases[b], (uint32_t)floors[f], BLOCKS);
                check_listed(kernels, trial, counts, bases[b], (uint32_t)floors[f], rng);
                check_sift(kernels, trial, bases[b], (uint32_t)floors[f], rng);
            }
        }
    }
}

/* scan and scan_listed leave out words without bits of the query: nothing else changes. Takes such
 * words of the trial's query away. */
static void check_ends(const struct bits_kernels *kernels, const struct trial *trial,
                       struct rng *rng)
{
    enum { PLACES = 3 };
    struct bits_scan whole = {
        .query = trial->query,
        .words = trial->words,
        .base = rng_below(rng, 100),
        .floor = rng_below(rng, 1 << 14),
    };
    struct bits_scan part = whole;
    struct bits_place places[PLACES];
    struct bits_list list = {.blocks = trial->blocks,
                             .cardinalities = trial->cardinalities,
                             .places = places,
                             .count = PLACES};
    uint32_t out[2][BITS_BLOCK] = {{0}};
    uint32_t lanes[2] = {0, 0};

    part.before = rng_below(rng, (uint32_t)trial->words);
    part.after = rng_below(rng, (uint32_t)(trial->words - part.before));
    memset(trial->query, 0, part.before * sizeof(*trial->query));
    memset(trial->query + trial->words - part.after, 0, part.after * sizeof(*trial->query));
    size_t found =
        kernels->scan(&whole, trial->blocks, trial->cardinalities, BLOCKS, out[0], lanes);
    assert_int_equal(
        kernels->scan(&part, trial->blocks, trial->cardinalities, BLOCKS, out[1], lanes + 1),
        found);
    assert_true(found == BLOCKS || lanes[0] == lanes[1]);
    assert_true(found == BLOCKS || memcmp(out[0], out[1], sizeof(out[0])) == 0);
    for (size_t i = 0; i < PLACES; i++) {
        places[i] = (struct bits_place){
            .block = (uint16_t)rng_below(rng, BLOCKS), .reach = UINT16_MAX, .lanes = UINT8_MAX};
    }
    found = kernels->scan_listed(&whole, &list, 0, out[0], lanes);
    assert_int_equal(kernels->scan_listed(&part, &list, 0, out[1], lanes + 1), found);
    assert_true(found == PLACES || lanes[0] == lanes[1]);
    assert_true(found == PLACES || memcmp(out[0], out[1], sizeof(out[0])) == 0);
}

/* Cardinalities with other numbers between those of two blocks give the same results. */
static void check_gap(const struct bits_kernels *kernels, const struct trial *trial,
                      struct rng *rng)
{
    enum { GAP = 2 * BITS_BLOCK, STEP = BITS_BLOCK + GAP };
    uint16_t apart[BLOCKS * STEP];
    const struct bits_part all = {.end = trial->words};
    struct bits_scan scan = {
        .query = trial->query,
        .words = trial->words,
        .base = rng_below(rng, 100),
        .floor = rng_below(rng, 1 << 14),
    };
    struct bits_place places[2][BLOCKS];
    struct bits_list list = {.blocks = trial->blocks,
                             .cardinalities = trial->cardinalities,
                             .places = places[0],
                             .count = BLOCKS};
    uint32_t out[BITS_BLOCK];
    uint32_t lanes = 0;

    memset(apart, 0, sizeof(apart));
    for (size_t b = 0; b < BLOCKS; b++) {
        memcpy(apart + b * STEP, trial->cardinalities + b * BITS_BLOCK,
               BITS_BLOCK * sizeof(*apart));
        places[0][b] =
            (struct bits_place){.block = (uint16_t)b, .reach = UINT16_MAX, .lanes = UINT8_MAX};
    }
    memcpy(places[1], places[0], sizeof(places[0]));
    const size_t found =
        kernels->scan(&scan, trial->blocks, trial->cardinalities, BLOCKS, out, &lanes);
    assert_int_equal(kernels->scan_listed(&scan, &list, 0, out, &lanes), found);
    const size_t kept = kernels->sift(&scan, &list, all, places[0], BLOCKS);

    scan.gap = GAP;
    list.cardinalities = apart;
    list.places = places[1];
    assert_int_equal(kernels->scan(&scan, trial->blocks, apart, BLOCKS, out, &lanes), found);
    assert_int_equal(kernels->scan_listed(&scan, &list, 0, out, &lanes), found);
    assert_int_equal(kernels->sift(&scan, &list, all, places[1], BLOCKS), kept);
    assert_memory_equal(places[1], places[0], kept * sizeof(places[0][0]));
}

static void check_table(const struct bits_kernels *kernels, struct rng *rng)
{
    for (size_t words = 1; words <= WORDS_MAX; words++) {
        struct trial trial;

        begin_trial(&trial, words, words % (SHIFT_MAX + 1));
        for (enum pattern pattern = ZERO; pattern < PATTERNS; pattern++) {
            fill(&trial, rng, pattern);
            check_rows(kernels, &trial);
            check_floors(kernels, &trial, rng);
            check_gap(kernels, &trial, rng);
            check_ends(kernels, &trial, rng);
        }
        end_trial(&trial);
    }
}

/*
 * With numbers at their limits needed and reached are equal, or differ by one step: 2^13 and 2^15
 * make 2^28, which must not count as negative anywhere.
 */
static void check_limits(const struct bits_kernels *kernels)
{
    struct trial trial;

    begin_trial(&trial, WORDS_MAX, 1);
    memset(trial.query, 0xff, WORDS_MAX * sizeof(uint64_t));
    memset(trial.blocks, 0xff, BLOCKS * BITS_BLOCK * WORDS_MAX * sizeof(uint64_t));
    for (size_t last = 0; last < BLOCKS * BITS_BLOCK; last++) {
        const struct bits_scan scan = {
            .query = trial.query, .words = WORDS_MAX, .base = 4096, .floor = 32768};
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;

        for (size_t i = 0; i < BLOCKS * BITS_BLOCK; i++) {
            trial.cardinalities[i] = i == last ? 4096 : 4095;
            filter_of(&trial, i)[0] = i == last ? UINT64_MAX : UINT64_MAX >> 1;
        }
        /* 4095 * 2^16 < 8191 * 2^15, but 4096 * 2^16 = 8192 * 2^15 */
        assert_int_equal(
            kernels->scan(&scan, trial.blocks, trial.cardinalities, BLOCKS, overlaps, &lanes),
            last / BITS_BLOCK);
        assert_int_equal(lanes, 1u << last % BITS_BLOCK);
        assert_int_equal(overlaps[last % BITS_BLOCK], 4096);
    }
    end_trial(&trial);
}

/* Every table that runs here agrees with the definition, for every length that a profile has. */
TEST(test_tables_agree_with_plain_c)
{
    struct rng rng;

    rng_init(&rng);
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        const struct bits_kernels *kernels = bits_table(levels[l]);

        if (kernels == NULL) {
            printf("kernels %s: not here, not tested\n", level_names[l]);
            continue;
        }
        printf("kernels %s: tested\n", level_names[l]);
        assert_string_equal(kernels->name, level_names[l]);
        check_table(kernels, &rng);
        check_limits(kernels);
    }
}

TEST(test_selection)
{
    assert_non_null(bits_table(BITS_SCALAR));
    assert_ptr_equal(bits_select(BITS_SCALAR), bits_table(BITS_SCALAR));
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        const struct bits_kernels *best = NULL;

        for (size_t below = 0; below <= l; below++) {
            best = bits_table(levels[below]) != NULL ? bits_table(levels[below]) : best;
        }
        assert_ptr_equal(bits_select(levels[l]), best);
    }
}

TEST(test_names)
{
    enum bits_level level = BITS_AVX2;

    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        assert_int_equal(bits_level_parse(level_names[l], &level), 0);
        assert_int_equal(level, levels[l]);
    }
    level = BITS_AVX2;
    assert_string_equal(BITS_LEVEL_NAMES, "scalar, neon, avx2, avx512");
    assert_int_equal(bits_level_parse("AVX2", &level), BITS_UNKNOWN);
    assert_int_equal(bits_level_parse("", &level), BITS_UNKNOWN);
    assert_int_equal(bits_level_parse("avx51", &level), BITS_UNKNOWN);
    assert_int_equal(level, BITS_AVX2);
}
