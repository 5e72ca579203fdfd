/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/engine.h"

#include <string.h>

#include "core/base/err.h"

enum { PLACES_A_BYTE = 4, BITS_A_PLACE = 2, TESTED = 1, ANSWER = 2 };

int index_memo_init(struct index_memo *memo, const struct alloc *alloc, size_t places)
{
    size_t bytes = places / PLACES_A_BYTE + 1;

    *memo = (struct index_memo){.alloc = alloc};
    memo->known = alloc_zeroed(alloc, bytes, 1);
    if (memo->known == NULL) {
        return -ERR_NOMEM;
    }
    memo->bytes = bytes;
    return 0;
}

void index_memo_deinit(struct index_memo *memo)
{
    if (memo->known != NULL) {
        alloc_release(memo->alloc, memo->known);
    }
    *memo = (struct index_memo){0};
}

void index_memo_forget(struct index_memo *memo)
{
    if (memo->is_used) {
        memset(memo->known, 0, memo->bytes);
        memo->is_used = false;
    }
}

bool index_memo_get(const struct index_memo *memo, size_t place, bool *out_answer)
{
    if (memo == NULL || place / PLACES_A_BYTE >= memo->bytes) {
        return false;
    }
    unsigned byte = memo->known[place / PLACES_A_BYTE];
    unsigned bits = byte >> place % PLACES_A_BYTE * BITS_A_PLACE;
    if ((bits & TESTED) == 0) {
        return false;
    }
    *out_answer = (bits & ANSWER) != 0;
    return true;
}

void index_memo_put(struct index_memo *memo, size_t place, bool answer)
{
    if (memo == NULL || place / PLACES_A_BYTE >= memo->bytes) {
        return;
    }
    unsigned bits = (TESTED | (answer ? ANSWER : 0u)) << place % PLACES_A_BYTE * BITS_A_PLACE;
    memo->known[place / PLACES_A_BYTE] |= (uint8_t)bits;
    memo->is_used = true;
}
