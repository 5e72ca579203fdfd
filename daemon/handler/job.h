/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: a request whose answer comes later, when the store has done its part. A handler embeds a
 * struct job as the first member of what it keeps until then:
 *
 *   job_new -> job_charge -> the store works -> its callback -> job_finish or job_fail
 *
 * From job_charge to the end the job counts as work of its client, and of the service, which does
 * not stop before. job_submit and job_read charge a job by themselves.
 */
#ifndef DAEMON_HANDLER_JOB_H
#define DAEMON_HANDLER_JOB_H

#include "daemon/handler/ask.h"

struct job {
    struct service *service;
    struct requester *client;
    struct host *host; /* ask->host */
    uint64_t request_id;
    uint64_t began_ns;    /* service_monotonic_ns when the request came */
    size_t bytes;         /* of the allocation that begins with this struct */
    size_t held_bytes;    /* memory that the client is charged with */
    size_t answer_bytes;  /* output that the client is charged with */
    size_t writing_bytes; /* part of service->writing_bytes, by job_write */
    bool is_charged;
    struct persist_read *read;       /* was begun, and is released at the end; NULL: none */
    void (*deinit)(struct job *job); /* frees what the job owns besides; NULL: it owns nothing */
};

/*
 * A job of `bytes`, all zero besides, with `extra` bytes behind them that are not zeroed. NULL: out
 * of memory; the request was refused.
 */
void *job_new(const struct ask *ask, size_t bytes, size_t extra);

/* Frees a job without an answer. Ends its work if the job was charged; then this may free the
 * client. */
void job_end(struct job *job);

/* The answer comes later. The client is charged with the memory `held_bytes` and the output
 * `answer_bytes` until the end. */
void job_charge(struct job *job, size_t held_bytes, size_t answer_bytes);

/* Submits an operation to the store. */
void job_submit(struct job *job, struct persist_op *op);

/* Submits an operation whose bytes count for handler_is_congested until the job's end. */
void job_write(struct job *job, struct persist_op *op);

/* Begins a read, whose answer may fill a frame: charges the client with the frame, too. */
void job_read(struct job *job, struct persist_read *read);

/* Releases what was read before the job ends. */
void job_release(struct job *job);

/* Answers, and ends the job. */
void job_finish(struct job *job, const struct msg_response *response);
void job_succeed(struct job *job, enum msg_response_kind kind); /* a response without content */
void job_fail(struct job *job, enum msg_error_code code, const char *field, const char *sentence);
void job_fail_memory(struct job *job);
void job_fail_not_found(struct job *job); /* there is no message with this id */

/* The same for a store that failed. The log gets `what` and the store's reason, the client the
 * sentence. */
void job_fail_storage(struct job *job, const char *what, const char *reason, const char *sentence);
void job_fail_read(struct job *job, const char *reason);   /* while it read */
void job_fail_change(struct job *job, const char *reason); /* while it changed a message's state */

/* The store failed to write: the same, and the client may try again after some seconds. */
void job_fail_write(struct job *job, const char *reason);
void job_fail_later(struct job *job, const char *sentence); /* without a line in the log */

#endif
