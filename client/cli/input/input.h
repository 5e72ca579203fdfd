/* SPDX-License-Identifier: Apache-2.0 */
/* input: what commands read from their options and from files, and what they make of it. */
#pragma once

#include "client/cli/base/cli.h"
#include "client/cli/input/jsonline.h"
#include "client/hearsay.h"

/* --- epoch ------------------------------------------------------------------------------------ */

/*
 * The option --epoch, and the file of epoch keys. A server gives the key of its current
 * epoch to clients on site. The commands that query, watch or deposit store the key in the file.
 */

enum { EPOCH_KNOWN_MAX = 63 }; /* without the open epoch: the parts of one query, less 1 */

enum epoch_choice {
    /* without the option: a query searches epoch 0 and the epochs whose keys are known; a deposit
     * goes to the current epoch if its key is known, else to epoch 0 */
    EPOCH_AUTO,
    EPOCH_OPEN,    /* epoch 0, which has no key */
    EPOCH_CURRENT, /* the current epoch */
    EPOCH_LATEST   /* no option of the user: the open epoch and the current one */
};

extern const char *const epoch_choices[]; /* the first three, ended by NULL */

/*
 * A row of a command's table of options, for the option --epoch. `type` is the struct of options;
 * its int called `field` gets the choice.
 */
#define EPOCH_OPTION(type, field, text) ARGS_NAMES("epoch", 'e', type, field, epoch_choices, text)

/* The epochs that a command uses. */
struct epochs {
    bool open;                                   /* also the open one */
    struct hearsay_epoch known[EPOCH_KNOWN_MAX]; /* known_count of them, newest first */
    size_t known_count;
};

/*
 * Stores the keys that the server gave, and finds the epochs to search. Returns CLI_DONE; or, for
 * EPOCH_CURRENT, CLI_USAGE after printing that the host has no epochs, or that the key of the
 * current epoch is not known or not certain (see hearsay_keyring_living). An epoch whose key is not
 * certain is searched only together with the open epoch. Prints a warning and continues when the
 * file cannot be read or written. Prints a warning when a key has replaced another key.
 */
int epoch_find(const struct cli *cli, const struct hearsay *server, const struct hearsay_host *host,
               enum epoch_choice choice, struct epochs *out_epochs);

/*
 * The epochs of a host, stored from one request to the next and from one connection to the next.
 * Initially zeros.
 */
struct epoch_follower {
    struct epochs epochs; /* to be used */
    bool is_known;
    uint64_t number;  /* of the current epoch when the epochs were found */
    int64_t until_ms; /* when the server deletes the first of the epochs, on the server's clock */
    uint8_t store_id[HEARSAY_ID_BYTES];
    uint8_t
        resume_token[HEARSAY_RESUME_BYTES_MAX]; /* identifies the connection: each has another */
    size_t resume_bytes;
    char host[256];
};

/*
 * Updates follower->epochs with epoch_find, but only if something has changed since the last call:
 * an epoch has begun, the server has deleted one of the epochs, or `host`, the store or the
 * connection is another one. A new connection counts as a change because a key may be certain on
 * one connection and not on another. Returns what epoch_find returns. O(1) if nothing has changed.
 * Does not wait for the server.
 */
int epoch_follow(const struct cli *cli, const struct hearsay_host *host, enum epoch_choice choice,
                 struct epoch_follower *follower);

/* Returns the epoch with this number, or NULL when *epochs does not have it. */
const struct hearsay_epoch *epoch_among(const struct epochs *epochs, uint64_t number);

/*
 * Finds the epoch to deposit in. out_epoch->number is 0 for the open epoch. Returns what epoch_find
 * returns. Also returns CLI_USAGE for EPOCH_AUTO when the key of the current epoch is not certain.
 */
int epoch_for_deposit(const struct cli *cli, const struct hearsay_host *host,
                      enum epoch_choice choice, struct hearsay_epoch *out_epoch);

/* --- asked ------------------------------------------------------------------------------------ */

/*
 * Makes the parts of a query. Each part searches one epoch, and has the filter of the
 * context, keyed with the key of this epoch and with the group's secret, if there are any.
 */

/* The input. All borrowed. */
struct asked_from {
    const struct hearsay_host *host;
    const struct hearsay_group *group;   /* NULL: none */
    const struct epochs *epochs;         /* to search */
    const char *const *labels;           /* of the context */
    size_t label_count;                  /* 0: only `lately` counts */
    const char *const *contains;         /* labels that the filter of each result must have */
    size_t contains_count;               /* 0: no condition */
    const struct hearsay_recent *lately; /* recent contexts to add to the filter; NULL: none */
};

