/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects in the background, and again after 1 to 60 s, less up to half by chance. Each question
 * is sent once for all who wait for its answer, which is given again for a while. A few questions
 * are under way at a time; behind them senders take turns (queue.h), so that one phone that asks
 * for ever new lists delays nobody by more than one of its lists.
 *
 * hearsayd decides how often a sender may ask: each question names the client that waits for it
 * first, who pays for the answer that others get, too. Where hearsayd refuses that client, the
 * question is asked for the next one who waits.
 *
 * An answer that few read is not given again to a phone: neither what the phone pays nor that it
 * gets an answer at all must tell it that another phone has just read the same.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/web/board/inner.h"
#include "client/web/board/pool.h"
#include "client/web/board/query.h"
#include "core/base/err.h"
#include "daemon/system/log.h"

enum {
    RETRY_FIRST_MS = 1000,
    RETRY_MOST_MS = 60 * 1000,
    SETTLED_MS = 10 * 1000, /* after the end of a connection this old, no wait comes first */
    TICK_MS = 1000,
    PLACE_MS = ASK_KEEP_MS /* how long labels are given again, if hearsayd tells of no change */
};

static void board_connect(struct board *board);
static void board_send(struct board *board);

static int64_t loop_now(const struct board *board)
{
    return (int64_t)uv_now(board->options.loop);
}

/* The connection that was greeted last, perhaps lost since; NULL: none yet. */
static const struct hearsay *board_server(const struct board *board)
{
    return board->is_greeted ? link_server(board->link) : board->known;
}

static int64_t clock_now(const struct board *board)
{
    return board_server(board) != NULL ? hearsay_now_ms(board_server(board)) : 0;
}

/* --- replies to readers ----------------------------------------------------------------------- */

static void ask_refuse(struct board *board, struct ask *ask, enum board_outcome outcome,
                       const struct hearsay_error *error)
{
    struct board_reply reply = {
        .outcome = outcome,
        .error = outcome == BOARD_BUSY || outcome == BOARD_NO_MEMORY ? NULL : error};

    ask_land(&board->asks, ask);
    ask_give(ask, &reply, NULL);
}

/* While hearsayd is away: the last answer, if it is not too old. */
static void answer_away(struct board *board, struct ask *ask)
{
    int64_t now_ms = loop_now(board);

    ask_land(&board->asks, ask);
    if (ask->answer != NULL && now_ms - ask->answered_ms <= ASK_KEEP_MS) {
        ask_give_answer(ask, now_ms, clock_now(board));
    } else {
        ask_refuse(board, ask, BOARD_AWAY, &board->why);
    }
}

