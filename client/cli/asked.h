/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked: what a query looks for, as its parts: the filter of a context, keyed with a group's secret
 * where there is one.
 */
#ifndef CLIENT_CLI_ASKED_H
#define CLIENT_CLI_ASKED_H

#include "client/cli/cli.h"

/* What the parts are made of. All borrowed. */
struct asked_from {
    const struct hearsay_host *host;
    const struct hearsay_group *group;    /* NULL: none */
    const char *const *labels;            /* of the context */
    size_t label_count;                   /* 0: blended alone */
    const char *const *contains;          /* labels that must be there */
    size_t contains_count;                /* 0: no such condition */
    const struct hearsay_filter *blended; /* of no group: put to the context; NULL: nothing */
};

struct asked {
    struct hearsay_part part;
    struct hearsay_filter filter;
    struct hearsay_filter contains;
};

/*
 * Makes the parts and puts them into the query, which borrows them. HEARSAY_OK, or what
 * hearsay_encode_keyed says; about `contains` where *out_about_contains.
 */
int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error);

#endif
