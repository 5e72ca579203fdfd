/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

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
    const struct bits_kernels *kernels = bits_table(most);

    while (kernels == NULL) { /* ends at BITS_SCALAR */
        most--;
        kernels = bits_table(most);
    }
    return kernels;
}

int bits_level_parse(const char *name, enum bits_level *out_level)
{
    static const char *const names[] = {"scalar", "neon", "avx2", "avx512"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out_level = (enum bits_level)i;
            return 0;
        }
    }
    return BITS_UNKNOWN;
}
