/* SPDX-License-Identifier: Apache-2.0 */
/* ack: what JetStream answers to a message that it was to store. */
#ifndef CLIENT_BRIDGE_WIRE_ACK_H
#define CLIENT_BRIDGE_WIRE_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACK_TEXT_BYTES = 128, ACK_WRONG_SEQUENCE = 10071 };

struct ack {
    uint64_t seq; /* in the stream; 0 with an error */
    bool is_duplicate;
    int code;                  /* JetStream's number; 0: stored */
    uint64_t last;             /* with ACK_WRONG_SEQUENCE: the last sequence of the subject */
    char text[ACK_TEXT_BYTES]; /* with an error: what JetStream says */
};

/* False: the bytes are no such answer. */
bool ack_read(const void *bytes, size_t size, struct ack *out);

#endif
