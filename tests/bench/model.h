/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: runs the daemon's parts in this process with the same messages, to measure how much of the
 * daemon's memory and time each part takes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_index {
    double bytes;   /* as the index counts them */
    double filters; /* of bytes: the filters themselves */
    double items;   /* of bytes: ids, times, reach, sizes, cardinalities */
    double seconds; /* for inserting all */
};

/*
 * Makes the index of the messages 0 .. count - 1 of `seed`, as the daemon does: inserts one by one,
 * as deposits are, or in bulk, as at a start. Returns 0 or -1.
 */
int model_index(uint64_t seed, size_t count, bool in_bulk, struct model_index *out);

/*
 * Writes the bytes in the payload cache after the cache was offered the same messages. Returns 0 or
 * -1.
 */
int model_cache(uint64_t seed, size_t count, uint64_t limit_bytes, double *out_bytes);
