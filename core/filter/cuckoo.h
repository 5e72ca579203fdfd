/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo: a cuckoo filter. It answers "may this id be in the set?" with about 14 bits for each id.
 * Unlike a Bloom filter, a cuckoo filter can remove ids. Fan, Andersen, Kaminsky, Mitzenmacher,
 * "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014.
 *
 * A bucket has 4 fingerprints of 13 bits, packed into words. The fingerprint 0 marks an empty slot:
 *
 *   bit 52 b ..  | f0 : 13 | f1 : 13 | f2 : 13 | f3 : 13 |  bucket b
 *
 * A fingerprint f lies in one of two buckets, i and (h(f) - i) mod n, where h is a hash and n is
 * the number of buckets. Each of the two buckets can be computed from f and the other bucket. So a
 * fingerprint can move to its other bucket without the id. n may be any number, not only a power of
 * two.
 *
 * An id that was added, and not removed since, is found. An id that was not added is found by
 * mistake with a probability of about 8 / 8191 times the load: 0.093 % at a load of 95 %. At this
 * load an entry takes 13.7 bits in a large filter.
 *
 * The hash is an argument. Use a hash with a secret key (SipHash), so that nobody can choose ids
 * that collide. The filter does not have the ids, so it cannot grow by itself: the owner rebuilds
 * it from the ids.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

enum {
    CUCKOO_BUCKET = 4,
    CUCKOO_FINGERPRINT_BITS = 13,
    CUCKOO_LOAD_PERCENT = 95,     /* the load for which a filter is sized */
    CUCKOO_CAPACITY_MAX = 1 << 28 /* entries */
};

/* Returns a 64-bit hash of the id at `id`. The program that uses the filter decides how many bytes
 * an id has; all ids of a filter have the same length. */
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
 * Makes an empty filter for `capacity` entries at a load of CUCKOO_LOAD_PERCENT. `capacity` is 1 ..
 * CUCKOO_CAPACITY_MAX. `alloc` and `context` are borrowed. Returns 0 or -ERR_NOMEM.
 */
int cuckoo_init(struct cuckoo *cuckoo, const struct alloc *alloc, cuckoo_hash *hash,
                const void *context, uint32_t capacity);
void cuckoo_deinit(struct cuckoo *cuckoo); /* a zeroed struct is fine */

/*
 * Adds an id that was not added before. Returns 0, or CUCKOO_FULL if a limited number of moves
 * found no empty slot. With CUCKOO_FULL the filter has the same fingerprints as before; the caller
 * may then rebuild it with a larger capacity (cuckoo_rebuild). Usually O(1).
 */
enum { CUCKOO_FULL = 1 };
int cuckoo_insert(struct cuckoo *cuckoo, const uint8_t *id);

/*
 * Returns whether the id may be in the filter: true for an id that was added and not removed since;
 * for another id true only by mistake, with a probability of about 8 / 8191 or less. O(1).
 */
bool cuckoo_has(const struct cuckoo *cuckoo, const uint8_t *id);

/*
 * Removes an id that was added. The caller must not pass another id, because the function could
 * then remove the fingerprint of a third id. Returns false if the filter does not have the
 * fingerprint, which is an error of the caller. O(1).
 */
bool cuckoo_remove(struct cuckoo *cuckoo, const uint8_t *id);

/* An iterator over all ids that the filter should have. `next` returns the next id, or NULL at the
 * end. After `rewind`, `next` starts again with the first id. */
struct cuckoo_ids {
    void (*rewind)(void *context);
    const uint8_t *(*next)(void *context);
    void *context;
};

/*
 * Rebuilds the filter from all ids, for `capacity` entries. If an id finds no slot, tries again
 * with a slightly larger capacity, a few times. Returns 0, -ERR_NOMEM, or CUCKOO_FULL if the ids
 * did not fit in the last try. Unless the result is 0, the filter is unchanged. O(ids).
 */
int cuckoo_rebuild(struct cuckoo *cuckoo, const struct cuckoo_ids *ids, uint32_t capacity);
