/* SPDX-License-Identifier: Apache-2.0 */
/* connect: connections to the server of the common options, with TLS where they ask for it. */
#ifndef CLIENT_CLI_BASE_CONNECT_H
#define CLIENT_CLI_BASE_CONNECT_H

#include "client/cli/base/cli.h"

/* The file of known servers, in the folder PLACE_STATE. */
#define CONNECT_KNOWN_SERVERS "known_servers"

/*
 * Connects to cli->server; with TLS if --tls, --ca, --pin or --cert was given. If the server is
 * trusted only because this is the first connection to it (neither --ca nor --pin is given, and
 * CONNECT_KNOWN_SERVERS does not have it), prints a notice with the server's pin to standard error.
 * Returns CLI_DONE with *out_server owned by the caller, or an exit code after printing the error.
 */
int connect_server(const struct cli *cli, struct hearsay **out_server);

/*
 * The same, and finds the host of that name (NULL: the default host). *out_host is borrowed from
 * *out_server. On failure *out_server is NULL.
 */
int connect_host(const struct cli *cli, const char *name, struct hearsay **out_server,
                 const struct hearsay_host **out_host);

/*
 * As connect_server, sending the resume token of an earlier connection (token_bytes 0: none).
 * Returns a status of the library, which the caller reports.
 */
int connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                     struct hearsay **out_server, struct hearsay_error *out_error);

#endif
