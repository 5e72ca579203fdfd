/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration again while the daemon serves. On failure the old configuration stays. */
#include <string.h>

#include "daemon/net/here_watch.h"
#include "daemon/net/server.h"
#include "daemon/system/list.h"

void server_check_certificate(struct server *server, const struct config *config)
{
    (void)server_tls_tick(&server->tls, config, server_clock_monotonic_ms(NULL),
                          server_clock_wall_ms(NULL));
}

void server_note_read(struct server *server)
{
    server->read_ms = server_clock_wall_ms(NULL);
}

/* Logs all lines of `reason`. Then cuts `reason` to its first line and the number of further
 * errors. */
static void refuse_reload(char *reason)
{
    settings_log_refusal(reason);
    size_t others = settings_reason_first(reason);
    size_t used = strlen(reason);
    if (others > 0) {
        snprintf(reason + used, CONFIG_REASON_BYTES - used, " (and %zu more error%s, see the log)",
                 others, others == 1 ? "" : "s");
    }
}

/* Whether a host that both configurations have is in another hood, or in none. */
static bool hoods_differ(const struct config *old, const struct config *fresh)
{
    for (size_t i = 0; i < old->host_count; i++) {
        for (size_t j = 0; j < fresh->host_count; j++) {
            if (strcmp(old->hosts[i].name, fresh->hosts[j].name) == 0 &&
                strcmp(old->hosts[i].hood, fresh->hosts[j].hood) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Ends the sessions of bridges, and of gateways that speak for themselves: they then greet again,
 * and their Welcome has the new hoods. */
static void end_greeted(struct server *server)
{
    struct session *session;

    DL_FOREACH (server->sessions.first, session) {
        if (session->state == SESSION_OPEN &&
            (session->client.is_gateway || session->client.is_bridge)) {
            session_close(session);
        }
    }
}

int server_reload(struct server *server, char *out_reason)
{
    struct config fresh;
    struct server_listen listen;

    notify_reloading();
    int rc = settings_config_load(&options_program, server->options, &fresh, out_reason);
    rc = rc == 0 ? config_check_reload(&server->config, &fresh, out_reason) : rc;
    rc = rc == 0 ? server_listen_prepare(server, &fresh, &listen, out_reason) : rc;
    if (rc == 0) {
        rc = server_tls_load(&server->tls, &fresh, out_reason);
        if (rc != 0) {
            server_listen_cancel(server, &listen);
        }
    }
    if (rc == 0) {
        server_listen_commit(server, &fresh, &listen);
        server_tls_log_pin(&server->tls, &fresh);
        server_check_certificate(server, &fresh);
        if (hoods_differ(&server->config, &fresh)) {
            end_greeted(server);
        }
        server->config = fresh;
        service_reload(server->service, &fresh);
        here_watch_reload(server->here_watch);
        log_set_level(fresh.log_level);
        log_info("configuration reloaded");
    } else {
        refuse_reload(out_reason);
    }
    server->was_refused = rc != 0;
    server_note_read(server);
    notify_ready(rc == 0 ? "serving" : "serving; the last reload was refused");
    return rc;
}
