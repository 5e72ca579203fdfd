/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/filter/bloom.h"

void rng_init(struct rng *rng)
{
    const char *given = getenv("HEARSAY_SEED");
    struct timespec now = {0};

    if (given != NULL && *given != '\0') {
        rng->state = strtoull(given, NULL, 0);
    } else {
        (void)timespec_get(&now, TIME_UTC);
        rng->state = (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    }
    printf("HEARSAY_SEED=%" PRIu64 "\n", rng->state);
    (void)fflush(stdout); /* so that it is there after a crash */
}

bool rng_is_brief(void)
{
    return getenv("HEARSAY_TEST_BRIEF") != NULL;
}

/* SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014. */
uint64_t rng_next(struct rng *rng)
{
    uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)(((rng_next(rng) >> 32) * bound) >> 32);
}

bool rng_chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

void rng_filter(struct rng *rng, uint32_t m, uint32_t percent, uint64_t *out_filter)
{
    memset(out_filter, 0, bloom_words(m) * sizeof *out_filter);
    for (uint32_t p = 0; p < m; p++) {
        if (rng_chance(rng, percent)) {
            bloom_set(out_filter, p);
        }
    }
}
