/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/house.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/web/board/house_inner.h"
#include "client/web/board/query.h"
#include "core/base/err.h"

enum {
    RETRY_FIRST_MS = 1000,
    RETRY_MOST_MS = 60 * 1000,
    SETTLED_MS = 10 * 1000, /* after the end of a connection this old, no wait comes first */
    TICK_MS = 1000,
    PLACE_MS = ASK_KEEP_MS /* how long labels are given again, if hearsayd tells of no change */
};

static void house_connect(struct house *house);
static void house_send(struct house *house);

static int64_t loop_now(const struct house *house)
{
    return (int64_t)uv_now(house->options.loop);
}

static int64_t clock_now(const struct house *house)
{
    return house_server(house) != NULL ? hearsay_now_ms(house_server(house)) : 0;
}

/* --- replies to readers ----------------------------------------------------------------------- */

static void ask_refuse(struct house *house, struct ask *ask, enum board_outcome outcome,
                       const struct hearsay_error *error)
{
    struct board_reply reply = {
        .outcome = outcome,
        .error = outcome == BOARD_BUSY || outcome == BOARD_NO_MEMORY ? NULL : error};

    ask_land(&house->asks, ask);
    ask_give(ask, &reply);
}

/* While hearsayd is away: the last answer, if it is not too old. */
static void answer_away(struct house *house, struct ask *ask)
{
    int64_t now_ms = loop_now(house);

    ask_land(&house->asks, ask);
    if (ask->answer != NULL && now_ms - ask->answered_ms <= ASK_KEEP_MS) {
        ask_give_answer(ask, now_ms, clock_now(house));
    } else {
        ask_refuse(house, ask, BOARD_AWAY, &house->why);
    }
}

