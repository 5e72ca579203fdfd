/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_message: reads the messages of rtnetlink(7) about the kernel's neighbour table, in
 * which the kernel keeps the link-layer address of each address on link. This module only parses
 * bytes: it opens no socket, and stores nothing. A length that a message gives is compared with the
 * bytes that are there before it is used.
 */
#ifndef DAEMON_DEVICE_NEIGHBOUR_MESSAGE_H
#define DAEMON_DEVICE_NEIGHBOUR_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
