/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch/asks.h"

#include <string.h>

#include "core/base/err.h"
#include "daemon/system/list.h"

#define OVER_MS INT64_MIN /* as until_ms: the wait is over in the next turn */

/* --- bridges ---------------------------------------------------------------------------------- */

static struct ask_bridge *find_bridge(const struct service *service, const struct requester *client)
{
    struct ask_bridge *bridge;

    DL_FOREACH (service->asks.bridges, bridge) {
        if (bridge->client == client) {
            return bridge;
        }
    }
    return NULL;
}

static struct ask_bridge *bridge_of_hood(const struct service *service, const char *hood)
{
    struct ask_bridge *bridge;

    DL_FOREACH (service->asks.bridges, bridge) {
        for (size_t i = 0; i < bridge->hood_count && !bridge->client->is_gone; i++) {
            if (strcmp(bridge->hoods[i], hood) == 0) {
                return bridge;
            }
        }
    }
    return NULL;
}

static void lose_hood(struct service *service, const char *hood)
{
    struct ask_bridge *bridge = bridge_of_hood(service, hood);

    for (size_t i = 0; bridge != NULL && i < bridge->hood_count; i++) {
        if (strcmp(bridge->hoods[i], hood) == 0) {
            bridge->hood_count--;
            memmove(bridge->hoods[i], bridge->hoods[bridge->hood_count], sizeof(bridge->hoods[i]));
            return;
        }
    }
}

int asks_serve(struct service *service, struct requester *client, const struct hearsay_text *hoods,
               size_t hood_count)
{
    struct ask_bridge *bridge = find_bridge(service, client);

    if (bridge == NULL) {
        bridge = alloc_zeroed(service->alloc, 1, sizeof(*bridge));
        if (bridge == NULL) {
            return -ERR_NOMEM;
        }
        bridge->client = client;
        bridge->peers = ASKS_PEERS;
        DL_APPEND(service->asks.bridges, bridge);
    }
    bridge->hood_count = 0;
    for (size_t i = 0; i < hood_count && i < LIMIT_HOSTS; i++) {
        lose_hood(service, hoods[i].text); /* perhaps this bridge's: a name may come twice */
        msg_text_copy(bridge->hoods[bridge->hood_count++], sizeof(bridge->hoods[0]), hoods[i].text,
                      hoods[i].length);
    }
    return 0;
}

