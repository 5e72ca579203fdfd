/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_size: the bytes that fields take on the wire, for the sizes that proto/generate.py makes.
 * Only the codec uses this file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The size of a varint: a byte for each 7 bits, and one for 0. */
static inline size_t size_of_varint(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

/* The size of a number field with its tag. */
static inline size_t size_of_number(size_t tag_bytes, uint64_t value)
{
    return tag_bytes + size_of_varint(value);
}

/* The size of a field of `bytes` bytes of data, with its tag and length. */
static inline size_t size_of_data(size_t tag_bytes, size_t bytes)
{
    return tag_bytes + size_of_varint(bytes) + bytes;
}
