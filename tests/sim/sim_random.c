/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_random.h"

#include <stddef.h>

#include <sodium.h>

#include "tests/lib/rng.h"
#include "tests/sim/sim_check.h"

static _Thread_local struct rng numbers;

static const char *source_name(void)
{
    return "simulated";
}

static uint32_t source_random(void)
{
    return (uint32_t)rng_next(&numbers);
}

static void source_buf(void *const buf, const size_t size)
{
    uint8_t *at = buf;

    for (size_t i = 0; i < size; i++) {
        at[i] = (uint8_t)source_random();
    }
}

static struct randombytes_implementation source = {
    .implementation_name = source_name, .random = source_random, .buf = source_buf};

void sim_random_init(void)
{
    SIM_CHECK(randombytes_set_implementation(&source) == 0 && sodium_init() >= 0);
}

void sim_random_seed(uint64_t seed)
{
    numbers.state = seed;
}
