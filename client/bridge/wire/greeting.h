/* SPDX-License-Identifier: Apache-2.0 */
/* greeting: what a nats-server says first to whoever connects, before TLS: its version. */
#ifndef CLIENT_BRIDGE_WIRE_GREETING_H
#define CLIENT_BRIDGE_WIRE_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "client/bridge/wire/version.h"

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

#endif
