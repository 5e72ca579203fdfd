/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_client: sends requests at times that are fixed beforehand, even if answers are slow (an open
 * loop), over many connections from one thread. The time of a request counts from the moment at
 * which the request was due. If a request has to wait before it is sent, its time includes the
 * wait. A closed loop would not measure this wait (coordinated omission).
 */
#pragma once

#include <stdbool.h>

#include "daemon/limits/metrics.h"

/* The kinds of times: those of requests, and those of the matches that follow deposits. */
enum load_kind { LOAD_DEPOSIT, LOAD_QUERY, LOAD_REQUESTS, LOAD_MATCH = LOAD_REQUESTS, LOAD_KINDS };

struct load_plan {
    uint16_t port;
    size_t sessions;                    /* greeted beforehand; requests take them in turn */
    size_t watches;                     /* that stand on them, in turn, all the time */
    uint32_t per_second[LOAD_REQUESTS]; /* on the average; intervals are exponential */
    uint32_t ttl_s;                     /* of deposits */
    uint64_t seed;
};

/*
 * The results of one kind of request in one phase. A match counts as sent when the
 * client sends the deposit that the match will report.
 */
struct load_result {
    struct histogram us; /* from the time planned to the answer */
    uint64_t sent;
    uint64_t answered;
    uint64_t refused;    /* of these, with an error; matches that nobody is owed */
    uint64_t unanswered; /* when the phase and its patience ended */
};

struct load_client;

/*
 * Connects, says Hello on all connections, and starts the watches. Returns NULL after a message on
 * standard error.
 */
struct load_client *load_client_new(const struct load_plan *plan);
void load_client_free(struct load_client *client); /* NULL is fine */

/*
 * Returns the number of messages stored in the daemon about a second ago; 0 before the first
 * answer.
 */
uint64_t load_client_messages(const struct load_client *client);

/*
 * Runs the plan for some seconds and calls `look` about once a second, unless `look` is NULL. Then
 * waits up to ten seconds for the last answers. Adds to `results`, one for each kind. Returns 0, or
 * -1 if a connection broke.
 */
int load_client_run(struct load_client *client, double seconds,
                    void (*look)(void *context, double elapsed_s), void *context,
                    struct load_result results[LOAD_KINDS]);
