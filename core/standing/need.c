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
    PART_SHIFT = 12,  /* of `root` of a part */
    SPREAD_SHIFT = 4, /* of the root of a message's spread */
    SCALE_SHIFT = 8,  /* X and V are in units of 1/256 */
    ROOT_SHORT = PART_SHIFT - (BITS_FLOOR_SHIFT - STANDING_SHORT - SPREAD_SHIFT - SCALE_SHIFT),
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

/* In 2^-SPREAD_SHIFT. */
uint32_t standing_root_over(const struct standing *standing, struct standing_spread *spread,
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

uint64_t standing_need_over(const struct standing *standing, const struct standing_need *need,
                            uint32_t asked, struct standing_spread *spread)
{
    uint64_t sum = root_product(need->root, standing_root_over(standing, spread, asked));

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        sum += (uint64_t)need->slopes[s] * spread->counts[s];
    }
    return standing_need_least(standing, need->asked) + sum;
}

uint32_t standing_need_for(const struct standing *standing, const struct standing_need *need,
                           struct standing_spread *spread)
{
    return (uint32_t)(standing_need_over(standing, need, need->asked, spread) >> BITS_FLOOR_SHIFT);
}

static int16_t rounded_up(uint32_t number, uint32_t shift)
{
    return (int16_t)(number == 0 ? 0 : (number >> shift) + 1);
}

void standing_keep_needs(const struct standing *standing, struct standing_needs *by_phi,
                         uint32_t word, const struct standing_need *least,
                         const struct standing_need *most)
{
    by_phi->asked[word] = least->asked;
    by_phi->least[word] = standing_need_least(standing, least->asked);
    by_phi->roots[word] = least->root;
    by_phi->roots_low[word] = (int16_t)(least->root >> ROOT_SHORT);
    by_phi->roots_high[word] = rounded_up(most->root, ROOT_SHORT);
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        by_phi->slopes[s][word] = least->slopes[s];
        by_phi->slopes_low[s][word] = (int16_t)(least->slopes[s] >> STANDING_SHORT);
        by_phi->slopes_high[s][word] = rounded_up(most->slopes[s], STANDING_SHORT);
    }
}

void standing_keep_typical(const struct standing *standing, struct standing_node *node,
                           uint32_t word, uint64_t need)
{
    struct standing_needs *by_phi = &node->by_phi;

    by_phi->typical_needs[word] = (int32_t)(need >> STANDING_SHORT);
    by_phi->typical_roots[word] =
        (int16_t)standing_root_over(standing, &node->typical, by_phi->asked[word]);
}

/* Widens the range of the whole node by that of a word. */
static void widen_needs(const struct standing *standing, struct standing_needs *by_phi,
                        uint32_t word)
{
    int32_t need = by_phi->typical_needs[word];

    by_phi->all.least = need < by_phi->all.least ? need : by_phi->all.least;
    by_phi->all.most = need > by_phi->all.most ? need : by_phi->all.most;
    if (by_phi->roots_low[word] < by_phi->all.root_low) {
        by_phi->all.root_low = by_phi->roots_low[word];
    }
    if (by_phi->roots_high[word] > by_phi->all.root_high) {
        by_phi->all.root_high = by_phi->roots_high[word];
    }
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        if (by_phi->slopes_low[s][word] < by_phi->all.slopes_low[s]) {
            by_phi->all.slopes_low[s] = by_phi->slopes_low[s][word];
        }
        if (by_phi->slopes_high[s][word] > by_phi->all.slopes_high[s]) {
            by_phi->all.slopes_high[s] = by_phi->slopes_high[s][word];
        }
    }
}

void standing_keep_all(const struct standing *standing, struct standing_node *node)
{
    struct standing_needs *by_phi = &node->by_phi;
    uint32_t asked = 0;
    bool same = true;

    memset(&by_phi->all, 0, sizeof(by_phi->all));
    by_phi->all.least = INT32_MAX;
    by_phi->all.root_low = INT16_MAX;
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        by_phi->all.slopes_low[s] = INT16_MAX;
    }
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        if (node->lanes[w] != 0) {
            asked = asked == 0 ? by_phi->asked[w] : asked;
            same = same && asked != 0 && by_phi->asked[w] == asked;
            by_phi->all.typical_root = by_phi->typical_roots[w];
            widen_needs(standing, by_phi, w);
        }
    }
    by_phi->all.asked = same ? asked : 0;
}

