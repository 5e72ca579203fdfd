/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sensed: the options that describe a context. An option gives a label as it is, or sensed data,
 * which libhearsay converts to labels.
 */
#ifndef CLIENT_CLI_INPUT_SENSED_H
#define CLIENT_CLI_INPUT_SENSED_H

#include <stdbool.h>
#include <stddef.h>

#include "client/cli/base/cli.h"
#include "client/cli/input/jsonline.h"

/* A field of a command's struct of options. */
struct sensed {
    struct args_list labels;
    struct args_list wifi;
    struct args_list topics;
    const char *position; /* "LAT,LON", or NULL */
    const char *time;     /* "now", a moment or a duration (ago), or NULL */
    const char *scan;     /* a file, "-", or NULL */
};

/*
 * The rows of a command's table of options that describe a context. `type` is the struct of
 * options; its `struct sensed` called `field` gets the values.
 */
#define SENSED_OPTIONS(type, field)                                                                \
    ARGS_ROW("label", 'l', ARGS_LIST, type, field.labels, "LABEL",                                 \
             "attribute:value of the context, as it stands; once for each"),                       \
        ARGS_ROW("wifi", 0, ARGS_LIST, type, field.wifi, "BSSID[=DBM]",                            \
                 "an access point, perhaps with its strength; once for each"),                     \
        ARGS_ROW("scan", 0, ARGS_TEXT, type, field.scan, "FILE",                                   \
                 "the strongest that iw, nmcli ... saw; - is standard input"),                     \
        ARGS_ROW("at", 0, ARGS_TEXT, type, field.position, "LAT,LON", "the position, in degrees"), \
        ARGS_ROW("time", 0, ARGS_TEXT, type, field.time, "now|TIME",                               \
                 "the hour: 6h (ago) or 2026-11-20T14:00Z (none)"),                                \
        ARGS_ROW("topic", 0, ARGS_LIST, type, field.topics, "TEXT",                                \
                 "a topic, in capitals or not; once for each")

/* The row of the commands that add the here labels, for a flag of their options. */
#define NO_HERE_OPTION(type, field)                      \
    ARGS_ROW("no-here", 0, ARGS_FLAG, type, field, NULL, \
             "do not add what the access point says is around it")

/* Returns whether at least one of these options was given. */
bool sensed_given(const struct sensed *sensed);

/*
 * Makes the context from the options. Returns CLI_DONE with *out_context owned
 * (hearsay_context_free) and not empty, or an exit code after printing the error.
 */
int sensed_read(const struct cli *cli, const struct sensed *sensed,
                struct hearsay_context **out_context);

/* Makes the context like sensed_read, but the context may be empty. */
int sensed_read_some(const struct cli *cli, const struct sensed *sensed,
                     struct hearsay_context **out_context);

/*
 * Adds the here labels of the host, and says on standard error which labels that were. Returns
 * CLI_DONE, or an exit code after printing the error. A context that stays empty is an error, too,
 * unless `may_be_empty` is set.
 */
int sensed_add_here(const struct cli *cli, const struct hearsay_host *host, bool may_be_empty,
                    struct hearsay_context *context);

/* Adds to *total what the scans of one more context left out. */
void sensed_count_left_out(const struct hearsay_left_out *left_out, struct hearsay_left_out *total);

/* Says in one line on standard error how much scans left out and why, if they left anything out. */
void sensed_say_left_out(const struct cli *cli, const struct hearsay_left_out *left_out);

/*
 * Encodes a context as a filter of the host's profile, keyed with `keys`. Returns CLI_DONE or an
 * exit code.
 */
int sensed_encode(const struct cli *cli, const struct hearsay_host *host,
                  const struct hearsay_keys *keys, const struct hearsay_context *context,
                  struct hearsay_filter *out_filter);

/* The names of the JSON keys that describe a context, as initialisers of an array of strings. */
#define SENSED_KEYS "labels", "wifi", "at", "time", "topics"

/*
 * Makes the context from the keys of a JSON object:
 *
 *   "labels", "topics"   arrays of strings
 *   "wifi"               a scan as an object: each key is a BSSID, its value the strength in dBm
 *                        or null
 *   "at"                 an array of latitude and longitude
 *   "time"               a moment in ISO 8601
 *
 * *out_context is owned; it is NULL when the object has none of these keys. Returns 0,
 * JSONLINE_WRONG or JSONLINE_NOMEM.
 */
int sensed_parse(const json_t *object, struct hearsay_context **out_context,
                 struct jsonline_error *out_error);

#endif
