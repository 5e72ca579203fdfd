/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample says of messages, against exact fractions in 64 bits. */
#include "tests/lib/check.h"
#include "tests/lib/rng.h"
#include "tests/reference/sample_take.h"

enum { WORDS_MAX = 64, QUARTERS = 4 };

/* Some messages and a query, and what is true of them. */
struct truth {
    size_t words;
    size_t count;
    uint64_t query[WORDS_MAX];
    uint64_t blocks[SAMPLE_MESSAGES * WORDS_MAX];
    uint16_t cardinalities[SAMPLE_MESSAGES];
    uint32_t overlaps[SAMPLE_MESSAGES];
    uint32_t base;
};

static uint32_t set_bits(uint64_t word)
{
    uint32_t count = 0;

    for (; word != 0; word &= word - 1) {
        count++;
    }
    return count;
}

/* Filters of different fill; those behind `count` are there too, as a run may end before them. */
static void make(struct rng *rng, struct truth *truth, size_t words, size_t count, uint32_t percent)
{
    memset(truth, 0, sizeof *truth);
    truth->words = words;
    truth->count = count;
    rng_filter(rng, (uint32_t)words * 64, percent, truth->query);
    for (size_t w = 0; w < words; w++) {
        truth->base += set_bits(truth->query[w]);
    }
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        uint64_t filter[WORDS_MAX];

        rng_filter(rng, (uint32_t)words * 64, percent < 100 ? rng_below(rng, 101) : 100, filter);
        for (size_t w = 0; w < words; w++) {
            truth->blocks[(i / BITS_BLOCK * words + w) * BITS_BLOCK + i % BITS_BLOCK] = filter[w];
            truth->cardinalities[i] = (uint16_t)(truth->cardinalities[i] + set_bits(filter[w]));
            truth->overlaps[i] += set_bits(filter[w] & truth->query[w]);
        }
    }
}

static void take(const struct truth *truth, enum bits_level level, struct sample *out)
{
    const struct bits_scan scan = {
        .query = truth->query,
        .words = truth->words,
        .base = truth->base,
    };

    memset(out, 0x5a, sizeof *out);
    sample_take(out, bits_select(level), &scan, truth->blocks, truth->cardinalities, truth->count);
}

static uint64_t needed(const struct truth *truth, size_t i, uint16_t floor)
{
    return (uint64_t)(truth->base + truth->cardinalities[i]) * floor;
}

/* As floors are defined in engine.h. */
static bool reaches(const struct truth *truth, size_t i, uint16_t floor)
{
    return (uint64_t)truth->overlaps[i] << BITS_FLOOR_SHIFT >= needed(truth, i, floor);
}

/* Nearly so: by less than a quarter of a bit below. */
static bool nearly_reaches(const struct truth *truth, size_t i, uint16_t floor)
{
    return (uint64_t)(truth->overlaps[i] * QUARTERS + 1) << BITS_FLOOR_SHIFT >
           needed(truth, i, floor) * QUARTERS;
}

/* Takes out what reaches the floor, checks it, and notes it in `taken`. */
static void check_take_out(const struct truth *truth, struct sample *sample, uint16_t floor,
                           bool *taken)
{
    bool now[SAMPLE_MESSAGES] = {false};
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    sample_mark(sample, floor);
    for (size_t block = sample_next(sample, 0, overlaps, &lanes); block < SAMPLE_BLOCKS;
         block = sample_next(sample, block + 1, overlaps, &lanes)) {
        assert_true(lanes != 0 && lanes >> BITS_BLOCK == 0);
        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            size_t i = block * BITS_BLOCK + lane;

            now[i] = (lanes >> lane & 1) != 0;
            assert_true(!now[i] || overlaps[lane] == truth->overlaps[i]);
        }
    }
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        bool may = i < truth->count && !taken[i];

        assert_true(!now[i] || (may && nearly_reaches(truth, i, floor)));
        assert_true(now[i] || !may || !reaches(truth, i, floor));
        taken[i] = taken[i] || now[i];
    }
}

/* The floor is one that enough reach, and the next two passes find each message once. */
static void check_all(const struct truth *truth, enum bits_level level, uint16_t least,
                      size_t wanted)
{
    bool taken[SAMPLE_MESSAGES] = {false};
    struct sample sample;
    size_t count = 0;

    take(truth, level, &sample);
    uint16_t floor = sample_floor(&sample, least, wanted);
    assert_in_range(floor, least, 1 << 15);
    check_take_out(truth, &sample, floor, taken);
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        count += taken[i];
    }
    assert_true(count >= wanted || floor == least);
    check_take_out(truth, &sample, least, taken);
    check_take_out(truth, &sample, 0, taken);
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
        assert_int_equal(taken[i], i < truth->count);
    }
}

