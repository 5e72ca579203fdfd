/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits: the inner loops of core, called kernels. Each supported instruction set has one table of
 * kernels.
 *
 * core/bits/scalar.c is the reference and is in every build. An index gets a table when the index
 * is made, and keeps a pointer to the table. The kernels do not test the processor. The kernels of
 * all tables give the same results, except for the upper bounds of bound_phi and phi_floors.
 *
 * Filters lie in blocks of BITS_BLOCK, interleaved word by word. A vector has the same word of
 * several filters, so that `overlaps` and `scan` count the bits of each filter in a lane of its
 * own:
 *
 *   word 0 of filters 0..7 | word 1 of filters 0..7 | ... | word w-1 of filters 0..7
 *
 * No kernel compares two single filters: core/filter/bloom.h has their union, subset test and
 * counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fetch.h"

enum { BITS_BLOCK = 8 };

/*
 * Up to BITS_LANES sets of bits may also be stored by columns. Column p has bit p of all sets. Bit
 * i % 64 of word i / 64 of a column belongs to set i; i is called the lane of the set. A column has
 * BITS_LANE_WORDS words.
 *
 *   column 0    lane 0 | lane 1 | ... | lane 511        which sets have bit 0?
 *   column 1    lane 0 | lane 1 | ... | lane 511        which sets have bit 1?
 *
 * To count the bits that a query shares with each set, a kernel reads only the columns of the
 * query's set bits.
 */
enum { BITS_LANE_WORDS = 8, BITS_LANES = 64 * BITS_LANE_WORDS, BITS_PLANES_MAX = 13 };

/*
 * How `scan` tests filters by the phi coefficient (core/profile/phi.h). The filters have `count`
 * sections, and `sections` has the numbers of each. A filter has the set bits c by section and
 * shares i bits with the query. The kernel computes
 *
 *   x = (2^15 i - the sum of c * chance + slack) / 2^shift, rounded down, at least 0
 *   v = (the sum of c (whole - c * loss)) / 2^shift, rounded down
 *
 * and the filter passes a floor f above 0 if i is at least f * scale / 2^23 and x^2 >= v * factor /
 * 2^down, rounded down, where factor / 2^down is f * scale / 2^(shift + 8), rounded down to 15 bits
 * (bits_factor). x and v are below 2^15, and core/index/probe.c chooses the numbers so that a
 * filter passes if its phi has this floor.
 */
struct bits_sized {
    uint16_t chance; /* below 2^15; 0 if the section does not count, and so are the other two */
    uint16_t loss;   /* c * loss is at most 2^15 + c */
    uint16_t whole;  /* 2^15 or 0 */
};
enum { BITS_SECTIONS_MAX = 16, BITS_SIZED_SHIFT = 15 };
struct bits_phi {
    uint32_t count; /* of sections */
    uint32_t scale; /* below 2^19 */
    int32_t slack;
    uint32_t shift; /* at most 15 */
    struct bits_sized sections[BITS_SECTIONS_MAX];
};

/* The arguments of `scan`. */
struct bits_scan {
    const uint64_t *query; /* borrowed */
    size_t words;          /* of a filter, at most 64 */
    uint32_t base;         /* added to the cardinality of each filter; each sum is at most 2^13 */
    uint32_t floor;        /* in units of 2^-BITS_FLOOR_SHIFT; at most 2^15 */
    const struct bits_phi *phi; /* borrowed; NULL: the test is not by phi, and the next number is
                                   not read */
    size_t before; /* words at the beginning, and at the end, that are not read, because the query
                    * has no bits in them */
    size_t after;
    size_t stride; /* the set bits of a filter in section s, s > 0, are `s * stride` numbers behind
                      its cardinality. Those in section 0 are the rest of the cardinality */
    size_t gap;    /* numbers between the cardinalities of a block and those of the next one */
};
enum { BITS_FLOOR_SHIFT = 16 };

/* A block that `sift` and `scan_listed` compare. */
struct bits_place {
    uint16_t block; /* its number, counted from 0 */
    uint16_t reach; /* `scan_listed` leaves the block out unless this is above the floor */
    uint8_t lanes;  /* one bit for each filter: set if the filter is to be compared */
    uint8_t rest; /* for `sift`. None of these filters shares more bits with the query than this in
                   * the words that it does not read */
};

