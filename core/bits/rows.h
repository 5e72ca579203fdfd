/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: the bodies of `overlaps`, `supersets`, `scan`, `scan_listed` and `sift`, for any vector
 * width. The file of each table includes this header after it has defined its vector (vec.h) and:
 *
 *   lane_counts                             BITS_BLOCK numbers of 32 bits, lane by lane
 *   block_overlaps(query, block, words)     counts the set bits of (query and x) for each filter x
 *   store_counts(out, counts)               stores lane_counts as an array
 *   add_to_counts(counts, number)           adds a number to each of the counts
 *   reaching(counts, cardinalities, scan)   which lanes reach the floor, a bit for each lane
 *   reaching_phi(counts, cardinalities, test)
 *                                           the same by the phi coefficient (struct bits_phi)
 *   all_below(counts, least)                whether each of the counts is below a number
 *   zero_lanes(words)                       which of the BITS_BLOCK words in an array of vectors
 *                                           are zero, a bit for each word
 *
 * In the tables with vectors the compiler can inline these functions and keep the counts in
 * registers until a lane reaches the floor.
 */
#pragma once

#include <stdbool.h>

#include "core/bits/vec.h"

static void overlaps(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out)
{
    store_counts(out, block_overlaps(query, block, words));
}

static inline struct phi_test phi_test(const struct bits_scan *scan)
{
    return scan->phi == NULL
               ? (struct phi_test){NULL, 0, {0, 0, 0}}
               : (struct phi_test){scan->phi, scan->stride, bits_factor(scan->phi, scan->floor)};
}

/*
 * SCAN_SELECTIVE is for queries whose least overlap is at least a quarter of their bits. Few
 * filters share so many bits with such a query. So the scan first checks whether any filter of a
 * block shares that many, and only then reads how many bits are set in the filters of the block.
 * For other queries this check costs more than it saves.
 */
enum scan_test { SCAN_BITS, SCAN_PHI, SCAN_SELECTIVE };

/* `kind` is a constant in each call, so that the compiler makes three loops. */
static BITS_INLINE size_t scan_rows(const struct bits_scan *scan, const uint64_t *blocks,
                                    const uint16_t *cardinalities, size_t block_count,
                                    enum scan_test kind, uint32_t *out, uint32_t *out_lanes)
{
    struct bits_scan local = *scan; /* a copy, which writing to `out` cannot change */
    struct phi_test test = phi_test(scan);
    size_t words = bits_words(&local);

    local.query += local.before;
    blocks += local.before * BITS_BLOCK;
    for (size_t block = 0; block < block_count; block++) {
        lane_counts counts = block_overlaps(local.query, blocks, words);
        uint32_t lanes = 0;

        if (kind == SCAN_BITS) {
            lanes = reaching(counts, cardinalities, &local);
        } else if (kind == SCAN_PHI || !all_below(counts, test.least.overlap)) {
            lanes = reaching_phi(counts, cardinalities, &test);
        }
        if (lanes != 0) {
            store_counts(out, counts);
            *out_lanes = lanes;
            return block;
        }
        blocks += BITS_BLOCK * local.words;
        cardinalities += BITS_BLOCK + local.gap;
    }
    return block_count;
}

static size_t scan_blocks(const struct bits_scan *scan, const uint64_t *blocks,
                          const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                          uint32_t *out_lanes)
{
    if (scan->phi == NULL) {
        return scan_rows(scan, blocks, cardinalities, block_count, SCAN_BITS, out, out_lanes);
    }
    if (4 * bits_factor(scan->phi, scan->floor).overlap < scan->base) {
        return scan_rows(scan, blocks, cardinalities, block_count, SCAN_PHI, out, out_lanes);
    }
    return scan_rows(scan, blocks, cardinalities, block_count, SCAN_SELECTIVE, out, out_lanes);
}

