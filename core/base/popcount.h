/* SPDX-License-Identifier: Apache-2.0 */
/*
 * popcount: counts the set bits of one word in plain C, for parts of core that have no table of
 * kernels (core/bits/bits.h). Compilers turn the pattern into one instruction where the machine has
 * one.
 */
#ifndef CORE_BASE_POPCOUNT_H
#define CORE_BASE_POPCOUNT_H

#include <stdint.h>

/* Byte b of the result is the number of set bits of byte b of `word`, 0 to 8. */
static inline uint64_t popcount_bytes(uint64_t word)
{
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/* The number of set bits of `word`, 0 to 64. */
static inline uint32_t popcount_word(uint64_t word)
{
    return (uint32_t)((popcount_bytes(word) * UINT64_C(0x0101010101010101)) >> 56);
}

#endif
