/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the server that the service and the handlers call: when an administrator asks for
 * figures or for a reload, when a host has a new epoch, when a new host is open, when an operator
 * has changed which deposits a host accepts or its notices, and when the host's clock was set.
 */

#include "daemon/limits/figures.h"
#include "daemon/net/here_watch.h"
#include "daemon/net/server.h"
#include "daemon/system/list.h"

enum { WRITTEN_BLOCK_BYTES = 512 }; /* the unit of ru_oublock */

static void add_figures(void *context, struct figures *figures)
{
    struct server *server = context;
    size_t resident = 0;
    uv_rusage_t usage;

    figures_add(figures, server->sessions.count, "sessions");
    figures_add(figures, server->sessions.total, "sessions_total");
    figures_add(figures, server->sessions.output_bytes, "output_bytes");
    drops_add_figures(&server->sessions.drops, figures);
    refusals_add_figures(&server->sessions.refusals, figures);
    if (server_tls_not_after_ms(&server->tls) > 0) {
        figures_add(figures, (uint64_t)server_tls_not_after_ms(&server->tls),
                    "certificate_not_after_timestamp_ms");
    }
    if (uv_resident_set_memory(&resident) == 0) {
        figures_add(figures, resident, "resident_bytes");
    }
    if (uv_getrusage(&usage) == 0) {
        figures_add(figures, usage.ru_oublock * WRITTEN_BLOCK_BYTES, "written_bytes_total");
    }
    figures_add(figures, !server->was_refused, "reload_ok");
    figures_add(figures, (uint64_t)server->read_ms, "reload_timestamp_ms");
}

static int on_reload(void *context, char *out_reason)
{
    struct server *server = context;

    if (server->stopping) { /* what a reload opened would never be closed */
        snprintf(out_reason, CONFIG_REASON_BYTES, "the server is stopping");
        return CONFIG_REFUSED;
    }
    return server_reload(server, out_reason);
}

static void epoch_changed(void *context, const struct host *host)
{
    struct server *server = context;
    struct session *session;

    DL_FOREACH (server->sessions.first, session) {
        if (session->state == SESSION_OPEN) {
            handler_push_epoch(&session->client, host);
        }
    }
}

static void host_opened(void *context)
{
    struct server *server = context;

    here_watch_reload(server->here_watch);
}

void server_tell_gateways(void *context)
{
    struct server *server = context;
    int64_t now_ms = service_now_ms(server->service);
    struct session *session;

    for (size_t i = 0; i < server->service->host_count; i++) {
        struct host *host = &server->service->hosts[i];
        bool has_other_accept = accept_mode_changed(host, now_ms);
        rules_end_notices(&host->rules, now_ms);
        bool has_news = host->rules.has_news;

        host->rules.has_news = false;
        DL_FOREACH (server->sessions.first, session) {
            if (session->state != SESSION_OPEN || !session->client.is_gateway) {
                continue;
            }
            if (has_other_accept) {
                handler_push_accept(&session->client, host, now_ms);
            }
            if (has_news) {
                handler_push_notices(&session->client, host);
            }
        }
    }
}

/* The times that clients have are wrong now. Who was not greeted yet has none, and is greeted by
 * the new clock: after a boot clients come before the clock of the last run is set. */
static void clock_set(void *context)
{
    struct server *server = context;
    struct session *session;

    DL_FOREACH (server->sessions.first, session) {
        if (session->state != SESSION_NEW) {
            session_close(session);
        }
    }
}

struct service_control server_control_new(struct server *server)
{
    return (struct service_control){.context = server,
                                    .add_figures = add_figures,
                                    .reload = on_reload,
                                    .epoch_changed = epoch_changed,
                                    .host_opened = host_opened,
                                    .host_changed = server_tell_gateways,
                                    .clock_set = clock_set};
}
