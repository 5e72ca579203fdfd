/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rivals: two functions that the list is compared with: a plain sum, which measures the read
 * bandwidth of the machine, and a simple loop, which counts the bits of one filter after another.
 */
#pragma once

#include "core/index/engine.h"

/* Returns the sum of many words, computed with the widest registers of the machine. */
uint64_t rivals_sum(const uint64_t *words, size_t count);

enum { RIVALS_FILTER_WORDS = 8 };

/*
 * Messages with filters of 512 bits. The words of a filter are together, one filter after another.
 */
struct rivals_messages {
    const uint64_t *filters; /* RIVALS_FILTER_WORDS each */
    const uint16_t *cardinalities;
    const struct index_item *items;
    size_t count;
};

/*
 * Offers the messages to the probe. Counts bits with POPCNT, 64 bits at a time. Like the list,
 * skips messages that cannot be among the k nearest, by the same comparison of integers.
 */
void rivals_count(const struct rivals_messages *messages, struct index_probe *probe);
