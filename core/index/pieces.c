/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/pieces.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/popcount.h"
#include "core/filter/bloom.h"

enum {
    WORD_BITS = 64,
    STEPS_MOST = 16,      /* entries compared for each filter that is asked for, at most */
    STEPS_FREE = 1 << 18, /* and so many besides */
    SPARE_NUMERATOR = 5,  /* entries for each expected filter: hashes are not even */
    SPARE_DENOMINATOR = 4
};
/* An odd number with about as many ones as zeros: 2^64 / the golden ratio. */
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

bool pieces_help(uint32_t bits, uint32_t apart, size_t filters)
{
    return apart < PIECES_MAX && apart < bits &&
           filters >= (size_t)PIECES_FILTERS_LEAST * (apart + 1);
}

int pieces_init(struct pieces *pieces, const struct alloc *alloc, uint32_t bits, uint32_t apart,
                size_t filters, uint64_t seed)
{
    uint64_t wanted = (uint64_t)filters * SPARE_NUMERATOR / SPARE_DENOMINATOR + 1;
    uint32_t lists = 1;

    assert(pieces_help(bits, apart, filters));
    *pieces = (struct pieces){.alloc = alloc, .bits = bits, .apart = apart, .seed = seed};
    pieces->room = wanted < PIECES_ENTRIES_MAX ? (uint32_t)wanted : PIECES_ENTRIES_MAX;
    pieces->rounds = (uint32_t)((wanted + pieces->room - 1) / pieces->room);
    while (lists <= pieces->room / 2) {
        lists *= 2;
    }
    pieces->mask = lists - 1;
    pieces->folds = alloc_array(alloc, pieces->room, sizeof(*pieces->folds));
    pieces->next = alloc_array(alloc, pieces->room, sizeof(*pieces->next));
    pieces->heads = alloc_zeroed(alloc, lists, sizeof(*pieces->heads));
    if (pieces->folds == NULL || pieces->next == NULL || pieces->heads == NULL) {
        pieces_deinit(pieces);
        return -ERR_NOMEM;
    }
    pieces->count = apart + 1;
    return 0;
}

void pieces_deinit(struct pieces *pieces)
{
    if (pieces->alloc != NULL) {
        alloc_release(pieces->alloc, pieces->folds);
        alloc_release(pieces->alloc, pieces->next);
        alloc_release(pieces->alloc, pieces->heads);
    }
    *pieces = (struct pieces){0};
}

bool pieces_next_round(struct pieces *pieces)
{
    pieces->used = 0;
    memset(pieces->heads, 0, ((size_t)pieces->mask + 1) * sizeof(*pieces->heads));
    if (++pieces->round == pieces->rounds) {
        pieces->round = 0;
        pieces->piece++;
    }
    return pieces->piece < pieces->count;
}

/* The hash of the piece of this round. */
static uint64_t piece_hash(const struct pieces *pieces, const uint64_t *filter, size_t stride)
{
    uint32_t first = (uint32_t)((uint64_t)pieces->piece * pieces->bits / pieces->count);
    uint32_t end = (uint32_t)(((uint64_t)pieces->piece + 1) * pieces->bits / pieces->count);
    uint64_t hash = pieces->seed;

    for (uint32_t w = first / WORD_BITS; w * WORD_BITS < end; w++) {
        uint64_t word = filter[w * stride];

        if (w * WORD_BITS < first) {
            word &= UINT64_MAX << (first - w * WORD_BITS);
        }
        if (end - w * WORD_BITS < WORD_BITS) {
            word &= (UINT64_C(1) << (end - w * WORD_BITS)) - 1;
        }
        hash = (hash ^ word) * MULTIPLIER;
        hash ^= hash >> 32;
    }
    return hash * MULTIPLIER;
}

static bool is_of_round(const struct pieces *pieces, uint64_t hash)
{
    return (hash >> 32) * pieces->rounds >> 32 == pieces->round;
}

/* The list of a hash. Other bits of the hash choose the round. */
static uint32_t *head_of(const struct pieces *pieces, uint64_t hash)
{
    return &pieces->heads[(hash ^ hash >> 29) & pieces->mask];
}

static uint64_t fold_words(const struct pieces *pieces, const uint64_t *filter, size_t stride)
{
    uint64_t folded = 0;

    for (size_t w = 0; w < bloom_words(pieces->bits); w++) {
        folded ^= filter[w * stride];
    }
    return folded;
}

bool pieces_add(struct pieces *pieces, const uint64_t *filter, size_t stride)
{
    enum { EQUAL_MOST = 2 }; /* a filter and its twin: further equal entries change no answer */
    uint64_t hash = piece_hash(pieces, filter, stride);
    uint32_t *head = head_of(pieces, hash);

    if (!is_of_round(pieces, hash)) {
        return true;
    }
    uint64_t folded = fold_words(pieces, filter, stride);
    uint32_t e = *head;
    int equal = 0;
    while (e != 0 && equal < EQUAL_MOST && pieces->folds[e - 1] == folded) {
        equal++;
        e = pieces->next[e - 1];
    }
    if (equal == EQUAL_MOST) {
        return true;
    }
    if (pieces->used == pieces->room) {
        return false;
    }
    pieces->folds[pieces->used] = folded;
    pieces->next[pieces->used] = *head;
    *head = ++pieces->used;
    return true;
}

bool pieces_have_twin(struct pieces *pieces, const uint64_t *filter, size_t stride)
{
    enum { WANTED = 2 }; /* the filter itself, and another one */
    uint64_t hash = piece_hash(pieces, filter, stride);
    int near = 0;

    pieces->asked++;
    if (!is_of_round(pieces, hash)) {
        return false;
    }
    uint64_t folded = fold_words(pieces, filter, stride);
    for (uint32_t e = *head_of(pieces, hash); e != 0 && near < WANTED; e = pieces->next[e - 1]) {
        pieces->steps++;
        near += popcount_word(pieces->folds[e - 1] ^ folded) <= pieces->apart;
    }
    return near >= WANTED;
}

bool pieces_are_futile(const struct pieces *pieces)
{
    return pieces->steps > STEPS_FREE + STEPS_MOST * pieces->asked;
}
