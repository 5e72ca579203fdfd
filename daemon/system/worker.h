/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker: a place off the loop for long work. An interface; worker_uv.h is libuv's pool of threads.
 */
#ifndef DAEMON_SYSTEM_WORKER_H
#define DAEMON_SYSTEM_WORKER_H

/*
 * One piece of work. The caller fills it, and it stays in place until `done`. What `run` touches is
 * nobody else's meanwhile.
 */
struct long_work {
    void (*run)(struct long_work *work);  /* on another thread */
    void (*done)(struct long_work *work); /* then on the loop's; never before submit has returned */
};

struct worker {
    void (*submit)(struct worker *worker, struct long_work *work); /* one at a time */
};

#endif
