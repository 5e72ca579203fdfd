/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/index_plot.h"

#include <stdio.h>
#include <string.h>

enum { SMALLEST = 100, STEP = 10 };

void index_plot_init(struct index_plot *plot, const char *title)
{
    memset(plot, 0, sizeof(*plot));
    snprintf(plot->title, sizeof(plot->title), "%s", title);
    plot->time.title = plot->bytes.title = plot->title;
    plot->time.x_label = plot->bytes.x_label = "filters";
    plot->time.y_label = "time of a query, us (median)";
    plot->time.log_y = true;
    plot->bytes.y_label = "bytes of the index read, % of all filters'";
}

size_t index_plot_sizes(size_t count, size_t sizes[PLOT_POINTS_MAX])
{
    size_t found = 0;

    for (size_t size = SMALLEST; size < count && found + 1 < PLOT_POINTS_MAX; size *= STEP) {
        sizes[found++] = size;
    }
    sizes[found++] = count;
    return found;
}

void index_plot_add(struct index_plot *plot, const char *engine, size_t n, double query_us,
                    double bytes_share)
{
    plot_add(&plot->time, engine, (double)n, query_us);
    plot_add(&plot->bytes, engine, (double)n, bytes_share * 100);
}

int index_plot_draw(const struct index_plot *plot, const char *directory)
{
    const int rc = plot_draw(&plot->time, directory, "index-time");

    return rc != 0 ? rc : plot_draw(&plot->bytes, directory, "index-bytes");
}
