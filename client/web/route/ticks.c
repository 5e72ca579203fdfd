/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/ticks.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/system/list.h"

/* Notes a request of a sender in this tick. False: the sender has had one. */
static bool note_sender(struct ticks *ticks, const struct fair_key *sender)
{
    for (size_t i = 0; i < ticks->seen_count; i++) {
        if (memcmp(&ticks->seen[i], sender, sizeof(*sender)) == 0) {
            return false;
        }
    }
    if (ticks->seen_count < TICKS_SENDERS_MAX) {
        ticks->seen[ticks->seen_count++] = *sender;
    }
    return true;
}

/* Takes a request out of its list. */
static void wait_free(struct tick_wait **list, struct tick_wait *wait)
{
    DL_DELETE(*list, wait);
    free(wait);
}

/* Gives a request that has waited. */
static void wait_give(struct ticks *ticks, struct tick_wait **list, struct tick_wait *wait)
{
    struct http_exchange *exchange = wait->exchange;
    const struct http_request *request = wait->request;

    wait_free(list, wait);
    ticks->request(ticks->context, exchange, request);
}

static bool takes_stream(const struct ticks *ticks)
{
    return ticks->stream_count < TICKS_STREAMS && ticks->has_room(ticks->context);
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* that it runs is enough: the loop does not wait for anything else */
}

/* Begins a tick: gives one request of each sender that waits, in the order in which they came, and
 * some streams. While the board has no room for streams, its answers keep the loop going. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct ticks *ticks = prepare->data;
    struct tick_wait *next;

    memset(ticks->seen, 0, ticks->seen_count * sizeof(ticks->seen[0])); /* no address stays */
    ticks->seen_count = 0;
    ticks->stream_count = 0;
    for (struct tick_wait *wait = ticks->pages; wait != NULL; wait = next) {
        next = wait->next;
        if (note_sender(ticks, &wait->sender)) {
            wait_give(ticks, &ticks->pages, wait);
        }
    }
    while (ticks->streams != NULL && takes_stream(ticks)) {
        ticks->stream_count++;
        wait_give(ticks, &ticks->streams, ticks->streams);
    }
    if (ticks->pages == NULL && (ticks->streams == NULL || !ticks->has_room(ticks->context))) {
        (void)uv_idle_stop(&ticks->idle);
    } else {
        (void)uv_idle_start(&ticks->idle, on_idle);
    }
    if (ticks->seen_count == 0 && ticks->streams == NULL) {
        (void)uv_prepare_stop(prepare);
    }
}

void ticks_init(struct ticks *ticks, uv_loop_t *loop)
{
    (void)uv_prepare_init(loop, &ticks->prepare); /* neither can fail */
    (void)uv_idle_init(loop, &ticks->idle);
    uv_unref((uv_handle_t *)&ticks->prepare); /* a loop with nothing else may end */
    ticks->prepare.data = ticks;
}

void ticks_stop(struct ticks *ticks)
{
    while (ticks->pages != NULL) {
        wait_free(&ticks->pages, ticks->pages);
    }
    while (ticks->streams != NULL) {
        wait_free(&ticks->streams, ticks->streams);
    }
    uv_close((uv_handle_t *)&ticks->prepare, NULL);
    uv_close((uv_handle_t *)&ticks->idle, NULL);
}

/* Whether a request may be given in this tick. Notes that it is. */
static bool may_go(struct ticks *ticks, const struct fair_key *sender, bool is_stream)
{
    if (!is_stream) {
        return note_sender(ticks, sender);
    }
    if (ticks->streams != NULL || !takes_stream(ticks)) {
        return false;
    }
    ticks->stream_count++;
    return true;
}

void ticks_request(void *context, struct http_exchange *exchange,
                   const struct http_request *request)
{
    struct ticks *ticks = context;
    bool is_stream = strcmp(request->path, "/events") == 0;
    struct tick_wait *wait = NULL;
    struct fair_key sender;

    http_peer_sender_key(&request->client, &sender);
    if (!may_go(ticks, &sender, is_stream)) {
        wait = malloc(sizeof(*wait));
    }
    (void)uv_prepare_start(&ticks->prepare, on_prepare); /* this fails without a callback only */
    if (wait == NULL) { /* also where memory is out: then the request is given at once */
        ticks->request(ticks->context, exchange, request);
        return;
    }
    *wait = (struct tick_wait){.exchange = exchange, .request = request, .sender = sender};
    if (is_stream) {
        DL_APPEND(ticks->streams, wait);
    } else {
        DL_APPEND(ticks->pages, wait);
    }
    (void)uv_idle_start(&ticks->idle, on_idle);
}

/* Takes the request of an exchange out of a list. False: it is not there. */
static bool take_out(struct tick_wait **list, const struct http_exchange *exchange)
{
    struct tick_wait *wait = *list;

    while (wait != NULL && wait->exchange != exchange) {
        wait = wait->next;
    }
    if (wait != NULL) {
        wait_free(list, wait);
    }
    return wait != NULL;
}

void ticks_gone(void *context, struct http_exchange *exchange)
{
    struct ticks *ticks = context;

    if (!take_out(&ticks->pages, exchange) && !take_out(&ticks->streams, exchange)) {
        ticks->gone(ticks->context, exchange);
    }
}
