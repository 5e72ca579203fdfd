/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the tables of kernels, one in each file. bits.c chooses among these tables. Only bits.c
 * and the files of the tables include this header. Builds for AArch64 have the NEON table; builds
 * for x86-64 have the AVX2 and AVX-512 tables. A table may be used only if cpu.h says that the
 * machine can run it.
 */
#ifndef CORE_BITS_TABLES_H
#define CORE_BITS_TABLES_H

#include "core/bits/bits.h"

/* The kernel `positions` for all tables that have no faster one. */
size_t bits_positions(const uint64_t *filter, size_t words, uint16_t *out);

extern const struct bits_kernels bits_scalar;
extern const struct bits_kernels bits_neon;
extern const struct bits_kernels bits_avx2;
extern const struct bits_kernels bits_avx512;

#endif
