/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizing: how many bits a filter needs, and its false-positive rate. Floating point is used here
 * and in core/profile/rate.c, nowhere else in core; nothing is ordered by these numbers.
 *
 * Formulas: Bloom 1970, Broder and Mitzenmacher 2004.
 */
#ifndef CORE_FILTER_SIZING_H
#define CORE_FILTER_SIZING_H

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

/* The expected fill 1 - (1 - 1/m)^(dn), 0 to 1. */
double sizing_fill(uint32_t m, uint32_t d, uint32_t n);

#endif
