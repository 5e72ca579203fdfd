/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Get and Export: stored messages as they are, read off the loop.
 */
#include <string.h>

#include "core/base/err.h"
#include "daemon/handler/handler.h"
#include "proto/codec/codec.h"

enum {
    CURSOR_BYTES = 8,
    EXPORT_PAGE_MAX = 128 /* messages on a page */
};

struct job {
    struct persist_read read;
    struct service *service;
    struct requester *client;
    uint64_t request_id;
    uint64_t began_ns;   /* taken then */
    size_t bytes;        /* of this allocation */
    size_t answer_bytes; /* charged to the client besides */
    size_t entry_room;
    struct index_item item; /* Get: as the index knows it */
    struct persist_entry entries[];
};

static struct job *job_new(struct service *service, struct requester *client, uint64_t request_id,
                           enum persist_read_kind kind, size_t entry_room)
{
    const size_t bytes = sizeof(struct job) + entry_room * sizeof(struct persist_entry);
    struct job *job = alloc_zeroed(service->alloc, 1, bytes);

    if (job == NULL) {
        requester_refuse(client, request_id, MSG_INTERNAL, NULL, "the server is out of memory");
        return NULL;
    }
    job->service = service;
    job->client = client;
    job->request_id = request_id;
    job->began_ns = service_monotonic_ns(service);
    job->bytes = bytes;
    job->entry_room = entry_room;
    job->read.kind = kind;
    job->read.entries = job->entries;
    job->read.entry_count = entry_room;
    return job;
}

/* What comes back is charged as a whole frame: that is the most that is answered. */
static void job_start(struct job *job)
{
    job->answer_bytes = job->service->config.limits.frame_bytes;
    requester_work_begin(job->client, job->bytes + job->answer_bytes, job->answer_bytes);
    job->service->working++;
    job->service->persist->interface->read(job->service->persist, &job->read);
}

static void job_finish(struct job *job, const struct msg_response *response)
{
    struct service *service = job->service;
    struct requester *client = job->client;
    const size_t bytes = job->bytes;
    const size_t answer_bytes = job->answer_bytes;

    client->events->respond(client, response);
    service->persist->interface->read_release(service->persist, &job->read);
    service->working--;
    alloc_release(service->alloc, job, 1, bytes);
    requester_work_end(client, bytes + answer_bytes, answer_bytes);
}

static void job_fail(struct job *job, enum msg_error_code code, const char *field,
                     const char *sentence)
{
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_ERROR};

    msg_error_set(&response.error, code, field, "%s", sentence);
    job_finish(job, &response);
}

static void job_fail_storage(struct job *job)
{
    service_storage_failed(job->service, "reading", job->read.reason);
    job_fail(job, MSG_STORAGE, NULL,
             "the message store could not read its storage; try again later");
}

/* --- Get -------------------------------------------------------------------------------------- */

static void fill_got(uint64_t epoch, const struct index_item *item,
                     const struct persist_message *message, struct msg_got *out)
{
    *out = (struct msg_got){
        .epoch = epoch,
        .id = {item->id, MESSAGE_ID_BYTES},
        .deposited_ms = item->deposited_ms,
        .expires_ms = item->expires_ms,
        .media_type = {message->media_type, message->media_type_bytes},
        .payload = {message->payload, message->payload_bytes},
    };
}

/* It may have been hidden since it was looked up. */
static bool is_hidden(struct service *service, const struct persist_message *message)
{
    const struct host *host = service_host_numbered(service, message->host);

    return host == NULL || moderation_hides(&host->moderation, message->id);
}

static void on_got(struct persist_read *read)
{
    struct job *job = (struct job *)read;

    if (read->failed) {
        job_fail_storage(job);
    } else if (!job->entries[0].found || is_hidden(job->service, &job->entries[0].message)) {
        job_fail(job, MSG_NOT_FOUND, "id", "there is no message with this id");
    } else {
        const struct persist_message *message = &job->entries[0].message;
        struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_GOT};
        service_remember(job->service, message);
        /* what was read: the id may have come anew since it was looked up */
        job->item.deposited_ms = message->deposited_ms;
        job->item.expires_ms = message->expires_ms;
        fill_got(message->epoch, &job->item, message, &response.got);
        service_note(job->service, METRIC_GET, job->began_ns);
        job_finish(job, &response);
    }
}

void handler_get(struct service *service, struct requester *client,
                 const struct msg_request *request)
{
    const uint8_t *id = request->get.id.data;
    struct host *host = handler_host(service, client, request, &request->get.host);
    struct persist_message cached = {0};
    struct epoch *epoch = NULL;
    struct index_item item;
    const uint64_t began_ns = service_monotonic_ns(service);

    if (host == NULL) {
        return;
    }
    if (host_find(host, id, &epoch, &item, NULL) != 0 ||
        item.expires_ms <= service_now_ms(service)) {
        requester_refuse(client, request->id, MSG_NOT_FOUND, "id",
                         "there is no message with this id");
        return;
    }
    if (service_recall(service, host->number, id, &cached)) {
        struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_GOT};
        fill_got(epoch->number, &item, &cached, &response.got);
        service_note(service, METRIC_GET, began_ns);
        client->events->respond(client, &response);
        return;
    }
    struct job *job = job_new(service, client, request->id, PERSIST_READ_PAYLOADS, 1);
    if (job == NULL) {
        return;
    }
    job->item = item;
    job->entries[0].message.host = host->number;
    memcpy(job->entries[0].message.id, id, MESSAGE_ID_BYTES);
    job->read.done = on_got;
    job_start(job);
}

