/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/pool.h"

#include <stdlib.h>
#include <string.h>

#include "client/link/link.h"
#include "client/web/board/answer.h"
#include "client/web/board/queue.h"
#include "client/web/board/refused.h"
#include "client/web/http_peer.h"
#include "core/base/err.h"

enum { IPV4_BYTES = 4, TICK_MS = 250 };

/* One request of a phone to write, until it is answered. */
struct wish {
    struct queue_item item; /* the first member: what the queue has is a wish */
    struct board_write write;
    uint8_t id[HEARSAY_ID_BYTES];
    board_done *done; /* NULL: forgotten, and what `write` points to is gone */
    void *context;
    bool is_retried;
};

/* A connection on behalf of a phone. */
struct place {
    struct pool *pool;
    struct link *link; /* owned; NULL: the place is free */
    struct http_address client;
    struct wish *wish; /* owned: the one that is being done; NULL: idle */
    uint64_t ticket;   /* of `wish`; 0: not sent yet */
    bool is_greeted;
    bool was_used;   /* an earlier request was done: the connection may be stale */
    int64_t idle_ms; /* since when it is idle, by the loop's clock */
};

struct pool {
    struct board_options options;
    pool_written *written;
    void *context;        /* of that */
    struct place *places; /* owned; options.upstreams of them */
    struct queue queue;   /* of wishes, which are owned */
    struct refused refused;
    bool has_timer;
    uv_timer_t
        tick; /* every TICK_MS while anything waits; else when an idle connection is closed */
    int64_t tick_ms; /* when it ends; INT64_MAX: it rests */
    bool is_stopped;
};

static void pool_serve(struct pool *pool);
static void on_tick(uv_timer_t *timer);

static int64_t loop_now(const struct pool *pool)
{
    return (int64_t)uv_now(pool->options.loop);
}

/* The next tick comes in so many milliseconds at the latest. */
static void tick_within(struct pool *pool, uint64_t wait_ms)
{
    if (!pool->has_timer) {
        (void)uv_timer_init(pool->options.loop, &pool->tick); /* cannot fail */
        pool->tick.data = pool;
        pool->tick_ms = INT64_MAX;
        pool->has_timer = true;
    }
    int64_t at_ms = loop_now(pool) + (int64_t)wait_ms;
    if (at_ms < pool->tick_ms) {
        pool->tick_ms = at_ms;
        (void)uv_timer_start(&pool->tick, on_tick, wait_ms, 0);
    }
}

/* Tells the reader, unless forgotten, and frees the wish, which waits no more. */
static void wish_answer(struct wish *wish, const struct board_reply *reply)
{
    if (wish->done != NULL) {
        wish->done(wish->context, reply);
    }
    free(wish);
}

static void wish_answer_plain(struct wish *wish, enum board_outcome outcome)
{
    wish_answer(wish, &(struct board_reply){.outcome = outcome});
}

