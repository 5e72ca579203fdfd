/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phi: how similar two filters are by the phi coefficient, the correlation of their bits (the
 * Pearson correlation of two binary vectors), over the sections in which the query has bits.
 *
 * Section s has b bits; a, c and i of them are set in the query, in the message, and in both. The
 * query asks for the sections with a > 0, and only these count, so that a query need not say
 * anything about the others. Two filters of unrelated labels share about a c / b bits by chance;
 * phi takes this number away, section by section. All numbers are integers, so that all machines
 * compute the same:
 *
 *   X    = the sum over the asked sections of 256 i - floor(256 a c / b)
 *   V(n) = the sum over the asked sections of 256 n - floor(256 n^2 / b): the spread of a filter
 *          with n set bits in the section
 *   phi  = 0 if X <= 0 or V(a) V(c) = 0;
 *          else floor(X 2^34 / isqrt(V(a) V(c) 2^20)), at most 2^24, in units of 2^-24
 *
 * isqrt is the square root, rounded down. The similarity is the fraction phi / 2^24, and the
 * distance is 1 - phi / 2^24, for all functions of core/filter/distance.h.
 *
 * A section that is full in one of the filters, or has only one bit, has no spread in it and tells
 * nothing. So a filter has phi 1 with itself if one of its sections is neither empty nor full, and
 * else phi 0; a query without bits has phi 0 with all messages. A section that is full in the query
 * is still asked for: the bits of the message there add to the spread of the message. phi is not
 * symmetric, because the query decides which sections count.
 *
 * Example: b = 320, a = 40, c = 40, i = 20. By chance the filters would share 5 bits. X = 3840 and
 * V = 8960 for both, so that phi is 0.43; Jaccard's similarity is 20 / 60 = 0.33.
 */
#pragma once

#include "core/filter/distance.h"
#include "core/profile/profile.h"

enum { PHI_SHIFT = 24, PHI_ONE = 1 << PHI_SHIFT };

/* A section in which a query has bits. */
struct phi_section {
    uint32_t first_bit;
    uint32_t bits;
    uint32_t set;    /* bits of the query in this section, at least 1 */
    uint32_t number; /* of the section in the profile, counted from 0 */
};

/* What phi needs to know about a query. */
struct phi_query {
    uint32_t count; /* of sections; 0: the query has no bits */
    uint32_t spread;
    struct phi_section sections[PROFILE_SECTIONS_MAX]; /* in the order of their bits */
};

/* Fills *out for a query. O(m / 64) for m bits. */
void phi_ask(struct phi_query *out, const struct profile *profile, const uint64_t *filter);

/*
 * Returns the similarity of a message: {phi, 2^24}. `overlap` is the number of bits that the
 * message shares with the query; all of them are in sections that the query asks for. O(m / 64) for
 * m bits.
 */
struct similarity phi_similarity(const struct phi_query *query, const uint64_t *message,
                                 uint32_t overlap);

/* --- by numbers of set bits ------------------------------------------------------------------- */

/* Writes the set bits of a filter in each section: one number for each section of the profile. */
void phi_count(const struct profile *profile, const uint64_t *filter, uint16_t *out_counts);

/*
 * phi_similarity of a message that has the set bits `counts` (phi_count). Returns false and leaves
 * *out_similarity unchanged if the similarity is clearly below `least` / 2^24, at most 1. The call
 * is cheaper then, because it takes no root.
 */
bool phi_reaches(const struct phi_query *query, const uint16_t *counts, uint32_t overlap,
                 uint32_t least, struct similarity *out_similarity);

/* V(n) of one section of `bits` bits: the spread of a filter with `set` bits there. */
uint32_t phi_spread(uint32_t set, uint32_t bits);

/* What phi_counted needs to know about a filter: one number for each section of the profile. The
 * arrays belong to the caller. */
struct phi_sized {
    const uint16_t *counts;  /* set bits (phi_count) */
    const uint32_t *spreads; /* V of these numbers (phi_size) */
};

/* Writes the spread of a filter in each section; `counts` are its set bits (phi_count). */
void phi_size(const struct profile *profile, const uint16_t *counts, uint32_t *out_spreads);

/*
 * Returns whether the similarity of a message is at least `least` / 2^24, at most 1, and writes the
 * similarity if so. The call is for whoever compares a filter with many others: the spreads are
 * known, and the root is taken only if the message is clearly not below `least`.
 */
bool phi_counted(const struct profile *profile, struct phi_sized query, struct phi_sized message,
                 uint32_t overlap, uint32_t least, struct similarity *out_similarity);

/* The smallest phi, in 2^-24, that is within a distance in millionths. 0: every phi is. */
uint32_t phi_least(uint32_t max_distance_ppm);

/* The square root, rounded down. */
uint64_t phi_root(uint64_t square);

/* --- floors and bounds ------------------------------------------------------------------------ */

/*
 * Floors of phi are in units of phi^2 2^-15. phi_floor returns the floor of a similarity: a message
 * with at least this similarity has at least this floor. At most 2^15.
 */
enum { PHI_FLOOR_SHIFT = 15 };
uint32_t phi_floor(struct similarity similarity);

/*
 * Returns whether the bound of docs/notes/tree.md ("The bound of phi") holds for a query: no
 * section may have more set bits than half, less a little for rounding.
 */
bool phi_has_bound(const struct phi_query *query);

/* What is known about some messages in one section of the profile. */
struct phi_range {
    uint32_t least;  /* no message has fewer set bits in the section */
    uint32_t most;   /* no message has more; from `least` to the bits of the section */
    uint32_t shared; /* no message shares more bits with the query there; at most the query's own */
};

/*
 * Bounds the similarity of messages of which only ranges are known; `ranges` has one for each
 * section of the profile, of which only those are read that the query asks for. Writes {bound,
 * 2^24}, and no message is above it. The bound is 1 if there is no proof for a lower one: without
 * phi_has_bound, or if a message may have more than half of the bits of a section set. Returns
 * false and leaves *out_bound unchanged if no message reaches `least` / 2^24 for certain; then the
 * call is cheaper. `least` is at most PHI_ONE.
 */
bool phi_bound(const struct phi_query *query, const struct phi_range *ranges, uint32_t least,
               struct similarity *out_bound);
