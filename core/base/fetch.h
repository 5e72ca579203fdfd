/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: tells the processor which memory will be read soon. */
#pragma once

/* Begins to read the cache line of an address, which need not be valid. */
static inline void fetch_line(const void *address)
{
#if defined(__GNUC__)
    __builtin_prefetch(address);
    /* Compilers may take a function that does nothing else for one without an effect, and leave its
     * calls out: gcc 12 does. This line has no instruction, and prevents that. */
    __asm__ volatile("");
#else
    (void)address;
#endif
}
