/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo: a cuckoo filter: which ids are there, in about 14 bits each, and unlike in a Bloom filter
 * they can go again. Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than
 * Bloom", CoNEXT 2014.
 *
 * Buckets of 4 fingerprints of 13 bits, packed into words; 0 is an empty place:
 *
 *   bit 52 b ..  | f0 : 13 | f1 : 13 | f2 : 13 | f3 : 13 |  bucket b
 *
 * A fingerprint lies in one of two buckets, i and (h(f) - i) mod n, each known from the other and
 * the fingerprint; so it can be moved when its bucket is wanted by another, and any number of
 * buckets will do, not only powers of two.
 *
 * An id that is in it is always found. Another is taken for one with probability of at most
 * 8 / 8191 times the load: 0.093 % at a load of 95 %, where an entry takes 13.7 bits.
 *
 * The hash is an argument, and should be keyed with a secret (SipHash), so that nobody can choose
 * ids that collide. It does not grow by itself, since it does not have the ids: rebuild it from
 * them.
 */
#ifndef CORE_FILTER_CUCKOO_H
#define CORE_FILTER_CUCKOO_H

#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUCKOO_BUCKET = 4,
    CUCKOO_FINGERPRINT_BITS = 13,
    CUCKOO_LOAD_PERCENT = 95,     /* that it is sized for */
    CUCKOO_CAPACITY_MAX = 1 << 28 /* entries */
};

/* 64 bits of the id at `id`, whose length both sides know. */
typedef uint64_t cuckoo_hash(const void *context, const uint8_t *id);

struct cuckoo {
    const struct alloc *alloc;
    cuckoo_hash *hash;
    const void *context;   /* borrowed, handed to hash */
    uint64_t *words;       /* owned */
    uint32_t bucket_count; /* at least 1 */
    uint32_t count;        /* entries */
    uint32_t walk;         /* state of the walk that makes room */
};

/*
 * An empty one with room for `capacity` entries at the load above, 1 .. CUCKOO_CAPACITY_MAX.
 * `alloc` is borrowed. 0 or -ERR_NOMEM.
 */
int cuckoo_init(struct cuckoo *cuckoo, const struct alloc *alloc, cuckoo_hash *hash,
                const void *context, uint32_t capacity);
void cuckoo_deinit(struct cuckoo *cuckoo); /* a zeroed one is fine */

/*
 * Adds an id that is not there. 0, or CUCKOO_FULL when no room could be made, within a bounded
 * number of moves: nothing has changed then; rebuild it with more. Mostly O(1).
 */
enum { CUCKOO_FULL = 1 };
int cuckoo_insert(struct cuckoo *cuckoo, const uint8_t *id);

/* Whether the id is there: certainly, if it was added; else by chance, see above. O(1). */
bool cuckoo_has(const struct cuckoo *cuckoo, const uint8_t *id);

/*
 * Takes out an id that was added. For others it must not be called: another id's fingerprint might
 * go in its place. false: there was no such fingerprint, so the caller is wrong. O(1).
 */
bool cuckoo_remove(struct cuckoo *cuckoo, const uint8_t *id);

/* The next id of the owner, NULL at the end. Called again and again, from the first one on after
 * `rewind`. */
struct cuckoo_ids {
    void (*rewind)(void *context);
    const uint8_t *(*next)(void *context);
    void *context;
};

/*
 * Makes it anew from all ids, with room for `capacity` and a little more where luck is bad. 0;
 * -ERR_NOMEM or CUCKOO_FULL (capacity is too small for them): it is as it was then. O(ids).
 */
int cuckoo_rebuild(struct cuckoo *cuckoo, const struct cuckoo_ids *ids, uint32_t capacity);

/* Bytes of memory held, and bits for each entry that there is, in thousandths. */
size_t cuckoo_bytes(const struct cuckoo *cuckoo);
uint64_t cuckoo_millibits_per_entry(const struct cuckoo *cuckoo);

#endif
