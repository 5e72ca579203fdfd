/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream gets a match if the match's number is larger than the last number of the stream. So one
 * watch can catch up for some streams and have news for the others. A stream that lacks matches
 * which the ring has no more waits for them (is_behind) until a tick begins the view's watch again,
 * at the smallest number that a stream of the view waits with. Meanwhile the stream gets new
 * matches without their number: if it ends, the client still says where it lacks matches.
 */
#include <stdlib.h>
#include <string.h>

#include "client/web/live_inner.h"
#include "daemon/system/list.h"

/* --- watches ---------------------------------------------------------------------------------- */

/* The watch tells of matches behind `seq` only: what came before, streams get later. */
static void view_skip(struct live_view *view, uint64_t seq)
{
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        if (!stream->is_settled) {
            continue;
        }
        if (!stream->is_behind && stream->sent_seq < view->last_seq) {
            stream->sent_seq = view->last_seq; /* none of these numbers was a match */
        }
        live_stream_fall_behind(stream, seq);
    }
    live_ring_clear(&view->ring, seq);
    view->last_seq = seq;
}

static void view_begun(void *context, uint64_t seq)
{
    struct live_view *view = context;
    struct live_stream *stream;

    if (!view->is_known || view->last_seq > seq) {
        /* New, or the store was set back: then its numbers are given again. */
        bool is_back = view->is_known;
        live_ring_clear(&view->ring, seq);
        view->last_seq = seq;
        view->is_known = true;
        DL_FOREACH (view->streams, stream) {
            if (is_back && stream->is_settled) {
                live_stream_send_gone(stream, seq);
            }
        }
    } else if (view->skips && view->last_seq < seq) {
        view_skip(view, seq);
    }
    view->until_seq = seq;
    view->has_begun = true;
    view->pause_ms = 0;
    DL_FOREACH (view->streams, stream) {
        stream->caught_bytes = 0;
        if (!stream->is_settled) {
            live_stream_settle(stream);
        }
    }
}

/* Sends a match without its number, the first line, to a stream that is behind. */
static void stream_take_early(struct live_stream *stream, const struct live_entry *entry)
{
    const char *behind_id = strchr(entry->event, '\n') + 1;

    if (entry->seq > stream->early_to) {
        live_stream_send(stream, behind_id, entry->bytes - (size_t)(behind_id - entry->event));
        stream->early_to = entry->seq;
    }
}

/* Sends a match to a stream that lacks it. */
static void stream_take_match(struct live_stream *stream, const struct live_entry *entry)
{
    const struct live_view *view = stream->view;

    if (!stream->is_settled || entry->seq <= stream->sent_seq) {
        return;
    }
    if (stream->is_behind) {
        stream_take_early(stream, entry);
        return;
    }
    if (entry->seq > stream->early_from && entry->seq <= stream->early_to) {
        stream->sent_seq = entry->seq;
        return;
    }
    if (entry->seq <= view->until_seq) {
        (void)live_stream_send_missed(stream, entry, view->until_seq);
        return;
    }
    live_stream_send(stream, entry->event, entry->bytes);
    stream->sent_seq = entry->seq;
}

static void view_match(void *context, uint64_t seq, const struct board_message *message)
{
    struct live_view *view = context;
    struct live_stream *stream;
    struct live_entry entry = {.seq = seq};

    memcpy(entry.id, message->id, sizeof(entry.id));
    live_list_note(view, message->id);
    entry.event = live_event_new(view->store, seq, message, &entry.bytes);
    view->last_seq = seq;
    if (entry.event == NULL) {
        /* Nobody can get this match: all load their list again. */
        live_ring_clear(&view->ring, seq);
        DL_FOREACH (view->streams, stream) {
            live_stream_send_gone(stream, seq);
        }
        return;
    }
    live_ring_add(&view->ring, &entry);
    DL_FOREACH (view->streams, stream) {
        stream_take_match(stream, &entry);
    }
}

/* A watch that ended before it began was refused: the next try comes after a longer pause. */
static void view_pause(struct live_view *view)
{
    view->pause_ms = view->pause_ms == 0 ? 1000 : 2 * view->pause_ms;
    if (view->pause_ms > LIVE_RETRY_MS) {
        view->pause_ms = LIVE_RETRY_MS;
    }
    view->watch_ms = live_now_ms(view->live) + view->pause_ms;
}

static void view_ended(void *context)
{
    struct live_view *view = context;

    view->watch = NULL;
    if (!view->has_begun) {
        view_pause(view);
    }
    view->has_begun = false;
}

static const struct board_watch_events watch_events = {
    .begun = view_begun, .match = view_match, .ended = view_ended};

