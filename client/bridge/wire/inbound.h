/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbound: the queue between the threads of libnats and the loop. Bounded by the bytes of its
 * messages, headers included: what comes while it is full is dropped and counted.
 */
#ifndef CLIENT_BRIDGE_WIRE_INBOUND_H
#define CLIENT_BRIDGE_WIRE_INBOUND_H

#include <stdbool.h>
#include <stdint.h>

#include <nats/nats.h>
#include <uv.h>

enum { INBOUND_ERROR_BYTES = 256, INBOUND_BYTES_MAX = 4 * 1024 * 1024 };

struct inbound_item {
    struct inbound_item *next;
    void *subscription; /* of the wire */
    natsMsg *message;
};

/* Shared with the threads of libnats: behind the lock. */
struct inbound {
    uv_mutex_t lock;
    struct inbound_item *first;
    struct inbound_item **last;
    size_t bytes;
    uint64_t dropped;
    uint64_t error_count;
    char error[INBOUND_ERROR_BYTES]; /* the last of libnats */
    bool has_closed;                 /* a connection has ended */
    uv_async_t *wake;                /* NULL: nobody listens any more */
};

/* What the loop takes at once. */
struct inbound_batch {
    struct inbound_item *first;
    uint64_t dropped; /* since the last one */
    uint64_t error_count;
    char error[INBOUND_ERROR_BYTES];
    bool has_closed;
};

/* 0, or an error of libuv. inbound_deinit: after inbound_shut. */
int inbound_init(struct inbound *inbound, uv_async_t *wake);
void inbound_deinit(struct inbound *inbound);

/* Called by threads of libnats. inbound_put takes the message over. */
void inbound_put(struct inbound *inbound, void *subscription, natsMsg *message);
void inbound_note_error(struct inbound *inbound, const char *text);
void inbound_note_closed(struct inbound *inbound);

/* Called by the loop. The caller frees each item with inbound_free. */
void inbound_take(struct inbound *inbound, struct inbound_batch *out);
void inbound_free(struct inbound_item *item);

/* Frees what is queued; from now on nothing is queued. To be called while libnats is open: libnats
 * frees a message with the help of a thread that nats_Close ends. */
void inbound_shut(struct inbound *inbound);

#endif
