/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_published: the figures of J. Greif's master's thesis ("Organisation von Bloom-Filtern zur
 * effizienten k-nächste-Nachbarn-Suche in kontextzentrischen sozialen Netzen", LMU München, 2016).
 *
 * Source: the result files that its author published in github.com/missgreenwood/masterarbeit
 * (src/src/<name>.csv at commit 3049710; the same in ../shared/data/thesis-2016). Each table says
 * which file it is from.
 */
#ifndef TESTS_BENCH_THESIS_PUBLISHED_H
#define TESTS_BENCH_THESIS_PUBLISHED_H

#include <stddef.h>
#include <stdint.h>

enum { PUBLISHED_FILTERS = 100, PUBLISHED_QUERIES = 10, PUBLISHED_K_MAX = 3 };

/* Returns the figures of one of four settings: 256 bits (d = 4) or 512 bits (d = 8), k = 1 or 3. */
struct thesis_published {
    uint32_t bits;
    uint32_t k;
    double optimal[PUBLISHED_QUERIES][PUBLISHED_K_MAX];  /* Jaccard distances in the data */
    double computed[PUBLISHED_QUERIES][PUBLISHED_K_MAX]; /* those that the tree returned */
    double tree_us[PUBLISHED_QUERIES];                   /* CPU time of each query */
    double list_us[PUBLISHED_QUERIES];
    uint32_t tree_comparisons; /* as counted there, the same for each query */
    uint32_t list_comparisons;
    uint32_t tree_bytes; /* 4 bytes a bit; filters and unions */
    uint32_t list_bytes;
};

/* NULL where nothing was published. */
const struct thesis_published *thesis_published(uint32_t bits, uint32_t k);

/* cost.csv: the build cost that the thesis estimates for 100 filters, for the list and the tree. */
extern const double thesis_published_list_cost;
extern const double thesis_published_tree_cost;

#endif
