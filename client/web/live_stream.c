/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/web/live_inner.h"
#include "core/base/alloc.h"

static const char gone_event[] = "event: gone\ndata: {}\n\n";

int64_t live_now_ms(const struct live *live)
{
    return (int64_t)uv_now(live->options.loop);
}

void live_stream_send(struct live_stream *stream, const char *event, size_t bytes)
{
    if (stream->is_ending) {
        return;
    }
    stream->is_ending = !http_stream_send(stream->http, event, bytes);
    stream->spoke_ms = live_now_ms(stream->view->live);
}

void live_stream_leave(struct live_stream *stream)
{
    struct live *live = stream->live;

    live->stream_count -= stream->holder != NULL;
    fair_leave(&live->holders, alloc_system(), stream->holder);
    stream->holder = NULL;
}

void live_stream_end(struct live_stream *stream)
{
    if (!stream->is_ending) {
        stream->is_ending = true;
        http_stream_end(stream->http);
    }
}

void live_stream_drop(struct live_stream *stream)
{
    stream->is_ending = true;
    live_stream_leave(stream);
    http_stream_abort(stream->http);
}

void live_stream_send_gone(struct live_stream *stream, uint64_t seq)
{
    live_stream_send(stream, gone_event, sizeof(gone_event) - 1);
    stream->sent_seq = seq;
    stream->is_settled = true;
    stream->is_behind = false;
    stream->early_from = stream->early_to = 0;
}

void live_stream_fall_behind(struct live_stream *stream, uint64_t newest)
{
    stream->is_behind = true;
    stream->early_from = stream->early_to = newest;
}

bool live_stream_send_missed(struct live_stream *stream, const struct live_entry *entry,
                             uint64_t newest)
{
    stream->caught_bytes += entry->bytes;
    if (stream->caught_bytes > LIVE_CAUGHT_BYTES) {
        live_stream_send_gone(stream, newest);
        return false;
    }
    live_stream_send(stream, entry->event, entry->bytes);
    stream->sent_seq = entry->seq;
    return true;
}

static void stream_send_ring(struct live_stream *stream, uint64_t newest)
{
    const struct live_ring *ring = &stream->view->ring;

    for (size_t i = 0; i < ring->count; i++) {
        const struct live_entry *entry = live_ring_at(ring, i);
        if (entry->seq > stream->sent_seq && entry->event != NULL &&
            !live_stream_send_missed(stream, entry, newest)) {
            return;
        }
    }
}

void live_stream_settle(struct live_stream *stream)
{
    const struct live_view *view = stream->view;
    const struct live_place *place = &stream->place;
    uint64_t newest = view->until_seq > view->last_seq ? view->until_seq : view->last_seq;

    if (place->store[0] == '\0') {
        stream->sent_seq = newest;
    } else if (strcmp(place->store, view->store) != 0 || place->seq > newest ||
               (place->seq < view->ring.from_seq && newest - place->seq > LIVE_CATCH_UP)) {
        live_stream_send_gone(stream, newest);
    } else {
        stream->sent_seq = place->seq;
        if (place->seq < view->ring.from_seq) {
            live_stream_fall_behind(stream, newest);
        } else {
            stream_send_ring(stream, newest);
        }
    }
    stream->is_settled = true;
}
