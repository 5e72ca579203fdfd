/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>

#include "client/web/form.h"
#include "client/web/live_inner.h"
#include "core/base/err.h"
#include "core/base/least.h"
#include "daemon/system/list.h"

/* --- limits ----------------------------------------------------------------------------------- */

/* Whether a stream of another sender may give way: where all hold equally many, those that were
 * there first keep theirs, because an address more costs an attacker nothing. */
static bool has_more(const struct fair_share *share, const struct fair_share *newcomer)
{
    return share->held > newcomer->held ||
           (share->held == newcomer->held && share->by_network > newcomer->by_network);
}

/* Makes a place for a stream that is counted already: where its address has too many, of the oldest
 * one of the address, because a page that is loaded again leaves a stream behind that is not known
 * to be dead; else of one of the holder with most, or of the newcomer's own. False: none gives way,
 * and the page's script tries again. */
static bool streams_make_room(struct live *live, const struct live_stream *newcomer)
{
    struct fair_choice own = {.newcomer = fair_share(newcomer->holder)};
    struct fair_choice all = own;
    size_t own_count = 1;
    struct live_view *view;
    struct live_stream *stream;

    if (own.newcomer.held <= live->options.events_per_address &&
        live->stream_count <= live->options.events) {
        return true;
    }
    DL_FOREACH (live->views, view) {
        DL_FOREACH (view->streams, stream) {
            struct fair_candidate candidate = {
                .thing = stream,
                .share = fair_share(stream->holder),
                .age = (uint64_t)(newcomer->began_ms - stream->began_ms)};

            if (stream->is_ending) {
                continue;
            }
            if (stream->holder == newcomer->holder || has_more(&candidate.share, &own.newcomer)) {
                fair_consider(&all, &candidate);
            }
            if (http_peer_shares_address(&stream->client, &newcomer->client)) {
                own_count++;
                fair_consider(&own, &candidate);
            }
        }
    }
    stream = own_count > live->options.events_per_address ? own.victim.thing
             : live->stream_count > live->options.events  ? all.victim.thing
                                                          : NULL;
    if (stream != NULL) {
        live_stream_drop(stream);
    }
    return live->stream_count <= live->options.events &&
           (own_count <= live->options.events_per_address || stream != NULL);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int64_t max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When a stream has something to do next. */
static int64_t stream_next(const struct live_stream *stream)
{
    return least_i64(stream->began_ms + LIVE_LIFE_MS, stream->alive_ms + LIVE_ALIVE_MS);
}

static void stream_tick(struct live_stream *stream, int64_t now_ms)
{
    static const char alive_event[] = "event: alive\ndata: {}\n\n";

    if (now_ms - stream->began_ms >= LIVE_LIFE_MS) {
        live_stream_end(stream);
    } else if (now_ms - stream->alive_ms >= LIVE_ALIVE_MS) {
        stream->alive_ms = now_ms;
        live_stream_send(stream, alive_event, sizeof(alive_event) - 1);
    }
}

/* Returns when a view has something to do next. */
static int64_t view_tick(struct live_view *view, int64_t now_ms)
{
    bool is_connected = board_is_connected(view->live->options.board);
    int64_t next_ms = view->used_ms + LIVE_LIFE_MS;
    struct live_stream *stream;

    if (view->streams != NULL) {
        next_ms = INT64_MAX;
    }
    DL_FOREACH (view->streams, stream) {
        stream_tick(stream, now_ms);
        next_ms = least_i64(next_ms, stream->is_ending ? INT64_MAX : stream_next(stream));
    }
    live_list_tick(view, now_ms);
    live_list_tell_host(view);
    if (view->streams == NULL || !is_connected) {
        return next_ms;
    }
    if (view->watch == NULL && now_ms >= view->watch_ms) {
        live_view_watch(view);
    }
    next_ms = view->is_listing ? next_ms : least_i64(next_ms, view->list_ms);
    return view->watch == NULL ? least_i64(next_ms, view->watch_ms) : next_ms;
}

/* Whether hearsayd's clock was set since the last tick. */
static bool live_note_clock(struct live *live)
{
    int64_t now_ms;

    if (!board_now_ms(live->options.board, &now_ms)) {
        return false;
    }
    int64_t moved_ms = now_ms - live_now_ms(live) - live->offset_ms;
    bool was_set = live->has_offset && (moved_ms > LIVE_SHIFT_MS || moved_ms < -LIVE_SHIFT_MS);
    live->offset_ms += moved_ms;
    live->has_offset = true;
    return was_set;
}

/* Whether hearsayd is away for so long that an open page would be wrong without a word. */
static bool live_is_away(struct live *live)
{
    int64_t now_ms = live_now_ms(live);

    if (board_is_connected(live->options.board)) {
        live->away_ms = 0;
    } else if (live->away_ms == 0) {
        live->away_ms = max_ms(now_ms, 1);
    }
    return live->away_ms != 0 && now_ms - live->away_ms >= LIVE_AWAY_MS;
}

static void view_end_streams(struct live_view *view)
{
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        live_stream_end(stream);
    }
}

