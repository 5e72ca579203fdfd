/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalable: a scalable Bloom filter: a sequence of Bloom filters ("slices") that grows with the
 * number of elements. Its false-positive rate stays below a bound P while it grows. Almeida,
 * Baquero, Preguiça, Hutchison, "Scalable Bloom Filters", Information Processing Letters 101 (6),
 * 2007.
 *
 * Slice i takes SCALABLE_CAPACITY * 2^i elements and has the false-positive rate p_i = p_0 r^i,
 * where r = 0.8. The sum of all rates is at most p_0 / (1 - r), which is P. If an element comes
 * when the last slice is full, the filter adds the next slice.
 *
 * The hash of an element is seeded with the slice's seed. bloom_position computes the element's
 * bits in the slice from this hash. A receiver can test elements with the slices alone, so only the
 * slices are sent.
 *
 * Sizes of slices are computed in floating point (sizing.h); scalable_slice_add and
 * scalable_slices_have use integers only.
 */
#pragma once

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

/*
 * Adds an element to a slice. `bits` is the writable array of the slice's bits. O(length + hashes).
 */
void scalable_slice_add(const struct scalable_slice *slice, uint8_t *bits, const void *element,
                        size_t length);

/*
 * Returns whether any slice has the element. The result is true for an element that was added. For
 * another element it may be true by chance. Unless `looks` is NULL, adds to *looks the number of
 * bits tested plus the number of hashes computed. O(count * length + hashes of all slices), usually
 * far less.
 */
bool scalable_slices_have(const struct scalable_slice *slices, uint32_t count, const void *element,
                          size_t length, uint64_t *looks);

/*
 * Returns the probability that a slice seems to have an element that was not added, in millionths.
 * The probability is (s/b)^d for a slice of b bits, of which s are set, and d hashes. Computed in
 * integers; each step rounds down. O(byte_count).
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
    uint8_t *last; /* the writable bits of the last slice; the filter owns the bits of all slices */
};

/*
 * Makes an empty filter that has allocated nothing yet. `rate_ppm` is the bound P in millionths, 1
 * .. SCALABLE_RATE_MAX_PPM. `seed` is random, so that nobody can choose elements that collide.
 * `bytes_max` limits the bytes of all slices together. `alloc` is borrowed.
 */
void scalable_init(struct scalable *scalable, const struct alloc *alloc, uint32_t rate_ppm,
                   uint64_t seed, size_t bytes_max);
void scalable_deinit(struct scalable *scalable);

/*
 * Adds an element. An element that the filter already has, or seems to have, changes nothing.
 * Returns 0; SCALABLE_FULL if the next slice would exceed bytes_max, or if there can be no further
 * slice; or -ERR_NOMEM. Unless the result is 0, the filter is unchanged.
 */
enum { SCALABLE_FULL = 1 };
int scalable_add(struct scalable *scalable, const void *element, size_t length);

/* Returns whether the filter may have the element; see scalable_slices_have. */
bool scalable_test(const struct scalable *scalable, const void *element, size_t length);

/*
 * Returns how many elements a filter takes whose slices have at most `bytes_max` bytes together.
 * `rate_ppm` is the bound P in millionths, as in scalable_init.
 */
uint64_t scalable_capacity(uint32_t rate_ppm, size_t bytes_max);
