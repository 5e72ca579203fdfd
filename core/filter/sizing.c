/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/sizing.h"

#include <math.h>

static const double LN_2 = 0.693147180559945309417232121458;
static const uint32_t LABELS_MAX = 100000000;

int sizing_bits(uint32_t n, double p, uint32_t *out_m)
{
    /* Written so that a NaN is refused, too. */
    if (n < 1 || n > LABELS_MAX || !(p > 0.0 && p < 1.0)) {
        return SIZING_REFUSED;
    }
    double m = ceil(-(double)n * log(p) / (LN_2 * LN_2));
    if (!(m <= (double)UINT32_MAX)) {
        return SIZING_REFUSED;
    }
    *out_m = m < 1.0 ? 1 : (uint32_t)m;
    return 0;
}

uint32_t sizing_hashes(uint32_t m, uint32_t n)
{
    double d = ceil((double)m / (double)n * LN_2);

    return d < 1.0 ? 1 : (uint32_t)d;
}

/* Returns the expected share of set bits, 1 - (1 - 1/m)^(dn), 0 to 1. */
static double fill_of(uint32_t m, uint32_t d, uint32_t n)
{
    if (n == 0) {
        return 0.0;
    }
    /*
     * Computes 1 - (1 - 1/m)^(dn) with log1p and expm1, because 1 - 1/m loses digits if m is large.
     */
    return -expm1((double)d * (double)n * log1p(-1.0 / (double)m));
}

double sizing_false_positive_rate(uint32_t m, uint32_t d, uint32_t n)
{
    return pow(fill_of(m, d, n), (double)d);
}
