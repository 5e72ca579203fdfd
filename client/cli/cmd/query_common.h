/* SPDX-License-Identifier: Apache-2.0 */
/* query_common: what query, query --batch and watch share: options, the query, a row of output. */
#ifndef CLIENT_CLI_CMD_QUERY_COMMON_H
#define CLIENT_CLI_CMD_QUERY_COMMON_H

#include "client/cli/base/cli.h"
#include "client/cli/input/sensed.h"

#define QUERY_MISS      1000 /* miss, unless told otherwise: 0.001 */
#define QUERY_MISS_MAX  500000
#define QUERY_SUGGESTED UINT32_MAX /* max_distance: what the host suggests */

struct query_options {
    struct sensed sensed;
    struct args_list contains;
    uint32_t k;
    uint32_t max_distance; /* or QUERY_SUGGESTED */
    struct args_moment since;
    struct args_moment until;
    int order;  /* 0: similarity, 1: time */
    int metric; /* 0: bits, 1: estimated */
    const char *host;
    const char *batch;
    const char *memory;           /* file of hearsay_recent */
    const char *unseen;           /* file of hearsay_seen */
    const char *group;            /* where its secret is */
    struct hearsay_group *shared; /* no option: that group, once it is read; NULL: none */
    uint32_t miss;                /* millionths */
    bool here;                    /* what the access point says is around it, too */
    int epoch;                    /* enum epoch_choice */
    const char *channel;          /* its name */
    bool ids;
    bool json;
};

/* Fills all that does not depend on labels or k. Two moments become server times. */
void query_prepare(const struct query_options *options, const struct hearsay *server,
                   const struct hearsay_host *host, struct hearsay_query *out_query);

/* One result, as JSON or as a row, the first with a heading. CLI_DONE or an exit code. */
int query_print_result(const struct cli *cli, const struct query_options *options,
                       const struct hearsay_result *result, int64_t now_ms, bool is_first);

/*
 * What --memory remembers, under the host's profile: *out_recent is owned (hearsay_recent_close),
 * NULL without the option. What hearsay_recent_open says.
 */
int query_open_memory(const struct query_options *options, const struct hearsay_host *host,
                      struct hearsay_recent **out_recent, struct hearsay_error *out_error);

#endif
