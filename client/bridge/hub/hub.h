/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub: the hub's side. Follows hosts of others into the hearsayd of a reader, answers requests for
 * pages, passes the operator's words on, and erases what was superseded.
 */
#pragma once

#include <stdio.h>

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/setup/options.h"
#include "client/bridge/wire/wire.h"

struct hub;

/* All pointers are borrowed. 0, or -ERR_NOMEM. */
int hub_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            struct hub **out_hub);

/* Called after each connecting to the hub, and after each loss of the connection. */
void hub_joined(struct hub *hub);
void hub_parted(struct hub *hub);

/* Closes links and timers. The loop must run until they are closed; then hub_free. */
void hub_stop(struct hub *hub);
void hub_free(struct hub *hub); /* NULL is fine */

/* For `hearsay-bridge status`: lines of at most 60 columns. For Prometheus: no addresses. */
void hub_print_status(const struct hub *hub, FILE *out);
void hub_print_metrics(const struct hub *hub, FILE *out);

/* Whether somebody should look: hearsayd is away, or a host is not whole or was not compared with
 * its owner for long. */
bool hub_has_trouble(const struct hub *hub);

/* --- setup ------------------------------------------------------------------------------------ */

/* `hearsay-bridge setup-hub`: files for the hub's servers, and the streams in them. */

/*
 * With options->write: writes files for the servers. Without: makes or changes the streams of the
 * servers that run, prints what it does, and warns of their versions. options->is_dry: only prints.
 * 0; or SETTINGS_REFUSED or -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES).
 */
int hub_setup(const struct bridge_config *config, const struct bridge_options *options, FILE *out,
              char *out_reason);
