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

/* Learns which share of the arranged messages a search compares. The worn ones are all compared. */
static void observe(struct worth *worth, const struct worth_counts *counts, uint64_t searches,
                    uint64_t comparisons)
{
    uint64_t of_worn = searches * counts->worn;

    worth->observed += searches;
    worth->observed_comparisons += comparisons > of_worn ? comparisons - of_worn : 0;
    worth->observed_messages += searches * arranged_of(counts);
    if (worth->observed >= WORTH_OBSERVED && worth->observed_messages > 0) {
        uint64_t ppm = worth->observed_comparisons * PPM / worth->observed_messages;

        worth->compared_ppm = ppm < COMPARED_PPM_MOST ? (uint32_t)ppm : COMPARED_PPM_MOST;
    }
}

void worth_look(struct worth *worth, const struct worth_counts *counts)
{
    uint64_t searches = counts->searches - worth->searches;
    uint64_t comparisons = counts->comparisons - worth->comparisons;

    worth->searches = counts->searches;
    worth->comparisons = counts->comparisons;
    if (worth->observed < WORTH_OBSERVED && arranged_of(counts) > 0) {
        observe(worth, counts, searches, comparisons);
    }
    uint64_t after = searches * counts->messages / 1000 * worth->compared_ppm / 1000;
    uint64_t more = comparisons > after ? comparisons - after : 0;
    uint64_t of_worn = searches * counts->worn; /* a rebuild saves no more */
    worth->excess += more < of_worn ? more : of_worn;
}

bool worth_is_due(const struct worth *worth, const struct worth_counts *counts)
{
    uint64_t saved = (uint64_t)counts->worn * (PPM - worth->compared_ppm) / PPM;
    uint64_t left = worth->excess / WORTH_COMPARISONS + WORTH_SHARE * saved;

    return counts->messages > WORTH_MESSAGES_LEAST && left >= counts->messages;
}

void worth_rebuilt(struct worth *worth, const struct worth_counts *counts)
{
    *worth = (struct worth){.searches = counts->searches,
                            .comparisons = counts->comparisons,
                            .compared_ppm = worth->compared_ppm};
}
