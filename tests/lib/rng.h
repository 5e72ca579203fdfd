/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng: numbers for random tests. A test prints the seed that it began with; the environment
 * variable HEARSAY_SEED (decimal, or 0x and hexadecimal) gives it back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* Seeds from HEARSAY_SEED, else from the clock, and prints the seed. */
void rng_init(struct rng *rng);

/* Whether a part of a test's random work is enough, as it takes very long where it runs:
 * HEARSAY_TEST_BRIEF is in the environment, as under valgrind and, for a few tests, sanitizers. */
bool rng_is_brief(void);

uint64_t rng_next(struct rng *rng);

/* 0 .. bound - 1; bound >= 1. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

/* True in `percent` of 100 cases. */
bool rng_chance(struct rng *rng, uint32_t percent);

/* Fills m bits, of which each is set in about `percent` of 100 cases; bits beyond m are zero. */
void rng_filter(struct rng *rng, uint32_t m, uint32_t percent, uint64_t *out_filter);
