/* SPDX-License-Identifier: Apache-2.0 */
/* connect: opens the connection to the server of --server, with TLS if an option asks for TLS. */
#ifndef CLIENT_CLI_BASE_CONNECT_H
#define CLIENT_CLI_BASE_CONNECT_H

#include "client/cli/base/cli.h"

/* The name of the file that lists the known servers. The file is in the folder hearsay/ of
 * PLACE_STATE. */
#define CONNECT_KNOWN_SERVERS "known_servers"

/*
 * Connects to cli->server. If that is `auto`, connects to the first place of discover_places that
 * answers, prints which, and sets cli->server to it. Uses TLS if --tls, --ca, --pin or --cert is
 * given, or if the announcement of a place has tls=1. Without --ca and --pin, the function may
 * trust a server on first use, as struct hearsay_tls describes, and then prints the server's pin.
 * Returns CLI_DONE with cli->connection, or an exit code after printing the error.
 */
int connect_server(struct cli *cli);

/*
 * Connects as connect_server does, and finds the host called `name` (NULL: the default host).
 * *out_host is borrowed from cli->connection. Returns CLI_DONE, or an exit code after printing the
 * error.
 */
int connect_host(struct cli *cli, const char *name, const struct hearsay_host **out_host);

/*
 * Connects as connect_server does, and sends the resume token of an earlier connection (token_bytes
 * 0: no token). *out_server is owned by the caller. Prints no error: returns a status of
 * libhearsay.
 */
int connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                     struct hearsay **out_server, struct hearsay_error *out_error);

#endif
