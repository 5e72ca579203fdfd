/* SPDX-License-Identifier: Apache-2.0 */
/* The queued matches of a client. A queued match holds a few numbers, not the message. The message
 * is looked up when the match is sent. */
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"
#include "proto/codec/codec.h"

/* --- queues ----------------------------------------------------------------------------------- */

static void free_match(struct watcher *watcher, struct watch_match **list,
                       struct watch_match *match)
{
    struct watch_counts *counts = &watcher->service->watch->counts;

    DL_DELETE(*list, match);
    watcher->queued_bytes -= match->bytes;
    counts->matches--;
    counts->bytes -= match->bytes;
    alloc_release(watcher->service->alloc, match);
}

/* Returns an upper bound of the bytes of the frame with this match. A match whose content does not
 * fit a frame is sent without content. */
static size_t match_bytes(const struct watch *watch, size_t content_bytes)
{
    size_t frame_bytes = watch->watcher->service->config.limits.frame_bytes;
    size_t bare = CODEC_ENVELOPE_BYTES_MAX + CODEC_RESULT_BARE_BYTES_MAX;

    if (!watch->with_payload || content_bytes > frame_bytes) {
        return bare;
    }
    return bare + content_bytes < frame_bytes ? bare + content_bytes : frame_bytes;
}

void watch_queue(struct watch *watch, const struct watch_match *match, size_t content_bytes)
{
    struct watcher *watcher = watch->watcher;
    struct service *service = watcher->service;

    watcher_make_ready(watcher);
    if (watcher->has_failed ||
        watcher->queued_bytes > service->config.limits.session_output_bytes) {
        return; /* the client is about to be dropped */
    }
    struct watch_match *queued = alloc_array(service->alloc, 1, sizeof(*queued));
    if (queued == NULL) {
        watcher->has_failed = true;
        return;
    }
    *queued = *match;
    queued->bytes = match_bytes(watch, content_bytes);
    watcher->queued_bytes += queued->bytes;
    service->watch->counts.matches++;
    service->watch->counts.bytes += queued->bytes;
    DL_APPEND(watcher->queue, queued);
}

