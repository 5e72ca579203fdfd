/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: neighbours. Publishes summaries of the own hosts of a hood, keeps those of others, and asks
 * the peers that can have an answer.
 *
 *   home     a host here: what it has goes out, queries for it are answered (told, due, answers,
 *            rates)
 *   hoods    what the neighbours have told (circle)
 *   desk     what hearsayd asks, and the queries that go out for it (shuffle, round, kept)
 */
#pragma once

#include <stdio.h>

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct ask;

/* All pointers are borrowed. 0, or -ERR_NOMEM. */
int ask_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            struct ask **out_ask);

/* Called after each connecting to the hub, and after each loss of the connection. */
void ask_joined(struct ask *ask);
void ask_parted(struct ask *ask);

/* Whether another store owns the host at the hub (home_silence). Does nothing for a host without a
 * hood. */
void ask_silence(struct ask *ask, const char *host, bool is_silent);

/* Closes links and timers. The loop must run until they are closed; then ask_free. */
void ask_stop(struct ask *ask);
void ask_free(struct ask *ask); /* NULL is fine */

/* For `hearsay-bridge status`: lines of at most 60 columns. For Prometheus: no addresses. */
void ask_print_status(const struct ask *ask, FILE *out);
void ask_print_metrics(const struct ask *ask, FILE *out);
