/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/queue.h"

#include "client/web/http_peer.h"
#include "core/base/err.h"

/* Puts an item that has a holder behind all of the same round. */
static void queue_put(struct queue *queue, struct queue_item *item)
{
    struct queue_item **at = &queue->first;
    struct queue_item *prev = NULL;

    while (*at != NULL && (*at)->round <= item->round) {
        prev = *at;
        at = &(*at)->next;
    }
    item->prev = prev;
    item->next = *at;
    if (*at != NULL) {
        (*at)->prev = item;
    }
    *at = item;
}

static void queue_cut(struct queue *queue, struct queue_item *item)
{
    *(item->prev != NULL ? &item->prev->next : &queue->first) = item->next;
    if (item->next != NULL) {
        item->next->prev = item->prev;
    }
}

/* The next round in which a sender has nothing yet. */
static uint64_t next_round(const struct queue *queue, const struct fair_holder *holder)
{
    uint64_t round = queue->round;

    if (fair_share(holder).held > 1) { /* others than the one that is being added */
        for (const struct queue_item *item = queue->first; item != NULL; item = item->next) {
            round = item->holder == holder && item->round > round ? item->round : round;
        }
    }
    return round + 1;
}

int queue_enter(struct queue *queue, struct queue_item *item, const struct http_address *client,
                int64_t now_ms)
{
    struct fair_holder *holder = http_peer_enter(&queue->senders, alloc_system(), client);

    if (holder == NULL) {
        return -ERR_NOMEM;
    }
    *item = (struct queue_item){.round = next_round(queue, holder),
                                .number = ++queue->last_number,
                                .since_ms = now_ms,
                                .holder = holder};
    queue_put(queue, item);
    queue->count++;
    return 0;
}

void queue_share(struct queue *queue, struct queue_item *item, const struct http_address *client)
{
    struct fair_holder *other = http_peer_enter(&queue->senders, alloc_system(), client);
    struct fair_holder *rest = other;
    uint64_t round = other != NULL ? next_round(queue, other) : UINT64_MAX;

    if (other != NULL && fair_share(other).held <= fair_share(item->holder).held) {
        rest = item->holder;
        item->holder = other;
    }
    if (item->holder == other && round < item->round) {
        queue_cut(queue, item);
        item->round = round;
        queue_put(queue, item);
    }
    fair_leave(&queue->senders, alloc_system(), rest);
}

void queue_leave(struct queue *queue, struct queue_item *item)
{
    if (item->holder != NULL) {
        queue_cut(queue, item);
        fair_leave(&queue->senders, alloc_system(), item->holder);
        item->holder = NULL;
        queue->count--;
    }
}

void queue_serve(struct queue *queue, struct queue_item *item)
{
    queue->round = item->round > queue->round ? item->round : queue->round;
    queue_leave(queue, item);
}

struct queue_item *queue_victim(const struct queue *queue, struct queue_item *newcomer)
{
    struct fair_choice choice = {.newcomer = fair_share(newcomer->holder)};

    for (struct queue_item *item = queue->first; item != NULL; item = item->next) {
        if (item != newcomer) {
            fair_consider(&choice, &(struct fair_candidate){.thing = item,
                                                            .share = fair_share(item->holder),
                                                            .age = item->number});
        }
    }
    return choice.victim.thing != NULL ? choice.victim.thing : newcomer;
}

struct queue_item *queue_find_late(const struct queue *queue, int64_t before_ms)
{
    struct queue_item *item = queue->first;

    while (item != NULL && item->since_ms >= before_ms) {
        item = item->next;
    }
    return item;
}
