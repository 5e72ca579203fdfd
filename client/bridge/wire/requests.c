/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/inner.h"

#include <string.h>

enum {
    LATE_MS = 20, /* how late the end of a request may be, so that one turn ends several */
    SHARED = WIRE_REQUESTS_MAX - (int)WIRE_USES * WIRE_RESERVED
};

static void end_slot(struct requests *requests, struct request_slot *slot,
                     enum wire_outcome outcome, const struct wire_message *message)
{
    struct request_slot ended = *slot;

    slot->number = 0;
    requests->waiting--;
    requests->waiting_of[ended.use]--;
    if (ended.done != NULL) {
        ended.done(ended.context, ended.tag, outcome, message);
    }
}

static void on_tick(uv_timer_t *timer);

/* Sets the timer, unless it ends earlier. */
static void end_at(struct requests *requests, uint64_t ends_ms)
{
    uint64_t now = uv_now(requests->tick.loop);

    if (ends_ms < requests->tick_ms) {
        requests->tick_ms = ends_ms;
        (void)uv_timer_start(&requests->tick, on_tick,
                             LATE_MS + (ends_ms > now ? ends_ms - now : 0), 0);
    }
}

/* Ends the requests that have waited long enough. Callbacks may add others. */
static void on_tick(uv_timer_t *timer)
{
    struct requests *requests = timer->data;
    uint64_t now = uv_now(timer->loop);
    uint64_t next_ms = UINT64_MAX;

    requests->tick_ms = UINT64_MAX;
    for (size_t i = 0; i < WIRE_REQUESTS_MAX && requests->waiting > 0; i++) {
        struct request_slot *slot = &requests->slots[i];

        if (slot->number != 0 && now >= slot->ends_ms) {
            end_slot(requests, slot, WIRE_SILENT, NULL);
        } else if (slot->number != 0 && slot->ends_ms < next_ms) {
            next_ms = slot->ends_ms;
        }
    }
    end_at(requests, next_ms);
}

void requests_init(struct requests *requests, uv_loop_t *loop)
{
    (void)uv_timer_init(loop, &requests->tick); /* never fails */
    requests->tick.data = requests;
    requests->tick_ms = UINT64_MAX;
}

void requests_stop(struct requests *requests)
{
    memset(requests->slots, 0, sizeof(requests->slots));
    memset(requests->waiting_of, 0, sizeof(requests->waiting_of));
    requests->waiting = 0;
    uv_close((uv_handle_t *)&requests->tick, NULL);
}

/* Whether one more request of this use may wait. */
static bool has_place(const struct requests *requests, enum wire_use use)
{
    size_t shared = 0; /* in use of those that are reserved for no use */

    for (size_t i = 0; i < WIRE_USES; i++) {
        size_t of_use = requests->waiting_of[i];

        shared += of_use > WIRE_RESERVED ? of_use - WIRE_RESERVED : 0;
    }
    return requests->waiting_of[use] < WIRE_RESERVED || shared < SHARED;
}

uint64_t requests_next(struct requests *requests, enum wire_use use)
{
    if (!has_place(requests, use)) {
        return 0;
    }
    do { /* ends: one slot is free */
        requests->count++;
    } while (requests->slots[requests->count % WIRE_REQUESTS_MAX].number != 0);
    return requests->count;
}

void requests_add(struct requests *requests, uint64_t number, enum wire_use use,
                  uint32_t timeout_ms, wire_done *done, void *context, uint64_t tag)
{
    requests->waiting_of[use]++;
    requests->slots[number % WIRE_REQUESTS_MAX] =
        (struct request_slot){.number = number,
                              .use = use,
                              .ends_ms = uv_now(requests->tick.loop) + timeout_ms,
                              .done = done,
                              .context = context,
                              .tag = tag};
    requests->waiting++;
    end_at(requests, requests->slots[number % WIRE_REQUESTS_MAX].ends_ms);
}

void requests_end(struct requests *requests, uint64_t number, enum wire_outcome outcome,
                  const struct wire_message *message)
{
    struct request_slot *slot = &requests->slots[number % WIRE_REQUESTS_MAX];

    if (number != 0 && slot->number == number) {
        end_slot(requests, slot, outcome, message);
    }
}

void requests_lose(struct requests *requests)
{
    for (size_t i = 0; i < WIRE_REQUESTS_MAX; i++) {
        if (requests->slots[i].number != 0) {
            end_slot(requests, &requests->slots[i], WIRE_LOST, NULL);
        }
    }
}

void requests_forget(struct requests *requests, const void *context)
{
    for (size_t i = 0; i < WIRE_REQUESTS_MAX; i++) {
        if (requests->slots[i].number != 0 && requests->slots[i].context == context) {
            requests->slots[i].done = NULL;
        }
    }
}
