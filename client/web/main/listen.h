/* SPDX-License-Identifier: Apache-2.0 */
/* listen: opens the sockets on which phones, or a proxy, reach the program. */
#ifndef CLIENT_WEB_MAIN_LISTEN_H
#define CLIENT_WEB_MAIN_LISTEN_H

#include <stddef.h>

#include "client/web/http.h"
#include "client/web/setup/config.h"

/* Open listeners; `count` of each. */
struct listen {
    struct http_listener sockets[HTTP_LISTENERS_MAX];
    struct web_config_listener places[HTTP_LISTENERS_MAX]; /* with the ports that were bound */
    size_t count;
};

/*
 * Takes the sockets of the service manager, which the moderators' page refuses; without any opens
 * those of the configuration. 0; or
 * -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES), and nothing stays open.
 */
int listen_open(const struct web_config *config, struct listen *out_listen, char *out_reason);

/* Removes the files of Unix sockets that listen_open made. The sockets are closed by others. */
void listen_clean(const struct listen *listen);

#endif
