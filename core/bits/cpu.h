/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu: tells which instruction sets this machine can run. The processor must have the instructions,
 * and the operating system must save the registers that the instructions use. Builds for other
 * processors than x86-64 return false.
 */
#ifndef CORE_BITS_CPU_H
#define CORE_BITS_CPU_H

#include <stdbool.h>

bool cpu_has_avx2(void);   /* with POPCNT */
bool cpu_has_avx512(void); /* AVX-512F with BW, VBMI2, VPOPCNTDQ */

#endif
