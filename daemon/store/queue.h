/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_queue: operations that wait for the writer, in order, and the batches that it takes. A data
 * structure without a lock: its owner lets one thread in at a time. Operations are the submitter's;
 * the queue links them by their `next`.
 */
#ifndef DAEMON_STORE_QUEUE_H
#define DAEMON_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"
#include "daemon/store/space.h"

enum {
    /* Of one transaction. More would make its first operations wait for the last, and its pages
       outgrow the cache; at 1,000 to 2,000 the sync is a small share already. */
    STORE_BATCH_OPS = 2048,
    STORE_BATCH_BYTES = 4 * 1024 * 1024
};

struct store_queue {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
    size_t bytes; /* of the deposits' contents */
};

/* What one transaction takes. */
struct store_batch {
    struct persist_op *first;
    struct persist_op *last;
    size_t count;
};

void store_queue_push(struct store_queue *queue, struct persist_op *op);

/* Whether there is enough for a whole batch. */
bool store_queue_is_full(const struct store_queue *queue);

/*
 * Takes the first operations, one at least and at most ops_max (1 .. STORE_BATCH_OPS), up to the
 * first that does not fit into the room with those before it (NULL: all fit). The queue must not be
 * empty. O(operations taken).
 */
void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch);

/* Whether the first operation is no deposit, or one that fits into the room; or there is none. */
bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room);

/* Takes the first operations of `rest`, at most ops_max (>= 1), and leaves the others in `rest`. */
void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part);

#endif
