/* SPDX-License-Identifier: Apache-2.0 */
/* query_common: what query, query --batch and watch share: options, the query, a row of output. */
#ifndef CLIENT_CLI_CMD_QUERY_COMMON_H
#define CLIENT_CLI_CMD_QUERY_COMMON_H

#include "client/cli/base/cli.h"
#include "client/cli/input/channel.h"
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
    const char *group;            /* where the secret of a group is: see secret.h */
    struct hearsay_group *shared; /* no option: that group once it was read; NULL: none */
    uint32_t miss;                /* millionths */
    bool here;                    /* add the labels of the access point's surroundings */
    int epoch;                    /* enum epoch_choice */
    const char *channel;          /* its name */
    bool ids;
    bool json;
};

/* Fills the fields that do not depend on labels; --since and --until become server times. */
void query_prepare(const struct query_options *options, const struct hearsay *server,
                   const struct hearsay_host *host, struct hearsay_query *out_query);

/* Prints a result as JSON or as a row, the first row with a heading. CLI_DONE or an exit code. */
int query_print_result(const struct cli *cli, const struct query_options *options,
                       const struct hearsay_result *result, int64_t now_ms, bool is_first);

/*
 * Opens the file of --memory under the host's profile. *out_recent is owned (hearsay_recent_close),
 * NULL without the option. Returns what hearsay_recent_open does.
 */
int query_open_memory(const struct query_options *options, const struct hearsay_host *host,
                      struct hearsay_recent **out_recent, struct hearsay_error *out_error);

/*
 * Finds the channel of --channel (name NULL: none). The group and the host of the channel replace
 * *group and *host where these are NULL. CLI_DONE, or an exit code after printing the error.
 */
int query_find_channel(const struct cli *cli, const char *name, struct channel *out_channel,
                       const char **group, const char **host);

/*
 * Reads the context of the options and of the channel, which has no labels where --channel is not
 * given. The context may be empty only with --here or with a channel. CLI_DONE with *out_context
 * owned (hearsay_context_free), or an exit code after printing the error.
 */
int query_read_context(const struct cli *cli, const struct sensed *sensed, bool here,
                       const struct channel *channel, struct hearsay_context **out_context);

#endif
