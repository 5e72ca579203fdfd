/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/phi.h"

#include "core/filter/bloom.h"

/*
 * 64 bits are enough. A section of b bits adds at most 256 b / 4 + 1 to a spread and to X: n - n^2
 * / b is at most b / 4, and a floor that is taken away adds less than 1; i is at most a and at most
 * c, so that i - a c / b is at most b / 4, too. phi_bound adds 1 more for each section. The
 * sections have PROFILE_BITS_MAX bits together.
 */
enum {
    SCALE = 256,
    SPREAD_MOST = SCALE / 4 * PROFILE_BITS_MAX + 2 * PROFILE_SECTIONS_MAX,
    ROOT_SHIFT = 10,
    SHARE_SHIFT = PHI_SHIFT + ROOT_SHIFT,
    COARSE_SHIFT = 12,
    /* A spread that is not 0 is at least this: a section of b >= 2 bits with 1 .. b - 1 set bits
     * adds at least 256 (1 - 1 / b). */
    SPREAD_LEAST = SCALE / 2
};
_Static_assert((uint64_t)SPREAD_MOST <= UINT64_MAX / SPREAD_MOST >> 2 * ROOT_SHIFT,
               "the product under the root fits 64 bits");
_Static_assert((uint64_t)SPREAD_MOST <= UINT64_MAX >> (SHARE_SHIFT + 1),
               "so does X 2^34, with a sign");
_Static_assert((uint64_t)SPREAD_MOST <= UINT64_MAX / SPREAD_MOST >> 2 * COARSE_SHIFT,
               "so do the squares of phi_reaches");

static uint32_t set_bits(const uint64_t *filter, uint32_t first, uint32_t bits)
{
    return bloom_union_count_range(filter, filter, first, bits);
}

/* `set` is at most `bits`, so that the result is not negative. */
uint32_t phi_spread(uint32_t set, uint32_t bits)
{
    return SCALE * set - (uint32_t)((uint64_t)SCALE * set * set / bits);
}

void phi_ask(struct phi_query *out, const struct profile *profile, const uint64_t *filter)
{
    out->count = 0;
    out->spread = 0;
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t set = set_bits(filter, section->first_bit, section->bits);

        if (set > 0) {
            out->sections[out->count++] =
                (struct phi_section){section->first_bit, section->bits, set, s};
            out->spread += phi_spread(set, section->bits);
        }
    }
}

/* The least k so that 2^k is above the root. */
static uint32_t root_bits(uint64_t square)
{
#if defined(__GNUC__)
    return square == 0 ? 0 : (65 - (uint32_t)__builtin_clzll(square)) / 2;
#else
    uint32_t bits = 0;

    for (; square > 0; square >>= 2) {
        bits++;
    }
    return bits;
#endif
}

/*
 * Newton's method from above: each step is at least the root, rounded down, and at most the step
 * before, until it is the root. The first step is from the power of two 2^k above the root, so that
 * it needs no division; it is at most a quarter above the root, so that four divisions are usually
 * enough.
 */
uint64_t phi_root(uint64_t square)
{
    uint32_t shift = root_bits(square);
    uint64_t next = ((UINT64_C(1) << shift) + (square >> shift)) / 2;
    uint64_t root = next + 1;

    if (square == 0) {
        return 0;
    }
    while (next < root) {
        root = next;
        next = (root + square / root) / 2;
    }
    return root;
}

/* X, and the spread of the message. */
struct sums {
    int64_t shared;
    uint64_t spread;
};

static void add_section(struct sums *sums, const struct phi_section *section, uint32_t set)
{
    sums->shared -= (int64_t)((uint64_t)SCALE * set * section->set / section->bits);
    sums->spread += phi_spread(set, section->bits);
}

/* `spread` is that of the query. */
static struct similarity similarity_from(uint64_t spread, struct sums sums)
{
    struct similarity similarity = {0, PHI_ONE};
    uint64_t square = spread * sums.spread;

    if (sums.shared > 0 && square > 0) {
        uint64_t phi = ((uint64_t)sums.shared << SHARE_SHIFT) / phi_root(square << 2 * ROOT_SHIFT);

        similarity.shared = phi < PHI_ONE ? (uint32_t)phi : PHI_ONE;
    }
    return similarity;
}

struct similarity phi_similarity(const struct phi_query *query, const uint64_t *message,
                                 uint32_t overlap)
{
    struct sums sums = {(int64_t)SCALE * overlap, 0};

    for (uint32_t s = 0; s < query->count; s++) {
        const struct phi_section *section = &query->sections[s];

        add_section(&sums, section, set_bits(message, section->first_bit, section->bits));
    }
    return similarity_from(query->spread, sums);
}

/*
 * Returns false only if phi is below `least`. Compares squares, with `least` rounded down to 12
 * bits: if phi is at least n / 2^12, then X^2 >= (n / 2^12)^2 V(a) V(c), less a part in 2^16,
 * because the root is rounded down.
 */
static bool may_reach(uint64_t spread, struct sums sums, uint32_t least)
{
    uint64_t coarse = least >> (PHI_SHIFT - COARSE_SHIFT);
    uint64_t needed = coarse * coarse * (spread * sums.spread);
    uint64_t shared = sums.shared > 0 ? (uint64_t)sums.shared : 0;

    return (shared * shared) << 2 * COARSE_SHIFT >= needed - (needed >> COARSE_SHIFT);
}

