/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/ask.h"

#include <stdlib.h>
#include <string.h>

#include "client/web/http_peer.h"

void asks_init(struct asks *asks, size_t views)
{
    *asks = (struct asks){
        .limits = {views, ASK_GETS_MAX, ASK_GETS_MAX, ASK_PLACES_MAX, ASK_GETS_MAX},
        .kept = {views, ASK_GETS_MAX, ASK_ANSWERS_KEPT, ASK_PLACES_KEPT, ASK_GETS_MAX}};
}

static void ask_free(struct ask *ask)
{
    free(ask->answer);
    free(ask->fair);
    free(ask->view);
    free(ask);
}

void asks_deinit(struct asks *asks)
{
    while (asks->first != NULL) {
        struct ask *ask = asks->first;

        asks->first = ask->next;
        ask_land(asks, ask);
        ask_free(ask);
    }
}

/* --- finding and adding ----------------------------------------------------------------------- */

static bool same_question(const struct ask *a, const struct ask *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case ASK_LIST:
        return view_equal(a->view, b->view);
    case ASK_GET:
    case ASK_ANSWERS:
        return memcmp(a->id, b->id, sizeof(a->id)) == 0 && strcmp(a->host, b->host) == 0;
    case ASK_PLACES:
        return strcmp(a->host, b->host) == 0;
    default:
        return http_peer_equals(&a->client, &b->client) && strcmp(a->host, b->host) == 0;
    }
}

static bool may_go(const struct ask *ask)
{
    return ask->waiters == NULL && ask->pins == 0 && ask->ticket == 0;
}

/* Frees a question, and its place in the queue. */
static void ask_remove(struct asks *asks, struct ask **link)
{
    struct ask *ask = *link;

    *link = ask->next;
    asks->counts[ask->kind]--;
    ask_land(asks, ask);
    ask_free(ask);
}

/* Frees the question of a kind that was asked least recently. False: none may go. */
static bool make_room(struct asks *asks, enum ask_kind kind)
{
    struct ask **found = NULL;

    for (struct ask **link = &asks->first; *link != NULL; link = &(*link)->next) {
        if ((*link)->kind == kind && may_go(*link)) {
            found = link;
        }
    }
    if (found == NULL) {
        return false;
    }
    ask_remove(asks, found);
    return true;
}

static struct ask *ask_copy(const struct ask *key)
{
    struct ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    *ask = *key;
    if (key->kind != ASK_PLACE) {
        ask->client = (struct http_address){.family = 0};
    }
    if (key->kind == ASK_LIST) {
        ask->view = malloc(sizeof(*ask->view));
        if (ask->view == NULL) {
            free(ask);
            return NULL;
        }
        *ask->view = *key->view;
    }
    return ask;
}

struct ask *asks_take(struct asks *asks, const struct ask *key, bool may_add)
{
    struct ask **link = &asks->first;

    while (*link != NULL && !same_question(*link, key)) {
        link = &(*link)->next;
    }
    struct ask *ask = *link;
    if (ask != NULL) {
        *link = ask->next;
    } else if (!may_add) {
        return NULL;
    } else {
        while (asks->counts[key->kind] >= asks->kept[key->kind] && make_room(asks, key->kind)) {
            /* until there is room, or readers wait for each */
        }
        ask = ask_copy(key);
        if (ask == NULL) {
            return NULL;
        }
        asks->counts[key->kind]++;
    }
    ask->next = asks->first;
    asks->first = ask;
    return ask;
}

struct ask *asks_find_ticket(const struct asks *asks, uint64_t ticket)
{
    struct ask *ask = asks->first;

    while (ask != NULL && ask->ticket != ticket) {
        ask = ask->next;
    }
    return ask;
}

/* --- the order of questions ------------------------------------------------------------------- */

static struct queue *queue_of(struct asks *asks, const struct ask *ask)
{
    return ask->kind == ASK_LIST ? &asks->lists : &asks->small;
}

static struct ask *ask_of(struct queue_item *item)
{
    void *ask = item != NULL ? (char *)item - offsetof(struct ask, item) : NULL;

    return ask;
}

struct ask *asks_find_late(const struct asks *asks, int64_t before_ms)
{
    struct queue_item *item = queue_find_late(&asks->lists, before_ms);

    return ask_of(item != NULL ? item : queue_find_late(&asks->small, before_ms));
}

struct ask *ask_queue(struct asks *asks, struct ask *ask, const struct http_address *client,
                      int64_t now_ms)
{
    struct queue *queue = queue_of(asks, ask);

    if (ask->item.holder != NULL) {
        queue_share(queue, &ask->item, client);
        return NULL;
    }
    ask->is_wide = false;
    if (queue_enter(queue, &ask->item, client, now_ms) != 0) {
        return ask;
    }
    return asks->counts[ask->kind] > asks->limits[ask->kind]
               ? ask_of(queue_victim(queue, &ask->item))
               : NULL;
}

struct ask *asks_next(const struct asks *asks, bool is_list)
{
    return ask_of(is_list ? asks->lists.first : asks->small.first);
}

