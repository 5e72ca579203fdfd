/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker: the interface for long work on another thread. runtime.h implements it on libuv's pool.
 */
#pragma once

/*
 * A piece of work. The caller fills the struct, which must stay in place until `done` is called.
 * From `submit` until `done` no other thread may change the memory that `run` uses.
 */
struct long_work {
    void (*run)(struct long_work *work); /* on another thread */
    /* Called on the loop after `run`, but never before `submit` returns. */
    void (*done)(struct long_work *work);
};

struct worker {
    void (*submit)(struct worker *worker, struct long_work *work); /* one at a time */
};
