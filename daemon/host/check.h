/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: holds what is in memory (indexes, summaries, counters) against what the store has, and
 * puts differences into sentences. Only compares: handler_check.c asks the store, and sees to it
 * that what is compared is of the same moment.
 */
#ifndef DAEMON_HOST_CHECK_H
#define DAEMON_HOST_CHECK_H

#include "daemon/host/service.h"

enum {
    CHECK_PROBLEMS_MAX = 16, /* that are told; all together fit the smallest frame */
    CHECK_PROBLEM_BYTES = 192
};

struct check_problems {
    uint64_t count; /* with those that are not told */
    char sentences[CHECK_PROBLEMS_MAX][CHECK_PROBLEM_BYTES];
};

/*
 * NULL, or how a stored message differs from what memory has of it (static storage). Messages of
 * hosts that are not served, and expired ones, are fine. O(epochs).
 */
const char *check_message(struct service *service, const struct persist_entry *entry);

/* Adds what check_message has said of a message. */
void check_tell_message(const struct service *service, const struct persist_entry *entry,
                        const char *reason, struct check_problems *problems);

/* Epochs of all hosts. O(hosts). */
size_t check_tally_count(const struct service *service);

/* Writes down whose tallies are wanted: check_tally_count of them. */
void check_ask_tallies(const struct service *service, struct persist_tally *out_tallies);

/* Compares what the store has counted with indexes, summaries and counters. Microseconds for each
 * epoch. */
void check_tallies(const struct service *service, const struct persist_tally *tallies, size_t count,
                   struct check_problems *problems);

#endif