bool phi_reaches(const struct phi_query *query, const uint16_t *counts, uint32_t overlap,
                 uint32_t least, struct similarity *out_similarity)
{
    struct sums sums = {(int64_t)SCALE * overlap, 0};

    for (uint32_t s = 0; s < query->count; s++) {
        add_section(&sums, &query->sections[s], counts[query->sections[s].number]);
    }

    if (!may_reach(query->spread, sums, least)) {
        return false;
    }
    *out_similarity = similarity_from(query->spread, sums);
    return true;
}

void phi_count(const struct profile *profile, const uint64_t *filter, uint16_t *out_counts)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        out_counts[s] = (uint16_t)set_bits(filter, section->first_bit, section->bits);
    }
}

void phi_size(const struct profile *profile, const uint16_t *counts, uint32_t *out_spreads)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        out_spreads[s] = phi_spread(counts[s], profile->sections[s].bits);
    }
}

bool phi_counted(const struct profile *profile, struct phi_sized query, struct phi_sized message,
                 uint32_t overlap, uint32_t least, struct similarity *out_similarity)
{
    struct sums sums = {(int64_t)SCALE * overlap, 0};
    uint64_t spread = 0;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        uint64_t product = (uint64_t)query.counts[s] * message.counts[s];

        if (query.counts[s] > 0) {
            sums.shared -= (int64_t)(SCALE * product / profile->sections[s].bits);
            sums.spread += message.spreads[s];
            spread += query.spreads[s];
        }
    }
    if (!may_reach(spread, sums, least)) {
        return false;
    }
    struct similarity similarity = similarity_from(spread, sums);
    if (similarity.shared < least) {
        return false;
    }
    *out_similarity = similarity;
    return true;
}

uint32_t phi_least(uint32_t max_distance_ppm)
{
    uint64_t shared = max_distance_ppm < DISTANCE_ONE_PPM ? DISTANCE_ONE_PPM - max_distance_ppm : 0;

    return (uint32_t)(((shared << PHI_SHIFT) + DISTANCE_ONE_PPM - 1) / DISTANCE_ONE_PPM);
}

uint32_t phi_floor(struct similarity similarity)
{
    uint64_t phi = ((uint64_t)similarity.shared << PHI_SHIFT) / similarity.all;

    return (uint32_t)(phi * phi >> (2 * PHI_SHIFT - PHI_FLOOR_SHIFT));
}

/* docs/notes/tree.md needs (1 - 2 a / b) V >= A for each asked section, where V is at least 128. */
bool phi_has_bound(const struct phi_query *query)
{
    bool holds = true;

    for (uint32_t s = 0; s < query->count; s++) {
        const struct phi_section *section = &query->sections[s];

        holds = holds && section->bits >= 2 * section->set &&
                (uint64_t)SPREAD_LEAST * (section->bits - 2 * section->set) >=
                    (uint64_t)query->count * section->bits;
    }
    return holds;
}

/*
 * Adds a section of the bound: c is the number in the range that is nearest to `shared`, i is the
 * smaller of the two. X is rounded up, and has 1 more, which is what the floors of the message's
 * own X may leave; the spread is rounded down. Returns false if the proof does not hold for the
 * range.
 */
static bool add_range(const struct phi_section *section, const struct phi_range *range,
                      struct sums *sums, uint32_t *overlap)
{
    uint64_t set = range->shared < range->least  ? range->least
                   : range->shared > range->most ? range->most
                                                 : range->shared;
    uint64_t shared = range->shared < set ? range->shared : set;

    sums->shared +=
        (int64_t)(SCALE * shared + 1) - (int64_t)(SCALE * set * section->set / section->bits);
    sums->spread += SCALE * set - (SCALE * set * set + section->bits - 1) / section->bits;
    *overlap += (uint32_t)shared;
    return 2 * range->most <= section->bits;
}

/*
 * docs/notes/tree.md, "The bound of phi", has the proof. The phi of a message is divided by a root
 * that is rounded down and at least 2^17, because a spread is at least 128. So it may be above the
 * exact number by a part in 2^16, which the bound has more, and 1 for its own rounding.
 */
bool phi_bound(const struct phi_query *query, const struct phi_range *ranges, uint32_t least,
               struct similarity *out_bound)
{
    struct similarity bound = {PHI_ONE, PHI_ONE};
    bool holds = phi_has_bound(query);
    struct sums sums = {0, 0};
    uint32_t overlap = 0;

    for (uint32_t s = 0; s < query->count && holds; s++) {
        holds = add_range(&query->sections[s], &ranges[query->sections[s].number], &sums, &overlap);
    }
    if (holds && overlap == 0) {
        bound.shared = 0; /* without a shared bit X is not positive */
    } else if (holds) {
        if (!may_reach(query->spread, sums, least)) {
            return false;
        }
        bound = similarity_from(query->spread, sums);
        bound.shared += (bound.shared >> 16) + 1;
        bound.shared = bound.shared < PHI_ONE ? bound.shared : PHI_ONE;
    }
    if (bound.shared < least) {
        return false;
    }
    *out_bound = bound;
    return true;
}
