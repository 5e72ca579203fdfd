/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apply: brings the states of another store into this one. All changes of a request go to the store
 * at once, in their order; the answer comes when all are done. Bans and notices that have no room
 * go there when the others are done, because these may have dropped some. What has no room then
 * does not go there; the answer counts it, and the bridge sends it again later.
 */
#include "daemon/handler/bridge/apply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "daemon/handler/bridge.h"
#include "daemon/system/container.h"

static const char *const rule_names[] = {
    [PERSIST_BAN_PAYLOAD] = "a ban of a text",
    [PERSIST_BAN_FILTER] = "a ban of labels",
    [PERSIST_ACCEPT] = "which messages are accepted",
    [PERSIST_NOTICE] = "a notice",
};

static void free_entries(struct job *job)
{
    struct apply_job *apply = CONTAINER_OF(job, struct apply_job, base);

    alloc_release(job->service->alloc, apply->entries);
}

/* --- after the store -------------------------------------------------------------------------- */

static void answer_apply(struct apply_job *job)
{
    struct hearsay_response response = {
        .id = job->base.request_id,
        .kind = HEARSAY_RESPONSE_APPLIED,
        .applied = job->applied,
    };

    response.applied.no_room = job->refused;
    job->base.host->feed.conflicts += job->applied.conflicts;
    if (job->failed != PERSIST_APPLIED) {
        job_fail_storage(&job->base, "changes of another server were not applied", job->reason,
                         "the message store could not write to its storage; send the changes "
                         "again later");
        return;
    }
    job_finish(&job->base, &response);
}

static void on_marked(struct persist_op *op)
{
    struct apply_job *job = CONTAINER_OF(op, struct apply_job, mark);

    if (op->outcome != PERSIST_APPLIED) {
        job_fail_write(&job->base, op->reason);
        return;
    }
    (void)rules_put(&job->base.host->rules, &job->mark_rule); /* needs no memory */
    log_info("host %s: the messages of the copies are back", job->base.host->config.name);
    answer_apply(job);
}

/* All changes are done: marks the host as restored if the request says so. */
static void mark_or_answer(struct apply_job *job)
{
    struct host *host = job->base.host;

    if (!job->restored || job->failed != PERSIST_APPLIED || job->refused > 0 ||
        !host_is_restoring(host)) {
        answer_apply(job);
        return;
    }
    job->mark_rule = (struct persist_rule){
        .host = host->number,
        .kind = PERSIST_RESTORED,
        .value = (const uint8_t *)"",
        .created_ms = service_now_ms(job->base.service),
    };
    job->mark = (struct persist_op){
        .kind = PERSIST_RULE_PUT,
        .rule = &job->mark_rule,
        .now_ms = job->mark_rule.created_ms,
        .done = on_marked,
    };
    job_submit(&job->base, &job->mark);
}

static void on_read(struct persist_read *read)
{
    struct apply_job *job = CONTAINER_OF(read, struct apply_job, read);

    if (read->failed) {
        job_fail_read(&job->base, read->reason);
        return;
    }
    apply_show(job);
    mark_or_answer(job);
}

/* All operations are done: reads the messages that have become visible, whose filters are needed.
 */
