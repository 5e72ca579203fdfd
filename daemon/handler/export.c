/* SPDX-License-Identifier: Apache-2.0 */
/* Export: sends the stored messages of a host that are neither hidden nor expired, page by page. */
#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "proto/codec/codec.h"

enum {
    CURSOR_BYTES = 8,
    EXPORT_PAGE_MAX = 112 /* messages on a page */
};

struct export_job {
    struct job base; /* first */
    struct persist_read read;
    struct persist_entry entries[];
};

/* A cursor is the number (seq) of the last message of a page, as 8 big-endian bytes. */
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

static void on_exported(struct persist_read *read)
{
    struct export_job *page = CONTAINER_OF(read, struct export_job, read);
    struct job *job = &page->base;
    struct service *service = job->service;
    struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_EXPORTED};
    uint8_t cursor[CURSOR_BYTES];

    if (read->failed) {
        job_fail_read(job, read->reason);
        return;
    }
    struct hearsay_exported_message *messages =
        arena_take_zeroed(&service->arena, read->entry_count + 1, sizeof(*messages));
    if (messages == NULL) {
        job_fail_memory(job);
        return;
    }
    int64_t now_ms = service_now_ms(service);
    for (size_t i = 0; i < read->entry_count; i++) {
        const struct persist_message *message = &read->entries[i].message;

        bool is_read =
            !message->is_answer || host_find(job->host, message->id, NULL, NULL, NULL) == 0;
        if (is_read && !message_expired(message->expires_ms,
                                        now_ms)) { /* the store deletes it a little later */
            struct hearsay_exported_message *out = &messages[response.exported.message_count++];
            job_fill_exported(message, out);
            out->epoch = message->epoch;
        }
    }
    response.exported.messages = messages;
    if (read->page_more) {
        write_cursor(read->page_last, cursor);
        response.exported.next = (struct hearsay_bytes){cursor, CURSOR_BYTES};
    }
    job_finish(job, &response);
    arena_reset(&service->arena);
}

/*
 * Chooses how many messages, and how many bytes of content, a page may have so that it fits one
 * frame. `wanted` is the number of messages that the client asks for; 0: EXPORT_PAGE_MAX.
 */
static void choose_page(uint32_t frame_bytes, uint32_t wanted, size_t *out_entries,
                        size_t *out_bytes)
{
    size_t overhead = CODEC_EXPORTED_MESSAGE_BARE_BYTES_MAX;
    size_t most = frame_bytes / 4 / overhead;
    size_t entries = wanted == 0 || wanted > EXPORT_PAGE_MAX ? EXPORT_PAGE_MAX : wanted;

    if (entries > most) {
        entries = most > 0 ? most : 1;
    }
    *out_entries = entries;
    *out_bytes = frame_bytes - CODEC_ENVELOPE_BYTES_MAX - entries * overhead;
}

void handler_export(struct ask *ask)
{
    const struct hearsay_export *wanted = &ask->request->export_;
    size_t entries = 0;
    size_t bytes = 0;

    if (!ask_host(ask, &wanted->host)) {
        return;
    }
    if (wanted->after.data != NULL && wanted->after.count != CURSOR_BYTES) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "after",
                   "this is no cursor; take `next` of the page before");
        return;
    }
    choose_page(ask->service->config.limits.frame_bytes, wanted->limit, &entries, &bytes);
    struct export_job *page = job_new(ask, sizeof(*page) + entries * sizeof(page->entries[0]), 0);
    if (page == NULL) {
        return;
    }
    page->read.kind = PERSIST_READ_PAGE;
    page->read.entries = page->entries;
    page->read.entry_count = entries;
    page->read.page_host = ask->host->number;
    page->read.page_after = wanted->after.data != NULL ? read_cursor(wanted->after.data) : 0;
    page->read.page_bytes_limit = bytes;
    page->read.done = on_exported;
    job_read(&page->base, &page->read);
}
