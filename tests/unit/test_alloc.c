/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

TEST(test_multiply_finds_overflow)
{
    size_t out = 77;

    assert_true(alloc_multiply(0, SIZE_MAX, &out));
    assert_int_equal(out, 0);
    assert_true(alloc_multiply(SIZE_MAX, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_true(alloc_multiply(SIZE_MAX / 3, 3, &out));
    out = 77;
    assert_false(alloc_multiply(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(alloc_multiply(SIZE_MAX, SIZE_MAX, &out));
    assert_int_equal(out, 77); /* untouched on failure */
}

TEST(test_system_allocates_resizes_and_frees)
{
    const struct alloc *system = alloc_system();

    char *block = alloc_zeroed(system, 10, 3);
    assert_non_null(block);
    for (size_t i = 0; i < 30; i++) {
        assert_int_equal(block[i], 0);
    }
    memset(block, 'x', 30);
    block = alloc_resize(system, block, 1000, 3);
    assert_non_null(block);
    assert_int_equal(block[29], 'x');
    block = alloc_resize(system, block, 1, 3);
    assert_non_null(block);
    assert_int_equal(block[2], 'x');
    alloc_release(system, block);
    alloc_release(system, NULL);
}

TEST(test_nothing_and_too_much_are_refused)
{
    struct fail_alloc fail;

    fail_alloc_init(&fail);
    assert_null(alloc_array(&fail.alloc, 0, 8));
    assert_null(alloc_array(&fail.alloc, 8, 0));
    assert_null(alloc_array(&fail.alloc, SIZE_MAX / 4, 8));
    assert_null(alloc_zeroed(&fail.alloc, SIZE_MAX, 2));
    int *block = alloc_array(&fail.alloc, 4, sizeof *block);
    assert_non_null(block);
    assert_null(alloc_resize(&fail.alloc, block, SIZE_MAX / 2, sizeof *block));
    assert_null(alloc_resize(&fail.alloc, block, 0, sizeof *block));
    assert_int_equal(fail.live_blocks, 1);
    alloc_release(&fail.alloc, block);
    assert_int_equal(fail.live_bytes, 0);
}
