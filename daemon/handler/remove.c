/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remove and Hide: the operator hides a message at once. A removed message is destroyed at the time
 * that `remove_after` gives, or at once. Remove may ban the payload, too.
 */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"

struct remove_job {
    struct job base; /* first */
    struct persist_op op;
    struct persist_rule rule; /* the ban */
    struct persist_decision decision;
};

/* The store has removed the message: does the same in memory. */
static void take_removal(struct remove_job *remove)
{
    struct job *job = &remove->base;
    const struct persist_op *op = &remove->op;

    if (removed_put(&job->host->removed, job->host->alloc, op->message.id,
                    op->message.expires_ms) != 0) {
        log_warning("memory is short: `get` says of a removed message that there is none");
    }
    if (op->rule != NULL) {
        remove->rule.value = op->payload_hash;
        remove->rule.value_bytes = sizeof(op->payload_hash);
        if (rules_put(&job->host->rules, &remove->rule) != 0) {
            log_warning("memory is short: a ban is in force after the next start only");
        }
    }
}

static void on_removed(struct persist_op *op)
{
    struct remove_job *remove = CONTAINER_OF(op, struct remove_job, op);
    struct job *job = &remove->base;
    struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_REMOVED};
    const struct moderated *known = moderation_find(&job->host->moderation, op->message.id);
    bool was_removed = known != NULL && known->destroy_ms != 0;

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else if (op->outcome != PERSIST_APPLIED) {
        job_fail_write(job, op->reason);
    } else {
        if (op->kind == PERSIST_REMOVE) {
            service_forget(job->service, job->host, op->message.id);
            metrics_note_left(&job->service->metrics, LEFT_REMOVED, 1);
        } else {
            service_withhold(job->service, job->host, &op->message);
            /* Of a copy: the owner destroys the message as soon as the decision is there. */
            response.removed.destroyed_ms =
                job->host->config.is_replica ? 0 : op->message.destroy_ms;
        }
        take_removal(remove);
        if (!was_removed) { /* else it is no decision, as with a hidden message below */
            log_info("host %s: the operator has removed a message", job->host->config.name);
        }
        job_finish(job, &response);
    }
}

static void on_hidden(struct persist_op *op)
{
    struct remove_job *remove = CONTAINER_OF(op, struct remove_job, op);
    struct job *job = &remove->base;
    const struct moderated *known = moderation_find(&job->host->moderation, op->message.id);
    bool was_hidden = known != NULL && known->state == PERSIST_WITHHELD;

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else if (op->outcome == PERSIST_FORBIDDEN) {
        job_fail(job, HEARSAY_CODE_INVALID, "id",
                 "the message with this id is removed, and nobody sees it; `restore` shows it");
    } else if (op->outcome != PERSIST_APPLIED) {
        job_fail_write(job, op->reason);
    } else {
        service_withhold(job->service, job->host, &op->message);
        if (!was_hidden) {
            log_info("host %s: the operator has hidden a message", job->host->config.name);
        }
        job_succeed(job, HEARSAY_RESPONSE_HIDDEN);
    }
}

static struct remove_job *remove_job_new(const struct ask *ask, const char *act,
                                         const struct ask_decision *asked)
{
    struct remove_job *remove = job_new(ask, sizeof(*remove), 0);

    if (remove != NULL) {
        ask_decide(ask, act, asked, &remove->decision);
        remove->op.kind = PERSIST_WITHHOLD;
        remove->op.decision = &remove->decision;
        remove->op.now_ms = service_now_ms(ask->service);
        remove->op.message.host = ask->host->number;
        memcpy(remove->op.message.id, asked->id.data, MESSAGE_ID_BYTES);
    }
    return remove;
}

void handler_remove(struct ask *ask)
{
    const struct hearsay_remove *asked = &ask->request->remove;

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    if (asked->ban && ask->host->rules.ban_count == LIMIT_BANS) {
        ask_refuse(ask, HEARSAY_CODE_QUOTA, "ban",
                   "this host has %d bans, and there may be no more: unban some, or remove "
                   "without",
                   LIMIT_BANS);
        return;
    }
    struct remove_job *remove = remove_job_new(
        ask, "remove", &(struct ask_decision){asked->id, asked->kind, asked->reason});
    if (remove == NULL) {
        return;
    }
    struct persist_op *op = &remove->op;
    uint32_t after_s = ask->host->config.remove_after_s;
    if (after_s == 0) {
        op->kind = PERSIST_REMOVE;
    } else {
        op->message.destroy_ms = op->now_ms + (int64_t)after_s * 1000;
        /* a clock that is set does not shorten this time */
        service_hold_clock(ask->service, op->now_ms);
    }
    op->done = on_removed;
    if (asked->ban) {
        remove->rule = (struct persist_rule){
            .host = ask->host->number,
            .kind = PERSIST_BAN_PAYLOAD,
            .created_ms = op->now_ms,
        };
        op->rule = &remove->rule;
    }
    job_submit(&remove->base, op);
}

void handler_hide(struct ask *ask)
{
    const struct hearsay_hide *asked = &ask->request->hide;
    struct ask_decision decision = {asked->id, asked->kind, asked->reason};
    struct remove_job *remove =
        ask_host(ask, &asked->host) ? remove_job_new(ask, "hide", &decision) : NULL;

    if (remove != NULL) {
        remove->op.done = on_hidden;
        job_submit(&remove->base, &remove->op);
    }
}
