/* SPDX-License-Identifier: Apache-2.0 */
/* sim_random: libsodium's random numbers in a simulation. They follow from a seed. */
#pragma once

#include <stdint.h>

/* Replaces libsodium's source of random numbers. Call it once, before libsodium is used. */
void sim_random_init(void);

/* Starts the numbers of this thread anew. Each other thread has numbers of its own, from seed 0. */
void sim_random_seed(uint64_t seed);
