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
#pragma once

#include "core/base/alloc.h"
#include "daemon/system/keyed_hash.h"

/* --- neighbour_message ------------------------------------------------------------------------ */

/*
 * Reads the messages of rtnetlink(7) about the kernel's neighbour table, in
 * which the kernel keeps the link-layer address of each address on link. This module only parses
 * bytes: it opens no socket, and stores nothing. A length that a message gives is compared with the
 * bytes that are there before it is used.
 */

enum {
    NEIGHBOUR_LINK_BYTES_MAX = 32, /* MAX_ADDR_LEN of the kernel */
    NEIGHBOUR_REQUEST_BYTES = 28   /* a header of netlink, and struct ndmsg */
};

/* What a message says about one address. */
struct neighbour {
    uint8_t family;     /* 4 or 6 */
    uint8_t bytes[16];  /* of IPv4 the first 4, the rest is zero */
    uint32_t interface; /* index of the network interface; not 0 */
    /* Length of `link`, 1 to NEIGHBOUR_LINK_BYTES_MAX; 0: the table has no link-layer address for
     * this address (any more). */
    uint8_t link_bytes;
    uint8_t link[NEIGHBOUR_LINK_BYTES_MAX];
};

enum neighbour_message {
    NEIGHBOUR_END,       /* the bytes have no further message */
    NEIGHBOUR_CHANGE,    /* *out_neighbour was written */
    NEIGHBOUR_DUMPED,    /* the answer to a request of the whole table ends here */
    NEIGHBOUR_TORN,      /* the table has changed while it was dumped: it must be requested again */
    NEIGHBOUR_REFUSED,   /* the kernel refuses the request */
    NEIGHBOUR_MALFORMED, /* a length is wrong; the rest of the bytes cannot be read */
};

/*
 * Reads the next message of a datagram of `count` bytes. *offset is 0 at first, and is moved behind
 * the message. Messages about other things are skipped, among them entries that the kernel made for
 * multicast, for proxies and for the ports of bridges. *out_neighbour is written only with
 * NEIGHBOUR_CHANGE.
 */
enum neighbour_message neighbour_message_next(const uint8_t *bytes, size_t count, size_t *offset,
                                              struct neighbour *out_neighbour);

/* Writes the request of the whole neighbour table. */
void neighbour_message_request(uint8_t out_bytes[NEIGHBOUR_REQUEST_BYTES]);

/* --- neighbour_table -------------------------------------------------------------------------- */

/* The kernel keeps 1,024 addresses of each family unless gc_thresh3 was raised. */
enum { NEIGHBOUR_ENTRIES_MAX = 4096 };

struct neighbour_table;

/* Makes an empty table of `entries_max` entries, 1 to NEIGHBOUR_ENTRIES_MAX. `key` is random.
 * Borrows `alloc`. Returns 0 or -ERR_NOMEM. */
int neighbour_table_new(const struct alloc *alloc, uint32_t entries_max,
                        const uint8_t key[KEYED_HASH_KEY_BYTES],
                        struct neighbour_table **out_table);
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
