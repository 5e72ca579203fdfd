/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include <assert.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

enum { TESTED_FROM = 6 };

static size_t plane_words(const struct counting *counting)
{
    return counting->width * bloom_words(counting->m);
}

int counting_init(struct counting *counting, const struct alloc *alloc, uint32_t m, uint32_t width)
{
    assert(m >= 1);
    assert(width == 2 || width == 4 || width == 8 || width == 16 || width == 32);
    *counting = (struct counting){.alloc = alloc, .m = m, .width = width};
    counting->planes = alloc_zeroed(alloc, plane_words(counting), sizeof(*counting->planes));
    counting->filter = alloc_zeroed(alloc, bloom_words(m), sizeof(*counting->filter));
    if (counting->planes == NULL || counting->filter == NULL) {
        counting_deinit(counting);
        return -ERR_NOMEM;
    }
    return 0;
}

void counting_deinit(struct counting *counting)
{
    if (counting->alloc != NULL) {
        alloc_release(counting->alloc, counting->planes);
        alloc_release(counting->alloc, counting->filter);
    }
    *counting = (struct counting){0};
}

/* Returns the planes of a word of the filter. */
static uint64_t *planes_of(const struct counting *counting, size_t word)
{
    return &counting->planes[word * counting->width];
}

/*
 * Increments the counters of the positions `carry` of a word, all at once. A carry out of the last
 * plane comes from a counter at the ceiling: the counter gets all its bits back.
 */
static void count_up(uint64_t *planes, uint32_t width, uint64_t carry)
{
    /* Carries are common in the first planes: there a test would often be predicted wrongly. */
    for (uint32_t p = 0; p < width && (p < TESTED_FROM || carry != 0); p++) {
        uint64_t before = planes[p];

        planes[p] = before ^ carry;
        carry &= before;
    }
    for (uint32_t p = 0; p < width && carry != 0; p++) {
        planes[p] |= carry;
    }
}

/* Decrements the counters of the positions `borrow` of a word, except counters that are 0 or have
 * stopped. Returns the positions whose counters are not 0 afterwards. */
static uint64_t count_down(uint64_t *planes, uint32_t width, uint64_t borrow)
{
    uint64_t stopped = UINT64_MAX;
    uint64_t positive = 0;
    uint64_t left = 0;

    for (uint32_t p = 0; p < width; p++) {
        stopped &= planes[p];
        positive |= planes[p];
    }
    borrow &= positive & ~stopped;
    for (uint32_t p = 0; p < width; p++) {
        planes[p] ^= borrow;
        borrow &= planes[p]; /* the bit was 0 */
        left |= planes[p];
    }
    return left;
}

void counting_add(struct counting *counting, const uint64_t *filter)
{
    size_t words = bloom_words(counting->m);

    for (size_t w = 0; w < words; w++) {
        count_up(planes_of(counting, w), counting->width, filter[w]);
        counting->filter[w] |= filter[w];
    }
}

void counting_remove(struct counting *counting, const uint64_t *filter)
{
    size_t words = bloom_words(counting->m);

    for (size_t w = 0; w < words; w++) {
        counting->filter[w] = count_down(planes_of(counting, w), counting->width, filter[w]);
    }
}

const uint64_t *counting_filter(const struct counting *counting)
{
    return counting->filter;
}
