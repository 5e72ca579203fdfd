/* SPDX-License-Identifier: Apache-2.0 */
/* What each sender has of a host, and which of its own messages go first: daemon/host/room.h. */
#include <string.h>

#include "daemon/host/room.h"
#include "tests/sim/sim_model.h"

static struct m_message *counted(const struct model *model, uint32_t host, const uint8_t *id)
{
    for (uint32_t i = 0; i < model->message_count; i++) {
        struct m_message *message = &model->messages[i];
        if (message->share_at != 0 && message->host == host &&
            memcmp(message->id, id, MESSAGE_ID_BYTES) == 0) {
            return message;
        }
    }
    return NULL;
}

bool m_share_add(struct model *model, struct m_message *message)
{
    if (message->sender == 0 || counted(model, message->host, message->id) != NULL) {
        return false;
    }
    message->share_at = ++model->shared;
    return true;
}

void m_share_remove(struct model *model, uint32_t host, const uint8_t *id)
{
    struct m_message *message = counted(model, host, id);

    if (message != NULL) {
        message->share_at = 0;
        message->leaving = false;
    }
}

/* Of all hosts when `host` is M_HOSTS. */
static void usage_of(const struct model *model, uint32_t host, uint32_t sender, uint64_t used[2])
{
    used[0] = used[1] = 0;
    for (uint32_t i = 0; i < model->message_count; i++) {
        const struct m_message *message = &model->messages[i];
        if (message->share_at != 0 && !message->leaving && message->sender == sender &&
            (host == M_HOSTS || message->host == host)) {
            used[0]++;
            used[1] += m_bytes(model, message);
        }
    }
}

static bool is_over(const struct model *model, uint32_t host, uint32_t sender, uint64_t bytes,
                    uint64_t messages_max, uint64_t bytes_max)
{
    uint64_t used[2];

    usage_of(model, host, sender, used);
    messages_max = messages_max / 16 > 0 ? messages_max / 16 : 1;
    bytes_max = bytes_max / 16 > 0 ? bytes_max / 16 : 1;
    return used[0] > 0 && (used[0] + 1 > messages_max || used[1] + bytes > bytes_max);
}

static struct m_message *oldest_of(const struct model *model, uint32_t host, uint32_t sender)
{
    struct m_message *oldest = NULL;

    for (uint32_t i = 0; i < model->message_count; i++) {
        struct m_message *message = &model->messages[i];
        if (message->share_at != 0 && !message->leaving && message->sender == sender &&
            message->host == host && (oldest == NULL || message->share_at < oldest->share_at)) {
            oldest = message;
        }
    }
    return oldest;
}

bool m_share_room(struct model *model, uint32_t sender, bool may_evict, struct m_waiting *waiting)
{
    const struct config_host *own = model->hosts[waiting->host].config;
    const struct hearsay_limits *all = &model->config->limits;

    while (
        sender != 0 &&
        (is_over(model, waiting->host, sender, waiting->bytes, own->messages_max, own->bytes_max) ||
         is_over(model, M_HOSTS, sender, waiting->bytes, all->messages, all->bytes))) {
        struct m_message *oldest = oldest_of(model, waiting->host, sender);
        if (!may_evict || oldest == NULL || waiting->own_count == M_OWN) {
            m_share_release(model, waiting);
            return false;
        }
        oldest->leaving = true;
        waiting->own_messages++;
        waiting->own_bytes += m_bytes(model, oldest);
        memcpy(waiting->own_ids[waiting->own_count++], oldest->id, MESSAGE_ID_BYTES);
    }
    return true;
}

void m_share_release(struct model *model, const struct m_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->own_count; i++) {
        struct m_message *message = counted(model, waiting->host, waiting->own_ids[i]);
        if (message != NULL) {
            message->leaving = false;
        }
    }
}
