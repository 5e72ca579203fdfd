/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/pool.h"

#include <stdlib.h>
#include <string.h>

#include "client/link/link.h"
#include "client/web/board/answer.h"
#include "client/web/board/wish.h"
#include "client/web/http_peer.h"
#include "core/base/err.h"

enum { IPV4_BYTES = 4, TICK_MS = 250 };

/* A connection on behalf of a phone. */
struct place {
    struct pool *pool;
    struct link *link; /* owned; NULL: the place is free */
    struct http_address client;
    struct wish *wish; /* owned: the one that is being done; NULL: idle */
    uint64_t ticket;   /* of `wish`; 0: not sent yet */
    bool is_greeted;
    bool was_used;   /* an earlier request was done: the connection may be stale */
    uint64_t served; /* the number of the last request, of all requests of the pool */
    int64_t idle_ms; /* since when it is idle, by the loop's clock */
};

struct pool {
    struct board_options options;
    pool_written *written;
    void *context;        /* of that */
    struct place *places; /* owned; options.upstreams of them */
    struct wish *first;   /* owned: the queue, by age */
    size_t waiting;
    uint64_t served; /* requests that were given a connection */
    bool has_timer;
    uv_timer_t tick; /* while anything waits or is idle */
    bool is_stopped;
};

static void pool_serve(struct pool *pool);

static int64_t loop_now(const struct pool *pool)
{
    return (int64_t)uv_now(pool->options.loop);
}

/* --- connections ------------------------------------------------------------------------------ */

static void place_clear(struct place *place)
{
    struct pool *pool = place->pool;

    *place = (struct place){.pool = pool};
}

static void place_close(struct place *place)
{
    link_close(place->link);
    place_clear(place);
}

/* Frees the place of a lost connection, and answers its request. */
static void place_fail(struct place *place, const struct hearsay_error *why)
{
    struct wish *wish = place->wish;
    struct board_reply reply = {.outcome = answer_outcome(why), .error = why};

    place_clear(place);
    if (wish != NULL) {
        wish_answer(wish, &reply);
    }
}

/* Puts a request back to the head of the queue, once, for a fresh connection. */
static bool wish_retry(struct pool *pool, struct wish *wish)
{
    if (wish == NULL || wish->is_retried || pool->is_stopped) {
        return false;
    }
    wish->is_retried = true;
    wish->next = pool->first;
    pool->first = wish;
    pool->waiting++;
    return true;
}

static void place_done(struct place *place, const struct board_reply *reply)
{
    struct wish *wish = place->wish;

    place->wish = NULL;
    place->ticket = 0;
    place->was_used = true;
    place->idle_ms = loop_now(place->pool);
    wish_answer(wish, reply);
}

static void place_refuse(struct place *place, const struct hearsay_error *error)
{
    struct board_reply reply = {.outcome = wish_outcome(place->wish, error), .error = error};

    place_done(place, &reply);
}

static void place_submit(struct place *place)
{
    struct hearsay_error error;
    int status = wish_submit(place->wish, link_server(place->link), &place->ticket, &error);

    if (status != HEARSAY_OK) {
        place_refuse(place, &error);
    } else {
        link_submitted(place->link);
    }
}

static void on_greeted(void *context)
{
    struct place *place = context;

    place->is_greeted = true;
    if (place->wish != NULL) {
        place_submit(place);
    }
}

/* What the connection was told when it was greeted is over: an epoch, a profile. */
static bool is_stale(const struct hearsay_error *error)
{
    return error->code == HEARSAY_CODE_UNKNOWN_EPOCH ||
           error->code == HEARSAY_CODE_PROFILE_MISMATCH;
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct place *place = context;
    struct board_reply shown = {.outcome = BOARD_DONE};

    if (place->wish == NULL || reply->ticket == 0 || reply->ticket != place->ticket) {
        return;
    }
    if (reply->kind != HEARSAY_REPLY_ERROR) {
        shown.stored = reply->kind == HEARSAY_REPLY_DEPOSITED ? &reply->deposited : NULL;
        place->pool->written(place->pool->context, place->wish->view, place->wish->id);
        place_done(place, &shown);
    } else if (is_stale(&reply->error) && wish_retry(place->pool, place->wish)) {
        place_close(place);
        pool_serve(place->pool);
    } else {
        place_refuse(place, &reply->error);
    }
    /* Else the queue goes on in on_rested. */
}

static void on_rested(void *context)
{
    struct place *place = context;

    pool_serve(place->pool);
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct place *place = context;
    struct pool *pool = place->pool;
    bool is_stale_link = place->was_used;
    struct wish *wish = place->wish;

    link_close(place->link);
    if (is_stale_link && wish_retry(pool, wish)) {
        place_clear(place);
    } else {
        place_fail(place, why);
    }
    pool_serve(pool);
}

