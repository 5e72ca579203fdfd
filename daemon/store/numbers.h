/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_numbers: the number (`seq`) of each stored message by its host and id, and the order in
 * which messages expire. The table `message` has no index by id and none by expiry: each deposit
 * would write pages of both indexes to flash. Instead, this memory has 14 bytes for each message,
 * and an eighth to a quarter of a byte for buckets. A fresh number takes 24 bytes until the store
 * merges it with the others. A host has room for 2,048 fresh numbers, or for 1/128 of its messages
 * if that is more.
 *
 * The memory has a hash of 29 bits instead of the id. So a search may find numbers of other
 * messages, too: the caller reads the row and compares its id.
 *
 * Threads. Only the writer's thread changes the memory, and it needs no lock to read. Changes of
 * the current transaction take effect at once, and store_numbers_rollback takes them back. The
 * reader's thread reads while it holds the lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* --- soonest ---------------------------------------------------------------------------------- */

/*
 * store_soonest: the messages of a host that expire soonest, at most STORE_SOONEST_ROOM of them,
 * sorted. The list may be cut: then the host has further messages, which all come after the entries
 * of the list. When a cut list has become too short, the caller fills the list again from all
 * messages, which is O(messages).
 *
 * One thread uses a store_soonest. A zeroed one is the list of a host without messages.
 */

enum { STORE_SOONEST_ROOM = 1024 };

struct store_soon {
    int64_t expires_ms;
    int64_t seq;
};

struct store_soonest {
    struct store_soon *entries; /* owned; sorted by expires_ms, then by seq */
    size_t first;               /* place of the first entry */
    size_t count;
    size_t room;
    bool is_cut;
    struct store_soon
        bound; /* while the list is filled: a cut list takes no entry after this one */
};

void store_soonest_deinit(struct store_soonest *list);

/* A new message. If there is no memory, the list becomes empty and cut. */
void store_soonest_add(struct store_soonest *list, struct store_soon entry);

/* The message is deleted. Does nothing if the list does not have the message. */
void store_soonest_remove(struct store_soonest *list, struct store_soon entry);

/* Makes the list empty and cut. */
void store_soonest_clear(struct store_soonest *list);

/*
 * To fill a list, call store_soonest_begin, store_soonest_offer for every message of the host in
 * any order, and store_soonest_end. Returns false if there is no memory: call store_soonest_clear.
 */
void store_soonest_begin(struct store_soonest *list);
bool store_soonest_offer(struct store_soonest *list, struct store_soon entry);
void store_soonest_end(struct store_soonest *list);

/* --- numbers ---------------------------------------------------------------------------------- */

struct store_numbers;

/* Makes an empty memory. Returns NULL if there is no memory. */
struct store_numbers *store_numbers_new(void);
void store_numbers_free(struct store_numbers *numbers); /* NULL is fine */

/*
 * Loads the numbers of all messages, outside a transaction, and forgets the numbers of before. A
 * load that fails changes nothing. During the load the memory holds the old and the new numbers.
 * O(messages log messages). Returns SQLITE_OK; SQLITE_CORRUPT and a static text in *out_detail if
 * two messages of a host have the same id, a message has no host, or a value is out of range; or
 * another result code, and *out_detail is NULL then.
 */
int store_numbers_load(struct store_numbers *numbers, sqlite3 *db, const char **out_detail);

/* How many messages a load found. Only before the other threads use the memory. */
uint64_t store_numbers_count(const struct store_numbers *numbers);

/* --- the writer's thread ---------------------------------------------------------------------- */

/*
 * Adds a new message, before its row is written. `seq` is greater than all numbers before. Returns
 * SQLITE_OK; SQLITE_NOMEM; or SQLITE_FULL if `seq` has more than 40 bits.
 */
int store_numbers_add(struct store_numbers *numbers, uint32_t host, const uint8_t *id, int64_t seq,
                      int64_t expires_ms);

/* Removes a message, whose row was deleted. SQLITE_OK, SQLITE_NOMEM, or SQLITE_CORRUPT if the
 * memory does not have the message. */
int store_numbers_remove(struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                         int64_t seq);

/*
 * Returns the smallest number greater than `after` of a message that may have this id; 0: there is
 * none.
 */
int64_t store_numbers_next(struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                           int64_t after);

/*
 * Finds the message of the host that expires soonest (`place` 0), second soonest (1), and so on;
 * `place` is less than STORE_SOONEST_ROOM. Returns SQLITE_ROW; SQLITE_DONE if the host has no more
 * messages; or SQLITE_NOMEM. O(messages) once for some hundred messages that were removed.
 */
int store_numbers_soonest(struct store_numbers *numbers, uint32_t host, size_t place,
                          struct store_soon *out_soon);

/* Finds the message of all hosts that expires soonest, with the same results. */
int store_numbers_first(struct store_numbers *numbers, struct store_soon *out_soon);

/*
 * The transaction was committed, or rolled back. `first`: the first number of this transaction; all
 * messages with this number or a greater one are taken out.
 */
void store_numbers_commit(struct store_numbers *numbers);
void store_numbers_rollback(struct store_numbers *numbers, int64_t first);

/* --- the reader's thread ---------------------------------------------------------------------- */

/*
 * A message gets another number when it becomes visible. So the reader begins its read transaction
 * and calls store_numbers_find without giving the lock back in between. Then one of the numbers is
 * the number of the message in this transaction, if the message is stored there: a search between
 * lock and unlock also finds numbers that a transaction has removed but not yet committed.
 */
void store_numbers_lock(struct store_numbers *numbers);
void store_numbers_unlock(struct store_numbers *numbers);

/* As store_numbers_next, but also finds removed messages for some time. */
int64_t store_numbers_find(const struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                           int64_t after);

/* --- run -------------------------------------------------------------------------------------- */

/*
 * store_run: numbers of messages in 14 bytes each, sorted by a hash of the message's id. Several
 * numbers may have the same hash. store_fresh: the newest numbers, in short lists by hash, so that
 * adding a number takes O(1). One thread at a time changes a run or a store_fresh.
 */

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
