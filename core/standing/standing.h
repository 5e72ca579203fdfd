/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing: standing queries, found by the messages that fit them. The direction turned: the
 * queries are kept and messages come, each of which looks at few of them.
 *
 * A message fits a query when it fits one of its parts: same scope, bit distance within the
 * query's bound and the message's reach, all bits of `contains`. Exact; docs/watch.md has the
 * structure and the proof. Not thread-safe. No clock, no ids: what else a query asks for is its
 * owner's matter.
 */
#ifndef CORE_STANDING_STANDING_H
#define CORE_STANDING_STANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/index.h"

struct standing;
struct standing_query;

struct standing_options {
    const struct alloc *alloc;          /* borrowed, must outlive it, as the rest */
    const struct profile *profile;      /* copied */
    const struct estimate *estimate;    /* the tables of that profile */
    const struct bits_kernels *kernels; /* see bits_select */
};

/* An empty index. 0 or -ERR_NOMEM. */
int standing_new(const struct standing_options *options, struct standing **out_standing);

/* No query may be in it. NULL is fine. */
void standing_free(struct standing *standing);

struct standing_part {
    const uint64_t *filter;   /* profile words */
    const uint64_t *contains; /* the same; NULL: no such condition */
    uint64_t scope;           /* only messages of this very scope: an epoch, for example */
};

struct standing_terms {
    const struct standing_part *parts; /* copied, with what they point to */
    uint32_t part_count;               /* 1 .. INDEX_PARTS_MAX */
    uint32_t max_distance_ppm;         /* of the bit distance, inclusive */
    enum index_metric metric;          /* by what the nearest of several parts is chosen */
    void *owner;                       /* given back by standing_owner */
};

/* A query that is in no index yet. 0 or -ERR_NOMEM. */
int standing_query_new(const struct standing *standing, const struct standing_terms *terms,
                       struct standing_query **out_query);

/* Takes it out first where it is in. NULL is fine. */
void standing_query_free(struct standing *standing, struct standing_query *query);
void *standing_owner(const struct standing_query *query);

/* The filter of one of its parts: profile words, the query's. */
const uint64_t *standing_part_filter(const struct standing_query *query, uint32_t part);

/* Puts a query in, once. 0, or -ERR_NOMEM: it is not in then. O(queries / 6,000) and about 10 us a
 * part. */
int standing_insert(struct standing *standing, struct standing_query *query);

/* A message that came. Borrowed for the call. */
struct standing_deposit {
    const uint64_t *filter;
    uint64_t scope;
    uint32_t reach_ppm; /* of the bit distance, inclusive */
};

/* A message that fits a query: by the part that it is nearest to, the earlier one of equals. */
struct standing_hit {
    struct standing_query *query;
    uint32_t deposit; /* which of those given */
    uint32_t part;
    uint32_t intersection; /* set bits of (part's filter and the message's) */
    uint32_t union_count;  /* of (one or the other) */
    uint32_t cardinality;  /* of the message's filter */
};

/*
 * Finds the queries that messages fit: of the first few of `count` >= 1 messages. How many these
 * were is returned, 1 at least. *out_hits, *out_hit_count: by message, each query once for one; in
 * no order within a message. Borrowed until anything else is asked of the index. Never fails.
 */
uint32_t standing_match(struct standing *standing, const struct standing_deposit *deposits,
                        uint32_t count, const struct standing_hit **out_hits,
                        size_t *out_hit_count);

/* Whether one message fits one query, in the index or not. *out_hit as above, with deposit 0.
 * O(parts) */
bool standing_fits(const struct standing *standing, struct standing_query *query,
                   const struct standing_deposit *deposit, struct standing_hit *out_hit);

/*
 * Looks at `budget` parts, or a few more, whether they stand in the right groups, some microseconds
 * each, and moves those that do not. Whether there are more to be looked at: after queries came,
 * and when messages have shown that groups are too wide or too narrow. Only a matter of speed;
 * without memory all stays as it is.
 */
bool standing_arrange(struct standing *standing, size_t budget);

/* Parts of the queries that are in it, and bytes held, without the queries' own. O(1). */
size_t standing_count(const struct standing *standing);
size_t standing_bytes(const struct standing *standing);

#endif
