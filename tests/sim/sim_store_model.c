/* SPDX-License-Identifier: Apache-2.0 */
/* sim_store_model: what the store says to operations: see daemon/store/persist.h. */
#include <string.h>

#include "tests/sim/sim_check.h"
#include "tests/sim/sim_model.h"

static struct m_tombstone *find_tombstone(struct model *model, uint32_t host, const uint8_t *id)
{
    for (uint32_t i = 0; i < model->tombstone_count; i++) {
        struct m_tombstone *tombstone = &model->tombstones[i];
        if (tombstone->host == host && memcmp(tombstone->id, id, MESSAGE_ID_BYTES) == 0) {
            return tombstone;
        }
    }
    return NULL;
}

static void put_tombstone(struct model *model, const struct m_message *message)
{
    struct m_tombstone *tombstone = find_tombstone(model, message->host, message->id);

    if (tombstone == NULL) {
        SIM_CHECK(model->tombstone_count < M_TOMBSTONES);
        tombstone = &model->tombstones[model->tombstone_count++];
    }
    tombstone->host = message->host;
    memcpy(tombstone->id, message->id, MESSAGE_ID_BYTES);
    tombstone->expires_ms = message->expires_ms;
}

static bool same_content(const struct m_message *a, const struct m_message *b)
{
    return a->epoch == b->epoch && memcmp(a->filter, b->filter, M_FILTER_BYTES) == 0 &&
           a->payload == b->payload && a->reach_ppm == b->reach_ppm &&
           a->can_withdraw == b->can_withdraw && (!a->can_withdraw || a->token == b->token);
}

/* Who goes first; NULL: nobody can. */
static struct m_message *next_to_go(struct model *model, const struct m_message *but,
                                    enum persist_evict order)
{
    struct m_message *next = NULL;

    for (uint32_t i = 0; i < model->message_count; i++) {
        struct m_message *one = &model->messages[i];
        if (!one->stored || one == but || one->host != but->host) {
            continue;
        }
        const bool is_sooner =
            next == NULL || (order == PERSIST_EVICT_SOONEST && one->expires_ms != next->expires_ms
                                 ? one->expires_ms < next->expires_ms
                                 : one->seq < next->seq);
        next = is_sooner ? one : next;
    }
    return next;
}

/* Whether enough of them can go; then they have. */
static bool make_room(struct model *model, const struct m_message *message,
                      const struct persist_op *op, uint32_t *out_evicted, uint32_t *out_count)
{
    uint64_t messages = 0;
    uint64_t bytes = 0;

    *out_count = 0;
    for (uint32_t i = 0; i < op->chosen_count; i++) {
        struct m_message *chosen =
            m_stored(model, message->host, op->chosen + (size_t)i * MESSAGE_ID_BYTES);
        if (chosen != NULL && chosen != message) {
            chosen->stored = false;
            out_evicted[(*out_count)++] = (uint32_t)(chosen - model->messages);
        }
    }
    while (messages < op->evict_messages || bytes < op->evict_bytes) {
        struct m_message *next = next_to_go(model, message, op->evict);
        if (next == NULL || *out_count == op->limit) {
            for (uint32_t i = 0; i < *out_count; i++) {
                model->messages[out_evicted[i]].stored = true;
            }
            *out_count = 0;
            return false;
        }
        next->stored = false;
        messages++;
        bytes += m_bytes(model, next);
        out_evicted[(*out_count)++] = (uint32_t)(next - model->messages);
    }
    return true;
}

