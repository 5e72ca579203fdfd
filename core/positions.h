/* SPDX-License-Identifier: Apache-2.0 */
/*
 * positions: which bits an element sets, from a hash that is given as an argument.
 *
 * Labels always go by XXH3-128 (profile.h, docs/protocol.md). The other filters (scalable,
 * decaying) and tests of the literature's examples, which have hashes like 2x + 3, run on the same
 * code with theirs. Elements are bytes of any kind.
 */
#ifndef CORE_POSITIONS_H
#define CORE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* d at most, of any filter. */
enum { POSITIONS_MAX = 32 };

/* Writes the values 0 .. count - 1 of an element, 64 bits each, to be taken modulo a size. */
typedef void positions_values(const void *context, const void *element, size_t length,
                              uint32_t count, uint64_t *out_values);

/* A family of hashes; a plain value. `context` is borrowed and handed to `values`. */
struct positions {
    positions_values *values;
    const void *context;
};

/*
 * XXH3-128 with a seed: value i is (low64 + i * (high64 | 1)) mod 2^64, as in bloom_position.
 * The seed is borrowed.
 */
struct positions positions_seeded(const uint64_t *seed);

/* The `count` positions of an element among `bits` bits: value i mod bits. count <= POSITIONS_MAX,
 * bits >= 1. Positions may repeat. O(length + count). */
void positions_of(struct positions positions, const void *element, size_t length, uint32_t count,
                  uint32_t bits, uint32_t *out_positions);

/*
 * The same for two elements together, whatever each of them is alone: value i is the XOR of both
 * values i (the combined multi-dimensional Bloom filter), so that a filter of pairs does not claim
 * pairs of which it has each half only.
 */
void positions_of_pair(struct positions positions, const void *first, size_t first_length,
                       const void *second, size_t second_length, uint32_t count, uint32_t bits,
                       uint32_t *out_positions);

/* Sets those bits of a filter; whether all of them are set. A filter without false negatives. */
void positions_set(uint64_t *filter, const uint32_t *positions, uint32_t count);
bool positions_test(const uint64_t *filter, const uint32_t *positions, uint32_t count);

#endif
