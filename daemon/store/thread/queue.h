/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_queue: the operations that wait for the writer, in order, and the batches that the writer
 * takes from them. The queue has no lock: its user makes sure that one thread uses the queue at a
 * time. The queue links operations by their field `next`, and never frees them.
 */
#ifndef DAEMON_STORE_THREAD_QUEUE_H
#define DAEMON_STORE_THREAD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"
#include "daemon/store/space.h"

enum {
    /*
     * Maximum number of operations in a transaction. While the writer commits one transaction, the
     * loop collects the next one. A session has at most about 1,300 deposits in flight (the limit
     * of bytes that a session holds), so two transactions of this size. With 1,024 and 2,048
     * operations one transaction took nearly all of them, and the writer waited for the next ones.
     */
    STORE_BATCH_OPS = 640,
    STORE_BATCH_BYTES = 4 * 1024 * 1024
};

struct store_queue {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
    size_t bytes; /* of the payloads, filters and media types of the deposits in the queue */
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
 * `room` NULL the storage is not checked. The first operation is taken in any case. The batch ends
 * after a PERSIST_SHIFT: the writer loads the new order of expiry only after the commit, and an
 * expiry or an eviction in the same transaction would still use the old order.
 */
void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch);

/* Returns false if the first operation is a deposit that does not fit into `room`. */
bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room);

/* Moves the first operations of `rest`, which is not empty, at most `ops_max`, to *out_part. */
void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part);

#endif
