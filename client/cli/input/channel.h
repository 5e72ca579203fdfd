/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel: named contexts. They are stored in the JSON file `channels` of the command's
 * configuration folder:
 *
 *   {"channels": {"kitchen": {"labels": ["geo:u281zd"], "group": "/home/me/team", "host": "cafe"}}}
 *
 * Users may edit the file. The command replaces the file atomically (mode 0600).
 */
#ifndef CLIENT_CLI_INPUT_CHANNEL_H
#define CLIENT_CLI_INPUT_CHANNEL_H

#include <jansson.h>

#include "client/cli/base/cli.h"

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

#endif
