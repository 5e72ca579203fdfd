/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/cuckoo.h"

#include <assert.h>

#include "core/base/err.h"

enum {
    WORD_BITS = 64,
    BUCKET_BITS = CUCKOO_BUCKET * CUCKOO_FINGERPRINT_BITS,
    FINGERPRINT_MASK = (1 << CUCKOO_FINGERPRINT_BITS) - 1,
    MOVES_MAX = 500, /* as in the paper */
    REBUILDS_MAX = 8
};

/* The fingerprint of an id, and the two buckets that may have this fingerprint. */
struct entry {
    uint32_t fingerprint; /* 1 .. FINGERPRINT_MASK */
    uint32_t bucket;
    uint32_t other;
};

/* A slot whose fingerprint make_room has replaced. */
struct move {
    uint32_t bucket;
    uint32_t slot;
};

/* --- words ------------------------------------------------------------------------------------ */

/*
 * Returns the number of words that the buckets take, plus one: bucket_read reads the word in which
 * a bucket begins and, unless the bucket begins at bit 0 of this word, the next word.
 */
static size_t word_count(uint32_t bucket_count)
{
    return (size_t)(((uint64_t)bucket_count * BUCKET_BITS + WORD_BITS - 1) / WORD_BITS + 1);
}

static uint64_t bucket_read(const struct cuckoo *cuckoo, uint32_t bucket)
{
    uint64_t bit = (uint64_t)bucket * BUCKET_BITS;
    const uint64_t *word = &cuckoo->words[bit / WORD_BITS];
    uint32_t shift = bit % WORD_BITS;

    return shift == 0 ? word[0] : word[0] >> shift | word[1] << (WORD_BITS - shift);
}

static uint32_t slot_of(uint64_t bucket, uint32_t slot)
{
    return (uint32_t)(bucket >> (slot * CUCKOO_FINGERPRINT_BITS)) & FINGERPRINT_MASK;
}

static void slot_write(struct cuckoo *cuckoo, uint32_t bucket, uint32_t slot, uint32_t fingerprint)
{
    uint64_t bit = (uint64_t)bucket * BUCKET_BITS + slot * CUCKOO_FINGERPRINT_BITS;
    uint64_t *word = &cuckoo->words[bit / WORD_BITS];
    uint32_t shift = bit % WORD_BITS;

    word[0] &= ~((uint64_t)FINGERPRINT_MASK << shift);
    word[0] |= (uint64_t)fingerprint << shift;
    if (shift > WORD_BITS - CUCKOO_FINGERPRINT_BITS) {
        word[1] &= ~((uint64_t)FINGERPRINT_MASK >> (WORD_BITS - shift));
        word[1] |= (uint64_t)fingerprint >> (WORD_BITS - shift);
    }
}

/*
 * Returns the first slot of the bucket that has this fingerprint, or CUCKOO_BUCKET if no slot has
 * it. The fingerprint 0 means an empty slot.
 */
static uint32_t find_slot(const struct cuckoo *cuckoo, uint32_t bucket, uint32_t fingerprint)
{
    uint64_t slots = bucket_read(cuckoo, bucket);
    uint32_t slot = 0;

    while (slot < CUCKOO_BUCKET && slot_of(slots, slot) != fingerprint) {
        slot++;
    }
    return slot;
}

/* --- places ----------------------------------------------------------------------------------- */

/* 0 .. n - 1, evenly. */
static uint32_t cuckoo_scale(uint32_t hash, uint32_t n)
{
    return (uint32_t)((uint64_t)hash * n >> 32);
}

/*
 * Returns the other bucket of a fingerprint that may lie in `bucket`. Called with that other
 * bucket, the function returns `bucket`.
 */
static uint32_t other_bucket(const struct cuckoo *cuckoo, uint32_t bucket, uint32_t fingerprint)
{
    /* The multiplication spreads the fingerprints over all buckets (Knuth, TAOCP 3, 6.4). */
    uint32_t sum = cuckoo_scale(fingerprint * UINT32_C(2654435761), cuckoo->bucket_count);

    return sum >= bucket ? sum - bucket : sum + (cuckoo->bucket_count - bucket);
}

static struct entry entry_of(const struct cuckoo *cuckoo, const uint8_t *id)
{
    uint64_t hash = cuckoo->hash(cuckoo->context, id);
    uint32_t low = (uint32_t)hash & FINGERPRINT_MASK;
    struct entry entry = {.fingerprint = low + (low == 0),
                          .bucket = cuckoo_scale((uint32_t)(hash >> 32), cuckoo->bucket_count)};

    entry.other = other_bucket(cuckoo, entry.bucket, entry.fingerprint);
    return entry;
}

/* --- making and freeing ----------------------------------------------------------------------- */

int cuckoo_init(struct cuckoo *cuckoo, const struct alloc *alloc, cuckoo_hash *hash,
                const void *context, uint32_t capacity)
{
    assert(capacity >= 1 && capacity <= CUCKOO_CAPACITY_MAX);
    uint64_t places = (uint64_t)capacity * 100 / CUCKOO_LOAD_PERCENT + 1;

    *cuckoo = (struct cuckoo){
        .alloc = alloc,
        .hash = hash,
        .context = context,
        .bucket_count = (uint32_t)((places + CUCKOO_BUCKET - 1) / CUCKOO_BUCKET),
        .walk = 1,
    };
    cuckoo->words = alloc_zeroed(alloc, word_count(cuckoo->bucket_count), sizeof(*cuckoo->words));
    return cuckoo->words != NULL ? 0 : -ERR_NOMEM;
}

