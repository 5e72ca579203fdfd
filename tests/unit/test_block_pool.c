/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks a pool keeps, which it hands out again, and that it never keeps more than it may. */
#include "daemon/system/block_pool.h"

#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

struct fixture {
    struct fail_alloc upstream;
    struct block_pool pool;
};

static int setup(void **state)
{
    static struct fixture fixture;

    fail_alloc_init(&fixture.upstream);
    block_pool_init(&fixture.pool, &fixture.upstream.alloc);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    block_pool_clear(&fixture->pool);
    assert_int_equal(fixture->pool.kept_bytes, 0);
    assert_int_equal(fixture->upstream.live_blocks, 0);
    return 0;
}

static uint8_t *take(struct fixture *fixture, size_t bytes)
{
    uint8_t *block = alloc_array(&fixture->pool.alloc, bytes, 1);

    assert_non_null(block);
    assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
    memset(block, 1, bytes);
    return block;
}

static void give(struct fixture *fixture, void *block)
{
    alloc_release(&fixture->pool.alloc, block);
    assert_true(fixture->pool.kept_bytes <= BLOCK_POOL_KEPT_BYTES);
}

TEST_OF(freed_block_is_handed_out_again, struct fixture *fixture, setup, teardown)
{
    uint8_t *first = take(fixture, 64 * 1024);

    give(fixture, first);
    for (size_t bytes = 32 * 1024; bytes <= 64 * 1024; bytes += 4096) {
        uint8_t *again = take(fixture, bytes);

        assert_ptr_equal(again, first);
        give(fixture, again);
    }
    assert_int_equal(fixture->upstream.requests, 1);
}

/* A connection may keep a short buffer for a long time, so it must not get a large block for it. */
TEST_OF(much_larger_block_is_not_handed_out, struct fixture *fixture, setup, teardown)
{
    uint8_t *large = take(fixture, 64 * 1024);

    give(fixture, large);
    uint8_t *small = take(fixture, 2048);
    assert_ptr_not_equal(small, large);
    give(fixture, small);
    assert_int_equal(fixture->upstream.live_blocks, 2);
}

TEST_OF(small_and_huge_blocks_are_not_kept, struct fixture *fixture, setup, teardown)
{
    give(fixture, take(fixture, BLOCK_POOL_BLOCK_MIN - 1));
    give(fixture, take(fixture, BLOCK_POOL_BLOCK_MAX + 1));
    assert_int_equal(fixture->upstream.live_blocks, 0);
    give(fixture, take(fixture, BLOCK_POOL_BLOCK_MIN));
    give(fixture, take(fixture, BLOCK_POOL_BLOCK_MAX));
    assert_int_equal(fixture->upstream.live_blocks, 2);
}

TEST_OF(what_is_kept_is_bounded, struct fixture *fixture, setup, teardown)
{
    enum { BLOCKS = 100, BYTES = 48 * 1024 };
    uint8_t *blocks[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = take(fixture, BYTES);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        give(fixture, blocks[i]);
    }
    assert_int_equal(fixture->upstream.live_blocks, BLOCK_POOL_KEPT_BYTES / BYTES);
    block_pool_clear(&fixture->pool);
    assert_int_equal(fixture->upstream.live_blocks, 0);
}

/* Whether the block grows into a kept block or not, it keeps its bytes. */
TEST_OF(resize_keeps_bytes, struct fixture *fixture, setup, teardown)
{
    give(fixture, take(fixture, 16 * 1024));
    uint8_t *block = take(fixture, 100);
    for (size_t bytes = 100; bytes < 1024 * 1024; bytes *= 3) {
        block = alloc_resize(&fixture->pool.alloc, block, bytes, 1);
        assert_non_null(block);
        memset(block + bytes / 3, 1, bytes - bytes / 3);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(block[i], 1);
        }
    }
    block = alloc_resize(&fixture->pool.alloc, block, 10, 1);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(block[i], 1);
    }
    give(fixture, block);
}

TEST_OF(failure_leaves_block_as_it_was, struct fixture *fixture, setup, teardown)
{
    uint8_t *block = take(fixture, 100);

    fail_alloc_arm(&fixture->upstream, 1);
    assert_null(alloc_resize(&fixture->pool.alloc, block, 5000, 1));
    fail_alloc_arm(&fixture->upstream, 0);
    assert_null(alloc_resize(&fixture->pool.alloc, block, SIZE_MAX, 1));
    assert_null(alloc_array(&fixture->pool.alloc, SIZE_MAX - 8, 1));
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(block[i], 1);
    }
    give(fixture, block);
}
