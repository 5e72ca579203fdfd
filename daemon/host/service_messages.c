/* SPDX-License-Identifier: Apache-2.0 */
/* Adds, removes, hides and shows messages in memory: in index, counters, cache and moderation. */
#include <string.h>

#include "daemon/host/service.h"

void service_count(struct service *service, struct host *host, uint32_t bytes)
{
    usage_add(&host->usage, bytes);
    usage_add(&service->usage, bytes);
}

void service_uncount(struct service *service, struct host *host, uint32_t bytes)
{
    usage_subtract(&host->usage, bytes);
    usage_subtract(&service->usage, bytes);
}

int service_keep(struct service *service, struct host *host, const struct persist_message *message)
{
    struct moderated moderated = {
        .state = message->state,
        .reports = message->reports,
        .grave = message->grave,
        .texts_bytes = message->texts_bytes,
        .bytes = host_message_bytes(message),
        .sender = message->sender,
        .deposited_ms = message->deposited_ms,
        .expires_ms = message->expires_ms,
        .destroy_ms = message->destroy_ms,
        .removed_ms = message->removed_ms,
        .is_new = true,
    };
    bool is_known = message->state != PERSIST_SHOWN || message->reports > 0;
    int rc = 0;

    if (host_epoch(host, message->epoch) == NULL) {
        /* host_admit checks the epoch, too, but it is not called for a hidden message */
        return HOST_NO_EPOCH;
    }
    memcpy(moderated.id, message->id, MESSAGE_ID_BYTES);
    if (is_known) {
        host->has_news = true;
        rc = moderation_put(&host->moderation, &moderated);
    }
    if (rc == 0 && (message->state < PERSIST_HIDDEN || message->is_answer)) {
        rc = host_admit(host, message);
        if (rc != 0) {
            (void)moderation_remove(&host->moderation, message->id, NULL);
        }
    }
    if (rc == 0) {
        service_count(service, host, moderated.bytes);
    }
    return rc;
}

static void forget_one(struct service *service, struct host *host, const uint8_t *id)
{
    struct moderated moderated;
    struct index_item item;
    bool is_known = moderation_remove(&host->moderation, id, &moderated);

    if (host_remove(host, id, &item) == 0) {
        service_uncount(service, host, item.bytes);
    } else if (is_known) { /* it is hidden */
        service_uncount(service, host, moderated.bytes);
    }
    shares_remove(&host->shares, id);
    cache_drop(service->cache, host->number, id);
}

void service_forget(struct service *service, struct host *host, const uint8_t *id)
{
    const struct answered *answered = NULL;
    uint8_t answer[MESSAGE_ID_BYTES];

    forget_one(service, host, id);
    while ((answered = answers_of(&host->answers, id)) != NULL) {
        memcpy(answer, answered->first->item.id, MESSAGE_ID_BYTES);
        forget_one(service, host, answer);
    }
}

void service_forget_removed(struct service *service, const struct persist_op *op)
{
    for (uint32_t i = 0; i < op->removed_count; i++) {
        struct host *host = service_host_numbered(service, op->removed[i].host);
        if (host != NULL) {
            service_forget(service, host, op->removed[i].id);
        }
    }
}

void service_hide(struct service *service, struct host *host, const uint8_t *id)
{
    host_hide(host, id);
    cache_drop(service->cache, host->number, id);
}

void service_withhold(struct service *service, struct host *host,
                      const struct persist_message *message)
{
    struct moderated *known = moderation_find(&host->moderation, message->id);
    struct index_item item;

    if (known == NULL && host_item(host, message->id, &item)) {
        known = moderation_take(&host->moderation, &item);
    }
    if (known == NULL) {
        service_forget(service, host, message->id);
        log_warning("memory is short: a hidden message can be restored after the next start only");
        return;
    }
    known->state = message->state;
    known->reports = message->reports;
    known->destroy_ms = message->destroy_ms;
    known->removed_ms = message->removed_ms;
    service_hide(service, host, message->id);
}

int service_show(struct host *host, const struct persist_message *message)
{
    const struct moderated *moderated = moderation_find(&host->moderation, message->id);
    struct persist_message shown = *message;

    shown.state = PERSIST_APPROVED;
    if (moderated != NULL) {
        shown.sender = moderated->sender;
    }
    return host_admit(host, &shown);
}
