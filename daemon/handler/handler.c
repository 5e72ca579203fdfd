/* SPDX-License-Identifier: Apache-2.0 */
/* The table of requests. */
#include "daemon/handler/handler.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "daemon/handler/bridge.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/similar.h"
#include "daemon/limits/cost.h"
#include "daemon/watch/asks.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

/* What waits, in bytes of memory. */
enum {
    MATCHING_BYTES_MAX = 8 * 1024 * 1024, /* messages that wait to be matched with watches */
    /* Deposits, withdrawals and reports that wait for the store. If they hold more, a sender may
     * have one at a time; a client without limits, after the second number. */
    WRITING_BYTES_TURNS = 64 * 1024,
    WRITING_BYTES_MAX = 8 * 1024 * 1024
};

static void handle_ping(struct ask *ask)
{
    struct hearsay_response response = {
        .id = ask->request->id,
        .kind = HEARSAY_RESPONSE_PONG,
        .pong = {.now_ms = service_now_ms(ask->service),
                 .clock_trusted = service_clock_trusted(ask->service)},
    };
    ask_respond(ask, &response);
}

static void handle_hello(struct ask *ask)
{
    ask_refuse(ask, HEARSAY_CODE_INVALID, "hello",
               "the connection was greeted already; Hello is sent once");
}

/* Who may send a request. GATEWAY is a gateway that sends a request for itself, not for a client. A
 * request that guests may send costs tokens, unless it is FREE. */
enum {
    GUEST = 1,
    GATEWAY = 2,
    BRIDGE = 4,
    ADMINISTRATOR = 8,
    WRITER = GUEST | ADMINISTRATOR,
    ANYONE = WRITER | GATEWAY | BRIDGE,
    FREE = 16
};

struct served {
    void (*handle)(struct ask *ask); /* NULL: there is no such request */
    unsigned senders;
};

/* For each kind of request: which function carries it out, and who may send it. Welcome tells each
 * client which requests it may send. */
static const struct served requests[] = {
    [HEARSAY_REQUEST_HELLO] = {handle_hello, ANYONE | FREE},
    [HEARSAY_REQUEST_DEPOSIT] = {handler_deposit, WRITER},
    [HEARSAY_REQUEST_QUERY] = {handler_query, ANYONE},
    [HEARSAY_REQUEST_GET] = {handler_get, ANYONE},
    [HEARSAY_REQUEST_WITHDRAW] = {handler_withdraw, WRITER},
    [HEARSAY_REQUEST_PING] = {handle_ping, ANYONE | FREE},
    [HEARSAY_REQUEST_EXPORT] = {handler_export, ADMINISTRATOR},
    [HEARSAY_REQUEST_SUMMARY] = {handler_summary, ANYONE},
    [HEARSAY_REQUEST_HERE] = {handler_here, ANYONE},
    [HEARSAY_REQUEST_REPORT] = {handler_report, WRITER},
    [HEARSAY_REQUEST_REMOVE] = {handler_remove, ADMINISTRATOR},
    [HEARSAY_REQUEST_RESTORE] = {handler_restore, ADMINISTRATOR},
    [HEARSAY_REQUEST_REPORTED] = {handler_reported, ADMINISTRATOR},
    [HEARSAY_REQUEST_BAN] = {handler_ban, ADMINISTRATOR},
    [HEARSAY_REQUEST_UNBAN] = {handler_unban, ADMINISTRATOR},
    [HEARSAY_REQUEST_BANS] = {handler_bans, ADMINISTRATOR},
    [HEARSAY_REQUEST_ACCEPT] = {handler_accept, ADMINISTRATOR},
    [HEARSAY_REQUEST_WATCH] = {handler_watch, ANYONE},
    [HEARSAY_REQUEST_UNWATCH] = {handler_unwatch, ANYONE | FREE},
    [HEARSAY_REQUEST_CHECK] = {handler_check, ADMINISTRATOR},
    [HEARSAY_REQUEST_BACKUP] = {handler_backup, ADMINISTRATOR},
    [HEARSAY_REQUEST_COMPACT] = {handler_compact, ADMINISTRATOR},
    [HEARSAY_REQUEST_STATS] = {handler_stats, ADMINISTRATOR},
    [HEARSAY_REQUEST_RELOAD] = {handler_reload, ADMINISTRATOR},
    [HEARSAY_REQUEST_LOG_LEVEL] = {handler_log_level, ADMINISTRATOR},
    [HEARSAY_REQUEST_HIDE] = {handler_hide, ADMINISTRATOR},
    [HEARSAY_REQUEST_DECISIONS] = {handler_decisions, ADMINISTRATOR},
    [HEARSAY_REQUEST_WAIT] = {handler_wait, ADMINISTRATOR},
    [HEARSAY_REQUEST_NOTICE] = {handler_notice, ADMINISTRATOR},
    [HEARSAY_REQUEST_SIMILAR] = {handler_similar, ADMINISTRATOR},
    [HEARSAY_REQUEST_SERVE] = {handler_serve, BRIDGE},
    [HEARSAY_REQUEST_ANSWERED] = {handler_answered, BRIDGE},
    [HEARSAY_REQUEST_CHANGES] = {handler_changes, BRIDGE | ADMINISTRATOR},
    [HEARSAY_REQUEST_APPLY] = {handler_apply, BRIDGE},
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

/* Counts the parts that are too full for bounds. By default there are none: they are refused. */
static uint32_t count_full(struct service *service, const struct hearsay_query *query)
{
    bool may_be_full = service->config.limits.query_fill_max_ppm > ASK_FULL_PPM;
    const struct host *host = may_be_full ? service_host(service, query->host.text) : NULL;
    uint32_t full = 0;

    for (size_t i = 0; host != NULL && i < query->part_count; i++) {
        const struct hearsay_query_part *part = &query->parts[i];

        full += ask_is_full(host, &part->filter) || ask_is_full(host, &part->contains) ? 1 : 0;
    }
    return full;
}

uint32_t handler_cost(struct service *service, const struct hearsay_request *request,
                      enum sender_action *out_action)
{
    uint32_t kind = request->kind;
    unsigned senders = kind < REQUESTS ? requests[kind].senders : 0;
    const struct hearsay_query *query = kind == HEARSAY_REQUEST_QUERY   ? &request->query
                                        : kind == HEARSAY_REQUEST_WATCH ? &request->watch.query
                                                                        : NULL;

    *out_action = senders == WRITER ? SENDER_DEPOSIT : SENDER_QUERY;
    return query != NULL           ? cost_query(query, count_full(service, query))
           : (senders & FREE) != 0 ? 0
                                   : senders & GUEST;
}

static bool may_send(const struct requester *client, unsigned senders)
{
    unsigned role = client->is_administrator ? ADMINISTRATOR
                    : client->is_bridge      ? BRIDGE
                    : client->is_gateway     ? GATEWAY
                                             : GUEST;

    return (senders & role) != 0;
}

size_t handler_list_requests(const struct requester *client, struct hearsay_text *out)
{
    size_t count = 0;

    for (uint32_t kind = 0; kind < REQUESTS; kind++) {
        if (may_send(client, requests[kind].senders)) {
            const char *name = codec_request_name((enum hearsay_request_kind)kind);
            out[count++] = (struct hearsay_text){name, strlen(name)};
        }
    }
    return count;
}

/* Sends the error for a request that the client may not send. */
static void refuse_sender(const struct ask *ask, unsigned senders)
{
    const struct requester *client = ask->client;
    const char *name = ask->request->name;

    if (senders == BRIDGE) {
        ask_refuse(ask, HEARSAY_CODE_UNSUPPORTED, name,
                   "%s is served to a bridge only, on a `listen` line with the word bridge", name);
    } else if (senders == WRITER && client->is_gateway) {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, name,
                   "a gateway may not %s for itself; open a connection whose Hello has on_behalf, "
                   "the client's address",
                   name);
    } else if (senders == WRITER) {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, name,
                   "a bridge may not %s; it carries what was deposited elsewhere", name);
    } else if (client->is_bridge) {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, name,
                   "a bridge is no administrator; %s is for those", name);
    } else if (client->is_local) {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, name,
                   "%s is for the daemon's own user and root; become one of them (sudo)", name);
    } else {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, name,
                   "%s is served on the daemon's Unix socket only, to its own user and root", name);
    }
}

