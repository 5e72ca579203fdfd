/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_plot: what hearsay-bench index --plot draws: the time of a query and the bytes that it
 * reads against N, a curve for each engine.
 */
#ifndef TESTS_BENCH_INDEX_PLOT_H
#define TESTS_BENCH_INDEX_PLOT_H

#include <stddef.h>

#include "tests/bench/plot.h"

struct index_plot {
    char title[512];
    struct plot time;
    struct plot bytes;
};

/* An empty one. The title is copied. */
void index_plot_init(struct index_plot *plot, const char *title);

/*
 * The numbers of filters that are measured for curves up to `count`: 100, 1,000 and so on, and
 * `count` itself, ascending. Returns how many.
 */
size_t index_plot_sizes(size_t count, size_t sizes[PLOT_POINTS_MAX]);

void index_plot_add(struct index_plot *plot, const char *engine, size_t n, double query_us,
                    double bytes_share);

/* Draws index-time and index-bytes, .svg and .png, there. 0, or -1: it is said. */
int index_plot_draw(const struct index_plot *plot, const char *directory);

#endif
