/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: a query under way. Included by query*.c only. Each file uses those below it:
 *
 *   query.c         checks a request, makes a job of it, frees the job
 *   query_answer.c  reads payloads, sends the answer; searches again where a message went meanwhile
 *   query_search.c  searches in steps; decides whose turn it is
 */
#ifndef DAEMON_HANDLER_QUERY_H
#define DAEMON_HANDLER_QUERY_H

#include "daemon/handler/job.h"

struct query_job {
    struct job base;                           /* first */
    struct query_job *prev, *next;             /* service->searches or service->waiting */
    void (*when_found)(struct query_job *job); /* query_answer: called when the search is over */
    struct index_search *search;               /* owned */
    struct index_query query;
    struct index_part *parts;
    struct epoch **epochs; /* query.part_count of them. The job is a user of each. NULL: not yet */
    uint64_t *filters;     /* for each part, the words of its filter and of its `contains` */
    struct scalable_slice *exclude; /* query.exclude_count of them */
    uint8_t *exclude_bits;          /* the bits of these slices */
    size_t exclude_bytes;
    enum msg_order order;
    bool with_payload;
    unsigned attempts; /* searches so far */
    struct persist_read read;
    struct persist_entry *entries; /* query.k of them, while payloads are read */
};

/* Number of words in job->filters. */
static inline size_t query_filter_words(const struct query_job *job)
{
    return 2 * (size_t)job->query.part_count * job->base.host->filter_words;
}

/* --- query_search.c --------------------------------------------------------------------------- */

/* The answer will come later: charges the job's memory and its answer to the client, once. */
void query_charge(struct query_job *job);

/* Searches from the beginning. Calls job->when_found at once or in a later turn. */
void query_search(struct query_job *job);

/* --- query_answer.c --------------------------------------------------------------------------- */

/* Sends the answer of a search that is over; reads payloads first if needed. Ends the job. */
void query_answer(struct query_job *job);

#endif
