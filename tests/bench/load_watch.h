/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_watch: measures a daemon under load once a second: memory, descriptors, CPU time, messages,
 * storage. The curves of these figures should be flat.
 */
#pragma once

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

/*
 * Returns the largest resident memory, in MiB, of the measurements from number `first` on; 0 if
 * there are none.
 */
double load_watch_peak_mib(const struct load_watch *watch, size_t first);

/*
 * The trend between two seconds of a phase: medians of the first third and of the last third of
 * this time. The two medians are about equal if nothing grows.
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

/*
 * Writes load.csv and draws load.svg and load.png into the directory. Returns 0, or -1 after a
 * message on standard error.
 */
int load_watch_draw(const struct load_watch *watch, const char *directory, const char *title);
