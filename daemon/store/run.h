/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_run: numbers of messages in 14 bytes each, sorted by a hash of the message's id. Several
 * numbers may have the same hash. One thread at a time changes a run.
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
enum { STORE_HASH_MASK = 0x1fffffff, STORE_NUMBER_GONE = 0x8000 };

/* `seq` is at most STORE_NUMBER_MAX. An expiry beyond 42 bits becomes the greatest one. */
struct store_number store_number_make(uint32_t hash, int64_t seq, int64_t expires_ms);
struct store_soon store_number_soon(const struct store_number *number);

static inline bool store_number_is_gone(const struct store_number *number)
{
    return (number->high & STORE_NUMBER_GONE) != 0;
}

/* Compares by hash, for qsort. */
int store_number_compare(const void *left, const void *right);

struct store_run {
    struct store_number *items; /* owned; sorted by hash */
    size_t count;
    size_t room;
};

/* Changes the room of a run to at least its count. False: out of memory, and the run is as before.
 */
bool store_run_resize(struct store_run *run, size_t room);

/* Makes room for one more number. False: out of memory. */
bool store_run_make_room(struct store_run *run);

/* Inserts a number; there must be room. O(count) */
void store_run_insert(struct store_run *run, const struct store_number *number);

/*
 * Returns the smallest number with this hash that is greater than `after` and smaller than `best`;
 * if there is none, returns `best`. `with_gone`: removed numbers count, too.
 */
int64_t store_run_next(const struct store_run *run, uint32_t hash, int64_t after, bool with_gone,
                       int64_t best);

/* Finds the number `seq` with this hash. NULL: the run does not have it. */
struct store_number *store_run_find(const struct store_run *run, uint32_t hash, int64_t seq);

/* Deletes the numbers that are not smaller than `first`, and if drops_gone the removed ones. */
void store_run_sweep(struct store_run *run, bool drops_gone, int64_t first);

/*
 * Moves all numbers of `fresh` to `old`. False: out of memory, and nothing has changed.
 * O(numbers of both)
 */
bool store_run_merge(struct store_run *old, struct store_run *fresh);

#endif
