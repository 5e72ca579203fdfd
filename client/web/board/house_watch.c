/* SPDX-License-Identifier: Apache-2.0 */
/* house_watch: the watches of the house connection: those of pages, and those of cached views. */
#include <stdlib.h>

#include "client/web/board/house_inner.h"
#include "client/web/board/query.h"

struct board_watch {
    struct board_watch *next;
    struct house *house;
    struct view view;
    const struct board_watch_events *events; /* NULL: of a cached view, or of nobody any more */
    void *context;
    uint64_t ticket;     /* of the request to begin; 0: answered */
    uint64_t watch_id;   /* 0: not begun */
    uint64_t end_ticket; /* of the request to end, of a watch that still tells; 0: none */
    uint64_t last_seq;   /* of the last match */
    size_t filters;
    int64_t hour;
    bool is_over;   /* nobody's: ends as soon as it has a number */
    bool is_doomed; /* being ended */
};

/* Takes a watch out of the list. Lists of its view are not watched any more, unless another watch
 * has begun that tells of the same. */
static void unlink_watch(struct board_watch *watch)
{
    struct board_watch **link = &watch->house->watches;

    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    watch->house->watch_filters -= watch->filters;
    if (!house_watch_has_begun(watch->house, &watch->view)) {
        asks_unwatch_view(&watch->house->asks, &watch->view);
    }
}

/* Tells hearsayd that a watch is over, and frees the watch; later, if it has no number yet. */
static void let_go(struct board_watch *watch)
{
    struct house *house = watch->house;
    uint64_t ticket = 0;

    if (house->is_greeted && watch->end_ticket != 0) {
        return;
    }
    if (house->is_greeted && watch->ticket != 0) {
        watch->events = NULL;
        watch->is_over = true;
        return;
    }
    if (house->is_greeted && watch->watch_id != 0) {
        /* Where that fails the connection is lost, and the watch with it. */
        (void)hearsay_submit_unwatch(link_server(house->link), watch->watch_id, &ticket, NULL);
        link_submitted(house->link);
    }
    unlink_watch(watch);
    free(watch);
}

/* Frees a watch, and tells the owner. */
static void watch_end(struct board_watch *watch)
{
    const struct board_watch_events *events = watch->events;
    void *context = watch->context;

    watch->events = NULL;
    let_go(watch);
    if (events != NULL) {
        events->ended(context);
    }
}

/* Ends all doomed watches. A callback may begin others, and end some of these. */
static void end_doomed(struct house *house)
{
    struct board_watch *watch = house->watches;

    while (watch != NULL) {
        if (watch->is_doomed) {
            watch->is_doomed = false;
            watch_end(watch);
            watch = house->watches;
        } else {
            watch = watch->next;
        }
    }
}

void house_watch_end_all(struct house *house)
{
    for (struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        watch->is_doomed = true;
    }
    end_doomed(house);
}

void house_watch_end_places(struct house *house)
{
    for (struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        watch->is_doomed = watch->view.place[0] != '\0';
    }
    end_doomed(house);
}

static bool is_asked(const struct house *house, const struct view *view)
{
    for (const struct ask *ask = house->asks.first; ask != NULL; ask = ask->next) {
        if (ask->kind == ASK_LIST && ask->view->before_ms == INT64_MAX &&
            (ask->answer != NULL || ask->ticket != 0) && ask_same_labels(ask->view, view)) {
            return true;
        }
    }
    return false;
}

void house_watch_tick(struct house *house)
{
    int64_t hour = query_hour(hearsay_now_ms(link_server(house->link)));

    for (struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        bool is_late = watch->view.is_now && watch->hour != hour;
        bool is_idle = watch->events == NULL && !watch->is_over && watch->ticket == 0 &&
                       watch->end_ticket == 0 && !is_asked(house, &watch->view);

        if (is_late) {
            asks_drop_view(&house->asks, &watch->view);
        }
        watch->is_doomed = !watch->is_over && (is_late || is_idle);
    }
    end_doomed(house);
}

/* Ends watches of cached views until `filters` more are allowed. */
static bool make_room(struct house *house, size_t filters)
{
    size_t most = hearsay_welcome(link_server(house->link))->limits.watches_per_session;
    struct board_watch *watch = house->watches;

    while (watch != NULL && house->watch_filters + filters > most) {
        if (watch->events == NULL && !watch->is_over && watch->ticket == 0 &&
            watch->end_ticket == 0) {
            let_go(watch);
            watch = house->watches;
        } else {
            watch = watch->next;
        }
    }
    return house->watch_filters + filters <= most;
}

static struct board_watch *watch_begin(struct house *house, const struct view *view,
                                       uint64_t after_seq, const struct board_watch_events *events,
                                       void *context)
{
    struct hearsay *server = link_server(house->link);
    struct query_parts parts;
    struct hearsay_query query;
    struct hearsay_error error;

    if (query_fill(server, view, &parts, &query, &error) != HEARSAY_OK) {
        return NULL;
    }
    size_t most = hearsay_welcome(server)->limits.watches_per_session;
    bool has_room = events != NULL ? make_room(house, query.part_count)
                                   : house->watch_filters + query.part_count <= most;
    struct board_watch *watch = has_room ? calloc(1, sizeof(*watch)) : NULL;
    if (watch == NULL) {
        return NULL;
    }
    query.with_payload = events != NULL;
    query.hood = false; /* a watch sees one host */
    if (hearsay_submit_watch(server, &query, after_seq, &watch->ticket, &error) != HEARSAY_OK) {
        free(watch);
        return NULL;
    }
    watch->house = house;
    watch->view = *view;
    watch->events = events;
    watch->context = context;
    watch->filters = query.part_count;
    watch->last_seq = after_seq == HEARSAY_NO_SEQ ? 0 : after_seq;
    watch->hour = query_hour(hearsay_now_ms(server));
    watch->next = house->watches;
    house->watches = watch;
    house->watch_filters += watch->filters;
    link_submitted(house->link);
    return watch;
}

