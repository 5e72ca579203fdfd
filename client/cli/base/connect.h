/* SPDX-License-Identifier: Apache-2.0 */
/* connect: connections to the server of the common options, with TLS where they ask for it. */
#ifndef CLIENT_CLI_BASE_CONNECT_H
#define CLIENT_CLI_BASE_CONNECT_H

#include "client/cli/base/cli.h"

/* The file of known servers, in the folder PLACE_STATE. */
#define CONNECT_KNOWN_SERVERS "known_servers"

/*
 * Connects to cli->server; with TLS if --tls, --ca, --pin or --cert was given. When it believes a
 * server only because nobody has met it before, it says so on standard error. CLI_DONE with
 * *out_server owned, or an exit code after saying why.
 */
int connect_server(const struct cli *cli, struct hearsay **out_server);

/*
 * The same, sending the resume token of an earlier connection (token_bytes 0: none). Returns a
 * status of the library, which the caller reports.
 */
int connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                     struct hearsay **out_server, struct hearsay_error *out_error);

#endif
