/* SPDX-License-Identifier: Apache-2.0 */
/* An arena hands out memory for anything, never more than its budget, and leaks none. */
#include <stdalign.h>

#include "proto/arena.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

enum { PIECES = 400 };

TEST(test_pieces_are_aligned_and_do_not_overlap)
{
    struct fail_alloc memory;
    struct arena arena;
    uint8_t *pieces[PIECES];

    fail_alloc_init(&memory);
    arena_init(&arena, &memory.alloc, 1 << 20);
    assert_int_equal(memory.requests, 0); /* nothing before it is needed */
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = arena_take(&arena, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(pieces[i][j], i & 0xff);
        }
    }
    assert_true(arena.used_bytes <= arena.held_bytes);
    assert_int_equal(arena.held_bytes, memory.live_bytes);
    arena_deinit(&arena);
    assert_int_equal(memory.live_bytes, 0);
    assert_int_equal(memory.live_blocks, 0);
}

TEST(test_budget_is_never_exceeded)
{
    for (size_t limit = 0; limit < 20000; limit += 997) {
        struct fail_alloc memory;
        struct arena arena;
        size_t taken = 0;

        fail_alloc_init(&memory);
        arena_init(&arena, &memory.alloc, limit);
        while (arena_take(&arena, 48) != NULL) {
            taken += 48;
            assert_true(arena.held_bytes <= limit);
            assert_true(taken <= limit);
        }
        assert_true(arena.refused);
        assert_true(memory.live_bytes <= limit);
        arena_deinit(&arena);
        assert_int_equal(memory.live_bytes, 0);
    }
}

/* A piece that fits the budget is given although a doubled block would not fit. */
TEST(test_budget_can_be_used_up)
{
    struct arena arena;

    arena_init(&arena, alloc_system(), 100000);
    assert_non_null(arena_take(&arena, 40000));
    assert_non_null(arena_take(&arena, 50000));
    assert_false(arena.refused);
    assert_null(arena_take(&arena, 50000));
    assert_true(arena.refused);
    arena_deinit(&arena);
}

TEST(test_reset_keeps_one_small_block)
{
    struct fail_alloc memory;
    struct arena arena;

    fail_alloc_init(&memory);
    arena_init(&arena, &memory.alloc, 1 << 22);
    for (size_t i = 0; i < 100; i++) {
        assert_non_null(arena_take(&arena, 5000));
    }
    assert_non_null(arena_take(&arena, 1 << 20));
    arena_reset(&arena);
    assert_int_equal(memory.live_blocks, 1);
    assert_true(memory.live_bytes <= 64 * 1024);
    assert_int_equal(arena.used_bytes, 0);
    assert_int_equal(arena.held_bytes, memory.live_bytes);

    size_t requests = memory.requests;
    assert_non_null(arena_take(&arena, 1000));
    assert_int_equal(memory.requests, requests); /* the next message costs no allocation */
    arena_deinit(&arena);
    assert_int_equal(memory.live_bytes, 0);
}

/* The block that a reset keeps has nothing of the message before: no text that has gone. */
TEST(test_reset_overwrites)
{
    struct arena arena;

    arena_init(&arena, alloc_system(), 1 << 20);
    uint8_t *room = arena_take(&arena, 3000);
    memset(room, 0xff, 3000);
    arena_reset(&arena);
    assert_ptr_equal(arena_take(&arena, 3000), room);
    for (size_t i = 0; i < 3000; i++) {
        assert_int_equal(room[i], 0);
    }
    arena_deinit(&arena);
}

TEST(test_zeroed_memory_and_overflow)
{
    struct arena arena;
    uint8_t *room;

    arena_init(&arena, alloc_system(), 1 << 20);
    memset(arena_take(&arena, 3000), 0xff, 3000);
    arena_reset(&arena);
    room = arena_take_zeroed(&arena, 30, 100);
    assert_non_null(room);
    for (size_t i = 0; i < 3000; i++) {
        assert_int_equal(room[i], 0);
    }
    assert_null(arena_take_zeroed(&arena, SIZE_MAX / 2, 3));
    assert_null(arena_take(&arena, SIZE_MAX));
    assert_true(arena.refused);
    assert_non_null(arena_take_zeroed(&arena, 0, 5));
    arena_reset(&arena);
    assert_false(arena.refused);
    arena_deinit(&arena);
}

/* Memory running out is not the budget's refusal, and what was taken before stays. */
TEST(test_failed_allocation)
{
    struct fail_alloc memory;
    struct arena arena;
    char *kept;

    fail_alloc_init(&memory);
    fail_alloc_arm(&memory, 2);
    arena_init(&arena, &memory.alloc, 1 << 20);
    kept = arena_take(&arena, 4);
    assert_non_null(kept);
    memcpy(kept, "abc", 4);
    assert_null(arena_take(&arena, 10000));
    assert_false(arena.refused);
    assert_string_equal(kept, "abc");
    assert_non_null(arena_take(&arena, 10000));
    arena_deinit(&arena);
    assert_int_equal(memory.live_bytes, 0);
}

TEST(test_zeroed_one_can_be_given_back)
{
    struct arena arena = {0};

    arena_deinit(&arena);
    arena_reset(&arena);
}
