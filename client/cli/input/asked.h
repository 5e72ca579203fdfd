/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked: makes the parts of a query. Each part searches one epoch, and has the filter of the
 * context, keyed with the key of this epoch and with the group's secret, if there are any.
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
    const char *const *contains;         /* labels that the filter of each result must have */
    size_t contains_count;               /* 0: no condition */
    const struct hearsay_recent *lately; /* recent contexts to add to the filter; NULL: none */
};

struct asked {
    struct hearsay_query_part parts[EPOCH_KNOWN_MAX + 1]; /* part_count of them */
    size_t part_count;
    struct hearsay_filter *filters; /* owned: two for each part */
};

/*
 * Makes the parts and sets them in the query, which borrows them. The first part is for the open
 * epoch, if it is to be searched or no other epoch is known; the next ones are for the known
 * epochs, in their order, as many as the server allows and as fit in a frame. Returns HEARSAY_OK;
 * HEARSAY_ERR_ARGUMENT when the memory of recent contexts is empty; HEARSAY_ERR_NOMEM; or an error
 * of hearsay_encode or hearsay_recent_filter. If the error concerns `contains`, *out_about_contains
 * is true. Call asked_free afterwards, also after an error.
 */
int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error);
void asked_free(struct asked *asked); /* a zeroed one is fine */

#endif