/* The words of the filters that `sift` reads: first .. end - 1. */
struct bits_part {
    size_t first;
    size_t end;
};

/* The arguments of `scan_listed`, besides those of `scan`. All pointers are borrowed. */
struct bits_list {
    const uint64_t *blocks;
    const uint16_t *cardinalities; /* BITS_BLOCK numbers for each block, and bits_scan.gap others */
    const uint64_t *contains;      /* NULL, or bits that a filter must have */
    const struct bits_place *places;
    size_t count; /* of places */
};

/*
 * The arguments of `lanes_reaching`. The threshold of a lane is the sum of two numbers. The first
 * number is the number that `own` has for the lane, in planes (see count_columns). The second
 * number is (base * floor + more) / 2^BITS_FLOOR_SHIFT, rounded down, where `floor` and `more` are
 * the numbers in `floors` and `more` for the word of the lane.
 */
struct bits_reach {
    const uint64_t *columns;   /* all columns; all pointers of this struct are borrowed */
    const uint16_t *positions; /* the columns to add up */
    size_t count;              /* how many columns to add up, at most 4096 */
    size_t lane_words;     /* words of each column that have lanes to test, 1 .. BITS_LANE_WORDS */
    const uint64_t *lanes; /* the lanes to test: BITS_LANE_WORDS words, with one bit for each
                              lane */
    const uint64_t *own;   /* own_planes planes, at most BITS_PLANES_MAX */
    size_t own_planes;
    const uint64_t *floors; /* BITS_LANE_WORDS numbers, each at most 2^15 */
    const uint64_t *more;   /* BITS_LANE_WORDS numbers, each at most 2^29 */
    uint32_t base;          /* at most 4096 */
    size_t planes;          /* every threshold is below 2^planes */
};

/*
 * The arguments of `bound_lanes`. `least` and `most` have a number for each lane: bounds on the set
 * bits of the filters of the lane.
 */
struct bits_bound {
    const uint8_t *least; /* smallest number of set bits; 255 means 255 or more */
    const uint8_t *most;  /* largest number of set bits; 255 means 255 or more */
    uint32_t base;        /* set bits of the query, 1 .. 255 */
    uint32_t floor;       /* as in bits_scan, at most 2^15 */
};
enum { BITS_SPREAD_PLANES = 8, BITS_NEEDS = 3, BITS_NEEDS_FIRST = 2, BITS_STRIDE = 32 };

/*
 * One section of a query, for `bound_phi`. The arrays have a number for each lane: bounds on the
 * set bits that the filters of the lane have in this section (255 means 255 or more), and the most
 * bits that a filter of the lane shares with the query there.
 */
struct bits_section {
    const uint8_t *least; /* borrowed, and so are the next two */
    const uint8_t *most;
    const uint8_t *overlaps;
    uint32_t bits; /* of the section, 2 .. 4096 */
    uint32_t set;  /* bits of the query in this section, at most half of the bits, and 255 */
};

struct bits_kernels {
    const char *name; /* "scalar", "neon", "avx2", "avx512" */

    /* The number of set bits of `words` words. */
    uint32_t (*cardinality)(const uint64_t *filter, size_t words);

    /*
     * Writes the number of set bits of (query and x) for each filter x of a block. `block` has
     * words * BITS_BLOCK words. `out` gets BITS_BLOCK numbers. Both arrays need only the alignment
     * of their elements' types.
     */
    void (*overlaps)(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out);

    /*
     * Returns which filters of a block have all bits of `query`: bit i of the result is for filter
     * i. If the query has no bit, all 8 bits of the result are set. The kernel reads only the words
     * of the block in which the query has a bit.
     */
    uint32_t (*supersets)(const uint64_t *query, const uint64_t *block, size_t words);

