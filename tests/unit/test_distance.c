/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/distance.h"

#include "tests/lib/check.h"

TEST(test_two_empty_filters_are_at_distance_zero)
{
    struct similarity s = similarity_of(0, 0);

    assert_int_equal(s.shared, 1);
    assert_int_equal(s.all, 1);
    assert_int_equal(distance_ppm(s), 0);
    assert_true(distance_within(s, 0));
}

TEST(test_edges)
{
    const struct similarity none = similarity_of(0, 5);
    const struct similarity whole = similarity_of(UINT32_MAX, UINT32_MAX);
    const struct similarity least = similarity_of(1, UINT32_MAX);

    assert_int_equal(distance_ppm(none), DISTANCE_ONE_PPM);
    assert_int_equal(distance_ppm(whole), 0);
    assert_int_equal(distance_ppm(least), DISTANCE_ONE_PPM);
    assert_true(distance_within(none, DISTANCE_ONE_PPM));
    assert_true(distance_within(none, UINT32_MAX));
    assert_false(distance_within(none, DISTANCE_ONE_PPM - 1));
    assert_false(distance_within(least, DISTANCE_ONE_PPM - 1));
    assert_true(distance_within(whole, 0));
    assert_false(distance_within(similarity_of(UINT32_MAX - 1, UINT32_MAX), 0));
}

/* The bound is inclusive, and exact: no rounding decides. */
TEST(test_within_is_exact)
{
    assert_true(distance_within(similarity_of(3, 4), 250000));
    assert_false(distance_within(similarity_of(3, 4), 249999));
    assert_false(distance_within(similarity_of(2, 3), 333333)); /* 1/3 is more than that */
    assert_true(distance_within(similarity_of(2, 3), 333334));
}

TEST(test_rounding)
{
    assert_int_equal(distance_ppm(similarity_of(2, 3)), 333334);
    assert_int_equal(distance_ppm(similarity_of(1, 3)), 666667);
    assert_int_equal(distance_ppm(similarity_of(3, 4)), 250000);
    assert_int_equal(distance_ppm(similarity_of(1999998, 2000000)), 1);
    assert_int_equal(distance_ppm(similarity_of(3999999, 4000000)), 1);
    assert_int_equal(distance_ppm(similarity_of(4000000, 4000000)), 0);
}

/* A floor leaves out exactly what is less similar: of all fractions of at most 4,096, the next
 * lower one of shared / all is below the floor of shared / all. */
TEST(test_floor_is_between_neighbours)
{
    enum { MOST = 4096 };

    for (uint32_t all = 1; all <= MOST; all += all < 64 ? 1 : 61) {
        for (uint32_t shared = 1; shared <= all; shared += all < 64 ? 1 : 7) {
            struct similarity s = {shared, all};
            struct similarity floor = similarity_of_floor(similarity_floor(s));

            assert_true(similarity_compare(s, floor) >= 0);
            for (uint32_t other = MOST; other > MOST - 3; other--) {
                /* the largest fraction of `other` that is below s */
                struct similarity lower = {(uint32_t)(((uint64_t)shared * other - 1) / all), other};

                assert_true(similarity_compare(lower, floor) < 0);
            }
        }
    }
    struct similarity near[] = {{4094, 4095}, {4095, 4096}};
    assert_true(similarity_floor(near[0]) < similarity_floor(near[1]));
    assert_int_equal(similarity_floor((struct similarity){0, 5}), 0);
    assert_int_equal(similarity_floor((struct similarity){3, 3}), SIMILARITY_FLOOR_ONE);
    for (uint32_t phi = SIMILARITY_FLOOR_ONE; phi > SIMILARITY_FLOOR_ONE - 100; phi--) {
        assert_int_equal(similarity_floor(similarity_of_floor(phi)), phi);
    }
}

/* Against the definition, for all small fractions. */
TEST(test_small_fractions)
{
    for (uint32_t all = 1; all <= 24; all++) {
        for (uint32_t shared = 0; shared <= all; shared++) {
            struct similarity s = similarity_of(shared, all);

            /* It is the least bound that the fraction is within. */
            assert_true(distance_within(s, distance_ppm(s)));
            assert_true(shared == all || !distance_within(s, distance_ppm(s) - 1));
            assert_int_equal(similarity_compare(s, s), 0);
            for (uint32_t other_all = 1; other_all <= 24; other_all++) {
                for (uint32_t other = 0; other <= other_all; other++) {
                    struct similarity t = similarity_of(other, other_all);
                    uint32_t left = shared * other_all;
                    uint32_t right = other * all;

                    assert_int_equal(similarity_compare(s, t), left < right   ? -1
                                                               : left > right ? 1
                                                                              : 0);
                }
            }
        }
    }
}

TEST(test_compare_does_not_overflow)
{
    struct similarity a = similarity_of(UINT32_MAX - 1, UINT32_MAX);
    struct similarity b = similarity_of(UINT32_MAX - 2, UINT32_MAX - 1);

    assert_true(similarity_compare(a, b) > 0);
    assert_true(similarity_compare(b, a) < 0);
}