static void live_tick(uv_timer_t *timer)
{
    struct live *live = timer->data;
    struct live_view *view;
    struct live_view *after;
    int64_t next_ms = INT64_MAX;
    live->timer_ms = INT64_MAX;
    bool was_clock_set = live_note_clock(live);
    bool is_away = live_is_away(live);

    if (live->away_ms != 0 && !is_away) {
        next_ms = live->away_ms + LIVE_AWAY_MS;
    }
    live->ticked_ms = live_now_ms(live);
    DL_FOREACH_SAFE (live->views, view, after) {
        if (view->is_ending) {
            continue; /* with its last stream */
        }
        if (view->streams == NULL && live->ticked_ms - view->used_ms >= LIVE_LIFE_MS) {
            live_view_free(view);
            continue;
        }
        if (is_away) {
            view_end_streams(view);
        }
        next_ms = least_i64(next_ms, view_tick(view, live->ticked_ms));
        if (was_clock_set) {
            live_list_let_look(view);
        }
    }
    if (next_ms != INT64_MAX) {
        live_wake(live, max_ms(next_ms, live->ticked_ms + LIVE_TICK_MS));
    }
}

/* hearsayd has said something: perhaps notices, or that the host takes other deposits. Or a phone
 * has answered the message `id`, or taken it back. */
static void live_news(void *context, const uint8_t *id)
{
    struct live *live = context;
    struct live_view *view;

    if (id == NULL) {
        live_wake_soon(live);
        return;
    }
    DL_FOREACH (live->views, view) {
        live_list_note_change(view, id);
    }
}

int live_new(const struct live_options *options, struct live **out_live)
{
    struct live *live = calloc(1, sizeof(*live));

    if (live == NULL) {
        return -ERR_NOMEM;
    }
    live->options = *options;
    (void)uv_timer_init(options->loop, &live->timer); /* cannot fail */
    live->timer.data = live;
    live->on_timer = live_tick;
    live->timer_ms = INT64_MAX;
    board_on_news(options->board, live_news, live);
    *out_live = live;
    return 0;
}

void live_stop(struct live *live)
{
    struct live_view *view;

    if (live->is_stopping) {
        return;
    }
    live->is_stopping = true;
    board_on_news(live->options.board, NULL, NULL);
    uv_close((uv_handle_t *)&live->timer, NULL);
    DL_FOREACH (live->views, view) {
        board_unwatch(view->watch);
        view->watch = NULL;
        live_list_forget(view);
        view_end_streams(view);
    }
}

void live_free(struct live *live)
{
    struct live_view *view;
    struct live_view *after;

    if (live == NULL) {
        return;
    }
    DL_FOREACH_SAFE (live->views, view, after) {
        live_view_free(view);
    }
    free(live);
}

/* --- requests --------------------------------------------------------------------------------- */

/* A script that opens its stream again cannot set the header; it says its place in `last`. A stream
 * without a place may say in `since` when its list was written. */
static void request_read_place(const struct http_request *request, struct live_stream *stream)
{
    char query[HTTP_TARGET_BYTES + 1];
    struct form form;
    const struct form_field *field;
    uint64_t since_ms = 0;

    if (request->last_event_id != NULL && live_place_read(request->last_event_id, &stream->place)) {
        return;
    }
    if (strlen(request->query) >= sizeof(query)) {
        return;
    }
    (void)snprintf(query, sizeof(query), "%s", request->query);
    if (!form_read(query, strlen(query), &form)) {
        return;
    }
    if ((field = form_find(&form, "last")) != NULL &&
        live_place_read(field->value, &stream->place)) {
        return;
    }
    if ((field = form_find(&form, "since")) != NULL &&
        form_read_number(field->value, INT64_MAX / 2, &since_ms)) {
        stream->since_ms = (int64_t)since_ms;
    }
}

