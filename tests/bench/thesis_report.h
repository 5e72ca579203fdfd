/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thesis_report: writes the figures of hearsay-bench thesis as tables, CSV files and plots. A row
 * has one figure. A column has one competitor; the published figures are competitors, too.
 */
#ifndef TESTS_BENCH_THESIS_REPORT_H
#define TESTS_BENCH_THESIS_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/bench/plot.h"

enum thesis_column {
    THESIS_LIST, /* filter after filter, by the distance function of THESIS_TREE */
    THESIS_TREE,
    CORE_LIST,
    CORE_TREE,
    THESIS_MEASURED, /* so many are measured */
    PUBLISHED_LIST = THESIS_MEASURED,
    PUBLISHED_TREE,
    THESIS_COLUMNS
};

/* Of which each has a plot for either filter size. */
enum thesis_plot {
    PLOT_WRONG,
    PLOT_TIME,
    PLOT_OVERLAPS,
    PLOT_MEMORY,
    PLOT_BUILD,
    PLOT_FIGURES,
    THESIS_PLOT_NONE = PLOT_FIGURES
};
enum { THESIS_SIZES = 2 };

struct thesis_row {
    const char *key;  /* for programs; says the unit */
    const char *text; /* for people */
    int digits;
    uint32_t k;                    /* 0: the figure has none */
    enum thesis_plot plot;         /* or THESIS_PLOT_NONE */
    double values[THESIS_COLUMNS]; /* NAN: there is none */
};

struct thesis_report {
    FILE *figures; /* NULL without --csv */
    FILE *answers;
    const char *plot_directory; /* NULL without --plot */
    struct plot plots[PLOT_FIGURES][THESIS_SIZES];
    /* the setting under way */
    uint32_t bits;
    uint32_t hashes;
    uint32_t size; /* which filter size, from 0 */
    size_t n;
};

/*
 * Each directory may be NULL. Returns 0, or -1 after a message on standard error. Call
 * thesis_report_close in both cases.
 */
int thesis_report_open(struct thesis_report *report, const char *csv_directory,
                       const char *plot_directory);

/* Begins a table: m, d, N. */
void thesis_report_begin(struct thesis_report *report, uint32_t size, uint32_t bits,
                         uint32_t hashes, size_t n);
void thesis_report_row(struct thesis_report *report, const struct thesis_row *row);

/*
 * One rank of one answer: the true distance, and the distances that THESIS_MEASURED competitors
 * found (NAN: no result).
 */
void thesis_report_answer(struct thesis_report *report, uint32_t k, size_t query, uint32_t rank,
                          double optimal, const double *found);

/* Draws the plots and closes the files. 0, or -1: it is said. */
int thesis_report_close(struct thesis_report *report);

#endif
