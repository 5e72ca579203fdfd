/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_plot: the plots of hearsay-bench index --plot: the time of a query and the bytes that a
 * query reads, against the number of filters, with a curve for each engine.
 */
#pragma once

#include "tests/bench/plot.h"

struct index_plot {
    char title[512];
    struct plot time;
    struct plot bytes;
};

/* An empty one. The title is copied. */
void index_plot_init(struct index_plot *plot, const char *title);

/*
 * Writes the numbers of filters to measure for curves up to `count`: 100, 1,000 and so on, and
 * `count` itself, ascending. Returns how many numbers there are.
 */
size_t index_plot_sizes(size_t count, size_t sizes[PLOT_POINTS_MAX]);

void index_plot_add(struct index_plot *plot, const char *engine, size_t n, double query_us,
                    double bytes_share);

/*
 * Draws index-time and index-bytes, each as .svg and .png, in the directory. Returns 0, or -1 after
 * a message on standard error.
 */
int index_plot_draw(const struct index_plot *plot, const char *directory);