void watch_forget_matches(struct watch *watch)
{
    struct watcher *watcher = watch->watcher;
    struct watch_match *match;
    struct watch_match *next;

    DL_FOREACH_SAFE (watcher->queue, match, next) {
        if (match->watch == watch) {
            free_match(watcher, &watcher->queue, match);
        }
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Looks the message of a match up in the index, and fills in what it says of the result. Returns
 * false if the message was removed or has expired, or if another message has the same id now. */
static bool is_there(const struct watcher *watcher, const struct watch_match *match,
                     struct hearsay_result *out)
{
    const struct host *host = match->watch->host;
    struct index_item item;
    uint64_t filter[PROFILE_WORDS_MAX];

    if (host_find(host, match->id, NULL, &item, filter) != 0 ||
        item.deposited_ms != match->deposited_ms ||
        message_expired(item.expires_ms, service_now_ms(watcher->service))) {
        return false;
    }
    *out = (struct hearsay_result){
        .id = {match->id, MESSAGE_ID_BYTES},
        .epoch = match->epoch,
        .intersection_count = match->hit.intersection,
        .union_count = match->hit.union_count,
        .distance_ppm = distance_ppm(match->hit.rank),
        .deposited_ms = item.deposited_ms,
        .expires_ms = item.expires_ms,
    };
    if (host_parent(host, match->id) != NULL) { /* an answer has no bits of its own */
        memset(filter, 0, sizeof(filter));
    }
    host_note_bits(host, filter, out);
    return true;
}

/* Sends a match to the client, with the media type and the payload of `content`. These are left out
 * if `content` is NULL or if they do not fit the frame. */
static void push_match(struct watcher *watcher, const struct watch_match *match,
                       const struct hearsay_result *result, const struct persist_message *content)
{
    const struct watch *watch = match->watch;
    struct hearsay_response response = {
        .kind = HEARSAY_RESPONSE_MATCH,
        .match = {.watch_id = watch->number, .seq = (uint64_t)match->seq, .result = *result},
    };
    if (watch->host->answers.count > 0) {
        response.match.result.answer_count =
            answers_count(&watch->host->answers, match->id, service_now_ms(watcher->service));
    }
    struct hearsay_response bare = response;

    if (content != NULL) {
        response.match.result.media_type =
            (struct hearsay_text){content->media_type, content->media_type_bytes};
        response.match.result.payload =
            (struct hearsay_bytes){content->payload, content->payload_bytes};
        if (codec_match_bytes(&response) > watcher->service->config.limits.frame_bytes) {
            response = bare;
        }
    }
    response.match.result.payload_omitted =
        watch->with_payload && response.match.result.media_type.text == NULL;
    watcher->service->watch->counts.pushed++;
    watcher->client->events->respond(watcher->client, &response);
}

static void on_payloads(struct persist_read *read);

/* Begins to read the contents of the first queued matches from the store. Returns false if memory
 * has run out. */
static bool read_payloads(struct watcher *watcher)
{
    struct service *service = watcher->service;
    struct watch_payloads *payloads = alloc_zeroed(service->alloc, 1, sizeof(*payloads));
    struct watch_match *match;

    if (payloads == NULL) {
        return false;
    }
    payloads->watcher = watcher;
    payloads->client = watcher->client;
    payloads->read.kind = PERSIST_READ_PAYLOADS;
    payloads->read.entries = payloads->entries;
    payloads->read.content_limit = service->config.limits.frame_bytes;
    payloads->read.done = on_payloads;
    DL_FOREACH (watcher->queue, match) {
        if (!match->watch->with_payload || payloads->read.entry_count == WATCH_PAYLOADS) {
            break;
        }
        struct persist_message *wanted = &payloads->entries[payloads->read.entry_count++].message;
        wanted->host = match->watch->host->number;
        memcpy(wanted->id, match->id, MESSAGE_ID_BYTES);
    }
    watcher->payloads = payloads;
    service_work_begin(service);
    requester_work_begin(watcher->client, sizeof(*payloads), 0);
    service->persist->interface->read(service->persist, &payloads->read);
    return true;
}

/* Sends the first queued match, with the content in `entry` if the watch wants payloads and the
 * read has found the content. Does nothing if `entry` has another id than the match. If the message
 * was removed or has expired meanwhile, the match is dropped and not sent. */
static void send_read(struct watcher *watcher, const struct persist_entry *entry, bool failed)
{
    struct watch_match *match = watcher->queue;
    struct hearsay_result result;

    if (match == NULL || memcmp(match->id, entry->message.id, MESSAGE_ID_BYTES) != 0) {
        return;
    }
    if (!is_there(watcher, match, &result) || !(failed || entry->found)) {
        watcher->service->watch->counts.left_out++;
    } else {
        bool is_whole = !failed && entry->found && !entry->omitted &&
                        entry->message.deposited_ms == match->deposited_ms;
        /* the first match may belong to another watch of this client than the read, and that watch
         * may want no payload */
        push_match(watcher, match, &result,
                   is_whole && match->watch->with_payload ? &entry->message : NULL);
    }
    free_match(watcher, &watcher->queue, match);
}

static void on_payloads(struct persist_read *read)
{
    struct watch_payloads *payloads = CONTAINER_OF(read, struct watch_payloads, read);
    struct watcher *watcher = payloads->watcher;
    struct service *service = watcher->service;
    struct requester *client = payloads->client;

    if (read->failed) {
        service_storage_failed(service, "reading payloads", read->reason);
    }
    watcher->payloads = NULL;
    for (size_t i = 0; i < read->entry_count && !client->is_gone; i++) {
        send_read(watcher, &read->entries[i], read->failed);
    }
    if (!client->is_gone) {
        watcher_make_ready(watcher);
    }
    service->persist->interface->read_release(service->persist, read);
    alloc_release(service->alloc, payloads);
    service_work_end(service);
    watcher_free_if_unused(watcher);
    requester_work_end(client, sizeof(struct watch_payloads), 0);
}

/* Sends the first queued match and takes it off the queue. If the message of the match is gone,
 * only takes the match off the queue. Returns false, and leaves the match queued, if its content
 * has to be read from the store first. */
static bool send_first(struct watcher *watcher)
{
    struct watch_match *match = watcher->queue;
    struct persist_message content = {0};
    struct hearsay_result result;

    if (!is_there(watcher, match, &result)) {
        watcher->service->watch->counts.left_out++;
    } else if (!match->watch->with_payload) {
        push_match(watcher, match, &result, NULL);
    } else if (service_recall(watcher->service, match->watch->host->number, match->id, &content)) {
        push_match(watcher, match, &result, &content);
    } else if (read_payloads(watcher)) {
        return false;
    } else {
        push_match(watcher, match, &result,
                   NULL); /* without memory for the read; the client can use Get */
    }
    free_match(watcher, &watcher->queue, match);
    return true;
}

uint32_t watch_send(struct watcher *watcher, uint32_t most)
{
    uint32_t sent = 0;

    while (watcher->queue != NULL && watcher->payloads == NULL && sent < most &&
           watcher->client->events->has_room(watcher->client) && send_first(watcher)) {
        sent++;
    }
    (void)watcher->client->events->queued(watcher->client, watcher->queued_bytes);
    if (sent == most && watcher->queue != NULL) {
        watcher_make_ready(watcher); /* the others have their turn first */
    }
    return sent;
}
