/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the tables of kernels. Each table is in the file of its name, and bits.c chooses among
 * these tables. Builds for AArch64 have the NEON table; builds for x86-64 have the AVX2 and AVX-512
 * tables; every build has the scalar table. Code may use the AVX2 and AVX-512 tables only if
 * cpu_has_avx2 and cpu_has_avx512 say that the machine can run them.
 */
#pragma once

#include "core/bits/bits.h"

#if defined(__GNUC__)
#define BITS_INLINE inline __attribute__((always_inline))
#else
#define BITS_INLINE inline
#endif

/* What `reaching_phi` (rows.h) needs beside a block. Only with bits_scan.phi. */
struct phi_test {
    const struct bits_phi *phi;
    size_t stride; /* as in bits_scan */
    struct bits_factor least;
};

/* The sums of struct bits_phi, before they are divided. */
static inline void phi_sums(const struct bits_phi *phi, const uint32_t *restrict overlaps,
                            const uint16_t *cardinalities, size_t stride,
                            int32_t *restrict out_shared, int32_t *restrict out_spread)
{
    int32_t first[BITS_BLOCK];

    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        out_shared[lane] = (int32_t)(overlaps[lane] << BITS_SIZED_SHIFT) + phi->slack;
        out_spread[lane] = 0;
        first[lane] = cardinalities[lane];
    }
    for (uint32_t s = phi->count; s-- > 0;) {
        const uint16_t *counts = cardinalities + s * stride;
        int32_t chance = phi->sections[s].chance;
        int32_t loss = phi->sections[s].loss;
        int32_t whole = phi->sections[s].whole;

        for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
            int32_t set = s > 0 ? counts[lane] : first[lane];

            first[lane] -= set;
            out_shared[lane] -= set * chance;
            out_spread[lane] += set * (whole - set * loss);
        }
    }
}

/* The kernel `positions` for all tables that have no faster one. */
size_t bits_positions(const uint64_t *filter, size_t words, uint16_t *out);

extern const struct bits_kernels bits_scalar;
extern const struct bits_kernels bits_neon;
extern const struct bits_kernels bits_avx2;
extern const struct bits_kernels bits_avx512;

/* --- cpu -------------------------------------------------------------------------------------- */

/*
 * Tells which instruction sets this machine can run. The processor must have the instructions,
 * and the operating system must save the registers that the instructions use. Builds for other
 * processors than x86-64 return false.
 */

bool cpu_has_avx2(void);   /* with POPCNT */
bool cpu_has_avx512(void); /* AVX-512F with BW, VBMI2, VPOPCNTDQ */
