/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot: curves of figures against N, drawn by gnuplot as SVG and PNG. What was drawn stays beside
 * the pictures as a script with its data.
 */
#ifndef TESTS_BENCH_PLOT_H
#define TESTS_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

enum { PLOT_SERIES_MAX = 12, PLOT_POINTS_MAX = 16, PLOT_NAME_BYTES = 64 };

struct plot_series {
    char name[PLOT_NAME_BYTES];
    double x[PLOT_POINTS_MAX];
    double y[PLOT_POINTS_MAX];
    size_t count;
};

/* Zeroed but for the texts and scales, it is an empty one. */
struct plot {
    const char *title; /* borrowed, as the others */
    const char *x_label;
    const char *y_label;
    bool log_y; /* x is always logarithmic */
    struct plot_series series[PLOT_SERIES_MAX];
    size_t series_count;
};

/*
 * To be called before anything is measured: makes the directory if it is not there, and sees that
 * gnuplot can be run. 0, or -1: it is said.
 */
int plot_prepare(const char *directory);

/* Adds a point to the series of that name, which begins with its first point. What is beyond the
 * maxima is a mistake of the caller's. */
void plot_add(struct plot *plot, const char *series, double x, double y);

/* Writes DIRECTORY/NAME.gp, NAME.svg and NAME.png. 0, or -1: it is said. */
int plot_draw(const struct plot *plot, const char *directory, const char *name);

/* Runs gnuplot with one argument, such as a script, in a directory, silently. 0, or -1: it is said.
 */
int plot_run(const char *directory, const char *argument);

/* Makes a directory (not those above it) unless it is there. 0, or -1: it is said. */
int plot_make_directory(const char *directory);

#endif
