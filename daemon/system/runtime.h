/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime: what every program with a loop of libuv does while it runs: it ends at SIGTERM and
 * SIGINT, reads its configuration again at SIGHUP, tells the service manager that it still runs,
 * and has the kernel refuse the system calls that it does not need.
 */
#pragma once

#include <stdbool.h>

#include <uv.h>

#include "daemon/system/worker.h"

/* What a program does at a signal. The functions run on the loop, with `context`. */
struct runtime_events {
    /* SIGTERM or SIGINT. `is_again`: a program that is ending already gets another one. */
    void (*stop)(void *context, bool is_again);
    /* SIGHUP. Not called any more when the program is ending. If it is NULL, SIGHUP changes
     * nothing, and the log gets a warning that says so. */
    void (*reload)(void *context);
    const char *stopping; /* what the service manager shows during the end */
};

enum { RUNTIME_SIGNALS = 3 };

struct runtime {
    const struct runtime_events *events; /* borrowed */
    void *context;
    uv_signal_t signals[RUNTIME_SIGNALS];
    uv_timer_t watchdog;
    const char *unfiltered; /* why system calls are not filtered; NULL: they are */
    bool wants_filter;
    bool is_stopping;
};

/* The first step of the start, before the loop is made (privilege_refuse_rings says why).
 * `wants_filter`: the operator has not switched the filter of system calls off. */
void runtime_init(struct runtime *runtime, bool wants_filter);

/* Makes and starts the handles. Borrows `events`. Returns 0 or an error of libuv; in both cases the
 * handles have to be closed, by runtime_close or with all handles of the loop. */
int runtime_start(struct runtime *runtime, uv_loop_t *loop, const struct runtime_events *events,
                  void *context);

/* Closes the handles. */
void runtime_close(struct runtime *runtime);

/* Acts on the signals that early_signals.h has noted. */
void runtime_act_early(struct runtime *runtime);

/* The last step of the start: installs the filter of system calls. From then on all descriptors
 * must be open, and serving must need no system call that the filter refuses. */
void runtime_filter_calls(struct runtime *runtime);

/* --- worker_uv -------------------------------------------------------------------------------- */

/*
 * A worker on libuv's pool of threads. Running work keeps the loop alive.
 */

struct worker_uv {
    struct worker worker; /* hand this to others */
    uv_loop_t *loop;
    uv_work_t request;
    struct long_work *work; /* running; or NULL */
};

/* Borrows the loop. There is no deinit. */
void worker_uv_init(struct worker_uv *worker, uv_loop_t *loop);
