/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_standing: the standing queries of a load, and what they should be told. How many of them a
 * deposit fits is counted here anew, from the filters, so that a match that is missing, or one too
 * many, shows.
 */
#ifndef TESTS_BENCH_LOAD_STANDING_H
#define TESTS_BENCH_LOAD_STANDING_H

#include <stddef.h>
#include <stdint.h>

#include "tests/bench/workload.h"

enum { LOAD_STANDING_DISTANCE_PPM = 800000 }; /* of contexts of the same place, nearly always */

struct load_standing {
    uint64_t seed;
    size_t count;
    size_t filter_words;
    uint64_t *filters; /* count * filter_words; owned */
};

/* `count` of them, 0 for none, of contexts of their own. 0, or -1: it is said. */
int load_standing_init(struct load_standing *standing, uint64_t seed, size_t count);
void load_standing_deinit(struct load_standing *standing); /* a zeroed one is fine */

/* A frame for each that begins it, with request ids from 1 on. 0 or -1; frames_deinit in any case.
 */
int load_standing_make_watches(const struct load_standing *standing, struct frames *out);

/* How many a message fits. O(count). */
uint32_t load_standing_count_fitting(const struct load_standing *standing,
                                     const struct workload_message *message);

#endif