static void finish_all(struct apply_job *job)
{
    size_t count = 0;

    for (size_t i = 0; i < job->item_count; i++) {
        count += job->items[i].shall_show;
    }
    if (count == 0) {
        mark_or_answer(job);
        return;
    }
    job->entries = alloc_zeroed(job->base.service->alloc, count, sizeof(*job->entries));
    if (job->entries == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    job->read.kind = PERSIST_READ_PAYLOADS;
    job->read.entries = job->entries;
    job->read.done = on_read;
    for (size_t i = 0; i < job->item_count; i++) {
        if (job->items[i].shall_show) {
            struct persist_message *wanted = &job->entries[job->read.entry_count++].message;
            wanted->host = job->base.host->number;
            memcpy(wanted->id, job->items[i].op.message.id, MESSAGE_ID_BYTES);
        }
    }
    job_read(&job->base, &job->read);
}

/* The owner knows what an operator decided here, and has decided otherwise. */
static void note_not_kept(struct apply_item *item)
{
    const struct persist_op *op = &item->op;
    const char *host = item->job->base.host->config.name;
    char hex[2 * MESSAGE_ID_BYTES + 1] = "";

    item->job->applied.not_kept++;
    if (op->change == PERSIST_CHANGE_RULE) {
        log_warning(
            "host %s: the owner does not keep what an operator decided here about %s: it has "
            "decided otherwise",
            host, rule_names[op->rule->kind]);
    } else {
        (void)sodium_bin2hex(hex, sizeof(hex), op->message.id, MESSAGE_ID_BYTES);
        log_warning("host %s: the owner does not keep what an operator decided here about message "
                    "%s: %s",
                    host, hex,
                    op->change == PERSIST_CHANGE_GONE ? "the message is gone there"
                                                      : "it has decided otherwise");
    }
}

static void end_operation(struct apply_job *job);

static void on_applied(struct persist_op *op)
{
    struct apply_item *item = CONTAINER_OF(op, struct apply_item, op);
    struct apply_job *job = item->job;

    if (item->is_counted) {
        service_uncount(job->base.service, job->base.host, host_message_bytes(&op->message));
        usage_subtract(&job->base.host->waiting, host_message_bytes(&op->message));
    }
    rules_give_number(&job->base.host->rules, item->taken_number);
    if (op->verdict == PERSIST_NOT_KEPT) {
        note_not_kept(item);
    }
    switch (op->outcome) {
    case PERSIST_APPLIED:
        job->applied.changed++;
        apply_take_effect(item);
        break;
    case PERSIST_DUPLICATE:
        break;
    case PERSIST_CONFLICT:
        job->applied.conflicts++;
        break;
    default:
        job->failed = op->outcome;
        (void)snprintf(job->reason, sizeof(job->reason), "%s",
                       op->reason != NULL ? op->reason : "failed");
        break;
    }
    end_operation(job);
}

static void submit_item(struct apply_job *job, struct apply_item *item)
{
    if (item->is_left_out || item->is_refused) {
        job->applied.conflicts += item->is_left_out ? 1 : 0;
        return;
    }
    job->pending++;
    if (job->base.writing_bytes == 0) {
        job_write(&job->base, &item->op);
    } else {
        job_submit(&job->base, &item->op);
    }
}

static void submit_all(struct apply_job *job)
{
    job->pending = 1; /* this function */
    for (size_t i = 0; i < job->item_count; i++) {
        if (job->items[i].is_late) {
            job->late++;
        } else {
            submit_item(job, &job->items[i]);
        }
    }
    end_operation(job);
}

/* Whether a later change of the request is about the same rule, and has been carried out. */
static bool is_superseded(const struct apply_job *job, size_t at)
{
    const struct persist_rule *rule = &job->items[at].rule;

    for (size_t i = at + 1; i < job->item_count; i++) {
        const struct persist_rule *other = &job->items[i].rule;

        if (job->items[i].op.change == PERSIST_CHANGE_RULE && other->kind == rule->kind &&
            other->value_bytes == rule->value_bytes &&
            memcmp(other->value, rule->value, rule->value_bytes) == 0) {
            return true;
        }
    }
    return false;
}

static void submit_late(struct apply_job *job)
{
    job->late = job->bans = 0;
    job->pending = 1; /* this function */
    for (size_t i = 0; i < job->item_count; i++) {
        if (job->items[i].is_late && !is_superseded(job, i)) {
            apply_fill_late(&job->items[i]);
            submit_item(job, &job->items[i]);
        }
    }
    end_operation(job);
}

static void end_operation(struct apply_job *job)
{
    if (--job->pending > 0) {
        return;
    }
    if (job->late > 0 && job->failed == PERSIST_APPLIED) {
        submit_late(job);
    } else {
        finish_all(job);
    }
}

/* --- room ------------------------------------------------------------------------------------- */

static void make_room(struct apply_job *job);

static void on_expired(struct persist_op *op)
{
    struct apply_job *job = CONTAINER_OF(op, struct apply_job, expiry);

    service_take_expiry(job->base.service, op);
    if (!apply_count_messages(job) && op->outcome == PERSIST_APPLIED &&
        op->removed_count == op->limit) {
        make_room(job);
        return;
    }
    apply_credit_leaving(job);
    (void)apply_count_messages(job);
    submit_all(job);
}

/* Some messages have no room: what has expired goes first. Like service_sweep, which may not have
 * come to it. */
static void make_room(struct apply_job *job)
{
    struct service *service = job->base.service;

    job->expiry = (struct persist_op){
        .kind = PERSIST_EXPIRE,
        .now_ms = service_now_ms(service),
        .decided_before_ms =
            service_now_ms(service) - (int64_t)service->config.moderation_log_keep_s * 1000,
        .removed = job->expired,
        .limit = PERSIST_EXPIRE_MAX,
        .done = on_expired,
    };
    job_submit(&job->base, &job->expiry);
}

/* --- the request ------------------------------------------------------------------------------ */

/* A change does not fit here. The others are applied: a copy with all but one is better than none.
 */
static void leave_out(struct apply_item *item, const struct hearsay_change *change,
                      const struct msg_error *error)
{
    struct host *host = item->job->base.host;
    const struct hearsay_bytes *id = change->has_message ? &change->message.id : &change->gone.id;
    char hex[2 * MESSAGE_ID_BYTES + 1] = "";
    uint64_t withheld = 0;

    item->is_left_out = true;
    if (log_gate_opens(&host->feed.gate, service_monotonic_ms(item->job->base.service),
                       &withheld)) {
        (void)sodium_bin2hex(hex, sizeof(hex), id->data, id->count);
        log_warning("host %s: a change from a bridge is left out: %s%s%s: %s (%" PRIu64
                    " more since this was last said)",
                    host->config.name, error->field, hex[0] != '\0' ? " of " : "", hex,
                    error->message, withheld);
    }
}

void handler_apply(struct ask *ask)
{
    const struct hearsay_apply *asked = &ask->request->apply;
    size_t count = asked->change_count;

    if (!apply_check(ask)) {
        return;
    }
    struct apply_job *job =
        job_new(ask, sizeof(*job) + count * sizeof(job->items[0]), apply_content_bytes(asked));
    if (job == NULL) {
        return;
    }
    job->base.deinit = free_entries;
    job->as = (enum persist_as)asked->as;
    job->restored = asked->restored;
    job->failed = PERSIST_APPLIED;
    job->item_count = count;
    uint8_t *at = (uint8_t *)&job->items[count];
    for (size_t i = 0; i < count; i++) {
        struct msg_error error;
        job->items[i].job = job;
        job->items[i].op.now_ms = service_now_ms(ask->service);
        job->items[i].op.done = on_applied;
        if (apply_fits(ask, &asked->changes[i], &error)) {
            at = apply_fill(&job->items[i], &asked->changes[i], at);
        } else {
            leave_out(&job->items[i], &asked->changes[i], &error);
        }
    }
    if (apply_count_messages(job)) {
        submit_all(job);
    } else {
        make_room(job);
    }
}
