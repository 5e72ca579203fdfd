/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo: what is known of an index's messages while one search runs, two bits a place: whether a
 * message was tested, and how the test ended. A place is a number that the index's engine gives its
 * messages (engine.h); it means another message once messages come or go, and all is
 * forgotten then.
 */
#ifndef CORE_INDEX_MEMO_H
#define CORE_INDEX_MEMO_H

#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: it remembers nothing. */
struct index_memo {
    const struct alloc *alloc; /* borrowed */
    uint8_t *known;            /* four places a byte */
    size_t bytes;
    bool is_used;
};

/* Room for places 0 .. places - 1; others are not remembered. 0 or -ERR_NOMEM. */
int index_memo_init(struct index_memo *memo, const struct alloc *alloc, size_t places);
void index_memo_deinit(struct index_memo *memo);

/* O(places) if something is remembered, else O(1). */
void index_memo_forget(struct index_memo *memo);

/* False: nothing is remembered of that place. `memo` may be NULL. */
bool index_memo_get(const struct index_memo *memo, size_t place, bool *out_answer);
void index_memo_put(struct index_memo *memo, size_t place, bool answer);

#endif