/* The needs from those of the typical message, where all words ask for the same sections: what a
 * message needs more or less is the same for all of them. Returns false if one is below 0. */
static bool needs_of_all(const struct standing *standing, const struct standing_node *node,
                         struct standing_spread *spread, uint64_t *out_needs, uint64_t *out_any)
{
    const struct standing_needs *by_phi = &node->by_phi;
    int32_t more =
        (int32_t)standing_root_over(standing, spread, by_phi->all.asked) - by_phi->all.typical_root;
    int32_t sum = (more >= 0 ? by_phi->all.root_low : by_phi->all.root_high) * more;

    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        more = spread->counts[s] - node->typical.counts[s];
        sum += (more >= 0 ? by_phi->all.slopes_low[s] : by_phi->all.slopes_high[s]) * more;
    }
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        int32_t need = by_phi->typical_needs[w] + sum;

        out_needs[w] = (uint64_t)(uint32_t)(need > 0 ? need : 0) << STANDING_SHORT;
    }
    *out_any = (uint64_t)(uint32_t)(by_phi->all.most + sum) << STANDING_SHORT;
    return by_phi->all.least + sum >= 0;
}

/* The roots of a message's spread, for each word. */
static void roots_for(const struct standing *standing, const struct standing_needs *by_phi,
                      struct standing_spread *spread, int16_t *out)
{
    uint32_t asked = 0;
    int16_t root = 0;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        if (by_phi->asked[w] != asked) { /* most words of a node ask for the same sections */
            asked = by_phi->asked[w];
            root = (int16_t)standing_root_over(standing, spread, asked);
        }
        out[w] = root;
    }
}

static void add_products(const int16_t *factors, int16_t factor, int32_t *sums)
{
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        sums[w] += factors[w] * factor;
    }
}

/* The needs from those of the typical message. Returns false if one is below 0. The loops are for
 * compilers to make vectors of, and no product is rounded. */
static bool needs_from_typical(const struct standing *standing, const struct standing_node *node,
                               const struct standing_spread *spread, const int16_t *roots,
                               uint64_t *out_needs, uint64_t *out_any)
{
    const struct standing_needs *by_phi = &node->by_phi;
    int32_t needs[BITS_LANE_WORDS];
    int32_t any = 0;

    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        int16_t more = (int16_t)(roots[w] - by_phi->typical_roots[w]);
        int16_t low = by_phi->roots_low[w];
        int16_t high = by_phi->roots_high[w];

        needs[w] = by_phi->typical_needs[w] + (more >= 0 ? low : high) * more;
    }
    for (uint32_t s = 0; s < standing->profile.section_count; s++) {
        int16_t more = (int16_t)(spread->counts[s] - node->typical.counts[s]);

        if (more != 0) {
            add_products(more > 0 ? by_phi->slopes_low[s] : by_phi->slopes_high[s], more, needs);
        }
    }
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        any |= needs[w];
        out_needs[w] = (uint64_t)(uint32_t)needs[w] << STANDING_SHORT;
    }
    *out_any = (uint64_t)(uint32_t)any << STANDING_SHORT;
    return any >= 0;
}

/* The same without the typical message. */
static void needs_alone(const struct standing *standing, const struct standing_node *node,
                        const struct standing_spread *spread, const int16_t *roots,
                        uint64_t *out_needs, uint64_t *out_any)
{
    const struct standing_needs *by_phi = &node->by_phi;

    *out_any = 0;
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        out_needs[w] = by_phi->least[w] + root_product(by_phi->roots[w], (uint64_t)roots[w]);
        for (uint32_t s = 0; s < standing->profile.section_count; s++) {
            out_needs[w] += (uint64_t)by_phi->slopes[s][w] * spread->counts[s];
        }
        *out_any |= out_needs[w];
    }
}

bool standing_needs_for(const struct standing *standing, const struct standing_node *node,
                        struct standing_spread *spread, uint64_t *out_needs, uint64_t *out_any)
{
    int16_t roots[BITS_LANE_WORDS];

    if (node->by_phi.all.asked != 0 && needs_of_all(standing, node, spread, out_needs, out_any)) {
        return true;
    }
    roots_for(standing, &node->by_phi, spread, roots);
    if (node->by_phi.all.asked == 0 &&
        needs_from_typical(standing, node, spread, roots, out_needs, out_any)) {
        return true;
    }
    needs_alone(standing, node, spread, roots, out_needs, out_any);
    return false;
}
