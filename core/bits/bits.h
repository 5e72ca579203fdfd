/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits: the inner loops ("kernels"), one table of functions for each instruction set.
 *
 * core/bits/scalar.c is the reference and is always there. A table is chosen once, when an index is
 * made, and stored in the index: there is no hidden state, and no loop tests the processor. All
 * tables give the same answers.
 *
 * Filters lie in blocks of BITS_BLOCK, interleaved word by word, so that a kernel needs no sum
 * across the lanes of a vector:
 *
 *   word 0 of filters 0..7 | word 1 of filters 0..7 | ... | word w-1 of filters 0..7
 *
 * Work on two whole filters has no kernel: union, subset test and counts are in
 * core/filter/bloom.h. Compilers turn those plain loops into vector instructions of the baseline,
 * and core needs them a few times for each query or deposit, not for each message.
 */
#ifndef CORE_BITS_BITS_H
#define CORE_BITS_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BITS_BLOCK = 8 };

/*
 * Up to BITS_LANES sets of bits may also lie by columns. Column p has BITS_LANE_WORDS words. Its
 * bit i (bit i % 64 of word i / 64) is bit p of set i; i is called the lane of the set.
 *
 *   column 0    lane 0 | lane 1 | ... | lane 511        which sets have bit 0?
 *   column 1    lane 0 | lane 1 | ... | lane 511        which sets have bit 1?
 *
 * A query reads only the columns of its own set bits.
 */
enum { BITS_LANE_WORDS = 8, BITS_LANES = 64 * BITS_LANE_WORDS, BITS_PLANES_MAX = 13 };

/* The arguments of `scan`. */
struct bits_scan {
    const uint64_t *query; /* borrowed */
    size_t words;          /* of a filter, at most 64 */
    uint32_t base;         /* added to each filter's cardinality; the sum is at most 2^13 */
    uint32_t floor;        /* in units of 2^-BITS_FLOOR_SHIFT; at most 2^15 */
};
enum { BITS_FLOOR_SHIFT = 16 };

/*
 * The arguments of `lanes_reaching`. The threshold of a lane is the sum of two numbers: its own
 * one, given in planes (see count_columns), and base * floor / 2^BITS_FLOOR_SHIFT rounded down,
 * with the floor of the lane's word.
 */
struct bits_reach {
    const uint64_t *columns;   /* all columns; borrowed, as are all pointers here */
    const uint16_t *positions; /* the columns to add up */
    size_t count;              /* how many columns to add up, at most 4096 */
    size_t lane_words;         /* how many words of lanes matter, 1 .. BITS_LANE_WORDS */
    const uint64_t *lanes;     /* a mask of the lanes to test */
    const uint64_t *own;       /* own_planes planes, at most BITS_PLANES_MAX */
    size_t own_planes;
    const uint64_t *floors; /* BITS_LANE_WORDS numbers, each at most 2^15 */
    uint32_t base;          /* at most 4096 */
    size_t planes;          /* every threshold is below 2^planes */
};

/* The arguments of `bound_lanes`: what is known of the filters of each lane. */
struct bits_bound {
    const uint8_t *least; /* smallest number of set bits; 255 means 255 or more */
    const uint8_t *most;  /* largest number of set bits; 255 means 255 or more */
    uint32_t base;        /* set bits of the query, 1 .. 255 */
    uint32_t floor;       /* at most 2^15 */
};
enum { BITS_SPREAD_PLANES = 8, BITS_NEEDS = 3, BITS_NEEDS_FIRST = 2, BITS_STRIDE = 32 };

struct bits_kernels {
    const char *name; /* "scalar", "neon", "avx2", "avx512" */

    /* The number of set bits of `words` words. */
    uint32_t (*cardinality)(const uint64_t *filter, size_t words);

    /*
     * The number of set bits of (query and x) for each filter x of a block. `block` has words *
     * BITS_BLOCK words, `out` has BITS_BLOCK numbers. The alignment of the types is enough.
     */
    void (*overlaps)(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out);

    /*
     * Which filters of a block have all bits of `query`: bit i of the result for filter i. If the
     * query has no bit, all 8 bits are set, also for places without a filter. Reads only the words
     * in which the query has a bit: with one label that is half of a block of 512-bit filters, or
     * less.
     */
    uint32_t (*supersets)(const uint64_t *query, const uint64_t *block, size_t words);

    /* The union of a block's filters; `out` has `words` words and does not overlap the block. */
    void (*unite)(const uint64_t *block, size_t words, uint64_t *out);

    /*
     * Adds up columns (see above): for each lane the number of given columns that have the lane
     * set. The numbers are bit-sliced into planes: bit i of word w of plane p is bit p of the
     * number of lane 64 w + i. `columns` are all columns; `positions` names the `count` (at most
     * 4096) to add. Writes bits_planes(count) planes of BITS_LANE_WORDS words; the first
     * `lane_words` words (1 .. BITS_LANE_WORDS) of each plane are valid.
     */
    void (*count_columns)(const uint64_t *columns, const uint16_t *positions, size_t count,
                          size_t lane_words, uint64_t *planes);

