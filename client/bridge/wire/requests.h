/* SPDX-License-Identifier: Apache-2.0 */
/* requests: what was sent to the hub and waits for its answer, for a while. For the wire only. */
#ifndef CLIENT_BRIDGE_WIRE_REQUESTS_H
#define CLIENT_BRIDGE_WIRE_REQUESTS_H

#include "client/bridge/wire/wire.h"

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

#endif
