/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/ask.h"

#include <stdlib.h>
#include <string.h>

#include "client/web/http_peer.h"

void asks_init(struct asks *asks, size_t views)
{
    *asks = (struct asks){.limits = {views, ASK_GETS_MAX, ASK_PLACES_MAX},
                          .kept = {views, ASK_GETS_MAX, ASK_PLACES_KEPT}};
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
        return memcmp(a->id, b->id, sizeof(a->id)) == 0 && strcmp(a->host, b->host) == 0;
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
    ask_unqueue(asks, ask, 0);
    ask_free(ask);
}

/* Frees the question of a kind that was asked least recently, a list that is not shared before
 * those that are. False: none may go. */
static bool make_room(struct asks *asks, enum ask_kind kind)
{
    struct ask **found = NULL;

    for (struct ask **link = &asks->first; *link != NULL; link = &(*link)->next) {
        if ((*link)->kind == kind && may_go(*link) &&
            (found == NULL || (*found)->is_shared || !(*link)->is_shared)) {
            found = link;
        }
    }
    if (found == NULL) {
        return false;
    }
    ask_remove(asks, found);
    return true;
}

static bool has_reader(const struct ask *ask, const struct http_address *client)
{
    for (size_t i = 0; i < ASK_READERS; i++) {
        if (http_peer_equals(&ask->readers[i], client)) {
            return true;
        }
    }
    return false;
}

/* Notes which phone asks for a list. One phone may have several addresses and open pages: so it
 * takes more than ASK_READERS addresses to make a list shared, and open pages do not count. When
 * the list becomes shared, the addresses are forgotten, and a list that waits goes earlier. */
static void note_reader(struct ask *ask, const struct http_address *client)
{
    if (ask->kind != ASK_LIST || ask->is_shared || client->family == 0 || has_reader(ask, client)) {
        return;
    }
    for (size_t i = 0; i < ASK_READERS; i++) {
        if (ask->readers[i].family == 0) {
            ask->readers[i] = *client;
            return;
        }
    }
    ask->is_shared = true;
    memset(ask->readers, 0, sizeof(ask->readers));
    if (ask->rank == ASK_OWN) {
        ask->rank = ASK_SHARED;
    }
}

static struct ask *ask_copy(const struct ask *key)
{
    struct ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    *ask = *key;
    if (key->kind == ASK_LIST) {
        ask->view = malloc(sizeof(*ask->view));
        if (ask->view == NULL) {
            free(ask);
            return NULL;
        }
        *ask->view = *key->view;
        ask->client = (struct http_address){.family = 0};
        note_reader(ask, &key->client);
    }
    return ask;
}

struct ask *asks_take(struct asks *asks, const struct ask *key)
{
    struct ask **link = &asks->first;

    while (*link != NULL && !same_question(*link, key)) {
        link = &(*link)->next;
    }
    struct ask *ask = *link;
    if (ask != NULL) {
        *link = ask->next;
        note_reader(ask, &key->client);
    } else {
        while (asks->counts[key->kind] >= asks->kept[key->kind] && make_room(asks, key->kind)) {
            /* until there is room, or readers wait for each */
        }
        if (asks->counts[key->kind] >= asks->limits[key->kind]) {
            return NULL;
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

struct ask *asks_oldest(const struct asks *asks)
{
    struct ask *found = NULL;

    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->turn != 0 && (found == NULL || ask->turn < found->turn)) {
            found = ask;
        }
    }
    return found;
}

/* Whether as many lists of ASK_OWN wait as may wait for a client, or for all. */
static bool own_is_full(const struct asks *asks, const struct http_address *client)
{
    size_t of_client = 0;
    size_t of_all = 0;

    for (const struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        bool waits = ask->turn != 0 && ask->rank == ASK_OWN;
        of_all += waits;
        of_client += waits && has_reader(ask, client);
    }
    return of_client >= ASK_OWN_MAX || 2 * of_all >= asks->limits[ASK_LIST];
}

static enum ask_rank rank_for(const struct ask *ask, const struct http_address *client)
{
    if (ask->kind != ASK_LIST) {
        return ASK_SMALL;
    }
    if (client->family == 0) {
        return ASK_LOOK;
    }
    return ask->is_shared ? ASK_SHARED : ASK_OWN;
}

bool ask_queue(struct asks *asks, struct ask *ask, const struct http_address *client,
               int64_t now_ms)
{
    enum ask_rank rank = rank_for(ask, client);

    if (ask->turn != 0) {
        ask->rank = rank < ask->rank ? rank : ask->rank;
        return true;
    }
    if (rank == ASK_OWN && own_is_full(asks, client)) {
        return false;
    }
    ask->is_wide = false;
    ask->rank = rank;
    ask_enqueue(asks, ask, now_ms);
    return true;
}

void ask_enqueue(struct asks *asks, struct ask *ask, int64_t now_ms)
{
    ask->turn = ++asks->last_turn;
    ask->asked_ms = now_ms;
    asks->queued++;
}

void ask_unqueue(struct asks *asks, struct ask *ask, uint64_t ticket)
{
    asks->queued -= ask->turn != 0;
    ask->turn = 0;
    ask->ticket = ticket;
    asks->under_way[ask->kind] += ticket != 0;
}

void ask_land(struct asks *asks, struct ask *ask)
{
    asks->under_way[ask->kind] -= ask->ticket != 0;
    ask->ticket = 0;
}

struct ask *asks_next(const struct asks *asks, const bool may_send[ASK_RANKS])
{
    struct ask *found = NULL;

