/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: a request whose answer may come later, when the store or a search has finished. A handler
 * embeds a struct job as the first member of its own struct:
 *
 *   job_new -> job_charge -> the store works -> its callback -> job_finish or job_fail
 *
 * From job_charge to its end the job counts as work of the client and of the service
 * (service_work_begin). hearsayd does not close the store before the job ends. job_submit and
 * job_read call job_charge if the job was not charged before.
 */
#pragma once

#include "daemon/handler/ask.h"

struct job {
    struct service *service;
    struct requester *client;
    struct host *host; /* ask->host */
    /* who pays for the request (requester_payer), kept until the job ends; NULL: nobody */
    struct sender *sender;
    uint64_t request_id;
    uint64_t began_ns;    /* service_monotonic_ns when job_new was called */
    size_t bytes;         /* bytes of the allocation that begins with this struct */
    size_t held_bytes;    /* memory that the client is charged with */
    size_t answer_bytes;  /* output that the client is charged with */
    size_t writing_bytes; /* part of service->writing_bytes, by job_write */
    bool is_charged;
    bool is_writing; /* an operation was submitted: the host may have a change at the end */
    struct persist_read *read; /* a read that job_end releases; NULL: none */
    /* called by job_end: releases what the fields of the job own; NULL: they own nothing */
    void (*deinit)(struct job *job);
};

/*
 * Allocates a job of `bytes`, sets the fields of struct job, and zeroes the rest of `bytes`.
 * `extra` more bytes follow, which are not zeroed. NULL: out of memory, and an error was sent.
 */
void *job_new(const struct ask *ask, size_t bytes, size_t extra);

/*
 * Allocates a job of `bytes`, zeroed, that answers the request in place of `job`, with its fields
 * of the request, but nobody pays for it. NULL: out of memory, and nothing was sent.
 */
void *job_follow(const struct job *job, size_t bytes);

/*
 * Releases the data of the job's read, and frees the job without an answer. If the job was charged,
 * ends its work.
 */
void job_end(struct job *job);

/*
 * Charges the client with `held_bytes` of memory and `answer_bytes` of output until the job ends.
 * Call at most once for a job.
 */
void job_charge(struct job *job, size_t held_bytes, size_t answer_bytes);

/* Replaces the charge of a job that was charged. */
void job_recharge(struct job *job, size_t held_bytes, size_t answer_bytes);

/* Submits an operation to the store. */
void job_submit(struct job *job, struct persist_op *op);

/*
 * Submits an operation to the store. Until the job ends, handler_is_congested counts the bytes of
 * the job, and the operation for its sender. Call at most once for a job.
 */
void job_write(struct job *job, struct persist_op *op);

/*
 * Begins a read. If the job was not charged before, charges the client with the job's memory, and
 * with one frame of memory and of output: an answer with payloads may fill a frame.
 */
void job_read(struct job *job, struct persist_read *read);

/* Releases the data of a read before the job ends. */
void job_release(struct job *job);

/*
 * Fills a message of an answer from a stored message, from which it borrows: all that a deposit
 * had, and when and until when. Its epoch, state and reports are left 0.
 */
void job_fill_exported(const struct persist_message *message, struct hearsay_exported_message *out);

/* Answers, and ends the job. */
void job_finish(struct job *job, const struct hearsay_response *response);
void job_succeed(struct job *job, enum hearsay_response_kind kind); /* a response without content */
void job_fail(struct job *job, enum hearsay_code code, const char *field, const char *sentence);
void job_fail_memory(struct job *job);
void job_fail_not_found(struct job *job); /* there is no message with this id */

/*
 * Answers with the error STORAGE and `sentence`, and that the client may try again after 5 seconds,
 * and ends the job. Logs nothing.
 */
void job_fail_later(struct job *job, const char *sentence);

/* The same, and logs `what` and the store's `reason` (service_storage_failed). */
void job_fail_storage(struct job *job, const char *what, const char *reason, const char *sentence);
void job_fail_read(struct job *job, const char *reason); /* the store failed to read */
/* the store failed to write, and nothing was changed */
void job_fail_write(struct job *job, const char *reason);
