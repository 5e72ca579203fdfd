/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec: loads and stores of vectors, for any vector width. The file of each table includes this
 * header after it has defined its vector:
 *
 *   vec         an unsigned 64-bit word, or a GCC vector of VEC_WORDS such words
 *   VEC_WORDS   divides BITS_BLOCK and BITS_LANE_WORDS
 *
 * The operators of C apply to each word of a vector.
 */
#pragma once

#include <string.h>

static inline vec vec_load(const uint64_t *words)
{
    vec x;

    memcpy(&x, words, sizeof(x));
    return x;
}

static inline void vec_store(uint64_t *words, vec x)
{
    memcpy(words, &x, sizeof(x));
}
