/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the parts of wire.h, for wire.c and their tests. */
#pragma once

#include "client/bridge/wire/wire.h"

/* --- inbound ---------------------------------------------------------------------------------- */

/*
 * The queue between the threads of libnats and the loop. Bounded by the bytes of its
 * messages, headers included: what comes while it is full is dropped and counted.
 */

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

/* --- requests --------------------------------------------------------------------------------- */

/* What was sent to the hub and waits for its answer, for a while. For the wire only. */

struct request_slot {
    uint64_t number; /* of the request; 0: free */
    enum wire_use use;
    uint64_t ends_ms;
    wire_done *done; /* NULL: forgotten */
    void *context;
    uint64_t tag;
};

struct requests {
    uv_timer_t tick;
    uint64_t
        tick_ms; /* when the next request ends unless it is answered; UINT64_MAX: no timer runs */
    struct request_slot slots[WIRE_REQUESTS_MAX];
    size_t waiting;
    size_t waiting_of[WIRE_USES];
    uint64_t count; /* ever made */
};

void requests_init(struct requests *requests, uv_loop_t *loop);
void requests_stop(struct requests *requests); /* without callbacks; closes the timer */

/* The number of the next request; 0: too many of this use wait. requests_add takes it into use. */
uint64_t requests_next(struct requests *requests, enum wire_use use);
void requests_add(struct requests *requests, uint64_t number, enum wire_use use,
                  uint32_t timeout_ms, wire_done *done, void *context, uint64_t tag);

/* Ends a request; an unknown number is ignored. requests_lose ends all with WIRE_LOST. */
void requests_end(struct requests *requests, uint64_t number, enum wire_outcome outcome,
                  const struct wire_message *message);
void requests_lose(struct requests *requests);
void requests_forget(struct requests *requests, const void *context);
