/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler_query: a query under way. Included by handler_query*.c only.
 *
 *   handler_query.c         what a query asks; made and freed
 *   handler_query_search.c  searches: steps, and whose turn it is
 *   handler_query_answer.c  payloads, and the answer
 */
#ifndef DAEMON_HANDLER_QUERY_H
#define DAEMON_HANDLER_QUERY_H

#include "daemon/handler/handler.h"

struct query_job {
    struct query_job *prev, *next; /* service->searches or service->waiting */
    struct service *service;
    struct handler_client *client;
    struct host *host;
    struct index_search *search; /* owned */
    uint64_t request_id;
    uint64_t began_ns;   /* service_monotonic_ns when the request came */
    size_t bytes;        /* charged to the client while under way; 0: answered within the call */
    size_t answer_bytes; /* charged, too */
    struct index_query query;
    struct index_part *parts;
    struct epoch **epochs; /* part_count of them, of which the job is a user; NULL: not yet */
    uint64_t *filters;     /* part_count of filter words, then as many of contains */
    struct scalable_slice *exclude; /* query.exclude_count of them */
    uint8_t *exclude_bits;          /* what they point into */
    size_t exclude_bytes;
    enum msg_order order;
    bool with_payload;
    unsigned attempts;
    struct persist_read read;
    struct persist_entry *entries; /* k of them, while payloads are read */
};

/* ---- handler_query.c ---- */

/* From here on the answer comes later. What the job holds until then is charged to the client. */
void query_charge(struct query_job *job);

/* The end of a job: what was charged is given back. The client may be freed by this. */
void query_end(struct query_job *job);

/* The same, after an error was sent. */
void query_fail(struct query_job *job, enum msg_error_code code, const char *sentence);

/* ---- handler_query_search.c ---- */

/* Searches, from the beginning; then query_answer is called, at once or in a later turn. */
void query_search(struct query_job *job);

/* ---- handler_query_answer.c ---- */

/* The search is over: sends the answer, or reads the payloads first. Ends the job. */
void query_answer(struct query_job *job);

#endif