static const struct link_events place_events = {on_greeted, on_replied, on_rested, on_lost};

/* Connects on behalf of the phone that `wish` is of, which is taken. */
static void place_open(struct place *place, struct wish *wish)
{
    struct hearsay_connect connection;
    struct hearsay_error error;
    struct pool *pool = place->pool;

    place->client = wish->client;
    place->wish = wish;
    hearsay_connect_init(&connection);
    connection.server = pool->options.server;
    connection.agent = "hearsay-web/" HEARSAY_VERSION;
    connection.is_small = true;
    connection.on_behalf = place->client.bytes;
    connection.on_behalf_bytes =
        place->client.family == 4 ? IPV4_BYTES : sizeof(place->client.bytes);
    if (place->client.family == 6 && place->client.has_local) {
        connection.on_behalf_local = place->client.local;
    }
    if (link_open(pool->options.loop, &connection, &place_events, place, &place->link, &error) !=
        HEARSAY_OK) {
        place->link = NULL;
        place_fail(place, &error);
    }
}

/* --- the queue -------------------------------------------------------------------------------- */

/* The place of a phone; NULL: none. */
static struct place *find_place(const struct pool *pool, const struct http_address *client)
{
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct place *place = &pool->places[i];

        if (place->link != NULL && http_peer_equals(&place->client, client)) {
            return place;
        }
    }
    return NULL;
}

/* The place that is idle longest, of a device or network if `client` is given; NULL: none. */
static struct place *find_idle(const struct pool *pool, const struct http_address *client)
{
    struct place *found = NULL;

    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct place *place = &pool->places[i];

        if (place->link == NULL || place->wish != NULL ||
            (client != NULL && !http_peer_shares_network(&place->client, client))) {
            continue;
        }
        if (found == NULL || place->idle_ms < found->idle_ms) {
            found = place;
        }
    }
    return found;
}

static size_t count_network(const struct pool *pool, const struct http_address *client)
{
    size_t count = 0;

    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        count += pool->places[i].link != NULL &&
                 http_peer_shares_network(&pool->places[i].client, client);
    }
    return count;
}

static struct place *find_free(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        if (pool->places[i].link == NULL) {
            return &pool->places[i];
        }
    }
    return NULL;
}

/*
 * A place for a request: that of its phone, a free one, or one whose idle connection is closed for
 * it. NULL: the request has to wait.
 */
static struct place *find_place_for(const struct pool *pool, const struct wish *wish)
{
    struct place *place = find_place(pool, &wish->client);

    if (place != NULL) {
        return place->wish == NULL ? place : NULL;
    }
    if (count_network(pool, &wish->client) >= POOL_PER_NETWORK) {
        return find_idle(pool, &wish->client);
    }
    place = find_free(pool);
    return place != NULL ? place : find_idle(pool, NULL);
}

/* When a connection of the sender was last served: a number of pool->served; 0: it has none. */
static uint64_t last_served(const struct pool *pool, const struct http_address *client)
{
    uint64_t served = 0;

    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        const struct place *place = &pool->places[i];

        if (place->link != NULL && http_peer_shares_sender(&place->client, client) &&
            place->served > served) {
            served = place->served;
        }
    }
    return served;
}

/*
 * The next request whose place is there: of the sender that was served least recently, and of that
 * the oldest. Senders without a connection come first.
 */
static struct wish *choose_wish(const struct pool *pool, struct place **out_place)
{
    struct wish *found = NULL;
    uint64_t best = UINT64_MAX;

    for (struct wish *wish = pool->first; wish != NULL; wish = wish->next) {
        uint64_t served = last_served(pool, &wish->client);
        struct place *place = served < best ? find_place_for(pool, wish) : NULL;

        if (place != NULL) {
            found = wish;
            best = served;
            *out_place = place;
        }
    }
    return found;
}

static void wish_unqueue(struct pool *pool, struct wish *wish)
{
    struct wish **link = &pool->first;

    while (*link != wish) {
        link = &(*link)->next;
    }
    *link = wish->next;
    wish->next = NULL;
    pool->waiting--;
}

/* Begins as many of the requests that wait as have a place. */
static void pool_serve(struct pool *pool)
{
    struct place *place = NULL;
    struct wish *wish;

    while (!pool->is_stopped && (wish = choose_wish(pool, &place)) != NULL) {
        wish_unqueue(pool, wish);
        if (place->link != NULL && !http_peer_equals(&place->client, &wish->client)) {
            place_close(place);
        }
        place->served = ++pool->served;
        if (place->link == NULL) {
            place_open(place, wish);
        } else {
            place->wish = wish;
            if (place->is_greeted) {
                place_submit(place);
            }
        }
    }
}

