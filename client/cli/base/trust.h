/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust: the common options about encryption, and what there is to say about whom we talk to.
 */
#ifndef CLIENT_CLI_BASE_TRUST_H
#define CLIENT_CLI_BASE_TRUST_H

#include "client/cli/base/cli.h"

/* The file of known servers, at PLACE_STATE. */
#define TRUST_KNOWN_SERVERS "known_servers"

/*
 * Connects to cli->server, encrypted if --tls, --ca, --pin or --cert was given; says so when an
 * encrypted one was met for the first time. A library status; *out_server is owned.
 */
int trust_connect(const struct cli *cli, struct hearsay **out_server,
                  struct hearsay_error *out_error);

/* The same, showing the resume token of an earlier connection; 0 bytes: none. */
int trust_connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                           struct hearsay **out_server, struct hearsay_error *out_error);

#endif
