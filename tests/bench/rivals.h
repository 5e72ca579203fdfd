/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rivals: what the list is measured against. The machine's read bandwidth, as a plain sum; and the
 * loop that one writes first, which counts the bits of one filter after another.
 */
#ifndef TESTS_BENCH_RIVALS_H
#define TESTS_BENCH_RIVALS_H

#include <stddef.h>
#include <stdint.h>

#include "core/index/engine.h"

/* The sum of many words, with the widest registers that the machine has. */
uint64_t rivals_sum(const uint64_t *words, size_t count);

enum { RIVALS_FILTER_WORDS = 8 };

/* Messages with filters of 512 bits, each in one piece, one after another. */
struct rivals_messages {
    const uint64_t *filters; /* RIVALS_FILTER_WORDS each */
    const uint16_t *cardinalities;
    const struct index_item *items;
    size_t count;
};

/*
 * Offers the messages to the probe, 64 bits of POPCNT at a time, with the bounds of the list: what
 * cannot be among the k best is left out by the same compare of whole numbers.
 */
void rivals_count(const struct rivals_messages *messages, struct index_probe *probe);

#endif
