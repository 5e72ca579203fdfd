/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: the states of a host that wait to be applied to the reader's hearsayd, in their order. One
 * request is under way at a time. A request that is too large for hearsayd, or that has a state
 * which hearsayd does not take, is tried with half as many states; a state that fails alone is left
 * out, counted, and named in the log.
 */
#ifndef CLIENT_BRIDGE_HUB_QUEUE_H
#define CLIENT_BRIDGE_HUB_QUEUE_H

#include <uv.h>

#include "client/bridge/hub/near.h"
#include "client/bridge/hub/state.h"
#include "daemon/system/log.h"
#include "proto/arena.h"

/* What waits. */
struct queue_item {
    struct state state;
    bool is_word; /* of an operator */
    size_t size;
    uint8_t *letter;
};

struct queue_events {
    /* hearsayd had no room for so many messages of an Apply. They are no items any more. */
    void (*no_room)(void *context, uint32_t messages);
    /* There are fewer items than before. */
    void (*moved)(void *context);
};

struct queue {
    struct near *near;
    const char *host;
    const struct queue_events *events;
    void *context;
    struct queue_item *items;
    size_t count;
    size_t room;
    size_t sent;       /* of the items, in the Apply that is under way; 0: none is */
    size_t span;       /* most items of the next Apply */
    uint64_t left_out; /* states, ever */
    uint64_t not_kept; /* decisions of operators here that the owner has not kept, ever */
    struct arena arena;
    uv_timer_t retry;
    struct log_gate gate;
};

/* `near`, `host` and `events` are borrowed. */
void queue_init(struct queue *queue, uv_loop_t *loop, struct near *near, const char *host,
                const struct queue_events *events, void *context);

/* Adds an item with a copy of the letter, which state_decode has read. False: no memory. */
bool queue_add(struct queue *queue, const struct state *state, const uint8_t *letter, size_t size,
               bool is_word);

/* Sends the next request unless one is under way or hearsayd is away. */
void queue_go(struct queue *queue);

void queue_stop(struct queue *queue);   /* then, when the loop has closed its handle: */
void queue_deinit(struct queue *queue); /* frees what waits */

#endif