bool asks_serves(const struct service *service, const struct host *host)
{
    return host->config.hood[0] != '\0' && bridge_of_hood(service, host->config.hood) != NULL;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Takes tokens for the peers that the bridge may ask. Returns how many peers it may ask. */
static uint32_t reserve_tokens(struct ask_wait *wait)
{
    struct service *service = wait->service;
    uint32_t peers = wait->bridge->peers; /* 0: perhaps the bridge had just begun */
    uint32_t most = peers > ASKS_FREE ? peers - ASKS_FREE : 0;

    wait->reserved = 0;
    if (wait->sender == NULL) {
        return ASKS_PEERS;
    }
    if (most > 0) {
        wait->reserved =
            sender_take_most(wait->sender, SENDER_QUERY, &service->sender_limits,
                             most < ASKS_PAID ? most : ASKS_PAID, service_monotonic_ms(service));
    }
    return ASKS_FREE + wait->reserved;
}

static void return_tokens(struct ask_wait *wait, uint32_t peers_asked)
{
    struct service *service = wait->service;
    uint32_t used = peers_asked > ASKS_FREE ? peers_asked - ASKS_FREE : 0;

    if (wait->sender != NULL && used < wait->reserved) {
        sender_give(wait->sender, SENDER_QUERY, &service->sender_limits, wait->reserved - used,
                    service_monotonic_ms(service));
    }
    wait->reserved = 0;
}

/* --- waits ------------------------------------------------------------------------------------ */

/* The turn of the wait's sender, also when the client has gone. */
static uint64_t *turn_of(const struct ask_wait *wait)
{
    return requester_turn(wait->client, wait->sender);
}

/* How many asks of a sender wait. `turn` is the sender's (requester_turn). */
static uint32_t count_of(const struct service *service, const uint64_t *turn)
{
    const struct ask_wait *wait;
    uint32_t count = 0;

    DL_FOREACH (service->asks.first, wait) {
        count += turn_of(wait) == turn ? 1 : 0;
    }
    return count;
}

static struct fair_share share_of(const struct service *service, const uint64_t *turn,
                                  uint32_t more)
{
    uint32_t held = count_of(service, turn) + more;

    return (struct fair_share){.holder = turn, .held = held, .by_network = held};
}

/*
 * Ends another ask in the next turn, so that one of `turn` may wait. An ask that was sent
 * stays, because its sender would not pay for the peers that answer it. Returns false if none may
 * go. O(asks * asks), but only if ASKS_MAX wait.
 */
static bool make_room(struct service *service, const uint64_t *turn)
{
    struct fair_choice choice = {.newcomer = share_of(service, turn, 1)};
    struct ask_wait *wait;

    DL_FOREACH (service->asks.first, wait) {
        if (wait->ask_id == 0 && wait->until_ms != OVER_MS) {
            bool is_own = turn_of(wait) == choice.newcomer.holder;
            fair_consider(&choice, &(struct fair_candidate){
                                       .thing = wait,
                                       .share = share_of(service, turn_of(wait), is_own ? 1 : 0)});
        }
    }
    wait = choice.victim.thing;
    if (wait != NULL) {
        wait->until_ms = OVER_MS;
    }
    return wait != NULL;
}

bool asks_begin(struct ask_wait *wait)
{
    struct service *service = wait->service;
    struct ask_bridge *bridge = bridge_of_hood(service, wait->host->config.hood);

    if (bridge == NULL || count_of(service, turn_of(wait)) >= ASKS_OF_ONE ||
        (service->asks.count >= ASKS_MAX && !make_room(service, turn_of(wait)))) {
        return false;
    }
    wait->bridge = bridge;
    wait->ask_id = 0;
    wait->reserved = 0;
    if (wait->sender != NULL) {
        sender_keep(wait->sender);
    }
    DL_APPEND(service->asks.first, wait);
    service->asks.count++;
    service->asks.has_news = true;
    return true;
}

/* Takes a wait that is over out of the list. Without an answer the client pays for no peers. */
static struct ask_wait *finish_wait(struct ask_wait *wait, uint32_t peers_asked)
{
    struct service *service = wait->service;

    DL_DELETE(service->asks.first, wait);
    service->asks.count--;
    service->asks.has_news = true; /* another ask may go out */
    if (wait->bridge != NULL && wait->ask_id != 0) {
        wait->bridge->sent--;
    }
    return_tokens(wait, peers_asked);
    if (wait->sender != NULL) {
        sender_release(wait->sender);
        wait->sender = NULL;
    }
    return wait;
}

struct ask_wait *asks_answered(struct service *service, const struct requester *client,
                               const struct hearsay_answered *answered)
{
    struct ask_wait *wait;

    DL_FOREACH (service->asks.first, wait) {
        if (wait->bridge != NULL && wait->bridge->client == client && wait->ask_id != 0 &&
            wait->ask_id == answered->ask_id) {
            if (answered->has_results) {
                wait->bridge->peers = answered->results.peers;
            }
            return finish_wait(wait, answered->has_results ? answered->results.peers_asked : 0);
        }
    }
    return NULL;
}

void asks_client_gone(struct service *service, struct requester *client)
{
    struct ask_bridge *bridge = find_bridge(service, client);
    struct ask_wait *wait;

    DL_FOREACH (service->asks.first, wait) {
        if (wait->client == client) {
            service->asks.has_news = true;
        } else if (bridge != NULL && wait->bridge == bridge) {
            wait->bridge = NULL;
            service->asks.has_news = true;
        }
    }
    if (bridge != NULL) {
        DL_DELETE(service->asks.bridges, bridge);
        alloc_release(service->alloc, bridge);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Returns the wait whose sender has waited longest since its last turn, of those that may be sent.
 * NULL: there is none. */
static struct ask_wait *next_ask(const struct service *service)
{
    struct ask_wait *best = NULL;
    struct ask_wait *wait;

    DL_FOREACH (service->asks.first, wait) {
        if (wait->ask_id == 0 && wait->bridge->sent < ASKS_SENT &&
            wait->bridge->client->events->has_room(wait->bridge->client) &&
            (best == NULL || *turn_of(wait) < *turn_of(best))) {
            best = wait;
        }
    }
    return best;
}

static void send_ask(struct ask_wait *wait)
{
    struct service *service = wait->service;
    struct ask_bridge *bridge = wait->bridge;
    struct hearsay_response push = {.kind = HEARSAY_RESPONSE_ASK};

    wait->ask_id = ++service->asks.last_id;
    bridge->sent++;
    service_take_turn(service, turn_of(wait));
    if (!wait->write(wait, &push.ask.query)) {
        wait->until_ms = OVER_MS;
        service->asks.has_news = true;
        return;
    }
    int64_t left_ms = wait->until_ms - service_monotonic_ms(service);

    push.ask.ask_id = wait->ask_id;
    push.ask.query.wait_ms = left_ms < 1 ? 1 : (uint32_t)left_ms; /* at most LIMIT_WAIT_MS */
    push.ask.peers_max = reserve_tokens(wait);
    bridge->client->events->respond(bridge->client, &push);
}

struct ask_wait *asks_over(struct service *service)
{
    struct ask_wait *wait;

    if (service->asks.first == NULL) {
        return NULL;
    }
    int64_t now_ms = service_monotonic_ms(service);
    DL_FOREACH (service->asks.first, wait) {
        if (now_ms >= wait->until_ms || wait->bridge == NULL || wait->bridge->client->is_gone ||
            (wait->client->is_gone && wait->reserved == 0) || service->stopping) {
            return finish_wait(wait, 0);
        }
    }
    return NULL;
}

void asks_send(struct service *service)
{
    struct ask_wait *wait;

    service->asks.has_news = false;
    while ((wait = next_ask(service)) != NULL) {
        send_ask(wait);
        arena_reset(&service->arena);
    }
}

int64_t asks_next_ms(const struct service *service)
{
    const struct ask_wait *wait;
    int64_t next_ms = INT64_MAX;

    if (service->asks.has_news) {
        return INT64_MIN;
    }
    DL_FOREACH (service->asks.first, wait) {
        next_ms = wait->until_ms < next_ms ? wait->until_ms : next_ms;
    }
    return next_ms;
}

void asks_deinit(struct service *service)
{
    struct ask_bridge *bridge;
    struct ask_bridge *next;

    DL_FOREACH_SAFE (service->asks.bridges, bridge, next) {
        DL_DELETE(service->asks.bridges, bridge);
        alloc_release(service->alloc, bridge);
    }
}
