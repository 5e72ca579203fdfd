/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/estimate.h"

#include <math.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

static struct profile one_section(uint32_t m, uint32_t d)
{
    return (struct profile){
        .version = 1, .bits = m, .section_count = 1, .sections = {{.bits = m, .hashes = d}}};
}

static struct estimate *make(const struct profile *profile)
{
    struct estimate *estimate = NULL;

    assert_int_equal(estimate_new(alloc_system(), profile, &estimate), 0);
    return estimate;
}

/* 65536 times -(b/d) ln(1 - s/b), a full section counted as b - 1/2. */
static double by_libm(uint32_t b, uint32_t d, uint32_t s)
{
    double set = s == b ? b - 0.5 : s;

    return -65536.0 * b / d * log1p(-set / b);
}

/*
 * Half a unit of rounding to whole units, and the terms that the series drops: each of the s
 * logarithms is low by fewer than 20 units of 2^-48, times 65536 b / d.
 */
static void test_tables_follow_libm(void **state)
{
    (void)state;
    for (uint32_t b = 64; b <= 4096; b += 64) {
        for (uint32_t d = 1; d <= PROFILE_HASHES_MAX; d++) {
            struct profile profile = one_section(b, d);
            struct estimate *estimate = make(&profile);
            const uint32_t *table = estimate_table(estimate, 0);

            for (uint32_t s = 0; s <= b; s++) {
                double lost = ldexp(20.0 * s * b / d, -32) + 1e-6;
                double apart = by_libm(b, d, s) - table[s];

                assert_true(apart <= 0.5 + lost && apart >= -0.5 - 1e-6);
                assert_true(s == 0 || table[s] >= table[s - 1]);
            }
            estimate_free(estimate);
        }
    }
}

/* Sections of any size, down to one bit. */
static void test_small_sections(void **state)
{
    (void)state;
    for (uint32_t b = 1; b < 64; b++) {
        struct profile profile = one_section(b, 2);
        struct estimate *estimate = make(&profile);

        assert_int_equal(estimate_table(estimate, 0)[0], 0);
        assert_true(fabs(estimate_table(estimate, 0)[b] - by_libm(b, 2, b)) < 0.51);
        estimate_free(estimate);
    }
}

static void test_empty_and_full_filters(void **state)
{
    struct profile profile = one_section(128, 4);
    struct estimate *estimate = make(&profile);
    const uint64_t empty[2] = {0, 0};
    const uint64_t full[2] = {UINT64_MAX, UINT64_MAX};

    (void)state;
    assert_int_equal(estimate_labels(estimate, empty), 0);
    /* 32 ln 256 labels. */
    assert_int_equal(estimate_labels(estimate, full), (uint32_t)lround(65536 * 32 * log(256.0)));
    assert_int_equal(estimate_union(estimate, empty, full), estimate_labels(estimate, full));
    assert_int_equal(estimate_section_count(estimate), 1);
    estimate_free(estimate);
    estimate_free(NULL);
}

/* Sections are looked up each in its own table, by their own set bits, and added up. */
static void test_sections_add_up(void **state)
{
    const struct profile profile = {
        .version = 1,
        .bits = 192,
        .section_count = 3,
        .sections = {{.first_bit = 0, .bits = 100, .hashes = 2},
                     {.first_bit = 100, .bits = 60, .hashes = 1},
                     {.first_bit = 160, .bits = 32, .hashes = 4}},
    };
    struct estimate *estimate = make(&profile);
    uint64_t filter[3] = {0};
    uint64_t other[3] = {0};

    (void)state;
    for (uint32_t p = 90; p < 165; p++) { /* 10, 60 and 5 bits */
        bloom_set(p % 2 == 0 ? filter : other, p);
    }
    assert_int_equal(estimate_section_count(estimate), 3);
    assert_int_equal(estimate_union(estimate, filter, other), estimate_table(estimate, 0)[10] +
                                                                  estimate_table(estimate, 1)[60] +
                                                                  estimate_table(estimate, 2)[5]);
    assert_int_equal(estimate_labels(estimate, filter), estimate_table(estimate, 0)[5] +
                                                            estimate_table(estimate, 1)[30] +
                                                            estimate_table(estimate, 2)[3]);
    estimate_free(estimate);
}

/* n labels set few enough bits to be told from one another: within a label, for moderate fills. */
static void test_estimates_labels(void **state)
{
    struct profile profile;
    const char *reason = NULL;
    uint64_t filter[16];
    struct encoder encoder;

    (void)state;
    assert_int_equal(profile_parse("v1:1024/4", 9, &profile, &reason), 0);
    struct estimate *estimate = make(&profile);
    encoder_begin(&encoder, &profile);
    for (uint32_t n = 1; n <= 40; n++) {
        char label[] = "wifi:00";

        label[5] = (char)('0' + n / 10);
        label[6] = (char)('0' + n % 10);
        assert_int_equal(encoder_add(&encoder, label, 7), 0);
        encoder_end(&encoder, filter);
        assert_true(fabs(estimate_labels(estimate, filter) / 65536.0 - n) < 2.0);
    }
    estimate_free(estimate);
}

struct edge {
    uint32_t n_a, n_b, n_union, shared, all;
};

static void test_similarity_edges(void **state)
{
    static const struct edge edges[] = {
        {0, 0, 0, 1, 1},                                              /* 0/0 is distance 0 */
        {10, 0, 10, 0, 10},                                           /* nothing shared */
        {10, 10, 10, 10, 10},                                         /* the same */
        {10, 6, 12, 4, 12},                                           /* ordinary */
        {10, 6, 17, 0, 17},                                           /* below 0 */
        {10, 6, 7, 7, 7},                                             /* above 1 */
        {10, 6, 8, 8, 8},                                             /* exactly 1 */
        {5, 0, 0, 1, 1},                                              /* above 1, and 0/0 */
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, /* no overflow */
        {0, 0, UINT32_MAX, 0, UINT32_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        const struct edge *e = &edges[i];
        struct similarity s = estimate_similarity(e->n_a, e->n_b, e->n_union);

        assert_int_equal(s.shared, e->shared);
        assert_int_equal(s.all, e->all);
    }
}

static void test_memory(void **state)
{
    struct profile profile = one_section(512, 4);
    struct fail_alloc fail;

    (void)state;
    fail_alloc_init(&fail);
    for (size_t n = 1;; n++) {
        struct estimate *estimate = NULL;

        fail_alloc_arm(&fail, n);
        int result = estimate_new(&fail.alloc, &profile, &estimate);
        if (result == 0) {
            assert_true(fail.live_bytes > 513 * sizeof(uint32_t)); /* the table */
            estimate_free(estimate);
            assert_int_equal(fail.live_bytes, 0);
            assert_int_equal(n, 3);
            return;
        }
        assert_int_equal(result, -ERR_NOMEM);
        assert_null(estimate);
        assert_int_equal(fail.live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_follow_libm),
        cmocka_unit_test(test_small_sections),
        cmocka_unit_test(test_empty_and_full_filters),
        cmocka_unit_test(test_sections_add_up),
        cmocka_unit_test(test_estimates_labels),
        cmocka_unit_test(test_similarity_edges),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