TEST(test_agrees_with_fractions)
{
    static const uint32_t percents[] = {0, 10, 50, 100};
    static struct truth truth;
    struct rng rng;

    rng_init(&rng);
    for (size_t turn = 0; turn < 60; turn++) {
        size_t words = turn % 3 == 0 ? WORDS_MAX : 1 + rng_below(&rng, WORDS_MAX);
        size_t count = turn % 4 == 0 ? SAMPLE_MESSAGES : 1 + rng_below(&rng, SAMPLE_MESSAGES);

        make(&rng, &truth, words, count, percents[turn / 3 % 4]);
        for (enum bits_level level = BITS_SCALAR; level <= BITS_AVX512; level++) {
            check_all(&truth, level, 0, 1 + rng_below(&rng, SAMPLE_MESSAGES));
            check_all(&truth, level, 0, 10);
            check_all(&truth, level, (uint16_t)rng_below(&rng, (1 << 15) + 1), 10);
        }
    }
}

/* Where similarities differ, little more than what was wanted is found: that is what it is for. */
/* Put in block by block, of which only some lanes count, a sample is the same as one taken at once
 * of these lanes alone: what is left out reaches no floor. */
TEST(test_block_by_block)
{
    static struct truth truth;
    struct rng rng;

    rng_init(&rng);
    for (uint32_t round = 0; round < 50; round++) {
        size_t blocks = rng_below(&rng, SAMPLE_BLOCKS + 1);
        uint16_t floor = (uint16_t)rng_below(&rng, 1 << 15);
        uint8_t lanes[SAMPLE_BLOCKS];
        struct sample taken;
        struct sample put;

        make(&rng, &truth, 1 + rng_below(&rng, 8), blocks * BITS_BLOCK, rng_below(&rng, 101));
        take(&truth, BITS_SCALAR, &taken);
        memset(&put, 0x5a, sizeof put);
        const struct bits_scan scan = {.base = truth.base};
        sample_begin(&put, bits_select(BITS_SCALAR), &scan);
        for (size_t b = 0; b < blocks; b++) {
            lanes[b] = (uint8_t)rng_below(&rng, 256);
            sample_put(&put, b, truth.overlaps + b * BITS_BLOCK,
                       truth.cardinalities + b * BITS_BLOCK, lanes[b]);
        }
        sample_end(&put, blocks);
        sample_mark(&taken, floor);
        sample_mark(&put, floor);
        for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
            bool counts = i < blocks * BITS_BLOCK && (lanes[i / BITS_BLOCK] >> i % BITS_BLOCK & 1);

            assert_int_equal(put.reaching[i], counts && taken.reaching[i]);
        }
    }
}

TEST(test_finds_few)
{
    static const size_t wanted[] = {1, 2, 10, 100};
    static struct truth truth;
    struct sample sample;
    bool taken[SAMPLE_MESSAGES] = {false};

    truth.words = 8;
    truth.count = SAMPLE_MESSAGES;
    truth.base = 200;
    for (size_t i = 0; i < 200; i++) {
        truth.query[i / 64] |= UINT64_C(1) << i % 64;
    }
    for (size_t i = 0; i < SAMPLE_MESSAGES; i++) { /* the first i bits */
        for (size_t bit = 0; bit < i; bit++) {
            truth.blocks[(i / BITS_BLOCK * truth.words + bit / 64) * BITS_BLOCK + i % BITS_BLOCK] |=
                UINT64_C(1) << bit % 64;
        }
        truth.cardinalities[i] = (uint16_t)i;
        truth.overlaps[i] = (uint32_t)(i < 200 ? i : 200);
    }
    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        size_t count = 0;

        memset(taken, 0, sizeof taken);
        take(&truth, BITS_AVX512, &sample);
        check_take_out(&truth, &sample, sample_floor(&sample, 0, wanted[w]), taken);
        for (size_t i = 0; i < SAMPLE_MESSAGES; i++) {
            count += taken[i];
        }
        assert_in_range(count, wanted[w], wanted[w] + wanted[w] / 2 + 1);
    }
}
