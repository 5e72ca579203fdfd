/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_table: which device has an address. A copy of the kernel's neighbour table in which
 * addresses and link-layer addresses are salted hashes, so that the memory of the program names
 * neither. A device is an interface and a link-layer address.
 *
 * The table has a fixed number of entries: a guest can fill the kernel's table, and must not make
 * this program grow by that. When our table is full, it leaves further addresses out and says that
 * it is incomplete, until it has been filled again from the kernel's table.
 */
#ifndef DAEMON_DEVICE_NEIGHBOUR_TABLE_H
#define DAEMON_DEVICE_NEIGHBOUR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "daemon/device/neighbour_message.h"

enum {
    NEIGHBOUR_KEY_BYTES = 16,
    /* The kernel keeps 1,024 addresses of each family unless gc_thresh3 was raised. */
    NEIGHBOUR_ENTRIES_MAX = 4096
};

struct neighbour_table;

/* Makes an empty table of `entries_max` entries, 1 to NEIGHBOUR_ENTRIES_MAX. `key` is random.
 * Borrows `alloc`. Returns 0 or -ERR_NOMEM. */
int neighbour_table_new(const struct alloc *alloc, uint32_t entries_max,
                        const uint8_t key[NEIGHBOUR_KEY_BYTES], struct neighbour_table **out_table);
void neighbour_table_free(struct neighbour_table *table); /* NULL is fine */

/* Takes what a message says: adds, changes or removes an entry. */
void neighbour_table_apply(struct neighbour_table *table, const struct neighbour *neighbour);

/*
 * neighbour_table_begin is called before the whole table is requested, and neighbour_table_end when
 * the last message of the answer was applied. The latter removes the entries about which no message
 * came in between: the kernel does not have them any more.
 */
void neighbour_table_begin(struct neighbour_table *table);
void neighbour_table_end(struct neighbour_table *table);

/* The number of a device, never 0. */
uint64_t neighbour_table_device(const struct neighbour_table *table,
                                const struct neighbour *neighbour);

enum neighbour_answer {
    NEIGHBOUR_UNKNOWN,   /* there is no entry */
    NEIGHBOUR_FOUND,     /* *out_device was written */
    NEIGHBOUR_AMBIGUOUS, /* two devices on different interfaces have the address */
};

/*
 * Looks up the device of an address: `family` is 4 or 6, `bytes` are 4 or 16, and `interface` is
 * the interface where the address is, or 0 if that is not known. O(1).
 */
enum neighbour_answer neighbour_table_find(const struct neighbour_table *table, uint8_t family,
                                           const uint8_t *bytes, uint32_t interface,
                                           uint64_t *out_device);

/* Whether an IPv6 address of this /64 has an entry, or may have had one that found no place.
 * `bytes` are the first 8 of the /64. O(entries). */
bool neighbour_table_covers(const struct neighbour_table *table, const uint8_t *bytes);

/*
 * Records that the address has connected; its entry must be there. Returns how many addresses of
 * its device have connected and still have an entry if the address had not connected before,
 * otherwise 0. O(entries) if the address had not connected.
 */
uint32_t neighbour_table_use(struct neighbour_table *table, uint8_t family, const uint8_t *bytes,
                             uint64_t device);

/* Whether an address found no place, so that the table should be filled again when it has room. */
bool neighbour_table_is_incomplete(const struct neighbour_table *table);

/* The number of entries. */
uint32_t neighbour_table_count(const struct neighbour_table *table);

#endif
