/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_trial: the competitors of hearsay-bench thesis with the same filters: the list and the
 * tree of the thesis, the list and the tree of core.
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
    const struct bits_kernels *kernels; /* borrowed */
    struct thesis_tree *tree;
    struct index *indexes[CORE_ENGINES]; /* built in bulk */
    double build_us[THESIS_MEASURED];    /* CPU time of a filter, inserted one after another; NAN
                                            for the thesis's list, which needs no build */
    double bulk_us[THESIS_MEASURED];     /* the same in bulk; NAN where there is no such thing */
};

/*
 * Builds all competitors. Returns 0, or -1 after a message on standard error. Call
 * thesis_trial_deinit in both cases.
 */
int thesis_trial_init(struct thesis_trial *trial, const struct thesis_data *data, size_t n,
                      const struct bits_kernels *kernels);
void thesis_trial_deinit(struct thesis_trial *trial);

struct thesis_answer {
    uint32_t count;
    double distances[THESIS_K_MAX]; /* nearest first, each computed like thesis_distance */
    double counted;                 /* comparisons as the thesis's program counts them, or NAN */
    double overlaps;                /* with filters, unions and summaries, that were computed */
};

/*
 * Asks one competitor for the k nearest, k <= THESIS_K_MAX. Returns 0, or -1 after a message on
 * standard error.
 */
int thesis_trial_ask(struct thesis_trial *trial, enum thesis_column who, const uint64_t *query,
                     uint32_t k, struct thesis_answer *out);

/*
 * Return the bytes with the filters: as allocated, and as the thesis counts bytes (NAN for core).
 */
double thesis_trial_bytes(const struct thesis_trial *trial, enum thesis_column who);
double thesis_trial_bytes_counted(const struct thesis_trial *trial, enum thesis_column who);

#endif
