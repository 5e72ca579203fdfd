/* SPDX-License-Identifier: Apache-2.0 */
/* version: what the version of a nats-server means for a hub. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { HUB_VERSION_BYTES = 64 };

struct hub_version {
    unsigned major;
    unsigned minor;
    unsigned patch;
    bool is_early; /* 2.11.16-RC.1: comes before 2.11.16 */
};

/*
 * Reads 2.10 or 2.10.27, also with a v before it, and with a suffix: -RC.1 of an early release, or
 * +text, which says nothing about the order. Returns false, and leaves *out_version unset, if the
 * text is anything else.
 */
bool hub_version_parse(const char *text, struct hub_version *out_version);

/* Writes 2.11.16, or 2.11.16 (early release), to out, which has HUB_VERSION_BYTES. */
void hub_version_text(const struct hub_version *version, char *out);

/* Whether the server can sync each message before it acknowledges: sync_interval, from 2.10 on. */
bool hub_version_syncs(const struct hub_version *version);

/*
 * Whether servers of this version may come to store different messages after one of them was
 * stopped or killed, because they lack two fixes of their consensus protocol (raft): before
 * 2.11.16. docs/notes/reliability.md has what was measured.
 */
bool hub_version_diverges(const struct hub_version *version);

/* Writes a line for each thing that is published about this version and matters here, with a link.
 * `node` is the name of the server. */
void hub_version_warn(const struct hub_version *version, const char *node, FILE *out);

/* --- greeting --------------------------------------------------------------------------------- */

/* What a nats-server says first to whoever connects, before TLS: its version. */

enum { GREETING_ADDRESS_BYTES = 256, GREETING_REASON_BYTES = 256 };

/*
 * Splits "tls://ADDRESS:PORT" into its address and its port. Example: "tls://[::1]:4222" gives the
 * address "[::1]" and the port 4222. out_address has GREETING_ADDRESS_BYTES. Returns false, and
 * leaves both outputs unset, if the URL has no port from 1 to 65535 or no address that fits.
 */
bool greeting_split_url(const char *url, char *out_address, unsigned *out_port);

/*
 * Connects to the server, waits up to 3 seconds for its greeting, and reads the version in it. On
 * failure returns false and writes a sentence to out_reason, which has GREETING_REASON_BYTES.
 */
bool greeting_read_version(const char *url, struct hub_version *out_version, char *out_reason);
