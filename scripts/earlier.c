/* SPDX-License-Identifier: Apache-2.0 */
/*
 * earlier: a clock that is behind by EARLIER_S seconds. scripts/play preloads it into hearsayd, so
 * that the sample messages have different ages.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_function(clockid_t clock, struct timespec *out_now);

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out_now)
{
    static clock_function *behind;
    const char *earlier = getenv("EARLIER_S");

    if (behind == NULL) {
        *(void **)&behind = dlsym(RTLD_NEXT, "clock_gettime");
    }
    int rc = behind(clock, out_now);
    if (rc == 0 && clock == CLOCK_REALTIME && earlier != NULL) {
        out_now->tv_sec -= atol(earlier);
    }
    return rc;
}
