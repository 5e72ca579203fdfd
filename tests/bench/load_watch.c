/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/bench.h"
#include "tests/bench/memory_map.h"
#include "tests/bench/plot.h"

enum { PATH_BYTES = 4096 };

static double count_descriptors(pid_t pid)
{
    char path[64];
    double count = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return 0;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count - 2; /* . and .. */
}

static double read_cpu(pid_t pid)
{
    clockid_t clock;
    struct timespec used;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double read_resident_mib(pid_t pid)
{
    char path[64];
    unsigned long whole = 0;
    unsigned long resident = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/statm", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%lu %lu", &whole, &resident) != 2) {
        resident = 0;
    }
    (void)fclose(file);
    return (double)resident * 4096 / 1048576;
}

void load_watch_look(struct load_watch *watch, double at_s)
{
    if (watch->count == watch->capacity) {
        const size_t capacity = watch->capacity == 0 ? 256 : watch->capacity * 2;
        struct load_look *looks = realloc(watch->looks, capacity * sizeof(*looks));
        if (looks == NULL) {
            return;
        }
        watch->looks = looks;
        watch->capacity = capacity;
    }
    watch->looks[watch->count++] = (struct load_look){
        .at_s = at_s,
        .resident_mib = read_resident_mib(watch->pid),
        .descriptors = count_descriptors(watch->pid),
        .cpu_s = read_cpu(watch->pid),
    };
}

void load_watch_deinit(struct load_watch *watch)
{
    free(watch->looks);
    memset(watch, 0, sizeof(*watch));
}

double load_watch_peak_mib(const struct load_watch *watch, size_t first)
{
    double peak = 0;

    for (size_t i = first; i < watch->count; i++) {
        peak = watch->looks[i].resident_mib > peak ? watch->looks[i].resident_mib : peak;
    }
    return peak;
}

static int write_csv(const struct load_watch *watch, const char *path)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    (void)fprintf(file, "seconds,resident_mib,descriptors,cpu_s\n");
    for (size_t i = 0; i < watch->count; i++) {
        const struct load_look *look = &watch->looks[i];
        (void)fprintf(file, "%.1f,%.2f,%.0f,%.3f\n", look->at_s, look->resident_mib,
                      look->descriptors, look->cpu_s);
    }
    return fclose(file) == 0 ? 0 : bench_fail("%s: %s", path, strerror(errno));
}

static int write_script(const char *path, const char *title)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    (void)fprintf(file,
                  "set datafile separator ','\nset title \"%s\"\nset xlabel 'minutes'\n"
                  "set ylabel 'resident, MiB'\nset y2label 'descriptors'\nset y2tics\n"
                  "set yrange [0:*]\nset y2range [0:*]\nset key bottom\nset grid\n",
                  title);
    for (int i = 0; i < 2; i++) {
        (void)fprintf(file,
                      "set terminal %s\nset output 'load.%s'\n"
                      "plot 'load.csv' using ($1/60):2 skip 1 with lines lw 2 title 'memory', "
                      "'' using ($1/60):3 skip 1 axes x1y2 with lines lw 2 title 'descriptors'\n",
                      i == 0 ? "svg size 800,400" : "png size 800,400", i == 0 ? "svg" : "png");
    }
    return fclose(file) == 0 ? 0 : bench_fail("%s: %s", path, strerror(errno));
}

int load_watch_draw(const struct load_watch *watch, const char *directory, const char *title)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/load.csv", directory);
    if (write_csv(watch, path) != 0) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/load.gp", directory);
    if (write_script(path, title) != 0) {
        return -1;
    }
    return plot_run(directory, "load.gp");
}
