/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_client: requests sent at times that are fixed beforehand, however slow the answers are (an
 * open loop), over many connections from one thread. A request's time counts from when it was to be
 * sent: one that waited for its turn has waited, which a closed loop would not see (coordinated
 * omission).
 */
#ifndef TESTS_BENCH_LOAD_CLIENT_H
#define TESTS_BENCH_LOAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/limits/histogram.h"

/* What is timed: requests, and after deposits the matches that watches are told of. */
enum load_kind { LOAD_DEPOSIT, LOAD_QUERY, LOAD_REQUESTS, LOAD_MATCH = LOAD_REQUESTS, LOAD_KINDS };

struct load_plan {
    uint16_t port;
    size_t sessions;                    /* greeted beforehand; requests take them in turn */
    size_t watches;                     /* that stand on them, in turn, all the time */
    uint32_t per_second[LOAD_REQUESTS]; /* on the average; intervals are exponential */
    uint32_t ttl_s;                     /* of deposits */
    uint64_t seed;
};

/* What came of one kind of request in one phase. A match is "sent" when its deposit is. */
struct load_result {
    struct histogram us; /* from the time planned to the answer */
    uint64_t sent;
    uint64_t answered;
    uint64_t refused;    /* of these, with an error; matches that nobody is owed */
    uint64_t unanswered; /* when the phase and its patience ended */
};

struct load_client;

/* Connects and greets all, and begins the watches. NULL when that failed: it is said. */
struct load_client *load_client_new(const struct load_plan *plan);
void load_client_free(struct load_client *client); /* NULL is fine */

/* Messages stored in the daemon, as of about a second ago; 0 before a run has looked. */
uint64_t load_client_messages(const struct load_client *client);

/*
 * Runs the plan for so long, calling `look` about once a second (NULL: not), then waits up to ten
 * seconds for the last answers. Adds to `results`, one of each kind. 0, or -1 when a connection
 * broke.
 */
int load_client_run(struct load_client *client, double seconds,
                    void (*look)(void *context, double elapsed_s), void *context,
                    struct load_result results[LOAD_KINDS]);

#endif
