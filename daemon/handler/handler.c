/* SPDX-License-Identifier: Apache-2.0 */
/* The table of requests. */
#include "daemon/handler/handler.h"

#include <stdio.h>

#include "core/base/err.h"
#include "daemon/handler/bridge.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/similar.h"
#include "daemon/limits/sender.h"
#include "daemon/watch/asks.h"
#include "daemon/watch/watch.h"

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
    struct msg_response response = {
        .id = ask->request->id,
        .kind = MSG_RESPONSE_PONG,
        .pong = {.now_ms = service_now_ms(ask->service),
                 .clock_trusted = service_clock_trusted(ask->service)},
    };
    ask_respond(ask, &response);
}

static void handle_hello(struct ask *ask)
{
    ask_refuse(ask, MSG_INVALID, "hello", "the connection was greeted already; Hello is sent once");
}

static void handle_unsupported(struct ask *ask)
{
    ask_refuse(ask, MSG_UNSUPPORTED, NULL,
               "this server knows no such request; Welcome's capabilities lists those that it "
               "serves");
}

typedef void handle_function(struct ask *ask);

static handle_function *const handlers[] = {
    [MSG_REQUEST_UNKNOWN] = handle_unsupported,
    [MSG_REQUEST_HELLO] = handle_hello,
    [MSG_REQUEST_DEPOSIT] = handler_deposit,
    [MSG_REQUEST_QUERY] = handler_query,
    [MSG_REQUEST_GET] = handler_get,
    [MSG_REQUEST_WITHDRAW] = handler_withdraw,
    [MSG_REQUEST_PING] = handle_ping,
    [MSG_REQUEST_EXPORT] = handler_export,
    [MSG_REQUEST_SUMMARY] = handler_summary,
    [MSG_REQUEST_HERE] = handler_here,
    [MSG_REQUEST_REPORT] = handler_report,
    [MSG_REQUEST_REMOVE] = handler_remove,
    [MSG_REQUEST_RESTORE] = handler_restore,
    [MSG_REQUEST_REPORTED] = handler_reported,
    [MSG_REQUEST_BAN] = handler_ban,
    [MSG_REQUEST_UNBAN] = handler_unban,
    [MSG_REQUEST_BANS] = handler_bans,
    [MSG_REQUEST_ACCEPT] = handler_accept,
    [MSG_REQUEST_WATCH] = handler_watch,
    [MSG_REQUEST_UNWATCH] = handler_unwatch,
    [MSG_REQUEST_CHECK] = handler_check,
    [MSG_REQUEST_BACKUP] = handler_backup,
    [MSG_REQUEST_COMPACT] = handler_compact,
    [MSG_REQUEST_STATS] = handler_stats,
    [MSG_REQUEST_RELOAD] = handler_reload,
    [MSG_REQUEST_LOG_LEVEL] = handler_log_level,
    [MSG_REQUEST_HIDE] = handler_hide,
    [MSG_REQUEST_DECISIONS] = handler_decisions,
    [MSG_REQUEST_WAIT] = handler_wait,
    [MSG_REQUEST_NOTICE] = handler_notice,
    [MSG_REQUEST_SIMILAR] = handler_similar,
    [MSG_REQUEST_SERVE] = handler_serve,
    [MSG_REQUEST_ANSWERED] = handler_answered,
    [MSG_REQUEST_CHANGES] = handler_changes,
    [MSG_REQUEST_APPLY] = handler_apply,
};

/* Returns false for a request that a bridge, or a gateway for itself, may not send. */
static bool is_reading(enum msg_request_kind kind)
{
    switch (kind) {
    case MSG_REQUEST_DEPOSIT:
    case MSG_REQUEST_WITHDRAW:
    case MSG_REQUEST_REPORT:
        return false;
    default: /* administrative requests are refused by ask_is_administrator */
        return true;
    }
}

void handler_handle(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    struct ask ask = {.service = service, .client = client, .request = request};
    handle_function *const handle = handlers[request->kind];

    if (client->is_gateway && !is_reading(request->kind)) {
        ask_refuse(
            &ask, MSG_FORBIDDEN, request->name,
            "a gateway may not %s for itself; open a connection whose Hello has on_behalf, the "
            "client's address",
            request->name);
    } else if (client->is_bridge && !is_reading(request->kind)) {
        ask_refuse(&ask, MSG_FORBIDDEN, request->name,
                   "a bridge may not %s; it carries what was deposited elsewhere", request->name);
    } else if (ask_pay(&ask)) {
        handle(&ask);
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
