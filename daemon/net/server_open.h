/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_open: where a server listens, and as whom it goes on. What only root may do comes first.
 * The first two functions return 0, CONFIG_REFUSED when the configuration is at fault, or negative;
 * the last two with a sentence in out_reason (CONFIG_REASON_BYTES). Nobody is accepted before the
 * loop runs.
 */
#ifndef DAEMON_NET_SERVER_OPEN_H
#define DAEMON_NET_SERVER_OPEN_H

#include "daemon/net/server.h"

/* Sets server->home; for tests that put a server together by hand. */
void server_open_home(struct server *server);

/*
 * Takes the service manager's sockets, or binds the configured TCP addresses, of which some ports
 * are root's; then becomes the configured user, for good.
 */
int server_open_addresses(struct server *server, char *out_reason);

/* Binds the Unix sockets, which are the user's. Refuses a server that would listen nowhere. */
int server_open_sockets(struct server *server, char *out_reason);

/* What a reload does to the listeners, by their place in the server. */
struct server_listen {
    const struct config_listener
        *claims[SERVER_LISTENERS]; /* what each goes on as; NULL: it closes */
    bool is_new[SERVER_LISTENERS];
};

/*
 * Opens the listeners of a configuration that are not open yet, so that all may still be undone. 0
 * with *listen for server_listen_commit or server_listen_cancel, which borrows from `fresh`; or
 * negative with a sentence in out_reason (CONFIG_REASON_BYTES), and all is as it was. Inherited TCP
 * sockets stay, and stand for all TCP addresses.
 */
int server_listen_prepare(struct server *server, const struct config *fresh,
                          struct server_listen *listen, char *out_reason);

/* Closes those that prepare has opened. */
void server_listen_cancel(struct server *server, const struct server_listen *listen);

/* Closes those that are not in the configuration, and gives the others their words. */
void server_listen_commit(struct server *server, const struct config *fresh,
                          const struct server_listen *listen);

#endif