void cuckoo_deinit(struct cuckoo *cuckoo)
{
    if (cuckoo->alloc != NULL) {
        alloc_release(cuckoo->alloc, cuckoo->words);
    }
    *cuckoo = (struct cuckoo){0};
}

/* --- ids -------------------------------------------------------------------------------------- */

static bool cuckoo_put(struct cuckoo *cuckoo, uint32_t bucket, uint32_t fingerprint)
{
    uint32_t slot = find_slot(cuckoo, bucket, 0);

    if (slot == CUCKOO_BUCKET) {
        return false;
    }
    slot_write(cuckoo, bucket, slot, fingerprint);
    return true;
}

/* Replaces the fingerprint in a slot and returns the old one. */
static uint32_t cuckoo_swap(struct cuckoo *cuckoo, struct move at, uint32_t fingerprint)
{
    uint32_t held = slot_of(bucket_read(cuckoo, at.bucket), at.slot);

    slot_write(cuckoo, at.bucket, at.slot, fingerprint);
    return held;
}

/* Returns the number of a slot of a bucket, chosen pseudo-randomly (xorshift: Marsaglia, 2003). */
static uint32_t next_slot(struct cuckoo *cuckoo)
{
    cuckoo->walk ^= cuckoo->walk << 13;
    cuckoo->walk ^= cuckoo->walk >> 17;
    cuckoo->walk ^= cuckoo->walk << 5;
    return cuckoo->walk >> 16 & (CUCKOO_BUCKET - 1);
}

/*
 * Stores a fingerprint whose two buckets are full. `bucket` is one of them. The fingerprint takes a
 * slot of `bucket`, the fingerprint of this slot moves to its other bucket, and so on until a
 * bucket has an empty slot. After MOVES_MAX moves without success, undoes all moves and returns
 * CUCKOO_FULL.
 */
static int make_room(struct cuckoo *cuckoo, uint32_t bucket, uint32_t fingerprint)
{
    struct move moves[MOVES_MAX];

    for (uint32_t i = 0; i < MOVES_MAX; i++) {
        moves[i] = (struct move){bucket, next_slot(cuckoo)};
        fingerprint = cuckoo_swap(cuckoo, moves[i], fingerprint);
        bucket = other_bucket(cuckoo, bucket, fingerprint);
        if (cuckoo_put(cuckoo, bucket, fingerprint)) {
            return 0;
        }
    }
    for (uint32_t i = MOVES_MAX; i > 0; i--) {
        fingerprint = cuckoo_swap(cuckoo, moves[i - 1], fingerprint);
    }
    return CUCKOO_FULL;
}

int cuckoo_insert(struct cuckoo *cuckoo, const uint8_t *id)
{
    struct entry entry = entry_of(cuckoo, id);

    if (!cuckoo_put(cuckoo, entry.bucket, entry.fingerprint) &&
        !cuckoo_put(cuckoo, entry.other, entry.fingerprint) &&
        make_room(cuckoo, entry.other, entry.fingerprint) != 0) {
        return CUCKOO_FULL;
    }
    cuckoo->count++;
    return 0;
}

bool cuckoo_has(const struct cuckoo *cuckoo, const uint8_t *id)
{
    struct entry entry = entry_of(cuckoo, id);

    return find_slot(cuckoo, entry.bucket, entry.fingerprint) < CUCKOO_BUCKET ||
           find_slot(cuckoo, entry.other, entry.fingerprint) < CUCKOO_BUCKET;
}

bool cuckoo_remove(struct cuckoo *cuckoo, const uint8_t *id)
{
    struct entry entry = entry_of(cuckoo, id);
    uint32_t bucket = entry.bucket;
    uint32_t slot = find_slot(cuckoo, bucket, entry.fingerprint);

    if (slot == CUCKOO_BUCKET) {
        bucket = entry.other;
        slot = find_slot(cuckoo, bucket, entry.fingerprint);
    }
    if (slot == CUCKOO_BUCKET) {
        return false;
    }
    slot_write(cuckoo, bucket, slot, 0);
    cuckoo->count--;
    return true;
}

/* --- rebuilding ------------------------------------------------------------------------------- */

static int cuckoo_fill(struct cuckoo *cuckoo, const struct cuckoo_ids *ids)
{
    ids->rewind(ids->context);
    for (const uint8_t *id = ids->next(ids->context); id != NULL; id = ids->next(ids->context)) {
        if (cuckoo_insert(cuckoo, id) != 0) {
            return CUCKOO_FULL;
        }
    }
    return 0;
}

int cuckoo_rebuild(struct cuckoo *cuckoo, const struct cuckoo_ids *ids, uint32_t capacity)
{
    int rc = CUCKOO_FULL;

    for (int i = 0; i < REBUILDS_MAX && rc == CUCKOO_FULL; i++) {
        struct cuckoo larger;

        rc = cuckoo_init(&larger, cuckoo->alloc, cuckoo->hash, cuckoo->context, capacity);
        if (rc == 0) {
            rc = cuckoo_fill(&larger, ids);
        }
        if (rc == 0) {
            cuckoo_deinit(cuckoo);
            *cuckoo = larger;
        } else {
            cuckoo_deinit(&larger);
        }
        if (capacity > CUCKOO_CAPACITY_MAX - capacity / 64 - 1) {
            break;
        }
        capacity += capacity / 64 + 1;
    }
    return rc;
}
