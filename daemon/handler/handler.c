/* SPDX-License-Identifier: Apache-2.0 */
/* The table of requests. */
#include "daemon/handler/handler.h"

#include <stdio.h>

#include "core/base/err.h"
#include "daemon/handler/bridge.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/similar.h"
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

static void handle_unsupported(struct ask *ask)
{
    ask_refuse(ask, HEARSAY_CODE_UNSUPPORTED, NULL,
               "this server knows no such request; Welcome's capabilities lists those that it "
               "serves");
}

typedef void handle_function(struct ask *ask);

static handle_function *const handlers[] = {
    [HEARSAY_REQUEST_UNKNOWN] = handle_unsupported,
    [HEARSAY_REQUEST_HELLO] = handle_hello,
    [HEARSAY_REQUEST_DEPOSIT] = handler_deposit,
    [HEARSAY_REQUEST_QUERY] = handler_query,
    [HEARSAY_REQUEST_GET] = handler_get,
    [HEARSAY_REQUEST_WITHDRAW] = handler_withdraw,
    [HEARSAY_REQUEST_PING] = handle_ping,
    [HEARSAY_REQUEST_EXPORT] = handler_export,
    [HEARSAY_REQUEST_SUMMARY] = handler_summary,
    [HEARSAY_REQUEST_HERE] = handler_here,
    [HEARSAY_REQUEST_REPORT] = handler_report,
    [HEARSAY_REQUEST_REMOVE] = handler_remove,
    [HEARSAY_REQUEST_RESTORE] = handler_restore,
    [HEARSAY_REQUEST_REPORTED] = handler_reported,
    [HEARSAY_REQUEST_BAN] = handler_ban,
    [HEARSAY_REQUEST_UNBAN] = handler_unban,
    [HEARSAY_REQUEST_BANS] = handler_bans,
    [HEARSAY_REQUEST_ACCEPT] = handler_accept,
    [HEARSAY_REQUEST_WATCH] = handler_watch,
    [HEARSAY_REQUEST_UNWATCH] = handler_unwatch,
    [HEARSAY_REQUEST_CHECK] = handler_check,
    [HEARSAY_REQUEST_BACKUP] = handler_backup,
    [HEARSAY_REQUEST_COMPACT] = handler_compact,
    [HEARSAY_REQUEST_STATS] = handler_stats,
    [HEARSAY_REQUEST_RELOAD] = handler_reload,
    [HEARSAY_REQUEST_LOG_LEVEL] = handler_log_level,
    [HEARSAY_REQUEST_HIDE] = handler_hide,
    [HEARSAY_REQUEST_DECISIONS] = handler_decisions,
    [HEARSAY_REQUEST_WAIT] = handler_wait,
    [HEARSAY_REQUEST_NOTICE] = handler_notice,
    [HEARSAY_REQUEST_SIMILAR] = handler_similar,
    [HEARSAY_REQUEST_SERVE] = handler_serve,
    [HEARSAY_REQUEST_ANSWERED] = handler_answered,
    [HEARSAY_REQUEST_CHANGES] = handler_changes,
    [HEARSAY_REQUEST_APPLY] = handler_apply,
};

/* A kind of the schema that is not in the table is not served. */
static handle_function *handler_of(enum hearsay_request_kind kind)
{
    size_t count = sizeof(handlers) / sizeof(handlers[0]);

    return kind < count && handlers[kind] != NULL ? handlers[kind] : handle_unsupported;
}

/* Returns false for a request that a bridge, or a gateway for itself, may not send. */
static bool is_reading(enum hearsay_request_kind kind)
{
    switch (kind) {
    case HEARSAY_REQUEST_DEPOSIT:
    case HEARSAY_REQUEST_WITHDRAW:
    case HEARSAY_REQUEST_REPORT:
        return false;
    default: /* administrative requests are refused by ask_is_administrator */
        return true;
    }
}

void handler_handle(struct service *service, struct requester *client,
                    const struct hearsay_request *request)
{
    struct ask ask = {.service = service, .client = client, .request = request};

    if (client->is_gateway && !is_reading(request->kind)) {
        ask_refuse(
            &ask, HEARSAY_CODE_FORBIDDEN, request->name,
            "a gateway may not %s for itself; open a connection whose Hello has on_behalf, the "
            "client's address",
            request->name);
    } else if (client->is_bridge && !is_reading(request->kind)) {
        ask_refuse(&ask, HEARSAY_CODE_FORBIDDEN, request->name,
                   "a bridge may not %s; it carries what was deposited elsewhere", request->name);
    } else if (ask_pay(&ask)) {
        handler_of(request->kind)(&ask);
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
