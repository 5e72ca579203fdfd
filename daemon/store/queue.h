/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_queue: the operations that wait for the writer, in order, and the batches that the writer
 * takes. The queue has no lock: the caller makes sure that one thread uses it at a time. Operations
 * belong to their submitters; the queue links them by their `next`.
 */
#ifndef DAEMON_STORE_QUEUE_H
#define DAEMON_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"
#include "daemon/store/space.h"

enum {
    /* Operations of one transaction. In a larger one the first operations would wait for the last,
       and its pages would not fit into the cache. From 1,000 to 2,000 operations on, the sync is a
       small share of the time. */
    STORE_BATCH_OPS = 2048,
    STORE_BATCH_BYTES = 4 * 1024 * 1024
};

struct store_queue {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
    size_t bytes; /* of the payloads, filters and media types of the deposits */
};

/* The operations of one transaction. */
struct store_batch {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
};

void store_queue_push(struct store_queue *queue, struct persist_op *op);

/* Whether the queue has enough operations for a whole batch. */
bool store_queue_is_full(const struct store_queue *queue);

/*
 * Takes operations from the front of the queue: one at least, and at most ops_max
 * (1 .. STORE_BATCH_OPS). It ends before the first operation that does not fit into `room` together
 * with those before it; NULL: all fit. The queue must not be empty. O(operations taken).
 */
void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch);

/* False when the first operation is a deposit that does not fit into `room`. */
bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room);

/* Moves the first operations of `rest`, at most ops_max (>= 1), to *out_part. */
void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part);

#endif
