/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_open: opens the addresses and sockets of a server, at the start and at a reload, and
 * becomes the configured user in between. No connection is accepted before the loop runs.
 */
#ifndef DAEMON_NET_SERVER_OPEN_H
#define DAEMON_NET_SERVER_OPEN_H

#include "daemon/net/server.h"

/* Sets server->home; for tests that put a server together by hand. */
void server_open_home(struct server *server);

/*
 * Takes the service manager's sockets, or binds the configured TCP addresses (ports below 1024 need
 * root); then becomes the configured user, for good. 0, CONFIG_REFUSED when the configuration is
 * wrong, or negative; unless 0, a sentence is in out_reason (CONFIG_REASON_BYTES).
 */
int server_open_addresses(struct server *server, char *out_reason);

/* Binds the Unix sockets, as the configured user. Returns as above; negative if no listener is
 * open. */
int server_open_sockets(struct server *server, char *out_reason);

/* What a reload does to each listener; the indexes are those of server->listeners. */
struct server_listen {
    const struct config_listener
        *claims[SERVER_LISTENERS]; /* its line of the new configuration; NULL: it is closed */
    bool is_new[SERVER_LISTENERS];
};

/*
 * Opens the listeners of the new configuration that are not open yet. 0: *out_listen, which borrows
 * from `fresh`, is for server_listen_commit or server_listen_cancel. Negative: a sentence is in
 * out_reason (CONFIG_REASON_BYTES), and no listener has changed. Inherited TCP sockets stay open;
 * then no TCP address is opened.
 */
int server_listen_prepare(struct server *server, const struct config *fresh,
                          struct server_listen *out_listen, char *out_reason);

/* Closes the listeners that server_listen_prepare has opened. */
void server_listen_cancel(struct server *server, const struct server_listen *listen);

/* Closes the listeners that are not in the configuration, and sets the words of the others. */
void server_listen_commit(struct server *server, const struct config *fresh,
                          const struct server_listen *listen);

#endif
