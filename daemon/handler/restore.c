/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore: the operator approves a message that is reported, hidden, removed but not destroyed, or
 * waits for review. The message is shown, and reports do not hide it any more.
 */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"

struct restore_job {
    struct job base; /* first */
    struct persist_op op;
    struct persist_decision decision;
    /* reads the message, so that it can be added to the index */
    struct persist_read read;
    struct persist_entry entry;
};

static const char restored_text[] =
    "the message with this id is shown already, and reports do not hide it";

/* The ban that came with a removal stays: says so in the answer. */
static void fill_restored(const struct restore_job *restore, struct hearsay_restored *out)
{
    const struct persist_message *message = &restore->entry.message;
    const struct ban *ban = rules_find_ban(&restore->base.host->rules, NULL, 0, message->payload,
                                           message->payload_bytes);

    if (ban != NULL) {
        out->banned_hash = (struct hearsay_bytes){ban->value, ban->value_bytes};
    }
}

/*
 * Called when the store has stored that the message is approved. Does the same in memory, and
 * answers the client.
 */
static void show_restored(struct restore_job *restore, struct moderated *known)
{
    struct job *job = &restore->base;
    const struct persist_op *op = &restore->op;

    if (known != NULL) {
        known->state = PERSIST_APPROVED; /* reports do not hide it any more */
        known->reports = op->message.reports;
        known->destroy_ms = known->removed_ms = 0;
    }
    removed_drop(&job->host->removed, op->message.id);
    int rc = service_show(job->host, &restore->entry.message);
    if (op->shown_seq != 0 && rc >= 0) {
        watch_numbered(job->service, job->host, rc == 0 ? &restore->entry.message : NULL,
                       op->shown_seq);
    }
    if (rc == HOST_NO_EPOCH) {
        job_fail(job, HEARSAY_CODE_UNKNOWN_EPOCH, "id", "the message's epoch has ended");
    } else if (rc != 0) {
        watch_missed(job->service, job->host);
        job_fail(job, HEARSAY_CODE_INTERNAL, NULL,
                 "the server is out of memory; the message is shown after its next start");
    } else {
        struct hearsay_response response = {.id = job->request_id,
                                            .kind = HEARSAY_RESPONSE_RESTORED};
        fill_restored(restore, &response.restored);
        log_info("host %s: the operator shows a message", job->host->config.name);
        job_finish(job, &response);
    }
}

static void on_restored(struct persist_op *op)
{
    struct restore_job *restore = CONTAINER_OF(op, struct restore_job, op);
    struct job *job = &restore->base;
    struct moderated *known = moderation_find(&job->host->moderation, op->message.id);

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else if (op->outcome != PERSIST_APPLIED) {
        job_fail_write(job, op->reason);
    } else if (known != NULL && known->state == PERSIST_APPROVED && op->shown_seq == 0) {
        job_fail(job, HEARSAY_CODE_INVALID, "id", restored_text); /* another request was faster */
    } else {
        show_restored(restore, known);
    }
}

static void on_read(struct persist_read *read)
{
    struct restore_job *restore = CONTAINER_OF(read, struct restore_job, read);
    struct job *job = &restore->base;
    struct persist_op *op = &restore->op;

    if (read->failed) {
        job_fail_read(job, read->reason);
    } else if (!restore->entry.found ||
               moderation_find(&job->host->moderation, op->message.id) == NULL) {
        job_fail_not_found(job);
    } else {
        op->kind = PERSIST_MODERATE;
        op->done = on_restored;
        op->now_ms = service_now_ms(job->service); /* of the submission: see persist_op */
        op->message.deposited_ms = restore->entry.message.deposited_ms;
        op->message.state = PERSIST_APPROVED;
        job_submit(job, op);
    }
}

/*
 * Whether the message is hidden, removed, pending or reported, and not approved yet. If not, sends
 * an error.
 */
static bool check_restore(const struct ask *ask, const uint8_t *id)
{
    const struct moderated *known = moderation_find(&ask->host->moderation, id);

    if (known != NULL && known->state == PERSIST_APPROVED) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "id", "%s", restored_text);
        return false;
    }
    if (known == NULL) {
        bool is_shown = host_find(ask->host, id, NULL, NULL, NULL) == 0;
        bool is_gone = removed_has(&ask->host->removed, id, service_now_ms(ask->service));
        ask_refuse(ask, is_shown ? HEARSAY_CODE_INVALID : HEARSAY_CODE_NOT_FOUND, "id", "%s",
                   is_shown ? "the message with this id is shown; it is neither hidden nor reported"
                   : is_gone ? "the message with this id was removed, and is destroyed"
                             : "there is no message with this id");
        return false;
    }
    return true;
}

void handler_restore(struct ask *ask)
{
    const struct hearsay_restore *asked = &ask->request->restore;
    const uint8_t *id = asked->id.data;

    if (!ask_host(ask, &asked->host) || !check_restore(ask, id)) {
        return;
    }
    struct restore_job *restore = job_new(ask, sizeof(*restore), 0);
    if (restore == NULL) {
        return;
    }
    ask_decide(ask, "restore", &(struct ask_decision){asked->id, asked->kind, asked->reason},
               &restore->decision);
    restore->op.decision = &restore->decision;
    restore->op.message.host = ask->host->number;
    memcpy(restore->op.message.id, id, MESSAGE_ID_BYTES);
    restore->read.kind = PERSIST_READ_PAYLOADS;
    restore->read.entries = &restore->entry;
    restore->read.entry_count = 1;
    restore->read.done = on_read;
    restore->entry.message.host = ask->host->number;
    memcpy(restore->entry.message.id, id, MESSAGE_ID_BYTES);
    job_charge(&restore->base, sizeof(*restore), REQUESTER_ANSWER_BYTES);
    job_read(&restore->base, &restore->read);
}