/* Answers all who wait, as while hearsayd is away. */
static void answer_all_away(struct house *house)
{
    struct ask *ask = house->asks.first;

    while (ask != NULL) {
        if (ask->waiters == NULL && ask->ticket == 0 && ask->item.holder == NULL) {
            ask = ask->next;
            continue;
        }
        answer_away(house, ask);
        ask = house->asks.first; /* a reader may have changed the list */
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

/* How many messages a list asks for: one more than a page shows, or as many as may be. */
static uint32_t list_k(const struct house *house, const struct ask *ask)
{
    uint32_t most = hearsay_welcome(link_server(house->link))->limits.k_max;
    uint32_t page = house->options.per_page + 1;

    return most > 0 && (ask->is_wide || page > most) ? most : page;
}

static int submit_list(struct house *house, struct ask *ask, uint64_t *out_ticket,
                       struct hearsay_error *error)
{
    struct hearsay *server = link_server(house->link);
    struct query_parts parts;
    struct hearsay_query query;
    int status = query_fill(server, ask->view, &parts, &query, error);

    if (status != HEARSAY_OK) {
        return status;
    }
    query.k = list_k(house, ask);
    query.until_ms = ask->view->before_ms;
    query.order =
        ask->view->order == VIEW_NEAREST ? HEARSAY_ORDER_SIMILARITY : HEARSAY_ORDER_NEWEST;
    return hearsay_submit_query(server, &query, out_ticket, error);
}

static int ask_submit(struct house *house, struct ask *ask, uint64_t *out_ticket,
                      struct hearsay_error *error)
{
    struct hearsay *server = link_server(house->link);

    switch (ask->kind) {
    case ASK_LIST:
        return submit_list(house, ask, out_ticket, error);
    case ASK_GET:
        return hearsay_submit_get(server, query_host(ask->host), ask->id, out_ticket, error);
    default:
        return hearsay_submit_here_of(server, query_host(ask->host), ask->client.bytes,
                                      ask->client.family == 4 ? 4 : sizeof(ask->client.bytes),
                                      out_ticket, error);
    }
}

static void on_send(uv_timer_t *timer)
{
    house_send(timer->data);
}

/* The question to send next: of those that are no lists, as long as not too many are under way;
 * else a list. NULL: none may go out now. */
static struct ask *next_ask(const struct house *house)
{
    const size_t *under_way = house->asks.under_way;
    struct ask *ask = NULL;

    if (under_way[ASK_GET] + under_way[ASK_PLACE] < HOUSE_SMALL_AT_A_TIME) {
        ask = asks_next(&house->asks, false);
    }
    if (ask == NULL && under_way[ASK_LIST] < HOUSE_LISTS_AT_A_TIME) {
        ask = asks_next(&house->asks, true);
    }
    return ask;
}

/* Sends as many questions as may go out now. An answer lets the next ones go. */
static void house_send(struct house *house)
{
    struct hearsay_error error;
    struct ask *ask;

    while (house->is_greeted && (ask = next_ask(house)) != NULL) {
        uint64_t ticket = 0;
        int status = ask_submit(house, ask, &ticket, &error);

        if (status == HEARSAY_FULL) {
            (void)uv_timer_start(&house->send, on_send, 1, 0);
            return;
        }
        if (status != HEARSAY_OK) {
            ask_refuse(house, ask, answer_outcome(&error), &error);
            continue;
        }
        ask_sent(&house->asks, ask, ticket);
        link_submitted(house->link);
    }
}

static bool is_current(const struct house *house, const struct ask *ask)
{
    int64_t most_ms = ask->kind == ASK_PLACE ? PLACE_MS : (int64_t)house->options.cache_ms;

    return ask->answer != NULL && ask->is_fresh && loop_now(house) - ask->answered_ms <= most_ms;
}

/* Queues a question that somebody waits for. If there are too many, who has most is told to come
 * again: perhaps whoever asks now. */
static void queue_ask(struct house *house, struct ask *ask, const struct http_address *client)
{
    struct ask *victim = ask_queue(&house->asks, ask, client, loop_now(house));

    ask->pins++; /* a reader who is told now may ask for more */
    if (victim != NULL) {
        ask_refuse(house, victim, BOARD_BUSY, NULL);
    }
    house_send(house);
    ask->pins--;
}

void house_ask(struct house *house, const struct ask *key, board_done *done, void *context)
{
    struct ask *ask = house->is_stopped ? NULL : asks_take(&house->asks, key);

    if (ask == NULL || !ask_add_waiter(ask, done, context)) {
        done(context,
             &(struct board_reply){.outcome = house->is_stopped ? BOARD_AWAY : BOARD_NO_MEMORY,
                                   .error = house->is_stopped ? &house->why : NULL});
    } else if (!house->is_greeted) {
        answer_away(house, ask);
    } else if (is_current(house, ask)) {
        ask_give_answer(ask, loop_now(house), clock_now(house));
    } else if (ask->ticket == 0) {
        queue_ask(house, ask, &key->client);
    }
}

void house_drop(struct house *house, const struct view *left, const uint8_t *id)
{
    house->version++;
    if (left != NULL) {
        asks_drop_place(&house->asks, left);
    } else {
        asks_drop_message(&house->asks, id);
    }
}

void house_forget(struct house *house, const void *context)
{
    asks_forget(&house->asks, context);
}

/* --- what comes from hearsayd ----------------------------------------------------------------- */

/* Whether hearsayd may have left messages out of a page of the newest ones: because of the share of
 * a sender, or because sealed messages, which are not shown, took their places. */
static bool list_is_part(const struct house *house, const struct ask *ask,
                         const struct hearsay_results *results)
{
    return ask->view->order == VIEW_NEWEST &&
           (results->capped || (results->result_count >= list_k(house, ask) &&
                                answer_count(results) <= house->options.per_page));
}

/* Asks once more, for as many messages as may be, where the page would miss some of the newest
 * ones: of more messages, a sender's share is larger. Returns false: the answer is taken. */
static bool list_ask_wider(struct house *house, struct ask *ask,
                           const struct hearsay_results *results)
{
    uint32_t k = list_k(house, ask);
    struct hearsay_error error;

    if (ask->is_wide || !list_is_part(house, ask, results)) {
        return false;
    }
    ask->is_wide = true;
    return list_k(house, ask) > k && ask_submit(house, ask, &ask->ticket, &error) == HEARSAY_OK;
}

/* Returns the host that a question is about, or NULL if hearsayd has no host of this name. */
static const struct hearsay_host *host_of(const struct house *house, const struct ask *ask)
{
    const char *name = ask->kind == ASK_LIST ? ask->view->host : ask->host;

    return hearsay_find_host(link_server(house->link), query_host(name));
}

/*
 * Keeps the answer of the first page if hearsayd left messages of a sender out of it and the page
 * is full all the same: others wait, so that this page is shown, with a share of each sender. A
 * wider answer, in which a share is larger, then says where the next page begins.
 */
static void keep_fair(struct house *house, struct ask *ask, const struct hearsay_results *results,
                      const char *host)
{
    free(ask->fair);
    ask->fair = NULL;
    if (results->capped && ask->view->order == VIEW_NEWEST && ask->view->before_ms == INT64_MAX) {
        ask->fair = answer_of_results(results, house->options.per_page, true, host);
    }
    if (ask->fair != NULL && ask->fair->list.count < house->options.per_page) {
        free(ask->fair);
        ask->fair = NULL;
    }
}

static void take_answer(struct house *house, struct ask *ask, const struct hearsay_reply *reply)
{
    const struct hearsay_host *host = host_of(house, ask);
    const char *name = NULL;
    struct answer *answer = NULL;

    switch (reply->kind) {
    case HEARSAY_REPLY_RESULTS:
        name = host != NULL ? host->name : ask->view->host;
        if (!ask->is_wide) {
            keep_fair(house, ask, &reply->results, name);
        }
        if (list_ask_wider(house, ask, &reply->results)) {
            return;
        }
        if (ask->fair != NULL) {
            answer = ask->fair;
            ask->fair = NULL;
            answer_begin_older(answer, &reply->results);
        } else {
            answer = answer_of_results(&reply->results, house->options.per_page,
                                       ask->view->order == VIEW_NEWEST, name);
        }
        if (answer != NULL && list_is_part(house, ask, &reply->results)) {
            answer->list.has_older = true;
        }
        break;
    case HEARSAY_REPLY_MESSAGE:
        answer = answer_of_message(&reply->message);
        break;
    case HEARSAY_REPLY_HERE:
        answer = host != NULL ? answer_of_labels(host, &reply->here) : NULL;
        break;
    default: /* an error */
        ask->is_fresh = false;
        if ((reply->error.code == HEARSAY_CODE_NOT_FOUND ||
             reply->error.code == HEARSAY_CODE_REMOVED) &&
            ask->pins == 0) {
            free(ask->answer); /* gone: not shown again while hearsayd is away */
            ask->answer = NULL;
        }
        ask_refuse(house, ask, answer_outcome(&reply->error), &reply->error);
        return;
    }
    if (answer == NULL) {
        ask_refuse(house, ask, BOARD_NO_MEMORY, NULL);
        return;
    }
    ask_take_answer(&house->asks, ask, answer, loop_now(house), clock_now(house));
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct house *house = context;

    if (reply->kind == HEARSAY_REPLY_HERE_CHANGED) {
        house->version++;
        asks_drop_answers(&house->asks, ASK_PLACE);
        house_watch_end_places(house);
        return;
    }
    if (house_watch_reply(house, reply)) {
        return;
    }
    struct ask *ask = asks_find_ticket(&house->asks, reply->ticket);
    if (ask != NULL) {
        take_answer(house, ask, reply);
    }
}

/* Notes the current epochs. True: one has changed. */
static bool note_epochs(struct house *house)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(link_server(house->link));
    bool has_changed = false;

    for (size_t i = 0; i < welcome->host_count && i < HOUSE_HOSTS_MAX; i++) {
        has_changed = has_changed || house->epochs[i] != welcome->hosts[i].epoch.number;
        house->epochs[i] = welcome->hosts[i].epoch.number;
    }
    return has_changed;
}

static void on_rested(void *context)
{
    struct house *house = context;

    if (note_epochs(house)) {
        house->version++;
        asks_drop_answers(&house->asks, ASK_LIST);
        house_watch_end_all(house);
    }
    house_send(house);
}

static void on_greeted(void *context)
{
    struct house *house = context;

    hearsay_close(house->known);
    house->known = NULL;
    house->is_greeted = true;
    house->retry_ms = RETRY_FIRST_MS;
    house->greeted_ms = loop_now(house);
    house->version++;
    for (int kind = 0; kind < ASK_KINDS; kind++) {
        asks_drop_answers(&house->asks, (enum ask_kind)kind);
    }
    (void)note_epochs(house);
    hearsay_take_here_changes(link_server(house->link));
}

/* --- connecting ------------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    house_connect(timer->data);
}

/* Waits for the next attempt, not at all if retry_ms is 0. Up to half of the wait is random. */
static void retry_later(struct house *house, const struct hearsay_error *why)
{
    uint32_t half = (uint32_t)house->retry_ms / 2;
    uint64_t wait_ms = half + randombytes_uniform(half + 1);

    if (why != &house->why) {
        house->why = *why;
    }
    if (house->retry_ms > 0 && wait_ms < RETRY_FIRST_MS) {
        wait_ms = RETRY_FIRST_MS;
    }
    if (why->retry_after_ms > wait_ms) {
        wait_ms = why->retry_after_ms < RETRY_MOST_MS ? why->retry_after_ms : RETRY_MOST_MS;
    }
    if (house->retry_ms == 0) {
        house->retry_ms = RETRY_FIRST_MS;
    } else {
        house->retry_ms = house->retry_ms < RETRY_MOST_MS / 2 ? 2 * house->retry_ms : RETRY_MOST_MS;
    }
    (void)uv_timer_start(&house->retry, on_retry, wait_ms, 0);
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct house *house = context;
    struct hearsay *server = link_detach(house->link);

    house->link = NULL;
    if (house->is_greeted) {
        house->known = server; /* its Welcome is still read */
        if (loop_now(house) - house->greeted_ms >= SETTLED_MS) {
            house->retry_ms = 0; /* as after an idle time; a failed attempt waits again */
        }
    } else {
        hearsay_close(server);
    }
    house->is_greeted = false;
    (void)uv_timer_stop(&house->send);
    retry_later(house, why);
    house_watch_end_all(house);
    answer_all_away(house);
}

static const struct link_events house_events = {on_greeted, on_replied, on_rested, on_lost};

static void house_connect(struct house *house)
{
    struct hearsay_connect connection;
    struct hearsay_error error;

    hearsay_connect_init(&connection);
    connection.server = house->options.server;
    connection.agent = "hearsay-web/" HEARSAY_VERSION;
    if (link_open(house->options.loop, &connection, &house_events, house, &house->link, &error) !=
        HEARSAY_OK) {
        house->link = NULL;
        retry_later(house, &error);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
    struct house *house = timer->data;
    int64_t now_ms = loop_now(house);
    struct ask *ask;

    while ((ask = asks_find_late(&house->asks, now_ms - ASK_PATIENCE_MS)) != NULL) {
        ask_refuse(house, ask, BOARD_BUSY, NULL);
    }
    asks_age(&house->asks, now_ms);
    if (house->is_greeted) {
        house_watch_tick(house);
    }
}

/* --- begin and end ---------------------------------------------------------------------------- */

int house_new(const struct board_options *options, struct house **out_house)
{
    struct house *house = calloc(1, sizeof(*house));

    if (house == NULL) {
        return -ERR_NOMEM;
    }
    house->options = *options;
    asks_init(&house->asks, options->views);
    answer_fault(&house->why, HEARSAY_ERR_CONNECT, HEARSAY_CODE_NONE,
                 "hearsayd was not reached yet");
    house->retry_ms = RETRY_FIRST_MS;
    /* None of these can fail. */
    (void)uv_timer_init(options->loop, &house->retry);
    (void)uv_timer_init(options->loop, &house->tick);
    (void)uv_timer_init(options->loop, &house->send);
    house->retry.data = house;
    house->tick.data = house;
    house->send.data = house;
    (void)uv_timer_start(&house->tick, on_tick, TICK_MS, TICK_MS);
    house_connect(house);
    *out_house = house;
    return 0;
}

void house_stop(struct house *house)
{
    if (house->is_stopped) {
        return;
    }
    house->is_stopped = true;
    if (house->is_greeted) {
        house->known = link_detach(house->link);
    } else {
        link_close(house->link);
    }
    house->link = NULL;
    house->is_greeted = false;
    answer_fault(&house->why, HEARSAY_ERR_LOST, HEARSAY_CODE_NONE, "hearsay-web stops");
    uv_close((uv_handle_t *)&house->retry, NULL);
    uv_close((uv_handle_t *)&house->tick, NULL);
    uv_close((uv_handle_t *)&house->send, NULL);
    house_watch_end_all(house);
    answer_all_away(house);
}

void house_free(struct house *house)
{
    if (house != NULL) {
        asks_deinit(&house->asks);
        hearsay_close(house->known);
        free(house);
    }
}

const struct hearsay *house_server(const struct house *house)
{
    return house->is_greeted ? link_server(house->link) : house->known;
}

bool house_is_connected(const struct house *house)
{
    return house->is_greeted;
}

const struct hearsay_error *house_why(const struct house *house)
{
    return &house->why;
}

uint64_t house_version(const struct house *house)
{
    return house->version;
}
