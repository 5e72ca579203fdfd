/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_run: numbers of messages in 14 bytes each, sorted by a hash of the message's id. Several
 * numbers may have the same hash. store_fresh: the newest numbers, in short lists by hash, so that
 * adding a number takes O(1). One thread at a time changes a run or a store_fresh.
 */
#ifndef DAEMON_STORE_RUN_H
#define DAEMON_STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/soonest.h"

/*
 * A message: 40 bits of its number, 42 bits of its expiry (milliseconds until the year 2109), 29
 * bits of the hash of its id, and whether it was removed.
 */
struct store_number {
    uint64_t low;    /* the number, then 24 bits of the hash */
    uint32_t middle; /* the lowest 32 bits of the expiry */
    uint16_t high;   /* 10 bits of the expiry, 5 bits of the hash, 1 bit: removed */
} __attribute__((packed));

#define STORE_NUMBER_MAX ((INT64_C(1) << 40) - 1)
enum { STORE_HASH_BITS = 29, STORE_HASH_MASK = 0x1fffffff, STORE_NUMBER_GONE = 0x8000 };

/* `seq` is at most STORE_NUMBER_MAX. An expiry beyond 42 bits becomes the greatest one. */
struct store_number store_number_make(uint32_t hash, int64_t seq, int64_t expires_ms);
struct store_soon store_number_soon(const struct store_number *number);

static inline bool store_number_is_gone(const struct store_number *number)
{
    return (number->high & STORE_NUMBER_GONE) != 0;
}

uint32_t store_number_hash(const struct store_number *number);

/*
 * A bucket is the part of a run whose hashes have the same highest bits. The hashes are evenly
 * distributed, so the numbers of a bucket are few, and a number is near the place that its hash
 * tells. Example, with hashes of 4 bits and 2 buckets:
 *
 *   hashes of items    1  3  4  9  9  12        starts   0  3  6
 */
struct store_run {
    struct store_number *items; /* owned; sorted by hash */
    size_t count;
    size_t room;
    /* owned: the first place of each bucket, then `count`. NULL: all numbers are one bucket */
    uint32_t *starts;
    unsigned bucket_bits; /* the number of buckets is 2^bucket_bits */
};

/* Changes the room of a run to at least its count. False: out of memory, and the run is as before.
 */
bool store_run_resize(struct store_run *run, size_t room);

/* Makes room for one more number. False: out of memory. */
bool store_run_make_room(struct store_run *run);

/* Sorts the numbers of a run that was filled in any order and has no buckets yet, and makes the
 * buckets. Without memory all numbers are one bucket, searched by halving. O(count log count) */
void store_run_sort(struct store_run *run);

void store_run_deinit(struct store_run *run);

/*
 * Returns the smallest number with this hash that is greater than `after` and smaller than `best`;
 * if there is none, returns `best`. `with_gone`: removed numbers count, too. O(1) in expectation.
 */
int64_t store_run_next(const struct store_run *run, uint32_t hash, int64_t after, bool with_gone,
                       int64_t best);

/* Finds the number `seq` with this hash. NULL: the run does not have it. */
struct store_number *store_run_find(const struct store_run *run, uint32_t hash, int64_t seq);

/* Deletes the removed numbers. O(count) */
void store_run_sweep(struct store_run *run);

/* --- fresh numbers ---------------------------------------------------------------------------- */

/* A place in store_fresh.items, plus 1; 0: there is none. */
typedef uint32_t fresh_place;

struct fresh_number {
    struct store_number number;
    fresh_place next; /* the next number of the same list */
};

struct store_fresh {
    struct fresh_number *items; /* owned; in the order of arrival */
    size_t count;
    size_t room; /* a power of two, or 0 */
    /* owned: the first number of each of `room` lists. The highest bits of a hash choose the list.
     * Each list is sorted by hash, the highest hash first. */
    fresh_place *lists;
};

void store_fresh_deinit(struct store_fresh *fresh);

/* Adds a number. False: out of memory. O(1) in expectation, and O(count) when the room doubles. */
bool store_fresh_add(struct store_fresh *fresh, const struct store_number *number);

/* As store_run_next and store_run_find. */
int64_t store_fresh_next(const struct store_fresh *fresh, uint32_t hash, int64_t after,
                         bool with_gone, int64_t best);
struct store_number *store_fresh_find(const struct store_fresh *fresh, uint32_t hash, int64_t seq);

/* Deletes the numbers that are not smaller than `first`, and if drops_gone the removed ones.
 * O(room) */
void store_fresh_sweep(struct store_fresh *fresh, bool drops_gone, int64_t first);

/*
 * Moves all numbers of `fresh` to `old`. False: out of memory, and nothing has changed.
 * O(numbers of both)
 */
bool store_run_merge(struct store_run *old, struct store_fresh *fresh);

#endif
