/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own: the access point's side. Publishes the states of the hosts that this access point owns,
 * keeps the head of each, restores a host whose store is new, and applies the operator's words.
 */
#pragma once

#include <stdio.h>

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct own;

struct own_events {
    /* Another store owns the host at the hub; or this one does. Called again and again. */
    void (*fenced)(void *context, const char *host, bool is_fenced);
};

/* All pointers are borrowed. No callback runs before the function returns. 0, or -ERR_NOMEM. */
int own_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            const struct own_events *events, void *context, struct own **out_own);

/* Called after each connecting to the hub, and after each loss of the connection. */
void own_joined(struct own *own);
void own_parted(struct own *own);

/* Closes links and timers. The loop must run until they are closed; then own_free. */
void own_stop(struct own *own);
void own_free(struct own *own); /* NULL is fine */

/* For `hearsay-bridge status`: lines of at most 60 columns. For Prometheus: no addresses. */
void own_print_status(const struct own *own, FILE *out);
void own_print_metrics(const struct own *own, FILE *out);

/* How often the hub did not store a head or a state. */
uint64_t own_failures(const struct own *own);

/* Whether somebody should look: a host is FENCED, has an error, or has had no head at the hub or no
 * comparison for long. */
bool own_has_trouble(const struct own *own);

/* --- forget ----------------------------------------------------------------------------------- */

/* `hearsay-bridge forget HOST`, which removes a host from the hub. */

/* Removes the host's states, rules, words and head from the hub, and its cursor here. 0; or
 * -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES). */
int forget_host(const struct bridge_config *config, const char *host, FILE *out, char *out_reason);

/* --- take ------------------------------------------------------------------------------------- */

/* `hearsay-bridge take HOST`, by which another store becomes the owner of a host. */

/* Writes the head of the host for the store of the hearsayd here. Waits one interval of heads
 * before, unless is_now. 0; or -ERR_SYSTEM with a sentence in out_reason (SETTINGS_REASON_BYTES).
 */
int take_host(const struct bridge_config *config, const char *host, bool is_now, FILE *out,
              char *out_reason);
