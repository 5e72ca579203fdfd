/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: the only file that calls xxHash. Seeds are arguments.
 */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The two halves of a 128-bit hash. */
struct hash128 {
    uint64_t low64;
    uint64_t high64;
};

/* XXH3-128 of `length` bytes with seed 0. Bit positions of labels come from it. O(length). */
struct hash128 hash_label(const void *bytes, size_t length);

/* The same with a seed; seed 0 is hash_label. O(length). */
struct hash128 hash128_seeded(const void *bytes, size_t length, uint64_t seed);

/*
 * A hash that takes the place of the one for labels. Tests use it to run published examples, which
 * have hashes like 2x + 3.
 *   hash    the hash of an element
 *   value   value i of a hash; position i is this value modulo the bits of a filter or section
 * Both functions are pure.
 */
struct hash_family {
    struct hash128 (*hash)(const void *element, size_t length);
    uint64_t (*value)(struct hash128 hash, uint32_t i);
};

/*
 * XXH3-64 of `length` bytes with a seed, for hash tables and for checksums. For a hash table take a
 * random seed: then a peer that chooses the keys cannot choose collisions. O(length).
 */
uint64_t hash_seeded(const void *bytes, size_t length, uint64_t seed);

#endif
