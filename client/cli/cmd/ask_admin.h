/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_admin: what the operator's commands (admin_*.c) share: connecting to the daemon's Unix socket
 * and one request over it.
 */
#ifndef CLIENT_CLI_CMD_ASK_ADMIN_H
#define CLIENT_CLI_CMD_ASK_ADMIN_H

#include "client/cli/base/cli.h"

/* How long check, backup and compact may take unless --timeout says otherwise. */
enum { ADMIN_PATIENCE_MS = 15 * 60 * 1000 };

/*
 * Connects to --server, else to HEARSAY_ADMIN, else to HEARSAY_SERVER if it is a path, else to the
 * first of the usual sockets of a daemon that exists. Checks that the server has the host (NULL: no
 * check). CLI_DONE with *out_server owned, or an exit code after saying why.
 */
int admin_connect(const struct cli *cli, const char *host, struct hearsay **out_server);

/*
 * Sends the request and waits, up to ADMIN_PATIENCE_MS for HEARSAY_ADMIN_CHECK, _BACKUP and
 * _COMPACT unless --timeout is given. CLI_DONE with *out_reply borrowed from the connection, or an
 * exit code after printing the error. A user who is no administrator is told how to become one.
 */
int admin_ask(const struct cli *cli, struct hearsay *server, const struct hearsay_admin *admin,
              const struct hearsay_admin_reply **out_reply);

/* admin_connect to admin->host, and admin_ask. On failure *out_server is NULL. */
int admin_call(const struct cli *cli, const struct hearsay_admin *admin,
               struct hearsay **out_server, const struct hearsay_admin_reply **out_reply);

/* admin_call; prints `done` on success. Returns an exit code. */
int admin_do(const struct cli *cli, const struct hearsay_admin *admin, const char *done);

#endif
