/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_data: the filters of the thesis's experiments: 50 random words of a dictionary each.
 *
 * Hashes are chained as in the thesis. The first hash of a word has the seed 0; each next hash has
 * the value of the hash before as its seed. The bit is the value mod m. The hash is XXH3-64. (The
 * thesis's program hashes the string object instead of the text; this mistake is not repeated.) The
 * same seed gives the same filters on every machine, and the first N filters of a larger number are
 * the same as N filters.
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

/* Sets the bits of one text: `hashes` bits, of which some may be the same bit. */
void thesis_data_add(uint64_t *filter, uint32_t bits, uint32_t hashes, const char *text);

/*
 * `bits` is a multiple of 64. Returns 0, or -1 after a message on standard error if there is no
 * memory. Call thesis_data_deinit in both cases.
 */
int thesis_data_make(const struct wordlist *list, uint32_t bits, uint32_t hashes, size_t queries,
                     size_t stored, uint64_t seed, struct thesis_data *out);
void thesis_data_deinit(struct thesis_data *data);

#endif