/* Answers requests that have waited too long, and closes idle connections. */
static void on_tick(uv_timer_t *timer)
{
    struct board_reply busy = {.outcome = BOARD_BUSY};
    struct pool *pool = timer->data;
    int64_t now_ms = loop_now(pool);

    pool_serve(pool);
    for (struct wish *wish = pool->first; wish != NULL;) {
        if (now_ms - wish->queued_ms < POOL_WAIT_MS) {
            wish = wish->next;
            continue;
        }
        wish_unqueue(pool, wish);
        wish_answer(wish, &busy);
        wish = pool->first; /* a reader may have changed the queue */
    }
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct place *place = &pool->places[i];

        if (place->link != NULL && place->wish == NULL && now_ms - place->idle_ms >= POOL_IDLE_MS) {
            place_close(place);
        }
    }
    if (pool->first == NULL && pool_connections(pool) == 0) {
        (void)uv_timer_stop(&pool->tick);
    }
}

/* Whether one more request of a phone may wait. All addresses of a device count together. */
static bool has_room(const struct pool *pool, const struct http_address *client)
{
    size_t own = 0;
    size_t network = 0;

    for (const struct wish *wish = pool->first; wish != NULL; wish = wish->next) {
        own += http_peer_shares_sender(&wish->client, client);
        network += http_peer_shares_network(&wish->client, client);
    }
    return pool->waiting < POOL_QUEUE_MAX && own < POOL_PER_SENDER && network < POOL_QUEUE_MAX / 2;
}

void pool_write(struct pool *pool, const struct pool_write *what, board_done *done, void *context)
{
    struct board_reply reply = {.outcome = BOARD_NO_MEMORY};

    if (pool->is_stopped || !has_room(pool, what->client)) {
        reply.outcome = BOARD_BUSY;
        done(context, &reply);
        return;
    }
    struct wish *wish = wish_new(what, done, context);
    if (wish == NULL) {
        done(context, &reply);
        return;
    }
    struct wish **end = &pool->first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = wish;
    pool->waiting++;
    wish->queued_ms = loop_now(pool);
    if (!pool->has_timer) {
        (void)uv_timer_init(pool->options.loop, &pool->tick); /* cannot fail */
        pool->tick.data = pool;
        pool->has_timer = true;
    }
    if (!uv_is_active((const uv_handle_t *)&pool->tick)) {
        (void)uv_timer_start(&pool->tick, on_tick, TICK_MS, TICK_MS);
    }
    pool_serve(pool);
}

void pool_forget(struct pool *pool, const void *context)
{
    for (struct wish *wish = pool->first; wish != NULL; wish = wish->next) {
        wish->done = wish->context == context ? NULL : wish->done;
    }
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct wish *wish = pool->places[i].wish;

        if (wish != NULL && wish->context == context) {
            wish->done = NULL; /* what was sent is done all the same */
        }
    }
}

size_t pool_connections(const struct pool *pool)
{
    size_t count = 0;

    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        count += pool->places[i].link != NULL;
    }
    return count;
}

/* --- begin and end ---------------------------------------------------------------------------- */

int pool_new(const struct board_options *options, pool_written *written, void *context,
             struct pool **out_pool)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    struct place *places = calloc(options->upstreams, sizeof(*places));

    if (pool == NULL || places == NULL) {
        free(pool);
        free(places);
        return -ERR_NOMEM;
    }
    pool->options = *options;
    pool->places = places;
    pool->written = written;
    pool->context = context;
    for (unsigned i = 0; i < options->upstreams; i++) {
        places[i].pool = pool;
    }
    *out_pool = pool;
    return 0;
}

void pool_stop(struct pool *pool)
{
    struct hearsay_error error;
    struct board_reply reply = {.outcome = BOARD_AWAY, .error = &error};

    if (pool->is_stopped) {
        return;
    }
    pool->is_stopped = true;
    answer_fault(&error, HEARSAY_ERR_LOST, HEARSAY_CODE_NONE, "hearsay-web stops");
    if (pool->has_timer) {
        uv_close((uv_handle_t *)&pool->tick, NULL);
    }
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct place *place = &pool->places[i];
        struct wish *wish = place->wish;

        place_close(place);
        if (wish != NULL) {
            wish_answer(wish, &reply);
        }
    }
    while (pool->first != NULL) {
        struct wish *wish = pool->first;

        wish_unqueue(pool, wish);
        wish_answer(wish, &reply);
    }
}

void pool_free(struct pool *pool)
{
    if (pool != NULL) {
        free(pool->places);
        free(pool);
    }
}
