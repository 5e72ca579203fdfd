/* SPDX-License-Identifier: Apache-2.0 */
/* fake_persist_feed: changes, and states of other stores (persist_change). */
#include "tests/lib/fake_persist_inner.h"

#include <stdlib.h>
#include <string.h>

bool fake_replicates(const struct fake *fake, uint32_t host)
{
    for (size_t i = 0; i < fake->replicating_count; i++) {
        if (fake->replicating[i] == host) {
            return true;
        }
    }
    return false;
}

enum persist_outcome fake_replicate(struct fake *fake, const struct persist_op *op)
{
    const uint32_t host = op->message.host;

    if (fake_replicates(fake, host) == op->replicate) {
        return PERSIST_DUPLICATE;
    }
    if (op->replicate) {
        if (fake->replicating_count == FAKE_HOSTS_MAX) {
            abort();
        }
        fake->replicating[fake->replicating_count++] = host;
        return PERSIST_APPLIED;
    }
    for (size_t i = 0; i < fake->replicating_count; i++) {
        if (fake->replicating[i] == host) {
            fake->replicating[i] = fake->replicating[--fake->replicating_count];
        }
    }
    return PERSIST_APPLIED;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void forget_evicted(struct fake *fake, const struct persist_message *message)
{
    for (size_t i = fake->evicted_count; i-- > 0;) {
        if (fake->evicted[i].message.host == message->host &&
            memcmp(fake->evicted[i].message.id, message->id, MESSAGE_ID_BYTES) == 0 &&
            fake->evicted[i].message.expires_ms <= message->expires_ms) {
            fake->evicted[i] = fake->evicted[--fake->evicted_count];
        }
    }
}

void fake_note_change(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);

    if (op->kind == PERSIST_DEPOSIT) {
        forget_evicted(fake, &op->message);
    }
    if (stored == NULL || stored->message.epoch != 0 || stored->message.is_answer ||
        !fake_replicates(fake, op->message.host)) {
        return;
    }
    switch (op->kind) {
    case PERSIST_WITHDRAW:
    case PERSIST_REMOVE:
        stored->change_seq = ++fake->last_seq;
        stored->why = stored->removed ? PERSIST_WHY_REMOVED : PERSIST_WHY_WITHDRAWN;
        break;
    case PERSIST_WITHHOLD:
        stored->change_seq = ++fake->last_seq;
        stored->why = stored->removed ? PERSIST_WHY_REMOVED : 0;
        break;
    case PERSIST_MODERATE:
        stored->change_seq = op->shown_seq != 0 ? 0 : ++fake->last_seq;
        break;
    default:
        break;
    }
}

/* --- states of other stores ------------------------------------------------------------------- */

static bool is_mark(const struct fake_message *stored)
{
    return stored->withdrawn || stored->removed;
}

static enum persist_outcome put_state(struct fake *fake, struct persist_op *op)
{
    forget_evicted(fake, &op->message);
    (void)fake_put(fake, &op->message);
    return PERSIST_APPLIED;
}

static enum persist_outcome apply_message(struct fake *fake, struct persist_op *op)
{
    struct persist_message *message = &op->message;
    struct fake_message *stored = fake_find(fake, message->host, message->id);

