/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo: stores the results of testing message ids against a query's slices, so that a second part
 * of a search need not test a message again. It has two bits for each place: whether the message
 * there was tested, and the result. A place is a number that the engine gives to a message
 * (engine.h). After an insert or a removal a place may belong to another message, so the memo is
 * cleared then.
 */
#ifndef CORE_INDEX_MEMO_H
#define CORE_INDEX_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

/* A memo of all zeros is valid and stores nothing. */
struct index_memo {
    const struct alloc *alloc; /* borrowed */
    uint8_t *known;            /* four places a byte */
    size_t bytes;
    bool is_used;
};

/*
 * Makes a memo for at least the places 0 .. places - 1; results for places beyond its memory are
 * not stored. 0 or -ERR_NOMEM.
 */
int index_memo_init(struct index_memo *memo, const struct alloc *alloc, size_t places);
void index_memo_deinit(struct index_memo *memo);

/* Clears the memo. O(places); O(1) if the memo is clear. */
void index_memo_forget(struct index_memo *memo);

/* index_memo_get reads the result for a place; false: nothing is stored. index_memo_put stores a
 * result. `memo` may be NULL. */
bool index_memo_get(const struct index_memo *memo, size_t place, bool *out_answer);
void index_memo_put(struct index_memo *memo, size_t place, bool answer);

#endif
