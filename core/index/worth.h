/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worth: decides whether rebuilding an index is worth the work, from counters alone.
 *
 * A message that came after the last rebuild is compared by most queries, an arranged one by few.
 * So the queries pay for messages that came or went (the *worn* ones), and a rebuild pays once. An
 * index is rebuilt when what the queries have paid since the last rebuild reaches the work of a
 * rebuild: then both together cost at most twice the better one of the two. Nothing is known of the
 * queries to come when few have been asked yet, so each worn message counts like queries, too:
 *
 *   excess comparisons of queries / WORTH_COMPARISONS + WORTH_SHARE * saved worn messages >=
 * messages
 *
 * The left side grows only with what clients have done, and rate limits apply to that. So whatever
 * a client does, a deposit or a removal makes the worker arrange at most WORTH_SHARE messages, and
 * a query makes it work at most for about as long as the query took itself. No pause is needed.
 *
 * On some contexts arranged messages are compared, too, and a rebuild saves little. Therefore
 * queries are observed: `compared_ppm` is the share of the arranged messages that they compare, and
 * only the rest counts as saved, which is at least half. Queries of another kind may come later and
 * compare far fewer, so observing goes on, and the smallest share since the last rebuild counts.
 *
 * Messages of a burst pay for more than one rebuild: the first N messages of an index pay four
 * times what their rebuild costs. More messages of the burst come during that rebuild, and they may
 * be too few to pay for the next one, so that they would stay unarranged. Therefore a rebuild
 * leaves what it did not cost as `credit` for the next one, if enough messages came during it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* An index of so many messages is one node, which is compared in order anyway. */
    WORTH_MESSAGES_LEAST = 4096,
    WORTH_SHARE = 4,
    /* Arranging a message takes about as long as so many comparisons of a query. */
    WORTH_COMPARISONS = 2000,
    /* Searches that are observed together. */
    WORTH_OBSERVED = 16,
    /* Credit is kept if at least 1 / WORTH_FEW of the messages are worn at the end of a rebuild. */
    WORTH_FEW = 64
};

/* The counters of an index. The last two only grow. */
struct worth_counts {
    size_t messages;
    size_t worn; /* unarranged messages, and half of the arranged ones that were removed */
    uint64_t searches;
    uint64_t comparisons; /* of these searches */
};

struct worth {
    uint64_t searches; /* of the index, at the last look */
    uint64_t comparisons;
    uint64_t observed; /* searches that are observed together, so far */
    uint64_t observed_comparisons;
    uint64_t observed_messages; /* arranged messages, summed over the observed searches */
    bool is_learnt;             /* compared_ppm is of searches after the last rebuild */
    uint32_t compared_ppm;      /* 0 until searches were observed */
    uint64_t excess;            /* comparisons since the last rebuild that a rebuild had saved */
    uint64_t credit;            /* messages that a rebuild may arrange without further payment */
};

/* Takes in what the counters have gained since the last look. Call about once a second. */
void worth_look(struct worth *worth, const struct worth_counts *counts);

/* Whether a rebuild is worth its work, as of the last look. */
bool worth_is_due(const struct worth *worth, const struct worth_counts *counts);

/*
 * The index was rebuilt: begins anew. `begun`: the counters when the rebuild began; `counts`: now.
 * Call worth_look before the rebuild begins, and not while it is under way. Keeps compared_ppm
 * until further searches were observed.
 */
void worth_rebuilt(struct worth *worth, const struct worth_counts *begun,
                   const struct worth_counts *counts);
