/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/worth.h"

enum {
    PPM = 1000000,
    /*
     * The share that a small index shows is larger than that of an index that has grown. So a
     * rebuild is taken to save at least half of what the worn messages cost.
     */
    COMPARED_PPM_MOST = PPM / 2
};

static size_t arranged_of(const struct worth_counts *counts)
{
    return counts->worn < counts->messages ? counts->messages - counts->worn : 0;
}

/* What the queries and the worn messages have paid for, in messages that a rebuild arranges. */
static uint64_t paid_work(const struct worth *worth, const struct worth_counts *counts)
{
    uint64_t saved = (uint64_t)counts->worn * (PPM - worth->compared_ppm) / PPM;

    return worth->excess / WORTH_COMPARISONS + WORTH_SHARE * saved + worth->credit;
}

/*
 * Learns which share of the arranged messages a search compares. The worn ones are all compared.
 * Keeps the smallest share: if searches of a kind that compares much kept the larger one, those of
 * another kind that compare less would never be seen to pay for the worn messages.
 */
static void observe_searches(struct worth *worth, const struct worth_counts *counts,
                             uint64_t searches, uint64_t comparisons)
{
    uint64_t of_worn = searches * counts->worn;

    worth->observed += searches;
    worth->observed_comparisons += comparisons > of_worn ? comparisons - of_worn : 0;
    worth->observed_messages += searches * arranged_of(counts);
    if (worth->observed >= WORTH_OBSERVED && worth->observed_messages > 0) {
        uint64_t ppm = worth->observed_comparisons * PPM / worth->observed_messages;

        ppm = ppm < COMPARED_PPM_MOST ? ppm : COMPARED_PPM_MOST;
        if (!worth->is_learnt || ppm < worth->compared_ppm) {
            worth->compared_ppm = (uint32_t)ppm;
        }
        worth->is_learnt = true;
        worth->observed = 0;
        worth->observed_comparisons = 0;
        worth->observed_messages = 0;
    }
}

void worth_look(struct worth *worth, const struct worth_counts *counts)
{
    uint64_t searches = counts->searches - worth->searches;
    uint64_t comparisons = counts->comparisons - worth->comparisons;

    worth->searches = counts->searches;
    worth->comparisons = counts->comparisons;
    if (arranged_of(counts) > 0) {
        observe_searches(worth, counts, searches, comparisons);
    }
    uint64_t after = searches * counts->messages / 1000 * worth->compared_ppm / 1000;
    uint64_t more = comparisons > after ? comparisons - after : 0;
    uint64_t of_worn = searches * counts->worn; /* a rebuild saves no more */
    worth->excess += more < of_worn ? more : of_worn;
}

bool worth_is_due(const struct worth *worth, const struct worth_counts *counts)
{
    return counts->messages > WORTH_MESSAGES_LEAST && paid_work(worth, counts) >= counts->messages;
}

void worth_rebuilt(struct worth *worth, const struct worth_counts *begun,
                   const struct worth_counts *counts)
{
    uint64_t before = paid_work(worth, begun);
    uint64_t most = (uint64_t)(WORTH_SHARE - 1) * begun->messages; /* as the first index has */
    uint64_t left = before > begun->messages ? before - begun->messages : 0;
    uint64_t credit = left < most ? left : most;
    bool is_kept = (uint64_t)counts->worn * WORTH_FEW >= counts->messages;

    *worth = (struct worth){.searches = counts->searches,
                            .comparisons = counts->comparisons,
                            .compared_ppm = worth->compared_ppm,
                            .credit = is_kept ? credit : 0};
}
