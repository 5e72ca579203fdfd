/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/decaying.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

int decaying_init(struct decaying *decaying, const struct alloc *alloc, uint32_t m, uint32_t rounds)
{
    assert(m >= 1 && rounds >= 1 && rounds <= DECAYING_ROUNDS_MAX);
    *decaying = (struct decaying){.alloc = alloc, .m = m, .rounds = rounds};
    decaying->counters = alloc_zeroed(alloc, m, sizeof(*decaying->counters));
    return decaying->counters != NULL ? 0 : -ERR_NOMEM;
}

void decaying_deinit(struct decaying *decaying)
{
    if (decaying->alloc != NULL) {
        alloc_release(decaying->alloc, decaying->counters);
    }
    *decaying = (struct decaying){0};
}

void decaying_advance(struct decaying *decaying)
{
    for (uint32_t p = 0; p < decaying->m; p++) {
        if (decaying->counters[p] > 0) {
            decaying->counters[p]--;
        }
    }
}

void decaying_add(struct decaying *decaying, const uint64_t *filter)
{
    for (uint32_t p = 0; p < decaying->m; p++) {
        if (bloom_test(filter, p)) {
            decaying->counters[p] = (uint8_t)decaying->rounds;
        }
    }
}

void decaying_filter(const struct decaying *decaying, uint64_t *out_filter)
{
    memset(out_filter, 0, bloom_words(decaying->m) * sizeof(*out_filter));
    for (uint32_t p = 0; p < decaying->m; p++) {
        if (decaying->counters[p] > 0) {
            bloom_set(out_filter, p);
        }
    }
}
