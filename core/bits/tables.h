/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the tables of kernels. Each table is in the file of its name, and bits.c chooses among
 * these tables. Builds for AArch64 have the NEON table; builds for x86-64 have the AVX2 and AVX-512
 * tables; every build has the scalar table. Code may use the AVX2 and AVX-512 tables only if cpu.h
 * says that the machine can run them.
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
