/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices: which device is behind an address. On link, addresses cost nothing: a phone can take
 * hundreds of IPv6 and IPv4 addresses, so limits that count addresses give it hundreds of shares.
 * The kernel's neighbour table says which link-layer address an address on link belongs to. This
 * module keeps a salted copy of that table (neighbour_table.h), which follows the kernel's by
 * netlink, and answers from memory while connections are accepted.
 *
 * The numbers of devices are salted anew at each start, unless the caller keeps the salt. Nothing
 * is stored or logged, but for one line: a device from which eight or more addresses have connected
 * is named at most once an hour, so that an operator finds a repeater that hides many phones behind
 * its own link-layer address.
 *
 * Everything happens on the loop's thread.
 */
#pragma once

#include <sys/socket.h>

#include <uv.h>

#include "core/base/alloc.h"

struct devices;

/*
 * Opens the neighbour table and reads it once. `alloc` and `loop` are borrowed. The numbers of
 * devices depend on `key` (KEYED_HASH_KEY_BYTES, copied); NULL: on a random one. If the system does
 * not give the table, logs a warning, and devices_find answers DEVICE_NONE to everything. Returns
 * 0 or -ERR_NOMEM.
 */
int devices_open(const struct alloc *alloc, uv_loop_t *loop, const uint8_t *key,
                 struct devices **out_devices);

/* devices_close begins to close the handles, and may be called again. devices_free frees the rest
 * after the loop has run until all handles are closed. NULL is fine for both. */
void devices_close(struct devices *devices);
void devices_free(struct devices *devices);

/* An address whose device is wanted. */
struct device_query {
    uint8_t family;       /* 4 or 6; others: there is no device */
    uint32_t interface;   /* index, for a link-local address; 0: not known */
    const uint8_t *bytes; /* borrowed: 4 or 16 */
    /* borrowed: 16 bytes, our end of an IPv6 connection, which tells whether the address is on
     * link; NULL: not known */
    const uint8_t *local;
};

/* Makes the query of a connection. An IPv4 address that is mapped into IPv6 is an IPv4 address. The
 * query borrows both addresses. */
void device_query_of(const struct sockaddr *peer, const struct sockaddr *local,
                     struct device_query *out_query);

enum device_answer {
    DEVICE_NONE,  /* no entry, or an ambiguous one: what counts is the address, off link the /64 */
    DEVICE_FOUND, /* *out_device was written: the number of the device, never 0 */
    /* an IPv6 address on link without an entry, although the table has its /64. All such addresses
     * of a /64 count as one sender, because the kernel's table can be filled on purpose */
    DEVICE_HIDDEN
};

/* Looks up the device of an address from which a client connects. `devices` may be NULL. If there
 * is no entry, reads the news of the kernel that have not been read yet: at most a few system
 * calls. */
enum device_answer devices_find(struct devices *devices, const struct device_query *query,
                                uint64_t *out_device);
