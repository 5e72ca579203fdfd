/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits: the inner loops, one table of them for each instruction set.
 *
 * bits_scalar.c is the reference and always there. A table is chosen once, when an index is made,
 * and stored in it: no hidden state, no test of the processor in a loop. All tables give the same
 * answers. Filters lie in blocks of BITS_BLOCK, interleaved word by word, so that no sum across
 * lanes is needed:
 *
 *   word 0 of filters 0..7 | word 1 of filters 0..7 | ... | word w-1 of filters 0..7
 *
 * What is done to a few filters at a time, each in one piece, has no kernel: union, subset test and
 * counts of two filters are in bloom.h, whose plain loops compilers turn into vector instructions
 * of the baseline. Core asks for them a few times a query or a deposit, not for each message.
 */
#ifndef CORE_BITS_BITS_H
#define CORE_BITS_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BITS_BLOCK = 8 };

/*
 * Up to BITS_LANES sets of bits lie the other way round, by columns: column p has BITS_LANE_WORDS
 * words, and its bit i (bit i % 64 of word i / 64) is bit p of set i. A query reads only the
 * columns of its own bits.
 */
enum { BITS_LANE_WORDS = 8, BITS_LANES = 64 * BITS_LANE_WORDS, BITS_PLANES_MAX = 13 };

/* What a scan looks for. */
struct bits_scan {
    const uint64_t *query; /* borrowed */
    size_t words;          /* of a filter, at most 64 */
    uint32_t base;         /* added to each filter's cardinality; the sum is at most 2^13 */
    uint32_t floor;        /* at most 2^15 */
};
enum { BITS_FLOOR_SHIFT = 16 };

/*
 * Which lanes reach their thresholds. A lane's threshold is what it needs of its own, given in
 * planes, and base * floor / 2^BITS_FLOOR_SHIFT, rounded down, with the floor of its word.
 */
struct bits_reach {
    const uint64_t *columns;   /* all of them, borrowed as all the rest */
    const uint16_t *positions; /* of those that are added up, */
    size_t count;              /* ... how many: at most 4096 */
    size_t lane_words;         /* 1 .. BITS_LANE_WORDS that matter */
    const uint64_t *lanes;     /* those that are asked for: a mask */
    const uint64_t *own;       /* own_planes planes, at most BITS_PLANES_MAX */
    size_t own_planes;
    const uint64_t *floors; /* BITS_LANE_WORDS numbers, each at most 2^15 */
    uint32_t base;          /* at most 4096 */
    size_t planes;          /* every threshold is below 2^planes */
};

/* What is known of the filters of some lanes: see bound_lanes. */
struct bits_bound {
    const uint8_t *least;
    const uint8_t *most;
    uint32_t base;
    uint32_t floor; /* at most 2^15 */
};
enum { BITS_SPREAD_PLANES = 8, BITS_NEEDS = 3, BITS_NEEDS_FIRST = 2, BITS_STRIDE = 32 };

struct bits_kernels {
    const char *name; /* "scalar", "neon", "avx2", "avx512" */

    /* Set bits of `words` words. */
    uint32_t (*cardinality)(const uint64_t *filter, size_t words);

    /*
     * Set bits of (query and x) for each filter x of a block. `block` has words * BITS_BLOCK
     * words, `out` BITS_BLOCK numbers. No alignment beyond that of the types is needed.
     */
    void (*overlaps)(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out);

    /*
     * Which filters of a block have all bits of `query`: bit i for lane i. A query without a bit is
     * in all of them, and in lanes that hold no filter. Reads only the words in which the query has
     * a bit: for one label that is half of a block of 512 bits or less.
     */
    uint32_t (*supersets)(const uint64_t *query, const uint64_t *block, size_t words);

    /* The union of a block's filters; `out` has `words` words and does not overlap the block. */
    void (*unite)(const uint64_t *block, size_t words, uint64_t *out);

    /*
     * Adds up columns (see above), bit-sliced: bit i of word w of plane p is bit p of the number of
     * columns given that have lane 64 w + i set. `columns` are all columns, `positions` says which
     * `count` of them (at most 4096). Writes bits_planes(count) planes; of each, the first
     * `lane_words` words (1 .. BITS_LANE_WORDS) count.
     */
    void (*count_columns)(const uint64_t *columns, const uint16_t *positions, size_t count,
                          size_t lane_words, uint64_t *planes);

