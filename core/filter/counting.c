/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include <assert.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

enum { COUNTER_BITS = 32, TESTED_FROM = 6 };

static size_t histogram_count(const struct summary *summary)
{
    return (size_t)summary->m + 1;
}

int summary_init(struct summary *summary, const struct alloc *alloc, uint32_t m)
{
    assert(m >= 1);
    *summary = (struct summary){.alloc = alloc, .m = m};
    summary->planes = alloc_zeroed(alloc, COUNTER_BITS * bloom_words(m), sizeof(*summary->planes));
    summary->filter = alloc_zeroed(alloc, bloom_words(m), sizeof(*summary->filter));
    summary->histogram = alloc_zeroed(alloc, histogram_count(summary), sizeof(*summary->histogram));
    if (summary->planes == NULL || summary->filter == NULL || summary->histogram == NULL) {
        summary_deinit(summary);
        return -ERR_NOMEM;
    }
    return 0;
}

void summary_deinit(struct summary *summary)
{
    if (summary->alloc != NULL) {
        alloc_release(summary->alloc, summary->planes);
        alloc_release(summary->alloc, summary->filter);
        alloc_release(summary->alloc, summary->histogram);
    }
    *summary = (struct summary){0};
}

/* Adds a bit of each counter of a word, and returns which of them carry. */
static uint64_t add_to_plane(uint64_t *plane, uint64_t bits)
{
    uint64_t carry = *plane & bits;

    *plane ^= bits;
    return carry;
}

/* Increments the counters of the positions `carry` of a word, all at once. Carries are common in
 * the first planes: there a test would often be predicted wrongly. */
static void count_up(uint64_t *planes, uint64_t carry)
{
    for (uint32_t p = 0; p < TESTED_FROM; p++) {
        carry = add_to_plane(&planes[p], carry);
    }
    for (uint32_t p = TESTED_FROM; p < COUNTER_BITS && carry != 0; p++) {
        carry = add_to_plane(&planes[p], carry);
    }
}

/* Decrements the counters of the positions `borrow` of a word, none of which is 0. Returns the
 * positions of the word whose counters are not 0 afterwards. */
static uint64_t count_down(uint64_t *planes, uint64_t borrow)
{
    uint64_t left = 0;

    for (uint32_t p = 0; p < COUNTER_BITS; p++) {
        planes[p] ^= borrow;
        borrow &= planes[p]; /* the bit was 0 */
        left |= planes[p];
    }
    return left;
}

void summary_add(struct summary *summary, const uint64_t *filter)
{
    size_t words = bloom_words(summary->m);

    for (size_t w = 0; w < words; w++) {
        count_up(&summary->planes[w * COUNTER_BITS], filter[w]);
        summary->filter[w] |= filter[w];
    }
    summary->histogram[bloom_cardinality(filter, words)]++;
    summary->count++;
}

void summary_remove(struct summary *summary, const uint64_t *filter)
{
    size_t words = bloom_words(summary->m);
    uint32_t *same = &summary->histogram[bloom_cardinality(filter, words)];

    assert(*same > 0 && summary->count > 0);
    for (size_t w = 0; w < words; w++) {
        summary->filter[w] = count_down(&summary->planes[w * COUNTER_BITS], filter[w]);
    }
    (*same)--;
    summary->count--;
}

const uint64_t *summary_union(const struct summary *summary)
{
    return summary->filter;
}

void summary_range(const struct summary *summary, uint32_t *out_min, uint32_t *out_max)
{
    uint32_t low = 0;
    uint32_t high = summary->m;

    *out_min = 0;
    *out_max = 0;
    if (summary->count == 0) {
        return;
    }
    while (summary->histogram[low] == 0) {
        low++;
    }
    while (summary->histogram[high] == 0) {
        high--;
    }
    *out_min = low;
    *out_max = high;
}