/* Answers a wish of a sender that comes earlier than hearsayd said. False: hearsayd decides. */
static bool answer_refused(struct pool *pool, struct wish *wish)
{
    struct hearsay_error error;

    if (!refused_has(&pool->refused, &wish->write.client, loop_now(pool), &error)) {
        return false;
    }
    wish_answer(wish, &(struct board_reply){.outcome = BOARD_LIMITED, .error = &error});
    return true;
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

/* Lets a wish wait for a fresh connection, once. */
static bool wish_retry(struct pool *pool, struct wish *wish)
{
    if (wish == NULL || wish->done == NULL || wish->is_retried || pool->is_stopped) {
        return false;
    }
    wish->is_retried = true;
    tick_within(pool, TICK_MS);
    return queue_enter(&pool->queue, &wish->item, &wish->write.client, loop_now(pool)) == 0;
}

static void place_done(struct place *place, const struct board_reply *reply)
{
    struct wish *wish = place->wish;

    place->wish = NULL;
    place->ticket = 0;
    place->was_used = true;
    place->idle_ms = loop_now(place->pool);
    if (!place->pool->is_stopped) {
        tick_within(place->pool, POOL_IDLE_MS);
    }
    wish_answer(wish, reply);
}

static void place_refuse(struct place *place, const struct hearsay_error *error)
{
    struct board_reply reply = {.outcome = write_outcome(place->wish->write.kind, error),
                                .error = error};

    if (reply.outcome == BOARD_LIMITED) {
        refused_note(&place->pool->refused, &place->client, error->retry_after_ms,
                     loop_now(place->pool));
    }
    place_done(place, &reply);
}

static void place_submit(struct place *place)
{
    struct hearsay_error error;

    if (place->wish->done == NULL) { /* its phone has gone, with all that was to be sent */
        place_done(place, &(struct board_reply){.outcome = BOARD_AWAY});
    } else if (write_submit(&place->wish->write, link_server(place->link), &place->ticket,
                            &error) != HEARSAY_OK) {
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
    struct wish *wish = place->wish;

    if (wish == NULL || reply->response.id == 0 || reply->response.id != place->ticket) {
        return;
    }
    if (reply->response.kind != HEARSAY_RESPONSE_ERROR) {
        shown.stored =
            reply->response.kind == HEARSAY_RESPONSE_DEPOSITED ? &reply->response.deposited : NULL;
        const struct board_write *write = wish->done != NULL ? &wish->write : NULL;
        const uint8_t *parent = write != NULL ? write->answers : NULL;
        place->pool->written(place->pool->context,
                             write != NULL && parent == NULL ? write->view : NULL,
                             parent != NULL ? parent : wish->id);
        place_done(place, &shown);
    } else if (is_stale(&reply->error) && wish_retry(place->pool, wish)) {
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
    struct wish *wish = place->wish;
    bool is_waiting_again = place->was_used && wish_retry(pool, wish);

    place_close(place);
    if (wish != NULL && !is_waiting_again) {
        wish_answer(wish, &(struct board_reply){.outcome = answer_outcome(why), .error = why});
    }
    pool_serve(pool);
}

static const struct link_events place_events = {on_greeted, on_replied, on_rested, on_lost};

/* Connects on behalf of the phone that `wish` is of, which is taken. */
static void place_open(struct place *place, struct wish *wish)
{
    struct pool *pool = place->pool;
    struct hearsay_error error;
    struct hearsay_connect connection = {.server = pool->options.server,
                                         .agent = "hearsay-web/" HEARSAY_VERSION,
                                         .is_small = true,
                                         .on_behalf = place->client.bytes,
                                         .on_behalf_bytes = wish->write.client.family == 4
                                                                ? IPV4_BYTES
                                                                : sizeof(place->client.bytes)};

    place->client = wish->write.client;
    place->wish = wish;
    if (place->client.family == 6 && place->client.has_local) {
        connection.on_behalf_local = place->client.local;
    }
    if (link_open(pool->options.loop, &connection, &place_events, place, &place->link, &error) !=
        HEARSAY_OK) {
        place_clear(place);
        wish_answer(wish,
                    &(struct board_reply){.outcome = answer_outcome(&error), .error = &error});
    }
}

/* --- the queue -------------------------------------------------------------------------------- */

/*
 * A place for a wish: that of its sender, a free one, or the one that is idle longest, whose
 * connection is closed for it. NULL: the wish has to wait.
 */
static struct place *find_place(const struct pool *pool, const struct wish *wish)
{
    struct place *found = NULL;

    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct place *place = &pool->places[i];
        bool is_free = place->link == NULL;

        if (!is_free && http_peer_shares_sender(&place->client, &wish->write.client)) {
            return place->wish == NULL ? place : NULL;
        }
        if ((is_free || place->wish == NULL) &&
            (found == NULL ||
             (found->link != NULL && (is_free || place->idle_ms < found->idle_ms)))) {
            found = place;
        }
    }
    return found;
}

/* The first wish in the queue that has a place. */
static struct wish *choose_wish(const struct pool *pool, struct place **out_place)
{
    for (struct queue_item *item = pool->queue.first; item != NULL; item = item->next) {
        *out_place = find_place(pool, (struct wish *)item);
        if (*out_place != NULL) {
            return (struct wish *)item;
        }
    }
    return NULL;
}

/* Begins as many of the requests that wait as have a place. */
static void pool_serve(struct pool *pool)
{
    struct place *place = NULL;
    struct wish *wish;

    while (!pool->is_stopped && (wish = choose_wish(pool, &place)) != NULL) {
        queue_serve(&pool->queue, &wish->item);
        if (answer_refused(pool, wish)) {
            continue;
        }
        if (place->link != NULL && !http_peer_equals(&place->client, &wish->write.client)) {
            place_close(place);
        }
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

/* Closes a connection that is idle for long enough, or has the timer come back when it is. */
static void place_age(struct place *place, int64_t now_ms)
{
    int64_t left_ms = place->idle_ms + POOL_IDLE_MS - now_ms;

    if (place->link == NULL || place->wish != NULL) {
        return;
    }
    if (left_ms <= 0) {
        place_close(place);
    } else {
        tick_within(place->pool, (uint64_t)left_ms);
    }
}

/* Answers requests that have waited too long, and closes idle connections. */
static void on_tick(uv_timer_t *timer)
{
    struct pool *pool = timer->data;
    int64_t now_ms = loop_now(pool);
    struct queue_item *late;

    pool->tick_ms = INT64_MAX;
    pool_serve(pool);
    while ((late = queue_find_late(&pool->queue, now_ms - POOL_WAIT_MS + 1)) != NULL) {
        queue_leave(&pool->queue, late);
        wish_answer_plain((struct wish *)late, BOARD_BUSY);
    }
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        place_age(&pool->places[i], now_ms);
    }
    if (pool->queue.first != NULL) {
        tick_within(pool, TICK_MS);
    }
}

void pool_write(struct pool *pool, const struct board_write *write, board_done *done, void *context)
{
    struct wish *wish = calloc(1, sizeof(*wish));

    if (wish == NULL) {
        done(context, &(struct board_reply){.outcome = BOARD_NO_MEMORY});
        return;
    }
    wish->write = *write;
    memcpy(wish->id, write->id, sizeof(wish->id));
    wish->done = done;
    wish->context = context;
    if (answer_refused(pool, wish)) {
        return;
    }
    if (queue_enter(&pool->queue, &wish->item, &write->client, loop_now(pool)) != 0) {
        wish_answer_plain(wish, BOARD_NO_MEMORY);
        return;
    }
    tick_within(pool, TICK_MS);
    pool_serve(pool);
    if (pool->queue.count > POOL_QUEUE_MAX) {
        struct queue_item *victim = queue_victim(&pool->queue, &wish->item);

        queue_leave(&pool->queue, victim);
        wish_answer_plain((struct wish *)victim, BOARD_BUSY);
    }
}

void pool_forget(struct pool *pool, const void *context)
{
    for (struct queue_item *item = pool->queue.first, *next; item != NULL; item = next) {
        next = item->next;
        if (((struct wish *)item)->context == context) {
            queue_leave(&pool->queue, item);
            free(item);
        }
    }
    for (unsigned i = 0; i < pool->options.upstreams; i++) {
        struct wish *wish = pool->places[i].wish;

        if (wish != NULL && wish->context == context) {
            wish->done = NULL; /* what was sent is done all the same */
        }
    }
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
    refused_init(&pool->refused);
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
    while (pool->queue.first != NULL) {
        struct wish *wish = (struct wish *)pool->queue.first;

        queue_leave(&pool->queue, &wish->item);
        wish_answer(wish, &reply);
    }
}

void pool_tidy(struct pool *pool)
{
    refused_tidy(&pool->refused, loop_now(pool));
}

void pool_free(struct pool *pool)
{
    if (pool != NULL) {
        free(pool->places);
        free(pool);
    }
}
