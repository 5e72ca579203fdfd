/* SPDX-License-Identifier: Apache-2.0 */
/* query_batch: query --batch: one question a line of a file, one answer a line. */
#ifndef CLIENT_CLI_CMD_QUERY_BATCH_H
#define CLIENT_CLI_CMD_QUERY_BATCH_H

#include "client/cli/cmd/query_common.h"

/* Answers every line of options->batch. Takes `server`. Returns an exit code. */
int query_batch(const struct cli *cli, const struct query_options *options, struct hearsay *server);

#endif
