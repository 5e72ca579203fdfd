/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/read_pool.h"

#include <stdatomic.h>
#include <sys/prctl.h>

#include <sodium.h>
#include <uv.h>

enum {
    THREADS_MAX = 7,         /* TasksMax of the service's unit leaves room for these */
    STACK_BYTES = 64 * 1024, /* what a task uses at most */
    /* So many tasks may wait for each thread: enough to keep it at work while the loop does not
     * look at the pool, and so few that none waits long. */
    WAITING_EACH = 8
};

struct task_list {
    struct read_task *first;
    struct read_task **end; /* where the next one is put */
};

struct read_pool {
    const struct alloc *alloc;
    void (*wake)(void *context);
    void *context;
    uv_thread_t threads[THREADS_MAX];
    unsigned thread_count;
    bool is_paused_here; /* the loop's own copy of is_paused */

    uv_mutex_t mutex; /* of all fields below */
    uv_cond_t work;   /* a task waits, or the pool is to end */
    uv_cond_t rest;   /* no piece runs any more */
    struct task_list waiting;
    struct task_list over;
    unsigned running; /* pieces */
    bool is_paused;
    bool is_awaited;
    bool is_ending;
    /* Tasks in `waiting`. Changed under the mutex; read_pool_has_room reads it without. */
    atomic_uint waiting_count;
    /* Whether `over` has tasks, in the same way for read_pool_take. */
    atomic_bool has_over;
};

static void list_add(struct task_list *list, struct read_task *task)
{
    task->next = NULL;
    *list->end = task;
    list->end = &task->next;
}

static struct read_task *list_take(struct task_list *list)
{
    struct read_task *task = list->first;

    list->first = task->next;
    if (list->first == NULL) {
        list->end = &list->first;
    }
    return task;
}

/* --- on a thread ------------------------------------------------------------------------------ */

/* The functions down to run_next are called with the mutex held. */

static void wait_while_paused(struct read_pool *pool)
{
    while (pool->is_paused) {
        uv_cond_wait(&pool->work, &pool->mutex);
    }
}

static void run_task(struct read_pool *pool, struct read_task *task)
{
    bool is_over = false;

    while (!is_over) {
        wait_while_paused(pool);
        pool->running++;
        uv_mutex_unlock(&pool->mutex);
        is_over = task->run(task);
        uv_mutex_lock(&pool->mutex);
        pool->running--;
        if (pool->is_paused && pool->running == 0) {
            uv_cond_signal(&pool->rest);
        }
    }
}

static void note_over(struct read_pool *pool, struct read_task *task)
{
    list_add(&pool->over, task);
    atomic_store_explicit(&pool->has_over, true, memory_order_relaxed);
    if (pool->is_awaited) {
        pool->is_awaited = false;
        pool->wake(pool->context);
    }
}

static void run_next(struct read_pool *pool)
{
    struct read_task *task = list_take(&pool->waiting);

    atomic_fetch_sub_explicit(&pool->waiting_count, 1, memory_order_relaxed);
    run_task(pool, task);
    note_over(pool, task);
}

