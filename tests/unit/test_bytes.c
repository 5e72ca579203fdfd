/* SPDX-License-Identifier: Apache-2.0 */
/* A row of bytes keeps what was appended, whatever happens to memory, and gives it all back. */
#include "core/base/err.h"
#include "proto/bytes.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

TEST(test_appended_bytes_stay_in_order)
{
    struct fail_alloc memory;
    struct bytes bytes;

    fail_alloc_init(&memory);
    bytes_init(&bytes, &memory.alloc);
    for (size_t i = 0; i < 5000; i++) {
        const uint8_t byte = (uint8_t)(i * 7);

        assert_int_equal(bytes_append(&bytes, &byte, 1), 0);
    }
    assert_int_equal(bytes.count, 5000);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(bytes.data[i], (uint8_t)(i * 7));
    }
    assert_true(memory.requests < 10); /* it doubles: O(1) a byte */
    bytes_deinit(&bytes);
    assert_int_equal(memory.live_bytes, 0);
    assert_int_equal(memory.live_blocks, 0);
}

TEST(test_reserve_keeps_count_and_contents)
{
    struct bytes bytes;
    uint8_t *room;

    bytes_init(&bytes, alloc_system());
    assert_int_equal(bytes_append(&bytes, "abc", 3), 0);
    room = bytes_reserve(&bytes, 100000);
    assert_non_null(room);
    assert_ptr_equal(room, bytes.data + 3);
    assert_int_equal(bytes.count, 3);
    memset(room, 'x', 100000);
    assert_memory_equal(bytes.data, "abc", 3);
    bytes_deinit(&bytes);
}

TEST(test_consume_from_the_front)
{
    struct fail_alloc memory;
    struct bytes bytes;

    fail_alloc_init(&memory);
    bytes_init(&bytes, &memory.alloc);
    assert_int_equal(bytes_append(&bytes, "abcdef", 6), 0);
    bytes_consume(&bytes, 0);
    bytes_consume(&bytes, 2);
    assert_int_equal(bytes.count, 4);
    assert_memory_equal(bytes.data, "cdef", 4);
    bytes_consume(&bytes, 4);
    assert_int_equal(bytes.count, 0);
    assert_int_equal(memory.live_bytes, 0); /* nothing left: memory given back */
    assert_int_equal(bytes_append(&bytes, "g", 1), 0);
    bytes_deinit(&bytes);
    assert_int_equal(memory.live_bytes, 0);
}

TEST(test_failed_growth_changes_nothing)
{
    struct fail_alloc memory;
    struct bytes bytes;

    fail_alloc_init(&memory);
    fail_alloc_arm(&memory, 2);
    bytes_init(&bytes, &memory.alloc);
    assert_int_equal(bytes_append(&bytes, "abc", 3), 0);
    assert_null(bytes_reserve(&bytes, 5000));
    assert_int_equal(bytes.count, 3);
    assert_memory_equal(bytes.data, "abc", 3);
    fail_alloc_arm(&memory, 1);
    assert_int_equal(bytes_append(&bytes, (const uint8_t[1000]){0}, 1000), -ERR_NOMEM);
    assert_int_equal(bytes.count, 3);
    assert_null(bytes_reserve(&bytes, SIZE_MAX - 1)); /* the sum would overflow */
    bytes_deinit(&bytes);
    assert_int_equal(memory.live_bytes, 0);
}

TEST(test_zeroed_one_can_be_given_back)
{
    struct bytes bytes = {0};

    bytes_deinit(&bytes);
    assert_null(bytes.data);
}
