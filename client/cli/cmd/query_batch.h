/* SPDX-License-Identifier: Apache-2.0 */
/* query_batch: answers the queries of a file, one query a line, with one line of JSON each. */
#ifndef CLIENT_CLI_CMD_QUERY_BATCH_H
#define CLIENT_CLI_CMD_QUERY_BATCH_H

#include "client/cli/cmd/query_common.h"

/* Answers the lines of the file options->batch in order. Returns an exit code. */
int query_batch(struct cli *cli, const struct query_options *options);

#endif
