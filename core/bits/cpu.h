/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu: which instruction sets may be used: the processor has them, and the operating system saves
 * their registers. Asked once, when a table of kernels is chosen.
 */
#ifndef CORE_BITS_CPU_H
#define CORE_BITS_CPU_H

#include <stdbool.h>

bool cpu_has_avx2(void);   /* with POPCNT */
bool cpu_has_avx512(void); /* AVX-512F with BW, VBMI2, VPOPCNTDQ */

#endif
