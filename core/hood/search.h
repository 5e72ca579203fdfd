/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search: finds the k nearest messages of all peers of a hood, and asks only peers that can hold
 * one of them.
 *
 *   hood_search_new(...)
 *   while ((count = hood_search_next(search, &peers)) > 0)
 *       send the query to these peers, with the floor of hood_search_floor
 *       hood_search_answer(...) for each answer, until all are there or time is over
 *   hood_search_results(...)
 *
 * Each peer has a bound: the highest similarity that a message of its groups can have (bound.h),
 * over all parts of the query. A search for the newest messages gives all of them one rank, so that
 * the times decide. A peer is skipped if its bound is below the k-th best message found,
 * or equal to it while the newest message of these groups is older. The others are asked best
 * first: 8 peers, then 16, 32, and so on; each wave uses what the waves before have found.
 *
 * The result is exact over each peer that was asked (now) and each peer that was skipped (as of
 * as_of_ms), unless it says that it is not complete. A peer is asked whatever its bound if its
 * summary is void, or older than the query allows. Peers that were asked HOOD_VAIN times in a row
 * and had no answer, and peers that are faulty or whose summary is void, are asked last.
 *
 * What a peer answers is not believed: the search computes distances itself, from the filters, and
 * drops what does not fit the query. (A peer can still invent messages, at its own host only.)
 */
#pragma once

#include "core/hood/hood.h"
#include "core/index/index.h"

struct hood_search;

enum { HOOD_WAVE_FIRST = 8, HOOD_VAIN = 32 };
#define HOOD_HOME UINT32_MAX /* as the number of a peer: the host that asks */

struct hood_query {
    /*
     * The query; borrowed until the search is freed. Of the parts only those of epoch 0, without
     * indexes. The search does not read sender_share (each host limits its own senders) and budget.
     */
    const struct index_query *query;
    struct similarity floor;   /* messages below it are of no use; 0: all are */
    uint32_t peers_max;        /* how many peers may be asked */
    uint64_t max_staleness_ms; /* a peer with an older summary is asked; UINT64_MAX: any age */
    int64_t now_ms;            /* by the clock of hood_learn's heard_ms */
};

/* A message that a peer has found. */
struct hood_found {
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t deposited_ms;
    const uint64_t *filter; /* words of the profile; borrowed during the call */
};

struct hood_answer {
    uint8_t store_id[HOOD_STORE_ID_BYTES];
    uint64_t seq;                   /* of the peer's store, read after it has found the messages */
    bool is_complete;               /* the peer has all its messages: it is not restoring them */
    const struct hood_found *found; /* borrowed during the call */
    uint32_t found_count;           /* only the first k count */
};

struct hood_outcome {
    bool is_complete;      /* no peer is silent, none was left out by peers_max, and each peer that
                            * was asked has all its messages */
    uint32_t peers;        /* of the hood, when the search began */
    uint32_t peers_asked;  /* with the silent ones */
    uint32_t peers_silent; /* asked in vain for an answer */
    /* The oldest time for which the summary of a skipped peer speaks; now_ms without skipped peers.
     * A summary speaks for the earlier of two times: when the peer sent its last word, by the
     * peer's clock, and when it was heard. */
    int64_t as_of_ms;
};

/* Begins a search. O(groups of all peers). Returns 0 or -ERR_NOMEM. The hood must outlive the
 * search; it may learn meanwhile, which this search does not see. */
int hood_search_new(struct hood *hood, const struct hood_query *query,
                    struct hood_search **out_search);
void hood_search_free(struct hood_search *search); /* at any time; NULL is fine */

/*
 * Offers messages of the host that asks, before the first wave. The results may then have these
 * messages, with the source HOOD_HOME. With them the k best are full sooner than with a floor, and
 * fewer peers are asked.
 */
void hood_search_offer_home(struct hood_search *search, const struct hood_found *found,
                            uint32_t count);

/*
 * Returns how many peers to ask now, and their numbers (borrowed until the next call). A peer of
 * the wave before that has not answered counts as silent, and the search ignores its later answer.
 * The result 0 means that the search is done.
 */
uint32_t hood_search_next(struct hood_search *search, const uint32_t **out_peers);

/*
 * Takes a peer's answer. Returns how many peers of the wave have still to answer. The answer may
 * make the peer's summary void (hood_knows): if it is of another store, or of a seq before that of
 * the summary. It may show that the peer is faulty (hood_is_faulty).
 */
uint32_t hood_search_answer(struct hood_search *search, uint32_t peer,
                            const struct hood_answer *answer);

/* The similarity of the query's metric that a message must reach to be of use; 0: any. */
struct similarity hood_search_floor(const struct hood_search *search);

/*
 * Returns the k nearest messages, best first, after hood_search_next returned 0. `source` is the
 * peer that has the message, and item.bytes the number of the message in that peer's answer. A
 * message is its host and its id: two hosts may have the same id. Borrowed. Call it once.
 */
const struct nearest_candidate *hood_search_results(struct hood_search *search, uint32_t *out_count,
                                                    struct hood_outcome *out_outcome);
