/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: compares memory (indexes, summaries, counters) with what the store returned, and describes
 * differences in sentences. It only compares: daemon/handler/check.c asks the store, and ensures
 * that both sides are of the same moment.
 */
#ifndef DAEMON_HOST_CHECK_H
#define DAEMON_HOST_CHECK_H

#include "daemon/host/service.h"

enum {
    CHECK_PROBLEMS_MAX = 16, /* described in sentences; these fit the smallest frame */
    CHECK_PROBLEM_BYTES = 192
};

struct check_problems {
    uint64_t count; /* of all problems, described or not */
    char sentences[CHECK_PROBLEMS_MAX][CHECK_PROBLEM_BYTES];
};

/*
 * How a stored message differs from memory (static storage); NULL: it does not. Ignores expired
 * messages and hosts that are not configured. O(epochs).
 */
const char *check_message(struct service *service, const struct persist_entry *entry);

/* Adds the problem that check_message returned for a message. */
void check_tell_message(const struct service *service, const struct persist_entry *entry,
                        const char *reason, struct check_problems *problems);

/* Number of epochs of all hosts. O(hosts). */
size_t check_tally_count(const struct service *service);

/* Fills in host and epoch of the tallies to ask for: check_tally_count of them. */
void check_ask_tallies(const struct service *service, struct persist_tally *out_tallies);

/* Compares the store's tallies with indexes, summaries and counters. Microseconds an epoch. */
void check_tallies(const struct service *service, const struct persist_tally *tallies, size_t count,
                   struct check_problems *problems);

#endif
