/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked: makes the parts of a query: one filter of the context for each epoch that is searched,
 * keyed with the epoch's key and the group's secret if there are any.
 */
#ifndef CLIENT_CLI_INPUT_ASKED_H
#define CLIENT_CLI_INPUT_ASKED_H

#include "client/cli/base/cli.h"
#include "client/cli/input/epoch.h"

/* The input. All borrowed. */
struct asked_from {
    const struct hearsay_host *host;
    const struct hearsay_group *group;   /* NULL: none */
    const struct epochs *epochs;         /* to search */
    const char *const *labels;           /* of the context */
    size_t label_count;                  /* 0: only `lately` counts */
    const char *const *contains;         /* labels that each message must have */
    size_t contains_count;               /* 0: no condition */
    const struct hearsay_recent *lately; /* recent contexts to add to the filter; NULL: none */
};

struct asked {
    struct hearsay_part parts[EPOCH_KNOWN_MAX + 1]; /* part_count of them */
    size_t part_count;
    struct hearsay_filter *filters; /* owned: two for each part */
};

/*
 * Makes the parts and sets them in the query, which borrows them: first the open epoch, then the
 * others in order, as many as the server takes. HEARSAY_OK; an error of hearsay_encode, which is
 * about `contains` when *out_about_contains is set; HEARSAY_ERR_ARGUMENT when the memory is empty.
 * Call asked_free in any case.
 */
int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error);
void asked_free(struct asked *asked); /* a zeroed one is fine */

#endif
