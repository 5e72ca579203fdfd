/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizing: how many bits a filter needs, and its false-positive rate, in floating point. The order
 * of messages does not depend on these numbers.
 *
 * Symbols: a filter has m bits, n labels, d hashes for each label, and the false-positive rate p.
 * Example: n = 20 and p = 0.01 need m = 192 and d = 7.
 *
 * Formulas: Bloom 1970, Broder and Mitzenmacher 2004.
 */
#pragma once

#include <stdint.h>

/*
 * Writes the number of bits m = ceil(-n ln p / (ln 2)^2), at least 1. Returns 0 or SIZING_REFUSED.
 * SIZING_REFUSED means that n is not 1 .. 100,000,000, that p is not above 0 and below 1, or that m
 * does not fit 32 bits.
 */
enum { SIZING_REFUSED = 1 };
int sizing_bits(uint32_t n, double p, uint32_t *out_m);

/* Returns the number of hashes d = ceil(m/n ln 2), at least 1. n >= 1. */
uint32_t sizing_hashes(uint32_t m, uint32_t n);

/* Returns the false-positive rate (1 - (1 - 1/m)^(dn))^d, or 0 if n = 0. m >= 1, d >= 1. */
double sizing_false_positive_rate(uint32_t m, uint32_t d, uint32_t n);
