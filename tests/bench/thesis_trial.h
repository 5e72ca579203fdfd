/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_trial: the competitors of hearsay-bench thesis on the same filters: the list and the tree
 * of the thesis, the list and the tree of core.
 */
#ifndef TESTS_BENCH_THESIS_TRIAL_H
#define TESTS_BENCH_THESIS_TRIAL_H

#include "core/index/index.h"
#include "tests/bench/thesis_data.h"
#include "tests/bench/thesis_report.h"
#include "tests/bench/thesis_tree.h"

enum { THESIS_K_MAX = 3, CORE_ENGINES = THESIS_MEASURED - CORE_LIST };

struct thesis_trial {
    const struct thesis_data *data; /* borrowed */
    size_t n;                       /* of its filters, the first */
    struct profile profile;
    struct estimate *estimate;
    const struct bits_kernels *kernels; /* borrowed */
    struct thesis_tree *tree;
    struct index *indexes[CORE_ENGINES]; /* built in bulk */
    double build_us[THESIS_MEASURED];    /* CPU time a filter, inserted one after another; NAN for
                                            the thesis's list, where nothing is to be done */
    double bulk_us[THESIS_MEASURED];     /* the same in bulk; NAN where there is no such thing */
};

/* Builds all competitors. 0, or -1: it is said. thesis_trial_deinit in any case. */
int thesis_trial_init(struct thesis_trial *trial, const struct thesis_data *data, size_t n,
                      const struct bits_kernels *kernels);
void thesis_trial_deinit(struct thesis_trial *trial);

struct thesis_answer {
    uint32_t count;
    double distances[THESIS_K_MAX]; /* nearest first, each computed like thesis_distance */
    double counted;                 /* comparisons as the thesis's program counts them, or NAN */
    double overlaps;                /* with filters, unions and summaries, that were computed */
};

/* Asks one competitor for the k <= THESIS_K_MAX nearest. 0, or -1: it is said. */
int thesis_trial_ask(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                     uint32_t k, struct thesis_answer *out);

/* Bytes with the filters: as allocated, and as the thesis counts them (NAN for core). */
double thesis_trial_bytes(const struct thesis_trial *trial, enum thesis_column who);
double thesis_trial_bytes_counted(const struct thesis_trial *trial, enum thesis_column who);

#endif
