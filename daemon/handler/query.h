/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: a query that is being executed. Only query*.c include this header. Each file calls only
 * the files below it:
 *
 *   query.c         checks a request, makes a job, frees what a job owns
 *   query_ask.c     lets a bridge ask the hosts of other servers
 *   query_answer.c  reads payloads, sends the answer; searches again if a message was removed
 *   query_search.c  searches in steps; decides which search runs next
 */
#pragma once

#include "daemon/handler/job.h"
#include "daemon/system/read_pool.h"
#include "daemon/watch/asks.h"

/* Where a part of a search looks. The job is a user of the epoch. */
struct query_place {
    struct host *host;
    struct epoch *epoch;
};

/* A message of another server. */
struct query_remote {
    struct similarity rank; /* as in struct nearest_candidate */
    struct hearsay_result result;
};

struct query_job {
    struct job base;                           /* first */
    struct query_job *prev, *next;             /* service->searches or service->waiting */
    void (*when_found)(struct query_job *job); /* query_answer: called when the search is over */
    struct index_search *search;               /* owned */
    struct index_query query;
    struct index_part *parts;
    /* query.part_count elements; an element is zero until it is set */
    struct query_place *places;
    /* parts of the request; with the scope HOOD, the parts for other hosts follow in `parts` */
    uint32_t asked_parts;
    /* for each part of the request: the words of its filter, then the words of its `contains` */
    uint64_t *filters;
    struct scalable_slice *exclude; /* query.exclude_count of them */
    uint8_t *exclude_bits; /* the bits of the slices in `exclude`, one slice after the other */
    size_t exclude_bytes;
    /* the request, but for its texts, filters and slices, whose memory does not last as long */
    struct hearsay_query asked;
    /*
     * what send_answer completes: `comparisons` and `capped` are those of the other servers;
     * `complete`: no host of the hood is missing; as_of_ms is when the search was over, or with a
     * bridge the time that it says, if earlier
     */
    struct hearsay_results answer;
    /* the query is for the answers to `parent`: nothing is searched. The places have its epoch */
    bool is_list;
    uint8_t parent[MESSAGE_ID_BYTES];
    struct nearest_candidate *listed; /* owned: listed_count of query.k answers */
    uint32_t listed_count;
    int64_t until_ms; /* monotonic: how long a bridge may take; 0: none is asked */
    struct ask_wait wait;
    /* owned: remote_count messages of other servers, the nearest first, and their bytes */
    struct query_remote *remote;
    uint32_t remote_count;
    /* how many results the bridge was asked for */
    uint32_t asked_of_bridge;
    unsigned attempts;     /* searches so far */
    struct read_task task; /* while the search is in service->read_pool */
    unsigned task_steps;   /* of the search there */
    uint64_t task_ns;      /* CPU time of these steps */
    uint64_t steps;        /* of the search, since it has begun to take turns */
    struct persist_read read;
    /* query.k elements; NULL until payloads are read from the store */
    struct persist_entry *entries;
};

/* Number of words for the filters of `parts` parts. Each part has two filters: `filter` and
 * `contains`. */
static inline size_t query_filter_words(const struct query_job *job, uint32_t parts)
{
    return 2 * (size_t)parts * job->base.host->filter_words;
}

/* --- query_search.c --------------------------------------------------------------------------- */

/*
 * Charges the client with the memory of the job and with the output of its answer, until the job
 * ends. A second call does nothing.
 */
void query_charge(struct query_job *job);

/*
 * Begins a new search. Calls job->when_found when the search is over, at once or in a later turn.
 * If memory is short, or if the client disconnects, the job may end without this call.
 */
void query_search(struct query_job *job);

/* What the search has found, or the answers of the list, as index_search_results says. */
const struct nearest_candidate *query_found(struct query_job *job, uint32_t *out_count);

/* --- query_ask.c ------------------------------------------------------------------------------ */

/*
 * The search at the hosts of this server is over: lets a bridge ask the others, then calls
 * query_answer. If no bridge can be asked, calls query_answer at once; the answer is not complete
 * then.
 */
void query_ask(struct query_job *job);

/* --- query_answer.c --------------------------------------------------------------------------- */

/*
 * Sends the answer of a search that is over, and ends the job. If the client wants payloads, gets
 * them first from the cache or the store. If a message was removed meanwhile, may search again.
 */
void query_answer(struct query_job *job);
