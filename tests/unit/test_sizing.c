/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/sizing.h"

#include <math.h>

#include "tests/lib/check.h"

struct bits_case {
    uint32_t n;
    double p;
    uint32_t m, d;
};

/* m and d worked out by hand from the formulas. */
TEST(test_bits_and_hashes)
{
    static const struct bits_case cases[] = {
        {1, 0.5, 2, 2},                    /* 1.44 -> 2; 1.39 -> 2 */
        {20, 0.01, 192, 7},                /* 191.70; 6.65 */
        {50, 0.05, 312, 5},                /* 311.76; 4.33 */
        {100, 0.001, 1438, 10},            /* 1437.76; 9.97 */
        {1000000, 0.01, 9585059, 7},       /* 9585058.38; 6.64 */
        {1, 0.999999, 1, 1},               /* 0.000002 */
        {1000000, 1e-300, 1437758757, 997} /* about the smallest p there is */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t m = 0;

        assert_int_equal(sizing_bits(cases[i].n, cases[i].p, &m), 0);
        assert_int_equal(m, cases[i].m);
        assert_int_equal(sizing_hashes(m, cases[i].n), cases[i].d);
    }
    assert_int_equal(sizing_hashes(512, 50), 8); /* the thesis's 512/8: 7.10 */
    assert_int_equal(sizing_hashes(256, 50), 4); /* and 256/4: 3.55 */
    assert_int_equal(sizing_hashes(1, 1000000), 1);
}

TEST(test_refusals)
{
    uint32_t m = 4711;

    assert_int_equal(sizing_bits(0, 0.01, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(100000001, 0.01, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(UINT32_MAX, 0.01, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, 0.0, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, 1.0, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, -0.5, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, 1.5, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, (double)NAN, &m), SIZING_REFUSED);
    assert_int_equal(sizing_bits(10, (double)INFINITY, &m), SIZING_REFUSED);
    assert_int_equal(m, 4711);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* Against the formulas as they are written, without the care for small numbers. */
TEST(test_rates)
{
    static const uint32_t sizes[] = {1, 2, 64, 512, 4096};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t d = 1; d <= 32; d++) {
            for (uint32_t n = 0; n <= 200; n += 20) {
                double m = sizes[i];
                double fill = 1 - pow(1 - 1 / m, (double)d * n);

                assert_true(near(sizing_false_positive_rate(sizes[i], d, n), pow(fill, d)));
            }
        }
    }
    assert_true(sizing_false_positive_rate(512, 4, 0) == 0.0);
    assert_true(sizing_false_positive_rate(1, 1, 1) == 1.0);
    assert_true(fabs(sizing_false_positive_rate(192, 7, 20) - 0.0100895) < 1e-6);
}
