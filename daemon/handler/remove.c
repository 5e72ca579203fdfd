/* SPDX-License-Identifier: Apache-2.0 */
/* Remove: the operator deletes a message, and may ban its payload, too. */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"

struct remove_job {
    struct job base; /* first */
    struct persist_op op;
    struct persist_rule rule; /* the ban */
};

static void on_removed(struct persist_op *op)
{
    struct remove_job *remove = CONTAINER_OF(op, struct remove_job, op);
    struct job *job = &remove->base;

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else if (op->outcome != PERSIST_APPLIED) {
        job_fail_write(job, op->reason);
    } else {
        service_forget(job->service, job->host, op->message.id);
        metrics_note_left(&job->service->metrics, LEFT_REMOVED, 1);
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
        log_info("host %s: the operator has removed a message", job->host->config.name);
        job_succeed(job, MSG_RESPONSE_REMOVED);
    }
}

void handler_remove(struct ask *ask)
{
    const struct msg_admin *asked = &ask->request->admin;

    if (!ask_administers(ask)) {
        return;
    }
    if (asked->ban && ask->host->rules.ban_count == RULES_BANS_MAX) {
        ask_refuse(ask, MSG_QUOTA, "ban",
                   "this host has 1000 bans, and there may be no more: unban some, or remove "
                   "without");
        return;
    }
    struct remove_job *remove = job_new(ask, sizeof(*remove), 0);
    if (remove == NULL) {
        return;
    }
    struct persist_op *op = &remove->op;
    op->kind = PERSIST_REMOVE;
    op->done = on_removed;
    op->now_ms = service_now_ms(ask->service);
    op->message.host = ask->host->number;
    memcpy(op->message.id, asked->id.data, MESSAGE_ID_BYTES);
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
