/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include <assert.h>

#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"

enum { WORD_BITS = 64 };

static size_t counter_words(const struct counting *counting)
{
    uint32_t each = WORD_BITS / counting->width;

    return counting->m / each + (counting->m % each != 0);
}

int counting_init(struct counting *counting, const struct alloc *alloc, uint32_t m, uint32_t width)
{
    assert(m >= 1);
    assert(width == 2 || width == 4 || width == 8 || width == 16 || width == 32);
    *counting = (struct counting){.alloc = alloc, .m = m, .width = width};
    counting->counters = alloc_zeroed(alloc, counter_words(counting), sizeof(*counting->counters));
    counting->filter = alloc_zeroed(alloc, bloom_words(m), sizeof(*counting->filter));
    if (counting->counters == NULL || counting->filter == NULL) {
        counting_deinit(counting);
        return -ERR_NOMEM;
    }
    return 0;
}

void counting_deinit(struct counting *counting)
{
    if (counting->alloc != NULL) {
        alloc_release(counting->alloc, counting->counters);
        alloc_release(counting->alloc, counting->filter);
    }
    *counting = (struct counting){0};
}

uint32_t counting_ceiling(const struct counting *counting)
{
    return (uint32_t)((UINT64_C(1) << counting->width) - 1);
}

/*
 * Returns the bit of a word at which the counter of a position begins. The width divides 64, so
 * that no counter lies in two words.
 */
static uint32_t shift_of(const struct counting *counting, uint32_t position)
{
    return position * counting->width % WORD_BITS;
}

static uint64_t *word_of(const struct counting *counting, uint32_t position)
{
    return &counting->counters[(size_t)position * counting->width / WORD_BITS];
}

uint32_t counting_value(const struct counting *counting, uint32_t position)
{
    return (uint32_t)(*word_of(counting, position) >> shift_of(counting, position) &
                      counting_ceiling(counting));
}

static void count_up(struct counting *counting, uint32_t position)
{
    uint64_t *word = word_of(counting, position);
    uint32_t shift = shift_of(counting, position);
    uint64_t ceiling = counting_ceiling(counting);

    *word += (uint64_t)((*word >> shift & ceiling) != ceiling) << shift;
}

static void count_down(struct counting *counting, uint32_t position)
{
    uint32_t value = counting_value(counting, position);

    if (value == 0 || value == counting_ceiling(counting)) {
        return;
    }
    *word_of(counting, position) -= UINT64_C(1) << shift_of(counting, position);
    if (value == 1) {
        counting->filter[position / WORD_BITS] &= ~(UINT64_C(1) << position % WORD_BITS);
    }
}

void counting_add(struct counting *counting, const uint64_t *filter)
{
    for (uint32_t w = 0; w < bloom_words(counting->m); w++) {
        for (uint64_t left = filter[w]; left != 0; left &= left - 1) {
            count_up(counting, w * WORD_BITS + sliced_lowest(left));
        }
        counting->filter[w] |= filter[w];
    }
}

void counting_remove(struct counting *counting, const uint64_t *filter)
{
    for (uint32_t w = 0; w < bloom_words(counting->m); w++) {
        for (uint64_t left = filter[w]; left != 0; left &= left - 1) {
            count_down(counting, w * WORD_BITS + sliced_lowest(left));
        }
    }
}

const uint64_t *counting_filter(const struct counting *counting)
{
    return counting->filter;
}

size_t counting_bytes(const struct counting *counting)
{
    return (counter_words(counting) + bloom_words(counting->m)) * sizeof(uint64_t);
}
