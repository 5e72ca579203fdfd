/* SPDX-License-Identifier: Apache-2.0 */
/* query: from a view to what libhearsay asks for: labels, filters, keys of the epoch. */
#pragma once

#include "client/hearsay.h"
#include "client/web/view.h"

/* What a query points to. */
struct query_parts {
    struct hearsay_filter filters[2];
    struct hearsay_filter demands[2];   /* what a message must contain, if there is anything */
    struct hearsay_query_part parts[2]; /* of the open epoch, and of the current one */
};

/*
 * Fills a query for the messages of a view, in the open and in the current epoch. A view with
 * topics finds only messages with all of these topics, and a few others, as a Bloom filter allows;
 * a view of a place that one label says finds the messages with this label. Neither has a bound of
 * the distance, and nor has a view of the hood. Other views have the distance that the host
 * suggests. A view without labels finds all messages. The fields k, until_ms and order are left to
 * the caller. *out_query borrows from *parts and *view. HEARSAY_OK, HEARSAY_ERR_ARGUMENT (no such
 * host, or the host's profile does not take a label) or HEARSAY_ERR_NOMEM.
 */
int query_fill(const struct hearsay *server, const struct view *view, struct query_parts *parts,
               struct hearsay_query *out_query, struct hearsay_error *out_error);

/* The context of a message that is left with this view: its filter and its epoch. As query_fill; a
 * view without labels is HEARSAY_ERR_ARGUMENT. */
int query_fill_context(const struct hearsay *server, const struct view *view,
                       struct hearsay_filter *out_filter, uint64_t *out_epoch,
                       struct hearsay_error *out_error);

/* The filter of an answer: it has no bits, because nobody finds an answer by it. As query_fill. */
int query_fill_answer(const struct hearsay *server, const struct view *view,
                      struct hearsay_filter *out_filter, struct hearsay_error *out_error);

/* The host of a view as libhearsay wants it: NULL for the default one. */
const char *query_host(const char *host);

/* The hour of a time in ms: labels of views with is_now change with the hour. */
int64_t query_hour(int64_t now_ms);
