/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: what the commands for the operator (cmd_admin_*.c) share: one question over a connection
 * of its own.
 */
#ifndef CLIENT_CLI_CMD_ASK_ADMIN_H
#define CLIENT_CLI_CMD_ASK_ADMIN_H

#include "client/cli/base/cli.h"

/* How long check, backup and compact may take unless --timeout says otherwise. */
enum { ADMIN_PATIENCE_MS = 15 * 60 * 1000 };

/*
 * Connects to --server, or else to the daemon's Unix socket: HEARSAY_ADMIN, HEARSAY_SERVER where it
 * is a path, or the first socket that is there of those that a daemon makes by itself. Sees that
 * there is a host of that name (NULL: any will do). CLI_DONE with *out_server owned, or an exit
 * code after saying why.
 */
int admin_connect(const struct cli *cli, const char *host, struct hearsay **out_server);

/*
 * Asks. CLI_DONE with *out_reply borrowed from the connection, or an exit code after saying why,
 * and what would be right where we are no administrator. `slow`: what may take minutes.
 */
int admin_ask(const struct cli *cli, struct hearsay *server, const struct hearsay_admin *admin,
              bool slow, const struct hearsay_admin_reply **out_reply);

/* Both, for commands that print `done` when it is done. */
int admin_do(const struct cli *cli, const struct hearsay_admin *admin, const char *done);

#endif
