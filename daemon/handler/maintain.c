/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backup and Compact: what the store does beside its operations, one at a time.
 */
#include <string.h>

#include "daemon/handler/handler.h"

struct job {
    struct persist_job job; /* first: `done` gets it back */
    struct service *service;
    struct requester *client;
    uint64_t request_id;
    char path[LIMIT_PATH_BYTES + 1];
};

static void job_free(struct job *job)
{
    struct service *service = job->service;
    struct requester *client = job->client;

    service->working--;
    alloc_release(service->alloc, job, 1, sizeof(*job));
    requester_work_end(client, sizeof(struct job), REQUESTER_ANSWER_BYTES);
}

static void on_done(struct persist_job *done)
{
    struct job *job = (struct job *)done;
    const bool is_backup = done->kind == PERSIST_BACKUP;
    const struct msg_response response = {
        .id = job->request_id,
        .kind = is_backup ? MSG_RESPONSE_BACKED_UP : MSG_RESPONSE_COMPACTED,
        .bytes_taken = {.before = done->bytes_before, .after = done->bytes_after},
    };

    if (!done->failed) {
        log_info(is_backup ? "a backup was made" : "the store was compacted");
        job->client->events->respond(job->client, &response);
    } else if (done->path_is_wrong) {
        requester_refuse(job->client, job->request_id, MSG_INVALID, "path", "%s", done->reason);
    } else {
        log_warning("%s failed: %s", is_backup ? "a backup" : "compacting", done->reason);
        requester_refuse(job->client, job->request_id, MSG_STORAGE, NULL, "%s", done->reason);
    }
    job_free(job);
}

static void begin(struct service *service, struct requester *client,
                  const struct msg_request *request, enum persist_job_kind kind)
{
    const struct msg_text *path = &request->admin.word;
    struct job *job = alloc_zeroed(service->alloc, 1, sizeof(*job));

    if (job == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    job->service = service;
    job->client = client;
    job->request_id = request->id;
    job->job.kind = kind;
    job->job.done = on_done;
    if (kind == PERSIST_BACKUP) {
        memcpy(job->path, path->text, path->length); /* the codec has seen to its length */
        job->job.path = job->path;
    }
    requester_work_begin(client, sizeof(*job), REQUESTER_ANSWER_BYTES);
    service->working++;
    if (!service->persist->interface->begin_job(service->persist, &job->job)) {
        requester_refuse(client, request->id, MSG_RATE_LIMITED, NULL,
                         "a backup or a compaction is under way; try again when it is done");
        job_free(job);
    }
}

void handler_backup(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    if (!handler_is_administrator(client, request)) {
        return;
    }
    if (request->admin.word.text[0] != '/') {
        requester_refuse(client, request->id, MSG_INVALID, "path",
                         "the path must be absolute, one that begins with /");
        return;
    }
    begin(service, client, request, PERSIST_BACKUP);
}

void handler_compact(struct service *service, struct requester *client,
                     const struct msg_request *request)
{
    if (handler_is_administrator(client, request)) {
        begin(service, client, request, PERSIST_COMPACT);
    }
}
