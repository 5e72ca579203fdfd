/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests load this library before the programs, and set the programs' clocks by the file that
 * HEARSAY_TEST_CLOCK names. The file has three numbers, and may change while the programs run:
 *
 *   seconds that are added to the wall clock
 *   1 if the kernel is to say that the wall clock is synchronised
 *   seconds that are added to the clocks that do not jump, such as CLOCK_MONOTONIC
 *
 * A timeout that a program waits for ends by the machine's clock. So a test that moves the clocks
 * then wakes the programs, by a request for example. A wait for a condition lasts as long as with
 * the right clocks, whether its end is a time of the wall clock (libnats) or of CLOCK_MONOTONIC
 * (libuv).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

enum { WALL_SECONDS, IS_SYNCHRONISED, STEADY_SECONDS, NUMBERS };

static const volatile int64_t *clock_file;

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv("HEARSAY_TEST_CLOCK");
    const int descriptor = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *map = descriptor < 0
                    ? MAP_FAILED
                    : mmap(NULL, NUMBERS * sizeof(int64_t), PROT_READ, MAP_SHARED, descriptor, 0);

    clock_file = map == MAP_FAILED ? NULL : map;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
}

/* The build hides symbols; these stand before libc's. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int (*next)(clockid_t, struct timespec *);

    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int rc = next(clock, out);
    if (rc == 0 && clock_file != NULL) {
        out->tv_sec += (time_t)clock_file[clock == CLOCK_REALTIME ? WALL_SECONDS : STEADY_SECONDS];
    }
    return rc;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict out,
                                                        void *restrict zone)
{
    struct timespec now;
    const int rc = clock_gettime(CLOCK_REALTIME, &now);

    (void)zone;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return rc;
}

__attribute__((visibility("default"))) int pthread_cond_timedwait(pthread_cond_t *condition,
                                                                  pthread_mutex_t *mutex,
                                                                  const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec real = *until;

    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    }
    if (clock_file != NULL) {
        const bool is_wall = real.tv_sec > 1000000000; /* no machine is up for so long */

        real.tv_sec -= (time_t)clock_file[is_wall ? WALL_SECONDS : STEADY_SECONDS];
    }
    return next(condition, mutex, &real);
}

__attribute__((visibility("default"))) int adjtimex(struct timex *state)
{
    const int synchronised = clock_file != NULL && clock_file[IS_SYNCHRONISED] == 1;

    state->status = synchronised ? 0 : STA_UNSYNC;
    state->maxerror = synchronised ? 0 : 16 * 1000000L;
    return synchronised ? TIME_OK : TIME_ERROR;
}
