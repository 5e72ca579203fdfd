/* SPDX-License-Identifier: Apache-2.0 */
/* version: what the version of a nats-server means for a hub. */
#ifndef CLIENT_BRIDGE_HUB_VERSION_H
#define CLIENT_BRIDGE_HUB_VERSION_H

#include <stdbool.h>
#include <stdio.h>

struct hub_version {
    unsigned major;
    unsigned minor;
    unsigned patch;
};

/* Reads 2.10 or 2.10.27, also with a v before it. False: the text is no version. */
bool hub_version_parse(const char *text, struct hub_version *out_version);

/* Whether the server can sync each message before it acknowledges: sync_interval, from 2.10 on. */
bool hub_version_syncs(const struct hub_version *version);

/* Writes a line for each thing that is published about this version and matters here, with a link.
 * `node` is the name of the server. Returns how many lines. */
unsigned hub_version_warn(const struct hub_version *version, const char *node, FILE *out);

#endif
