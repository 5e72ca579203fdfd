/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need: how many bits a message must share with a part of a query by phi, so that the part may fit.
 *
 * A part has a bits in a section of b bits, and the spread V(a); a message has c bits in the
 * section, and the spread V(c) over the sections that the part asks for; they share i bits. The
 * message fits if phi is at least p, so if X = 256 i - sum of floor(256 a c / b) is at least
 * p sqrt(V(a) V(c)). The message is known when it is matched, and the part when it is placed, so
 * the need for i is a sum of products:
 *
 *   i >= the sum over the sections of (a / b) c + (p sqrt(V(a)) / 256) sqrt(V(c))
 *
 * `slopes` has the numbers a / b, and `root` the number p sqrt(V(a)). All factors are at least 0,
 * so the smallest slopes and the smallest root of several parts give a bound for all of them, and
 * fewer sections in V(c) do, too. docs/watch.md has the roundings.
 */
#include <string.h>

#include "core/standing/inner.h"

enum {
    ONE = 1 << BITS_FLOOR_SHIFT,
    SLOPE_SHIFT = BITS_FLOOR_SHIFT,
    PART_SHIFT = 12,              /* of `root` of a part */
    SPREAD_SHIFT = 4,             /* of the root of a message's spread */
    SCALE_SHIFT = 8,              /* X and V are in units of 1/256 */
    LEAST_SHIFT = 20,             /* of phi, so that its square times a spread fits 64 bits */
    ROUNDING = ONE >> SCALE_SHIFT /* what a floor in X takes away at most: 1/256 of a bit */
};

void standing_need_of(const struct standing *standing, const uint16_t *counts, uint32_t least,
                      struct standing_need *out)
{
    uint64_t phi = least >> (PHI_SHIFT - LEAST_SHIFT);
    uint64_t spread = 0;

    memset(out, 0, sizeof(*out));
    if (least == 0) { /* every message fits, also one without a common bit */
        return;
    }
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        uint32_t bits = standing->profile.sections[s].bits;

        if (counts[s] > 0) {
            out->asked |= UINT32_C(1) << s;
            out->slopes[s] = ((uint32_t)counts[s] << SLOPE_SHIFT) / bits;
            spread += phi_spread(counts[s], bits);
        }
    }
    out->root = (uint32_t)phi_root(phi * phi * spread >> (2 * (LEAST_SHIFT - PART_SHIFT)));
}

void standing_need_lower(const struct standing *standing, struct standing_need *need,
                         const struct standing_need *other)
{
    if (other == NULL) {
        memset(need, 0, sizeof(*need));
        return;
    }
    need->asked &= other->asked;
    need->root = other->root < need->root ? other->root : need->root;
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        need->slopes[s] = other->slopes[s] < need->slopes[s] ? other->slopes[s] : need->slopes[s];
    }
}

void standing_spread_of(const struct standing *standing, const uint64_t *filter,
                        struct standing_spread *out)
{
    phi_count(&standing->profile, filter, out->counts);
    phi_size(&standing->profile, out->counts, out->spreads);
    memset(out->roots, 0, sizeof(out->roots));
}

/* The root of the spread of a message over some sections, in 2^-SPREAD_SHIFT. */
static uint32_t root_over(const struct standing *standing, struct standing_spread *spread,
                          uint32_t asked)
{
    uint32_t at = asked % STANDING_ROOTS;

    if (spread->roots[at].asked != asked) {
        uint64_t sum = 0;

        for (uint32_t s = 0; s < standing->profile.section_count; s++) {
            sum += (asked >> s & 1) != 0 ? spread->spreads[s] : 0;
        }
        spread->roots[at].asked = asked;
        spread->roots[at].root = (uint32_t)phi_root(sum << 2 * SPREAD_SHIFT);
    }
    return spread->roots[at].root;
}

/* The product of two roots, in 2^-BITS_FLOOR_SHIFT of a bit. */
static uint64_t root_product(uint64_t part, uint64_t message)
{
    return part * message >> (PART_SHIFT + SPREAD_SHIFT + SCALE_SHIFT - BITS_FLOOR_SHIFT);
}

/*
 * A sum is rounded up to the next whole number of bits, after taking away what the floors in X and
 * the root in phi may take away. That is less than one bit, because a profile has few sections.
 */
uint64_t standing_need_least(const struct standing *standing, uint32_t asked)
{
    _Static_assert((PROFILE_SECTIONS_MAX + 1) * ROUNDING < ONE, "the rounding is below one bit");
    return asked == 0 ? 0 : ONE - (standing->profile.section_count + 1) * (uint64_t)ROUNDING;
}

uint32_t standing_need_for(const struct standing *standing, const struct standing_need *need,
                           struct standing_spread *spread)
{
    uint64_t sum = root_product(need->root, root_over(standing, spread, need->asked));

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        sum += (uint64_t)need->slopes[s] * spread->counts[s];
    }
    return (uint32_t)((standing_need_least(standing, need->asked) + sum) >> BITS_FLOOR_SHIFT);
}

uint64_t standing_needs_for(const struct standing *standing, const struct standing_node *node,
                            struct standing_spread *spread, uint64_t *out_needs)
{
    const struct standing_needs *by_phi = &node->by_phi;
    uint32_t sums[BITS_LANE_WORDS] = {0}; /* a slope times the bits of a message is at most the bits
                                           * of the part, so 32 bits are enough */
    uint32_t roots[BITS_LANE_WORDS];
    uint32_t asked = 0;
    uint32_t root = 0;
    uint64_t any = 0;

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        const uint32_t *slopes = by_phi->slopes[s];
        uint32_t set = spread->counts[s];

        if (set == 0) {
            continue;
        }
        for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
            sums[w] += slopes[w] * set;
        }
    }
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        if (by_phi->asked[w] != asked) { /* most words of a node ask for the same sections */
            asked = by_phi->asked[w];
            root = root_over(standing, spread, asked);
        }
        roots[w] = root;
    }
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        out_needs[w] = by_phi->least[w] + sums[w] + root_product(by_phi->roots[w], roots[w]);
        any |= out_needs[w];
    }
    return any;
}
