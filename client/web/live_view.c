/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch only tells that the list of a view has changed. What streams get is what differs in the
 * list (live_list.c): so a sender has no larger share of live messages than of the first page.
 */
#include <stdlib.h>

#include "client/web/live_inner.h"
#include "daemon/system/list.h"

/* --- watches ---------------------------------------------------------------------------------- */

static void view_begun(void *context)
{
    struct live_view *view = context;

    view->has_begun = true;
    view->pause_ms = 0;
    view->list_ms = live_now_ms(view->live) + LIVE_SOON_MS; /* what came before */
    live_wake(view->live, view->list_ms);
}

static void view_match(void *context)
{
    live_list_changed(context);
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
    live_wake_soon(view->live);
}

static const struct board_watch_events watch_events = {
    .begun = view_begun, .match = view_match, .ended = view_ended};

void live_view_check_store(struct live_view *view)
{
    const struct hearsay_welcome *welcome = board_welcome(view->live->options.board);
    char store[LIVE_STORE_BYTES];
    struct live_stream *stream;

    if (welcome == NULL) {
        return;
    }
    live_write_store(welcome, view->view.host, view->view.place, store);
    if (strcmp(store, view->store) == 0) {
        return;
    }
    if (view->store[0] != '\0') {
        live_list_forget(view);
        DL_FOREACH (view->streams, stream) {
            live_stream_send_gone(stream);
            (void)board_now_ms(view->live->options.board, &stream->since_ms);
        }
    }
    memcpy(view->store, store, sizeof(store));
}

void live_view_watch(struct live_view *view)
{
    struct board *board = view->live->options.board;

    if (!board_is_connected(board)) {
        return;
    }
    live_view_check_store(view);
    view->has_begun = false;
    view->watch = board_watch(board, &view->view, &watch_events, view);
    if (view->watch == NULL) {
        view_pause(view); /* until then the list is looked at every LIVE_POLL_MS */
    }
}

/* --- views ------------------------------------------------------------------------------------ */

void live_view_free(struct live_view *view)
{
    board_unwatch(view->watch);
    live_list_forget(view);
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
 * False: none does. A plain view then is one more than options.views: there are as many as places,
 * which the operator writes down, and no more than streams. */
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
        return is_plain;
    }
    view_drop(choice.victim.thing);
    return true;
}

uint64_t live_memory_most(unsigned views, unsigned events)
{
    enum { WATCH_BYTES = sizeof(struct view) + 1024 }; /* of the board and of libhearsay */

    return (uint64_t)(events > views ? events : views) * (sizeof(struct live_view) + WATCH_BYTES);
}

struct live_view *live_view_find(struct live *live, const struct view *asked,
                                 const struct live_stream *newcomer)
{
    struct live_view *view;
    struct view wanted = *asked;

    wanted.order = VIEW_NEWEST;
    wanted.before_ms = INT64_MAX;
    DL_FOREACH (live->views, view) {
        if (!view->is_ending && view_equal(&view->view, &wanted) &&
            strcmp(view->view.place_name, wanted.place_name) == 0) {
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
