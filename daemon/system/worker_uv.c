/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/runtime.h"

#include <assert.h>

#include "daemon/system/container.h"

static void on_work(uv_work_t *request)
{
    struct worker_uv *worker = request->data;

    worker->work->run(worker->work);
}

static void on_done(uv_work_t *request, int status)
{
    struct worker_uv *worker = request->data;
    struct long_work *work = worker->work;
    (void)status; /* nobody cancels it */

    worker->work = NULL; /* `done` may submit the next */
    work->done(work);
}

static void worker_uv_submit(struct worker *base, struct long_work *work)
{
    struct worker_uv *worker = CONTAINER_OF(base, struct worker_uv, worker);

    assert(worker->work == NULL);
    worker->work = work;
    (void)uv_queue_work(worker->loop, &worker->request, on_work, on_done); /* on_work is not NULL */
}

void worker_uv_init(struct worker_uv *worker, uv_loop_t *loop)
{
    worker->worker.submit = worker_uv_submit;
    worker->loop = loop;
    worker->request.data = worker;
    worker->work = NULL;
}
