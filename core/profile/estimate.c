/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/estimate.h"

#include <string.h>

#include "core/filter/bloom.h"

struct estimate {
    const struct alloc *alloc;
    uint32_t section_count;
    struct profile_section sections[PROFILE_SECTIONS_MAX];
    uint32_t *tables[PROFILE_SECTIONS_MAX]; /* into one array, which starts at tables[0] */
};

/*
 * Returns ln(j / (j - 1)) in Q48 (48 fractional bits) for j >= 2. The function sums 2 (z + z^3/3 +
 * z^5/5 + ...) with z = 1 / (2j - 1), each term rounded down. Dividing a rounded quotient again
 * gives the same as dividing once by the product, so that 64 bits are enough for the powers.
 */
static uint64_t ln_step_q48(uint32_t j)
{
    uint64_t x = 2 * (uint64_t)j - 1;
    uint64_t power = (UINT64_C(1) << 49) / x;
    uint64_t sum = 0;

    for (uint64_t odd = 1; power != 0; odd += 2) {
        sum += power / odd;
        power /= x * x;
    }
    return sum;
}

/* Computes the table of one section. `sum` is in units of 2^-48 and is at most ln 4096 + ln 2 <
 * 9.02. A section has at most 4096 bits, so sum * bits is below 2^63.2 and fits in 64 bits. */
static void fill_table(uint32_t *table, uint32_t bits, uint32_t hashes)
{
    uint64_t sum = 0;
    uint64_t half = (uint64_t)hashes << 31;
    uint64_t whole = (uint64_t)hashes << 32;

    table[0] = 0;
    for (uint32_t s = 1; s <= bits; s++) {
        uint32_t j = bits - s + 1;

        /*
         * A full section counts as half a bit less than full. The last step is therefore ln(1 /
         * (1/2)) = ln 2, which is also the step for j = 2.
         */
        sum += ln_step_q48(j < 2 ? 2 : j);
        table[s] = (uint32_t)((sum * bits + half) / whole);
    }
}

int estimate_new(const struct alloc *alloc, const struct profile *profile,
                 struct estimate **out_estimate)
{
    struct estimate *estimate = alloc_zeroed(alloc, 1, sizeof(*estimate));
    size_t entry_count = 0;

    if (estimate == NULL) {
        return -ERR_NOMEM;
    }
    estimate->alloc = alloc;
    estimate->section_count = profile->section_count;
    for (uint32_t s = 0; s < profile->section_count; s++) {
        estimate->sections[s] = profile->sections[s];
        entry_count += (size_t)profile->sections[s].bits + 1;
    }
    uint32_t *entries = alloc_array(alloc, entry_count, sizeof(*entries));
    if (entries == NULL) {
        alloc_release(alloc, estimate);
        return -ERR_NOMEM;
    }
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        fill_table(entries, section->bits, section->hashes);
        estimate->tables[s] = entries;
        entries += section->bits + 1;
    }
    *out_estimate = estimate;
    return 0;
}

void estimate_free(struct estimate *estimate)
{
    if (estimate == NULL) {
        return;
    }
    alloc_release(estimate->alloc, estimate->tables[0]);
    alloc_release(estimate->alloc, estimate);
}

const uint32_t *estimate_table(const struct estimate *estimate, uint32_t section)
{
    return estimate->tables[section];
}

uint32_t estimate_section_count(const struct estimate *estimate)
{
    return estimate->section_count;
}

uint32_t estimate_labels(const struct estimate *estimate, const uint64_t *filter)
{
    return estimate_union(estimate, filter, filter);
}

uint32_t estimate_union(const struct estimate *estimate, const uint64_t *a, const uint64_t *b)
{
    uint64_t sum = 0;

    for (uint32_t s = 0; s < estimate->section_count; s++) {
        const struct profile_section *section = &estimate->sections[s];
        uint32_t set = bloom_union_count_range(a, b, section->first_bit, section->bits);

        sum += estimate->tables[s][set];
    }
    return sum <= UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

struct similarity estimate_similarity(uint32_t n_a, uint32_t n_b, uint32_t n_union)
{
    uint64_t both = (uint64_t)n_a + n_b;
    uint64_t shared = both > n_union ? both - n_union : 0;

    return similarity_of(shared < n_union ? (uint32_t)shared : n_union, n_union);
}