    /*
     * Counts, for each lane, in how many of the chosen columns the lane's bit is set. `columns` has
     * all columns. `positions` has the numbers of the `count` chosen columns; `count` is at most
     * 4096.
     *
     * The counts are bit-sliced into planes: bit i of word w of plane p is bit p of the count of
     * lane 64 w + i. The kernel writes bits_planes(count) planes of BITS_LANE_WORDS words. The
     * first `lane_words` words (1 .. BITS_LANE_WORDS) of each plane are valid.
     */
    void (*count_columns)(const uint64_t *columns, const uint16_t *positions, size_t count,
                          size_t lane_words, uint64_t *planes);

    /*
     * Finds the largest number in each word of lanes.
     *
     * `planes` has plane_count planes (at most BITS_PLANES_MAX) in the form that count_columns
     * writes. `mask` has BITS_LANE_WORDS words and selects the lanes to compare; the words after
     * the first `lane_words` are zero. The kernel changes the mask: each word then selects only the
     * lanes of this word that were selected and have the largest number. out_largest has
     * BITS_LANE_WORDS numbers, of which the first `lane_words` are valid: the largest number of
     * each word, or 0 if the word selects no lane.
     */
    void (*keep_largest)(const uint64_t *planes, size_t plane_count, size_t lane_words,
                         uint64_t *mask, uint64_t *out_largest);

    /*
     * Writes a mask with one bit for each lane: the bit is set if the lane is to be tested
     * (reach.lanes) and reaches its threshold. A lane's count is the number of the given columns in
     * which the lane's bit is set; the lane reaches its threshold if this count is at least the
     * threshold. The first `lane_words` words of the mask are valid. Returns whether a lane reaches
     * its threshold; the words of reach.lanes after the first `lane_words` are zero.
     */
    bool (*lanes_reaching)(const struct bits_reach *reach, uint64_t *out_mask);

    /*
     * Writes the positions of a filter's set bits, ascending, and returns how many positions there
     * are. `out` has space for 64 * words numbers.
     */
    size_t (*positions)(const uint64_t *filter, size_t words, uint16_t *out);

    /*
     * Converts bit-sliced numbers to bytes: writes the number of each lane as one byte. There are
     * at most BITS_SPREAD_PLANES planes. Writes 64 * lane_words bytes.
     */
    void (*spread)(const uint64_t *planes, size_t plane_count, size_t lane_words, uint8_t *out);

    /*
     * Computes an upper bound for each of the first `count` lanes: 1 + the highest floor (see
     * `scan`) that a filter can pass if the filter has `least` to `most` set bits and shares at
     * most `shared` bits with a query of `base` bits. `shared` has at most `base` for each lane.
     * The highest floor is rounded down. The bound is 0 if the highest floor is below `floor`. The
     * kernel also reads the lanes after `count`, up to a multiple of BITS_STRIDE, and sets their
     * bounds to 0.
     */
    void (*bound_lanes)(const struct bits_bound *bound, const uint8_t *shared, size_t count,
                        uint16_t *out);

    /*
     * Computes upper bounds of the phi coefficient (docs/notes/tree.md, "The bound of phi"). Reads
     * and writes whole strides of lanes, as bound_lanes does.
     *
     * For each of the `section_count` sections, u is the number of `overlaps`, and a and b are
     * `set` and `bits`. c is the number nearest to u that is at least `least` and at most `most`,
     * and i is the smaller of u and c. X and V are the sums over the sections of
     *
     *   i - c a / b + 1 / 256     and     c - c^2 / b.
     *
     * The kernel writes, for each of the first `count` lanes, 1 + an upper bound of the floor of
     * phi (core/profile/phi.h): 1 + min(2^15, 1 + X^2 2^15 / (base / 256 * V)), if an overlap is
     * not 0 and X is above 0, else 1. `base` is the spread of the query, 1 .. 2^19, and the
     * overlaps of a lane are at most 255 together. The bound is a little higher than this, because
     * the kernels compute with few bits and round upwards, and not the same in all tables. A lane
     * with a `most` of 255 or above b / 2 gets 1 + 2^15. The bound is 0 if the bounded floor is
     * below `floor`.
     */
    void (*bound_phi)(const struct bits_section *sections, size_t section_count, uint32_t base,
                      uint32_t floor, size_t count, uint16_t *out);

