/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits_tables: the tables that bits.c chooses from, one a file. Included by those files only. NEON
 * exists in builds for AArch64, AVX2 and AVX-512 in those for x86-64: they may be called where
 * cpu.h agrees.
 */
#ifndef CORE_BITS_TABLES_H
#define CORE_BITS_TABLES_H

#include "core/bits/bits.h"

/* `positions` of tables that have none of their own. */
size_t bits_positions(const uint64_t *filter, size_t words, uint16_t *out);

extern const struct bits_kernels bits_scalar;
extern const struct bits_kernels bits_neon;
extern const struct bits_kernels bits_avx2;
extern const struct bits_kernels bits_avx512;

#endif
