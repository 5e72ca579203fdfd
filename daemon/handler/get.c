/* SPDX-License-Identifier: Apache-2.0 */
/* Get: sends one stored message with its payload. */
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"

struct get_job {
    struct job base; /* first */
    struct persist_read read;
    struct index_item item; /* a copy of the index's item */
    struct persist_entry entry;
};

/* Says what the message answers, and how many answers it has. */
static void fill_answers(struct service *service, const struct host *host, struct hearsay_got *got)
{
    const uint8_t *parent = host_parent(host, got->id.data);

    if (parent != NULL) {
        got->answers = (struct hearsay_bytes){parent, MESSAGE_ID_BYTES};
    }
    got->answer_count = answers_count(&host->answers, got->id.data, service_now_ms(service));
}

static void fill_got(uint64_t epoch, const struct index_item *item,
                     const struct persist_message *message, struct hearsay_got *out)
{
    *out = (struct hearsay_got){
        .epoch = epoch,
        .id = {item->id, MESSAGE_ID_BYTES},
        .deposited_ms = item->deposited_ms,
        .expires_ms = item->expires_ms,
        .media_type = {message->media_type, message->media_type_bytes},
        .payload = {message->payload, message->payload_bytes},
    };
}

static const char removed_text[] = "the operator has removed this message";
static const char unknown_text[] = "there is no message with this id";

static bool is_removed(struct service *service, const struct host *host, const uint8_t *id)
{
    return removed_has(&host->removed, id, service_now_ms(service));
}

static void on_got(struct persist_read *read)
{
    struct get_job *get = CONTAINER_OF(read, struct get_job, read);
    struct job *job = &get->base;
    const struct persist_message *message = &get->entry.message;

    if (read->failed) {
        job_fail_read(job, read->reason);
    } else if (!get->entry.found || moderation_hides(&job->host->moderation, message->id) ||
               (message->is_answer && host_find(job->host, message->id, NULL, NULL, NULL) != 0)) {
        bool was_removed = is_removed(job->service, job->host, get->item.id);
        job_fail(job, was_removed ? HEARSAY_CODE_REMOVED : HEARSAY_CODE_NOT_FOUND, "id",
                 was_removed ? removed_text : unknown_text);
    } else {
        struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_GOT};
        service_remember(job->service, message);
        /*
         * The times of the stored message are sent. The times from the index may be those of an
         * earlier message with the same id.
         */
        get->item.deposited_ms = message->deposited_ms;
        get->item.expires_ms = message->expires_ms;
        fill_got(message->epoch, &get->item, message, &response.got);
        fill_answers(job->service, job->host, &response.got);
        service_note(job->service, METRIC_GET, job->began_ns);
        job_finish(job, &response);
    }
}

/* Begins to read the message from the store, on another thread. */
static void read_message(const struct ask *ask, const struct index_item *item)
{
    struct get_job *get = job_new(ask, sizeof(*get), 0);

    if (get == NULL) {
        return;
    }
    get->item = *item;
    get->entry.message.host = ask->host->number;
    memcpy(get->entry.message.id, ask->request->get.id.data, MESSAGE_ID_BYTES);
    get->read.kind = PERSIST_READ_PAYLOADS;
    get->read.entries = &get->entry;
    get->read.entry_count = 1;
    get->read.done = on_got;
    job_read(&get->base, &get->read);
}

void handler_get(struct ask *ask)
{
    struct service *service = ask->service;
    const uint8_t *id = ask->request->get.id.data;
    struct persist_message cached = {0};
    struct epoch *epoch = NULL;
    struct index_item item;
    uint64_t began_ns = service_monotonic_ns(service);

    if (!ask_host(ask, &ask->request->get.host)) {
        return;
    }
    if (host_find(ask->host, id, &epoch, &item, NULL) != 0 ||
        message_expired(item.expires_ms, service_now_ms(service))) {
        bool was_removed = is_removed(service, ask->host, id);
        ask_refuse(ask, was_removed ? HEARSAY_CODE_REMOVED : HEARSAY_CODE_NOT_FOUND, "id", "%s",
                   was_removed ? removed_text : unknown_text);
        return;
    }
    if (!service_recall(service, ask->host->number, id, &cached)) {
        read_message(ask, &item);
        return;
    }
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_GOT};
    fill_got(epoch->number, &item, &cached, &response.got);
    fill_answers(service, ask->host, &response.got);
    service_note(service, METRIC_GET, began_ns);
    ask_respond(ask, &response);
}
