/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child: the servers that are measured, each a process of its own on loopback with a port of its
 * own, and the directory they keep their data in. Only processes started here are ever ended here;
 * they end with us if we are killed.
 */
#ifndef TESTS_BENCH_CHILD_H
#define TESTS_BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/bench.h"
#include "tests/bench/echo.h"

enum { CHILD_PATH_BYTES = 4096 };

/* A directory for one run, removed with all that is in it. */
struct child_directory {
    char path[CHILD_PATH_BYTES]; /* "" when there is none */
};

/* Makes a new directory under `parent`. 0 or -1. */
int child_directory_make(struct child_directory *directory, const char *parent);
void child_directory_remove(struct child_directory *directory);

/* What a daemon said on its way to being ready, in milliseconds after it was started. */
struct child_times {
    double loaded_ms;   /* its messages were in the index */
    double ready_ms;    /* it took requests */
    double arranged_ms; /* what was loaded was arranged: child_wait_until_arranged; else 0 */
};

enum { CHILD_LINES_BYTES = 16 * 1024 };

struct child {
    pid_t pid; /* 0: none */
    int log;   /* the read end of its standard error; -1: none */
    uint16_t port;
    uint16_t limited_port; /* child_config.has_limited */
    int64_t start_ns;
    struct child_times times;
    char lines[CHILD_LINES_BYTES]; /* that it has said so far, ended by zero */
    size_t lines_used;
};

/*
 * Starts `hearsayd` with its data in DIRECTORY/data and waits until it is ready. Limits are high
 * enough for BENCH_COUNT_MAX messages; everything else is as it is without a configuration. 0 or
 * -1; child_stop in any case.
 */
int child_start_daemon(struct child *child, const char *hearsayd, const char *directory);

/* The same with lines of a configuration: in [daemon], and in [limits], NULL for none. */
struct child_config {
    const char *daemon;
    const char *limits;
    bool has_limited; /* a second address whose clients are held to the limits of an address */
};
int child_start_daemon_with(struct child *child, const char *hearsayd, const char *directory,
                            const struct child_config *config);

/* Waits until a daemon that has loaded messages has arranged them. 0 or -1. */
int child_wait_until_arranged(struct child *child);

/* Starts an echo server that answers with these frames. 0 or -1; child_stop in any case. */
int child_start_echo(struct child *child, const struct echo_frames *frames);

/* Ends it with SIGTERM, or after some seconds with SIGKILL, and waits. A zeroed one is fine. */
void child_stop(struct child *child);

/* Processor time that it has used so far, in seconds; 0 when that cannot be read. */
double child_cpu_seconds(const struct child *child);

#endif
