/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_world: two indexes with what should be in them, and searches under way. test_index.c drives
 * them; plain_index.c says what each search should find.
 */
#pragma once

#include "core/index/index.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum {
    INDEXES = 2,
    MESSAGES_MAX = 700, /* more than a chunk of the list */
    WORDS_MAX = PROFILE_WORDS_MAX,
    PARTS_MAX = 4,
    SEARCHES = 3,
    SENDERS = 5,
    FOUND_MAX = PARTS_MAX * MESSAGES_MAX
};

struct message {
    struct index_item item;
    uint64_t filter[WORDS_MAX];
};

/* One index, and what should be in it, in no order. */
struct store {
    struct index *index;
    struct message messages[MESSAGES_MAX];
    uint32_t count;
};

/* A search under way, and what it was asked. */
struct asked {
    struct index_search *search;
    struct index_query query;
    struct index_part parts[PARTS_MAX];
    uint32_t part_store[PARTS_MAX];
    uint64_t filters[PARTS_MAX][WORDS_MAX];
    uint64_t contains[PARTS_MAX][WORDS_MAX];
    struct scalable seen; /* what query.exclude points into */
    uint32_t steps;
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct profile profile;
    struct store stores[INDEXES];
    struct asked asked[SEARCHES];
    int64_t now_ms;
    uint32_t next_id;
    uint32_t finished;
    uint32_t capped; /* of these, answers that a cap changed */
    uint32_t fanout;
};

extern struct world world; /* too large for a stack */

/* --- plain_index.c ---------------------------------------------------------------------------- */

/* What a search should find, best first: compared bit by bit and sorted as a whole. A message
 * counts once, however many parts find it. `out` has FOUND_MAX entries. Returns how many. */
uint32_t plain_search(const struct asked *asked, struct nearest_candidate *out, bool *out_capped);

/* --- index_world.c ---------------------------------------------------------------------------- */

/* Makes the indexes empty, and frees all. world.rng must be set. */
void begin_world(const struct index_engine *engine, const struct bits_kernels *kernels,
                 const struct profile *profile);
void end_world(void);

/* Compares the answer of a search that is done with the plain one. */
void check_answer(struct asked *asked);

/* Checks an index from the inside; looks each of its messages up. */
void check_store(const struct store *store);
void check_contents(const struct store *store);

/* A random message, to a store that is not full; removes a random one, if there is one. */
void insert_message(struct store *store);
void remove_message(struct store *store);

/* Begins a random search; frees it. */
void begin_search(struct asked *asked);
void end_search(struct asked *asked);

/* One random operation. */
void one_operation(uint32_t step);