struct asked {
    struct hearsay_query_part parts[EPOCH_KNOWN_MAX + 1]; /* part_count of them */
    size_t part_count;
    struct hearsay_filter *filters; /* owned: two for each part */
};

/*
 * Makes the parts and sets them in the query, which borrows them. The first part is for the open
 * epoch, if it is to be searched or no other epoch is known; the next ones are for the known
 * epochs, in their order, as many as the server allows and as fit in a frame. Returns HEARSAY_OK;
 * HEARSAY_ERR_ARGUMENT when the memory of recent contexts is empty; HEARSAY_ERR_NOMEM; or an error
 * of hearsay_encode or hearsay_recent_add. If the error concerns `contains`, *out_about_contains
 * is true. Call asked_free afterwards, also after an error.
 */
int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error);
void asked_free(struct asked *asked); /* a zeroed one is fine */

/* --- channel ---------------------------------------------------------------------------------- */

/*
 * Named contexts. They are stored in the JSON file `channels` of the command's
 * configuration folder:
 *
 *   {"channels": {"kitchen": {"labels": ["geo:u281zd"], "group": "/home/me/team", "host": "cafe"}}}
 *
 * Users may edit the file. The command replaces the file atomically (mode 0600).
 */

enum { CHANNEL_NAME_BYTES = 63, CHANNELS_MAX = 1000 };

/* One channel. Its strings are borrowed from `file`. */
struct channel {
    json_t *file; /* owned: channel_free */
    json_t *labels;
    const char *group; /* absolute path of the file with the group's secret, or NULL */
    const char *host;  /* or NULL */
};

/*
 * Returns whether a name of a channel is allowed: 1 to CHANNEL_NAME_BYTES characters of a-z, A-Z,
 * 0-9, '.', '_' and '-', and no '-' at the start.
 */
bool channel_is_name(const char *name);

/*
 * Reads the file. An absent file counts as empty. Returns CLI_DONE with *out_file owned, or an exit
 * code.
 */
int channel_read_all(const struct cli *cli, json_t **out_file);

/* Replaces the file. Returns CLI_DONE, or an exit code after printing the error. */
int channel_write_all(const struct cli *cli, const json_t *file);

/* Returns the object with the channels of a file. */
json_t *channel_table(const json_t *file);

/*
 * Finds a channel by its name. Returns CLI_DONE, or an exit code after printing the error. If no
 * channel has this name, the exit code is CLI_USAGE, and the error lists the names of the channels,
 * cut to 399 bytes; if there is no channel, the error names the command that makes one.
 */
int channel_find(const struct cli *cli, const char *name, struct channel *out_channel);
void channel_free(struct channel *channel); /* a zeroed one is fine */

/* Adds the channel's labels to a context. Returns CLI_DONE or an exit code. */
int channel_add_labels(const struct cli *cli, const struct channel *channel,
                       struct hearsay_context *context);

/* --- derive ----------------------------------------------------------------------------------- */

/*
 * Derives message ids and withdraw tokens for import. With the same secret and line number,
 * the same line gets the same id and token. So a repeated import does not store a message that is
 * already there again.
 *
 *   hash  = BLAKE2b-256, keyed with the secret, of: letter | line number, 8 bytes LE | line
 *   id    = the first 16 bytes of the hash with the letter 'i'
 *   token = the 32 bytes of the hash with the letter 't'
 *
 * Without the secret nobody can tell from an id which line it was derived from, and nobody can
 * compute the token.
 */

enum { DERIVE_SECRET_BYTES = 32 };

/*
 * Reads the secret from the file at `path`. `path` NULL is $XDG_STATE_HOME/hearsay/import-secret,
 * else ~/.local/state/hearsay/import-secret. If the file does not exist, creates it with a random
 * secret (mode 0600, new folders 0700). Two programs that create the file at the same time get the
 * same secret. Returns CLI_DONE, or CLI_USAGE after printing the error.
 */
int derive_open(const struct cli *cli, const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES]);

/*
 * Replaces the secret by a secret derived from the old secret and from `count` bytes, count >= 1.
 * Import calls this function with bytes that depend on the key of a group, so that the same line
 * gets another id in each group.
 */