    if (message->expires_ms <= op->now_ms) {
        const bool is_over = op->as == PERSIST_AS_REPLICA && stored != NULL && !is_mark(stored) &&
                             stored->message.expires_ms > op->now_ms &&
                             fake_same_content(&stored->message, message);
        if (is_over) {
            fake_drop(fake, stored);
        }
        return is_over ? PERSIST_APPLIED : PERSIST_DUPLICATE;
    }
    if (stored == NULL || stored->message.expires_ms <= op->now_ms) {
        return put_state(fake, op);
    }
    if (is_mark(stored)) {
        const bool is_shown =
            op->as == PERSIST_AS_REPLICA && stored->removed &&
            (message->state == PERSIST_APPROVED || message->state == PERSIST_WITHHELD);
        return is_shown ? put_state(fake, op) : PERSIST_DUPLICATE;
    }
    if (!fake_same_content(&stored->message, message)) {
        return PERSIST_CONFLICT;
    }
    if (op->as == PERSIST_AS_RESTORE && stored->message.state >= PERSIST_HIDDEN &&
        message->state < PERSIST_HIDDEN) {
        message->state = stored->message.state;
    }
    if (stored->message.deposited_ms != message->deposited_ms ||
        stored->message.expires_ms != message->expires_ms ||
        (stored->message.state >= PERSIST_HIDDEN && message->state < PERSIST_HIDDEN)) {
        return put_state(fake, op);
    }
    if (stored->message.state == message->state && stored->message.reports == message->reports) {
        return PERSIST_DUPLICATE;
    }
    stored->message.state = message->state;
    stored->message.reports = message->reports;
    stored->change_seq = fake_replicates(fake, message->host) ? ++fake->last_seq : 0;
    message->seq = stored->seq;
    return PERSIST_APPLIED;
}

/* A decision of an operator about a message that is stored. */
static enum persist_outcome decide(struct fake *fake, struct persist_op *op)
{
    struct persist_message *message = &op->message;
    struct fake_message *stored = fake_find(fake, message->host, message->id);

    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms ||
        (stored->removed && message->state == PERSIST_WITHHELD) ||
        (!stored->removed && stored->message.state == message->state)) {
        return PERSIST_DUPLICATE;
    }
    const bool is_shown =
        stored->message.state >= PERSIST_HIDDEN && message->state < PERSIST_HIDDEN;
    stored->message.state = message->state;
    stored->message.destroy_ms = 0;
    stored->removed = false;
    stored->why = 0;
    stored->change_seq = 0;
    if (is_shown) {
        op->shown_seq = stored->seq = stored->message.seq = ++fake->last_seq;
    } else if (fake_replicates(fake, message->host)) {
        stored->change_seq = ++fake->last_seq;
    }
    message->seq = stored->seq;
    message->deposited_ms = stored->message.deposited_ms;
    message->expires_ms = stored->message.expires_ms;
    message->reports = stored->message.reports;
    return PERSIST_APPLIED;
}

static enum persist_outcome apply_gone(struct fake *fake, struct persist_op *op)
{
    struct persist_message *message = &op->message;
    struct fake_message *stored = fake_find(fake, message->host, message->id);
    const bool was_here = stored != NULL && !stored->withdrawn;

    if (op->why == PERSIST_WHY_EVICTED) {
        const bool is_removed = stored != NULL && stored->removed;
        if (op->as != PERSIST_AS_REPLICA || (!was_here && !is_removed)) {
            return PERSIST_DUPLICATE;
        }
        fake_drop(fake, stored);
        return PERSIST_APPLIED;
    }
    if (message->expires_ms <= op->now_ms && !was_here) {
        return PERSIST_DUPLICATE;
    }
    if (stored != NULL && stored->withdrawn && stored->message.expires_ms >= message->expires_ms &&
        (stored->removed || op->why == PERSIST_WHY_WITHDRAWN)) {
        return PERSIST_DUPLICATE;
    }
    if (stored == NULL) {
        static const uint8_t nothing[1];
        struct persist_message mark = {.host = message->host, .expires_ms = message->expires_ms};
        memcpy(mark.id, message->id, MESSAGE_ID_BYTES);
        mark.filter = mark.payload = nothing;
        mark.media_type = (const char *)nothing;
        stored = fake_put(fake, &mark);
    }
    if (message->expires_ms > stored->message.expires_ms) {
        stored->message.expires_ms = message->expires_ms;
    }
    stored->withdrawn = true;
    stored->removed = stored->removed || op->why == PERSIST_WHY_REMOVED;
    stored->message.destroy_ms = 0;
    if (fake_replicates(fake, message->host)) {
        stored->change_seq = ++fake->last_seq;
        stored->why = stored->removed ? PERSIST_WHY_REMOVED : PERSIST_WHY_WITHDRAWN;
    }
    return PERSIST_APPLIED;
}

