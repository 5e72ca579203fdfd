/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: what waits for hearsayd. Senders take turns, whoever has sent more: a sender's first thing
 * goes in this round, the second one in the next. When a queue is full, the newest thing of the
 * sender with most gives way to a newcomer (core/base/fair.h).
 */
#pragma once

#include "client/web/http.h"
#include "core/base/fair.h"

/* Part of a thing that may wait. Zeroed: does not wait. */
struct queue_item {
    struct queue_item *prev, *next;
    struct fair_holder *holder; /* the sender; NULL: does not wait */
    uint64_t round;
    uint64_t number; /* larger: came later */
    int64_t since_ms;
};

/* Zeroed: empty. */
struct queue {
    struct queue_item *first; /* by round, and then by number */
    size_t count;
    uint64_t round; /* of what was served last */
    uint64_t last_number;
    struct fair_table senders; /* of what waits */
};

/* Adds a thing of a client. -ERR_NOMEM. O(senders), and O(items) for a sender that has others. */
int queue_enter(struct queue *queue, struct queue_item *item, const struct http_address *client,
                int64_t now_ms);

/* Another client waits for the same thing, which counts for the one that has fewer. */
void queue_share(struct queue *queue, struct queue_item *item, const struct http_address *client);

/* Takes a thing out, if it waits. */
void queue_leave(struct queue *queue, struct queue_item *item);

/* The same for a thing that is served now. */
void queue_serve(struct queue *queue, struct queue_item *item);

/* What gives way to a newcomer that has been added: the newcomer itself if nothing else may.
 * O(items). */
struct queue_item *queue_victim(const struct queue *queue, struct queue_item *newcomer);

/* What waits since before a time; NULL: nothing. O(items). */
struct queue_item *queue_find_late(const struct queue *queue, int64_t before_ms);
