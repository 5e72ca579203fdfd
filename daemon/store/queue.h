/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_queue: the operations that wait for the writer, in order, and the batches that the writer
 * takes from them. The queue has no lock: its user makes sure that one thread uses the queue at a
 * time. Operations belong to the caller who submitted them; the queue links them by their field
 * `next`.
 */
#ifndef DAEMON_STORE_QUEUE_H
#define DAEMON_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"
#include "daemon/store/space.h"

enum {
    /*
     * Maximum number of operations in a transaction. In a larger transaction the first operations
     * would wait long for the last ones, and the changed pages would not fit into the cache.
     * Already with 1,000 to 2,000 operations the sync takes a small share of the time.
     */
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
 * Takes a batch of operations from the front of the queue. The queue must not be empty. A batch has
 * at least one operation and at most `ops_max` (1 .. STORE_BATCH_OPS). The batch ends before an
 * operation with which it would exceed STORE_BATCH_BYTES of content, or the storage in `room`; with
 * `room` NULL the storage is not checked. O(operations taken).
 */
void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch);

/* Returns false if the first operation is a deposit that needs more storage than `room` has. */
bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room);

/* Moves the first operations of `rest`, at most `ops_max` (>= 1), to *out_part. */
void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part);

#endif
