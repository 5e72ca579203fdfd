/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: how many labels a filter holds, and AMBIENCE's estimated distance, in fixed point.
 *
 * A section of b bits with d hashes, of which s bits are set, holds about -(b/d) ln(1 - s/b)
 * labels. n(F) is the sum of these numbers over all sections of the filter F (Swamidass and Baldi
 * 2007; AMBIENCE 2015). A full section counts as s = b - 1/2. Example: b = 512, d = 4 and s = 74
 * give 19.98 labels.
 *
 * Numbers of labels are in units of 1/65536 label. Each section has a table of b + 1 integers, one
 * for each s. The table is computed in integers only, so that all machines have the same table:
 *
 *   ln(j/(j-1)) = 2 atanh(1/(2j-1)), by its series in Q48 (units of 2^-48), each term rounded down;
 *   L(s) = the sum of ln(j/(j-1)) for j = b down to b - s + 1;   L(b) = L(b-1) + ln 2;
 *   table[s] = (L(s) * b + d * 2^31) / (d * 2^32), rounded down, with L(s) in units of 2^-48.
 */
#ifndef CORE_PROFILE_ESTIMATE_H
#define CORE_PROFILE_ESTIMATE_H

#include "core/base/alloc.h"
#include "core/base/err.h"
#include "core/filter/distance.h"
#include "core/profile/profile.h"

struct estimate;

/*
 * Builds the tables of a profile. `alloc` is borrowed until estimate_free. Returns 0 or -ERR_NOMEM.
 * O(m) for m bits.
 */
int estimate_new(const struct alloc *alloc, const struct profile *profile,
                 struct estimate **out_estimate);
void estimate_free(struct estimate *estimate); /* NULL is fine */

/*
 * Returns the table of a section of b bits: b + 1 numbers in 1/65536 label, indexed by the number
 * of set bits. The table is borrowed.
 */
const uint32_t *estimate_table(const struct estimate *estimate, uint32_t section);

/*
 * Returns the number of sections. If there is only one section, estimate_table(estimate, 0) has the
 * number of labels of each filter, indexed by the number of set bits.
 */
uint32_t estimate_section_count(const struct estimate *estimate);

/*
 * Return the number of labels of a filter, and of the union of two filters, in 1/65536 label, at
 * most 2^32 - 1. Each pair in a joint section counts as a label. O(m / 64) for m bits.
 */
uint32_t estimate_labels(const struct estimate *estimate, const uint64_t *filter);
uint32_t estimate_union(const struct estimate *estimate, const uint64_t *a, const uint64_t *b);

/*
 * Returns the estimated similarity of two filters A and B: n(A and B) / n(A or B). The arguments
 * are n(A), n(B) and n(A or B). n(A and B) is n(A) + n(B) - n(A or B), limited to 0 .. n(A or B).
 * The fraction 0/0 becomes 1/1.
 */
struct similarity estimate_similarity(uint32_t n_a, uint32_t n_b, uint32_t n_union);

#endif
