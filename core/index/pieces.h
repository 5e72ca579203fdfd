/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces: tells which filters may have a twin, that is, another filter that differs in few bits.
 * The answer "no twin" is certain; "a twin" is not.
 *
 * The m bits of a filter are cut into P pieces of about m / P consecutive bits. If two filters
 * differ in fewer than P bits, they have a piece in common (the pigeonhole principle; Norouzi,
 * Punjani, Fleet 2012). So there is one pass over all messages for each piece. It compares only
 * filters with an equal piece, by their folds: the XOR of the words of a filter. Folds differ in no
 * more bits than the filters.
 *
 *   filter   | piece 0 | piece 1 | ... | piece P - 1 |      word 0 XOR word 1 XOR ... = fold
 *
 * The table has a bounded number of entries. If there are more filters, each piece takes several
 * rounds, and a round has the filters of a part of all hashes. Example: 100,000 filters, 65,536
 * entries, 9 pieces: 18 rounds. In each round the caller first adds all filters, then asks for each
 * filter whether it has a twin.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

enum {
    PIECES_MAX = 16,
    PIECES_ENTRIES_MAX = 65536,
    PIECES_ENTRY_BYTES = 16, /* of memory, for each entry */
    /* With fewer filters than this for each piece, comparing all pairs takes about as long. */
    PIECES_FILTERS_LEAST = 1024
};

struct pieces {
    const struct alloc *alloc;
    uint32_t bits;  /* m */
    uint32_t apart; /* twins differ in so many bits or fewer */
    uint32_t count; /* P = apart + 1; 0: the table is not made */
    uint64_t seed;
    uint32_t rounds; /* of a piece */
    uint32_t piece;  /* of the round under way */
    uint32_t round;
    uint32_t room; /* entries */
    uint32_t used;
    uint32_t mask;   /* number of lists - 1 */
    uint64_t *folds; /* of the entries */
    uint32_t *next;  /* of the entries with the same list, plus 1; 0: the last */
    uint32_t *heads; /* of each list: the first entry, plus 1; 0: none */
    uint64_t asked;  /* filters */
    uint64_t steps;  /* entries that were compared */
};

/*
 * Returns whether a table helps with `filters` filters of `bits` bits, that is, whether it is
 * expected to take less time than it saves.
 */
bool pieces_help(uint32_t bits, uint32_t apart, size_t filters);

/*
 * Makes a table for about `filters` filters, and begins the first round. pieces_help must be true.
 * `seed` is random, because peers choose filters. Borrows `alloc`. Returns 0 or -ERR_NOMEM.
 */
int pieces_init(struct pieces *pieces, const struct alloc *alloc, uint32_t bits, uint32_t apart,
                size_t filters, uint64_t seed);
void pieces_deinit(struct pieces *pieces); /* a zeroed one is fine */

/* Begins the next round. Returns false if all are done. Clears the lists, 256 KiB at most. */
bool pieces_next_round(struct pieces *pieces);

/*
 * Adds a filter to the round, if it belongs there. The words of the filter are `stride` words
 * apart. Returns false if the table is full: then the answers of the round are not certain.
 * O(words)
 */
bool pieces_add(struct pieces *pieces, const uint64_t *filter, size_t stride);

/* Returns whether a filter that was added belongs to the round and may have a twin there. */
bool pieces_have_twin(struct pieces *pieces, const uint64_t *filter, size_t stride);

/* Returns whether so many filters have equal pieces that the table takes more time than it saves.
 */
bool pieces_are_futile(const struct pieces *pieces);
