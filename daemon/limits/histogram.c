/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/metrics.h"

enum { PARTS_LOG = 4 };
_Static_assert(HISTOGRAM_PARTS == 1 << PARTS_LOG, "a bucket is found by shifting");

/* Place of the highest set bit; value is not 0. */
static unsigned highest_bit(uint64_t value)
{
    unsigned place = 0;

    while (value >>= 1) {
        place++;
    }
    return place;
}

static size_t bucket_of(uint64_t value)
{
    if (value < HISTOGRAM_PARTS) {
        return (size_t)value;
    }
    unsigned shift = highest_bit(value) - PARTS_LOG;

    if (shift >= HISTOGRAM_POWERS) {
        return HISTOGRAM_BUCKETS - 1;
    }
    /* The values from 2^n to 2^(n+1) - 1 have the same highest bit. The four bits after this bit
     * choose one of 16 buckets. */
    return (size_t)(shift + 1) * HISTOGRAM_PARTS + (size_t)(value >> shift) - HISTOGRAM_PARTS;
}

/* The greatest value of a bucket. */
static uint64_t end_of(size_t bucket)
{
    if (bucket < HISTOGRAM_PARTS) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket / HISTOGRAM_PARTS) - 1;

    return ((uint64_t)(bucket % HISTOGRAM_PARTS + HISTOGRAM_PARTS + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    uint32_t *count = &histogram->counts[bucket_of(value)];

    if (*count == UINT32_MAX) {
        return;
    }
    (*count)++;
    histogram->count++;
    if (value > histogram->greatest) {
        histogram->greatest = value;
    }
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint32_t room = UINT32_MAX - histogram->counts[i];
        uint32_t more = other->counts[i] < room ? other->counts[i] : room;

        histogram->counts[i] += more;
        histogram->count += more;
    }
    if (other->greatest > histogram->greatest) {
        histogram->greatest = other->greatest;
    }
}

uint64_t histogram_percentile(const struct histogram *histogram, uint32_t millionths)
{
    /* Split, so that no product runs over. */
    uint64_t whole = histogram->count / 1000000;
    uint64_t rest = histogram->count % 1000000;
    uint64_t wanted = whole * millionths + (rest * millionths + 999999) / 1000000;
    uint64_t seen = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS && histogram->count > 0; i++) {
        seen += histogram->counts[i];
        if (seen >= wanted && seen > 0) {
            uint64_t end = end_of(i);
            return i == HISTOGRAM_BUCKETS - 1 || end > histogram->greatest ? histogram->greatest
                                                                           : end;
        }
    }
    return 0;
}
