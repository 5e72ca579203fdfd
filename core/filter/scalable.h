/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalable: a scalable Bloom filter: a row of Bloom filters ("slices") that grows as elements come.
 * Its false-positive rate stays below a bound P for any number of elements. Almeida, Baquero,
 * Preguiça, Hutchison, "Scalable Bloom Filters", Information Processing Letters 101 (6), 2007.
 *
 * Slice i takes SCALABLE_CAPACITY * 2^i elements at the rate p_i = p_0 r^i with r = 0.8. The sum of
 * all rates is at most p_0 / (1 - r). Double hashing makes measured rates up to 1.3 times those of
 * the formula, so p_0 is chosen to make this sum P / 1.3. When the last slice is full, the next one
 * begins.
 *
 * bloom_position computes the positions of an element in a slice of b bits from the element's hash,
 * which is seeded with the slice's seed. A receiver that tests elements needs the slices only:
 * these are sent.
 *
 * Sizes are computed in floating point (sizing.h). Nothing else depends on floating point.
 */
#ifndef CORE_FILTER_SCALABLE_H
#define CORE_FILTER_SCALABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

enum {
    SCALABLE_SLICES_MAX = 32,
    SCALABLE_HASHES_MAX = 32,
    SCALABLE_CAPACITY = 64,        /* elements of the first slice */
    SCALABLE_BITS_MAX = 1 << 30,   /* bits of one slice */
    SCALABLE_RATE_MAX_PPM = 500000 /* 0.5 */
};

/* One Bloom filter; bit p is bit p % 8 of byte p / 8. */
struct scalable_slice {
    const uint8_t *bits; /* borrowed */
    uint32_t byte_count; /* 1 .. SCALABLE_BITS_MAX / 8 */
    uint32_t hashes;     /* d, 1 .. SCALABLE_HASHES_MAX */
    uint64_t seed;
};

/* Adds an element to a slice. `bits` are the bits of the slice, writable. O(length + hashes). */
void scalable_slice_add(const struct scalable_slice *slice, uint8_t *bits, const void *element,
                        size_t length);

/*
 * Whether any slice has the element: true if it was added, else true with probability P.
 * Adds the work done to *looks, unless looks is NULL: bits tested plus hashes of the element
 * computed. O(length + hashes of all slices), usually far less.
 */
bool scalable_slices_have(const struct scalable_slice *slices, uint32_t count, const void *element,
                          size_t length, uint64_t *looks);

/*
 * The chance that a slice has an element that was not added, in millionths, rounded down: (s/b)^d
 * for s set bits of b bits and d hashes. In whole numbers. O(byte_count).
 */
uint32_t scalable_slice_chance_ppm(const struct scalable_slice *slice);

struct scalable {
    const struct alloc *alloc;
    double rate; /* p_0 */
    uint64_t seed;
    size_t bytes_max; /* of all slices together */
    size_t bytes;
    uint64_t count; /* elements added */
    uint32_t room;  /* elements that the last slice still takes */
    uint32_t slice_count;
    struct scalable_slice slices[SCALABLE_SLICES_MAX];
    uint8_t *last; /* the bits of the last slice, writable. The bits of all slices are owned */
};

/*
 * Makes an empty filter that holds no memory yet. rate_ppm: P in millionths, 1 ..
 * SCALABLE_RATE_MAX_PPM. seed: random, so that nobody can choose elements that collide. bytes_max:
 * the most bytes of all slices together. `alloc` is borrowed.
 */
void scalable_init(struct scalable *scalable, const struct alloc *alloc, uint32_t rate_ppm,
                   uint64_t seed, size_t bytes_max);
void scalable_deinit(struct scalable *scalable);

/*
 * Adds an element. Adding it twice changes nothing. 0; SCALABLE_FULL: the next slice would exceed
 * bytes_max; -ERR_NOMEM. Unless the result is 0, nothing has changed.
 */
enum { SCALABLE_FULL = 1 };
int scalable_add(struct scalable *scalable, const void *element, size_t length);

/* Whether it may have the element; see scalable_slices_have. */
bool scalable_test(const struct scalable *scalable, const void *element, size_t length);

/* How many elements fit bytes_max at this rate; for messages to people. */
uint64_t scalable_capacity(uint32_t rate_ppm, size_t bytes_max);

#endif