static enum persist_outcome apply_rule(struct fake *fake, const struct persist_op *op)
{
    const struct persist_rule *rule = op->rule;
    const struct fake_rule *stored = fake_find_rule(fake, rule);

    if ((rule->until_ms != 0 && rule->until_ms <= op->now_ms) ||
        (stored != NULL && (stored->rule.created_ms > rule->created_ms ||
                            (stored->rule.created_ms == rule->created_ms &&
                             stored->rule.dropped >= rule->dropped)))) {
        return PERSIST_DUPLICATE;
    }
    return fake_put_rule(fake, rule);
}

enum persist_outcome fake_apply_state(struct fake *fake, struct persist_op *op)
{
    op->shown_seq = 0;
    switch (op->change) {
    case PERSIST_CHANGE_MESSAGE:
        return op->as == PERSIST_AS_OPERATOR ? decide(fake, op) : apply_message(fake, op);
    case PERSIST_CHANGE_GONE:
        return apply_gone(fake, op);
    case PERSIST_CHANGE_RULE:
        return apply_rule(fake, op);
    }
    abort();
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns a change that borrows from `stored`; its number is 0 if copies do not get the message. */
static struct persist_change message_change(const struct fake_message *stored)
{
    struct persist_change change = {.kind = PERSIST_CHANGE_MESSAGE, .message = stored->message};

    change.seq = stored->change_seq != 0 ? stored->change_seq : stored->seq;
    change.message.seq = stored->seq;
    if (is_mark(stored)) {
        change = (struct persist_change){.kind = PERSIST_CHANGE_GONE,
                                         .seq = stored->why == 0 ? 0 : stored->change_seq,
                                         .why = stored->why};
        change.message.host = stored->message.host;
        change.message.expires_ms = stored->message.expires_ms;
        memcpy(change.message.id, stored->message.id, MESSAGE_ID_BYTES);
    }
    return change;
}

static void choose(const struct persist_read *read, const struct persist_change *change,
                   struct persist_change *next)
{
    const uint32_t host =
        change->kind == PERSIST_CHANGE_RULE ? change->rule.host : change->message.host;

    if (host == read->page_host && change->message.epoch == 0 && !change->message.is_answer &&
        change->seq > read->page_last && (next->seq == 0 || change->seq < next->seq)) {
        *next = *change;
    }
}

/* The next change behind read->page_last; seq 0: there is none. */
static struct persist_change next_change(const struct fake *fake, const struct persist_read *read)
{
    struct persist_change next = {.seq = 0};

    for (size_t i = 0; i < fake->count; i++) {
        const struct persist_change change = message_change(&fake->messages[i]);
        choose(read, &change, &next);
    }
    for (size_t i = 0; i < fake->evicted_count; i++) {
        choose(read, &fake->evicted[i], &next);
    }
    for (size_t i = 0; i < fake->rule_count; i++) {
        const struct persist_change change = {.kind = PERSIST_CHANGE_RULE,
                                              .seq = fake->rules[i].rule.seq,
                                              .rule = fake->rules[i].rule};
        choose(read, &change, &next);
    }
    return next;
}

void fake_read_changes(struct fake *fake, struct persist_read *read)
{
    const size_t room = read->change_count;
    struct persist_change next;
    size_t bytes = 0;

    read->change_count = 0;
    read->page_last = read->page_after;
    while ((next = next_change(fake, read)).seq != 0) {
        bytes += fake_content_bytes(&next.message) + next.rule.value_bytes;
        if (read->change_count == room ||
            (read->change_count > 0 && bytes > read->page_bytes_limit)) {
            break;
        }
        if (next.kind == PERSIST_CHANGE_MESSAGE) {
            const struct persist_message stored = next.message; /* its bytes are copied */
            fake_copy_message(&stored, fake_read_room(read), &next.message);
        } else if (next.kind == PERSIST_CHANGE_RULE) {
            uint8_t *value = fake_read_room(read);
            memcpy(value, next.rule.value, next.rule.value_bytes);
            next.rule.value = value;
        }
        read->changes[read->change_count++] = next;
        read->page_last = next.seq;
    }
    read->page_more = next.seq != 0;
}
