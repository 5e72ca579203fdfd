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

static void wait_free(struct ticks *ticks, struct tick_wait *wait)
{
    DL_DELETE(ticks->first, wait);
    free(wait);
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* that it runs is enough: the loop does not wait for anything else */
}

/* Begins a tick: gives one request of each sender that waits, in the order in which they came. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct ticks *ticks = prepare->data;
    struct tick_wait *next;

    ticks->seen_count = 0;
    for (struct tick_wait *wait = ticks->first; wait != NULL; wait = next) {
        struct http_exchange *exchange = wait->exchange;
        const struct http_request *request = wait->request;

        next = wait->next;
        if (note_sender(ticks, &wait->sender)) {
            wait_free(ticks, wait);
            ticks->request(ticks->context, exchange, request);
        }
    }
    if (ticks->first == NULL) {
        (void)uv_idle_stop(&ticks->idle);
    }
    if (ticks->seen_count == 0) {
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
    while (ticks->first != NULL) {
        wait_free(ticks, ticks->first);
    }
    uv_close((uv_handle_t *)&ticks->prepare, NULL);
    uv_close((uv_handle_t *)&ticks->idle, NULL);
}

void ticks_request(void *context, struct http_exchange *exchange,
                   const struct http_request *request)
{
    struct ticks *ticks = context;
    struct fair_key sender;
    struct tick_wait *wait = NULL;

    http_peer_sender_key(&request->client, &sender);
    if (!note_sender(ticks, &sender)) {
        wait = malloc(sizeof(*wait));
    }
    (void)uv_prepare_start(&ticks->prepare, on_prepare); /* these fail without a callback only */
    if (wait == NULL) { /* also where memory is out: then the request is given at once */
        ticks->request(ticks->context, exchange, request);
        return;
    }
    *wait = (struct tick_wait){.exchange = exchange, .request = request, .sender = sender};
    DL_APPEND(ticks->first, wait);
    (void)uv_idle_start(&ticks->idle, on_idle);
}

void ticks_gone(void *context, struct http_exchange *exchange)
{
    struct ticks *ticks = context;
    struct tick_wait *wait = ticks->first;

    while (wait != NULL && wait->exchange != exchange) {
        wait = wait->next;
    }
    if (wait != NULL) {
        wait_free(ticks, wait);
    } else {
        ticks->gone(ticks->context, exchange);
    }
}
