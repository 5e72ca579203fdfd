/* SPDX-License-Identifier: Apache-2.0 */
/*
 * year_outside: see year.h. Functions in the place of those of the daemon, of its store and of
 * libuv, by the linker's --wrap.
 */
#include "tests/sim/year.h"

#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

#include <sqlite3.h>
#include <uv.h>

enum { THREADS = 2 /* of the store: the writer and the reader */ };

static struct {
    atomic_int_least64_t bytes;
    atomic_int_least64_t peak;
    atomic_uint_least64_t lines;
    atomic_uint_least64_t clock_ns;
    atomic_int idle; /* threads of the store that wait for work */
} outside;

const struct alloc *__wrap_alloc_system(void);
uint64_t __wrap_uv_hrtime(void);
void __real_uv_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex);
void __wrap_uv_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex);
int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout);
void __wrap_log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void *count_and_resize(void *context, void *block, size_t bytes)
{
    const int64_t before = block != NULL ? (int64_t)malloc_usable_size(block) : 0;
    void *after = NULL;
    (void)context;

    if (bytes == 0) {
        free(block);
    } else {
        after = realloc(block, bytes);
        SIM_CHECK(after != NULL);
    }
    const int64_t change = (after != NULL ? (int64_t)malloc_usable_size(after) : 0) - before;
    const int64_t now = atomic_fetch_add(&outside.bytes, change) + change;
    if (now > atomic_load(&outside.peak)) {
        atomic_store(&outside.peak, now);
    }
    return after;
}

const struct alloc *__wrap_alloc_system(void)
{
    static const struct alloc counting = {.resize = count_and_resize};
    return &counting;
}

uint64_t __wrap_uv_hrtime(void)
{
    return atomic_load(&outside.clock_ns);
}

void __wrap_uv_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex)
{
    (void)atomic_fetch_add(&outside.idle, 1);
    __real_uv_cond_wait(cond, mutex);
    (void)atomic_fetch_sub(&outside.idle, 1);
}

/* Simulated time passes only while the threads wait; the next operation wakes them. */
int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout)
{
    (void)timeout;
    __wrap_uv_cond_wait(cond, mutex);
    return 0;
}

void __wrap_log_write(enum log_level level, const char *format, ...)
{
    va_list arguments;

    if (level > LOG_LEVEL_INFO) {
        return;
    }
    (void)atomic_fetch_add(&outside.lines, 1);
    if (getenv("HEARSAY_YEAR_LOG") != NULL) {
        printf("day %3" PRId64 " %02" PRIu32 ":%02" PRIu32 " %s: ",
               (machine_now_ms() - YEAR_BEGINS_MS) / DAY_MS + 1,
               hours_minute(machine_now_ms()) / 60, hours_minute(machine_now_ms()) % 60,
               log_level_name(level));
        va_start(arguments, format);
        (void)vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
    }
}

/* --- what the machine asks of it -------------------------------------------------------------- */

void outside_rest(void)
{
    while (atomic_load(&outside.idle) < THREADS) {
        (void)sched_yield();
    }
}

void outside_set_clock(int64_t monotonic_ms)
{
    atomic_store(&outside.clock_ns, (uint64_t)monotonic_ms * 1000000);
}

uint64_t machine_lines(void)
{
    return atomic_load(&outside.lines);
}

int64_t machine_memory_bytes(void)
{
    return atomic_load(&outside.bytes) + sqlite3_memory_used();
}

int64_t machine_memory_peak(void)
{
    return atomic_exchange(&outside.peak, atomic_load(&outside.bytes)) +
           sqlite3_memory_highwater(1);
}

/* --- what was found --------------------------------------------------------------------------- */

struct sim_position sim_position;

void sim_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(stderr, "%s:%d: on day %" PRId64 ", %02" PRIu32 ":%02" PRIu32 " (%s): ", file,
                  line, (machine_now_ms() - YEAR_BEGINS_MS) / DAY_MS + 1,
                  hours_minute(machine_now_ms()) / 60, hours_minute(machine_now_ms()) % 60,
                  sim_position.doing != NULL ? sim_position.doing : "");
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "\nHEARSAY_SEED=%" PRIu64 " runs this year again\n", sim_position.seed);
    abort();
}
