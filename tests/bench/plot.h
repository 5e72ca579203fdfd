/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot: curves of figures against N, which gnuplot draws as SVG and PNG. Each plot leaves its
 * script with the data beside the pictures.
 */
#pragma once

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
 * Call this function before the measurements. Makes the directory if needed, and checks that
 * gnuplot can run. Returns 0, or -1 after a message on standard error.
 */
int plot_prepare(const char *directory);

/*
 * Adds a point to the series with this name; the first point makes the series. The caller must not
 * exceed the maxima.
 */
void plot_add(struct plot *plot, const char *series, double x, double y);

/*
 * Writes DIRECTORY/NAME.gp, NAME.svg and NAME.png. Returns 0, or -1 after a message on standard
 * error.
 */
int plot_draw(const struct plot *plot, const char *directory, const char *name);

/*
 * Runs gnuplot with one argument, such as a script, in a directory, without output. Returns 0, or
 * -1 after a message on standard error.
 */
int plot_run(const char *directory, const char *argument);

/*
 * Makes a directory, but not its parents, unless it exists. Returns 0, or -1 after a message on
 * standard error.
 */
int plot_make_directory(const char *directory);