enum persist_outcome m_deposit(struct model *model, struct m_message *message,
                               const struct persist_op *op, uint32_t *out_evicted,
                               uint32_t *out_evicted_count, struct m_message **out_there)
{
    struct m_message *there = m_stored(model, message->host, message->id);
    const struct m_tombstone *tombstone = find_tombstone(model, message->host, message->id);

    *out_there = there;
    *out_evicted_count = 0;
    if (tombstone != NULL && tombstone->expires_ms > op->now_ms) {
        return PERSIST_GONE;
    }
    if (there != NULL && there->expires_ms > op->now_ms) {
        return same_content(there, message) ? PERSIST_DUPLICATE : PERSIST_CONFLICT;
    }
    if (there != NULL) {
        there->stored = false;
    }
    message->seq = ++model->seq;
    message->stored = true;
    if ((op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0) &&
        !make_room(model, message, op, out_evicted, out_evicted_count)) {
        message->stored = false;
        return PERSIST_FULL;
    }
    return PERSIST_APPLIED;
}

enum persist_outcome m_withdraw(struct model *model, uint32_t host, const uint8_t *id,
                                uint32_t token, int64_t now_ms)
{
    struct m_message *message = m_stored(model, host, id);

    if (message == NULL || message->expires_ms <= now_ms) {
        return PERSIST_NOT_FOUND;
    }
    if (!message->can_withdraw || message->token != token) {
        return PERSIST_FORBIDDEN;
    }
    message->stored = false;
    put_tombstone(model, message);
    return PERSIST_APPLIED;
}

enum persist_outcome m_remove(struct model *model, uint32_t host, const uint8_t *id, bool ban,
                              int64_t now_ms)
{
    struct m_message *message = m_stored(model, host, id);

    if (message == NULL || message->expires_ms <= now_ms) {
        return PERSIST_NOT_FOUND;
    }
    message->stored = false;
    message->removed = true;
    put_tombstone(model, message);
    if (ban) {
        struct m_ban rule = {.is_payload = true, .since_ms = now_ms};
        m_payload_hash(message->payload, rule.value);
        m_put_ban(&model->hosts[host], &rule);
    }
    return PERSIST_APPLIED;
}

static void add_reason(struct m_message *message, uint32_t reason)
{
    if (reason == 0) {
        return;
    }
    if (message->reason_count == M_REASONS) {
        memmove(message->reasons, message->reasons + 1, (M_REASONS - 1) * sizeof(uint32_t));
        message->reason_count--;
    }
    message->reasons[message->reason_count++] = reason;
}

enum persist_outcome m_moderate(struct model *model, uint32_t host, const uint8_t *id,
                                int64_t deposited_ms, enum persist_state state, uint32_t reports,
                                uint32_t reason, int64_t now_ms, int64_t *out_shown_seq)
{
    struct m_message *message = m_stored(model, host, id);

    *out_shown_seq = 0;
    if (message == NULL || message->expires_ms <= now_ms || message->deposited_ms != deposited_ms) {
        return PERSIST_NOT_FOUND;
    }
    if (reports == 0 && message->state >= PERSIST_HIDDEN && state < PERSIST_HIDDEN) {
        *out_shown_seq = message->seq = ++model->seq;
    }
    if (reports == 0 || (state == PERSIST_HIDDEN && message->state == PERSIST_SHOWN)) {
        message->state = state; /* reports hide only what nobody has decided on */
    }
    if (reports > message->reports) {
        message->reports = reports;
        add_reason(message, reason);
    }
    return PERSIST_APPLIED;
}

uint32_t m_expire(struct model *model, int64_t now_ms)
{
    uint32_t count = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < model->message_count; i++) {
        struct m_message *message = &model->messages[i];
        if (message->stored && message->expires_ms <= now_ms) {
            message->stored = false;
            count++;
        }
    }
    for (uint32_t i = 0; i < model->tombstone_count; i++) {
        if (model->tombstones[i].expires_ms > now_ms) {
            model->tombstones[kept++] = model->tombstones[i];
        }
    }
    model->tombstone_count = kept;
    for (size_t h = 0; h < model->config->host_count; h++) {
        for (uint32_t e = 0; e < model->hosts[h].epoch_count; e++) {
            struct m_epoch *epoch = &model->hosts[h].epochs[e];
            epoch->stored = epoch->stored && epoch->kept_ms > now_ms;
        }
    }
    SIM_CHECK(count < PERSIST_EXPIRE_MAX);
    return count;
}
