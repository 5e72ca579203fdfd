/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_admin: connects the commands admin and export to the daemon, usually over its Unix socket,
 * and sends requests of administration.
 */
#ifndef CLIENT_CLI_BASE_ASK_ADMIN_H
#define CLIENT_CLI_BASE_ASK_ADMIN_H

#include "client/cli/base/cli.h"

/* The timeout of check, backup, compact and similar without --timeout. */
enum { ADMIN_PATIENCE_MS = 15 * 60 * 1000 };

/*
 * Connects to --server, else to HEARSAY_ADMIN, else to HEARSAY_SERVER if it is a path, else to the
 * first usual socket of a daemon that exists. Checks that the server has `host` (NULL: no check).
 * Returns CLI_DONE with cli->connection, or an exit code after printing the error.
 */
int admin_connect(struct cli *cli, const char *host);

/*
 * Sends one request and waits for the reply: as long as --timeout says, else ADMIN_PATIENCE_MS for
 * check, backup, compact and similar, else 10 s. Returns CLI_DONE with *out_reply borrowed from the
 * connection, or an exit code after printing the error. If the server answers "forbidden", a second
 * sentence explains how to become an administrator.
 */
int admin_ask(const struct cli *cli, const struct hearsay_request *request,
              const struct hearsay_response **out_response);

/* Calls admin_connect with `host`, and admin_ask. Returns an exit code. */
int admin_call(struct cli *cli, const char *host, const struct hearsay_request *request,
               const struct hearsay_response **out_response);

#endif
