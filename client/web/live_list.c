/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a view tells what a watch does not: what came between a page and its stream, and
 * which messages have gone. A message that is not in the list may have been pushed out by others,
 * or may be in a list by nearness only: so hearsayd is asked for it before phones take it away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/web/live_inner.h"
#include "daemon/system/list.h"

enum {
    SINCE_BYTES_MAX = HTTP_STREAM_BYTES / 2, /* of a list for one stream; else it loads its list */
    STALE_MS = 5000                          /* an older list says nothing about now */
};

static bool id_is_equal(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, HEARSAY_ID_BYTES) == 0;
}

static bool known_has(const struct live_view *view, const uint8_t *id)
{
    for (size_t i = 0; i < view->known_count; i++) {
        if (id_is_equal(view->known[i].id, id)) {
            return true;
        }
    }
    return false;
}

void live_list_note(struct live_view *view, const uint8_t *id)
{
    if (known_has(view, id)) {
        return;
    }
    if (view->known_count == LIVE_KNOWN) {
        memmove(&view->known[0], &view->known[1], (LIVE_KNOWN - 1) * sizeof(view->known[0]));
        view->known_count--;
    }
    struct live_known *known = &view->known[view->known_count++];
    known->is_due = false;
    memcpy(known->id, id, sizeof(known->id));
}

static void known_remove(struct live_view *view, const uint8_t *id)
{
    for (size_t i = 0; i < view->known_count; i++) {
        if (id_is_equal(view->known[i].id, id)) {
            memmove(&view->known[i], &view->known[i + 1],
                    (view->known_count - i - 1) * sizeof(view->known[0]));
            view->known_count--;
            return;
        }
    }
}

/* --- what streams lack ------------------------------------------------------------------------ */

/* Whether a message must still be sent to a stream: the message was deposited after the stream's
 * page was made, or no watch of hearsayd reports messages to this view. */
static bool stream_lacks(const struct live_stream *stream, const struct board_message *message)
{
    const struct live_view *view = stream->view;

    if (stream->since_ms > 0) {
        return message->deposited_ms >= stream->since_ms;
    }
    return !view->has_begun && view->has_listed && !known_has(view, message->id);
}

static void stream_send_list(struct live_stream *stream, const struct board_list *list)
{
    uint64_t newest = stream->sent_seq;
    size_t sent = 0;

    for (size_t i = list->count; i-- > 0;) { /* the oldest first */
        size_t bytes = 0;
        char *event;

        if (!stream_lacks(stream, &list->messages[i])) {
            continue;
        }
        event = live_event_new(NULL, 0, &list->messages[i], &bytes);
        sent += bytes;
        if (event == NULL || sent > SINCE_BYTES_MAX) {
            free(event);
            live_stream_send_gone(stream, newest);
            break;
        }
        live_stream_send(stream, event, bytes);
        free(event);
    }
    stream->since_ms = 0;
}

/* --- what has gone ---------------------------------------------------------------------------- */

static void view_send_out(struct live_view *view, const uint8_t *id)
{
    char event[64 + 2 * HEARSAY_ID_BYTES] = "event: out\ndata: {\"id\":\"";
    size_t bytes = strlen(event);
    struct live_stream *stream;

    for (size_t i = 0; i < HEARSAY_ID_BYTES; i++) {
        bytes += (size_t)snprintf(event + bytes, sizeof(event) - bytes, "%02x", id[i]);
    }
    bytes += (size_t)snprintf(event + bytes, sizeof(event) - bytes, "\"}\n\n");
    live_ring_remove(&view->ring, id);
    known_remove(view, id);
    DL_FOREACH (view->streams, stream) {
        live_stream_send(stream, event, bytes);
    }
}

static void view_check_due(struct live_view *view);

static void check_done(void *context, const struct board_reply *reply)
{
    struct live_check *check = context;
    struct live_view *view = check->view;

    check->view = NULL;
    if (reply->outcome == BOARD_GONE || reply->outcome == BOARD_REMOVED) {
        view_send_out(view, check->id);
    }
    view_check_due(view);
}

static struct live_known *known_find_due(struct live_view *view)
{
    for (size_t i = 0; i < view->known_count; i++) {
        if (view->known[i].is_due) {
            return &view->known[i];
        }
    }
    return NULL;
}

static struct live_check *check_find_free(struct live_view *view)
{
    for (size_t i = 0; i < LIVE_CHECKS; i++) {
        if (view->checks[i].view == NULL) {
            return &view->checks[i];
        }
    }
    return NULL;
}