void ask_sent(struct asks *asks, struct ask *ask, uint64_t ticket)
{
    queue_serve(queue_of(asks, ask), &ask->item);
    ask->ticket = ticket;
    ask->has_changed = false;
    asks->under_way[ask->kind]++;
}

void ask_land(struct asks *asks, struct ask *ask)
{
    queue_leave(queue_of(asks, ask), &ask->item);
    asks->under_way[ask->kind] -= ask->ticket != 0;
    ask->ticket = 0;
    ask->payer = (struct http_address){.family = 0};
}

/* --- those who wait --------------------------------------------------------------------------- */

bool ask_add_waiter(struct ask *ask, const struct http_address *client, board_done *done,
                    void *context)
{
    struct waiter **link = &ask->waiters;
    struct waiter *waiter = calloc(1, sizeof(*waiter));

    if (waiter == NULL) {
        return false;
    }
    waiter->done = done;
    waiter->context = context;
    waiter->client = *client;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = waiter;
    return true;
}

/* Takes the first due waiter out of the list; NULL: none. */
static struct waiter *take_due(struct ask *ask)
{
    struct waiter **link = &ask->waiters;

    while (*link != NULL && !(*link)->is_due) {
        link = &(*link)->next;
    }
    struct waiter *waiter = *link;
    if (waiter != NULL) {
        *link = waiter->next;
    }
    return waiter;
}

void ask_give(struct ask *ask, const struct board_reply *reply, const struct http_address *sender)
{
    struct waiter *waiter;

    for (waiter = ask->waiters; waiter != NULL; waiter = waiter->next) {
        waiter->is_due = sender == NULL || http_peer_shares_sender(&waiter->client, sender);
    }
    ask->pins++;
    while ((waiter = take_due(ask)) != NULL) {
        board_done *done = waiter->done;
        void *context = waiter->context;

        free(waiter);
        done(context, reply);
    }
    ask->pins--;
}

void ask_give_answer(struct ask *ask, int64_t now_ms, int64_t clock_ms)
{
    struct answer *answer = ask->answer;
    struct board_reply reply = {.outcome = BOARD_DONE};

    answer->list.now_ms = clock_ms;
    answer->list.age_ms = now_ms - ask->answered_ms;
    reply.list = ask->kind == ASK_LIST || ask->kind == ASK_ANSWERS ? &answer->list : NULL;
    reply.message = ask->kind == ASK_GET ? &answer->message : NULL;
    reply.place = answer->place;
    reply.place_name = answer->place_name;
    ask_give(ask, &reply, NULL);
}

void ask_take_answer(struct asks *asks, struct ask *ask, struct answer *answer, int64_t now_ms,
                     int64_t clock_ms)
{
    free(ask->answer);
    answer->list.version = ++asks->last_version;
    ask->answer = answer;
    ask->answered_ms = now_ms;
    ask->is_fresh = !ask->has_changed;
    ask_land(asks, ask);
    ask_give_answer(ask, now_ms, clock_ms);
}

void asks_forget(struct asks *asks, const void *context)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        struct waiter **link = &ask->waiters;

        while (*link != NULL) {
            struct waiter *waiter = *link;

            if (waiter->context != context) {
                link = &waiter->next;
                continue;
            }
            *link = waiter->next;
            free(waiter);
        }
    }
}

/* --- what has changed ------------------------------------------------------------------------- */

static void ask_drop(struct ask *ask)
{
    ask->is_fresh = false;
    ask->has_changed = true;
}

void asks_drop_answers(struct asks *asks, enum ask_kind kind)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->kind == kind) {
            ask_drop(ask);
        }
    }
}

void asks_drop_message(struct asks *asks, const uint8_t *id)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        bool is_list = ask->kind == ASK_LIST;

        bool has_id = ask->kind == ASK_GET || ask->kind == ASK_ANSWERS;

        if ((has_id && memcmp(ask->id, id, sizeof(ask->id)) == 0) ||
            (ask->kind == ASK_ANSWERS && ask->answer != NULL &&
             board_list_has(&ask->answer->list, id)) ||
            (is_list && ask->ticket != 0) ||
            (is_list && ask->answer != NULL && board_list_has(&ask->answer->list, id))) {
            ask_drop(ask);
        }
    }
}

void asks_drop_place(struct asks *asks, const struct view *left)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->kind == ASK_LIST &&
            (ask->view->place[0] == '\0' || strcmp(ask->view->place, left->place) == 0)) {
            ask_drop(ask);
        }
    }
}

void asks_drop_view(struct asks *asks, const struct view *view)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->kind == ASK_LIST && ask->view->before_ms == INT64_MAX &&
            view_same_labels(ask->view, view)) {
            ask_drop(ask);
        }
    }
}

void asks_age(struct asks *asks, int64_t now_ms)
{
    struct ask **link = &asks->first;

    while (*link != NULL) {
        struct ask *ask = *link;

        if (ask->pins > 0 || now_ms - ask->answered_ms <= ASK_KEEP_MS) {
            link = &ask->next;
        } else if (may_go(ask)) {
            ask_remove(asks, link);
        } else {
            free(ask->answer);
            ask->answer = NULL;
            ask->is_fresh = false;
            link = &ask->next;
        }
    }
}
