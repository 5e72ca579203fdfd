/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/count/count.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif

int count_can_measure(void)
{
#ifdef CALLGRIND_START_INSTRUMENTATION
    return 1;
#else
    return 0;
#endif
}

/* Without instrumentation valgrind runs the preparation several times faster. */
void count_begin(void)
{
#ifdef CALLGRIND_START_INSTRUMENTATION
    CALLGRIND_START_INSTRUMENTATION;
#endif
}

void count_end(uint64_t units)
{
#ifdef CALLGRIND_START_INSTRUMENTATION
    CALLGRIND_STOP_INSTRUMENTATION;
#endif
    printf("units %" PRIu64 "\n", units);
}

void count_fail(const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    fprintf(stderr, "hearsay-count: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(1);
}
