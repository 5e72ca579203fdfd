/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/job.h"

#include <string.h>

#include "daemon/watch/feed.h"

enum { STORAGE_RETRY_MS = 5000 };

void *job_new(const struct ask *ask, size_t bytes, size_t extra)
{
    struct service *service = ask->service;
    struct job *job = alloc_array(service->alloc, 1, bytes + extra);

    if (job == NULL) {
        ask_refuse_memory(ask);
        return NULL;
    }
    memset(job, 0, bytes);
    job->service = service;
    job->client = ask->client;
    job->host = ask->host;
    job->request_id = ask->request->id;
    job->began_ns = service_monotonic_ns(service);
    job->bytes = bytes + extra;
    job->sender = requester_payer(ask->client);
    if (job->sender != NULL) {
        sender_keep(job->sender);
    }
    return job;
}

void *job_follow(const struct job *job, size_t bytes)
{
    struct job *next = alloc_zeroed(job->service->alloc, 1, bytes);

    if (next != NULL) {
        next->service = job->service;
        next->client = job->client;
        next->host = job->host;
        next->request_id = job->request_id;
        next->began_ns = job->began_ns;
        next->bytes = bytes;
    }
    return next;
}

void job_charge(struct job *job, size_t held_bytes, size_t answer_bytes)
{
    job->held_bytes = held_bytes;
    job->answer_bytes = answer_bytes;
    job->is_charged = true;
    service_work_begin(job->service);
    requester_work_begin(job->client, held_bytes, answer_bytes);
}

void job_recharge(struct job *job, size_t held_bytes, size_t answer_bytes)
{
    requester_work_begin(job->client, held_bytes, answer_bytes);
    requester_work_end(job->client, job->held_bytes, job->answer_bytes);
    job->held_bytes = held_bytes;
    job->answer_bytes = answer_bytes;
}

static void end_write(const struct job *job)
{
    job->service->writing_bytes -= job->writing_bytes;
    if (job->sender != NULL) {
        sender_end_write(job->sender);
    } else {
        job->client->writes--;
    }
}

void job_end(struct job *job)
{
    job_release(job);
    struct job ended = *job;
    struct service *service = ended.service;

    if (ended.writing_bytes > 0) {
        end_write(&ended);
    }
    if (ended.sender != NULL) {
        sender_release(ended.sender);
    }
    if (ended.is_writing) {
        feed_changed(service, ended.host);
    }
    if (ended.deinit != NULL) {
        ended.deinit(job);
    }
    alloc_release(service->alloc, job);
    if (ended.is_charged) {
        service_work_end(service);
        requester_work_end(ended.client, ended.held_bytes, ended.answer_bytes);
    }
}

/* --- the store -------------------------------------------------------------------------------- */

void job_submit(struct job *job, struct persist_op *op)
{
    struct service *service = job->service;

    if (!job->is_charged) {
        job_charge(job, job->bytes, REQUESTER_ANSWER_BYTES);
    }
    job->is_writing = job->host != NULL;
    service->persist->interface->submit(service->persist, op);
}

void job_write(struct job *job, struct persist_op *op)
{
    job->writing_bytes = job->bytes;
    job->service->writing_bytes += job->bytes;
    if (job->sender != NULL) {
        sender_begin_write(job->sender);
    } else {
        job->client->writes++;
    }
    job_submit(job, op);
}

void job_read(struct job *job, struct persist_read *read)
{
    struct service *service = job->service;
    size_t frame_bytes = service->config.limits.frame_bytes;

    if (!job->is_charged) {
        job_charge(job, job->bytes + frame_bytes, frame_bytes);
    }
    job->read = read;
    service->persist->interface->read(service->persist, read);
}

void job_release(struct job *job)
{
    if (job->read != NULL) {
        job->service->persist->interface->read_release(job->service->persist, job->read);
        job->read = NULL;
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

void job_finish(struct job *job, const struct hearsay_response *response)
{
    job->client->events->respond(job->client, response);
    job_end(job);
}

void job_succeed(struct job *job, enum hearsay_response_kind kind)
{
    struct hearsay_response response = {.id = job->request_id, .kind = kind};

    job_finish(job, &response);
}

void job_fail(struct job *job, enum hearsay_code code, const char *field, const char *sentence)
{
    requester_refuse(job->client, job->request_id, code, field, "%s", sentence);
    job_end(job);
}

void job_fail_memory(struct job *job)
{
    job_fail(job, HEARSAY_CODE_INTERNAL, NULL, "the server is out of memory");
}

void job_fail_not_found(struct job *job)
{
    job_fail(job, HEARSAY_CODE_NOT_FOUND, "id", "there is no message with this id");
}

void job_fail_storage(struct job *job, const char *what, const char *reason, const char *sentence)
{
    service_storage_failed(job->service, what, reason);
    job_fail_later(job, sentence);
}

void job_fail_read(struct job *job, const char *reason)
{
    job_fail_storage(job, "reading", reason,
                     "the message store could not read its storage; try again later");
}

void job_fail_later(struct job *job, const char *sentence)
{
    struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_ERROR};

    msg_error_set(&response.error, HEARSAY_CODE_STORAGE, NULL, "%s", sentence);
    response.error.retry_after_ms = STORAGE_RETRY_MS;
    job_finish(job, &response);
}

void job_fail_write(struct job *job, const char *reason)
{
    job_fail_storage(job, "storage", reason,
                     "the message store could not write to its storage; nothing was changed, "
                     "try again later");
}

void job_fill_exported(const struct persist_message *message, struct hearsay_exported_message *out)
{
    *out = (struct hearsay_exported_message){
        .id = {message->id, MESSAGE_ID_BYTES},
        .filter = {message->filter, message->filter_bytes},
        .media_type = {message->media_type, message->media_type_bytes},
        .payload = {message->payload, message->payload_bytes},
        .deposited_ms = message->deposited_ms,
        .expires_ms = message->expires_ms,
        .reach_ppm = message->reach_ppm,
    };
    if (message->can_withdraw) {
        out->withdraw_hash = (struct hearsay_bytes){message->withdraw_hash, LIMIT_HASH_BYTES};
    }
    if (message->is_answer) {
        out->answers = (struct hearsay_bytes){message->answers, MESSAGE_ID_BYTES};
    }
}