    /*
     * Computes an upper bound for each of BITS_LANES lanes: 1 + the highest floor (see `scan`) that
     * any filter of the lane can pass. The query has `base` bits (1 .. 255) and shares `shared`
     * bits with the core of the lane (docs/tree.md, item 5 of "Why it is exact").
     *
     * `needs` has BITS_NEEDS rows of BITS_LANES numbers. Row j belongs to the floor 2^16 * e / 8,
     * where e = j + BITS_NEEDS_FIRST. To pass this floor, the query must share at least (base * e +
     * needs[j]) / 8 bits with the core. Between two rows the kernel interpolates linearly; the
     * needs of a lane do not fall from one row to the next. The bound is rounded down. It is at
     * least 1 + the first of these floors and at most 1 + the last floor, 2^15.
     */
    void (*promise)(const int16_t *needs, uint32_t base, const uint8_t *shared, uint16_t *out);

    /*
     * Four searches in an array of `count` numbers. `count` is a multiple of BITS_STRIDE:
     *   largest      returns the largest number
     *   count_least  returns how many numbers are at least `least`; `count` is at most 65535
     *   find_least   returns the index of the first number that is at least `least`, else `count`
     *   list_least   writes the indexes of all numbers that are at least `least`, ascending, and
     *                returns how many there are; `count` is at most 65535
     */
    uint16_t (*largest)(const uint16_t *numbers, size_t count);
    size_t (*count_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*find_least)(const uint16_t *numbers, size_t count, uint16_t least);
    size_t (*list_least)(const uint16_t *numbers, size_t count, uint16_t least,
                         uint16_t *out_places);

    /* About how many columns `count_columns` counts in the time in which `scan` compares one
     * block. */
    uint32_t block_columns;

    /*
     * Finds the first block with a filter that passes the floor. With scan->phi, struct bits_phi
     * says when a filter passes. Without, a filter passes the floor if
     *
     *   overlap * 2^BITS_FLOOR_SHIFT >= (base + cardinality) * floor,
     *
     * where `overlap` is the number of bits that the filter shares with the query, and
     * `cardinality` is the number that `cardinalities` has for the filter. `cardinalities` has
     * BITS_BLOCK numbers for each block, and scan->gap others behind them. Returns the number of
     * this block, counted from 0. Then `out` has the overlaps of the block's BITS_BLOCK filters,
     * and bit i of *out_lanes says whether filter i passes. Returns block_count if no filter
     * passes: both outputs are undefined then.
     */
    size_t (*scan)(const struct bits_scan *scan, const uint64_t *blocks,
                   const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                   uint32_t *out_lanes);

    /*
     * Writes, for each filter of a block, an upper bound of the floors that it passes by scan->phi:
     * min(2^15, x^2 2^(shift + 8) / (v * scale)), rounded down, and at most 2 more, as far as 2^15;
     * 2^15 if the divisor is 0, and 0 if the overlap is. The other arguments are as for `scan`.
     * scan->floor is not read.
     */
    void (*phi_floors)(const struct bits_scan *scan, const uint32_t *overlaps,
                       const uint16_t *cardinalities, uint16_t *out);

    /*
     * Finds the first place of a list, from the place number `from` on, that has a filter to
     * compare that passes the floor (see `scan`) and has all bits of `contains`. Returns the number
     * of this place. Then `out` has the overlaps of the block's BITS_BLOCK filters, and bit i of
     * *out_lanes says whether filter i is such a filter. Returns list->count if there is no such
     * filter: both outputs are undefined then. Prefetches the blocks of the next BITS_AHEAD places.
     */
    size_t (*scan_listed)(const struct bits_scan *scan, const struct bits_list *list, size_t from,
                          uint32_t *out, uint32_t *out_lanes);

    /*
     * Rules out filters after reading only some of their words: the words `part` of the blocks of
     * `places`. For the other words it assumes the most that is possible, which is that each filter
     * shares bits_place.rest bits with the query there. If a filter does not pass the floor with
     * this sum, its bit in the place's `lanes` is cleared. A place whose `lanes` are all clear is
     * removed from `places`. The other places keep their order, and the rest of their words is
     * prefetched. Returns how many places are left. Reads only the blocks and the cardinalities of
     * `list`, and does not read bits_place.reach.
     */
    size_t (*sift)(const struct bits_scan *scan, const struct bits_list *list,
                   struct bits_part part, struct bits_place *places, size_t count);
};

