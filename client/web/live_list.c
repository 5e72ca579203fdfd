/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams get is what makes their page agree with the first page as it is loaded: the messages
 * that came into the list, and those that left it because of the share of their sender, which says
 * nothing about whose they are. A message that is not in the list may also have been pushed out by
 * others, or may be in a list by nearness only: so hearsayd is asked for it before phones take it
 * away. How many answers messages have is told to all alike: which message is its own, a phone
 * keeps for itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#include "client/web/live_inner.h"
#include "daemon/system/list.h"

enum {
    EVENT_BYTES = 72, /* of an event about a message */
    LISTED_MAX = 100, /* messages of a list: `per_page` */
    STALE_MS = 5000   /* an older list says nothing about now */
};

/* Writes an event about a message (EVENT_BYTES). It has no text, which the list has, so that no
 * long texts fill streams. Returns its length. */
static size_t event_write(const char *name, const uint8_t *id, char *out)
{
    char text[2 * HEARSAY_ID_BYTES + 1];

    (void)sodium_bin2hex(text, sizeof(text), id, HEARSAY_ID_BYTES);
    return (size_t)snprintf(out, EVENT_BYTES, "event: %s\ndata: {\"id\":\"%s\"}\n\n", name, text);
}

static bool id_is_equal(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, HEARSAY_ID_BYTES) == 0;
}

static struct live_known *known_find(struct live_view *view, const uint8_t *id)
{
    for (size_t i = 0; i < view->known_count; i++) {
        if (id_is_equal(view->known[i].id, id)) {
            return &view->known[i];
        }
    }
    return NULL;
}

static void known_count_answers(struct live_known *known, const struct board_message *message)
{
    known->is_untold = known->is_untold || known->answer_count != message->answer_count;
    known->answer_count = message->answer_count;
}

/* Notes that phones may show a message; the one that was noted first makes room. */
static void known_note(struct live_view *view, const struct board_message *message, bool is_near)
{
    struct live_known *known = known_find(view, message->id);

    if (known == NULL && view->known_count == LIVE_KNOWN) {
        memmove(&view->known[0], &view->known[1], (LIVE_KNOWN - 1) * sizeof(view->known[0]));
        view->known_count--;
    }
    if (known == NULL) {
        known = &view->known[view->known_count++];
        *known = (struct live_known){.deposited_ms = message->deposited_ms};
        memcpy(known->id, message->id, sizeof(known->id));
    }
    known->is_near = known->is_near || is_near;
    known_count_answers(known, message);
}

static void known_remove(struct live_view *view, const uint8_t *id)
{
    struct live_known *known = known_find(view, id);

    if (known != NULL) {
        size_t behind = (size_t)(&view->known[view->known_count] - known) - 1;

        memmove(known, known + 1, behind * sizeof(*known));
        view->known_count--;
    }
}

/* --- what streams lack ------------------------------------------------------------------------ */

/* A message of the list that is to be sent. */
struct live_item {
    const struct board_message *message;
    bool is_new; /* to the view */
};

/* Whether a message must still be sent to a stream. */
static bool stream_lacks(const struct live_stream *stream, const struct live_item *item)
{
    return stream->since_ms > 0 ? item->message->deposited_ms >= stream->since_ms : item->is_new;
}

/* Sends what a stream lacks, the oldest first, at once, so that no part waits for the client's
 * answer to another one. `items` are in the order of the list. The last event has the id, which
 * says that the client has all messages up to that time. */
static void stream_send_list(struct live_stream *stream, const struct live_item *items,
                             size_t count, int64_t newest_ms)
{
    char id[64];
    char text[LISTED_MAX * EVENT_BYTES + sizeof(id)];
    size_t used = 0;
    size_t last = 0; /* where the last event begins */
    int id_bytes =
        snprintf(id, sizeof(id), "id: %s-%lld\n", stream->view->store, (long long)newest_ms);

    for (size_t i = count < LISTED_MAX ? count : LISTED_MAX; i-- > 0;) {
        if (stream_lacks(stream, &items[i])) {
            last = used;
            used += event_write("message", items[i].message->id, text + used);
        }
    }
    stream->since_ms = 0;
    if (used > 0) {
        memmove(text + last + id_bytes, text + last, used - last);
        memcpy(text + last, id, (size_t)id_bytes);
        live_stream_send(stream, text, used + (size_t)id_bytes);
    }
}

/* Sends what came into the list since the last one. A message that only moved up, from behind the
 * end of the list, is not new. */
static void view_send_list(struct live_view *view, const struct board_list *list)
{
    int64_t as_of_ms = list->now_ms - list->age_ms - LIVE_SLACK_MS;
    struct live_item *items = calloc(list->count + 1, sizeof(*items));
    struct live_stream *stream;

    for (size_t i = 0; items != NULL && i < list->count; i++) {
        const struct board_message *message = &list->messages[i];

        items[i].message = message;
        items[i].is_new = view->new_ms > 0 && message->deposited_ms >= view->new_ms &&
                          known_find(view, message->id) == NULL;
    }
    DL_FOREACH (view->streams, stream) {
        if (items == NULL) { /* no memory: all load their list again */
            live_stream_send_gone(stream);
        } else if (!stream->is_ending && list->count > 0) {
            stream_send_list(stream, items, list->count, list->messages[0].deposited_ms);
        }
    }
    free(items);
    view->new_ms = as_of_ms;
}

