/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bloom: a Bloom filter as an array of 64-bit words, and comparisons of two filters.
 *
 *   in memory            bit p is bit p % 64 of word p / 64
 *   stored and sent      bit p is bit p % 8 of byte p / 8 (little-endian words)
 *
 * A filter has m bits, m >= 1. The bits after bit m - 1 in the last word are zero. The functions
 * borrow the arrays; an array of words has bloom_words(m) words. Profiles (core/profile/profile.h)
 * limit m and say which bits a label sets. A function of two filters costs O(m / 64).
 */
#pragma once

#include <stdbool.h>

#include "core/base/hash.h"

/* Both return the size of a filter of m bits: bloom_words returns ceil(m / 64) words, bloom_bytes
 * ceil(m / 8) bytes. */
size_t bloom_words(uint32_t m);
size_t bloom_bytes(uint32_t m);

/*
 * Value i of an element with this hash, and its position in a filter of `bits` bits, bits >= 1:
 *   bloom_value      returns (low64 + high64 rotated left by 19 i bits) mod 2^64
 *   bloom_position   returns bloom_value mod bits
 * Two halves of a hash are enough for all positions (Kirsch and Mitzenmacher, "Less Hashing, Same
 * Performance", 2006). Their double hashing, low64 + i * high64, needs large filters: in a few
 * dozen bits its positions are evenly spaced or equal, so that too many elements have the same
 * bits. Rotated halves do not have this fault (docs/filters.md).
 */
static inline uint64_t bloom_value(struct hash128 hash, uint32_t i)
{
    uint32_t by = 19 * i % 64;

    return hash.low64 + (hash.high64 << by | hash.high64 >> (64 - by) % 64);
}

uint32_t bloom_position(struct hash128 hash, uint32_t i, uint32_t bits);

/* Sets, or tests, bit p. p < m. */
void bloom_set(uint64_t *filter, uint32_t p);
bool bloom_test(const uint64_t *filter, uint32_t p);

/*
 * Reads m bits in stored form. Returns 0 or BLOOM_MALFORMED. BLOOM_MALFORMED means that `length` is
 * not bloom_bytes(m), or that a bit after bit m - 1 is set. *out_filter is unchanged then.
 */
enum { BLOOM_MALFORMED = 1 };
int bloom_load(uint64_t *out_filter, uint32_t m, const uint8_t *bytes, size_t length);

/* Writes bloom_bytes(m) bytes in stored form. */
void bloom_store(const uint64_t *filter, uint32_t m, uint8_t *out_bytes);

/* The number of set bits of a filter. */
uint32_t bloom_cardinality(const uint64_t *filter, size_t words);

/*
 * Return the number of set bits of (a and b), of (a or b), and of (a or b) in the range first ..
 * first + count - 1. The range lies within the filters. `count` may be 0.
 */
uint32_t bloom_intersection_count(const uint64_t *a, const uint64_t *b, size_t words);
uint32_t bloom_union_count(const uint64_t *a, const uint64_t *b, size_t words);
uint32_t bloom_union_count_range(const uint64_t *a, const uint64_t *b, uint32_t first,
                                 uint32_t count);

/* bloom_union writes (a or b) to `out`; bloom_intersection writes (a and b). `out` may be the array
 * a or the array b. */
void bloom_union(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t words);
void bloom_intersection(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t words);

/* Returns whether every bit of a is set in b, that is, whether a is a subset of b. */
bool bloom_is_subset(const uint64_t *a, const uint64_t *b, size_t words);
