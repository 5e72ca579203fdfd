/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/bridge/apply.h"
#include "daemon/watch/watch.h"

/* Tells the watches the number of a message; is_new: the message has become visible. */
static void tell_watches(const struct apply_item *item, const struct persist_message *message,
                         bool is_new)
{
    const struct job *job = &item->job->base;

    if (is_new) {
        watch_found(job->service, job->host, message);
    } else if (message->seq > job->service->watch->newest_seq) {
        watch_numbered(job->service, job->host, NULL, message->seq);
    }
}

static void warn_memory(void)
{
    log_warning("memory is short: a message that a bridge has brought is found after the next "
                "start only");
}

/* A message of the owner, or of this host's earlier store. Memory gets it anew. */
static void take_message(struct apply_item *item)
{
    const struct persist_message *message = &item->op.message;
    struct service *service = item->job->base.service;
    struct host *host = item->job->base.host;

    bool was_shown = host_find(host, message->id, NULL, NULL, NULL) == 0;
    bool is_shown = message->state < PERSIST_HIDDEN;
    if (host_has(host, message->id, INT64_MIN)) {
        service_forget(service, host, message->id);
    }
    if (message_expired(message->expires_ms, item->op.now_ms)) {
        metrics_note_left(&service->metrics, LEFT_EXPIRED, 1);
        return; /* the store has deleted the message */
    }
    if (message->state == PERSIST_APPROVED) {
        removed_drop(&host->removed, message->id);
    }
    if (service_keep(service, host, message) != 0) {
        watch_missed(service, host);
        warn_memory();
        return;
    }
    if (is_shown) {
        service_remember(service, message);
    }
    tell_watches(item, message, is_shown && !was_shown);
    wait_tell(service, host);
}

/* An operator has decided about a message elsewhere. */
static void take_decision(struct apply_item *item)
{
    const struct persist_message *message = &item->op.message;
    struct service *service = item->job->base.service;
    struct host *host = item->job->base.host;
    struct index_item found;

    if (message->state >= PERSIST_HIDDEN) {
        service_withhold(service, host, message);
        tell_watches(item, message, false);
        return;
    }
    struct moderated *known = moderation_find(&host->moderation, message->id);
    bool is_shown = host_find(host, message->id, NULL, &found, NULL) == 0;
    if (known == NULL && is_shown) {
        known = moderation_take(&host->moderation, &found);
    }
    if (known != NULL) {
        known->state = message->state;
        known->reports = message->reports;
        known->destroy_ms = known->removed_ms = 0;
    }
    removed_drop(&host->removed, message->id);
    item->shall_show = !is_shown;
    if (is_shown) {
        tell_watches(item, message, false);
    }
}

static void take_gone(struct apply_item *item)
{
    static const enum departure lefts[] = {
        [PERSIST_WHY_WITHDRAWN] = LEFT_WITHDRAWN,
        [PERSIST_WHY_REMOVED] = LEFT_REMOVED,
        [PERSIST_WHY_EVICTED] = LEFT_EVICTED,
    };
    const struct persist_op *op = &item->op;
    struct service *service = item->job->base.service;
    struct host *host = item->job->base.host;

    if (host_has(host, op->message.id, INT64_MIN)) {
        service_forget(service, host, op->message.id);
        metrics_note_left(&service->metrics, lefts[op->why], 1);
    }
    if (op->why == PERSIST_WHY_REMOVED &&
        removed_put(&host->removed, host->alloc, op->message.id, op->message.expires_ms) != 0) {
        log_warning("memory is short: `get` says of a removed message that there is none");
    }
}

static void take_rule(struct apply_item *item)
{
    struct service *service = item->job->base.service;
    struct host *host = item->job->base.host;

    if (item->rule.dropped) {
        rules_drop(&host->rules, &item->rule);
    } else if (rules_put(&host->rules, &item->rule) != 0) {
        log_warning("memory is short: a rule that a bridge has brought is in force after the next "
                    "start only");
    }
    if (service->control != NULL && service->control->host_changed != NULL) {
        service->control->host_changed(service->control->context);
    }
}

void apply_take_effect(struct apply_item *item)
{
    switch (item->op.change) {
    case PERSIST_CHANGE_MESSAGE:
        if (item->op.as == PERSIST_AS_OPERATOR) {
            take_decision(item);
        } else {
            take_message(item);
        }
        return;
    case PERSIST_CHANGE_GONE:
        take_gone(item);
        return;
    default:
        take_rule(item);
        return;
    }
}

static const struct persist_message *find_entry(const struct apply_job *job, const uint8_t *id)
{
    for (size_t i = 0; i < job->read.entry_count; i++) {
        if (job->entries[i].found &&
            memcmp(job->entries[i].message.id, id, MESSAGE_ID_BYTES) == 0) {
            return &job->entries[i].message;
        }
    }
    return NULL;
}

void apply_show(struct apply_job *job)
{
    struct host *host = job->base.host;

    for (size_t i = 0; i < job->item_count; i++) {
        struct apply_item *item = &job->items[i];
        const struct persist_message *message =
            item->shall_show ? find_entry(job, item->op.message.id) : NULL;
        const struct moderated *known = moderation_find(&host->moderation, item->op.message.id);

        /* Another decision may have come meanwhile, or the message may be gone. */
        if (message == NULL || known == NULL || known->state >= PERSIST_HIDDEN) {
            continue;
        }
        if (service_show(host, message) != 0) {
            watch_missed(job->base.service, host);
            warn_memory();
        } else {
            struct persist_message numbered = *message;
            numbered.seq = item->op.message.seq;
            tell_watches(item, &numbered, true);
        }
    }
}
