/* SPDX-License-Identifier: Apache-2.0 */

#include "client/web/live_inner.h"

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
}

void live_wake(struct live *live, int64_t at_ms)
{
    int64_t wait_ms = at_ms - live_now_ms(live);

    if (!live->is_stopping && at_ms < live->timer_ms) {
        live->timer_ms = at_ms;
        (void)uv_timer_start(&live->timer, live->on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
    }
}

void live_wake_soon(struct live *live)
{
    if (live->views != NULL) {
        live_wake(live, live->ticked_ms + LIVE_TICK_MS);
    }
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

void live_stream_send_gone(struct live_stream *stream)
{
    live_stream_send(stream, gone_event, sizeof(gone_event) - 1);
}