    /*
     * Finds the largest number in each word of lanes. `planes` are plane_count planes (at most
     * BITS_PLANES_MAX) as count_columns writes them. `mask` has the lanes to look at
     * (BITS_LANE_WORDS words; those beyond the first `lane_words` are zero). Afterwards the mask
     * has, in each word, only the lanes with the largest number of that word. out_largest has
     * BITS_LANE_WORDS numbers, of which the first `lane_words` are valid: the largest number of
     * each word, 0 for a word without lanes.
     */
    void (*keep_largest)(const uint64_t *planes, size_t plane_count, size_t lane_words,
                         uint64_t *mask, uint64_t *out_largest);

    /* Which lanes reach their thresholds: the number of given columns that have the lane set is at
     * least the threshold. Writes a mask; its first `lane_words` words are valid. Returns whether
     * any lane does. */
    bool (*lanes_reaching)(const struct bits_reach *reach, uint64_t *out_mask);

    /* Writes the positions of the set bits, ascending; `out` has room for 64 * words numbers.
     * Returns how many there are. */
    size_t (*positions)(const uint64_t *filter, size_t words, uint16_t *out);

    /*
     * Turns at most BITS_SPREAD_PLANES planes into one byte for each lane: 64 * lane_words numbers.
     */
    void (*spread)(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out);

    /*
     * For each of the first `count` lanes: 1 + the highest floor (see scan) that a filter can pass
     * if it shares at most `shared` bits with a query of `base` bits and has `least` to `most`
     * bits. The result is rounded down, and is 0 if the highest floor is below `floor`. The kernel
     * also reads the lanes after `count`, up to a multiple of BITS_STRIDE, and sets their results
     * to 0.
     */
    void (*bound_lanes)(const struct bits_bound *bound, const uint8_t *shared, size_t count,
                        uint16_t *out);

    /*
     * For each of BITS_LANES lanes: 1 + the highest floor that any filter of the lane can pass, if
     * the query of `base` bits (1 .. 255) shares `shared` bits with the core of the lane
     * (docs/tree.md, 6). `needs` has BITS_NEEDS rows of BITS_LANES numbers. Row j belongs to the
     * floor 2^16 * e / 8 with e = j + BITS_NEEDS_FIRST: to pass it, the overlap with the core must
     * exceed base * e / 8 by needs[j] eighths of a bit. The rows ascend with j; between two rows
     * the need is linear. Rounded down. The result is at least 1 + the first of these floors and at
     * most 1 + the last, 2^15.
     */
    void (*promise)(const int16_t *needs, uint32_t base, const uint8_t *shared, uint16_t *out);

    /*
     * Searches in `count` numbers, a multiple of BITS_STRIDE:
     *   largest      the largest number
     *   count_least  how many numbers are at least `least`
     *   find_least   the place of the first of them; `count` if there is none
     *   list_least   writes the places of all of them, ascending, and returns how many
     */
    uint16_t (*largest)(const uint16_t *numbers, size_t count);
    size_t (*count_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*find_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*list_least)(const uint16_t *numbers, size_t count, uint16_t least,
                         uint16_t *out_places);

    /* About how many columns take as long to add up as one block takes to compare. */
    uint32_t block_columns;

    /*
     * Finds the first block with a filter that passes the floor:
     *
     *   overlap * 2^BITS_FLOOR_SHIFT >= (base + cardinality) * floor.
     *
     * Returns the number of that block; `out` then has its BITS_BLOCK overlaps, and bit i of
     * *out_lanes says whether filter i passes. Returns block_count if there is none: both outputs
     * are undefined then. `cardinalities` has BITS_BLOCK numbers for each block.
     */
    size_t (*scan)(const struct bits_scan *scan, const uint64_t *blocks,
                   const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                   uint32_t *out_lanes);
};

/* How many planes numbers from 0 to `most` need. */
static inline size_t bits_planes(size_t most)
{
#if defined(__GNUC__)
    return most == 0 ? 0 : 8 * sizeof(unsigned long long) - (size_t)__builtin_clzll(most);
#else
    size_t planes = 0;

    for (; most > 0; most >>= 1) {
        planes++;
    }
    return planes;
#endif
}

/* In ascending order. bits_select skips the levels of other processors. */
enum bits_level {
    BITS_SCALAR,
    BITS_NEON, /* of AArch64 */
    BITS_AVX2,
    BITS_AVX512,
    BITS_BEST = BITS_AVX512
};

/* The best table at or below `most` that this build has and this machine can run. */
const struct bits_kernels *bits_select(enum bits_level most);

/* The table of exactly this level, or NULL if the build or the machine lacks it. */
const struct bits_kernels *bits_table(enum bits_level level);

/* Finds the level with a name. 0 or BITS_UNKNOWN. */
#define BITS_LEVEL_NAMES "scalar, neon, avx2, avx512"
enum { BITS_UNKNOWN = 1 };
int bits_level_parse(const char *name, enum bits_level *out_level);

#endif
