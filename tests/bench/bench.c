/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int bench_fail(const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    fprintf(stderr, "hearsay-bench: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    return -1;
}

void bench_raise_descriptors(uint64_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is missing shows when connecting */
    }
}

const struct bits_kernels *bench_kernels(void)
{
    enum bits_level level = BITS_BEST;
    const char *wanted = getenv("HEARSAY_CPU");

    if (wanted != NULL && bits_level_parse(wanted, &level) != 0) {
        (void)bench_fail("HEARSAY_CPU is none of " BITS_LEVEL_NAMES);
        return NULL;
    }
    return bits_select(level);
}

int bench_index_new(const struct index_engine *engine, const struct profile *profile,
                    const struct bits_kernels *kernels, struct index **out)
{
    const struct index_options options = {
        .alloc = alloc_system(),
        .profile = profile,
        .kernels = kernels,
        .hash_seed = 4711,
    };

    return index_new(engine, &options, out) == 0 ? 0 : bench_fail("memory is short");
}

int bench_profile(const char *text, struct profile *out)
{
    const char *reason = NULL;

    return profile_parse(text, strlen(text), out, &reason) == 0
               ? 0
               : bench_fail("profile %s: %s", text, reason);
}