/* Skips the words in which the query has no bit. */
static uint32_t supersets(const uint64_t *query, const uint64_t *block, size_t words)
{
    enum { VECS = BITS_BLOCK / VEC_WORDS };
    vec missing[VECS] = {0};

    for (size_t w = 0; w < words; w++) {
        for (size_t v = 0; query[w] != 0 && v < VECS; v++) {
            missing[v] |= query[w] & ~vec_load(block + w * BITS_BLOCK + v * VEC_WORDS);
        }
    }
    return zero_lanes(missing);
}

static BITS_INLINE size_t scan_places(const struct bits_scan *scan, const struct bits_list *list,
                                      size_t from, bool by_phi, uint32_t *out, uint32_t *out_lanes)
{
    struct bits_scan local = *scan; /* copies, which writing to `out` cannot change */
    struct bits_list all = *list;
    struct phi_test test = phi_test(scan);
    size_t words = bits_words(&local);

    for (size_t i = from; i < all.count; i++) {
        struct bits_place place = all.places[i];
        const uint64_t *block = all.blocks + place.block * BITS_BLOCK * local.words;

        if (i + BITS_AHEAD < all.count) {
            bits_fetch(&all, &local, i + BITS_AHEAD);
        }
        if (place.reach <= local.floor) {
            continue;
        }
        lane_counts counts =
            block_overlaps(local.query + local.before, block + local.before * BITS_BLOCK, words);
        const uint16_t *cardinalities = all.cardinalities + bits_counts_at(&local, place.block);
        uint32_t lanes = place.lanes & (by_phi ? reaching_phi(counts, cardinalities, &test)
                                               : reaching(counts, cardinalities, &local));
        if (lanes != 0 && all.contains != NULL) {
            lanes &= supersets(all.contains, block, local.words);
        }
        if (lanes != 0) {
            store_counts(out, counts);
            *out_lanes = lanes;
            return i;
        }
    }
    return all.count;
}

static size_t scan_listed(const struct bits_scan *scan, const struct bits_list *list, size_t from,
                          uint32_t *out, uint32_t *out_lanes)
{
    return scan->phi != NULL ? scan_places(scan, list, from, true, out, out_lanes)
                             : scan_places(scan, list, from, false, out, out_lanes);
}

/* Prefetches some words of a block or, if it is not kept, of the query: that needs no branch, and
 * processors could not foresee it. */
static inline void fetch_words(const uint64_t *block, size_t first, size_t end)
{
    for (size_t w = first; w < end; w++) {
        fetch_line(block + w * BITS_BLOCK);
    }
}

/* Writes each place behind those that are kept, and counts it only if it is kept, for the same
 * reason. */
static BITS_INLINE size_t sift_places(const struct bits_scan *scan, const struct bits_list *list,
                                      struct bits_part part, struct bits_place *places,
                                      size_t count, bool by_phi)
{
    struct bits_scan local = *scan; /* copies, which writing to `places` cannot change */
    struct bits_list all = *list;
    struct phi_test test = phi_test(scan);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const struct bits_place *place = &places[i];
        const uint64_t *block = all.blocks + place->block * local.words * BITS_BLOCK;
        const uint16_t *cardinalities = all.cardinalities + bits_counts_at(&local, place->block);
        lane_counts counts = block_overlaps(local.query + part.first,
                                            block + part.first * BITS_BLOCK, part.end - part.first);

        counts = add_to_counts(counts, place->rest);
        uint32_t lanes = place->lanes & (by_phi ? reaching_phi(counts, cardinalities, &test)
                                                : reaching(counts, cardinalities, &local));
        const uint64_t *next = lanes != 0 ? block : local.query;
        fetch_words(next, local.before, part.first);
        fetch_words(next, part.end, local.words - local.after);
        places[kept] = *place;
        places[kept].lanes = (uint8_t)lanes;
        kept += lanes != 0;
    }
    return kept;
}

static size_t sift(const struct bits_scan *scan, const struct bits_list *list,
                   struct bits_part part, struct bits_place *places, size_t count)
{
    return scan->phi != NULL ? sift_places(scan, list, part, places, count, true)
                             : sift_places(scan, list, part, places, count, false);
}