/* Answers all who wait, as while hearsayd is away. */
static void answer_all_away(struct board *board)
{
    struct ask *ask = board->asks.first;

    while (ask != NULL) {
        if (ask->waiters == NULL && ask->ticket == 0 && ask->item.holder == NULL) {
            ask = ask->next;
            continue;
        }
        answer_away(board, ask);
        ask = board->asks.first; /* a reader may have changed the list */
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Tells the sender of a client that it has to wait, and queues the question for the next one who
 * waits. */
static void ask_limit(struct board *board, struct ask *ask, const struct http_address *client,
                      const struct hearsay_error *error)
{
    struct board_reply reply = {.outcome = BOARD_LIMITED, .error = error};
    struct http_address refused = *client; /* of the ask, or of a waiter that goes */

    struct ask *victim = NULL;

    ask_land(&board->asks, ask);
    ask->pins++; /* a reader who is told now may ask for more */
    ask_give(ask, &reply, &refused);
    if (ask->waiters != NULL && ask->ticket == 0) {
        victim = ask_queue(&board->asks, ask, &ask->waiters->client, loop_now(board));
    }
    if (victim != NULL) {
        ask_refuse(board, victim, BOARD_BUSY, NULL);
    }
    ask->pins--;
}

static void on_send(uv_timer_t *timer)
{
    board_send(timer->data);
}

/* The question to send next: of those that are no lists, as long as not too many are under way;
 * else a list. NULL: none may go out now. */
static struct ask *next_ask(const struct board *board)
{
    const size_t *under_way = board->asks.under_way;
    struct ask *ask = NULL;

    if (under_way[ASK_GET] + under_way[ASK_ANSWERS] + under_way[ASK_PLACE] + under_way[ASK_PLACES] <
        BOARD_SMALL_AT_A_TIME) {
        ask = asks_next(&board->asks, false);
    }
    if (ask == NULL && under_way[ASK_LIST] < BOARD_LISTS_AT_A_TIME) {
        ask = asks_next(&board->asks, true);
    }
    return ask;
}

/* Sends as many questions as may go out now. An answer lets the next ones go. */
static void board_send(struct board *board)
{
    struct hearsay_error error;
    struct ask *ask;

    while (board->is_greeted && (ask = next_ask(board)) != NULL) {
        uint64_t ticket = 0;

        if (ask->waiters == NULL) { /* all have gone: nobody would pay */
            ask_land(&board->asks, ask);
            continue;
        }
        if (refused_has(&board->refused, &ask->waiters->client, loop_now(board), &error)) {
            ask_limit(board, ask, &ask->waiters->client, &error);
            continue;
        }
        ask->payer = ask->waiters->client;
        int status = submit_ask(board, ask, &ticket, &error);

        if (status == HEARSAY_FULL) {
            (void)uv_timer_start(&board->send, on_send, 1, 0);
            return;
        }
        if (status != HEARSAY_OK) {
            ask_refuse(board, ask, answer_outcome(&error), &error);
            continue;
        }
        ask_sent(&board->asks, ask, ticket);
        link_submitted(board->link);
    }
}

/* Whether so many read an answer that it says nothing of any of them: the newest messages of a
 * place, and what is no list and no message. */
static bool is_of_all(const struct ask *ask)
{
    switch (ask->kind) {
    case ASK_LIST:
        return ask->view->topic_count == 0 && !ask->view->is_now && !ask->view->is_hood &&
               ask->view->order == VIEW_NEWEST && ask->view->before_ms == INT64_MAX;
    case ASK_GET:
    case ASK_ANSWERS:
        return false;
    default:
        return true;
    }
}

/* Whether the answer may be given again. Open pages (family 0) see nothing of where it is from. */
static bool is_current(const struct board *board, const struct ask *ask,
                       const struct http_address *client)
{
    bool is_of_places = ask->kind == ASK_PLACE || ask->kind == ASK_PLACES;
    int64_t most_ms = is_of_places ? PLACE_MS : (int64_t)board->options.cache_ms;

    return (client->family == 0 || is_of_all(ask)) && ask->answer != NULL && ask->is_fresh &&
           loop_now(board) - ask->answered_ms <= most_ms;
}

/* Queues a question that somebody waits for. If there are too many, who has most is told to come
 * again: perhaps whoever asks now. */
static void queue_ask(struct board *board, struct ask *ask, const struct http_address *client)
{
    struct ask *victim = ask_queue(&board->asks, ask, client, loop_now(board));

    ask->pins++; /* a reader who is told now may ask for more */
    if (victim != NULL) {
        ask_refuse(board, victim, BOARD_BUSY, NULL);
    }
    board_send(board);
    ask->pins--;
}

static void board_ask(struct board *board, const struct ask *key, board_done *done, void *context)
{
    struct hearsay_error error;
    bool is_refused =
        board->is_greeted && refused_has(&board->refused, &key->client, loop_now(board), &error);
    struct ask *ask = board->is_stopped ? NULL : asks_take(&board->asks, key, !is_refused);

    if (ask != NULL) {
        board_begin_ticks(board);
    }
    if (is_refused && (ask == NULL || !is_current(board, ask, &key->client))) {
        done(context, &(struct board_reply){.outcome = BOARD_LIMITED, .error = &error});
    } else if (ask == NULL || !ask_add_waiter(ask, &key->client, done, context)) {
        done(context,
             &(struct board_reply){.outcome = board->is_stopped ? BOARD_AWAY : BOARD_NO_MEMORY,
                                   .error = board->is_stopped ? &board->why : NULL});
    } else if (!board->is_greeted) {
        answer_away(board, ask);
    } else if (is_current(board, ask, &key->client)) {
        ask_give_answer(ask, loop_now(board), clock_now(board));
    } else if (ask->ticket == 0) {
        queue_ask(board, ask, &key->client);
    }
}

void board_list(struct board *board, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    struct view copy = *view;
    struct ask key = {.kind = ASK_LIST, .view = &copy};

    if (client != NULL) {
        key.client = *client;
    }
    board_ask(board, &key, done, context);
}

/* Asks about one message. */
static void ask_message(struct board *board, enum ask_kind kind, const char *host,
                        const uint8_t *id, const struct http_address *client, board_done *done,
                        void *context)
{
    struct ask key = {.kind = kind};

    if (client != NULL) {
        key.client = *client;
    }
    (void)snprintf(key.host, sizeof(key.host), "%s", host != NULL ? host : "");
    memcpy(key.id, id, sizeof(key.id));
    board_ask(board, &key, done, context);
}

void board_get(struct board *board, const char *host, const uint8_t *id,
               const struct http_address *client, board_done *done, void *context)
{
    ask_message(board, ASK_GET, host, id, client, done, context);
}

void board_answers(struct board *board, const char *host, const uint8_t *id,
                   const struct http_address *client, board_done *done, void *context)
{
    ask_message(board, ASK_ANSWERS, host, id, client, done, context);
}

void board_place(struct board *board, const char *host, const struct http_address *client,
                 board_done *done, void *context)
{
    struct ask key = {.kind = ASK_PLACE, .client = *client};

    (void)snprintf(key.host, sizeof(key.host), "%s", host != NULL ? host : "");
    board_ask(board, &key, done, context);
}

void board_places(struct board *board, const char *host, const struct http_address *client,
                  board_done *done, void *context)
{
    struct ask key = {.kind = ASK_PLACES, .client = *client};

    (void)snprintf(key.host, sizeof(key.host), "%s", host);
    board_ask(board, &key, done, context);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What a phone has written or withdrawn is seen by the next reader. Lists of other places stay as
 * they are for the time of the cache. */
static void on_written(void *context, const struct view *left, const uint8_t *id)
{
    struct board *board = context;

    if (left != NULL) {
        asks_drop_place(&board->asks, left);
    } else {
        asks_drop_message(&board->asks, id);
        if (board->news != NULL) {
            board->news(board->news_context, id);
        }
    }
}

void board_write(struct board *board, const struct board_write *write, board_done *done,
                 void *context)
{
    if (board->is_stopped || !board->is_greeted) {
        done(context, &(struct board_reply){.outcome = BOARD_AWAY, .error = &board->why});
    } else {
        pool_write(board->pool, write, done, context);
    }
}

void board_forget(struct board *board, const void *context)
{
    asks_forget(&board->asks, context);
    pool_forget(board->pool, context);
}

/* --- what comes from hearsayd ----------------------------------------------------------------- */

/* Whether hearsayd may have left messages out of a page of the newest ones: because of the share of
 * a sender, or because sealed messages, which are not shown, took their places. */
static bool list_is_part(const struct board *board, const struct ask *ask,
                         const struct hearsay_results *results)
{
    return ask->view->order == VIEW_NEWEST &&
           (results->capped || (results->result_count >= submit_list_k(board, ask) &&
                                answer_count(results) <= board->options.per_page));
}

/* Asks once more, for as many messages as may be, where the page would miss some of the newest
 * ones: of more messages, a sender's share is larger. Returns false: the answer is taken. */
static bool list_ask_wider(struct board *board, struct ask *ask,
                           const struct hearsay_results *results)
{
    uint32_t k = submit_list_k(board, ask);
    struct hearsay_error error;

    if (ask->is_wide || !list_is_part(board, ask, results)) {
        return false;
    }
    ask->is_wide = true;
    return submit_list_k(board, ask) > k &&
           submit_ask(board, ask, &ask->ticket, &error) == HEARSAY_OK;
}

/* Returns the host that a question is about, or NULL if hearsayd has no host of this name. */
static const struct hearsay_host *host_of(const struct board *board, const struct ask *ask)
{
    const char *name = ask->kind == ASK_LIST ? ask->view->host : ask->host;

    return hearsay_find_host(link_server(board->link), query_host(name));
}

/* Copies a list, with the topics of its messages. NULL: no memory. */
static struct answer *list_copy(const struct board *board, const struct ask *ask,
                                const struct hearsay_results *results, bool is_by_time)
{
    const struct hearsay_host *host = host_of(board, ask);
    struct topics_finder *finder =
        host != NULL && board->options.topics != NULL
            ? topics_finder_new(board->options.topics, host, ask->view->place)
            : NULL;
    struct answer *answer = answer_of_results(results, board->options.per_page, is_by_time,
                                              host != NULL ? host->name : ask->view->host, finder);

    free(finder);
    return answer;
}

/*
 * Keeps the answer of the first page if hearsayd left messages of a sender out of it and the page
 * is full all the same: others wait, so that this page is shown, with a share of each sender. A
 * wider answer, in which a share is larger, then says where the next page begins.
 */
static void keep_fair(struct board *board, struct ask *ask, const struct hearsay_results *results)
{
    free(ask->fair);
    ask->fair = NULL;
    if (results->capped && ask->view->order == VIEW_NEWEST && ask->view->before_ms == INT64_MAX) {
        ask->fair = list_copy(board, ask, results, true);
    }
    if (ask->fair != NULL && ask->fair->list.count < board->options.per_page) {
        free(ask->fair);
        ask->fair = NULL;
    }
}

/* Takes the messages that were found. False: more is asked for first. *out_answer is NULL without
 * memory. */
static bool take_results(struct board *board, struct ask *ask,
                         const struct hearsay_results *results, struct answer **out_answer)
{
    struct answer *answer = NULL;

    if (ask->kind == ASK_ANSWERS) {
        *out_answer = answer_of_results(results, SIZE_MAX, false, ask->host, NULL);
        return true;
    }
    if (!ask->is_wide) {
        keep_fair(board, ask, results);
    }
    if (list_ask_wider(board, ask, results)) {
        return false;
    }
    if (ask->fair != NULL) {
        answer = ask->fair;
        ask->fair = NULL;
        answer_begin_older(answer, results);
    } else {
        answer = list_copy(board, ask, results, ask->view->order == VIEW_NEWEST);
    }
    if (answer != NULL && list_is_part(board, ask, results)) {
        answer->list.has_older = true;
    }
    *out_answer = answer;
    return true;
}

/* hearsayd has refused. Returns the answer that is there all the same; NULL: the ask has ended or
 * waits. */
static struct answer *take_error(struct board *board, struct ask *ask,
                                 const struct hearsay_error *error)
{
    enum board_outcome outcome = answer_outcome(error);

    ask->is_fresh = false;
    if (outcome == BOARD_LIMITED) {
        refused_note(&board->refused, &ask->payer, error->retry_after_ms, loop_now(board));
        if (ask->fair != NULL) {
            struct answer *answer = ask->fair; /* what was asked for is there; only more is not */
            ask->fair = NULL;
            answer->list.has_older = true;
            return answer;
        }
        ask_limit(board, ask, &ask->payer, error);
        board_send(board);
        return NULL;
    }
    if ((error->code == HEARSAY_CODE_NOT_FOUND || error->code == HEARSAY_CODE_REMOVED) &&
        ask->pins == 0) {
        free(ask->answer); /* gone: not shown again while hearsayd is away */
        ask->answer = NULL;
    }
    ask_refuse(board, ask, outcome, error);
    return NULL;
}

static void take_answer(struct board *board, struct ask *ask, const struct hearsay_reply *reply)
{
    const struct hearsay_host *host = host_of(board, ask);
    struct answer *answer = NULL;

    switch (reply->response.kind) {
    case HEARSAY_RESPONSE_RESULTS:
        if (!take_results(board, ask, &reply->response.results, &answer)) {
            return;
        }
        break;
    case HEARSAY_RESPONSE_GOT:
        answer = answer_of_message(&reply->response.got);
        break;
    case HEARSAY_RESPONSE_HERE_LABELS:
        answer = ask->kind == ASK_PLACES ? answer_of_places(&reply->response.here_labels)
                 : host != NULL          ? answer_of_labels(host, &reply->response.here_labels)
                                         : NULL;
        break;
    default:
        answer = take_error(board, ask, &reply->error);
        if (answer == NULL) {
            return;
        }
    }
    if (answer == NULL) {
        ask_refuse(board, ask, BOARD_NO_MEMORY, NULL);
        return;
    }
    ask_take_answer(&board->asks, ask, answer, loop_now(board), clock_now(board));
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct board *board = context;

    if (reply->response.kind == HEARSAY_RESPONSE_HERE_CHANGED) {
        asks_drop_answers(&board->asks, ASK_PLACE);
        asks_drop_answers(&board->asks, ASK_PLACES);
        watch_end_places(board);
        return;
    }
    if (watch_reply(board, reply)) {
        return;
    }
    struct ask *ask = asks_find_ticket(&board->asks, reply->response.id);
    if (ask != NULL) {
        take_answer(board, ask, reply);
    }
}

/* Notes the current epochs. True: one has changed. */
static bool note_epochs(struct board *board)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(link_server(board->link));
    bool has_changed = false;

    for (size_t i = 0; i < welcome->host_count && i < BOARD_HOSTS_MAX; i++) {
        has_changed = has_changed || board->epochs[i] != welcome->hosts[i].epoch.number;
        board->epochs[i] = welcome->hosts[i].epoch.number;
    }
    return has_changed;
}

static void on_rested(void *context)
{
    struct board *board = context;

    if (note_epochs(board)) {
        asks_drop_answers(&board->asks, ASK_LIST);
        watch_end_all(board);
    }
    board_send(board);
    if (board->news != NULL) {
        board->news(board->news_context, NULL);
    }
}

static void on_lost(void *context, const struct hearsay_error *why);

/* Closes the connection to a hearsayd that cannot serve phones. Each attempt finds the same, so
 * only the first one is logged. */
static void refuse_server(struct board *board, const char *fault)
{
    struct hearsay_error error;

    if (strcmp(board->why.sentence, fault) != 0) {
        log_error("nothing is served: %s", fault);
    }
    board->has_said_away = true;
    answer_fault(&error, HEARSAY_ERR_CONNECT, HEARSAY_CODE_NONE, fault);
    on_lost(board, &error);
}

static void on_greeted(void *context)
{
    struct board *board = context;
    const char *fault = board_fault_of(link_server(board->link));

    if (fault != NULL) {
        refuse_server(board, fault);
        return;
    }
    if (board->has_said_away) {
        log_info("hearsayd answers at %s", board->options.server);
        board->has_said_away = false;
    }
    hearsay_close(board->known);
    board->known = NULL;
    board->is_greeted = true;
    board->retry_ms = RETRY_FIRST_MS;
    board->greeted_ms = loop_now(board);
    for (int kind = 0; kind < ASK_KINDS; kind++) {
        asks_drop_answers(&board->asks, (enum ask_kind)kind);
    }
    (void)note_epochs(board);
    hearsay_take_here_changes(link_server(board->link));
}

/* --- connecting ------------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    board_connect(timer->data);
}

/* Says once that an attempt has failed: what phones see has its reason in the log. */
static void say_away(struct board *board, const struct hearsay_error *why)
{
    if (!board->has_said_away) {
        log_warning("no message is taken, and pages are old, until hearsayd answers at %s: %s",
                    board->options.server, why->sentence);
        board->has_said_away = true;
    }
}

/* Waits for the next attempt, not at all if retry_ms is 0. Up to half of the wait is random. */
static void retry_later(struct board *board, const struct hearsay_error *why)
{
    uint32_t half = (uint32_t)board->retry_ms / 2;
    uint64_t wait_ms = half + randombytes_uniform(half + 1);

    if (why != &board->why) {
        board->why = *why;
    }
    if (board->retry_ms > 0 && wait_ms < RETRY_FIRST_MS) {
        wait_ms = RETRY_FIRST_MS;
    }
    if (why->retry_after_ms > wait_ms) {
        wait_ms = why->retry_after_ms < RETRY_MOST_MS ? why->retry_after_ms : RETRY_MOST_MS;
    }
    if (board->retry_ms == 0) {
        board->retry_ms = RETRY_FIRST_MS;
    } else {
        board->retry_ms = board->retry_ms < RETRY_MOST_MS / 2 ? 2 * board->retry_ms : RETRY_MOST_MS;
    }
    (void)uv_timer_start(&board->retry, on_retry, wait_ms, 0);
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct board *board = context;
    struct hearsay *server = link_detach(board->link);

    board->link = NULL;
    if (board->is_greeted) {
        board->known = server; /* its Welcome is still read */
        if (loop_now(board) - board->greeted_ms >= SETTLED_MS) {
            board->retry_ms = 0; /* as after an idle time; a failed attempt waits again */
        }
    } else {
        hearsay_close(server);
        say_away(board, why);
    }
    board->is_greeted = false;
    (void)uv_timer_stop(&board->send);
    retry_later(board, why);
    watch_end_all(board);
    answer_all_away(board);
}

static const struct link_events board_events = {on_greeted, on_replied, on_rested, on_lost};

static void board_connect(struct board *board)
{
    struct hearsay_connect connection = {.server = board->options.server,
                                         .agent = "hearsay-web/" HEARSAY_VERSION};
    struct hearsay_error error;

    if (link_open(board->options.loop, &connection, &board_events, board, &board->link, &error) !=
        HEARSAY_OK) {
        say_away(board, &error);
        retry_later(board, &error);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
    struct board *board = timer->data;
    int64_t now_ms = loop_now(board);
    struct ask *ask;

    while ((ask = asks_find_late(&board->asks, now_ms - ASK_PATIENCE_MS)) != NULL) {
        ask_refuse(board, ask, BOARD_BUSY, NULL);
    }
    asks_age(&board->asks, now_ms);
    if (board->is_greeted) {
        watch_tick(board);
    }
    if (board->asks.first == NULL && board->watches == NULL) {
        (void)uv_timer_stop(timer); /* an idle access point can sleep */
        board->is_ticking = false;
    }
}

/* --- begin and end ---------------------------------------------------------------------------- */

int board_new(const struct board_options *options, struct board **out_board)
{
    struct board *board = calloc(1, sizeof(*board));
    int rc = board == NULL || sodium_init() < 0
                 ? -ERR_NOMEM
                 : pool_new(options, on_written, board, &board->pool);

    if (rc != 0) {
        free(board);
        return rc;
    }
    board->options = *options;
    asks_init(&board->asks, options->views);
    refused_init(&board->refused);
    answer_fault(&board->why, HEARSAY_ERR_CONNECT, HEARSAY_CODE_NONE,
                 "hearsayd was not reached yet");
    board->retry_ms = RETRY_FIRST_MS;
    /* None of these can fail. */
    (void)uv_timer_init(options->loop, &board->retry);
    (void)uv_timer_init(options->loop, &board->tick);
    (void)uv_timer_init(options->loop, &board->send);
    board->retry.data = board;
    board->tick.data = board;
    board->send.data = board;
    /* The timer knows its function and its interval now; board_begin_ticks begins. */
    (void)uv_timer_start(&board->tick, on_tick, TICK_MS, TICK_MS);
    (void)uv_timer_stop(&board->tick);
    board_connect(board);
    *out_board = board;
    return 0;
}

void board_stop(struct board *board)
{
    if (board->is_stopped) {
        return;
    }
    board->is_stopped = true;
    pool_stop(board->pool);
    if (board->is_greeted) {
        board->known = link_detach(board->link);
    } else {
        link_close(board->link);
    }
    board->link = NULL;
    board->is_greeted = false;
    answer_fault(&board->why, HEARSAY_ERR_LOST, HEARSAY_CODE_NONE, "hearsay-web stops");
    uv_close((uv_handle_t *)&board->retry, NULL);
    uv_close((uv_handle_t *)&board->tick, NULL);
    uv_close((uv_handle_t *)&board->send, NULL);
    watch_end_all(board);
    answer_all_away(board);
}

void board_tidy(struct board *board)
{
    refused_tidy(&board->refused, loop_now(board));
    pool_tidy(board->pool);
}

void board_free(struct board *board)
{
    if (board != NULL) {
        pool_free(board->pool);
        asks_deinit(&board->asks);
        hearsay_close(board->known);
        free(board);
    }
}

/* --- what is known ---------------------------------------------------------------------------- */

const struct hearsay_welcome *board_welcome(const struct board *board)
{
    const struct hearsay *server = board_server(board);

    return server != NULL ? hearsay_welcome(server) : NULL;
}

bool board_is_connected(const struct board *board)
{
    return board->is_greeted;
}

bool board_has_room(const struct board *board)
{
    return board->asks.small.count == 0;
}

bool board_now_ms(const struct board *board, int64_t *out_now_ms)
{
    const struct hearsay *server = board_server(board);

    if (server == NULL) {
        return false;
    }
    *out_now_ms = hearsay_now_ms(server);
    return true;
}

void board_on_news(struct board *board, void (*news)(void *context, const uint8_t *id),
                   void *context)
{
    board->news = news;
    board->news_context = context;
}
