/* SPDX-License-Identifier: Apache-2.0 */
/* kernels: a test once with each table of kernels that this machine has. */
#pragma once

#include "core/bits/bits.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

static inline void kernels_each(void (*check)(const struct bits_kernels *, struct rng *))
{
    struct rng rng;

    rng_init(&rng);
    for (int level = BITS_SCALAR; level <= BITS_AVX512; level++) {
        const struct bits_kernels *kernels = bits_table((enum bits_level)level);

        if (kernels == NULL) {
            printf("kernels of level %d: not here, not tested\n", level);
        } else {
            printf("%s\n", kernels->name);
            check(kernels, &rng);
        }
    }
}

/* clang-format off */
#define KERNELS_TEST(name, check) TEST(name) { kernels_each(check); }
/* clang-format on */
