/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo: a cuckoo filter. It answers "may this id be in the set?" in about 14 bits an id, and
 * unlike a Bloom filter it can remove ids. Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter:
 * Practically Better Than Bloom", CoNEXT 2014.
 *
 * A bucket has 4 fingerprints of 13 bits, packed into words; the fingerprint 0 is an empty place:
 *
 *   bit 52 b ..  | f0 : 13 | f1 : 13 | f2 : 13 | f3 : 13 |  bucket b
 *
 * A fingerprint f lies in one of two buckets, i and (h(f) - i) mod n, where n is the number of
 * buckets. Each of the two follows from the other one and f. So a fingerprint can be moved to its
 * other bucket to make room, and n may be any number, not only a power of two.
 *
 * An id that was added is always found. Another id is found by mistake with a probability of at
 * most 8 / 8191 times the load: 0.093 % at a load of 95 %, where an entry takes 13.7 bits.
 *
 * The hash is an argument. Key it with a secret (SipHash), so that nobody can choose ids that
 * collide. The filter does not have the ids, so it cannot grow by itself: rebuild it from the ids.
 */
#ifndef CORE_FILTER_CUCKOO_H
#define CORE_FILTER_CUCKOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

enum {
    CUCKOO_BUCKET = 4,
    CUCKOO_FINGERPRINT_BITS = 13,
    CUCKOO_LOAD_PERCENT = 95,     /* the load that it is sized for */
    CUCKOO_CAPACITY_MAX = 1 << 28 /* entries */
};

/* A 64-bit hash of the id at `id`. Its length is fixed by the owner. */
typedef uint64_t cuckoo_hash(const void *context, const uint8_t *id);

struct cuckoo {
    const struct alloc *alloc;
    cuckoo_hash *hash;
    const void *context;   /* borrowed, handed to hash */
    uint64_t *words;       /* owned */
    uint32_t bucket_count; /* at least 1 */
    uint32_t count;        /* entries */
    uint32_t walk;         /* pseudo-random state: chooses the fingerprint to move */
};

/*
 * Makes an empty filter for `capacity` entries at a load of CUCKOO_LOAD_PERCENT; capacity is 1 ..
 * CUCKOO_CAPACITY_MAX. `alloc` and `context` are borrowed. 0 or -ERR_NOMEM.
 */
int cuckoo_init(struct cuckoo *cuckoo, const struct alloc *alloc, cuckoo_hash *hash,
                const void *context, uint32_t capacity);
void cuckoo_deinit(struct cuckoo *cuckoo); /* a zeroed struct is fine */

/*
 * Adds an id that is not in the filter. 0, or CUCKOO_FULL: a bounded number of moves made no room;
 * nothing has changed, rebuild with a larger capacity. Usually O(1).
 */
enum { CUCKOO_FULL = 1 };
int cuckoo_insert(struct cuckoo *cuckoo, const uint8_t *id);

/* Whether the id may be in the filter: true if it was added; else true by chance, see above. O(1).
 */
bool cuckoo_has(const struct cuckoo *cuckoo, const uint8_t *id);

/*
 * Removes an id that was added. Do not call it with another id: that could remove the fingerprint
 * of a third one. false: there was no such fingerprint, which is an error of the caller. O(1).
 */
bool cuckoo_remove(struct cuckoo *cuckoo, const uint8_t *id);

/* The owner's ids, one after another. `next` returns NULL at the end; after `rewind` it starts from
 * the first id again. */
struct cuckoo_ids {
    void (*rewind)(void *context);
    const uint8_t *(*next)(void *context);
    void *context;
};

/*
 * Rebuilds the filter from all ids, for `capacity` entries, or a few more if some ids find no
 * place. 0; -ERR_NOMEM or CUCKOO_FULL (capacity is too small): the filter is unchanged. O(ids).
 */
int cuckoo_rebuild(struct cuckoo *cuckoo, const struct cuckoo_ids *ids, uint32_t capacity);

/* Bytes of memory that it holds. */
size_t cuckoo_bytes(const struct cuckoo *cuckoo);

#endif
