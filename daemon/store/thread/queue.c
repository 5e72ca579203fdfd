/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/inner.h"

static size_t content_bytes(const struct persist_op *op)
{
    if (!store_space_is_deposit(op)) {
        return 0;
    }
    return op->message.payload_bytes + op->message.filter_bytes + op->message.media_type_bytes;
}

void store_queue_push(struct store_queue *queue, struct persist_op *op)
{
    op->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = op;
    } else {
        queue->first = op;
    }
    queue->last = op;
    queue->count++;
    queue->bytes += content_bytes(op);
}

bool store_queue_is_full(const struct store_queue *queue)
{
    return queue->count >= STORE_BATCH_OPS || queue->bytes >= STORE_BATCH_BYTES;
}

bool store_queue_fits(const struct store_queue *queue, const struct store_space_room *room)
{
    struct store_space_need need = {.page_bytes = room->page_bytes};

    if (queue->first == NULL || !store_space_is_deposit(queue->first)) {
        return true;
    }
    store_space_add(&need, queue->first);
    return store_space_fits(room, &need);
}

/*
 * Adds the storage that an operation needs to `need`. Returns whether `need` does not fit into
 * `room`. With `room` NULL adds nothing and returns false.
 */
static bool is_too_much(const struct persist_op *op, const struct store_space_room *room,
                        struct store_space_need *need)
{
    if (room == NULL) {
        return false;
    }
    store_space_add(need, op);
    return store_space_is_deposit(op) ? !store_space_fits(room, need)
                                      : !store_space_fits_log(room, need);
}

void store_queue_take(struct store_queue *queue, size_t ops_max,
                      const struct store_space_room *room, struct store_batch *out_batch)
{
    struct persist_op *op = queue->first;
    struct store_space_need need = {.page_bytes = room != NULL ? room->page_bytes : 0};
    size_t bytes = content_bytes(op);

    (void)is_too_much(op, room, &need); /* the first one is taken even if it does not fit */
    *out_batch = (struct store_batch){.first = op, .count = 1};
    while (op->next != NULL && out_batch->count < ops_max && op->kind != PERSIST_SHIFT) {
        if (bytes + content_bytes(op->next) > STORE_BATCH_BYTES ||
            is_too_much(op->next, room, &need)) {
            break;
        }
        op = op->next;
        bytes += content_bytes(op);
        out_batch->count++;
    }
    out_batch->last = op;
    queue->count -= out_batch->count;
    queue->bytes -= bytes;
    queue->first = op->next;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    op->next = NULL;
}

void store_batch_split(struct store_batch *rest, size_t ops_max, struct store_batch *out_part)
{
    *out_part = (struct store_batch){.first = rest->first, .last = rest->first, .count = 1};
    while (out_part->count < ops_max && out_part->count < rest->count) {
        out_part->last = out_part->last->next;
        out_part->count++;
    }
    rest->first = out_part->last->next;
    rest->count -= out_part->count;
}
