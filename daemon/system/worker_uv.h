/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_uv: a worker on libuv's pool of threads. Running work keeps the loop alive.
 */
#ifndef DAEMON_SYSTEM_WORKER_UV_H
#define DAEMON_SYSTEM_WORKER_UV_H

#include <uv.h>

#include "daemon/system/worker.h"

struct worker_uv {
    struct worker worker; /* hand this to others */
    uv_loop_t *loop;
    uv_work_t request;
    struct long_work *work; /* running; or NULL */
};

/* Borrows the loop. There is no deinit. */
void worker_uv_init(struct worker_uv *worker, uv_loop_t *loop);

#endif
