/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: how many labels a filter holds, and AMBIENCE's estimated distance, in fixed point.
 *
 *   n(F) = -(b/d) ln(1 - s/b)   for a section of b bits, d hashes, s of them set,
 *
 * summed over the profile's sections (Swamidass and Baldi 2007; AMBIENCE 2015). A full section
 * counts as s = b - 1/2. n is kept in units of 1/65536 label, from a table of b + 1 integers for
 * each section that is computed in integers alone, so every machine has the same table:
 *
 *   ln(j/(j-1)) = 2 atanh(1/(2j-1)), by its series in Q48, each term rounded down;
 *   L(s) = the sum of ln(j/(j-1)) for j = b down to b - s + 1;   L(b) = L(b-1) + ln 2;
 *   table[s] = (L(s) * b + d * 2^31) / (d * 2^32), rounded down.
 */
#ifndef CORE_PROFILE_ESTIMATE_H
#define CORE_PROFILE_ESTIMATE_H

#include "core/base/alloc.h"
#include "core/base/err.h"
#include "core/filter/distance.h"
#include "core/profile/profile.h"

struct estimate;

/* Builds the tables of a profile. `alloc` is borrowed and must outlive it. -ERR_NOMEM. O(m). */
int estimate_new(const struct alloc *alloc, const struct profile *profile,
                 struct estimate **out_estimate);
void estimate_free(struct estimate *estimate); /* NULL is fine */

/* Bytes held. */
size_t estimate_bytes(const struct estimate *estimate);

/* The table of section `section`: b + 1 numbers, in 1/65536 label. Borrowed. */
const uint32_t *estimate_table(const struct estimate *estimate, uint32_t section);

/*
 * Sections of the profile. With one section n(F) is estimate_table(estimate, 0)[set bits of F], so
 * that counts alone are enough.
 */
uint32_t estimate_section_count(const struct estimate *estimate);

/*
 * n of one section of F: the labels that went to it, or pairs for a joint section. In 1/65536, at
 * most 2^32 - 1. O(bits / 64).
 */
uint32_t estimate_section_labels(const struct estimate *estimate, uint32_t section,
                                 const uint64_t *filter);

/* n(F), and n(A or B), in 1/65536 label, pairs of joint sections counted like labels; at most
 * 2^32 - 1. O(m / 64). */
uint32_t estimate_labels(const struct estimate *estimate, const uint64_t *filter);
uint32_t estimate_union(const struct estimate *estimate, const uint64_t *a, const uint64_t *b);

/*
 * The estimated similarity n(A and B) / n(A or B), with n(A and B) = n(A) + n(B) - n(A or B):
 * below 0 counts as 0, above n(A or B) as n(A or B), 0/0 as 1/1.
 */
struct similarity estimate_similarity(uint32_t n_a, uint32_t n_b, uint32_t n_union);

#endif