enum { BITS_AHEAD = 6 };

/* The number of words of a filter that `scan` reads. */
static inline size_t bits_words(const struct bits_scan *scan)
{
    return scan->words - scan->before - scan->after;
}

/* Returns how many bytes are read of a block if `words` words of its filters are: these words, and
 * what the test needs of the filters' set bits. */
static inline size_t bits_bytes(const struct bits_scan *scan, size_t words)
{
    size_t numbers = scan->phi != NULL ? scan->phi->count : 1;

    return BITS_BLOCK * (words * sizeof(*scan->query) + numbers * sizeof(uint16_t));
}

/* Returns how many numbers behind those of the first block the cardinalities of a block are. */
static inline size_t bits_counts_at(const struct bits_scan *scan, size_t block)
{
    return block * (BITS_BLOCK + scan->gap);
}

/* Prefetches a block that is listed at number `place`: some words of its filters, and their
 * cardinalities. */
static inline void bits_fetch_part(const struct bits_list *list, const struct bits_scan *scan,
                                   size_t place, struct bits_part part)
{
    size_t block = list->places[place].block;

    for (size_t w = part.first; w < part.end; w++) {
        fetch_line(list->blocks + (block * scan->words + w) * BITS_BLOCK);
    }
    fetch_line(list->cardinalities + bits_counts_at(scan, block));
    fetch_line(list->cardinalities + bits_counts_at(scan, block + 1) - 1);
}

/* Prefetches what is read to compare a listed block: the words in which the query has bits, and
 * those between them, and the block's cardinalities. */
static inline void bits_fetch(const struct bits_list *list, const struct bits_scan *scan,
                              size_t place)
{
    struct bits_part part = {scan->before, scan->words - scan->after};

    bits_fetch_part(list, scan, place, part);
}

/* What a floor is for the test by phi: see struct bits_phi. */
struct bits_factor {
    uint32_t factor;  /* below 2^15 */
    uint32_t down;    /* at most 15 */
    uint32_t overlap; /* the least overlap, at most 2^11; 0 for the floor 0 */
};

static inline struct bits_factor bits_factor(const struct bits_phi *phi, uint32_t floor)
{
    enum { UNIT_SHIFT = 8, DOWN_MOST = 15, OVERLAP_SHIFT = 23 };
    uint64_t least = (uint64_t)floor * phi->scale;
    uint64_t product = least << DOWN_MOST >> (phi->shift + UNIT_SHIFT);
    struct bits_factor made = {0, DOWN_MOST,
                               (uint32_t)((least + (1 << OVERLAP_SHIFT) - 1) >> OVERLAP_SHIFT)};

    made.overlap = floor > 0 && made.overlap == 0 ? 1 : made.overlap;

    while (product >> BITS_SIZED_SHIFT != 0) {
        product >>= 1;
        made.down--;
    }
    made.factor = (uint32_t)product;
    return made;
}

/* Returns how many planes the numbers 0 .. most need. */
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

/*
 * The instruction sets for which there is a table of kernels, of all architectures. bits_select
 * starts at `most` and goes down to the first level that this build has and this machine can run.
 */
enum bits_level {
    BITS_SCALAR,
    BITS_NEON, /* of AArch64 */
    BITS_AVX2,
    BITS_AVX512,
    BITS_BEST = BITS_AVX512
};

/*
 * Returns the table of the highest level, at most `most`, that this build has and this machine can
 * run.
 */
const struct bits_kernels *bits_select(enum bits_level most);

/*
 * Returns the table of exactly this level, or NULL if the build does not have it or the machine
 * cannot run it.
 */
const struct bits_kernels *bits_table(enum bits_level level);

/* Finds the level with this name. Returns 0 or BITS_UNKNOWN. */
#define BITS_LEVEL_NAMES "scalar, neon, avx2, avx512"
enum { BITS_UNKNOWN = 1 };
int bits_level_parse(const char *name, enum bits_level *out_level);
