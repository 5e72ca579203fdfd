/* SPDX-License-Identifier: Apache-2.0 */
/* least: the smaller and the larger one of two numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline int64_t least_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t least_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline size_t least_size(size_t a, size_t b)
{
    return a < b ? a : b;
}