struct board_watch *house_watch(struct house *house, const struct view *view, uint64_t after_seq,
                                const struct board_watch_events *events, void *context)
{
    return house->is_greeted ? watch_begin(house, view, after_seq, events, context) : NULL;
}

void house_unwatch(struct board_watch *watch)
{
    if (watch != NULL && watch->house->is_greeted) {
        watch->events = NULL;
        let_go(watch);
    } else if (watch != NULL) {
        unlink_watch(watch);
        free(watch);
    }
}

/* Filters of watches that are there for lists only: no page has them. */
static size_t filters_of_lists(const struct house *house)
{
    size_t count = 0;

    for (const struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        count += watch->events == NULL ? watch->filters : 0;
    }
    return count;
}

bool house_watch_list(struct house *house, const struct ask *ask)
{
    size_t most = hearsay_welcome(link_server(house->link))->limits.watches_per_session;

    for (struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        if (!watch->is_over && ask_same_labels(&watch->view, ask->view)) {
            return true;
        }
    }
    return (ask->is_shared || house->watch_filters + filters_of_lists(house) < most) &&
           watch_begin(house, ask->view, HEARSAY_NO_SEQ, NULL, NULL) != NULL;
}

bool house_watch_has_begun(const struct house *house, const struct view *view)
{
    const struct board_watch *watch = house->watches;

    while (watch != NULL && (watch->is_over || watch->ticket != 0 || watch->watch_id == 0 ||
                             !ask_same_labels(&watch->view, view))) {
        watch = watch->next;
    }
    return watch != NULL;
}

static void take_match(struct house *house, const struct hearsay_match *match)
{
    struct board_watch *watch = house->watches;
    struct board_message message;

    while (watch != NULL && (watch->watch_id != match->watch_id || watch->is_over)) {
        watch = watch->next;
    }
    if (watch == NULL) {
        return; /* was on its way when the watch ended */
    }
    asks_drop_view(&house->asks, &watch->view);
    house->version++;
    if (watch->events != NULL && match->seq > watch->last_seq &&
        answer_borrow(&match->result, &message)) {
        watch->last_seq = match->seq;
        watch->events->match(watch->context, match->seq, &message);
    }
}

/* A watch of a page has begun: the one for lists of the same view is needed no more, and ends. What
 * it tells until then still counts: it may have come before the other watch began. */
static void take_over_lists(const struct board_watch *begun)
{
    struct house *house = begun->house;

    for (struct board_watch *watch = house->watches; watch != NULL; watch = watch->next) {
        if (watch->events == NULL && !watch->is_over && watch->watch_id != 0 &&
            watch->end_ticket == 0 && ask_same_labels(&watch->view, &begun->view) &&
            hearsay_submit_unwatch(link_server(house->link), watch->watch_id, &watch->end_ticket,
                                   NULL) == HEARSAY_OK) {
            house->watch_filters -= watch->filters;
            watch->filters = 0;
            link_submitted(house->link);
        }
    }
}

/* hearsayd has ended a watch: it is freed, if let_go has not done so. */
static void take_unwatched(struct house *house, uint64_t ticket)
{
    struct board_watch *watch = house->watches;

    while (watch != NULL && (watch->end_ticket == 0 || watch->end_ticket != ticket)) {
        watch = watch->next;
    }
    if (watch != NULL) {
        unlink_watch(watch);
        free(watch);
    }
}

static void take_begun(struct board_watch *watch, const struct hearsay_watching *watching)
{
    watch->ticket = 0;
    watch->watch_id = watching->watch_id;
    if (watch->last_seq > watching->seq) {
        watch->last_seq = watching->seq; /* the store was set back */
    }
    if (watch->is_over) {
        let_go(watch);
    } else if (watch->events != NULL) {
        take_over_lists(watch);
        watch->events->begun(watch->context, watching->seq);
    }
}

bool house_watch_reply(struct house *house, const struct hearsay_reply *reply)
{
    struct board_watch *watch = house->watches;

    if (reply->kind == HEARSAY_REPLY_MATCH) {
        take_match(house, &reply->match);
        return true;
    }
    if (reply->kind == HEARSAY_REPLY_UNWATCHED) {
        take_unwatched(house, reply->ticket);
        return true;
    }
    while (watch != NULL && (watch->ticket == 0 || watch->ticket != reply->ticket)) {
        watch = watch->next;
    }
    if (watch == NULL) {
        return false;
    }
    if (reply->kind == HEARSAY_REPLY_WATCHING) {
        take_begun(watch, &reply->watching);
    } else { /* hearsayd refuses */
        watch->ticket = 0;
        watch_end(watch);
    }
    return true;
}