/* Asks for known messages that are due, as many at a time as there are checks. */
static void view_check_due(struct live_view *view)
{
    struct live_check *check;
    struct live_known *known;

    while ((check = check_find_free(view)) != NULL && (known = known_find_due(view)) != NULL) {
        known->is_due = false;
        check->view = view;
        memcpy(check->id, known->id, sizeof(check->id));
        board_get(view->live->options.board, view->view.host, check->id, NULL, check_done, check);
    }
}

static bool list_has(const struct board_list *list, const uint8_t *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (id_is_equal(list->messages[i].id, id)) {
            return true;
        }
    }
    return false;
}
/* --- looking ---------------------------------------------------------------------------------- */

static void view_note_list(struct live_view *view, const struct board_list *list)
{
    for (size_t i = list->count; i-- > 0;) {
        live_list_note(view, list->messages[i].id);
    }
}

static void list_done(void *context, const struct board_reply *reply)
{
    struct live_view *view = context;
    struct live_stream *stream;

    view->is_listing = false;
    if (reply->outcome != BOARD_DONE || reply->list->age_ms > STALE_MS) {
        view->list_ms = live_now_ms(view->live) + LIVE_POLL_MS;
        return;
    }
    DL_FOREACH (view->streams, stream) {
        stream_send_list(stream, reply->list);
    }
    for (size_t i = 0; i < view->known_count; i++) {
        view->known[i].is_due = !list_has(reply->list, view->known[i].id);
    }
    view_check_due(view);
    view_note_list(view, reply->list);
    view->has_listed = true;
}

static void near_done(void *context, const struct board_reply *reply)
{
    struct live_view *view = context;

    view->is_near_listing = false;
    if (reply->outcome == BOARD_DONE) {
        view_note_list(view, reply->list);
    }
}

/* Notes what pages that are sorted by nearness show, if there are such pages. */
static void view_look_near(struct live_view *view)
{
    const struct live_stream *stream;
    struct view near = view->view;

    DL_FOREACH (view->streams, stream) {
        if (stream->is_near && !view->is_near_listing) {
            near.order = VIEW_NEAREST;
            view->is_near_listing = true;
            board_list(view->live->options.board, &near, NULL, near_done, view);
            return;
        }
    }
}

void live_list_tick(struct live_view *view, int64_t now_ms)
{
    struct board *board = view->live->options.board;

    if (view->is_listing || view->streams == NULL || now_ms < view->list_ms ||
        !board_is_connected(board)) {
        return;
    }
    view->list_ms = now_ms + (view->has_begun ? LIVE_LIST_MS : LIVE_POLL_MS);
    view->is_listing = true;
    view_look_near(view);
    board_list(board, &view->view, NULL, list_done, view);
}

void live_list_let_look(struct live_view *view)
{
    static const char look[] = "event: look\ndata: {}\n\n";
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        live_stream_send(stream, look, sizeof(look) - 1);
    }
}

/* Tells the notices to each stream whose page has others, or may have: a new stream's page was made
 * before the stream began. */
static void view_send_notices(struct live_view *view, const struct hearsay_host *host)
{
    struct live_stream *stream;
    char *event = NULL;
    size_t bytes = 0;

    DL_FOREACH (view->streams, stream) {
        if (stream->has_notices && stream->notices_version == host->notices_version) {
            continue;
        }
        if (event == NULL) {
            event = live_event_house(host->notices, host->notice_count, &bytes);
        }
        if (event == NULL) {
            return; /* no memory: the next tick tries again */
        }
        live_stream_send(stream, event, bytes);
        stream->has_notices = true;
        stream->notices_version = host->notices_version;
    }
    free(event);
}

void live_list_tell_host(struct live_view *view)
{
    const struct hearsay_welcome *welcome = board_welcome(view->live->options.board);

    for (size_t i = 0; welcome != NULL && i < welcome->host_count; i++) {
        const struct hearsay_host *host = &welcome->hosts[i];

        if (view->view.host[0] != '\0' ? strcmp(host->name, view->view.host) != 0 : i > 0) {
            continue;
        }
        view_send_notices(view, host);
        if (view->accept != 0 && view->accept != host->accept) {
            live_list_let_look(view);
        }
        view->accept = host->accept;
    }
}

void live_list_forget(struct live_view *view)
{
    struct board *board = view->live->options.board;

    board_forget(board, view);
    view->is_listing = false;
    view->is_near_listing = false;
    for (size_t i = 0; i < LIVE_CHECKS; i++) {
        if (view->checks[i].view != NULL) {
            board_forget(board, &view->checks[i]);
            view->checks[i].view = NULL;
        }
    }
    view->known_count = 0;
    view->has_listed = false;
}
