/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bits/bits.h"

#include <string.h>

#include "core/bits/cpu.h"
#include "core/bits/tables.h"

const struct bits_kernels *bits_table(enum bits_level level)
{
    switch (level) {
    case BITS_SCALAR:
        return &bits_scalar;
#if defined(CORE_AARCH64)
    case BITS_NEON:
        return &bits_neon;
#endif
#if defined(CORE_X86_64)
    case BITS_AVX2:
        return cpu_has_avx2() ? &bits_avx2 : NULL;
    case BITS_AVX512:
        return cpu_has_avx512() ? &bits_avx512 : NULL;
#endif
    default: /* of another processor */
        return NULL;
    }
}

const struct bits_kernels *bits_select(enum bits_level most)
{
    static const enum bits_level best_first[] = {BITS_AVX512, BITS_AVX2, BITS_NEON};

    for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++) {
        const struct bits_kernels *kernels = bits_table(best_first[i]);

        if (best_first[i] <= most && kernels != NULL) {
            return kernels;
        }
    }
    return &bits_scalar;
}

int bits_level_parse(const char *name, enum bits_level *out_level)
{
    static const struct {
        const char *name;
        enum bits_level level;
    } names[] = {
        {"scalar", BITS_SCALAR}, {"neon", BITS_NEON}, {"avx2", BITS_AVX2}, {"avx512", BITS_AVX512}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i].name) == 0) {
            *out_level = names[i].level;
            return 0;
        }
    }
    return BITS_UNKNOWN;
}