    if (asks->queued == 0) {
        return NULL;
    }
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->turn != 0 && may_send[ask->rank] &&
            (found == NULL || ask->rank < found->rank ||
             (ask->rank == found->rank && ask->turn < found->turn))) {
            found = ask;
        }
    }
    return found;
}

/* --- those who wait --------------------------------------------------------------------------- */

bool ask_add_waiter(struct asks *asks, struct ask *ask, board_done *done, void *context)
{
    struct waiter **link = &ask->waiters;

    if (asks->waiter_count >= ASK_WAITERS_MAX) {
        return false;
    }
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    if (waiter == NULL) {
        return false;
    }
    waiter->done = done;
    waiter->context = context;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = waiter;
    asks->waiter_count++;
    return true;
}

/* Takes the first due waiter out of the list; NULL: none. */
static struct waiter *take_due(struct asks *asks, struct ask *ask)
{
    struct waiter **link = &ask->waiters;

    while (*link != NULL && !(*link)->is_due) {
        link = &(*link)->next;
    }
    struct waiter *waiter = *link;
    if (waiter != NULL) {
        *link = waiter->next;
        asks->waiter_count--;
    }
    return waiter;
}

void ask_give(struct asks *asks, struct ask *ask, const struct board_reply *reply)
{
    struct waiter *waiter;

    for (waiter = ask->waiters; waiter != NULL; waiter = waiter->next) {
        waiter->is_due = true;
    }
    ask->pins++;
    while ((waiter = take_due(asks, ask)) != NULL) {
        board_done *done = waiter->done;
        void *context = waiter->context;

        free(waiter);
        done(context, reply);
    }
    ask->pins--;
}

void ask_give_answer(struct asks *asks, struct ask *ask, int64_t now_ms, int64_t clock_ms)
{
    struct answer *answer = ask->answer;
    struct board_reply reply = {.outcome = BOARD_DONE};

    answer->list.now_ms = clock_ms;
    answer->list.age_ms = now_ms - ask->answered_ms;
    reply.list = ask->kind == ASK_LIST ? &answer->list : NULL;
    reply.message = ask->kind == ASK_GET ? &answer->message : NULL;
    reply.place = ask->kind == ASK_PLACE ? answer->place : NULL;
    ask_give(asks, ask, &reply);
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
    ask_give_answer(asks, ask, now_ms, clock_ms);
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
            asks->waiter_count--;
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

static bool list_has(const struct board_list *list, const uint8_t *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (memcmp(list->messages[i].id, id, HEARSAY_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void asks_drop_message(struct asks *asks, const uint8_t *id)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        bool is_list = ask->kind == ASK_LIST;

        if ((ask->kind == ASK_GET && memcmp(ask->id, id, sizeof(ask->id)) == 0) ||
            (is_list && ask->ticket != 0) ||
            (is_list && ask->answer != NULL && list_has(&ask->answer->list, id))) {
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

bool ask_same_labels(const struct view *a, const struct view *b)
{
    bool same = a->topic_count == b->topic_count && a->is_now == b->is_now &&
                strcmp(a->host, b->host) == 0 && strcmp(a->place, b->place) == 0;

    for (size_t i = 0; same && i < a->topic_count; i++) {
        same = strcmp(a->topics[i], b->topics[i]) == 0;
    }
    return same;
}

void asks_drop_view(struct asks *asks, const struct view *view)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->kind == ASK_LIST && ask->view->before_ms == INT64_MAX &&
            ask_same_labels(ask->view, view)) {
            ask_drop(ask);
        }
    }
}

void asks_unwatch_view(struct asks *asks, const struct view *view)
{
    for (struct ask *ask = asks->first; ask != NULL; ask = ask->next) {
        if (ask->kind == ASK_LIST && ask_same_labels(ask->view, view)) {
            ask->is_watched = false;
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