void derive_secret(uint8_t secret[DERIVE_SECRET_BYTES], const void *bytes, size_t count);

/*
 * Derive the id and the withdraw token of a line. `number` is the line's number, from 1; `length`
 * is its size in bytes. The same secret, number and line give the same result.
 */
void derive_id(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
               size_t length, uint8_t out_id[HEARSAY_ID_BYTES]);
void derive_token(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
                  size_t length, uint8_t out_token[HEARSAY_TOKEN_BYTES]);

/* --- payload ---------------------------------------------------------------------------------- */

/*
 * Reads the payload of a message from the words of the command line, from a file, or from
 * standard input.
 */

/* No server takes a larger payload. Reading stops one byte after this number of bytes. */
enum { PAYLOAD_BYTES_MAX = 1024 * 1024 };

struct payload {
    char *bytes;         /* owned */
    size_t count;        /* bytes read, at most PAYLOAD_BYTES_MAX + 1 */
    uint64_t size_bytes; /* size of the whole input, as far as it is known; at least `count` */
    bool whole; /* true: `bytes` is the whole input. false: the input is longer than `count` bytes,
                 * and size_bytes may be too small */
    const char *type; /* media type of the payload: text/plain if the payload is UTF-8, else
                       * application/octet-stream; static storage */
};

/*
 * Reads the payload. If `file` is NULL, the payload is the words joined by spaces; without words,
 * and for the file "-", standard input is read. An empty payload is an error, and so are words
 * together with a file. Returns CLI_DONE, or an exit code after printing the error. Call
 * payload_free afterwards, also after an error.
 */
int payload_read(const struct cli *cli, const char *file, int word_count, char *const *words,
                 struct payload *out_payload);
void payload_free(struct payload *payload);

/* --- secret ----------------------------------------------------------------------------------- */

/*
 * The option --group. Reads the secret of a group from a file or from the terminal. Other
 * users can see a secret on the command line in the list of processes.
 */

/*
 * A row of a command's table of options, for the option --group. `type` is the struct of options;
 * its `const char *` called `field` gets the value.
 */
#define SECRET_OPTION(type, field)                         \
    ARGS_ROW("group", 'g', ARGS_TEXT, type, field, "FILE", \
             "the secret of a group, in a file; - asks for it")

/*
 * Makes the group from the value of the option:
 *
 *   "-"              asks for the secret on the terminal
 *   a file           the secret is the first line of the file. Any value with a '/' is a file. A
 *                    file of this user that others may read or change is refused
 *                    (place_check_private)
 *   anything else    the value is the secret itself; prints a warning
 *
 * Returns CLI_DONE with *out_group owned (hearsay_group_free), or an exit code after printing the
 * error. Takes some tenths of a second.
 */
int secret_group(const struct cli *cli, const char *value, struct hearsay_group **out_group);

/*
 * Opens a sealed result. On success `result` borrows from *out_content, which the caller owns. A
 * result without a payload stays unchanged. Returns HEARSAY_OK, HEARSAY_NOT_OURS or ERR_NOMEM.
 */
int secret_open(const struct hearsay_group *group, struct hearsay_result *result,
                struct hearsay_content *out_content, struct hearsay_error *out_error);

/* Returns whether the value of the option is the secret itself. */
bool secret_is_plain(const char *value);

/* --- sensed ----------------------------------------------------------------------------------- */

/*
 * The options that describe a context. An option gives a label as it is, or sensed data,
 * which libhearsay converts to labels.
 */

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

/* --- scan_json -------------------------------------------------------------------------------- */

/*
 * Scans in JSON, as phones and routers print them: the array of Android's
 * `termux-wifi-scaninfo`, and the object of OpenWrt's `ubus call iwinfo scan`. libhearsay reads the
 * scans that are text.
 */

/* Whether the text of a scan is JSON, by its first character that is no white space. */
bool scan_json_is(const char *text, size_t byte_count);

/*
 * Adds the access points of the scan to the context, as hearsay_context_add_scan does, and likewise
 * leaves out those that cannot be read: *out_left_out has how many, and whether the scan was cut
 * off. *out_sightings is the number of the others. Returns HEARSAY_OK, ERR_NOMEM, or ERR_ARGUMENT
 * if nothing can be read: then no label is added.
 */
int scan_json_add(struct hearsay_context *context, const char *text, size_t byte_count,
                  size_t *out_sightings, struct hearsay_left_out *out_left_out,
                  struct hearsay_error *out_error);
