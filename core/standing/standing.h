/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing: an index of standing queries. Given a message, it finds the queries that the message
 * fits, and usually compares the message with few queries. This is the reverse of core/index/,
 * where a query finds messages.
 *
 * A message fits a query if it fits one of the query's parts. It fits a part if it has the same
 * scope, if the distance by the query's metric is within the query's bound and the message's reach,
 * and if it has all bits of `contains`. By phi, the part is the one that asks for the bound, and
 * the message for its reach. The answers are exact; docs/watch.md has the structure and the proof.
 * Not thread-safe. The index has no clock and no ids: the owner checks the other conditions of a
 * query.
 */
#pragma once

#include "core/index/index.h"

struct standing;
struct standing_query;

struct standing_options {
    const struct alloc *alloc;          /* borrowed; `alloc` and `kernels` must outlive the index */
    const struct profile *profile;      /* copied */
    const struct bits_kernels *kernels; /* see bits_select */
};

/* An empty index. 0 or -ERR_NOMEM. */
int standing_new(const struct standing_options *options, struct standing **out_standing);

/* No query may be in it. NULL is fine. */
void standing_free(struct standing *standing);

struct standing_part {
    const uint64_t *filter;   /* profile words */
    const uint64_t *contains; /* as many words as `filter`; NULL: the part has no such condition */
    uint64_t scope; /* the scope of the part, for example the number of an epoch; a message fits the
                     * part only if the message has the same scope */
};

struct standing_terms {
    const struct standing_part *parts; /* copied, with what they point to */
    uint32_t part_count;               /* at least 1 */
    uint32_t max_distance_ppm;         /* by `metric`, inclusive */
    enum index_metric metric;
    void *owner; /* given back by standing_owner */
};

/* Makes a query that is in no index yet. 0 or -ERR_NOMEM. */
int standing_query_new(const struct standing *standing, const struct standing_terms *terms,
                       struct standing_query **out_query);

/* Frees a query; takes the query out of the index first. NULL is fine. */
void standing_query_free(struct standing *standing, struct standing_query *query);
void *standing_owner(const struct standing_query *query);

/*
 * Returns the filter of one part; the query owns it. The filter has bloom_words(m) words for the m
 * bits of the profile.
 */
const uint64_t *standing_part_filter(const struct standing_query *query, uint32_t part);

/*
 * Inserts a query that is not in the index. 0, or -ERR_NOMEM: then the query is not in the index.
 * Looks for a group for each part in a limited number of nodes, so that the time of an insert
 * hardly grows with the index.
 */
int standing_insert(struct standing *standing, struct standing_query *query);

/* A new message to match. The pointers are borrowed for the call. */
struct standing_deposit {
    const uint64_t *filter;
    uint64_t scope;
    uint32_t reach_ppm; /* of the bit distance, inclusive */
};

/* A hit: a message fits a query. If the message fits several parts of the query, the hit names the
 * nearest part; among equally near parts, the first. */
struct standing_hit {
    struct standing_query *query;
    uint32_t deposit; /* index of the message in `deposits` of standing_match */
    uint32_t part;
    struct similarity rank; /* by the query's metric */
    uint32_t intersection;  /* set bits of (the part's filter AND the message's filter) */
    uint32_t union_count;   /* of (one or the other) */
};

/*
 * Finds the queries that the messages in `deposits` fit (`count` >= 1 messages). If there are many
 * messages, handles only the first ones. Returns how many messages were handled, at least 1. The
 * hits are sorted by message. A message and a query have at most one hit together. The hits of one
 * message are in no particular order. The hits are borrowed until standing_match or standing_insert
 * is called again, or a query is freed. Never fails.
 */
uint32_t standing_match(struct standing *standing, const struct standing_deposit *deposits,
                        uint32_t count, const struct standing_hit **out_hits,
                        size_t *out_hit_count);

/*
 * Returns whether a message fits a query, which may be in the index or not. If so, writes the hit
 * to *out_hit, with deposit 0. O(parts)
 */
bool standing_fits(const struct standing *standing, struct standing_query *query,
                   const struct standing_deposit *deposit, struct standing_hit *out_hit);

/*
 * Looks at `budget` parts of queries, or a few more, or at the parts that are left if these are
 * fewer. Moves each part to a better group if there is one. Returns whether more parts are left to
 * look at. After queries are inserted, and after messages have shown that groups are too wide or
 * too narrow, parts are left. Changes only speed; without memory a part stays where it is.
 */
bool standing_arrange(struct standing *standing, size_t budget);

/* standing_count: the parts of all queries in the index. standing_bytes: bytes of memory held,
 * without the queries' own memory. O(1). */
size_t standing_count(const struct standing *standing);
size_t standing_bytes(const struct standing *standing);
