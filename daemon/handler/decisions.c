/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: lists what operators have decided, for the operator. */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "proto/codec/codec.h"

enum {
    LIST_MAX = 128,
    REST_BYTES = 96 /* upper bound for a decision without its reason: tags, lengths, id, word,
                       numbers */
};

struct decisions_job {
    struct job base; /* first */
    struct persist_read read;
    struct persist_decision decisions[LIST_MAX];
};

static void fill_decision(const struct persist_decision *from, struct msg_decision *out)
{
    *out = (struct msg_decision){
        .number = from->number,
        .time_ms = from->time_ms,
        .act = {from->act, strlen(from->act)},
        .kind = (enum msg_report_kind)from->kind,
        .reports = from->reports,
        .uid = from->uid,
        .web = from->web,
    };
    if (from->has_id) {
        out->id = (struct msg_bytes){from->id, MESSAGE_ID_BYTES};
    }
    if (from->reason[0] != '\0') {
        out->reason = (struct msg_text){from->reason, strlen(from->reason)};
    }
}

static void on_decisions_read(struct persist_read *read)
{
    struct decisions_job *job = CONTAINER_OF(read, struct decisions_job, read);
    struct service *service = job->base.service;
    struct msg_response response = {.id = job->base.request_id, .kind = MSG_RESPONSE_DECISION_LIST};
    size_t used = CODEC_ENVELOPE_BYTES_MAX;
    size_t fits = 0;

    if (read->failed) {
        job_fail_read(&job->base, read->reason);
        return;
    }
    struct msg_decision *decisions =
        arena_take_zeroed(&service->arena, LIST_MAX, sizeof(*decisions));
    if (decisions == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    while (fits < read->decision_count) {
        used += strlen(job->decisions[fits].reason) + REST_BYTES;
        if (used > service->config.limits.frame_bytes) {
            break;
        }
        fits++;
    }
    for (size_t i = 0; i < fits; i++) { /* the store has the newest one first */
        fill_decision(&job->decisions[fits - 1 - i], &decisions[i]);
    }
    response.decision_list =
        (struct msg_decision_list){decisions, fits, read->page_more || fits < read->decision_count};
    job_finish(&job->base, &response);
    arena_reset(&service->arena);
}

void handler_decisions(struct ask *ask)
{
    const struct msg_admin *asked = &ask->request->admin;

    if (!ask_administers(ask)) {
        return;
    }
    struct decisions_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    job->read.kind = PERSIST_READ_DECISIONS;
    job->read.decisions = job->decisions;
    job->read.decision_count =
        asked->number == 0 || asked->number > LIST_MAX ? LIST_MAX : asked->number;
    job->read.page_host = ask->host->number;
    job->read.decisions_before = asked->before > INT64_MAX ? INT64_MAX : asked->before;
    job->read.done = on_decisions_read;
    job_read(&job->base, &job->read);
}
