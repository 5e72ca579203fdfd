/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/scalable.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/popcount.h"
#include "core/filter/bloom.h"
#include "core/filter/sizing.h"

static const double TIGHTENING = 0.8; /* the factor r; Almeida et al. find 0.8 to 0.9 best */

static bool test_bit(const uint8_t *bits, uint32_t p)
{
    return (bits[p / 8] >> (p % 8) & 1) != 0;
}

static bool slice_has(const struct scalable_slice *slice, struct hash128 hash, uint64_t *looks)
{
    for (uint32_t i = 0; i < slice->hashes; i++) {
        (*looks)++;
        if (!test_bit(slice->bits, bloom_position(hash, i, slice->byte_count * 8))) {
            return false;
        }
    }
    return true;
}

void scalable_slice_add(const struct scalable_slice *slice, uint8_t *bits, const void *element,
                        size_t length)
{
    struct hash128 hash = hash128_seeded(element, length, slice->seed);

    for (uint32_t i = 0; i < slice->hashes; i++) {
        uint32_t p = bloom_position(hash, i, slice->byte_count * 8);

        bits[p / 8] |= (uint8_t)(1u << (p % 8));
    }
}

bool scalable_slices_have(const struct scalable_slice *slices, uint32_t count, const void *element,
                          size_t length, uint64_t *looks)
{
    struct hash128 hash = {0};
    uint64_t done = 0;
    bool has = false;

    for (uint32_t i = 0; i < count && !has; i++) {
        if (i == 0 || slices[i].seed != slices[i - 1].seed) {
            hash = hash128_seeded(element, length, slices[i].seed);
            done++;
        }
        has = slice_has(&slices[i], hash, &done);
    }
    if (looks != NULL) {
        *looks += done;
    }
    return has;
}

static uint64_t count_set_bits(const struct scalable_slice *slice)
{
    uint64_t count = 0;

    for (uint32_t at = 0; at < slice->byte_count; at += sizeof(uint64_t)) {
        uint32_t left = slice->byte_count - at;
        uint64_t word = 0;

        memcpy(&word, slice->bits + at, left < sizeof(word) ? left : sizeof(word));
        count += popcount_word(word);
    }
    return count;
}

uint32_t scalable_slice_chance_ppm(const struct scalable_slice *slice)
{
    enum { SHIFT = 31 };
    /* both at most 2^31 */
    uint64_t fill = (count_set_bits(slice) << SHIFT) / ((uint64_t)slice->byte_count * 8);
    uint64_t chance = UINT64_C(1) << SHIFT;

    for (uint32_t i = 0; i < slice->hashes; i++) {
        chance = chance * fill >> SHIFT;
    }
    return (uint32_t)(chance * 1000000 >> SHIFT);
}

static double first_rate(uint32_t rate_ppm)
{
    assert(rate_ppm >= 1 && rate_ppm <= SCALABLE_RATE_MAX_PPM);
    return (double)rate_ppm / 1e6 * (1.0 - TIGHTENING);
}

/*
 * Computes the size of slice i of a scalable filter. `rate` is the rate of slice 0. Returns false
 * if the slice would exceed a limit: SCALABLE_SLICES_MAX, SCALABLE_BITS_MAX or SCALABLE_HASHES_MAX.
 * The number of hashes is rounded up, which raises the false-positive rate a little. The loop adds
 * bits until the rate of slice i is reached.
 */
static bool size_slice(double rate, uint32_t i, uint32_t *out_capacity, uint32_t *out_byte_count,
                       uint32_t *out_hashes)
{
    uint32_t bits;

    if (i >= SCALABLE_SLICES_MAX || (uint64_t)SCALABLE_CAPACITY << i > SCALABLE_BITS_MAX) {
        return false;
    }
    uint32_t capacity = (uint32_t)SCALABLE_CAPACITY << i;
    for (uint32_t earlier = 0; earlier < i; earlier++) {
        rate *= TIGHTENING;
    }
    if (sizing_bits(capacity, rate, &bits) != 0) {
        return false;
    }
    for (; bits < SCALABLE_BITS_MAX; bits += bits / 64 + 8) {
        uint32_t hashes = sizing_hashes(bits, capacity);

        if (hashes > SCALABLE_HASHES_MAX) {
            return false;
        }
        if (sizing_false_positive_rate(bits, hashes, capacity) <= rate) {
            *out_capacity = capacity;
            *out_byte_count = (bits + 7) / 8;
            *out_hashes = hashes;
            return true;
        }
    }
    return false;
}

void scalable_init(struct scalable *scalable, const struct alloc *alloc, uint32_t rate_ppm,
                   uint64_t seed, size_t bytes_max)
{
    *scalable = (struct scalable){
        .alloc = alloc, .rate = first_rate(rate_ppm), .seed = seed, .bytes_max = bytes_max};
}

void scalable_deinit(struct scalable *scalable)
{
    for (uint32_t i = 0; i < scalable->slice_count; i++) {
        /* begin_slice allocated these bits as writable */
        alloc_release(scalable->alloc, (void *)(uintptr_t)scalable->slices[i].bits);
    }
    *scalable = (struct scalable){0};
}

static int begin_slice(struct scalable *scalable)
{
    struct scalable_slice *slice = &scalable->slices[scalable->slice_count];
    uint32_t capacity;
    uint32_t byte_count;
    uint32_t hashes;

    if (!size_slice(scalable->rate, scalable->slice_count, &capacity, &byte_count, &hashes) ||
        byte_count > scalable->bytes_max - scalable->bytes) {
        return SCALABLE_FULL;
    }
    uint8_t *bits = alloc_zeroed(scalable->alloc, byte_count, 1);
    if (bits == NULL) {
        return -ERR_NOMEM;
    }
    *slice = (struct scalable_slice){
        .bits = bits, .byte_count = byte_count, .hashes = hashes, .seed = scalable->seed};
    scalable->last = bits;
    scalable->room = capacity;
    scalable->bytes += byte_count;
    scalable->slice_count++;
    return 0;
}

int scalable_add(struct scalable *scalable, const void *element, size_t length)
{
    if (scalable_test(scalable, element, length)) {
        return 0;
    }
    if (scalable->room == 0) {
        int rc = begin_slice(scalable);

        if (rc != 0) {
            return rc;
        }
    }
    const struct scalable_slice *slice = &scalable->slices[scalable->slice_count - 1];
    scalable_slice_add(slice, scalable->last, element, length);
    scalable->room--;
    scalable->count++;
    return 0;
}

bool scalable_test(const struct scalable *scalable, const void *element, size_t length)
{
    return scalable_slices_have(scalable->slices, scalable->slice_count, element, length, NULL);
}

uint64_t scalable_capacity(uint32_t rate_ppm, size_t bytes_max)
{
    double rate = first_rate(rate_ppm);
    uint64_t count = 0;
    uint32_t capacity;
    uint32_t byte_count;
    uint32_t hashes;

    for (uint32_t i = 0; size_slice(rate, i, &capacity, &byte_count, &hashes); i++) {
        if (byte_count > bytes_max) {
            break;
        }
        bytes_max -= byte_count;
        count += capacity;
    }
    return count;
}
