/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/plot.h"
#include "tests/bench/stats.h"

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
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double read_store_mib(const char *data)
{
    static const char *const files[] = {"messages.db", "messages.db-wal"};
    char path[PATH_BYTES];
    struct stat status;
    double bytes = 0;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const int length = snprintf(path, sizeof(path), "%s/%s", data, files[i]);
        if (length < (int)sizeof(path) && stat(path, &status) == 0) {
            bytes += (double)status.st_size;
        }
    }
    return bytes / 1048576;
}

void load_watch_look(struct load_watch *watch, double at_s, uint64_t messages)
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
        .messages = (double)messages,
        .store_mib = read_store_mib(watch->data),
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

/* --- what became of it ------------------------------------------------------------------------ */

static double median_of(const struct load_watch *watch, size_t first, size_t count, size_t offset,
                        double *room)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(&room[i], (const char *)&watch->looks[first + i] + offset, sizeof(room[i]));
    }
    return stats_median(room, count);
}

int load_watch_trend(const struct load_watch *watch, size_t first, double from_s,
                     struct load_trend *out)
{
    while (first < watch->count && watch->looks[first].at_s < from_s) {
        first++;
    }
    const size_t third = (watch->count - first) / 3;
    double *room = third > 0 ? calloc(third, sizeof(*room)) : NULL;
    if (room == NULL) {
        return -1;
    }
    *out = (struct load_trend){.descriptors_least = watch->looks[first].descriptors};
    for (int end = 0; end < 2; end++) {
        const size_t at = end == 0 ? first : watch->count - third;
        out->resident_mib[end] =
            median_of(watch, at, third, offsetof(struct load_look, resident_mib), room);
        out->store_mib[end] =
            median_of(watch, at, third, offsetof(struct load_look, store_mib), room);
        out->messages[end] =
            median_of(watch, at, third, offsetof(struct load_look, messages), room);
    }
    for (size_t i = first; i < watch->count; i++) {
        const double now = watch->looks[i].descriptors;
        out->descriptors_least = now < out->descriptors_least ? now : out->descriptors_least;
        out->descriptors_most = now > out->descriptors_most ? now : out->descriptors_most;
    }
    free(room);
    return 0;
}

/* --- pictures --------------------------------------------------------------------------------- */

static int write_csv(const struct load_watch *watch, const char *path)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    (void)fprintf(file, "seconds,resident_mib,descriptors,cpu_s,messages,store_mib\n");
    for (size_t i = 0; i < watch->count; i++) {
        const struct load_look *look = &watch->looks[i];
        (void)fprintf(file, "%.1f,%.2f,%.0f,%.3f,%.0f,%.2f\n", look->at_s, look->resident_mib,
                      look->descriptors, look->cpu_s, look->messages, look->store_mib);
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
                  "set ylabel 'MiB'\nset y2label 'descriptors, hundreds of messages'\nset y2tics\n"
                  "set yrange [0:*]\nset y2range [0:*]\nset key below\nset grid\n",
                  title);
    for (int i = 0; i < 2; i++) {
        (void)fprintf(file,
                      "set terminal %s\nset output 'load.%s'\n"
                      "plot 'load.csv' using ($1/60):2 skip 1 with lines lw 2 "
                      "title 'resident memory', "
                      "'' using ($1/60):6 skip 1 with lines lw 2 title 'storage', "
                      "'' using ($1/60):3 skip 1 axes x1y2 with lines lw 2 title 'descriptors', "
                      "'' using ($1/60):($5/100) skip 1 axes x1y2 with lines lw 2 "
                      "title 'messages / 100'\n",
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
