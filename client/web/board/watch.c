/* SPDX-License-Identifier: Apache-2.0 */
/* watch: the watches of the connection for reading, which open pages have. */
#include <stdlib.h>

#include "client/web/board/inner.h"
#include "client/web/board/query.h"

struct board_watch {
    struct board_watch *next;
    struct board *board;
    struct view view;
    const struct board_watch_events *events; /* NULL: of nobody any more */
    void *context;
    uint64_t ticket;   /* of the request to begin; 0: answered */
    uint64_t watch_id; /* 0: not begun */
    size_t filters;
    int64_t hour;
    bool is_doomed; /* being ended */
};

/* Takes a watch out of the list, and frees it. */
static void unlink_watch(struct board_watch *watch)
{
    struct board_watch **link = &watch->board->watches;

    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    watch->board->watch_filters -= watch->filters;
    free(watch);
}

/* Tells hearsayd that a watch is over, and frees the watch; later, if it has no number yet. */
static void let_go(struct board_watch *watch)
{
    struct board *board = watch->board;
    uint64_t ticket = 0;

    watch->events = NULL;
    if (board->is_greeted && watch->ticket != 0) {
        return;
    }
    if (board->is_greeted && watch->watch_id != 0) {
        struct hearsay_request request = {.kind = HEARSAY_REQUEST_UNWATCH,
                                          .unwatch.watch_id = watch->watch_id};
        /* Where that fails the connection is lost, and the watch with it. */
        (void)hearsay_submit(link_server(board->link), &request, &ticket, NULL);
        link_submitted(board->link);
    }
    unlink_watch(watch);
}

/* Frees a watch, and tells the owner. */
static void watch_end(struct board_watch *watch)
{
    const struct board_watch_events *events = watch->events;
    void *context = watch->context;

    let_go(watch);
    if (events != NULL) {
        events->ended(context);
    }
}

/* Ends all doomed watches. A callback may begin others, and end some of these. */
static void end_doomed(struct board *board)
{
    struct board_watch *watch = board->watches;

    while (watch != NULL) {
        if (watch->is_doomed) {
            watch->is_doomed = false;
            watch_end(watch);
            watch = board->watches;
        } else {
            watch = watch->next;
        }
    }
}

void watch_end_all(struct board *board)
{
    for (struct board_watch *watch = board->watches; watch != NULL; watch = watch->next) {
        watch->is_doomed = true;
    }
    end_doomed(board);
}

void watch_end_places(struct board *board)
{
    for (struct board_watch *watch = board->watches; watch != NULL; watch = watch->next) {
        watch->is_doomed = watch->view.place[0] != '\0';
    }
    end_doomed(board);
}

void watch_tick(struct board *board)
{
    int64_t hour = query_hour(hearsay_now_ms(link_server(board->link)));

    for (struct board_watch *watch = board->watches; watch != NULL; watch = watch->next) {
        watch->is_doomed = watch->view.is_now && watch->hour != hour && watch->events != NULL;
        if (watch->is_doomed) {
            asks_drop_view(&board->asks, &watch->view);
        }
    }
    end_doomed(board);
}

struct board_watch *board_watch(struct board *board, const struct view *view,
                                const struct board_watch_events *events, void *context)
{
    struct hearsay *server = board->is_greeted ? link_server(board->link) : NULL;
    struct query_parts parts;
    struct hearsay_query query;
    struct hearsay_error error;

    if (server == NULL || query_fill(server, view, &parts, &query, &error) != HEARSAY_OK) {
        return NULL;
    }
    size_t most = hearsay_welcome(server)->limits.watches_per_session;
    bool has_room = board->watch_filters + query.part_count <= most;
    struct board_watch *watch = has_room ? calloc(1, sizeof(*watch)) : NULL;
    if (watch == NULL) {
        return NULL;
    }
    query.with_payload = false;       /* a match only says that there is something new */
    query.scope = HEARSAY_SCOPE_HERE; /* a watch sees one host */
    if (hearsay_submit_watch(server, &query, HEARSAY_NO_SEQ, &watch->ticket, &error) !=
        HEARSAY_OK) {
        free(watch);
        return NULL;
    }
    watch->board = board;
    watch->view = *view;
    watch->events = events;
    watch->context = context;
    watch->filters = query.part_count;
    watch->hour = query_hour(hearsay_now_ms(server));
    watch->next = board->watches;
    board->watches = watch;
    board->watch_filters += watch->filters;
    board_begin_ticks(board);
    link_submitted(board->link);
    return watch;
}

void board_unwatch(struct board_watch *watch)
{
    if (watch != NULL) {
        let_go(watch);
    }
}

static void take_match(struct board *board, uint64_t watch_id)
{
    struct board_watch *watch = board->watches;

    while (watch != NULL && watch->watch_id != watch_id) {
        watch = watch->next;
    }
    if (watch == NULL) {
        return; /* was on its way when the watch ended */
    }
    asks_drop_view(&board->asks, &watch->view);
    if (watch->events != NULL) {
        watch->events->match(watch->context);
    }
}

static void take_begun(struct board_watch *watch, uint64_t watch_id)
{
    watch->ticket = 0;
    watch->watch_id = watch_id;
    if (watch->events == NULL) {
        let_go(watch);
    } else {
        watch->events->begun(watch->context);
    }
}

bool watch_reply(struct board *board, const struct hearsay_reply *reply)
{
    struct board_watch *watch = board->watches;

    if (reply->response.kind == HEARSAY_RESPONSE_MATCH) {
        take_match(board, reply->response.match.watch_id);
        return true;
    }
    while (watch != NULL && (watch->ticket == 0 || watch->ticket != reply->response.id)) {
        watch = watch->next;
    }
    if (watch == NULL) {
        return false;
    }
    if (reply->response.kind == HEARSAY_RESPONSE_WATCHING) {
        take_begun(watch, reply->response.watching.watch_id);
    } else { /* hearsayd refuses */
        watch->ticket = 0;
        watch_end(watch);
    }
    return true;
}