/* --- Export ----------------------------------------------------------------------------------- */

/* A cursor is the position of the last message sent, big-endian. */
static void write_cursor(int64_t position, uint8_t *out)
{
    for (size_t i = 0; i < CURSOR_BYTES; i++) {
        out[i] = (uint8_t)((uint64_t)position >> (8 * (CURSOR_BYTES - 1 - i)));
    }
}

static int64_t read_cursor(const uint8_t *bytes)
{
    uint64_t position = 0;

    for (size_t i = 0; i < CURSOR_BYTES; i++) {
        position = position << 8 | bytes[i];
    }
    return position > INT64_MAX ? INT64_MAX : (int64_t)position;
}

static void fill_exported(const struct persist_message *message, struct msg_exported_message *out)
{
    *out = (struct msg_exported_message){
        .id = {message->id, MESSAGE_ID_BYTES},
        .epoch = message->epoch,
        .filter = {message->filter, message->filter_bytes},
        .media_type = {message->media_type, message->media_type_bytes},
        .payload = {message->payload, message->payload_bytes},
        .deposited_ms = message->deposited_ms,
        .expires_ms = message->expires_ms,
        .reach_ppm = message->reach_ppm,
    };
    if (message->can_withdraw) {
        out->withdraw_hash = (struct msg_bytes){message->withdraw_hash, LIMIT_HASH_BYTES};
    }
}

static void on_exported(struct persist_read *read)
{
    struct job *job = (struct job *)read;
    struct service *service = job->service;
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_EXPORTED};
    uint8_t cursor[CURSOR_BYTES];

    if (read->failed) {
        job_fail_storage(job);
        return;
    }
    struct msg_exported_message *messages =
        arena_take_zeroed(&service->arena, read->entry_count + 1, sizeof(*messages));
    if (messages == NULL) {
        job_fail(job, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    for (size_t i = 0; i < read->entry_count; i++) {
        fill_exported(&read->entries[i].message, &messages[i]);
    }
    response.exported.messages = messages;
    response.exported.message_count = read->entry_count;
    if (read->page_more) {
        write_cursor(read->page_last, cursor);
        response.exported.next = (struct msg_bytes){cursor, CURSOR_BYTES};
    }
    job_finish(job, &response);
    arena_reset(&service->arena);
}

/* How many messages, and how many bytes of content, are sure to fit one frame. */
static void choose_page(uint32_t frame_bytes, uint32_t wanted, size_t *out_entries,
                        size_t *out_bytes)
{
    static const uint8_t hash[LIMIT_HASH_BYTES];
    const struct msg_exported_message bare = {
        .id = {hash, MESSAGE_ID_BYTES},
        .epoch = UINT64_MAX,
        .deposited_ms = INT64_MAX,
        .expires_ms = INT64_MAX,
        .reach_ppm = UINT32_MAX,
        .withdraw_hash = {hash, LIMIT_HASH_BYTES},
    };
    const size_t overhead = codec_exported_bytes_max(&bare) + 3 * 5; /* three lengths */
    const size_t most = frame_bytes / 4 / overhead;
    size_t entries = wanted == 0 || wanted > EXPORT_PAGE_MAX ? EXPORT_PAGE_MAX : wanted;

    if (entries > most) {
        entries = most > 0 ? most : 1;
    }
    *out_entries = entries;
    *out_bytes = frame_bytes - CODEC_ENVELOPE_BYTES_MAX - entries * overhead;
}

void handler_export(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    const struct msg_export *wanted = &request->export_page;
    struct host *host = handler_host(service, client, request, &wanted->host);
    size_t entries = 0;
    size_t bytes = 0;

    if (host == NULL) {
        return;
    }
    if (!handler_is_administrator(client, request)) {
        return;
    }
    if (wanted->after.data != NULL && wanted->after.count != CURSOR_BYTES) {
        requester_refuse(client, request->id, MSG_INVALID, "after",
                         "this is no cursor; take `next` of the page before");
        return;
    }
    choose_page(service->config.limits.frame_bytes, wanted->limit, &entries, &bytes);
    struct job *job = job_new(service, client, request->id, PERSIST_READ_PAGE, entries);
    if (job == NULL) {
        return;
    }
    job->read.page_host = host->number;
    job->read.page_after = wanted->after.data != NULL ? read_cursor(wanted->after.data) : 0;
    job->read.page_bytes_limit = bytes;
    job->read.done = on_exported;
    job_start(job);
}
