/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/bridge/apply.h"

/* Whether `used`, without what leaves, and `added` are within the cap. All are far below 2^63. */
static bool amount_fits(uint64_t used, uint64_t leaving, uint64_t added, uint64_t cap)
{
    return (used > leaving ? used - leaving : 0) + added <= cap;
}

static bool usage_fits(const struct usage *used, const struct usage *leaving, uint64_t bytes,
                       const struct usage *caps)
{
    return amount_fits(used->messages, leaving->messages, 1, caps->messages) &&
           amount_fits(used->bytes, leaving->bytes, bytes, caps->bytes);
}

/* Whether the host and the server have room for one more message. */
static bool has_room(const struct apply_job *job, uint64_t bytes)
{
    const struct hearsay_limits *limits = &job->base.service->config.limits;
    const struct host *host = job->base.host;
    struct usage of_host = {host->config.messages_max, host->config.bytes_max};
    struct usage of_all = {limits->messages, limits->bytes};

    return usage_fits(&host->usage, &job->leaving, bytes, &of_host) &&
           usage_fits(&job->base.service->usage, &job->leaving, bytes, &of_all);
}

/* Whether the change is a message that takes room: one that has expired is not stored. */
static bool takes_room(const struct apply_item *item)
{
    const struct persist_op *op = &item->op;

    return !item->is_left_out && op->change == PERSIST_CHANGE_MESSAGE &&
           op->as != PERSIST_AS_OPERATOR && !message_expired(op->message.expires_ms, op->now_ms) &&
           !host_has(item->job->base.host, op->message.id, INT64_MIN);
}

bool apply_count_messages(struct apply_job *job)
{
    struct host *host = job->base.host;

    job->refused = 0;
    for (size_t i = 0; i < job->item_count; i++) {
        struct apply_item *item = &job->items[i];
        uint32_t bytes = host_message_bytes(&item->op.message);

        if (item->is_counted) {
            continue;
        }
        item->is_refused = takes_room(item) && !has_room(job, bytes);
        item->is_counted = !item->is_refused && takes_room(item);
        job->refused += item->is_refused ? 1 : 0;
        if (item->is_counted) {
            service_count(job->base.service, host, bytes);
            usage_add(&host->waiting, bytes);
        }
    }
    return job->refused == 0;
}

/* --- room that the request itself frees ------------------------------------------------------- */

/* The bytes of a stored message, shown or hidden; false: there is none. */
static bool find_bytes(struct host *host, const uint8_t *id, uint32_t *out_bytes)
{
    const struct moderated *known = moderation_find(&host->moderation, id);
    struct index_item found;

    if (known != NULL) {
        *out_bytes = known->bytes;
        return true;
    }
    if (host_find(host, id, NULL, &found, NULL) == 0) {
        *out_bytes = found.bytes;
        return true;
    }
    return false;
}

/* Whether the change ends a message: an evicted one only at a copy (store/apply.c). */
static bool ends_message(const struct apply_item *item)
{
    const struct persist_op *op = &item->op;

    return !item->is_left_out && op->change == PERSIST_CHANGE_GONE &&
           (op->why != PERSIST_WHY_EVICTED || op->as == PERSIST_AS_REPLICA);
}

static bool is_repeated(const struct apply_job *job, size_t at)
{
    const uint8_t *id = job->items[at].op.message.id;

    for (size_t i = 0; i < at; i++) {
        if (ends_message(&job->items[i]) &&
            memcmp(job->items[i].op.message.id, id, MESSAGE_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void apply_credit_leaving(struct apply_job *job)
{
    uint32_t bytes;

    for (size_t i = 0; i < job->item_count; i++) {
        const struct apply_item *item = &job->items[i];

        if (ends_message(item) && find_bytes(job->base.host, item->op.message.id, &bytes) &&
            !is_repeated(job, i)) {
            usage_add(&job->leaving, bytes);
        }
    }
}
