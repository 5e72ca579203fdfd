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
#ifndef DAEMON_STORE_NUMBERS_H
#define DAEMON_STORE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "daemon/store/soonest.h"

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
int64_t store_numbers_next(const struct store_numbers *numbers, uint32_t host, const uint8_t *id,
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

#endif