/* Another store has other numbers: all streams begin anew. */
static void view_check_store(struct live_view *view, const struct hearsay_welcome *welcome)
{
    char store[LIVE_STORE_BYTES];
    struct live_stream *stream;

    live_write_store(welcome, view->view.host, view->view.place, store);
    if (strcmp(store, view->store) == 0) {
        return;
    }
    memcpy(view->store, store, sizeof(store));
    live_ring_clear(&view->ring, 0);
    live_list_forget(view);
    view->is_known = false;
    DL_FOREACH (view->streams, stream) {
        if (stream->is_settled) {
            live_stream_send_gone(stream, 0);
            stream->place.store[0] = '\0';
            stream->is_settled = false;
        }
    }
}

/*
 * There are too many watches, so nobody tells what came since the place of a stream: the page loads
 * its list again. From then on the list is looked at every LIVE_POLL_MS (live_list.c).
 */
static void view_poll(struct live_view *view)
{
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        if (!stream->is_settled && stream->place.store[0] != '\0') {
            live_stream_send_gone(stream, 0);
            stream->place.store[0] = '\0';
            stream->is_settled = false;
        }
    }
}

void live_view_watch(struct live_view *view, bool catches_up)
{
    struct board *board = view->live->options.board;
    const struct hearsay_welcome *welcome = board_welcome(board);

    if (!board_is_connected(board) || welcome == NULL) {
        return;
    }
    view_check_store(view, welcome);
    view->has_begun = false;
    view->skips = view->is_known && !catches_up;
    view->watch = board_watch(board, &view->view,
                              view->is_known && catches_up ? view->last_seq : HEARSAY_NO_SEQ,
                              &watch_events, view);
    if (view->watch == NULL) {
        view_pause(view);
        view_poll(view);
    }
}

bool live_view_catch_up(struct live_view *view)
{
    uint64_t seq = UINT64_MAX;
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        if (stream->is_behind && !stream->is_ending && stream->sent_seq < seq) {
            seq = stream->sent_seq;
        }
    }
    if (seq == UINT64_MAX) {
        return false;
    }
    board_unwatch(view->watch);
    view->watch = NULL;
    live_ring_clear(&view->ring, seq);
    view->last_seq = seq;
    DL_FOREACH (view->streams, stream) {
        stream->is_behind = false;
    }
    live_view_watch(view, true);
    return true;
}

/* --- views ------------------------------------------------------------------------------------ */

void live_view_free(struct live_view *view)
{
    board_unwatch(view->watch);
    live_list_forget(view);
    live_ring_clear(&view->ring, 0);
    DL_DELETE(view->live->views, view);
    free(view);
}

/* Whether a view is of all messages of a place. */
static bool view_is_plain(const struct live_view *view)
{
    return view->view.topic_count == 0 && !view->view.is_now;
}

/* What the holder with least has of those that look at a view: a view that somebody looks at who
 * has no other stays, however many streams the others have. */
static struct fair_share view_share(const struct live_view *view)
{
    struct fair_share least = {.held = UINT64_MAX};
    const struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        struct fair_share share = fair_share(stream->holder);

        if (stream->holder != NULL && share.held < least.held) {
            least = share;
        }
    }
    return least;
}

/* Ends a view with all of its streams. */
static void view_drop(struct live_view *view)
{
    struct live_stream *stream;

    if (view->streams == NULL) {
        live_view_free(view);
        return;
    }
    board_unwatch(view->watch);
    view->watch = NULL;
    live_list_forget(view);
    view->is_ending = true;
    DL_FOREACH (view->streams, stream) {
        live_stream_drop(stream);
    }
}

/* Makes a place for a view: of the view that is unused for longest, or of one that gives way.
 * False: none does. */
static bool views_make_room(struct live *live, bool is_plain, const struct live_stream *newcomer)
{
    struct fair_choice choice = {.newcomer = {0}};
    struct live_view *view;
    size_t count = 0;

    if (!is_plain) {
        choice.newcomer = fair_share(newcomer->holder);
    }
    DL_FOREACH (live->views, view) {
        count += !view->is_ending;
        if (!view->is_ending && (view->streams == NULL || !view_is_plain(view))) {
            fair_consider(&choice, &(struct fair_candidate){.thing = view,
                                                            .share = view_share(view),
                                                            .age = (uint64_t)-view->used_ms});
        }
    }
    if (count < live->options.views) {
        return true;
    }
    if (choice.victim.thing == NULL) {
        return false;
    }
    view_drop(choice.victim.thing);
    return true;
}

struct live_view *live_view_find(struct live *live, const struct view *asked,
                                 const struct live_stream *newcomer)
{
    struct live_view *view;
    struct view wanted = *asked;

    wanted.order = VIEW_NEWEST;
    wanted.before_ms = INT64_MAX;
    DL_FOREACH (live->views, view) {
        if (!view->is_ending && view_equal(&view->view, &wanted)) {
            return view;
        }
    }
    view = calloc(1, sizeof(*view));
    if (view == NULL) {
        return NULL;
    }
    view->live = live;
    view->view = wanted;
    if (!views_make_room(live, view_is_plain(view), newcomer)) {
        free(view);
        return NULL;
    }
    DL_APPEND(live->views, view);
    return view;
}
