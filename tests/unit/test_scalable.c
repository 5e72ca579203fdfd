/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/scalable.h"

#include <math.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { FRAME = 64 * 1024, RATE_PPM = 1000, ID_BYTES = 16 };

/* The n-th id of a family; families do not meet. */
static void make_id(uint64_t family, uint64_t n, uint8_t *out)
{
    memcpy(out, &family, 8);
    memcpy(out + 8, &n, 8);
}

static int add(struct scalable *scalable, uint64_t family, uint64_t n)
{
    uint8_t id[ID_BYTES];

    make_id(family, n, id);
    return scalable_add(scalable, id, sizeof id);
}

static bool has(const struct scalable *scalable, uint64_t family, uint64_t n)
{
    uint8_t id[ID_BYTES];

    make_id(family, n, id);
    return scalable_test(scalable, id, sizeof id);
}

/*
 * It grows without planning, never forgets, keeps its bound at every size (measured, with six
 * standard deviations), and a frame of 64 KiB holds about 16,000 ids at 0.001.
 */
TEST(test_bound_at_every_size)
{
    enum { PROBES = 1000000 };
    struct scalable scalable;
    struct rng rng;
    uint64_t added = 0;

    rng_init(&rng);
    const uint64_t family = rng_next(&rng);
    scalable_init(&scalable, alloc_system(), RATE_PPM, rng_next(&rng), FRAME);
    assert_false(has(&scalable, family, 0));
    for (uint64_t size = 64; size <= 1 << 14; size *= 2) {
        uint64_t wrong = 0;

        for (; added < size - 64; added++) { /* just before the next slice: the fullest it gets */
            assert_int_equal(add(&scalable, family, added), 0);
        }
        for (uint64_t n = 0; n < added; n++) {
            assert_true(has(&scalable, family, n));
        }
        for (uint64_t n = 0; n < PROBES; n++) {
            wrong += has(&scalable, family + 1, n) ? 1 : 0;
        }
        print_message("%5u ids, %2u slices, %5zu bytes: %4u of a million wrong\n", (unsigned)added,
                      (unsigned)scalable.slice_count, scalable.bytes, (unsigned)wrong);
        assert_true((double)wrong <= 1000 + 6 * sqrt(1000));
    }
    assert_in_range(scalable_capacity(RATE_PPM, FRAME), 16000, 17000);
    scalable_deinit(&scalable);
}

/* A full one refuses, keeps what it has, and never exceeds its bytes. */
TEST(test_cap)
{
    static const size_t caps[] = {0, 1, 100, 500, 5000};

    for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
        struct scalable scalable;
        uint64_t n = 0;

        scalable_init(&scalable, alloc_system(), RATE_PPM, 7, caps[c]);
        while (add(&scalable, 1, n) == 0) {
            n++;
        }
        assert_int_equal(add(&scalable, 1, n), SCALABLE_FULL);
        assert_true(scalable.bytes <= caps[c]);
        assert_true(scalable.count == scalable_capacity(RATE_PPM, caps[c]));
        for (uint64_t i = 0; i < n; i++) {
            assert_true(has(&scalable, 1, i));
            assert_int_equal(add(&scalable, 1, i), 0); /* known: takes no room */
        }
        assert_true(scalable.count == scalable_capacity(RATE_PPM, caps[c]));
        scalable_deinit(&scalable);
    }
}

/* Other rates: each gives what it promises, or says at once that it is full. */
TEST(test_rates)
{
    static const uint32_t rates[] = {1, 10, 100000, SCALABLE_RATE_MAX_PPM};

    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct scalable scalable;
        uint64_t wrong = 0;

        scalable_init(&scalable, alloc_system(), rates[r], 11, FRAME);
        for (uint64_t n = 0; n < 500; n++) {
            assert_int_equal(add(&scalable, 1, n), 0);
        }
        for (uint64_t n = 0; n < 200000; n++) {
            wrong += has(&scalable, 2, n) ? 1 : 0;
        }
        double expected = rates[r] / 1e6 * 200000;
        assert_true((double)wrong <= expected + 6 * sqrt(expected) + 1);
        for (uint32_t i = 0; i < scalable.slice_count; i++) {
            assert_in_range(scalable.slices[i].hashes, 1, SCALABLE_HASHES_MAX);
        }
        scalable_deinit(&scalable);
    }
}

/* Slices of several seeds, as a peer may send them; without any there is nothing. */
TEST(test_foreign_slices)
{
    struct scalable parts[2];
    struct scalable_slice slices[2];
    uint8_t id[ID_BYTES];

    assert_false(scalable_slices_have(NULL, 0, "x", 1, NULL));
    for (uint64_t p = 0; p < 2; p++) {
        scalable_init(&parts[p], alloc_system(), RATE_PPM, p, FRAME);
        assert_int_equal(add(&parts[p], p, 4), 0);
        slices[p] = parts[p].slices[0];
    }
    for (uint64_t p = 0; p < 2; p++) {
        make_id(p, 4, id);
        assert_true(scalable_slices_have(slices, 2, id, sizeof id, NULL));
        make_id(p, 5, id);
        assert_false(scalable_slices_have(slices, 2, id, sizeof id, NULL));
    }
    const uint8_t one = 0xff;
    const struct scalable_slice full = {
        .bits = &one, .byte_count = 1, .hashes = SCALABLE_HASHES_MAX};
    assert_true(scalable_slices_have(&full, 1, "anything", 8, NULL));
    scalable_deinit(&parts[0]);
    scalable_deinit(&parts[1]);
}

/* Whichever allocation fails: -ERR_NOMEM, nothing has changed, and it goes on after. */
TEST(test_no_memory)
{
    struct fail_alloc fail;
    struct scalable scalable;
    uint32_t failed = 0;

    fail_alloc_init(&fail);
    scalable_init(&scalable, &fail.alloc, RATE_PPM, 3, FRAME);
    for (uint64_t n = 0; n < 1000; n++) {
        fail_alloc_arm(&fail, 1);
        int rc = add(&scalable, 1, n);
        if (rc != 0) {
            assert_int_equal(rc, -ERR_NOMEM);
            assert_false(has(&scalable, 1, n));
            failed++;
            fail_alloc_arm(&fail, 0);
            assert_int_equal(add(&scalable, 1, n), 0);
        }
    }
    assert_int_equal(failed, scalable.slice_count);
    scalable_deinit(&scalable);
    assert_int_equal(fail.live_blocks, 0);
}
