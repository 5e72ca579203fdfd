/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/inner.h"

#include <stdlib.h>
#include <string.h>

enum { PAIR_BYTES = 64 }; /* what libnats needs for a header besides its texts, at least */

int inbound_init(struct inbound *inbound, uv_async_t *wake)
{
    int rc = uv_mutex_init(&inbound->lock);

    inbound->last = &inbound->first;
    inbound->wake = wake;
    return rc;
}

void inbound_free(struct inbound_item *item)
{
    natsMsg_Destroy(item->message);
    free(item);
}

static void drop_items(struct inbound_item *item)
{
    while (item != NULL) {
        struct inbound_item *next = item->next;

        inbound_free(item);
        item = next;
    }
}

void inbound_deinit(struct inbound *inbound)
{
    uv_mutex_destroy(&inbound->lock);
}

static void wake_loop(struct inbound *inbound)
{
    if (inbound->wake != NULL) {
        (void)uv_async_send(inbound->wake);
    }
}

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

/* A message may have many headers, of many values, and no data. */
static size_t header_bytes(natsMsg *message)
{
    const char **keys = NULL;
    int key_count = 0;
    size_t bytes = 0;

    if (natsMsgHeader_Keys(message, &keys, &key_count) != NATS_OK) {
        return 0; /* there is none */
    }
    for (int i = 0; i < key_count; i++) {
        const char **values = NULL;
        int value_count = 0;

        bytes += text_bytes(keys[i]) + PAIR_BYTES;
        if (natsMsgHeader_Values(message, keys[i], &values, &value_count) == NATS_OK) {
            for (int j = 0; j < value_count; j++) {
                bytes += text_bytes(values[j]) + PAIR_BYTES;
            }
            free((void *)values);
        }
    }
    free((void *)keys);
    return bytes;
}

static size_t message_bytes(natsMsg *message)
{
    return sizeof(struct inbound_item) + (size_t)natsMsg_GetDataLength(message) +
           text_bytes(natsMsg_GetSubject(message)) + text_bytes(natsMsg_GetReply(message)) +
           header_bytes(message);
}

void inbound_put(struct inbound *inbound, void *subscription, natsMsg *message)
{
    struct inbound_item *item = malloc(sizeof(*item));
    size_t bytes = message_bytes(message);

    uv_mutex_lock(&inbound->lock);
    if (item == NULL || inbound->wake == NULL || bytes > INBOUND_BYTES_MAX - inbound->bytes) {
        inbound->dropped++;
        uv_mutex_unlock(&inbound->lock);
        free(item);
        natsMsg_Destroy(message);
        return;
    }
    *item = (struct inbound_item){.subscription = subscription, .message = message};
    *inbound->last = item;
    inbound->last = &item->next;
    inbound->bytes += bytes;
    wake_loop(inbound);
    uv_mutex_unlock(&inbound->lock);
}

void inbound_note_error(struct inbound *inbound, const char *text)
{
    uv_mutex_lock(&inbound->lock);
    inbound->error_count++;
    (void)snprintf(inbound->error, sizeof(inbound->error), "%s", text);
    wake_loop(inbound);
    uv_mutex_unlock(&inbound->lock);
}

void inbound_note_closed(struct inbound *inbound)
{
    uv_mutex_lock(&inbound->lock);
    inbound->has_closed = true;
    wake_loop(inbound);
    uv_mutex_unlock(&inbound->lock);
}

void inbound_take(struct inbound *inbound, struct inbound_batch *out)
{
    uv_mutex_lock(&inbound->lock);
    out->first = inbound->first;
    out->dropped = inbound->dropped;
    out->error_count = inbound->error_count;
    (void)snprintf(out->error, sizeof(out->error), "%s", inbound->error);
    out->has_closed = inbound->has_closed;
    inbound->first = NULL;
    inbound->last = &inbound->first;
    inbound->bytes = 0;
    inbound->dropped = 0;
    inbound->error_count = 0;
    inbound->has_closed = false;
    uv_mutex_unlock(&inbound->lock);
}

void inbound_shut(struct inbound *inbound)
{
    uv_mutex_lock(&inbound->lock);
    inbound->wake = NULL;
    drop_items(inbound->first);
    inbound->first = NULL;
    inbound->last = &inbound->first;
    inbound->bytes = 0;
    uv_mutex_unlock(&inbound->lock);
}