/*
 * Takes the tokens that the request costs from the rate limits of who pays for it. Returns true
 * if the tokens were taken, if the request costs nothing, or if the client has no rate limits.
 * Otherwise takes no token, sets client->is_over_rate, sends the error RATE_LIMITED and returns
 * false.
 */
static bool take_cost(const struct ask *ask)
{
    struct service *service = ask->service;
    struct sender *payer = requester_payer(ask->client);
    enum sender_action action;

    if (payer == NULL) {
        return true;
    }
    uint32_t cost = handler_cost(service, ask->request, &action);
    uint64_t wait_ms = cost == 0 ? 0
                                 : sender_take(payer, action, &service->sender_limits, cost,
                                               service_monotonic_ms(service));
    if (wait_ms == 0) {
        return true;
    }
    ask->client->is_over_rate = true;
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_ERROR};
    msg_error_set(&response.error, HEARSAY_CODE_RATE_LIMITED, NULL,
                  "this address sends more %s than are taken here",
                  action == SENDER_DEPOSIT ? "deposits" : "queries");
    response.error.retry_after_ms = wait_ms;
    ask_respond(ask, &response);
    return false;
}

void handler_handle(struct service *service, struct requester *client,
                    const struct hearsay_request *request)
{
    struct ask ask = {.service = service, .client = client, .request = request};
    uint32_t kind = request->kind;
    const struct served *served = kind < REQUESTS ? &requests[kind] : NULL;

    if (served == NULL || served->handle == NULL) {
        ask_refuse(&ask, HEARSAY_CODE_UNSUPPORTED, NULL,
                   "this server knows no such request; Welcome's capabilities lists those that it "
                   "serves");
    } else if (!may_send(client, served->senders)) {
        refuse_sender(&ask, served->senders);
    } else if (take_cost(&ask)) {
        served->handle(&ask);
    }
}

/* --- the service ------------------------------------------------------------------------------ */

int handler_open(const struct service_options *options, struct service **out_service,
                 char *out_reason)
{
    struct service *service = NULL;
    int rc = service_new(options, &service, out_reason);

    if (rc != 0) {
        return rc;
    }
    rc = watch_init(service);
    if (rc != 0) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
        service_free(service);
        return rc;
    }
    *out_service = service;
    return 0;
}

void handler_close(struct service *service)
{
    if (service != NULL) {
        asks_deinit(service);
        watch_deinit(service);
        service_free(service);
    }
}

static bool waits_for_its_turn(const struct service *service, const struct requester *client)
{
    if (client->sender == NULL) {
        return client->writes > 0 && service->writing_bytes > WRITING_BYTES_MAX;
    }
    return service->writing_bytes > WRITING_BYTES_TURNS &&
           sender_share(client->sender, SENDER_WRITES).held > 0;
}

bool handler_is_congested(const struct service *service, const struct requester *client)
{
    return service->is_setting_clock || watch_waiting_bytes(service) > MATCHING_BYTES_MAX ||
           waits_for_its_turn(service, client);
}
