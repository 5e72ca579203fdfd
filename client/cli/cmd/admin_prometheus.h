/* SPDX-License-Identifier: Apache-2.0 */
/* admin_prometheus: the figures of the daemon in Prometheus' text format 0.0.4. */
#ifndef CLIENT_CLI_CMD_ADMIN_PROMETHEUS_H
#define CLIENT_CLI_CMD_ADMIN_PROMETHEUS_H

#include "client/cli/base/cli.h"

/*
 * Connects, asks for the figures of `host` (NULL: of all hosts) and prints them. `file` NULL: to
 * standard output. Otherwise replaces the file whole; if the daemon does not answer, the new file
 * has hearsay_up 0 and nothing else. Returns an exit code.
 */
int admin_prometheus(struct cli *cli, const char *host, const char *file);

#endif