/* Sends an event to all streams of a view. */
static void view_send(const struct live_view *view, const char *event, size_t bytes)
{
    struct live_stream *stream;

    DL_FOREACH (view->streams, stream) {
        live_stream_send(stream, event, bytes);
    }
}

/* Tells how many answers messages have: a new stream of all, the others of what has changed. */
static void view_send_answers(struct live_view *view)
{
    struct live_stream *stream;
    size_t change_bytes = 0;
    size_t all_bytes = 0;
    char *change = live_event_answers(view, true, &change_bytes);
    char *all = live_event_answers(view, false, &all_bytes);

    DL_FOREACH (view->streams, stream) {
        if (stream->has_answers && change != NULL) {
            live_stream_send(stream, change, change_bytes);
        } else if (!stream->has_answers && all != NULL) {
            live_stream_send(stream, all, all_bytes);
        }
        stream->has_answers = true;
    }
    for (size_t i = 0; i < view->known_count && change != NULL; i++) {
        view->known[i].is_untold = false;
    }
    free(change);
    free(all);
}

/* --- what has gone ---------------------------------------------------------------------------- */

static void view_send_out(struct live_view *view, const uint8_t *id)
{
    char event[EVENT_BYTES];
    size_t bytes = event_write("out", id, event);

    known_remove(view, id);
    view_send(view, event, bytes);
}

static void view_check_due(struct live_view *view);

static void check_done(void *context, const struct board_reply *reply)
{
    struct live_check *check = context;
    struct live_view *view = check->view;
    struct live_known *known = known_find(view, check->id);

    check->view = NULL;
    if (reply->outcome == BOARD_GONE || reply->outcome == BOARD_REMOVED) {
        view_send_out(view, check->id);
    } else if (reply->outcome == BOARD_DONE && known != NULL) {
        known_count_answers(known, reply->message);
        view_send_answers(view);
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

/* --- looking ---------------------------------------------------------------------------------- */

static void view_note_list(struct live_view *view, const struct board_list *list, bool is_near)
{
    for (size_t i = list->count; i-- > 0;) {
        known_note(view, &list->messages[i], is_near);
    }
}

/* Takes away known messages that are not in the list, or asks hearsayd for them. Where the list has
 * older messages than one of these, the page of a reader has it no more: it went, or its sender has
 * more than a share. */
static void view_send_left(struct live_view *view, const struct board_list *list)
{
    bool is_whole = !list->has_older;
    int64_t oldest_ms = list->count > 0 ? list->messages[list->count - 1].deposited_ms : INT64_MAX;

    for (size_t i = view->known_count; i-- > 0;) {
        struct live_known *known = &view->known[i];

        if (board_list_has(list, known->id)) {
            known->is_due = false;
        } else if (!known->is_near && (is_whole || known->deposited_ms > oldest_ms)) {
            uint8_t id[HEARSAY_ID_BYTES];

            memcpy(id, known->id, sizeof(id)); /* the entry goes */
            view_send_out(view, id);
        } else {
            known->is_due = true;
        }
    }
    view_check_due(view);
}

static void view_plan_list(struct live_view *view, int64_t at_ms)
{
    if (at_ms < view->list_ms) {
        view->list_ms = at_ms;
    }
    live_wake(view->live, view->list_ms);
}

static void list_done(void *context, const struct board_reply *reply)
{
    struct live_view *view = context;

    view->is_listing = false;
    if (reply->outcome != BOARD_DONE || reply->list->age_ms > STALE_MS) {
        view_plan_list(view, live_now_ms(view->live) + LIVE_POLL_MS);
        return;
    }
    view_send_left(view, reply->list);
    view_send_list(view, reply->list);
    view_note_list(view, reply->list, false);
    view_send_answers(view);
    live_wake(view->live, view->list_ms);
}

static void near_done(void *context, const struct board_reply *reply)
{
    struct live_view *view = context;

    view->is_near_listing = false;
    if (reply->outcome == BOARD_DONE) {
        view_note_list(view, reply->list, true);
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
    view->listed_ms = now_ms;
    view->list_ms = now_ms + (view->has_begun ? LIVE_LIST_MS : LIVE_POLL_MS);
    view->is_listing = true;
    view_look_near(view);
    board_list(board, &view->view, NULL, list_done, view);
}

void live_list_changed(struct live_view *view)
{
    view_plan_list(view, view->listed_ms + LIVE_TICK_MS);
    live_list_tick(view, live_now_ms(view->live));
}

void live_list_note_change(struct live_view *view, const uint8_t *id)
{
    if (known_find(view, id) != NULL) {
        live_list_changed(view);
    }
}

void live_list_let_look(struct live_view *view)
{
    static const char look[] = "event: look\ndata: {}\n\n";

    view_send(view, look, sizeof(look) - 1);
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
            event = live_event_house(host->notices, host->notice_count, &view->view, &bytes);
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
    const struct hearsay_host *host = board_host(view->live->options.board, view->view.host);

    if (host != NULL) {
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
    view->new_ms = 0;
}
