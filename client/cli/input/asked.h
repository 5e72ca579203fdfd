/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked: what a query looks for, as its parts: the filter of a context for each epoch that is asked
 * in, keyed with the epoch's key and a group's secret, where there are any.
 */
#ifndef CLIENT_CLI_INPUT_ASKED_H
#define CLIENT_CLI_INPUT_ASKED_H

#include "client/cli/base/cli.h"
#include "client/cli/input/epoch.h"

/* What the parts are made of. All borrowed. */
struct asked_from {
    const struct hearsay_host *host;
    const struct hearsay_group *group;   /* NULL: none */
    const struct epochs *epochs;         /* to ask in */
    const char *const *labels;           /* of the context */
    size_t label_count;                  /* 0: of `lately` alone */
    const char *const *contains;         /* labels that must be there */
    size_t contains_count;               /* 0: no such condition */
    const struct hearsay_recent *lately; /* the contexts of before, put to it; NULL: none */
};

struct asked {
    struct hearsay_part parts[EPOCH_KNOWN_MAX + 1]; /* part_count of them */
    size_t part_count;
    struct hearsay_filter *filters; /* owned: two for each part */
};

/*
 * Makes the parts and puts them into the query, which borrows them: the open epoch's, then the
 * others' as they come, as many as the server takes. Epochs for whose key no label is known are
 * left out. HEARSAY_OK; what hearsay_encode_keyed says, about `contains` where *out_about_contains;
 * HEARSAY_ERR_ARGUMENT where no part is left. To be freed in any case.
 */
int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error);
void asked_free(struct asked *asked); /* a zeroed one is fine */

#endif
