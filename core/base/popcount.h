/* SPDX-License-Identifier: Apache-2.0 */
/*
 * popcount: counts the set bits of one word in plain C. A compiler may turn popcount_word into one
 * instruction if the build may use an instruction that counts bits. A build for the x86-64 baseline
 * may not use such an instruction.
 */
#pragma once

#include <stdint.h>

/* Returns a word whose byte b is the number of set bits, 0 to 8, in byte b of `word`. */
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
