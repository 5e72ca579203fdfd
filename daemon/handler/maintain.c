/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backup and Compact: an administrator begins a long job of the store (persist_job). The store runs
 * one job at a time.
 */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"

struct maintain_job {
    struct job base; /* first */
    struct persist_job work;
    char path[LIMIT_PATH_BYTES + 1];
};

static void on_done(struct persist_job *done)
{
    struct maintain_job *maintain = CONTAINER_OF(done, struct maintain_job, work);
    struct job *job = &maintain->base;
    bool is_backup = done->kind == PERSIST_BACKUP;
    struct hearsay_response response = {
        .id = job->request_id,
        .kind = is_backup ? HEARSAY_RESPONSE_BACKED_UP : HEARSAY_RESPONSE_COMPACTED,
    };

    if (is_backup) {
        response.backed_up.bytes = done->bytes_after;
    } else {
        response.compacted.bytes_before = done->bytes_before;
        response.compacted.bytes_after = done->bytes_after;
    }
    if (!done->failed) {
        log_info(is_backup ? "a backup was made" : "the store was compacted");
        job_finish(job, &response);
    } else if (done->path_is_wrong) {
        job_fail(job, HEARSAY_CODE_INVALID, "path", done->reason);
    } else {
        log_warning("%s failed: %s", is_backup ? "a backup" : "compacting", done->reason);
        job_fail(job, HEARSAY_CODE_STORAGE, NULL, done->reason);
    }
}

static void maintain_begin(const struct ask *ask, enum persist_job_kind kind)
{
    struct persist *persist = ask->service->persist;
    struct maintain_job *maintain = job_new(ask, sizeof(*maintain), 0);

    if (maintain == NULL) {
        return;
    }
    maintain->work.kind = kind;
    maintain->work.done = on_done;
    if (kind == PERSIST_BACKUP) {
        const struct hearsay_text *path = &ask->request->backup.path;
        memcpy(maintain->path, path->text, path->length); /* the codec checked its length */
        maintain->work.path = maintain->path;
    }
    /* the answer to a failure has the reason of the store */
    job_charge(&maintain->base, sizeof(*maintain), REQUESTER_ANSWER_BYTES + PERSIST_REASON_BYTES);
    if (!persist->interface->begin_job(persist, &maintain->work)) {
        job_fail(&maintain->base, HEARSAY_CODE_RATE_LIMITED, NULL,
                 "a backup or a compaction is under way; try again when it is done");
    }
}

void handler_backup(struct ask *ask)
{
    if (ask->request->backup.path.text[0] != '/') {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "path",
                   "the path must be absolute, one that begins with /");
        return;
    }
    maintain_begin(ask, PERSIST_BACKUP);
}

void handler_compact(struct ask *ask)
{
    maintain_begin(ask, PERSIST_COMPACT);
}
