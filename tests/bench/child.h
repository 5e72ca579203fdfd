/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child: the measured servers. Each server is a process of its own on loopback, with its own port
 * and a directory for its data. This code ends only processes that it started. The processes end if
 * this process is killed.
 */
#pragma once

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

/* The times at which a daemon reported its progress, in milliseconds after its start. */
struct child_times {
    double loaded_ms;   /* its messages were in the index */
    double ready_ms;    /* it took requests */
    double arranged_ms; /* the loaded messages were arranged: child_wait_until_arranged; else 0 */
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
 * Starts `hearsayd` with its data in DIRECTORY/data and waits until the daemon is ready. The limits
 * allow BENCH_COUNT_MAX messages. All other keys of the configuration have their defaults. Returns
 * 0 or -1; call child_stop in both cases.
 */
int child_start_daemon(struct child *child, const char *hearsayd, const char *directory);

/*
 * Like child_start_daemon, with additional lines of the configuration in [daemon] and in [limits];
 * NULL for none.
 */
struct child_config {
    const char *daemon;
    const char *limits;
    bool has_limited; /* a second address; clients of this address have the usual limits of an
                         address */
};
int child_start_daemon_with(struct child *child, const char *hearsayd, const char *directory,
                            const struct child_config *config);

/*
 * Starts a program. Its standard error goes to `log`. Returns 0 or -1; call child_stop in both
 * cases. arguments[0] is a path, or a name that is looked for in PATH; the last is NULL.
 */
int child_start(struct child *child, const char *const *arguments);

/*
 * Starts `hearsay-web` with a file of configuration that has one listener, on 127.0.0.1, and waits
 * until the program is ready. Returns 0 or -1; call child_stop in both cases.
 */
int child_start_web(struct child *child, const char *hearsay_web, const char *config);

/* Waits until a daemon has arranged the messages that it loaded. Returns 0 or -1. */
int child_wait_until_arranged(struct child *child);

/*
 * Starts an echo server that answers with these frames. Returns 0 or -1; call child_stop in both
 * cases.
 */
int child_start_echo(struct child *child, const struct echo_frames *frames);

/*
 * Ends a server with SIGTERM, or after some seconds with SIGKILL, and waits for its end. The struct
 * may be zeroed.
 */
void child_stop(struct child *child);

/* Returns the CPU time that a server has used, in seconds; 0 if it cannot be read. */
double child_cpu_seconds(const struct child *child);
