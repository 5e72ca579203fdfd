/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bits/tables.h"

#if defined(CORE_X86_64)

/*
 * The compiler's run-time support reads CPUID and XGETBV. The answer is false if the operating
 * system does not save the wide registers.
 */
bool cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
}

bool cpu_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vbmi2") != 0 &&
           __builtin_cpu_supports("avx512vpopcntdq") != 0;
}

#else

bool cpu_has_avx2(void)
{
    return false;
}

bool cpu_has_avx512(void)
{
    return false;
}

#endif
