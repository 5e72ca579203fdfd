/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizing: how many bits a filter needs, and its false-positive rate. This file and
 * core/profile/rate.c are the only ones in core that use floating point. No message is ordered by
 * these numbers.
 *
 * m bits, d hashes for each label, n labels, p the false-positive rate. Example: n = 20 and p =
 * 0.01 need m = 192 and d = 7.
 *
 * Formulas: Bloom 1970, Broder and Mitzenmacher 2004.
 */
#ifndef CORE_FILTER_SIZING_H
#define CORE_FILTER_SIZING_H

#include <stdint.h>

/*
 * Writes m = ceil(-n ln p / (ln 2)^2). 0, or SIZING_REFUSED: not 1 <= n <= 100,000,000, not
 * 0 < p < 1, or m does not fit 32 bits.
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
