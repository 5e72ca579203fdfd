/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: compares the state in memory (indexes, summaries, counters) with the state that the store
 * returned, and describes differences in sentences. daemon/handler/check.c asks the store, and
 * compares again if the states may be of different moments.
 */
#pragma once

#include "daemon/host/service.h"

enum {
    /* maximum number of problems with a sentence; the sentences fit the smallest frame */
    CHECK_PROBLEMS_MAX = 16,
    CHECK_PROBLEM_BYTES = 192
};

struct check_problems {
    uint64_t count; /* of all problems, described or not */
    char sentences[CHECK_PROBLEMS_MAX][CHECK_PROBLEM_BYTES];
};

/*
 * Returns a text (static storage) that says how a stored message differs from the state in memory.
 * NULL: no difference. A row with a wrong checksum is always a difference. Otherwise expired
 * messages, and messages of hosts that are not configured, are ignored. O(epochs)
 */
const char *check_message(struct service *service, const struct persist_entry *entry);

/*
 * Adds a sentence about a message to `problems`. `reason` is the text that check_message returned.
 */
void check_tell_message(struct service *service, const struct persist_entry *entry,
                        const char *reason, struct check_problems *problems);

/* Number of epochs of all hosts. O(hosts). */
size_t check_tally_count(const struct service *service);

/*
 * Fills in the host and the epoch of each tally that the store is asked for. The array has
 * check_tally_count elements.
 */
void check_ask_tallies(const struct service *service, struct persist_tally *out_tallies);

/*
 * Compares the store's tallies with the indexes, summaries and counters. Adds a sentence for each
 * difference to `problems`.
 */
void check_tallies(const struct service *service, const struct persist_tally *tallies, size_t count,
                   struct check_problems *problems);
