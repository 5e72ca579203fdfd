/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/counting.h"

#include <assert.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

enum { COUNTER_BITS = 32 };

static size_t histogram_count(const struct summary *summary)
{
    return (size_t)summary->counting.m + 1;
}

int summary_init(struct summary *summary, const struct alloc *alloc, uint32_t m)
{
    *summary = (struct summary){0};
    int rc = counting_init(&summary->counting, alloc, m, COUNTER_BITS);
    if (rc != 0) {
        return rc;
    }
    summary->histogram = alloc_zeroed(alloc, histogram_count(summary), sizeof(*summary->histogram));
    if (summary->histogram == NULL) {
        summary_deinit(summary);
        return -ERR_NOMEM;
    }
    return 0;
}

void summary_deinit(struct summary *summary)
{
    if (summary->counting.alloc != NULL) {
        alloc_release(summary->counting.alloc, summary->histogram);
    }
    counting_deinit(&summary->counting);
    *summary = (struct summary){0};
}

void summary_add(struct summary *summary, const uint64_t *filter)
{
    counting_add(&summary->counting, filter);
    summary->histogram[bloom_cardinality(filter, bloom_words(summary->counting.m))]++;
    summary->count++;
}

void summary_remove(struct summary *summary, const uint64_t *filter)
{
    uint32_t *same =
        &summary->histogram[bloom_cardinality(filter, bloom_words(summary->counting.m))];

    assert(*same > 0 && summary->count > 0);
    counting_remove(&summary->counting, filter);
    (*same)--;
    summary->count--;
}

const uint64_t *summary_union(const struct summary *summary)
{
    return counting_filter(&summary->counting);
}

void summary_range(const struct summary *summary, uint32_t *out_min, uint32_t *out_max)
{
    uint32_t low = 0;
    uint32_t high = summary->counting.m;

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
