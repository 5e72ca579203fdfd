/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reported: lists the messages that are reported or hidden, that wait for review, or that the
 * operator has hidden or removed. Wait: is answered when a message is new for the operator.
 */
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/wait.h"
#include "proto/codec/codec.h"

enum { LIST_MAX = 128 };

struct reported_job {
    struct job base; /* first */
    struct persist_read read;
    uint64_t total;
    /* copies of the moderation entries, made when the request arrived */
    struct moderated moderated[LIST_MAX];
    struct persist_entry entries[LIST_MAX];
};

/* Orders messages: most reports first, then oldest first. Pending messages have no reports. */
static int compare_moderated(const void *left, const void *right)
{
    const struct moderated *a = left;
    const struct moderated *b = right;

    if (a->reports != b->reports) {
        return a->reports > b->reports ? -1 : 1;
    }
    if (a->deposited_ms != b->deposited_ms) {
        return a->deposited_ms < b->deposited_ms ? -1 : 1;
    }
    return memcmp(a->id, b->id, MESSAGE_ID_BYTES);
}

static bool is_wanted(const struct moderated *moderated, const struct msg_admin *asked,
                      int64_t now_ms)
{
    if (asked->withheld) {
        return moderated->state == PERSIST_WITHHELD &&
               !message_expired(moderated->expires_ms, now_ms);
    }
    return moderation_is_open(moderated, now_ms) &&
           (moderated->state == PERSIST_PENDING) == asked->pending;
}

/* Chooses the first `most` wanted messages in the order of compare_moderated, by insertion. */
static void reported_choose(struct reported_job *job, const struct moderation *moderation,
                            size_t most, const struct msg_admin *asked)
{
    int64_t now_ms = service_now_ms(job->base.service);
    size_t count = 0;

    for (uint32_t i = 0; i < moderation->count; i++) {
        const struct moderated *one = &moderation->entries[i];
        if (!is_wanted(one, asked, now_ms)) {
            continue;
        }
        job->total++;
        if (count == most && compare_moderated(one, &job->moderated[count - 1]) >= 0) {
            continue;
        }
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && compare_moderated(one, &job->moderated[at - 1]) < 0; at--) {
            job->moderated[at] = job->moderated[at - 1];
        }
        job->moderated[at] = *one;
    }
    for (size_t i = 0; i < count; i++) {
        job->entries[i].message.host = job->base.host->number;
        memcpy(job->entries[i].message.id, job->moderated[i].id, MESSAGE_ID_BYTES);
    }
    job->read.entry_count = count;
}

/*
 * Splits the reasons of a message, one on each line, into structs in the arena. Returns the number
 * of reasons, or 0 if memory is short.
 */
static size_t split_reasons(struct service *service, const struct persist_entry *entry,
                            const struct msg_report_reason **out_reasons)
{
    const char *at = entry->reasons;
    const char *end = at == NULL ? NULL : at + entry->reasons_bytes;
    size_t count = 0;
    struct msg_report_reason *reasons =
        at == NULL ? NULL
                   : arena_take_zeroed(&service->arena, PERSIST_REASONS_KEPT, sizeof(*reasons));

    while (reasons != NULL && at < end && count < PERSIST_REASONS_KEPT) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        reasons[count].kind = (enum msg_report_kind)(at[0] - '0');
        if (stop - at > 1) {
            reasons[count].text = (struct msg_text){at + 1, (size_t)(stop - at) - 1};
        }
        count++;
        at = stop + 1;
    }
    *out_reasons = reasons;
    return count;
}

enum { REASON_TAG_BYTES = 9 }; /* upper bound for a reason without its text: tags, lengths, kind */

/* Upper bound of the bytes of a message in the answer, without its payload. */
static size_t entry_bytes(const struct msg_reported_message *message)
{
    size_t bytes = codec_result_bytes_max(0, message->media_type.length);

    for (size_t i = 0; i < message->reason_count; i++) {
        bytes += message->reasons[i].text.length + REASON_TAG_BYTES;
    }
    return bytes;
}

/*
 * Fills in messages, in order, until one does not fit the frame. Each message has its payload if
 * the payload fits the rest of the frame. Returns the number of messages.
 */
static size_t fill_list(struct reported_job *job, struct msg_reported_message *messages)
{
    size_t frame_bytes = job->base.service->config.limits.frame_bytes;
    size_t used = CODEC_ENVELOPE_BYTES_MAX;
    size_t count = 0;

    for (size_t i = 0; i < job->read.entry_count; i++) {
        const struct persist_entry *entry = &job->entries[i];
        const struct moderated *moderated = &job->moderated[i];
        if (!entry->found) {
            continue;
        }
        struct msg_reported_message *out = &messages[count];
        *out = (struct msg_reported_message){
            .id = {moderated->id, MESSAGE_ID_BYTES},
            .reports = moderated->reports,
            .hidden = moderated->state >= PERSIST_HIDDEN,
            .pending = moderated->state == PERSIST_PENDING,
            .deposited_ms = moderated->deposited_ms,
            .expires_ms = moderated->expires_ms,
            .payload_omitted = entry->omitted,
            .destroyed_ms = moderated->destroy_ms,
        };
        if (!entry->omitted) {
            out->media_type =
                (struct msg_text){entry->message.media_type, entry->message.media_type_bytes};
        }
        out->reason_count = split_reasons(job->base.service, entry, &out->reasons);
        used += entry_bytes(out);
        if (used > frame_bytes) {
            break;
        }
        if (!entry->omitted && entry->message.payload_bytes <= frame_bytes - used) {
            used += entry->message.payload_bytes;
            out->payload = (struct msg_bytes){entry->message.payload, entry->message.payload_bytes};
        } else {
            out->payload_omitted = true;
        }
        count++;
    }
    return count;
}

static void on_list_read(struct persist_read *read)
{
    struct reported_job *job = CONTAINER_OF(read, struct reported_job, read);
    struct service *service = job->base.service;

    if (read->failed) {
        job_fail_read(&job->base, read->reason);
        return;
    }
    struct msg_reported_message *messages =
        arena_take_zeroed(&service->arena, read->entry_count + 1, sizeof(*messages));
    if (messages == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    struct msg_response response = {
        .id = job->base.request_id,
        .kind = MSG_RESPONSE_REPORTED_LIST,
        .reported_list = {.message_count = fill_list(job, messages),
                          .messages = messages,
                          .total = job->total},
    };
    job_finish(&job->base, &response);
    arena_reset(&service->arena);
}

void handler_reported(struct ask *ask)
{
    const struct msg_admin *asked = &ask->request->admin;
    size_t most = asked->number == 0 || asked->number > LIST_MAX ? LIST_MAX : asked->number;

    if (!ask_administers(ask)) {
        return;
    }
    if (asked->pending && asked->withheld) {
        ask_refuse(ask, MSG_INVALID, "withheld",
                   "pending and withheld are two lists: ask for one of them");
        return;
    }
    struct reported_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    job->read.kind = PERSIST_READ_REPORTED;
    job->read.entries = job->entries;
    job->read.content_limit = ask->service->config.limits.frame_bytes;
    job->read.done = on_list_read;
    reported_choose(job, &ask->host->moderation, most, asked);
    job_read(&job->base, &job->read);
}

void handler_wait(struct ask *ask)
{
    if (!ask_administers(ask)) {
        return;
    }
    if (wait_begin(ask->service, ask->client, ask->host, ask->request->id) != 0) {
        ask_refuse(ask, MSG_QUOTA, "wait",
                   "a connection has one wait at a time, and all together have 16");
    }
}
