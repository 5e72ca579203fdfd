/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizing: how large a filter must be. The only floating point in core; nothing is ordered by it.
 *
 * Formulas: Bloom 1970, Broder and Mitzenmacher 2004.
 */
#ifndef CORE_FILTER_SIZING_H
#define CORE_FILTER_SIZING_H

#include "core/profile/profile.h"

#include <stdint.h>

/*
 * m = ceil(-n ln p / (ln 2)^2) bits for n labels at a false-positive rate p.
 * 0, or SIZING_REFUSED unless 1 <= n <= 100,000,000 and 0 < p < 1 and m fits 32 bits.
 */
enum { SIZING_REFUSED = 1 };
int sizing_bits(uint32_t n, double p, uint32_t *out_m);

/* d = ceil(m/n ln 2), at least 1. n >= 1. */
uint32_t sizing_hashes(uint32_t m, uint32_t n);

/* The false-positive rate (1 - (1 - 1/m)^(dn))^d; 0 for n = 0. m >= 1, d >= 1. */
double sizing_false_positive_rate(uint32_t m, uint32_t d, uint32_t n);

/*
 * The false-positive rate of section `section` with `labels` labels, or pairs if it is joint. For a
 * joint section it is the rate once both labels have been taken for known ones in their sections:
 * with profile_joint_factor f, a new pair's position is one of b/f places, not of b, of which one
 * is set for sure, so with n pairs (1 - (1 - f/b) (1 - 1/b)^(dn-1))^d. This is for d = 1 and as
 * many pairs as the labels there allow; with larger d, or labels that are in no pair, it is less.
 */
double sizing_section_rate(const struct profile *profile, uint32_t section, uint32_t labels);

/*
 * The false-positive rate of a profile whose section s holds labels[s] labels (pairs, if joint):
 * how often a filter is taken to hold a context of one new label a section, and of one new pair a
 * joint section. It must find all of them, so the rate is the product of the sections' rates
 * (the multi-dimensional Bloom filter). One of several labels a section counts: more lower it.
 */
double sizing_profile_rate(const struct profile *profile, const uint32_t *labels);

/* The expected fill 1 - (1 - 1/m)^(dn), 0 to 1. */
double sizing_fill(uint32_t m, uint32_t d, uint32_t n);

#endif
