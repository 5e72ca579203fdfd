/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: how many labels a filter holds, and AMBIENCE's estimated distance, in fixed point.
 *
 *   n(F) = -(b/d) ln(1 - s/b)   for a section of b bits, d hashes, s of them set,
 *
 * summed over the sections of the profile (Swamidass and Baldi 2007; AMBIENCE 2015). A full section
 * counts as s = b - 1/2. Example: b = 512, d = 4, s = 74 estimate 19.98 labels.
 *
 * n is kept in units of 1/65536 label. Each section has a table of b + 1 integers, one for each s.
 * The table is computed in integers only, so every machine has the same one:
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

/* Builds the tables of a profile. `alloc` is borrowed and must outlive them. 0 or -ERR_NOMEM. O(m).
 */
int estimate_new(const struct alloc *alloc, const struct profile *profile,
                 struct estimate **out_estimate);
void estimate_free(struct estimate *estimate); /* NULL is fine */

/* The table of section `section`, indexed by set bits: b + 1 numbers, in 1/65536 label. Borrowed.
 */
const uint32_t *estimate_table(const struct estimate *estimate, uint32_t section);

/*
 * The number of sections. With one section n(F) is estimate_table(estimate, 0)[set bits of F]: the
 * number of set bits is enough.
 */
uint32_t estimate_section_count(const struct estimate *estimate);

/* n(F), and n(A or B), in 1/65536 label, at most 2^32 - 1. Pairs of joint sections count as labels.
 * O(m / 64). */
uint32_t estimate_labels(const struct estimate *estimate, const uint64_t *filter);
uint32_t estimate_union(const struct estimate *estimate, const uint64_t *a, const uint64_t *b);

/*
 * The estimated similarity n(A and B) / n(A or B), where n(A and B) = n(A) + n(B) - n(A or B), kept
 * between 0 and n(A or B). 0/0 becomes 1/1.
 */
struct similarity estimate_similarity(uint32_t n_a, uint32_t n_b, uint32_t n_union);

#endif
