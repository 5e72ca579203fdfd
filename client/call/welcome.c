/* SPDX-License-Identifier: Apache-2.0 */
/*
 * welcome: calls that ask the server nothing: the greeting, the hosts, the server's clock,
 * capabilities, TLS, and the wish for changes of here labels.
 */
#include <string.h>

#include "client/call/client.h"
#include "client/now.h"

const struct hearsay_welcome *hearsay_welcome(const struct hearsay *server)
{
    return &server->welcome;
}

int64_t hearsay_now_ms(const struct hearsay *server)
{
    int64_t since_ms = now_monotonic_ms() - server->welcome_at_ms;
    int64_t then_ms = server->welcome.now_ms; /* any number: the server's word */
    return since_ms > 0 && then_ms > INT64_MAX - since_ms ? INT64_MAX : then_ms + since_ms;
}

const struct hearsay_host *hearsay_find_host(const struct hearsay *server, const char *name)
{
    if (name == NULL) {
        return &server->welcome.hosts[0];
    }
    for (size_t i = 0; i < server->welcome.host_count; i++) {
        if (strcmp(server->welcome.hosts[i].name, name) == 0) {
            return &server->welcome.hosts[i];
        }
    }
    return NULL;
}

bool hearsay_has_capability(const struct hearsay *server, const char *name)
{
    for (size_t i = 0; i < server->welcome.capability_count; i++) {
        if (strcmp(server->welcome.capabilities[i].text, name) == 0) {
            return true;
        }
    }
    return false;
}

const struct hearsay_tls_info *hearsay_tls_info(const struct hearsay *server)
{
    return server->tls;
}

void hearsay_take_here_changes(struct hearsay *server)
{
    server->conn.takes_here_changes = true;
}
