/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_watch: a daemon looked at once a second while it is under load: memory, descriptors,
 * processor time. For curves that should be flat.
 */
#ifndef TESTS_BENCH_LOAD_WATCH_H
#define TESTS_BENCH_LOAD_WATCH_H

#include <stddef.h>
#include <sys/types.h>

struct load_look {
    double at_s;
    double resident_mib;
    double descriptors;
    double cpu_s;
};

struct load_watch {
    pid_t pid;
    struct load_look *looks; /* owned */
    size_t count;
    size_t capacity;
};

/* One more look; what cannot be read is left out. */
void load_watch_look(struct load_watch *watch, double at_s);
void load_watch_deinit(struct load_watch *watch); /* a zeroed one is fine */

/* The largest resident memory, MiB, of looks from `first` on; 0 for none. */
double load_watch_peak_mib(const struct load_watch *watch, size_t first);

/* Writes load.csv and draws load.svg and load.png into the directory. 0, or -1: it is said. */
int load_watch_draw(const struct load_watch *watch, const char *directory, const char *title);

#endif
