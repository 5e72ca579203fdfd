/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/thesis_report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/bench/bench.h"

enum { PATH_BYTES = 4096, TEXT_COLUMNS = 49, VALUE_COLUMNS = 12 };

static const char *const column_names[THESIS_COLUMNS] = {
    "thesis list", "thesis tree", "list", "tree", "publ. list", "publ. tree",
};

static const struct {
    const char *name;
    const char *title;
    const char *y_label;
    bool log_y;
} plots[PLOT_FIGURES] = {
    [PLOT_WRONG] = {"wrong", "answers that differ from the true ones", "ranks, %", false},
    [PLOT_TIME] = {"time", "CPU time of a query", "us", true},
    [PLOT_OVERLAPS] = {"overlaps", "overlaps computed for a query", "filters and unions", true},
    [PLOT_MEMORY] = {"memory", "memory, filters included", "bytes a filter", true},
    [PLOT_BUILD] = {"build", "CPU time of building, one after another", "us a filter", true},
};

static FILE *open_csv(const char *directory, const char *name, const char *header)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path)) {
        (void)bench_fail("the name of %s is too long", directory);
        return NULL;
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        (void)bench_fail("cannot write %s: %s", path, strerror(errno));
        return NULL;
    }
    fprintf(file, "%s\n", header);
    return file;
}

int thesis_report_open(struct thesis_report *report, const char *csv_directory,
                       const char *plot_directory)
{
    memset(report, 0, sizeof(*report));
    if (csv_directory != NULL) {
        if (plot_make_directory(csv_directory) != 0) {
            return -1;
        }
        report->figures = open_csv(csv_directory, "figures.csv",
                                   "bits,hashes,n,k,figure,thesis_list,thesis_tree,list,tree,"
                                   "published_list,published_tree");
        report->answers =
            open_csv(csv_directory, "answers.csv",
                     "bits,hashes,n,k,query,rank,optimal,thesis_list,thesis_tree,list,tree");
        if (report->figures == NULL || report->answers == NULL) {
            return -1;
        }
    }
    if (plot_directory != NULL) {
        if (plot_prepare(plot_directory) != 0) {
            return -1;
        }
        report->plot_directory = plot_directory;
    }
    return 0;
}

void thesis_report_begin(struct thesis_report *report, uint32_t size, uint32_t bits,
                         uint32_t hashes, size_t n)
{
    report->size = size;
    report->bits = bits;
    report->hashes = hashes;
    report->n = n;
    printf("\n%u bits, d = %u, N = %zu\n%-*s", bits, hashes, n, TEXT_COLUMNS, "");
    for (size_t i = 0; i < THESIS_COLUMNS; i++) {
        printf(" %*s", VALUE_COLUMNS, column_names[i]);
    }
    printf("\n");
}

static void put_csv_value(FILE *file, double value)
{
    if (isnan(value)) {
        (void)fputc(',', file);
    } else {
        fprintf(file, ",%.9g", value);
    }
}

/*
 * A plot has no errors of the list, because the list is never wrong: a logarithmic axis has no
 * zero.
 */
static void add_points(struct thesis_report *report, const struct thesis_row *row)
{
    struct plot *plot = &report->plots[row->plot][report->size];

    plot->title = plots[row->plot].title;
    plot->x_label = "filters";
    plot->y_label = plots[row->plot].y_label;
    plot->log_y = plots[row->plot].log_y;
    for (size_t i = 0; i < THESIS_MEASURED; i++) {
        char name[PLOT_NAME_BYTES];

        if (isnan(row->values[i]) || (plot->log_y && row->values[i] <= 0)) {
            continue;
        }
        snprintf(name, sizeof(name), "%s", column_names[i]);
        if (row->k > 0) {
            snprintf(name, sizeof(name), "%s, k = %u", column_names[i], row->k);
        }
        plot_add(plot, name, (double)report->n, row->values[i]);
    }
}

void thesis_report_row(struct thesis_report *report, const struct thesis_row *row)
{
    char text[128];

    snprintf(text, sizeof(text), "%s", row->text);
    if (row->k > 0) {
        snprintf(text, sizeof(text), "k = %u: %s", row->k, row->text);
    }
    printf("%-*s", TEXT_COLUMNS, text);
    for (size_t i = 0; i < THESIS_COLUMNS; i++) {
        if (isnan(row->values[i])) {
            printf(" %*s", VALUE_COLUMNS, "-");
        } else {
            printf(" %*.*f", VALUE_COLUMNS, row->digits, row->values[i]);
        }
    }
    printf("\n");
    if (report->figures != NULL) {
        fprintf(report->figures, "%u,%u,%zu,%u,%s", report->bits, report->hashes, report->n, row->k,
                row->key);
        for (size_t i = 0; i < THESIS_COLUMNS; i++) {
            put_csv_value(report->figures, row->values[i]);
        }
        fprintf(report->figures, "\n");
    }
    if (report->plot_directory != NULL && row->plot != THESIS_PLOT_NONE) {
        add_points(report, row);
    }
}

void thesis_report_answer(struct thesis_report *report, uint32_t k, size_t query, uint32_t rank,
                          double optimal, const double *found)
{
    if (report->answers == NULL) {
        return;
    }
    fprintf(report->answers, "%u,%u,%zu,%u,%zu,%u", report->bits, report->hashes, report->n, k,
            query, rank);
    put_csv_value(report->answers, optimal);
    for (size_t i = 0; i < THESIS_MEASURED; i++) {
        put_csv_value(report->answers, found[i]);
    }
    fprintf(report->answers, "\n");
}

static int draw(const struct thesis_report *report)
{
    static const uint32_t bits[THESIS_SIZES] = {256, 512};

    for (size_t f = 0; f < PLOT_FIGURES; f++) {
        for (size_t s = 0; s < THESIS_SIZES; s++) {
            const struct plot *plot = &report->plots[f][s];
            char name[64];

            snprintf(name, sizeof(name), "thesis-%s-%u", plots[f].name, bits[s]);
            if (plot->series_count > 0 && plot_draw(plot, report->plot_directory, name) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int close_csv(FILE *file)
{
    if (file == NULL) {
        return 0;
    }
    const bool written = ferror(file) == 0;
    return fclose(file) == 0 && written ? 0 : bench_fail("cannot write the CSV files");
}

int thesis_report_close(struct thesis_report *report)
{
    int rc = report->plot_directory != NULL ? draw(report) : 0;

    if (close_csv(report->figures) != 0) {
        rc = -1;
    }
    return close_csv(report->answers) != 0 ? -1 : rc;
}
