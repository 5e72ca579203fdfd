/* SPDX-License-Identifier: Apache-2.0 */
/* sim_check: how a simulation ends that has found something: says where it was, and stops. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is being simulated, for the message: the world's seed, the step within it. */
struct sim_position {
    uint64_t seed;
    bool on_sqlite;
    uint32_t step;
    const char *doing;
};
extern struct sim_position sim_position;

void sim_fail(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#define SIM_CHECK(what)       ((what) ? (void)0 : sim_fail(__FILE__, __LINE__, "%s", #what))
#define SIM_EXPECT(what, ...) ((what) ? (void)0 : sim_fail(__FILE__, __LINE__, __VA_ARGS__))

/* Two numbers that should be the same. */
static inline void sim_equal(const char *file, int line, const char *what, int64_t got,
                             int64_t wanted)
{
    if (got != wanted) {
        sim_fail(file, line, "%s: it is %lld and not %lld", what, (long long)got,
                 (long long)wanted);
    }
}

#define SIM_EQUAL(got, wanted) \
    sim_equal(__FILE__, __LINE__, #got " = " #wanted, (int64_t)(got), (int64_t)(wanted))
