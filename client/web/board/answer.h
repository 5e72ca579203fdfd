/* SPDX-License-Identifier: Apache-2.0 */
/* answer: copies of what hearsayd answered, in one piece of memory each, for the cache. */
#pragma once

#include "client/web/board.h"

/* One of the three. Freed with free. */
struct answer {
    struct board_list list; /* now_ms and age_ms are left to the caller */
    struct board_message message;
    const char *place;
    const char *place_name; /* NULL or "": none */
};

/* How many of the results are not sealed. */
size_t answer_count(const struct hearsay_results *results);

/*
 * Copies the first `most` messages that are not sealed. NULL: no memory. `is_by_time`: the results
 * are sorted by time, the newest first. Then the copy ends between two milliseconds: it may have
 * fewer messages, because it leaves out those with the time of the first message that has no room.
 * `finder` may be NULL.
 */
struct answer *answer_of_results(const struct hearsay_results *results, size_t most,
                                 bool is_by_time, const char *host, struct topics_finder *finder);

/*
 * Lets the page behind an answer begin with the newest message that the answer leaves out of a
 * wider one, by time, so that no message is on no page. Messages that are older than that are on
 * both.
 */
void answer_begin_older(struct answer *answer, const struct hearsay_results *wide);

struct answer *answer_of_message(const struct hearsay_got *got);

/* The labels of `here` that clients of the host add to a context, and the name of the place. NULL:
 * no memory. */
struct answer *answer_of_labels(const struct hearsay_host *host,
                                const struct hearsay_here_labels *here);

/* The names of all places. NULL: no memory. */
struct answer *answer_of_places(const struct hearsay_here_labels *here);

/* Fills a message that borrows from `result`. False: the message is sealed, of a group. */
bool answer_borrow(const struct hearsay_result *result, struct board_message *out_message);

/* What an error of hearsayd or of the connection means to a reader. */
enum board_outcome answer_outcome(const struct hearsay_error *error);

/* Sets an error with a sentence of ours. */
void answer_fault(struct hearsay_error *error, int status, enum hearsay_code code,
                  const char *sentence);
