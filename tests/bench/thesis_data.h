/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_data: the filters of the thesis's experiments: 50 random words of a dictionary each.
 *
 * Hashes are chained as there: the first of a word is seeded with 0, each further one with the
 * value before it; bit = value mod m. (XXH3-64 here; the thesis's program hashes the string object
 * where it should hash the text, which is not repeated.) The same seed gives the same filters
 * everywhere, and the first N of many are the same as N.
 */
#ifndef TESTS_BENCH_THESIS_DATA_H
#define TESTS_BENCH_THESIS_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "tests/bench/filters.h"

enum { THESIS_WORDS_A_FILTER = 50 };

struct thesis_data {
    uint32_t bits;
    uint32_t hashes;
    size_t words;      /* 64-bit words of a filter */
    uint64_t *queries; /* one after another, owned */
    size_t query_count;
    uint64_t *stored;
    size_t stored_count;
};

/* Sets the bits of one text; `hashes` of them, some perhaps the same. */
void thesis_data_add(uint64_t *filter, uint32_t bits, uint32_t hashes, const char *text);

/* `bits` is a multiple of 64. 0, or -1 without memory: it is said. thesis_data_deinit in any case.
 */
int thesis_data_make(const struct wordlist *list, uint32_t bits, uint32_t hashes, size_t queries,
                     size_t stored, uint64_t seed, struct thesis_data *out);
void thesis_data_deinit(struct thesis_data *data);

#endif