static void run_thread(void *argument)
{
    struct read_pool *pool = argument;
    bool has_run = false;

    (void)prctl(PR_SET_NAME, "search"); /* only for those who look at the threads */
    uv_mutex_lock(&pool->mutex);
    while (!pool->is_ending) {
        if (pool->waiting.first != NULL) {
            run_next(pool);
            has_run = true;
        } else if (has_run) { /* its stack may have a part of a query's filter */
            uv_mutex_unlock(&pool->mutex);
            sodium_stackzero(STACK_BYTES);
            uv_mutex_lock(&pool->mutex);
            has_run = false;
        } else {
            uv_cond_wait(&pool->work, &pool->mutex);
        }
    }
    uv_mutex_unlock(&pool->mutex);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static bool init_locks(struct read_pool *pool)
{
    if (uv_mutex_init(&pool->mutex) != 0) {
        return false;
    }
    if (uv_cond_init(&pool->work) != 0) {
        uv_mutex_destroy(&pool->mutex);
        return false;
    }
    if (uv_cond_init(&pool->rest) != 0) {
        uv_cond_destroy(&pool->work);
        uv_mutex_destroy(&pool->mutex);
        return false;
    }
    return true;
}

struct read_pool *read_pool_new(const struct alloc *alloc, unsigned threads,
                                void (*wake)(void *context), void *context)
{
    struct read_pool *pool = alloc_zeroed(alloc, 1, sizeof(*pool));

    if (pool == NULL || !init_locks(pool)) {
        alloc_release(alloc, pool);
        return NULL;
    }
    pool->alloc = alloc;
    pool->wake = wake;
    pool->context = context;
    pool->waiting.end = &pool->waiting.first;
    pool->over.end = &pool->over.first;
    atomic_init(&pool->waiting_count, 0);
    atomic_init(&pool->has_over, false);
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    while (pool->thread_count < threads &&
           uv_thread_create(&pool->threads[pool->thread_count], run_thread, pool) == 0) {
        pool->thread_count++;
    }
    if (pool->thread_count == 0) {
        read_pool_free(pool);
        return NULL;
    }
    return pool;
}

void read_pool_free(struct read_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    uv_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    uv_cond_broadcast(&pool->work);
    uv_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        (void)uv_thread_join(&pool->threads[i]);
    }
    uv_cond_destroy(&pool->rest);
    uv_cond_destroy(&pool->work);
    uv_mutex_destroy(&pool->mutex);
    alloc_release(pool->alloc, pool);
}

/* --- on the loop ------------------------------------------------------------------------------ */

bool read_pool_has_room(const struct read_pool *pool)
{
    return pool != NULL && atomic_load_explicit(&pool->waiting_count, memory_order_relaxed) <
                               WAITING_EACH * pool->thread_count;
}

void read_pool_put(struct read_pool *pool, struct read_task *task)
{
    uv_mutex_lock(&pool->mutex);
    list_add(&pool->waiting, task);
    atomic_fetch_add_explicit(&pool->waiting_count, 1, memory_order_relaxed);
    uv_cond_signal(&pool->work);
    uv_mutex_unlock(&pool->mutex);
}

struct read_task *read_pool_take(struct read_pool *pool)
{
    if (pool == NULL || !atomic_load_explicit(&pool->has_over, memory_order_relaxed)) {
        return NULL;
    }
    uv_mutex_lock(&pool->mutex);
    struct read_task *tasks = pool->over.first;
    pool->over = (struct task_list){NULL, &pool->over.first};
    atomic_store_explicit(&pool->has_over, false, memory_order_relaxed);
    uv_mutex_unlock(&pool->mutex);
    return tasks;
}

void read_pool_pause(struct read_pool *pool)
{
    if (pool == NULL || pool->is_paused_here) {
        return;
    }
    pool->is_paused_here = true;
    uv_mutex_lock(&pool->mutex);
    pool->is_paused = true;
    while (pool->running > 0) {
        uv_cond_wait(&pool->rest, &pool->mutex);
    }
    uv_mutex_unlock(&pool->mutex);
}

void read_pool_resume(struct read_pool *pool)
{
    if (pool == NULL || !pool->is_paused_here) {
        return;
    }
    pool->is_paused_here = false;
    uv_mutex_lock(&pool->mutex);
    pool->is_paused = false;
    uv_cond_broadcast(&pool->work);
    uv_mutex_unlock(&pool->mutex);
}

void read_pool_await(struct read_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    read_pool_resume(pool);
    uv_mutex_lock(&pool->mutex);
    pool->is_awaited = pool->over.first == NULL;
    if (!pool->is_awaited) {
        pool->wake(pool->context);
    }
    uv_mutex_unlock(&pool->mutex);
}
