/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/thesis_data.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/filter/bloom.h"
#include "tests/bench/bench.h"

void thesis_data_add(uint64_t *filter, uint32_t bits, uint32_t hashes, const char *text)
{
    const size_t length = strlen(text);
    uint64_t value = 0;

    for (uint32_t i = 0; i < hashes; i++) {
        value = hash_seeded(text, length, value);
        bloom_set(filter, (uint32_t)(value % bits));
    }
}

static uint64_t *make(const struct wordlist *list, const struct thesis_data *data, size_t count,
                      uint64_t *state)
{
    uint64_t *filters = calloc(count * data->words, sizeof(*filters));

    for (size_t i = 0; filters != NULL && i < count; i++) {
        for (uint32_t w = 0; w < THESIS_WORDS_A_FILTER; w++) {
            thesis_data_add(filters + i * data->words, data->bits, data->hashes,
                            list->lines[filters_random(state) % list->count]);
        }
    }
    return filters;
}

int thesis_data_make(const struct wordlist *list, uint32_t bits, uint32_t hashes, size_t queries,
                     size_t stored, uint64_t seed, struct thesis_data *out)
{
    uint64_t state = seed;

    /* The sizes have words of their own, as there. */
    state = filters_random(&state) ^ bits;
    *out = (struct thesis_data){
        .bits = bits,
        .hashes = hashes,
        .words = bloom_words(bits),
        .query_count = queries,
        .stored_count = stored,
    };
    out->queries = make(list, out, queries, &state);
    out->stored = make(list, out, stored, &state);
    return out->queries != NULL && out->stored != NULL ? 0 : bench_fail("memory is short");
}

void thesis_data_deinit(struct thesis_data *data)
{
    free(data->queries);
    free(data->stored);
    memset(data, 0, sizeof(*data));
}
