/* SPDX-License-Identifier: Apache-2.0 */
/* hash: hashes of bytes, computed by xxHash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The two halves of a 128-bit hash. */
struct hash128 {
    uint64_t low64;
    uint64_t high64;
};

/*
 * Returns the XXH3-128 hash of `length` bytes with seed 0. core/profile/encode.c computes the bit
 * positions of a label from this hash. O(length).
 */
struct hash128 hash_label(const void *bytes, size_t length);

/*
 * Returns the XXH3-128 hash of `length` bytes with a seed. With seed 0 the result is that of
 * hash_label. O(length).
 */
struct hash128 hash128_seeded(const void *bytes, size_t length, uint64_t seed);

/*
 * Returns the XXH3-64 hash of `length` bytes with a seed, for hash tables and for checksums. The
 * seed of a hash table must be random if a peer chooses the keys: a peer that knows the seed can
 * choose keys that collide. O(length).
 */
uint64_t hash_seeded(const void *bytes, size_t length, uint64_t seed);