/* Finds out from which time on a stream lacks messages: that of its place or of its page, else now.
 * A place of another store, or of a time to come, says that its page is wrong. */
static void stream_find_since(struct live_stream *stream)
{
    const struct live_place *place = &stream->place;
    int64_t now_ms = 0;
    bool has_clock = board_now_ms(stream->live->options.board, &now_ms);

    if (place->store[0] != '\0') {
        bool is_here =
            strcmp(place->store, stream->view->store) == 0 && place->ms <= now_ms + LIVE_SLACK_MS;

        stream->since_ms = is_here ? place->ms + 1 : now_ms;
        if (!is_here) {
            live_stream_send_gone(stream);
        }
    } else if (stream->since_ms == 0 && has_clock) {
        stream->since_ms = now_ms;
    }
}

/* Frees a stream, and its view if that gave way and has no other. */
static void stream_free(struct live_stream *stream)
{
    struct live_view *view = stream->view;

    live_stream_leave(stream);
    if (view != NULL) {
        DL_DELETE(view->streams, stream);
        if (view->is_ending && view->streams == NULL) {
            live_view_free(view);
        }
    }
    free(stream);
}

static void stream_closed(void *context)
{
    stream_free(context);
}

/* Makes a stream, and counts it. NULL: no memory. */
static struct live_stream *stream_new(struct live *live, const struct http_address *client)
{
    struct live_stream *stream = calloc(1, sizeof(*stream));
    struct fair_holder *holder =
        stream == NULL ? NULL : http_peer_enter(&live->holders, alloc_system(), client);

    if (holder == NULL) {
        free(stream);
        return NULL;
    }
    *stream = (struct live_stream){.live = live,
                                   .client = *client,
                                   .holder = holder,
                                   .began_ms = live_now_ms(live),
                                   .alive_ms = live_now_ms(live)};
    live->stream_count++;
    return stream;
}

/* Gives a stream its view. False: there is no place for it. */
static bool stream_enter(struct live_stream *stream, const struct view *asked)
{
    if (!streams_make_room(stream->live, stream)) {
        return false;
    }
    stream->view = live_view_find(stream->live, asked, stream);
    if (stream->view == NULL) {
        return false;
    }
    stream->is_near = asked->order == VIEW_NEAREST;
    DL_APPEND(stream->view->streams, stream);
    return true;
}

size_t live_stream_count(const struct live *live)
{
    return live->stream_count;
}

void live_begin(struct live *live, struct http_exchange *exchange,
                const struct http_request *request, const struct view *view)
{
    static const char hello[] = "retry: 5000\n\n";
    struct live_stream *stream;
    struct live_view *shared;

    if (request->method == HTTP_HEAD) {
        http_answer(exchange,
                    &(struct http_answer){.status = 200, .type = "text/event-stream", .body = ""});
        return;
    }
    stream = live->is_stopping || live_is_away(live) ? NULL : stream_new(live, &request->client);
    if (stream != NULL && !stream_enter(stream, view)) {
        stream_free(stream);
        stream = NULL;
    }
    if (stream == NULL) {
        http_answer(exchange,
                    &(struct http_answer){.status = 503, .retry_after_s = 60, .body = ""});
        return;
    }
    shared = stream->view;
    request_read_place(request, stream);
    shared->used_ms = stream->began_ms;
    stream->http = http_stream_begin(exchange, stream_closed, stream);
    if (stream->http == NULL) {
        stream_free(stream);
        return;
    }
    live_stream_send(stream, hello, sizeof(hello) - 1);
    live_view_check_store(shared);
    stream_find_since(stream);
    if (shared->watch == NULL && shared->watch_ms <= stream->began_ms) {
        live_view_watch(shared);
    }
    if (shared->list_ms == 0 || shared->list_ms > stream->began_ms + LIVE_SOON_MS) {
        shared->list_ms = stream->began_ms + LIVE_SOON_MS;
    }
    live_wake(live, shared->list_ms);
    live_wake(live, stream->began_ms + LIVE_TICK_MS); /* notices, and a watch that is refused */
}
