/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: the bodies of `overlaps` and `scan`, for any vector width. The file of each table includes
 * this header after it has defined how it counts a block:
 *
 *   lane_counts                             BITS_BLOCK numbers of 32 bits, lane by lane
 *   block_overlaps(query, block, words)     the set bits of (query and x) for each filter x
 *   store_counts(out, counts)
 *   reaching(counts, cardinalities, scan)   which lanes reach the floor, a bit for each
 *
 * These are inlined, so that counts stay in registers until a lane reaches the floor.
 */
#ifndef CORE_BITS_ROWS_H
#define CORE_BITS_ROWS_H

static void overlaps(const uint64_t *query, const uint64_t *block, size_t words, uint32_t *out)
{
    store_counts(out, block_overlaps(query, block, words));
}

static size_t scan_blocks(const struct bits_scan *scan, const uint64_t *blocks,
                          const uint16_t *cardinalities, size_t block_count, uint32_t *out,
                          uint32_t *out_lanes)
{
    struct bits_scan local = *scan; /* nothing that `out` could change */

    for (size_t block = 0; block < block_count; block++) {
        lane_counts counts = block_overlaps(local.query, blocks, local.words);
        uint32_t lanes = reaching(counts, cardinalities, &local);

        if (lanes != 0) {
            store_counts(out, counts);
            *out_lanes = lanes;
            return block;
        }
        blocks += BITS_BLOCK * local.words;
        cardinalities += BITS_BLOCK;
    }
    return block_count;
}

#endif
