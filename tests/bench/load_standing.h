/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_standing: the standing queries of a load, and the matches that they should get. This code
 * counts from the filters how many standing queries a deposit matches, so that a missing match or
 * one match too many is found.
 */
#pragma once

#include "tests/bench/workload.h"

enum { LOAD_STANDING_DISTANCE_PPM = 800000 }; /* of contexts of the same place, nearly always */

struct load_standing {
    uint64_t seed;
    size_t count;
    size_t filter_words;
    uint64_t *filters; /* count * filter_words; owned */
};

/*
 * Makes `count` standing queries, each with its own context; 0 makes none. Returns 0, or -1 after a
 * message on standard error.
 */
int load_standing_init(struct load_standing *standing, uint64_t seed, size_t count);
void load_standing_deinit(struct load_standing *standing); /* a zeroed one is fine */

/*
 * Makes a frame for each standing query that starts it, with request ids from 1 on. Returns 0 or
 * -1; call frames_deinit in both cases.
 */
int load_standing_make_watches(const struct load_standing *standing, struct frames *out);

/* How many a message fits. O(count). */
uint32_t load_standing_count_fitting(const struct load_standing *standing,
                                     const struct workload_message *message);
