/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the daemon's parts run in this process on the same messages, to learn what each of them
 * takes of the daemon's whole.
 */
#ifndef TESTS_BENCH_MODEL_H
#define TESTS_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_index {
    double bytes;   /* as the index counts them */
    double filters; /* of bytes: the filters themselves */
    double items;   /* of bytes: ids, times, reach, sizes, cardinalities */
    double seconds; /* for inserting all */
};

/* The index over messages 0 .. count - 1 of `seed`, as the daemon has it: inserted as deposits are,
 * or loaded in bulk as at a start. 0 or -1. */
int model_index(uint64_t seed, size_t count, bool in_bulk, struct model_index *out);

/* Bytes in the payload cache after it was offered the same messages. 0 or -1. */
int model_cache(uint64_t seed, size_t count, uint64_t limit_bytes, double *out_bytes);

#endif
