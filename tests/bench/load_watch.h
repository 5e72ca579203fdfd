/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_watch: a daemon looked at once a second while it is under load: memory, descriptors,
 * processor time, messages, storage. For curves that should be flat.
 */
#ifndef TESTS_BENCH_LOAD_WATCH_H
#define TESTS_BENCH_LOAD_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct load_look {
    double at_s;
    double resident_mib;
    double descriptors;
    double cpu_s;
    double messages;  /* stored */
    double store_mib; /* the database and its log, on storage */
};

struct load_watch {
    pid_t pid;
    const char *data;        /* its data directory; borrowed */
    struct load_look *looks; /* owned */
    size_t count;
    size_t capacity;
};

/* One more look; what cannot be read is left out. */
void load_watch_look(struct load_watch *watch, double at_s, uint64_t messages);
void load_watch_deinit(struct load_watch *watch); /* a zeroed one is fine */

/* The largest resident memory, MiB, of looks from `first` on; 0 for none. */
double load_watch_peak_mib(const struct load_watch *watch, size_t first);

/*
 * What went on between two of a phase's seconds, of looks from `first` on: medians of the first and
 * of the last third of that time, which are alike where nothing grows.
 */
struct load_trend {
    double resident_mib[2];
    double store_mib[2];
    double messages[2];
    double descriptors_least;
    double descriptors_most;
};

/* 0, or -1 when there are fewer than three looks. */
int load_watch_trend(const struct load_watch *watch, size_t first, double from_s,
                     struct load_trend *out);

/* Writes load.csv and draws load.svg and load.png into the directory. 0, or -1: it is said. */
int load_watch_draw(const struct load_watch *watch, const char *directory, const char *title);

#endif
