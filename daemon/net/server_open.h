/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_open: opens the server's listeners at the start and at a reload. At the start, the process
 * becomes the configured user after the TCP addresses are bound and before the Unix sockets are. No
 * connection is accepted before the loop runs.
 */
#ifndef DAEMON_NET_SERVER_OPEN_H
#define DAEMON_NET_SERVER_OPEN_H

#include "daemon/net/server.h"

/*
 * Sets server->home, the data that all listeners share. Declared for tests that put a server
 * together by hand.
 */
void server_open_home(struct server *server);

/*
 * Takes the service manager's sockets. If there are none, binds the configured TCP addresses (ports
 * below 1024 usually need root). Then becomes the configured user for good, if one is configured.
 * Returns 0, CONFIG_REFUSED (the configuration is wrong) or a negative error. On failure a sentence
 * is in out_reason (CONFIG_REASON_BYTES).
 */
int server_open_addresses(struct server *server, char *out_reason);

/* Binds the configured Unix sockets, as the configured user. Returns 0, or a negative error with a
 * sentence in out_reason (CONFIG_REASON_BYTES). A server without any open listener is an error,
 * too. */
int server_open_sockets(struct server *server, char *out_reason);

/* The result of server_listen_prepare: what a reload does to each listener. The arrays have the
 * indexes of server->listeners. */
struct server_listen {
    /* The line of the new configuration that has the listener; NULL: server_listen_commit closes
     * the listener, unless it is inherited. */
    const struct config_listener *claims[SERVER_LISTENERS];
    bool is_new[SERVER_LISTENERS];
};

/*
 * Opens the listeners of the configuration `fresh` that are not open yet. Leaves out an optional
 * address that this machine does not have. Returns 0; the caller then passes *out_listen, which
 * borrows from `fresh`, to server_listen_commit or to server_listen_cancel. Or returns a negative
 * error with a sentence in out_reason (CONFIG_REASON_BYTES); then no listener stays open that was
 * not open before. If the service manager passed sockets, they stay open, and no TCP address is
 * opened.
 */
int server_listen_prepare(struct server *server, const struct config *fresh,
                          struct server_listen *out_listen, char *out_reason);

/* Closes the listeners that server_listen_prepare has opened. */
void server_listen_cancel(struct server *server, const struct server_listen *listen);

/* Closes the listeners that the configuration `fresh` does not have, except inherited ones. Gives
 * the other listeners, except inherited Unix sockets, the words behind the address (`tls`, `local`,
 * ...) of their lines in `fresh`. */
void server_listen_commit(struct server *server, const struct config *fresh,
                          const struct server_listen *listen);

#endif
