/* SPDX-License-Identifier: Apache-2.0 */
/* connect: options of libnats for the hub of a configuration. */
#ifndef CLIENT_BRIDGE_WIRE_CONNECT_H
#define CLIENT_BRIDGE_WIRE_CONNECT_H

#include <nats/nats.h>

#include "client/bridge/setup/config.h"

enum { CONNECT_ERROR_BYTES = 256 };

/*
 * Makes the options: servers, TLS with the own certificate, the own inbox prefix; without
 * reconnecting. NATS_OK with *out_options, which the caller destroys; else with a sentence in
 * out_error (CONNECT_ERROR_BYTES).
 */
natsStatus connect_options(const struct bridge_config *config, natsOptions **out_options,
                           char *out_error);

/* Writes a sentence about the last error of this thread, with what to look at. */
void connect_explain(natsStatus status, char *out_error);

/* The own inbox: _INBOX_NAME. */
void connect_inbox(const struct bridge_config *config, char *out, size_t room);

#endif
