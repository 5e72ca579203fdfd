/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_open: where a server listens, and as whom it goes on. What only root may do comes first.
 * Both functions return 0, CONFIG_REFUSED when the configuration is at fault, or negative; the last
 * two with a sentence in out_reason (CONFIG_REASON_BYTES). Nobody is accepted before the loop runs.
 */
#ifndef DAEMON_SERVER_OPEN_H
#define DAEMON_SERVER_OPEN_H

#include "daemon/server.h"

/*
 * Takes the service manager's sockets, or binds the configured TCP addresses, of which some ports
 * are root's; then becomes the configured user, for good.
 */
int server_open_addresses(struct server *server, char *out_reason);

/* Binds the Unix sockets, which are the user's. Refuses a server that would listen nowhere. */
int server_open_sockets(struct server *server, char *out_reason);

#endif
