/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: the only user of xxHash. Seeds are arguments.
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

/* XXH3-128 of `length` bytes with seed 0: the hash that bit positions come from. O(length). */
struct hash128 hash_label(const void *bytes, size_t length);

/* The same with a seed; seed 0 is hash_label. O(length). */
struct hash128 hash128_seeded(const void *bytes, size_t length, uint64_t seed);

/*
 * A hash and what follows from it, where it is to be another than that of labels (published
 * examples have hashes like 2x + 3): the hash of an element, and value i of a hash, from which
 * position i comes modulo the size of a filter or section. Both are pure.
 */
struct hash_family {
    struct hash128 (*hash)(const void *element, size_t length);
    uint64_t (*value)(struct hash128 hash, uint32_t i);
};

/*
 * XXH3-64 of `length` bytes with a seed: for tables (give a random seed, so that peers who choose
 * keys cannot choose collisions) and for checksums. O(length).
 */
uint64_t hash_seeded(const void *bytes, size_t length, uint64_t seed);

#endif
