/* SPDX-License-Identifier: Apache-2.0 */
/* Withdraw: deletes a message for a client that knows the message's withdraw token. */
#include <string.h>

#include <sodium.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"

struct withdraw_job {
    struct job base; /* first */
    struct persist_op op;
};

static void on_withdrawn(struct persist_op *op)
{
    struct withdraw_job *withdraw = CONTAINER_OF(op, struct withdraw_job, op);
    struct job *job = &withdraw->base;

    switch (op->outcome) {
    case PERSIST_APPLIED:
        service_forget(job->service, job->host, op->message.id);
        metrics_note_left(&job->service->metrics, LEFT_WITHDRAWN, 1);
        job_succeed(job, HEARSAY_RESPONSE_WITHDRAWN);
        return;
    case PERSIST_NOT_FOUND:
        if (host_is_restoring(job->host)) {
            job_fail_later(job, "this host gets the messages of an earlier store back, and may "
                                "still get this one; send the withdrawal again later");
        } else {
            job_fail_not_found(job);
        }
        return;
    case PERSIST_FORBIDDEN:
        job_fail(job, HEARSAY_CODE_FORBIDDEN, "token",
                 "this is not the token that the message was deposited with, if it was with one");
        return;
    default:
        job_fail_write(job, op->reason);
        return;
    }
}

void handler_withdraw(struct ask *ask)
{
    const struct hearsay_withdraw *asked = &ask->request->withdraw;

    if (!ask_host(ask, &asked->host) || !ask_owns(ask)) {
        return;
    }
    struct withdraw_job *withdraw = job_new(ask, sizeof(*withdraw), 0);
    if (withdraw == NULL) {
        return;
    }
    struct persist_op *op = &withdraw->op;
    op->kind = PERSIST_WITHDRAW;
    op->now_ms = service_now_ms(ask->service);
    op->done = on_withdrawn;
    op->message.host = ask->host->number;
    op->message.can_withdraw = true;
    memcpy(op->message.id, asked->id.data, MESSAGE_ID_BYTES);
    (void)crypto_generichash(op->message.withdraw_hash, LIMIT_HASH_BYTES, asked->token.data,
                             asked->token.count, NULL, 0); /* fails only on wrong sizes */
    job_write(&withdraw->base, op);
}
