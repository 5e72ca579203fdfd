/* SPDX-License-Identifier: Apache-2.0 */
/* query_common: the code that query, query --batch, watch and deposit share. */
#pragma once

#include "client/cli/base/cli.h"
#include "client/cli/input/input.h"

#define QUERY_MISS      1000 /* miss, unless told otherwise: 0.001 */
#define QUERY_MISS_MAX  500000
#define QUERY_SUGGESTED UINT32_MAX /* max_distance: what the host suggests */

/*
 * What query and watch are asked for. The options that are numbers are set in the request itself.
 * Every command whose options begin with this struct may have the rows of QUERY_OPTIONS.
 */
struct query_options {
    struct hearsay_query asked; /* max_distance_ppm: or QUERY_SUGGESTED */
    struct sensed sensed;
    struct args_list contains;
    struct args_moment since;
    struct args_moment until;
    int order;  /* 0: similarity, 1: time, 2: newest */
    int metric; /* 0: phi, 1: bits */
    const char *host;
    const char *batch;
    const char *memory;           /* file of hearsay_recent */
    const char *unseen;           /* file of hearsay_seen */
    const char *group;            /* value of --group; see secret */
    struct hearsay_group *shared; /* no option: the group of `group`; NULL: none */
    uint32_t miss;                /* millionths */
    bool no_here;                 /* do not add the here labels */
    bool is_unbounded;            /* no option: without --max-distance there is no bound */
    int epoch;                    /* enum epoch_choice */
    const char *channel;          /* its name */
    bool hood;                    /* ask the hood of the host */
    bool ids;
    bool json;
};

/* The names of --metric, in the order of query_options.metric. */
extern const char *const query_metric_names[];

/* The rows of the options that query and watch share. */
#define QUERY_OPTIONS                                                                              \
    SENSED_OPTIONS(struct query_options, sensed), NO_HERE_OPTION(struct query_options, no_here),   \
        ARGS_ROW("contains", 'c', ARGS_LIST, struct query_options, contains, "LABEL",              \
                 "only messages whose filter has this label; give it once for each"),              \
        ARGS_ROW("max-distance", 'd', ARGS_DISTANCE, struct query_options, asked.max_distance_ppm, \
                 "D", "none beyond, 0 to 1 (what the host suggests)"),                             \
        ARGS_NAMES("metric", 'm', struct query_options, metric, query_metric_names,                \
                   "phi: by the correlation of the filters; bits: by shared bits (phi)"),          \
        ARGS_ROW("memory", 0, ARGS_TEXT, struct query_options, memory, "FILE",                     \
                 "also near to where one was lately; see hearsay here"),                           \
        ARGS_ROW("channel", 0, ARGS_TEXT, struct query_options, channel, "NAME",                   \
                 "the context that was saved under this name; see hearsay channel"),               \
        SECRET_OPTION(struct query_options, group),                                                \
        ARGS_ROW("host", 0, ARGS_TEXT, struct query_options, host, "HOST",                         \
                 "where (the first host)"),                                                        \
        ARGS_ROW("ids", 0, ARGS_FLAG, struct query_options, ids, NULL, "show the messages' ids")

/*
 * Sets the fields of the query that do not depend on labels. Converts --since and --until to times
 * of the server.
 */
void query_prepare(const struct query_options *options, const struct hearsay *server,
                   const struct hearsay_host *host, struct hearsay_query *out_query);

/*
 * Prints one result as JSON or as a row of a table. Before the first row, prints a heading. Sets
 * *cut (NULL: nobody asks) if the terminal has no room for the whole text. Returns CLI_DONE or an
 * exit code.
 */
int query_print_result(const struct cli *cli, const struct query_options *options,
                       const struct hearsay_result *result, int64_t now_ms, bool is_first,
                       bool *cut);

/*
 * Opens the file of --memory with the profile of the host. *out_recent is owned
 * (hearsay_recent_close); without --memory it is NULL. Returns a status of libhearsay.
 */
int query_open_memory(const struct query_options *options, const struct hearsay_host *host,
                      struct hearsay_recent **out_recent, struct hearsay_error *out_error);

/*
 * Finds the channel called `name` (NULL: no channel). If *group or *host is NULL, sets it from the
 * channel. *out_channel is zeroed before the call. Returns CLI_DONE, or an exit code after printing
 * the error.
 */
int query_find_channel(const struct cli *cli, const char *name, struct channel *out_channel,
                       const char **group, const char **host);

/*
 * Makes a context from the options and the labels of the channel. Without --channel, the channel
 * has no labels. An empty context is an error unless `may_be_empty` is set. Returns CLI_DONE with
 * *out_context owned (hearsay_context_free), or an exit code after printing the error.
 */
int query_read_context(const struct cli *cli, const struct sensed *sensed, bool may_be_empty,
                       const struct channel *channel, struct hearsay_context **out_context);

/*
 * Makes the context of a query or watch, without the here labels, from the options and the channel.
 * If the context is one label (hearsay_context_only_label), and there is no memory, appends this
 * label to options->contains. Sets options->is_unbounded if the user has said what is wanted, so
 * that the here labels only decide the order. Returns like query_read_context.
 */
int query_begin_context(const struct cli *cli, struct query_options *options,
                        const struct channel *channel, struct hearsay_context **out_context);

/*
 * Completes the context of query_begin_context for a host: adds the here labels, unless the options
 * forbid that. If the user has said nothing at all, and one label says what is around, the messages
 * are wanted that were left here: this label is appended to options->contains. Returns CLI_DONE, or
 * an exit code after printing the error.
 */
int query_complete_context(const struct cli *cli, struct query_options *options,
                           const struct hearsay_host *host, struct hearsay_context *context);

/*
 * A request whose filter has more bits set in a section than the server takes is refused, and the
 * refusal names the section only. So these functions warn before, and say what to leave out,
 * because only the client knows the labels.
 */

/* A filter, and the labels that it was made of. All borrowed. */
struct fullness {
    const struct hearsay_host *host;
    const struct hearsay_filter *filter;
    const char *const *labels; /* label_count of them */
    size_t label_count;
};

/*
 * Prints a line for each section of which more than `most_ppm` millionths of the bits are set; 0:
 * the server has not said how many it takes. Bits of one label are no reason, as on the server.
 */
void fullness_warn(const struct cli *cli, const struct fullness *made, uint32_t most_ppm);

/* The same for the first part of a query, its `contains` included; the labels of the other parts
 * are the same, so they are about as full. */
void fullness_warn_query(const struct cli *cli, const struct hearsay *server,
                         const struct asked_from *from, const struct asked *asked);

/* --- query_batch ------------------------------------------------------------------------------ */

/* Answers the queries of a file, one query a line, with one line of JSON each. */

/* Answers the lines of the file options->batch in order. Returns an exit code. */
int query_batch(struct cli *cli, const struct query_options *options);
