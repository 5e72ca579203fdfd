/* SPDX-License-Identifier: Apache-2.0 */
/*
 * popcount: set bits of one word, in plain C. For the parts of core that have no table of kernels
 * at hand; compilers turn the pattern into one instruction where the target has it.
 */
#ifndef CORE_BASE_POPCOUNT_H
#define CORE_BASE_POPCOUNT_H

#include <stdint.h>

/* The set bits of each byte of `word`, in that byte (0 to 8). */
static inline uint64_t popcount_bytes(uint64_t word)
{
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

static inline uint32_t popcount_word(uint64_t word)
{
    return (uint32_t)((popcount_bytes(word) * UINT64_C(0x0101010101010101)) >> 56);
}

#endif