    /*
     * Of `plane_count` planes (at most BITS_PLANES_MAX) as count_columns writes them, and a mask of
     * lanes (BITS_LANE_WORDS words; those beyond the first `lane_words` are zero).
     *
     * keep_largest: of the lanes of each word those stay whose number is the largest of that word;
     * which that is goes to out_largest (BITS_LANE_WORDS numbers, of which the first `lane_words`
     * count); 0 for a word of none.
     */
    void (*keep_largest)(const uint64_t *planes, size_t plane_count, size_t lane_words,
                         uint64_t *mask, uint64_t *out_largest);

    /* The lanes of which at least as many of the columns given are set as their threshold says. Of
     * out_mask the first `lane_words` words count. Whether there is any. */
    bool (*lanes_reaching)(const struct bits_reach *reach, uint64_t *out_mask);

    /* The set bits of a filter, ascending, into out, which has room for 64 * words numbers. How
     * many. */
    size_t (*positions)(const uint64_t *filter, size_t words, uint16_t *out);

    /*
     * The numbers of such planes, of which there are at most BITS_SPREAD_PLANES: 64 * lane_words of
     * them.
     */
    void (*spread)(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out);

    /*
     * Lane by lane of the first `count`: 1 + the highest floor (see scan) that a filter can pass
     * that shares at most `shared` bits with a query of `base` bits (1 .. 255) and has between
     * `least` and `most` bits, of which 255 means any number from there on; 0 if that is below
     * `floor`. Rounded down. Lanes behind, up to a multiple of BITS_STRIDE, are read as well, and
     * become 0.
     */
    void (*bound_lanes)(const struct bits_bound *bound, const uint8_t *shared, size_t count,
                        uint16_t *out);

    /*
     * Lane by lane of BITS_LANES: 1 + the highest floor that any of the filters can pass that
     * `needs` (BITS_NEEDS rows of BITS_LANES) tells of, when the query of `base` bits (1 .. 255)
     * shares `shared` bits with their core. needs[j] is what the overlap with the core must exceed
     * base * e / 8 by, in eighths of a bit, for the floor 2^16 * e / 8, where e is j +
     * BITS_NEEDS_FIRST; ascending with j, and between these taken for linear. Rounded down; at
     * least the first of these floors, at most the last, 2^15.
     */
    void (*promise)(const int16_t *needs, uint32_t base, const uint8_t *shared, uint16_t *out);

    /*
     * Of `count` numbers, a multiple of BITS_STRIDE: the largest; how many are at least `least`;
     * the first that is (count, if none); and the places of all that are, ascending, of which it
     * returns how many.
     */
    uint16_t (*largest)(const uint16_t *numbers, size_t count);
    size_t (*count_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*find_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*list_least)(const uint16_t *numbers, size_t count, uint16_t least,
                         uint16_t *out_places);

    /* About how many columns cost as much as one block of overlaps, both of usual size. */
    uint32_t block_columns;

    /*
     * Looks at blocks one after another for the first one with a filter for which
     *
     *   overlap * 2^BITS_FLOOR_SHIFT >= (base + cardinality) * floor.
     *
     * Returns how many blocks come before it, with its overlaps in `out` and its filters that are
     * so in *out_lanes, bit i for lane i; or block_count, when there is none: both outputs are
     * undefined then. `cardinalities` has BITS_BLOCK numbers for each block.
     */
    size_t (*scan)(const struct bits_scan *scan, const uint64_t *blocks,
                   const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                   uint32_t *out_lanes);
};

/* Planes that numbers from 0 to `most` take. */
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

/* In ascending order; one of another processor is passed over. */
enum bits_level {
    BITS_SCALAR,
    BITS_NEON, /* of AArch64 */
    BITS_AVX2,
    BITS_AVX512,
    BITS_BEST = BITS_AVX512
};

/* The best table at or below `most` that this build has and this machine can run. */
const struct bits_kernels *bits_select(enum bits_level most);

/* The table of that very level, or NULL where the build or the machine lacks it. */
const struct bits_kernels *bits_table(enum bits_level level);

/* The level with one of these names: 0; else BITS_UNKNOWN. */
#define BITS_LEVEL_NAMES "scalar, neon, avx2, avx512"
enum { BITS_UNKNOWN = 1 };
int bits_level_parse(const char *name, enum bits_level *out_level);

#endif
